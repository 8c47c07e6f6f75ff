// Energy of windows, from counters and from power samples; what records hold of a GPU and a Jetson, with fakes.
#include "gpu_watch.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "support/workshop.h"

namespace pagoda {
namespace {

namespace fs = std::filesystem;
using tools::bench::Chunk;
using tools::ceilings::TracePoint;

TEST_CASE("warm-up is no part of the energy of a run") {
  const std::vector<Chunk> chunks = {
      {0, 1, 0.0, 900.0, 1}, {1, 2, 900.0, 1000.0, 4}, {2, 3, 1000.0, 1050.0, 10}, {3, 4, 1050.0, 1100.0, 10}};
  const auto measured = tools::bench::measured_chunks(chunks, 5);
  REQUIRE(measured.size() == 2);
  CHECK(*tools::bench::package_energy(measured).joules == doctest::Approx(5));
  CHECK(*tools::bench::gpu_energy(measured, {}).joules == doctest::Approx(5));
  CHECK(tools::bench::gpu_energy(measured, {}).source.starts_with("energy counter"));
}

TEST_CASE("a counter that stands still, is missing, or is too slow is not a number") {
  std::vector<TracePoint> steady;
  for (int i = 0; i <= 200; ++i) steady.push_back({.seconds = 0.02 * i, .watts = 200});
  const std::vector<Chunk> still = {{0, 2, 7.0, 7.0, 10}}, none = {{0, 2, {}, {}, 10}},
                           brief = {{0, 0.5, 1.0, 9.0, 10}};
  CHECK_FALSE(tools::bench::package_energy(none).joules);
  CHECK(tools::bench::package_energy(none).source.empty());
  CHECK_FALSE(tools::bench::package_energy(still).joules);
  CHECK_FALSE(tools::bench::package_energy(still).watts);
  CHECK(tools::bench::package_energy(still).source.find("did not move") != std::string::npos);
  CHECK_FALSE(tools::bench::gpu_energy(none, {}).joules);
  CHECK(tools::bench::gpu_energy(none, {}).source.empty());
  CHECK(*tools::bench::gpu_energy(none, steady).joules == doctest::Approx(40));
  CHECK(tools::bench::gpu_energy(none, steady).source.starts_with("trapezoid"));
  CHECK_FALSE(tools::bench::gpu_energy(still, {}).joules);
  CHECK(tools::bench::gpu_energy(still, {}).source.find("did not move") != std::string::npos);
  CHECK(*tools::bench::gpu_energy(still, steady).joules == doctest::Approx(40));
  CHECK_FALSE(tools::bench::gpu_energy(brief, steady).joules);
  CHECK(tools::bench::gpu_energy(brief, steady).source.find("less than a second") != std::string::npos);
  CHECK_FALSE(tools::bench::gpu_energy({}, steady).joules);
}

TEST_CASE("devices of NVIDIA have an index") {
  CHECK(tools::bench::cuda_index("cuda") == 0);
  CHECK(tools::bench::cuda_index("cuda:3") == 3);
  CHECK(tools::bench::cuda_index("tensorrt") == 0);
  for (const char* other : {"", "cpu", "mps", "cuda:", "cuda:x", "cuda:-1", "cuda1"})
    CHECK_FALSE(tools::bench::cuda_index(other));
}

TEST_CASE("a device that is neither the processor nor a numbered GPU is refused with the forms that are known") {
  CHECK_FALSE(tools::bench::gpu_of("cpu"));
  CHECK(tools::bench::gpu_of("cuda") == 0);
  CHECK(tools::bench::gpu_of("cuda:2") == 2);
  for (const char* other : {"cuda:x", "cuda:", "cuda:-1", "cuda:99999999999", "cuda:1x", "cudax", "tensorrt", ""}) {
    CAPTURE(other);
    CHECK_THROWS_WITH_AS(
        tools::bench::gpu_of(other),
        ("device '" + std::string(other) + "' is not known; expected cpu, cuda, or cuda:N for GPU number N, as cuda:1")
            .c_str(),
        Error);
  }
}

TEST_CASE("a run on a GPU has its energy, clock, heat, throttle reasons and driver in its record") {
  const test::Workshop shop;
  for (const char* name : {"libcuda.so.1", "libnvidia-ml.so.1"}) fs::create_symlink(PAGODA_FAKE_GPU, shop.path(name));
  const auto one = [&](const std::string& environment, const std::string& device, double budget) {
    const std::string command =
        environment +
        " LD_LIBRARY_PATH=. '" PAGODA_BENCH "' run --backend fake --worker 'fake=" PAGODA_FAKE_WORKER "' --device " +
        device + " --set really=true --set latency=0.02 --half-width 0.000001 --warmup 0.2 --budget " +
        std::to_string(budget) + " --no-resume -o out";
    REQUIRE(shop.shell(command).code == 0);
    const documents::ResultSet set = documents::load_results(shop.path("out"));
    const documents::Result result = set.results.back();
    fs::remove_all(shop.path("out"));
    REQUIRE(result.status == documents::ResultStatus::Ok);
    return result;
  };
  // 250 W for 20 ms is 5 J. On a busy machine a run takes longer than it says, never less.
  const documents::Result counted = one("", "cuda:1", 1.5);
  REQUIRE(counted.energy.joules);
  CHECK(*counted.energy.joules > 4.5);
  CHECK(*counted.energy.joules < 10);
  CHECK(counted.energy.source.starts_with("energy counter of the GPU"));
  CHECK(counted.interference.clock_hz_before == 1755e6);
  CHECK(counted.interference.clock_hz_after == 1755e6);
  CHECK(counted.interference.temperature_celsius == 61.0);
  CHECK(counted.interference.throttle == std::vector<std::string>{"sw_power_cap"});
  CHECK(std::get<std::string>(counted.metadata.at("driver")) == "580.42");
  CHECK(std::get<double>(counted.metadata.at("gpu_power_limit_watts")) == 700);
  const documents::Result sampled = one("FAKE_GPU_COUNTER=no", "cuda:1", 1.5);
  REQUIRE(sampled.energy.joules);
  CHECK(*sampled.energy.joules > 4.5);
  CHECK(*sampled.energy.joules < 10);
  CHECK(sampled.energy.source.starts_with("trapezoid over sampled power"));
  REQUIRE(sampled.energy.samples);
  CHECK(*sampled.energy.samples > 10);
  CHECK(*sampled.energy.period_seconds > 0.019);
  CHECK(!counted.energy.samples);
  // The management library does not know device 0: no CPU reading may stand in for it.
  const documents::Result unknown = one("", "cuda", 0.1);
  CHECK_FALSE(unknown.energy.joules);
  CHECK(unknown.energy.source.empty());
  CHECK_FALSE(unknown.interference.clock_hz_before);
  CHECK_FALSE(unknown.interference.temperature_celsius);
  CHECK(unknown.interference.throttle.empty());
}

}  // namespace
}  // namespace pagoda

// Energy of windows, from counters and from samples of power; the GPU's part of a record, with a fake GPU.
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

TEST_CASE("power that rises in a line is integrated exactly, and not at all where samples are missing") {
  // 100 W at 0 s, 10 W/s more: ∫ from a to b = 100 (b − a) + 5 (b² − a²).
  std::vector<TracePoint> line;
  for (int i = 0; i <= 100; ++i) line.push_back({.seconds = 0.1 * i, .watts = 100.0 + i});
  CHECK(*tools::bench::trapezoid(line, 0, 10) == doctest::Approx(1500));
  CHECK(*tools::bench::trapezoid(line, 2.03, 7.77) == doctest::Approx(100 * 5.74 + 5 * (7.77 * 7.77 - 2.03 * 2.03)));
  CHECK(*tools::bench::trapezoid(line, 3.01, 3.02) == doctest::Approx(1.30150));  // within one step
  CHECK(*tools::bench::trapezoid(line, -0.1, 1) == doctest::Approx(10 + 105));    // the first one holds before it
  CHECK_FALSE(tools::bench::trapezoid(line, -1, 1));
  CHECK_FALSE(tools::bench::trapezoid(line, 5, 11));
  CHECK_FALSE(tools::bench::trapezoid({}, 0, 1));
  std::vector<TracePoint> gap = line, silent = line;
  gap.erase(gap.begin() + 40, gap.begin() + 50);
  silent[40].watts = 0;
  CHECK_FALSE(tools::bench::trapezoid(gap, 0, 10));
  CHECK(tools::bench::trapezoid(gap, 6, 9));
  CHECK_FALSE(tools::bench::trapezoid(silent, 0, 10));
}

TEST_CASE("warm-up is no part of the energy of a run") {
  const std::vector<Chunk> chunks = {
      {0, 1, 0.0, 900.0, 1}, {1, 2, 900.0, 1000.0, 4}, {2, 3, 1000.0, 1050.0, 10}, {3, 4, 1050.0, 1100.0, 10}};
  const auto measured = tools::bench::measured_chunks(chunks, 5);
  REQUIRE(measured.size() == 2);
  CHECK(*tools::bench::package_energy(measured).joules == doctest::Approx(5));
  CHECK(*tools::bench::gpu_energy(measured, {}).joules == doctest::Approx(5));
  CHECK(tools::bench::gpu_energy(measured, {}).source.starts_with("energy counter"));
}

TEST_CASE("a counter that wraps, stands still, is missing, or is too slow is no number") {
  std::vector<TracePoint> steady;
  for (int i = 0; i <= 200; ++i) steady.push_back({.seconds = 0.02 * i, .watts = 200});
  const std::vector<Chunk> wrapped = {{0, 1, 65535.0, 3.0, 10}, {1, 2, 3.0, 23.0, 10}};
  CHECK(*tools::bench::package_energy(wrapped).joules == doctest::Approx(2));
  const std::vector<Chunk> still = {{0, 2, 7.0, 7.0, 10}}, none = {{0, 2, {}, {}, 10}},
                           brief = {{0, 0.5, 1.0, 9.0, 10}};
  CHECK_FALSE(tools::bench::package_energy(none).joules);
  CHECK(tools::bench::package_energy(none).source.empty());
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
  // 250 W for 20 ms are 5 J; a busy machine makes a run longer than it says, never shorter.
  const documents::Result counted = one("", "cuda:1", 1.5);
  REQUIRE(counted.energy_joules);
  CHECK(*counted.energy_joules > 4.5);
  CHECK(*counted.energy_joules < 10);
  CHECK(counted.energy_source.starts_with("energy counter of the GPU"));
  CHECK(counted.interference.clock_hz_before == 1755e6);
  CHECK(counted.interference.clock_hz_after == 1755e6);
  CHECK(counted.interference.temperature_celsius == 61.0);
  CHECK(counted.interference.throttle == std::vector<std::string>{"sw_power_cap"});
  CHECK(std::get<std::string>(counted.metadata.at("driver")) == "580.42");
  CHECK(std::get<double>(counted.metadata.at("gpu_power_limit_watts")) == 700);
  const documents::Result sampled = one("FAKE_GPU_COUNTER=no", "cuda:1", 1.5);
  REQUIRE(sampled.energy_joules);
  CHECK(*sampled.energy_joules > 4.5);
  CHECK(*sampled.energy_joules < 10);
  CHECK(sampled.energy_source.starts_with("trapezoid over sampled power"));
  // The management library does not know device 0: nothing of the processor stands in for it.
  const documents::Result unknown = one("", "cuda", 0.1);
  CHECK_FALSE(unknown.energy_joules);
  CHECK(unknown.energy_source.empty());
  CHECK_FALSE(unknown.interference.clock_hz_before);
  CHECK_FALSE(unknown.interference.temperature_celsius);
  CHECK(unknown.interference.throttle.empty());
}

}  // namespace
}  // namespace pagoda

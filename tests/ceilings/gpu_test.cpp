// The parts of the GPU side that can be tested without a GPU: machine code, the management library, a missing driver.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "gpu_blobs.h"
#include "gpu_driver.h"
#include "nvml.h"
#include "protocol.h"
#include "support/workshop.h"

namespace {

using namespace pagoda::tools::ceilings;

constexpr const char* kBus = "0000:01:00.0";

void set(unsigned long long reasons, unsigned milliwatts, unsigned long long millijoules) {
  void* library = dlopen(PAGODA_FAKE_NVML, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  reinterpret_cast<void (*)(unsigned long long, unsigned, unsigned long long)>(dlsym(library, "fake_set"))(
      reasons, milliwatts, millijoules);
}

using pagoda::test::Outcome;
using pagoda::test::Workshop;

// Ends the program as skipped. ctest runs each suite of tests with the same needs
// alone, so that no test has failed before.
void skip(const char* reason) {
  std::printf("skipped: %s\n", reason);
  std::exit(77);
}

void need_kernels() {
  if (gpu_blobs().empty()) skip("no kernels are embedded, since there was no nvcc");
}

}  // namespace

TEST_CASE("every embedded hot loop holds exactly the instructions it claims" * doctest::test_suite("kernels")) {
  need_kernels();
  int checked = 0;
  for (const GpuBlob& blob : gpu_blobs())
    for (const SassClaim& claim : sass_claims()) {
      CAPTURE(blob.capability);
      CAPTURE(claim.kernel);
      CHECK(objection(blob.cubin, claim, blob.capability) == "");
      checked += hot_loop(blob.cubin, blob.capability, claim.kernel, claim.instructions).has_value();
    }
  MESSAGE(checked << " loops of " << gpu_blobs().size() << " embedded files");
}

TEST_CASE("every claim is about a kernel that some architecture has" * doctest::test_suite("kernels")) {
  need_kernels();
  for (const SassClaim& claim : sass_claims()) {
    bool exists = false;
    for (const GpuBlob& blob : gpu_blobs())
      for (const std::string& kernel : kernels_of(blob.cubin)) exists = exists || kernel == claim.kernel;
    CAPTURE(claim.kernel);
    // Hopper and Blackwell kernels are embedded only where their architecture-specific features are built.
    const auto built = [](int capability) {
      return std::any_of(gpu_blobs().begin(), gpu_blobs().end(),
                         [&](const GpuBlob& blob) { return blob.capability == capability && blob.exact; });
    };
    const bool elsewhere = (claim.kernel.starts_with("wgmma") && !built(90)) ||
                           (claim.kernel.starts_with("tcgen05") && !built(claim.kernel.ends_with("_long") ? 103 : 100));
    CHECK((exists || elsewhere));
  }
}

TEST_CASE("every kernel that works in a loop has a claim" * doctest::test_suite("kernels")) {
  need_kernels();
  for (const GpuBlob& blob : gpu_blobs())
    for (const std::string& kernel : kernels_of(blob.cubin)) {
      if (kernel == "empty" || kernel == "spin") continue;
      bool claimed = false;
      for (const SassClaim& claim : sass_claims()) claimed = claimed || claim.kernel == kernel;
      CAPTURE(kernel);
      CHECK(claimed);
    }
}

TEST_CASE("a loop that is not what it claims is objected to" * doctest::test_suite("kernels")) {
  need_kernels();
  for (const GpuBlob& blob : gpu_blobs()) {
    if (blob.source != "vector") continue;
    CHECK(objection(blob.cubin, {"fma_f32", {"FFMA"}, 513, 8}, blob.capability) != "");
    CHECK(objection(blob.cubin, {"fma_f32", {"DFMA"}, 512, 8}, blob.capability) != "");
    CHECK(objection(blob.cubin, {"fma_f32", {"FFMA"}, 512, 0}, blob.capability) != "");
    CHECK(objection(blob.cubin, {"no_such", {"FFMA"}, 512, 8}, blob.capability) == "");
  }
}

TEST_CASE("cuobjdump counts the same instructions" * doctest::test_suite("kernels_cuobjdump")) {
  need_kernels();
  if (Workshop().shell("cuobjdump --version").code != 0) skip("there is no cuobjdump");
  for (const GpuBlob& blob : gpu_blobs()) {
    if (blob.source == "memory") continue;
    const std::string path = std::string(PAGODA_TEST_BINARY_DIR) + "/audited.cubin";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(blob.cubin.data()), static_cast<std::streamsize>(blob.cubin.size()));
    const std::string listing = Workshop().shell("cuobjdump -sass " + path).out;
    for (const SassClaim& claim : sass_claims()) {
      const std::size_t from = listing.find("Function : " + std::string(claim.kernel) + "\n");
      if (from == std::string::npos || claim.instructions.front() == "IMAD") continue;
      const std::string code = listing.substr(from, listing.find("Function : ", from + 1) - from);
      int there = 0;
      for (const std::string_view name : claim.instructions)
        for (std::size_t at = 0; (at = code.find(std::string(name), at)) != std::string::npos; ++at)
          // Match the whole mnemonic: after a blank, before a dot or a blank.
          there += code[at - 1] == ' ' && (code[at + name.size()] == '.' || code[at + name.size()] == ' ');
      const auto loop = hot_loop(blob.cubin, blob.capability, claim.kernel, claim.instructions);
      REQUIRE(loop);
      int ours = 0;
      for (const std::string_view name : claim.instructions) ours += loop->count(name);
      CAPTURE(blob.capability);
      CAPTURE(claim.kernel);
      // The listing also has the instructions outside of the loop.
      CHECK(ours <= there);
      CHECK(there <= ours + 24);
    }
  }
}

TEST_CASE("what is no machine code is refused") {
  const unsigned char text[] = "not a cubin, just some text that is longer than the header of an ELF file is";
  CHECK_THROWS_WITH(kernels_of(text), doctest::Contains("not an ELF file"));
  for (const GpuBlob& blob : gpu_blobs())
    CHECK_THROWS_WITH(kernels_of(blob.cubin.first(blob.cubin.size() / 2)), doctest::Contains("truncated"));
}

TEST_CASE("text for chips to come is of the generic kernels alone" * doctest::test_suite("kernels")) {
  need_kernels();
  if (best_capability(8, 0) != 80) skip("nvcc knows no sm_80");
  CHECK(gpu_ptx().size() == 3);
  for (const GpuBlob& text : gpu_ptx()) {
    CAPTURE(text.source);
    const std::string ptx(reinterpret_cast<const char*>(text.cubin.data()));  // the driver needs a terminated string
    CHECK(ptx.size() + 1 == text.cubin.size());
    CHECK(ptx.find(".target sm_80") != std::string::npos);
    CHECK(ptx.find("wgmma") == std::string::npos);
    CHECK(ptx.find("tcgen05") == std::string::npos);
  }
}

TEST_CASE("a device runs the newest code of its own major version") {
  CHECK(best_capability(6, 1) == 0);
  if (best_capability(8, 0) == 80) {
    CHECK(best_capability(8, 6) == 80);
    const auto has_orin = [](const GpuBlob& blob) { return blob.capability == 87; };
    CHECK(best_capability(8, 7) == (std::any_of(gpu_blobs().begin(), gpu_blobs().end(), has_orin) ? 87 : 80));
  }
  // Code that uses the features of one architecture runs on that one only.
  for (const GpuBlob& blob : gpu_blobs())
    CHECK((!blob.exact || best_capability(blob.capability / 10, blob.capability % 10) == blob.capability));
  CHECK(std::none_of(gpu_blobs().begin(), gpu_blobs().end(),
                     [](const GpuBlob& blob) { return blob.capability == best_capability(10, 2) && blob.exact; }));
}

TEST_CASE("reasons of the clock become disturbances") {
  struct Case {
    unsigned long long reasons;
    std::uint32_t disturbances;
    const char* why;
  };
  const Case cases[] = {
      {0x0, 0, "none"},
      {0x1, 0, "idle"},
      {0x2, 0, "application clocks"},
      {0x4, kPowerCap, "software power cap"},
      {0x8, kHwSlowdown, "hardware slowdown of unknown cause"},
      {0x20, kThermal, "software thermal slowdown"},
      {0x48, kThermal, "hardware thermal slowdown"},
      {0x88, kHwSlowdown, "power brake"},
      {0x24, kPowerCap | kThermal, "power cap and heat"},
      {0x100, 0, "display clock"},
  };
  const Nvml nvml(kBus, PAGODA_FAKE_NVML);
  REQUIRE(nvml.available());
  for (const Case& c : cases) {
    CAPTURE(c.why);
    set(c.reasons, 350000, 0);
    CHECK(nvml.disturbances() == c.disturbances);
  }
}

TEST_CASE("power, energy and clocks are read in SI units; what a board lacks is absent") {
  set(0, 698500, 123456);
  const Nvml nvml(kBus, PAGODA_FAKE_NVML);
  CHECK(nvml.watts().value() == doctest::Approx(698.5));
  CHECK(nvml.joules().value() == doctest::Approx(123.456));
  CHECK(nvml.sm_hz().value() == 1755e6);
  CHECK(nvml.memory_hz().value() == 3201e6);
  CHECK(!nvml.celsius());      // the call fails
  CHECK(!nvml.limit_watts());  // there is no such call
  CHECK(nvml.driver() == "");
  CHECK(std::holds_alternative<std::monostate>(nvml.link().at("pcie_width")));
}

TEST_CASE("a trace keeps a reason that came and went between two samples") {
  set(0, 100000, 0);
  const Nvml nvml(kBus, PAGODA_FAKE_NVML);
  NvmlTrace trace(nvml);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  CHECK(trace.since_last().disturbances == 0);
  set(0x4, 700000, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  set(0, 100000, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const NvmlTrace::Since since = trace.since_last();
  CHECK(since.disturbances == kPowerCap);
  CHECK(since.watts == doctest::Approx(700));
  CHECK(trace.points().size() > 10);
}

TEST_CASE("without the library, or of another device, everything is absent and said") {
  const Nvml nowhere(kBus, "libno-such-library.so");
  CHECK(!nowhere.available());
  CHECK(nowhere.why().find("cannot be opened") != std::string::npos);
  CHECK(!nowhere.watts());
  CHECK(nowhere.disturbances() == 0);
  const Nvml other("0000:99:00.0", PAGODA_FAKE_NVML);
  CHECK(!other.available());
  CHECK(!other.joules());
}

TEST_CASE("a missing or strange driver is a clear message") {
  CHECK_THROWS_WITH_AS(Gpu(0, "libno-such-driver.so"), doctest::Contains("no NVIDIA driver"), GpuError);
  CHECK_THROWS_WITH_AS(Gpu(0, PAGODA_FAKE_NVML), doctest::Contains("has no cuInit"), GpuError);
}

TEST_CASE("the tool ends with 4 where there is no driver") {
  const Workshop shop;
  // Found before the driver of this machine, if it has one, and not a library.
  std::ofstream(shop.path("libcuda.so.1")) << "none";
  const Outcome outcome = shop.shell("LD_LIBRARY_PATH=. '" PAGODA_ERT_CEILINGS "' --gpu 0");
  CHECK(outcome.code == 4);
  CHECK(outcome.says("no NVIDIA driver"));
}

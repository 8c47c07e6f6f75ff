// The CPU's kernels: their machine code, their results, and the sources of facts about this machine.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "code_audit.h"
#include "cpu_run.h"
#include "machine.h"
#include "runs.h"
#include "support/workshop.h"
#include "system_files.h"
#include "workers.h"

namespace {

using namespace pagoda::tools::ceilings;
namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

using pagoda::test::Workshop;

}  // namespace

TEST_CASE("every hot loop holds exactly the instructions it claims and almost no others") {
  for (const ComputeKernel& k : compute_kernels()) {
    CAPTURE(k.name);
    CHECK(objection(audit(k.name), k.instruction, k.instructions, 2) == "");
  }
  for (const BandwidthKernel& k : bandwidth_kernels()) {
    CAPTURE(k.name);
    CHECK(objection(audit(k.name), k.instruction, k.instructions, 8) == "");
  }
}

TEST_CASE("a loop that is not what it claims is objected to") {
  const ComputeKernel& k = compute_kernels().front();
  CHECK(objection(audit(k.name), k.instruction, k.instructions + 1, 2) != "");
  CHECK(objection(audit(k.name), "vdivpd", k.instructions, 2) != "");
  CHECK(objection(audit(k.name), k.instruction, k.instructions, 1) != "");
  CHECK(objection(audit("pagoda_no_such"), k.instruction, k.instructions, 2).find("pagoda_no_such") !=
        std::string::npos);
}

TEST_CASE("objdump counts the same instructions" *
          doctest::skip(Workshop().shell("command -v objdump").code != 0)) {  // doctest says so: "1 skipped"
  const std::string code = Workshop().shell("objdump -d --no-show-raw-insn '" PAGODA_ERT_CEILINGS "'").out;
  for (const ComputeKernel& k : compute_kernels()) {
    const std::size_t from = code.find("<" + std::string(k.name) + "_loop>:");
    const std::size_t to = code.find("<" + std::string(k.name) + "_loop_end>:");
    CAPTURE(k.name);
    REQUIRE(from < to);
    REQUIRE(to != std::string::npos);
    int count = 0;
    const std::string loop = code.substr(from, to - from), name = std::string(k.instruction);
    for (std::size_t at = 0; (at = loop.find(name, at)) != std::string::npos; at += name.size()) ++count;
    CHECK(count == k.instructions);
  }
}

TEST_CASE("every kernel this CPU has computes what it must") {
  const CpuMachine machine = read_machine();
  int run = 0;
  for (const ComputeKernel& k : compute_kernels()) {
    if (!machine.has(k.feature) || k.step == Step::Tile) continue;
    CAPTURE(k.name);
    const Verdict verdict = right_result(k);
    CHECK(verdict.right);
    CHECK(verdict.detail == "");
    ++run;
  }
  for (const BandwidthKernel& k : bandwidth_kernels()) {
    if (!machine.has(k.feature)) continue;
    CAPTURE(k.name);
    const Verdict verdict = right_result(k);
    CHECK(verdict.right);
    CHECK(verdict.detail == "");
    ++run;
  }
  CHECK(run > 3);
}

TEST_CASE("a kernel that does something else is caught") {
  for (const ComputeKernel& k : compute_kernels())
    if (k.step == Step::Fma && k.precision == pagoda::Precision::Float64 && k.isa == "scalar") {
      ComputeKernel wrong = k;
      wrong.steps = k.steps + 1;
      const Verdict verdict = right_result(wrong);
      CHECK(!verdict.right);
      CHECK(verdict.detail.find("must be") != std::string::npos);
    }
}

TEST_CASE("the topology knows cores and caches, and /sys agrees with hwloc on their sizes") {
  const Topology topology = read_topology();
  REQUIRE(!topology.cpus.empty());
  std::vector<int> allowed;
  for (const Cpu& cpu : topology.cpus) allowed.push_back(cpu.id);
  const Topology sysfs = read_topology_sysfs("/sys/devices/system", allowed);
  CHECK(sysfs.cpus.size() == topology.cpus.size());
  std::size_t both = 0;
  for (int level = 1; level <= topology.last_level(); ++level) {
    const Cache *a = topology.cache(level, allowed.front()), *b = sysfs.cache(level, allowed.front());
    if (a == nullptr || b == nullptr) continue;
    CHECK(a->bytes == b->bytes);
    ++both;
  }
  CHECK((both > 0 || sysfs.caches.empty()));
}

TEST_CASE("what a worker throws reaches the caller, and the workers go on") {
  Workers workers(std::vector<int>(3, read_topology().cpus.front().id));
  for (const std::size_t bad : {0, 2}) {
    CAPTURE(bad);
    const auto fail = [&](std::size_t worker) {
      if (worker == bad) throw std::runtime_error("no memory");
    };
    CHECK_THROWS_WITH_AS(workers.run(fail), "no memory", std::runtime_error);
    CHECK_THROWS_WITH_AS(workers.sample(fail, 1, nullptr), "no memory", std::runtime_error);
    std::atomic<int> ran = 0;
    workers.sample([&](std::size_t) { ++ran; }, 1, nullptr);
    CHECK(ran == 3);
  }
}

TEST_CASE("a planted machine of two packages, two threads a core and two nodes is read as such") {
  const Workshop shop;
  const char* shared[] = {"0,4", "1,5", "2,6", "3,7"};
  for (int cpu = 0; cpu < 8; ++cpu) {
    const fs::path at = shop.path("cpu/cpu" + std::to_string(cpu));
    const int core = cpu % 4;
    write(at / "topology/physical_package_id", std::to_string(core / 2));
    write(at / "topology/core_id", std::to_string(core % 2));
    const char* types[] = {"Data", "Instruction", "Unified", "Unified"};
    const char* sizes[] = {"48K", "32K", "1024K", "32M"};
    const int levels[] = {1, 1, 2, 3};
    for (int i = 0; i < 4; ++i) {
      const fs::path cache = at / "cache" / ("index" + std::to_string(i));
      write(cache / "type", types[i]);
      write(cache / "level", std::to_string(levels[i]));
      write(cache / "size", sizes[i]);
      write(cache / "shared_cpu_list", i < 3 ? shared[core] : core < 2 ? "0-1,4-5" : "2-3,6-7");
    }
  }
  write(shop.path("node/node0/cpulist"), "0-1,4-5");
  write(shop.path("node/node1/cpulist"), "2-3,6-7");
  const Topology t = read_topology_sysfs(shop.folder, {0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(t.one_per_core() == std::vector<int>{0, 1, 2, 3});
  CHECK(t.nodes() == std::vector<int>{0, 1});
  CHECK(t.cache(1, 5)->bytes == 48 << 10);
  CHECK(t.cache(3, 7)->cpus == std::vector<int>{2, 3, 6, 7});
  CHECK(t.last_level() == 3);
  CHECK(t.total_bytes(3) == 64 << 20);
  // Two CPUs only: those of the control group.
  CHECK(read_topology_sysfs(shop.folder, {2, 6}).one_per_core() == std::vector<int>{2});
}

TEST_CASE("limits come from the control group this process is in") {
  const Workshop shop;
  write(shop.path("proc/self/cgroup"), "0::/job\n");
  write(shop.path("proc/meminfo"), "MemTotal: 4194304 kB\nMemAvailable:   2097152 kB\n");
  write(shop.path("sys/fs/cgroup/job/cpu.max"), "150000 100000\n");
  write(shop.path("sys/fs/cgroup/job/memory.max"), "1073741824\n");
  write(shop.path("sys/fs/cgroup/job/memory.current"), "73741824\n");
  Limits limits = read_limits(shop.folder);
  CHECK(limits.cpus.value() == 1.5);
  CHECK(limits.memory_bytes.value() == 1000000000);
  CHECK(limits.whole_bytes.value() == 1073741824);
  write(shop.path("sys/fs/cgroup/job/cpu.max"), "max 100000\n");
  write(shop.path("sys/fs/cgroup/job/memory.max"), "max\n");
  limits = read_limits(shop.folder);
  CHECK(!limits.cpus);
  CHECK(limits.memory_bytes.value() == 2147483648);
  CHECK(limits.whole_bytes.value() == 4294967296);
}

TEST_CASE("the choice of huge pages is the one in brackets") {
  const Workshop shop;
  CHECK(huge_pages(shop.folder) == "");
  write(shop.path("sys/kernel/mm/transparent_hugepage/enabled"), "always [madvise] never\n");
  CHECK(huge_pages(shop.folder) == "madvise");
  CHECK(pagoda::tools::kernel_version() != "");
}

TEST_CASE("numbers print with three or four digits and a prefix") {
  CHECK(with_unit(1.2346e12, "B/s") == "1.235 TB/s");
  CHECK(with_unit(2.5e-6, "s") == "2.5 µs");
  CHECK(with_unit(6e-13, "J/FLOP") == "0.6 pJ/FLOP");
  CHECK(with_unit(140, "W") == "140 W");
}

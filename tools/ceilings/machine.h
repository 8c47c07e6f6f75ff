// What this machine is and how much of it may be used: cores and caches, instruction sets, control groups, load.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pagoda/documents/ceilings.h"
#include "pagoda/measured/theory.h"

namespace pagoda::tools::ceilings {

struct Cpu {
  int id = 0;    // as the operating system numbers it
  int core = 0;  // CPUs of one core share its pipes
  int node = 0;  // of memory
};

struct Cache {
  int level = 0;
  std::int64_t bytes = 0;
  std::vector<int> cpus;  // that share it
};

// Only CPUs that this process may run on.
struct Topology {
  std::vector<Cpu> cpus;
  std::vector<Cache> caches;  // of data
  std::string source;         // "hwloc 2.9", "sysfs"

  std::vector<int> one_per_core() const;
  std::vector<int> nodes() const;
  const Cache* cache(int level, int cpu) const;
  int last_level() const;                     // 0: no cache known
  std::int64_t total_bytes(int level) const;  // of all caches of a level
};
Topology read_topology();
Topology read_topology_sysfs(const std::string& root, const std::vector<int>& allowed);  // e.g. "/sys/devices/system"

struct Limits {
  std::optional<double> cpus;                // of the control group's quota
  std::optional<std::int64_t> memory_bytes;  // the smaller of the control group's limit and what is free
};
Limits read_limits(const std::string& root = "");

struct CpuMachine {
  measured::CpuIdentity identity;
  std::set<std::string> flags;
  Topology topology;
  Limits limits;
  std::optional<measured::CpuCore> core;
  std::optional<double> max_hz;  // as the kernel's frequency driver states it

  bool has(std::string_view feature) const;
};
CpuMachine read_machine();

// What else decides a rate and may differ between two runs: "Linux 6.1.0", "madvise" (pages of 2 MiB; empty: not told).
std::string kernel_version();
std::string huge_pages(const std::string& root = "");

// Who else is using the machine: hundredths of a second stolen by the hypervisor, of one CPU.
std::int64_t stolen_ticks(int cpu);
double load_average();

}  // namespace pagoda::tools::ceilings

// Describes this machine and how much of it may be used: cores, caches, instruction sets, control groups, load.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pagoda/documents/ceilings.h"
#include "pagoda/lab/theory.h"

namespace pagoda::tools::ceilings {

inline bool contains(const std::vector<int>& cpus, int cpu) { return std::ranges::find(cpus, cpu) != cpus.end(); }

struct Cpu {
  int id = 0;    // the operating system's number
  int core = 0;  // CPUs of one core share its pipes
  int node = 0;  // NUMA node
};

struct Cache {
  int level = 0;
  std::int64_t bytes = 0;
  std::vector<int> cpus;  // CPUs that share it
};

// Contains only CPUs that this process may run on.
struct Topology {
  std::vector<Cpu> cpus;
  std::vector<Cache> caches;  // data caches
  std::string source;         // "hwloc 2.9", "sysfs"

  std::vector<int> one_per_core() const;
  std::vector<int> nodes() const;
  const Cache* cache(int level, int cpu) const;
  int last_level() const;                     // 0: no known cache
  std::int64_t total_bytes(int level) const;  // sum over all caches of a level
};
Topology read_topology();
Topology read_topology_sysfs(const std::string& root, const std::vector<int>& allowed);  // e.g. "/sys/devices/system"

struct Limits {
  std::optional<double> cpus;                // the control group's quota
  std::optional<std::int64_t> memory_bytes;  // the smaller of free memory and what the control group's limit leaves
  std::optional<std::int64_t> whole_bytes;   // the smaller of all memory and the control group's limit
};
Limits read_limits(const std::string& root = "");

struct CpuMachine {
  lab::CpuIdentity identity;
  std::set<std::string> flags;
  Topology topology;
  Limits limits;
  std::optional<lab::CpuCore> core;
  std::optional<double> max_hz;  // from the kernel's frequency driver

  bool has(std::string_view feature) const;
};
CpuMachine read_machine();

// The kernel's policy for pages of 2 MiB, which affects rates: "madvise"; empty: unknown.
std::string huge_pages(const std::string& root = "");

// Other users of the machine: hundredths of a second that the hypervisor stole from one CPU, and the load average.
std::int64_t stolen_ticks(int cpu);
double load_average();

}  // namespace pagoda::tools::ceilings

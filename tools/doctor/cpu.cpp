// CPU checks: everything that affects how fast and how evenly it runs. Sources: the kernel's documentation of cpufreq,
// intel_pstate, cgroup v2, perf_event_paranoid.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <set>
#include <thread>

#include "doctor.h"
#include "pagoda/base/number.h"
#include "pagoda/base/text.h"
#include "power.h"
#include "system_files.h"

namespace pagoda::tools::doctor {
namespace {

constexpr const char* kCpus = "/sys/devices/system/cpu/";

std::string percent(double share) { return base::decimal(100 * share, std::chars_format::fixed, 1) + " %"; }

bool is_virtual(const SystemFiles& files) {
  const std::optional<std::string> info = files.text("/proc/cpuinfo");
  return info && info->find(" hypervisor") != std::string::npos;
}

Finding governor(const SystemFiles& files, const std::vector<int>& cpus) {
  Finding finding{.id = "cpu.governor", .title = "frequency governor", .guide = InForce::Unknown};
  std::map<std::string, std::vector<int>> by_governor;
  for (const int cpu : cpus)
    if (const auto text = files.text(kCpus + ("cpu" + std::to_string(cpu)) + "/cpufreq/scaling_governor"))
      by_governor[*text].push_back(cpu);
  if (by_governor.empty()) {
    finding.found =
        "no cpufreq in /sys: " + std::string(is_virtual(files) ? "a virtual machine, whose host decides"
                                                               : "the firmware decides, or the kernel hides it");
    return finding;
  }
  for (const auto& [name, list] : by_governor)
    finding.found += (finding.found.empty() ? "" : ", ") + name + " on CPUs " + cpu_list_text(list);
  const bool is_fast = by_governor.size() == 1 && by_governor.begin()->first == "performance";
  finding.judge(!is_fast, State::Warning,
                "the clock follows the load, so that short runs see a slower CPU than long ones",
                "cpupower frequency-set -g performance (as root)");
  return finding;
}

Finding turbo(const SystemFiles& files) {
  Finding finding{.id = "cpu.turbo", .title = "turbo", .guide = InForce::Unknown};
  std::optional<bool> is_on;
  std::string remedy;
  if (const auto no_turbo = files.number(std::string(kCpus) + "intel_pstate/no_turbo")) {
    is_on = *no_turbo == 0;
    finding.found = "intel_pstate/no_turbo is " + std::to_string(*no_turbo);
    remedy = "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo (as root)";
  } else if (const auto boost = files.number(std::string(kCpus) + "cpufreq/boost")) {
    is_on = *boost != 0;
    finding.found = "cpufreq/boost is " + std::to_string(*boost);
    remedy = "echo 0 > /sys/devices/system/cpu/cpufreq/boost (as root)";
  }
  if (!is_on) {
    finding.found = "neither intel_pstate/no_turbo nor cpufreq/boost in /sys";
    return finding;
  }
  finding.judge(*is_on, State::Warning,
                "the clock depends on temperature and on how many cores work; comparisons over minutes drift", remedy);
  return finding;
}

Finding smt(const SystemFiles& files, const std::vector<int>& cpus) {
  Finding finding{.id = "cpu.smt", .title = "hardware threads"};
  std::set<std::string> cores;
  for (const int cpu : cpus)
    if (const auto siblings = files.text(kCpus + ("cpu" + std::to_string(cpu)) + "/topology/thread_siblings_list"))
      cores.insert(*siblings);
  const std::optional<std::int64_t> active = files.number(std::string(kCpus) + "smt/active");
  if (!active && cores.empty()) {
    finding.found = "no smt/active and no topology in /sys";
    return finding;
  }
  finding.found = active ? "smt/active is " + std::to_string(*active) : "smt/active is not readable";
  if (!cores.empty())
    finding.found += "; " + std::to_string(cpus.size()) + " CPUs on " + std::to_string(cores.size()) + " cores";
  const bool shares = !cores.empty() && cores.size() < cpus.size();
  finding.judge(shares, State::Warning,
                "two threads of a run may share a core, and its time then depends on where they land",
                "use as many threads as cores and pin them to one CPU of each (taskset), or echo off > "
                "/sys/devices/system/cpu/smt/control (as root)");
  return finding;
}

Finding pinning(const SystemFiles& files, const std::vector<int>& cpus) {
  Finding finding{.id = "cpu.pinning", .title = "pinning", .guide = InForce::Unknown};
  const std::optional<std::string> online = files.text(std::string(kCpus) + "online");
  if (!online || cpus.empty()) {
    finding.found = "the online CPUs are not readable";
    return finding;
  }
  const std::vector<int> all = cpu_list(*online);
  const std::string isolated = files.text(std::string(kCpus) + "isolated").value_or("");
  finding.found = "may run on CPUs " + cpu_list_text(cpus) + " of " + *online +
                  (isolated.empty() ? ", none isolated" : ", isolated " + isolated);
  const bool is_pinned = cpus.size() < all.size() || all.size() == 1;
  const std::vector<int> half(cpus.begin(), cpus.begin() + static_cast<std::ptrdiff_t>((cpus.size() + 1) / 2));
  finding.judge(!is_pinned, State::Note, "threads may move between CPUs, and lose their caches each time",
                "taskset -c " + cpu_list_text(half) + " COMMAND, or isolcpus= at boot");
  return finding;
}

Finding steal(const std::optional<SystemFiles::Jiffies>& before, const std::optional<SystemFiles::Jiffies>& after) {
  constexpr double kNotable = 0.005;
  Finding finding{.id = "cpu.steal", .title = "steal time"};
  if (!before || !after || !(after->all > 0)) {
    finding.found = "/proc/stat does not tell";
    return finding;
  }
  const double ever = after->stolen / after->all;
  const double span = after->all - before->all;
  const double now = span > 0 ? (after->stolen - before->stolen) / span : 0;
  finding.found = percent(ever) + " since boot, " + percent(now) + " just now (/proc/stat)";
  finding.judge(ever > kNotable || now > kNotable, State::Warning,
                "the host gives this machine's CPUs to others; runs are longer than their work",
                "measure on a machine of one's own, or at another time; compare minima and medians, never means");
  return finding;
}

Finding cgroup_cpu(const SystemFiles& files, const std::string& folder, std::optional<std::int64_t> throttled_before,
                   const std::vector<int>& cpus) {
  Finding finding{.id = "cpu.quota", .title = "CPU quota of the container"};
  std::optional<double> share;
  if (const auto text = files.text(folder + "/cpu.max")) {
    const std::vector<std::string> parts = words(*text);
    finding.found = "cpu.max is " + *text;
    if (parts.size() == 2 && parts[0] != "max") {
      const auto quota = base::parse_number<double>(parts[0]), period = base::parse_number<double>(parts[1]);
      if (quota && period && *period > 0) share = *quota / *period;
    }
  } else if (const auto quota = files.number("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")) {  // version 1
    const double period = static_cast<double>(files.number("/sys/fs/cgroup/cpu/cpu.cfs_period_us").value_or(100000));
    finding.found = "cpu.cfs_quota_us is " + std::to_string(*quota);
    if (*quota > 0 && period > 0) share = static_cast<double>(*quota) / period;
  } else {
    finding.found = "no quota is reported (no cgroup, or its root)";
    finding.state = State::Good;
    return finding;
  }
  const auto throttled = files.field(folder + "/cpu.stat", "nr_throttled");
  if (throttled) finding.found += ", throttled " + *throttled + " times";
  const auto times = base::parse_number<std::int64_t>(throttled.value_or(""));
  const bool is_throttled_now = times && throttled_before && *times > *throttled_before;
  const bool is_short = share && *share < static_cast<double>(cpus.size());
  finding.judge(is_throttled_now || is_short, State::Warning,
                is_throttled_now ? "the quota is used up right now: everything stands still for parts of each period"
                                 : "the quota is less than the CPUs that threads are started on; they will be stopped "
                                   "in the middle of runs",
                "use no more threads than the quota has CPUs, or start the container without --cpus and with "
                "--cpuset-cpus instead");
  return finding;
}

Finding cgroup_memory(const SystemFiles& files, const std::string& folder) {
  Finding finding{.id = "cpu.memory_limit", .title = "memory limit of the container"};
  std::optional<std::int64_t> limit = files.number(folder + "/memory.max");
  if (!limit) limit = files.number("/sys/fs/cgroup/memory/memory.limit_in_bytes");
  const auto kib = base::leading_number<std::int64_t>(files.field("/proc/meminfo", "MemTotal").value_or(""));
  const std::int64_t physical = 1024 * kib.value_or(0);
  if (!limit || (physical > 0 && *limit >= physical)) {
    finding.state = State::Good;
    finding.found = physical > 0 ? "none below the machine's " + std::to_string(physical >> 20) + " MiB" : "none";
    return finding;
  }
  finding.state = State::Note;
  finding.found = std::to_string(*limit >> 20) + " MiB" +
                  (physical > 0 ? " of the machine's " + std::to_string(physical >> 20) + " MiB" : "");
  finding.wrong = "a model that needs more is killed, whatever the machine has free";
  finding.remedy =
      "raise the container's memory, or take smaller batches; onnx-estimate MODEL --memory says what they need";
  return finding;
}

Finding perf_events(const SystemFiles& files, bool is_administrator) {
  Finding finding{.id = "cpu.perf_events", .title = "CPU counters may be read"};
  const std::optional<std::int64_t> level = files.number("/proc/sys/kernel/perf_event_paranoid");
  if (!level) {
    finding.found = "no perf_event_paranoid: the kernel has no perf events";
    return finding;
  }
  finding.found = "perf_event_paranoid is " + std::to_string(*level);
  // Up to 2, a process may count its own events. Above (Debian, Ubuntu), only with CAP_PERFMON.
  finding.judge(*level > 2 && !is_administrator, State::Warning,
                "a process may not even count its own cycles; the observed clock and its theory are left out",
                "sysctl kernel.perf_event_paranoid=2 (as root)");
  return finding;
}

Finding load(const SystemFiles& files, const std::vector<int>& cpus) {
  Finding finding{.id = "cpu.load", .title = "other load", .guide = InForce::Unknown};
  const std::vector<std::string> fields = words(files.text("/proc/loadavg").value_or(""));
  const auto running = fields.empty() ? std::nullopt : base::parse_number<double>(fields[0]);
  if (!running) {
    finding.found = "/proc/loadavg does not tell";
    return finding;
  }
  finding.found =
      fields[0] + " runnable over the last minute on " + std::to_string(cpus.size()) + " CPUs (/proc/loadavg)";
  const bool is_busy = *running > 0.3 * static_cast<double>(std::max<std::size_t>(cpus.size(), 1));
  finding.judge(is_busy, State::Warning, "something else is working on this machine",
                "stop it, or wait; top shows what it is");
  return finding;
}

Finding power(const SystemFiles& files) {
  Finding finding{.id = "cpu.energy", .title = "energy of the CPU (RAPL)"};
  for (const std::string& name : files.names("/sys/class/powercap"))
    if (name.starts_with("intel-rapl:") && name.find(':', 11) == std::string::npos) {
      const bool can_read = files.number("/sys/class/powercap/" + name + "/energy_uj").has_value();
      finding.found = name + (can_read ? "/energy_uj can be read" : "/energy_uj cannot be read by this user");
      finding.judge(!can_read, State::Warning, "energy per inference is left out",
                    "chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj (as root), or run as root");
      return finding;
    }
  if (const std::vector<Rail> rails = read_ina3221(files); !rails.empty()) {
    std::vector<std::string> names;
    names.reserve(rails.size());
    for (const Rail& rail : rails) names.push_back(rail.name);
    const RailTotal total = rail_total(names);
    finding.title = "energy of the module (INA3221)";
    finding.state = State::Good;
    finding.found = "power of " + base::joined(names, ", ") + "; " +
                    (total.rails.empty() ? "which of them add up is not documented"
                                         : total.scope + " takes " + base::joined(total.rails, " + "));
    return finding;
  }
  finding.found = "no intel-rapl in /sys/class/powercap: a virtual machine, or another architecture";
  return finding;
}

Finding placement(const SystemFiles& files) {
  Finding finding{.id = "cpu.memory_placement", .title = "memory placement"};
  const std::string pages = files.text("/sys/kernel/mm/transparent_hugepage/enabled").value_or("");
  std::size_t nodes = 0;
  for (const std::string& name : files.names("/sys/devices/system/node"))
    if (name.starts_with("node") && name.size() > 4 && name[4] >= '0' && name[4] <= '9') ++nodes;
  const bool balances = files.number("/proc/sys/kernel/numa_balancing").value_or(0) != 0;
  finding.found = std::to_string(std::max<std::size_t>(nodes, 1)) + " memory node" + (nodes > 1 ? "s" : "") +
                  (pages.empty() ? "" : ", huge pages " + pages) + (balances ? ", NUMA balancing on" : "");
  finding.judge(nodes > 1 && balances, State::Warning,
                "the kernel moves pages between memory nodes while a run goes on",
                "numactl --cpunodebind=0 --membind=0 COMMAND, or sysctl kernel.numa_balancing=0 (as root)");
  return finding;
}

}  // namespace

std::vector<Finding> examine_cpu(const Surroundings& surroundings) {
  const SystemFiles files(surroundings.root);
  const std::vector<int> cpus = surroundings.allowed_cpus.value_or(allowed_cpus());
  const std::string folder = files.cgroup_folder();
  const auto before = files.jiffies();
  const auto throttled = files.field(folder + "/cpu.stat", "nr_throttled");
  std::this_thread::sleep_for(std::chrono::duration<double>(surroundings.sample_seconds));
  const auto after = files.jiffies();
  const bool is_administrator = surroundings.is_administrator.value_or(geteuid() == 0);
  return {governor(files, cpus),
          turbo(files),
          smt(files, cpus),
          pinning(files, cpus),
          load(files, cpus),
          steal(before, after),
          cgroup_cpu(files, folder, base::parse_number<std::int64_t>(throttled.value_or("")), cpus),
          cgroup_memory(files, folder),
          placement(files),
          perf_events(files, is_administrator),
          power(files)};
}

}  // namespace pagoda::tools::doctor

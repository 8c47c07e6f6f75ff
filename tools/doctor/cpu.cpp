// CPU checks: everything that affects how fast and how evenly it runs. Sources: the kernel's documentation of cpufreq,
// intel_pstate, cgroup v2, perf_event_paranoid.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "doctor.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/number.h"
#include "pagoda/base/text.h"
#include "power.h"
#include "system_files.h"

namespace pagoda::tools::doctor {
namespace {

constexpr const char* kCpus = "/sys/devices/system/cpu/";

struct CpuMachine {
  SystemFiles files;
  std::vector<int> cpus;  // that this process may run on
  bool is_administrator;
  std::string cgroup = files.cgroup_folder();
  // Before and after a moment of observation.
  std::array<std::optional<SystemFiles::Jiffies>, 2> jiffies = {};
  std::array<std::optional<std::string>, 2> throttled = {};

  void look(std::size_t at) {
    jiffies[at] = files.jiffies();
    throttled[at] = files.field(cgroup + "/cpu.stat", "nr_throttled");
  }
};

std::string percent(double share) { return base::decimal(100 * share, std::chars_format::fixed, 1) + " %"; }

std::string of_cpu(int cpu, const char* file) { return cat(kCpus, "cpu", cpu, file); }

bool is_virtual(const SystemFiles& files) {
  return files.text("/proc/cpuinfo").value_or("").find(" hypervisor") != std::string::npos;
}

void governor(const CpuMachine& on, Finding& finding) {
  std::map<std::string, std::vector<int>> by_governor;
  for (const int cpu : on.cpus)
    if (const auto text = on.files.text(of_cpu(cpu, "/cpufreq/scaling_governor"))) by_governor[*text].push_back(cpu);
  if (by_governor.empty())
    return finding.is(State::Absent, cat("no cpufreq in /sys: ", is_virtual(on.files)
                                                                     ? "a virtual machine, whose host decides"
                                                                     : "the firmware decides, or the kernel hides it"));
  finding.found = base::joined(by_governor, ", ",
                               [](const auto& each) { return cat(each.first, " on CPUs ", ranges(each.second)); });
  finding.judge(by_governor.size() > 1 || by_governor.begin()->first != "performance", State::Warning,
                "the clock follows the load, so that short runs see a slower CPU than long ones",
                "cpupower frequency-set -g performance (as root)");
}

void turbo(const CpuMachine& on, Finding& finding) {
  struct Switch {
    const char* file;
    std::int64_t off;
  };
  for (const auto& [file, off] : {Switch{"intel_pstate/no_turbo", 1}, Switch{"cpufreq/boost", 0}})
    if (const auto value = on.files.number(cat(kCpus, file))) {
      finding.found = cat(file, " is ", *value);
      return finding.judge(
          (*value == 0) == (off == 1), State::Warning,
          "the clock depends on temperature and on how many cores work; comparisons over minutes drift",
          cat("echo ", off, " > ", kCpus, file, " (as root)"));
    }
  finding.found = "neither intel_pstate/no_turbo nor cpufreq/boost in /sys";
}

void smt(const CpuMachine& on, Finding& finding) {
  std::set<std::string> cores;
  for (const int cpu : on.cpus)
    if (const auto siblings = on.files.text(of_cpu(cpu, "/topology/thread_siblings_list"))) cores.insert(*siblings);
  const std::optional<std::int64_t> active = on.files.number(cat(kCpus, "smt/active"));
  if (!active && cores.empty()) return finding.is(State::Absent, "no smt/active and no topology in /sys");
  finding.found = active ? cat("smt/active is ", *active) : "smt/active is not readable";
  if (!cores.empty()) finding.found += cat("; ", on.cpus.size(), " CPUs on ", cores.size(), " cores");
  finding.judge(!cores.empty() && cores.size() < on.cpus.size(), State::Warning,
                "two threads of a run may share a core, and its time then depends on where they land",
                "use as many threads as cores and pin them to one CPU of each (taskset), or echo off > "
                "/sys/devices/system/cpu/smt/control (as root)");
}

void pinning(const CpuMachine& on, Finding& finding) {
  const std::optional<std::string> online = on.files.text(cat(kCpus, "online"));
  if (!online || on.cpus.empty()) return finding.is(State::Absent, "the online CPUs are not readable");
  const std::size_t all = cpu_list(*online).size();
  const std::string isolated = on.files.text(cat(kCpus, "isolated")).value_or("");
  finding.found = cat("may run on CPUs ", ranges(on.cpus), " of ", *online,
                      isolated.empty() ? ", none isolated" : ", isolated ", isolated);
  const std::vector<int> half(on.cpus.begin(), on.cpus.begin() + static_cast<std::ptrdiff_t>((on.cpus.size() + 1) / 2));
  finding.judge(on.cpus.size() >= all && all != 1, State::Note,
                "threads may move between CPUs, and lose their caches each time",
                cat("taskset -c ", ranges(half), " COMMAND, or isolcpus= at boot"));
}

void steal(const CpuMachine& on, Finding& finding) {
  constexpr double kNotable = 0.005;
  const auto& [before, after] = on.jiffies;
  if (!before || !after || !(after->all > 0)) return finding.is(State::Absent, "/proc/stat does not tell");
  const double ever = after->stolen / after->all;
  const double span = after->all - before->all;
  const double now = span > 0 ? (after->stolen - before->stolen) / span : 0;
  finding.found = cat(percent(ever), " since boot, ", percent(now), " just now (/proc/stat)");
  finding.judge(ever > kNotable || now > kNotable, State::Warning,
                "the host gives this machine's CPUs to others; runs are longer than their work",
                "measure on a machine of one's own, or at another time; compare minima and medians, never means");
}

void quota(const CpuMachine& on, Finding& finding) {
  std::optional<double> quota;
  double period = 0;
  if (const auto text = on.files.text(on.cgroup + "/cpu.max")) {
    const std::vector<std::string> parts = words(*text);
    finding.found = "cpu.max is " + *text;
    if (parts.size() == 2 && parts[0] != "max") {
      quota = base::parse_number<double>(parts[0]);
      period = base::parse_number<double>(parts[1]).value_or(0);
    }
  } else if (const auto microseconds = on.files.number("/sys/fs/cgroup/cpu/cpu.cfs_quota_us")) {  // version 1
    finding.found = cat("cpu.cfs_quota_us is ", *microseconds);
    if (*microseconds > 0) quota = static_cast<double>(*microseconds);
    period = static_cast<double>(on.files.number("/sys/fs/cgroup/cpu/cpu.cfs_period_us").value_or(100000));
  } else {
    return finding.is(State::Good, "no quota is reported (no cgroup, or its root)");
  }
  if (on.throttled[1]) finding.found += cat(", throttled ", *on.throttled[1], " times");
  const auto before = base::parse_number<std::int64_t>(on.throttled[0].value_or("")),
             after = base::parse_number<std::int64_t>(on.throttled[1].value_or(""));
  const bool is_throttled_now = before && after && *after > *before;
  const bool is_short = quota && period > 0 && *quota / period < static_cast<double>(on.cpus.size());
  finding.judge(is_throttled_now || is_short, State::Warning,
                is_throttled_now ? "the quota is used up right now: everything stands still for parts of each period"
                                 : "the quota is less than the CPUs that threads are started on; they will be stopped "
                                   "in the middle of runs",
                "use no more threads than the quota has CPUs, or start the container without --cpus and with "
                "--cpuset-cpus instead");
}

void memory_limit(const CpuMachine& on, Finding& finding) {
  std::optional<std::int64_t> limit = on.files.number(on.cgroup + "/memory.max");
  if (!limit) limit = on.files.number("/sys/fs/cgroup/memory/memory.limit_in_bytes");
  const auto kib = base::leading_number<std::int64_t>(on.files.field("/proc/meminfo", "MemTotal").value_or(""));
  const std::int64_t physical = 1024 * kib.value_or(0);
  const std::string machine = physical > 0 ? cat(" the machine's ", physical >> 20, " MiB") : "";
  if (!limit || (physical > 0 && *limit >= physical))
    return finding.is(State::Good, cat("none", machine.empty() ? "" : " below", machine));
  finding.is(State::Note, cat(*limit >> 20, " MiB", machine.empty() ? "" : " of", machine),
             "a model that needs more is killed, whatever the machine has free",
             "raise the container's memory, or take smaller batches; onnx-estimate MODEL --memory says what they need");
}

void perf_events(const CpuMachine& on, Finding& finding) {
  const std::optional<std::int64_t> level = on.files.number("/proc/sys/kernel/perf_event_paranoid");
  if (!level) return finding.is(State::Absent, "no perf_event_paranoid: the kernel has no perf events");
  finding.found = cat("perf_event_paranoid is ", *level);
  // Up to 2, a process may count its own events. Above (Debian, Ubuntu), only with CAP_PERFMON.
  finding.judge(*level > 2 && !on.is_administrator, State::Warning,
                "a process may not even count its own cycles; the observed clock and its theory are left out",
                "sysctl kernel.perf_event_paranoid=2 (as root)");
}

void load(const CpuMachine& on, Finding& finding) {
  const std::vector<std::string> fields = words(on.files.text("/proc/loadavg").value_or(""));
  const auto running = fields.empty() ? std::nullopt : base::parse_number<double>(fields[0]);
  if (!running) return finding.is(State::Absent, "/proc/loadavg does not tell");
  finding.found = cat(fields[0], " runnable over the last minute on ", on.cpus.size(), " CPUs (/proc/loadavg)");
  finding.judge(*running > 0.3 * static_cast<double>(std::max<std::size_t>(on.cpus.size(), 1)), State::Warning,
                "something else is working on this machine", "stop it, or wait; top shows what it is");
}

void cpu_energy(const CpuMachine& on, Finding& finding) {
  for (const std::string& name : on.files.names("/sys/class/powercap"))
    if (name.starts_with("intel-rapl:") && name.find(':', 11) == std::string::npos) {
      const bool can_read = on.files.number(cat("/sys/class/powercap/", name, "/energy_uj")).has_value();
      finding.found = name + (can_read ? "/energy_uj can be read" : "/energy_uj cannot be read by this user");
      return finding.judge(!can_read, State::Warning, "energy per inference is left out",
                           "chmod a+r /sys/class/powercap/intel-rapl:*/energy_uj (as root), or run as root");
    }
  const std::vector<Rail> rails = read_ina3221(on.files);
  if (rails.empty())
    return finding.is(State::Absent,
                      "no intel-rapl in /sys/class/powercap: a virtual machine, or another architecture");
  const std::vector<std::string> names = names_of(rails);
  const RailTotal total = rail_total(names);
  finding.title = "energy of the module (INA3221)";
  finding.is(State::Good, cat("power of ", base::joined(names), "; ",
                              total.rails.empty() ? "which of them add up is not documented"
                                                  : cat(total.scope, " takes ", base::joined(total.rails, " + "))));
}

void memory_placement(const CpuMachine& on, Finding& finding) {
  const std::string pages = on.files.text("/sys/kernel/mm/transparent_hugepage/enabled").value_or("");
  const std::vector<std::string> names = on.files.names("/sys/devices/system/node");
  const auto nodes = std::ranges::count_if(names, [](const std::string& name) {
    return name.starts_with("node") && name.size() > 4 && name[4] >= '0' && name[4] <= '9';
  });
  const bool balances = on.files.number("/proc/sys/kernel/numa_balancing").value_or(0) != 0;
  finding.found = cat(std::max<std::ptrdiff_t>(nodes, 1), " memory node", nodes > 1 ? "s" : "",
                      pages.empty() ? "" : ", huge pages ", pages, balances ? ", NUMA balancing on" : "");
  finding.judge(nodes > 1 && balances, State::Warning,
                "the kernel moves pages between memory nodes while a run goes on",
                "numactl --cpunodebind=0 --membind=0 COMMAND, or sysctl kernel.numa_balancing=0 (as root)");
}

constexpr Check<CpuMachine> kCpuChecks[] = {
    {"cpu.governor", "frequency governor", governor, InForce::Unknown},
    {"cpu.turbo", "turbo", turbo, InForce::Unknown},
    {"cpu.smt", "hardware threads", smt},
    {"cpu.pinning", "pinning", pinning, InForce::Unknown},
    {"cpu.load", "other load", load, InForce::Unknown},
    {"cpu.steal", "steal time", steal},
    {"cpu.quota", "CPU quota of the container", quota},
    {"cpu.memory_limit", "memory limit of the container", memory_limit},
    {"cpu.memory_placement", "memory placement", memory_placement},
    {"cpu.perf_events", "CPU counters may be read", perf_events},
    {"cpu.energy", "energy of the CPU (RAPL)", cpu_energy},
};

}  // namespace

std::vector<Finding> examine_cpu(const Surroundings& surroundings) {
  CpuMachine machine{.files = SystemFiles(surroundings.root),
                     .cpus = surroundings.allowed_cpus.value_or(allowed_cpus()),
                     .is_administrator = surroundings.is_administrator.value_or(geteuid() == 0)};
  machine.look(0);
  std::this_thread::sleep_for(std::chrono::duration<double>(surroundings.sample_seconds));
  machine.look(1);
  return findings_of(machine, kCpuChecks);
}

}  // namespace pagoda::tools::doctor

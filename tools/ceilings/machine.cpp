// The machine, read from hwloc where that is built in, else from /sys and /proc.
#include "machine.h"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#ifdef PAGODA_HWLOC
#include <hwloc.h>
#endif

namespace ceilings {
namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<std::int64_t> number_in(const fs::path& path) {
  const std::string text = first_line(path);
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  return end == text.c_str() ? std::nullopt : std::optional<std::int64_t>(value);
}

// "0-3,8" → 0 1 2 3 8
std::vector<int> cpu_list(const std::string& text) {
  std::vector<int> result;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    int from = 0, to = 0;
    if (std::sscanf(part.c_str(), "%d-%d", &from, &to) == 2) {
      for (int i = from; i <= to && i - from < 65536; ++i) result.push_back(i);
    } else if (std::sscanf(part.c_str(), "%d", &from) == 1) {
      result.push_back(from);
    }
  }
  return result;
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> result;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) result.push_back(i);
  return result;
}

#ifdef PAGODA_HWLOC
Topology read_topology_hwloc(const std::vector<int>& allowed) {
  Topology result;
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) != 0) return result;
  if (hwloc_topology_load(topology) == 0) {
    for (hwloc_obj_t pu = nullptr; (pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu)) != nullptr;) {
      const int id = static_cast<int>(pu->os_index);
      if (std::find(allowed.begin(), allowed.end(), id) == allowed.end()) continue;
      const hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pu);
      const int node = pu->nodeset ? hwloc_bitmap_first(pu->nodeset) : 0;
      result.cpus.push_back({id, core ? static_cast<int>(core->logical_index) : id, std::max(node, 0)});
    }
    constexpr hwloc_obj_type_t kTypes[] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE};
    for (int level = 1; level <= 4; ++level)
      for (hwloc_obj_t c = nullptr; (c = hwloc_get_next_obj_by_type(topology, kTypes[level - 1], c)) != nullptr;) {
        Cache cache{level, static_cast<std::int64_t>(c->attr->cache.size), {}};
        for (const int id : allowed)
          if (hwloc_bitmap_isset(c->cpuset, static_cast<unsigned>(id))) cache.cpus.push_back(id);
        if (cache.bytes > 0 && !cache.cpus.empty()) result.caches.push_back(std::move(cache));
      }
    const unsigned version = hwloc_get_api_version();
    result.source = "hwloc API " + std::to_string(version >> 16) + "." + std::to_string((version >> 8) & 0xff);
  }
  hwloc_topology_destroy(topology);
  return result;
}
#endif

// The folder of the control group this process is in, of the unified hierarchy.
fs::path control_group(const fs::path& root) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::")) return root / "sys/fs/cgroup" / fs::path(line.substr(3)).relative_path();
  return root / "sys/fs/cgroup";
}

}  // namespace

std::vector<int> Topology::one_per_core() const {
  std::map<int, int> first;
  for (const Cpu& cpu : cpus) first.try_emplace(cpu.core, cpu.id);
  std::vector<int> result;
  for (const auto& [core, id] : first) result.push_back(id);
  return result;
}

std::vector<int> Topology::nodes() const {
  std::set<int> result;
  for (const Cpu& cpu : cpus) result.insert(cpu.node);
  return {result.begin(), result.end()};
}

const Cache* Topology::cache(int level, int cpu) const {
  for (const Cache& c : caches)
    if (c.level == level && std::find(c.cpus.begin(), c.cpus.end(), cpu) != c.cpus.end()) return &c;
  return nullptr;
}

int Topology::last_level() const {
  int level = 0;
  for (const Cache& c : caches) level = std::max(level, c.level);
  return level;
}

std::int64_t Topology::total_bytes(int level) const {
  std::int64_t total = 0;
  for (const Cache& c : caches)
    if (c.level == level) total += c.bytes;
  return total;
}

Topology read_topology_sysfs(const std::string& root, const std::vector<int>& allowed) {
  Topology result;
  result.source = "sysfs";
  std::map<std::pair<int, int>, int> cores;  // package, core id → index
  std::map<int, int> node_of;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fs::path(root) / "node", error)) {
    int node = 0;
    if (std::sscanf(entry.path().filename().c_str(), "node%d", &node) == 1)
      for (const int cpu : cpu_list(first_line(entry.path() / "cpulist"))) node_of[cpu] = node;
  }
  std::set<std::pair<int, std::string>> seen;
  for (const int id : allowed) {
    const fs::path cpu = fs::path(root) / "cpu" / ("cpu" + std::to_string(id));
    const std::pair<int, int> key{static_cast<int>(number_in(cpu / "topology/physical_package_id").value_or(0)),
                                  static_cast<int>(number_in(cpu / "topology/core_id").value_or(id))};
    const int core = cores.try_emplace(key, static_cast<int>(cores.size())).first->second;
    result.cpus.push_back({id, core, node_of.count(id) ? node_of[id] : 0});
    for (int index = 0; index < 8; ++index) {
      const fs::path folder = cpu / "cache" / ("index" + std::to_string(index));
      const std::string type = first_line(folder / "type"), shared = first_line(folder / "shared_cpu_list");
      if (type.empty()) break;
      if (type == "Instruction") continue;
      const int level = static_cast<int>(number_in(folder / "level").value_or(0));
      if (!seen.insert({level, shared}).second) continue;
      const std::string size = first_line(folder / "size");
      const std::int64_t unit = size.ends_with("M") ? 1 << 20 : size.ends_with("K") ? 1 << 10 : 1;
      Cache cache{level, number_in(folder / "size").value_or(0) * unit, {}};
      for (const int other : cpu_list(shared))
        if (std::find(allowed.begin(), allowed.end(), other) != allowed.end()) cache.cpus.push_back(other);
      if (cache.bytes > 0) result.caches.push_back(std::move(cache));
    }
  }
  return result;
}

Topology read_topology() {
  const std::vector<int> allowed = allowed_cpus();
#ifdef PAGODA_HWLOC
  Topology result = read_topology_hwloc(allowed);
  if (!result.cpus.empty() && !result.caches.empty()) return result;
#endif
  return read_topology_sysfs("/sys/devices/system", allowed);
}

Limits read_limits(const std::string& root) {
  Limits limits;
  const fs::path group = control_group(root);
  std::istringstream quota(first_line(group / "cpu.max"));
  double allowed = 0, period = 0;
  if (quota >> allowed >> period && period > 0) limits.cpus = allowed / period;
  std::ifstream meminfo(fs::path(root) / "proc/meminfo");
  for (std::string line; std::getline(meminfo, line);) {
    long long kib = 0;
    if (std::sscanf(line.c_str(), "MemAvailable: %lld", &kib) == 1) limits.memory_bytes = kib * 1024;
  }
  const auto most = number_in(group / "memory.max"), used = number_in(group / "memory.current");
  if (most && used) limits.memory_bytes = std::min(limits.memory_bytes.value_or(*most - *used), *most - *used);
  return limits;
}

bool CpuMachine::has(std::string_view feature) const {
  return feature.empty() || flags.find(std::string(feature)) != flags.end();
}

CpuMachine read_machine() {
  CpuMachine machine;
  std::ifstream info("/proc/cpuinfo");
  int part = 0;
  for (std::string line; std::getline(info, line) && !(line.empty() && !machine.flags.empty());) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    const std::string value = colon + 2 <= line.size() ? line.substr(colon + 2) : "";
    if (key == "vendor_id") machine.identity.vendor = value;
    if (key == "cpu family") machine.identity.family = std::atoi(value.c_str());
    if (key == "model") machine.identity.model = std::atoi(value.c_str());
    if (key == "model name") machine.identity.name = value;
    if (key == "CPU implementer" && std::strtol(value.c_str(), nullptr, 0) == 0x41) machine.identity.vendor = "ARM";
    if (key == "CPU part") part = static_cast<int>(std::strtol(value.c_str(), nullptr, 0));
    if (key == "flags" || key == "Features") {
      std::istringstream words(value);
      for (std::string word; words >> word;) machine.flags.insert(word);
    }
  }
  if (part != 0) {
    machine.identity.family = 8;
    machine.identity.model = part;
  }
  machine.topology = read_topology();
  machine.limits = read_limits();
  machine.core = pagoda::measured::cpu_core(machine.identity);
  if (machine.identity.name.empty())
    machine.identity.name = machine.core ? machine.core->microarchitecture : "unknown CPU";
  if (const auto khz = number_in("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"))
    machine.max_hz = 1e3 * static_cast<double>(*khz);
  return machine;
}

std::string kernel_version() {
  utsname name{};
  return uname(&name) == 0 ? std::string(name.sysname) + " " + name.release : "";
}

std::string huge_pages(const std::string& root) {
  // "always [madvise] never"
  const std::string line = first_line(fs::path(root) / "sys/kernel/mm/transparent_hugepage/enabled");
  const std::size_t open = line.find('['), close = line.find(']');
  return open < close && close != std::string::npos ? line.substr(open + 1, close - open - 1) : "";
}

std::int64_t stolen_ticks(int cpu) {
  std::ifstream file("/proc/stat");
  const std::string wanted = "cpu" + std::to_string(cpu);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string name;
    fields >> name;
    if (name != wanted) continue;
    std::int64_t value = 0;
    for (int i = 0; i < 8; ++i) fields >> value;  // user nice system idle iowait irq softirq steal
    return fields ? value : 0;
  }
  return 0;
}

double load_average() {
  double loads[1] = {0};
  return getloadavg(loads, 1) == 1 ? loads[0] : 0;
}

Rapl::Rapl(const std::string& root) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root, error)) {
    const std::string name = entry.path().filename();
    // Packages only ("intel-rapl:0", also on AMD); their parts ("intel-rapl:0:0") are within them.
    if (name.find(':') == std::string::npos || name.find(':') != name.rfind(':')) continue;
    if (!first_line(entry.path() / "name").starts_with("package")) continue;
    const auto now = number_in(entry.path() / "energy_uj");
    const auto range = number_in(entry.path() / "max_energy_range_uj");
    if (now && range)
      zones_.push_back({entry.path() / "energy_uj", static_cast<double>(*range), static_cast<double>(*now), 0});
  }
}

double Rapl::joules() {
  double total = 0;
  for (Zone& zone : zones_) {
    if (const auto now = number_in(zone.path)) {
      const double value = static_cast<double>(*now);
      zone.total += value >= zone.last ? value - zone.last : value + zone.range - zone.last;
      zone.last = value;
    }
    total += zone.total;
  }
  return total * 1e-6;
}

}  // namespace ceilings

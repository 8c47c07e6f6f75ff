// Reads the machine from hwloc if it is built in, else from /sys and /proc.
#include "machine.h"

#include <unistd.h>

#include <charconv>
#include <map>

#ifdef PAGODA_HWLOC
#include <hwloc.h>
#endif

#include "pagoda/base/cat.h"
#include "pagoda/base/number.h"
#include "system_files.h"

namespace pagoda::tools::ceilings {
namespace {

// Contents of a file; empty if it cannot be read.
std::string line(const SystemFiles& files, const std::string& path) { return files.text(path).value_or(""); }

#ifdef PAGODA_HWLOC
Topology read_topology_hwloc(const std::vector<int>& allowed) {
  Topology result;
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) != 0) return result;
  if (hwloc_topology_load(topology) == 0) {
    for (hwloc_obj_t pu = nullptr; (pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu)) != nullptr;) {
      const int id = static_cast<int>(pu->os_index);
      if (!contains(allowed, id)) continue;
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
    result.source = cat("hwloc API ", version >> 16, ".", (version >> 8) & 0xff);
  }
  hwloc_topology_destroy(topology);
  return result;
}
#endif

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
    if (c.level == level && contains(c.cpus, cpu)) return &c;
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
  const SystemFiles files(root);
  Topology result;
  result.source = "sysfs";
  std::map<std::pair<int, int>, int> cores;  // package, core id → index
  std::map<int, int> node_of;
  for (const std::string& name : files.names("/node")) {
    if (!name.starts_with("node")) continue;
    if (const auto node = base::parse_number<int>(name.substr(4)))
      for (const int cpu : cpu_list(line(files, "/node/" + name + "/cpulist"))) node_of[cpu] = *node;
  }
  std::set<std::pair<int, std::string>> seen;
  for (const int id : allowed) {
    const std::string cpu = cat("/cpu/cpu", id);
    const std::pair<int, int> key{static_cast<int>(files.number(cpu + "/topology/physical_package_id").value_or(0)),
                                  static_cast<int>(files.number(cpu + "/topology/core_id").value_or(id))};
    const int core = cores.try_emplace(key, static_cast<int>(cores.size())).first->second;
    result.cpus.push_back({id, core, node_of.count(id) ? node_of[id] : 0});
    for (int index = 0; index < 8; ++index) {
      const std::string folder = cat(cpu, "/cache/index", index);
      const std::string type = line(files, folder + "/type"), shared = line(files, folder + "/shared_cpu_list");
      if (type.empty()) break;
      if (type == "Instruction") continue;
      const int level = static_cast<int>(files.number(folder + "/level").value_or(0));
      if (!seen.insert({level, shared}).second) continue;
      const std::string size = line(files, folder + "/size");
      const std::int64_t unit = size.ends_with("M") ? 1 << 20 : size.ends_with("K") ? 1 << 10 : 1;
      Cache cache{level, files.number(folder + "/size").value_or(0) * unit, {}};
      for (const int other : cpu_list(shared))
        if (contains(allowed, other)) cache.cpus.push_back(other);
      if (cache.bytes > 0) result.caches.push_back(std::move(cache));
    }
  }
  return result;
}

Topology read_topology() {
  std::vector<int> allowed = allowed_cpus();
  if (allowed.empty()) allowed = {0};
#ifdef PAGODA_HWLOC
  Topology result = read_topology_hwloc(allowed);
  if (!result.cpus.empty() && !result.caches.empty()) return result;
#endif
  return read_topology_sysfs("/sys/devices/system", allowed);
}

Limits read_limits(const std::string& root) {
  const SystemFiles files(root);
  Limits limits;
  const std::string group = files.cgroup_folder();
  const std::vector<std::string> quota = words(line(files, group + "/cpu.max"));
  const auto number = [&](std::size_t i) { return base::parse_number<double>(i < quota.size() ? quota[i] : ""); };
  if (const auto allowed = number(0), period = number(1); allowed && period && *period > 0)
    limits.cpus = *allowed / *period;
  const auto bytes = [&](const char* name) -> std::optional<std::int64_t> {
    const auto kib = base::leading_number<std::int64_t>(files.field("/proc/meminfo", name).value_or(""));
    return kib ? std::optional(*kib * 1024) : std::nullopt;
  };
  limits.memory_bytes = bytes("MemAvailable");
  limits.whole_bytes = bytes("MemTotal");
  const auto most = files.number(group + "/memory.max"), used = files.number(group + "/memory.current");
  if (most && used) limits.memory_bytes = std::min(limits.memory_bytes.value_or(*most - *used), *most - *used);
  if (most) limits.whole_bytes = std::min(limits.whole_bytes.value_or(*most), *most);
  return limits;
}

bool CpuMachine::has(std::string_view feature) const {
  return feature.empty() || flags.find(std::string(feature)) != flags.end();
}

CpuMachine read_machine() {
  const SystemFiles files;
  const auto fact = [info = line(files, "/proc/cpuinfo")](const char* name) { return field(info, name).value_or(""); };
  const auto number = [&](const char* name) {
    const std::string text = fact(name);
    const bool is_hex = text.starts_with("0x");
    int value = 0;
    std::from_chars(text.data() + (is_hex ? 2 : 0), text.data() + text.size(), value, is_hex ? 16 : 10);
    return value;
  };
  CpuMachine machine;
  lab::CpuIdentity& identity = machine.identity;
  identity = {.vendor = fact("vendor_id"),
              .family = number("cpu family"),
              .model = number("model"),
              .name = fact("model name")};
  if (number("CPU implementer") == 0x41) identity.vendor = "ARM";
  if (const int part = number("CPU part")) {
    identity.family = 8;
    identity.model = part;
  }
  for (const char* name : {"flags", "Features"})
    for (std::string& flag : words(fact(name))) machine.flags.insert(std::move(flag));
  machine.topology = read_topology();
  machine.limits = read_limits();
  machine.core = lab::cpu_core(machine.identity);
  if (machine.identity.name.empty())
    machine.identity.name = machine.core ? machine.core->microarchitecture : "unknown CPU";
  if (const auto khz = files.number("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"))
    machine.max_hz = 1e3 * static_cast<double>(*khz);
  return machine;
}

std::string huge_pages(const std::string& root) {
  // "always [madvise] never"
  const std::string choices = line(SystemFiles(root), "/sys/kernel/mm/transparent_hugepage/enabled");
  const std::size_t open = choices.find('['), close = choices.find(']');
  return open < close && close != std::string::npos ? choices.substr(open + 1, close - open - 1) : "";
}

std::int64_t stolen_ticks(int cpu) {
  const auto jiffies = SystemFiles().jiffies(cat("cpu", cpu));
  return jiffies ? static_cast<std::int64_t>(jiffies->stolen) : 0;
}

double load_average() {
  double loads[1] = {0};
  return getloadavg(loads, 1) == 1 ? loads[0] : 0;
}

}  // namespace pagoda::tools::ceilings

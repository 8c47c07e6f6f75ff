// Linux's files on processors, load and energy.
#include "machine_state.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "pagoda/base/process.h"

namespace bench {
namespace {

namespace fs = std::filesystem;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<double> number(const std::string& path) {
  std::ifstream file(path);
  double value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

// The value of "name : value" in a file of such lines.
std::string field(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, name.size(), name) != 0) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

std::optional<double> steal(const std::string& root) {
  std::istringstream line(first_line(root + "/proc/stat"));
  std::string name;
  double user, nice, system, idle, iowait, irq, softirq, stolen;
  if (line >> name >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> stolen && name == "cpu")
    return stolen / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return std::nullopt;
}

std::optional<double> clock_hz(const std::string& root) {
  if (const auto khz = number(root + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq")) return *khz * 1e3;
  const std::string mhz = field(root + "/proc/cpuinfo", "cpu MHz");
  if (mhz.empty()) return std::nullopt;
  return std::stod(mhz) * 1e6;
}

// The hottest zone.
std::optional<double> temperature(const std::string& root) {
  std::optional<double> hottest;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root + "/sys/class/thermal", error))
    if (const auto milli = number(entry.path() / "temp");
        milli && entry.path().filename().string().starts_with("thermal"))
      hottest = std::max(hottest.value_or(*milli / 1e3), *milli / 1e3);
  return hottest;
}

// The commit of the working directory; empty where it is in no repository, or there is no git.
std::string git_commit() {
  try {
    const pagoda::base::Output output = pagoda::base::run_and_capture(
        {"git", "rev-parse", "HEAD"}, {.err = pagoda::base::Stream::Null, .seconds = 10});
    return output.end.succeeded() ? output.out.substr(0, output.out.find_first_of(" \n")) : "";
  } catch (const pagoda::base::CannotStart&) {
    return "";
  }
}

}  // namespace

std::optional<double> package_joules(const std::string& root) {
  std::optional<double> total;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root + "/sys/class/powercap", error)) {
    // Packages are intel-rapl:0, …; their parts (intel-rapl:0:0) are already in them.
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("intel-rapl:") || std::count(name.begin(), name.end(), ':') != 1) continue;
    if (const auto micro = number(entry.path() / "energy_uj")) total = total.value_or(0) + *micro * 1e-6;
  }
  return total;
}

MachineState machine_state(const std::string& root) {
  return {.steal_seconds = steal(root),
          .load = number(root + "/proc/loadavg"),
          .clock_hz = clock_hz(root),
          .temperature_celsius = temperature(root),
          .energy_joules = package_joules(root)};
}

pagoda::documents::Interference interference(const MachineState& before, const MachineState& after) {
  pagoda::documents::Interference result;
  if (before.steal_seconds && after.steal_seconds) result.steal_seconds = *after.steal_seconds - *before.steal_seconds;
  result.load = after.load;
  result.clock_hz_before = before.clock_hz;
  result.clock_hz_after = after.clock_hz;
  result.temperature_celsius = after.temperature_celsius;
  return result;
}

pagoda::base::Settings metadata(const std::string& root) {
  pagoda::base::Settings facts;
  const auto set = [&](const char* name, const std::string& value) {
    if (!value.empty()) facts[name] = value;
  };
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  set("host", host);
  utsname system{};
  if (::uname(&system) == 0) set("kernel", std::string(system.sysname) + " " + system.release);
  set("cpu", field(root + "/proc/cpuinfo", "model name"));
  facts["cpus"] = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  set("governor", first_line(root + "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
  set("git_commit", git_commit());
  set("driver", first_line(root + "/sys/module/nvidia/version"));
  set("runner", "pagoda-bench " PAGODA_VERSION);
  return facts;
}

std::int64_t usable_bytes(const std::string& root) {
  auto bytes = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  if (const auto limit = number(root + "/sys/fs/cgroup/memory.max"))
    bytes = std::min(bytes, static_cast<std::int64_t>(*limit));
  return bytes;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace bench

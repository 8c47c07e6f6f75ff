// Reads Linux's files about processors and load.
#include "machine_state.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "pagoda/base/number.h"
#include "pagoda/base/process.h"
#include "system_files.h"

namespace pagoda::tools::bench {
namespace {

std::optional<double> clock_hz(const SystemFiles& files) {
  if (const auto khz = files.real("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq")) return 1e3 * *khz;
  if (const auto mhz = base::parse_number<double>(files.field("/proc/cpuinfo", "cpu MHz").value_or("")))
    return 1e6 * *mhz;
  return std::nullopt;
}

// Temperature of the hottest thermal zone.
std::optional<double> temperature(const SystemFiles& files) {
  std::optional<double> hottest;
  for (const std::string& zone : files.names("/sys/class/thermal"))
    if (const auto milli = files.real("/sys/class/thermal/" + zone + "/temp"); milli && zone.starts_with("thermal"))
      hottest = std::max(hottest.value_or(*milli / 1e3), *milli / 1e3);
  return hottest;
}

// The commit of the working directory; empty if it is not in a repository or git is missing.
std::string git_commit() {
  try {
    const base::Output output =
        base::run_and_capture({"git", "rev-parse", "HEAD"}, {.err = base::Stream::Null, .seconds = 10});
    return output.end.succeeded() ? output.out.substr(0, output.out.find_first_of(" \n")) : "";
  } catch (const base::CannotStart&) {
    return "";
  }
}

}  // namespace

MachineState machine_state(const std::string& root) {
  const SystemFiles files(root);
  const auto jiffies = files.jiffies();
  return {.steal_seconds =
              jiffies ? std::optional(jiffies->stolen / static_cast<double>(::sysconf(_SC_CLK_TCK))) : std::nullopt,
          .load = files.real("/proc/loadavg"),
          .clock_hz = clock_hz(files),
          .temperature_celsius = temperature(files)};
}

documents::Interference interference(const MachineState& before, const MachineState& after) {
  std::optional<double> stolen;
  if (before.steal_seconds && after.steal_seconds) stolen = *after.steal_seconds - *before.steal_seconds;
  return {stolen, after.load, before.clock_hz, after.clock_hz, after.temperature_celsius, {}, {}};
}

base::Settings metadata(const std::string& root) {
  const SystemFiles files(root);
  base::Settings facts;
  const auto set = [&](const char* name, const std::optional<std::string>& value) {
    if (value && !value->empty()) facts[name] = *value;
  };
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  set("host", host);
  utsname system{};
  if (::uname(&system) == 0) set("kernel", std::string(system.sysname) + " " + system.release);
  set("cpu", files.field("/proc/cpuinfo", "model name"));
  facts["cpus"] = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  set("governor", files.text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
  set("git_commit", git_commit());
  set("driver", files.text("/sys/module/nvidia/version"));
  set("runner", "pagoda-bench " PAGODA_VERSION);
  return facts;
}

std::int64_t usable_bytes(const std::string& root) {
  auto bytes = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  if (const auto limit = SystemFiles(root).number("/sys/fs/cgroup/memory.max")) bytes = std::min(bytes, *limit);
  return bytes;
}

}  // namespace pagoda::tools::bench

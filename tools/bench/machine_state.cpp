// Reads Linux's files about processors and load, and times how processors hand over data.
#include "machine_state.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "pagoda/base/number.h"
#include "pagoda/base/process.h"
#include "pagoda/base/statistics.h"
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

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostPairs = 8;
constexpr int kExchanges = 500, kSeries = 8;        // the fastest series counts: others may have been interrupted
constexpr std::chrono::milliseconds kPatience{20};  // for each pair
constexpr int kStop = -1;

// Waits until `line` holds `value`; false: it holds kStop, or the deadline has passed.
bool wait_for(const std::atomic<int>& line, int value, Clock::time_point deadline) {
  constexpr int kSpins = 4096;  // between two looks at the clock
  do {
    for (int i = 0; i < kSpins; ++i) {
      const int found = line.load(std::memory_order_acquire);
      if (found == value) return true;
      if (found == kStop) return false;
    }
  } while (Clock::now() < deadline);
  return false;
}

// One thread writes odd numbers, the other answers each with the next even one.
std::optional<double> between(int first, int second) {
  alignas(128) std::atomic<int> line{0};
  const auto deadline = Clock::now() + kPatience;
  std::optional<double> fastest;
  std::thread answering([&] {
    pin_to_cpu(second);
    for (int i = 0; wait_for(line, 2 * i + 1, deadline); ++i) line.store(2 * i + 2, std::memory_order_release);
  });
  std::thread asking([&] {
    pin_to_cpu(first);
    int i = 0;
    for (int series = 0; series < kSeries; ++series) {
      const auto start = Clock::now();
      for (int k = 0; k < kExchanges; ++k, ++i) {
        line.store(2 * i + 1, std::memory_order_release);
        if (!wait_for(line, 2 * i + 2, deadline)) return line.store(kStop, std::memory_order_release);
      }
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count() / (2 * kExchanges);
      fastest = std::min(fastest.value_or(seconds), seconds);
    }
    line.store(kStop, std::memory_order_release);
  });
  asking.join();
  answering.join();
  return fastest;
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

void note_machine(const MachineState& before, const MachineState& after, bool is_gpu, documents::Interference& into) {
  if (before.steal_seconds && after.steal_seconds) into.steal_seconds = *after.steal_seconds - *before.steal_seconds;
  into.load = after.load;
  if (is_gpu) return;
  into.clock_hz_before = before.clock_hz;
  into.clock_hz_after = after.clock_hz;
  into.temperature_celsius = after.temperature_celsius;
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
  set("kernel", kernel_version());
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

std::optional<double> handoff_seconds() {
  const std::vector<int> processors = allowed_cpus();
  std::vector<double> seconds;
  for (std::size_t i = 1; i < processors.size() && i <= kMostPairs; ++i)
    if (const auto found = between(processors.front(), processors[i])) seconds.push_back(*found);
  return seconds.empty() ? std::nullopt : std::optional(base::median(seconds));
}

}  // namespace pagoda::tools::bench

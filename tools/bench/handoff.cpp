#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "machine_state.h"
#include "pagoda/base/statistics.h"
#include "system_files.h"

namespace pagoda::tools::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostPairs = 8;
constexpr int kExchanges = 500, kSeries = 8;        // the fastest series counts: others may have been interrupted
constexpr std::chrono::milliseconds kPatience{20};  // for each pair
constexpr int kStop = -1;

void run_on(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

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
    run_on(second);
    for (int i = 0; wait_for(line, 2 * i + 1, deadline); ++i) line.store(2 * i + 2, std::memory_order_release);
  });
  std::thread asking([&] {
    run_on(first);
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

std::optional<double> handoff_seconds() {
  const std::vector<int> processors = allowed_cpus();
  std::vector<double> seconds;
  for (std::size_t i = 1; i < processors.size() && i <= kMostPairs; ++i)
    if (const auto found = between(processors.front(), processors[i])) seconds.push_back(*found);
  return seconds.empty() ? std::nullopt : std::optional(base::median(seconds));
}

}  // namespace pagoda::tools::bench

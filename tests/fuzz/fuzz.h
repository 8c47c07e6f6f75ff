// Shared by all targets: a property that fails ends the process, and the processor time of
// the slowest input is printed at the end.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <string>

namespace pagoda::fuzz {

inline void require(bool condition, const std::string& message) {
  if (condition) return;
  std::cerr << "fuzz: " << message << '\n';
  std::abort();
}

// Calls `run`, and at the end of the process prints how long its slowest call took.
template <typename Run>
void timed(const Run& run) {
  struct Slowest {
    double seconds = 0;
    ~Slowest() { std::cerr << "slowest input: " << seconds << " s\n"; }
  };
  static Slowest slowest;
  const std::clock_t begin = std::clock();
  run();
  slowest.seconds = std::max(slowest.seconds, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
}

}  // namespace pagoda::fuzz

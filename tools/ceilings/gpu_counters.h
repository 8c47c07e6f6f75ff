// Hardware counters while a kernel runs, by CUPTI's range profiler, opened at run time. Needs the privilege to read
// counters; everything else works without it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu_driver.h"

namespace pagoda::tools::ceilings {

// The counters that measure the work of a ceiling, and the FLOP, OP or bytes that one count of each is worth.
struct CounterSet {
  std::vector<std::string> metrics;
  std::vector<double> worth;
};

class GpuCounters {
 public:
  // Never throws: if counters cannot be read, `why` gives the reason. Call after the driver is initialised: CUPTI's
  // calls crash without it.
  explicit GpuCounters(Gpu& gpu, int index);
  ~GpuCounters();
  const std::string& why() const { return why_; }

  // Counts the first of the alternatives that this chip has, over the launches of `work`. If several passes are needed,
  // `work` is repeated and must do the same each time. Throws Error.
  std::pair<const CounterSet*, std::vector<double>> count(const std::vector<CounterSet>& alternatives,
                                                          const std::function<void()>& work);

 private:
  struct State;
  Gpu& gpu_;
  std::unique_ptr<State> state_;
  std::string why_;
};

// The counters of a ceiling's work, in the order to try; empty: none for this kind of work.
std::vector<CounterSet> counter_sets(const std::string& kernel, const std::string& precision, const std::string& level,
                                     const std::string& op);

}  // namespace pagoda::tools::ceilings

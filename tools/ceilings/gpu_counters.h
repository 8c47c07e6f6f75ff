// What the hardware counted while a kernel ran, by CUPTI's range profiler, opened at run time. Needs the privilege to
// read counters; everything else works without.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu_driver.h"

namespace pagoda::tools::ceilings {

class GpuCounters {
 public:
  // Never throws: where counters cannot be read, `why` says it. Call after the driver is initialised: CUPTI's calls
  // crash without one.
  explicit GpuCounters(Gpu& gpu, int index);
  ~GpuCounters();
  const std::string& why() const { return why_; }

  // The counters of the first of the alternatives that this chip has, over what `work` launches; `work` is repeated,
  // and must do the same each time, where they need several passes. Throws GpuError.
  std::vector<double> count(const std::vector<std::vector<std::string>>& alternatives,
                            const std::function<void()>& work, std::size_t& chosen);

 private:
  struct State;
  Gpu& gpu_;
  std::unique_ptr<State> state_;
  std::string why_;
};

// Which counters hold the work of a ceiling, and what one of each is worth: FLOP, OP or bytes.
struct CounterSet {
  std::vector<std::string> metrics;
  std::vector<double> worth;
};
// In the order to try; empty: there are none for this kind of work.
std::vector<CounterSet> counter_sets(const std::string& kernel, const std::string& precision, const std::string& level,
                                     const std::string& op);

}  // namespace pagoda::tools::ceilings

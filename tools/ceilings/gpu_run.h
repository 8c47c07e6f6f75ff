// The ceilings of a GPU as experiments for the protocol.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu_driver.h"
#include "nvml.h"
#include "options.h"
#include "protocol.h"

namespace ceilings {

class GpuCeilings {
 public:
  GpuCeilings(Gpu& gpu, NvmlTrace& trace, const Options& options);

  std::vector<Experiment> experiments();
  const std::vector<std::string>& not_run() const { return not_run_; }

  // Bandwidth of loads that pass the first level, over working sets from 1 MiB to eight times the second level.
  struct Point {
    double bytes = 0, bytes_per_second = 0;
  };
  std::vector<Point> l2_sweep();
  // Negative controls: what must halve halves, what must double doubles.
  std::vector<pagoda::CeilingCheck> controls();

 private:
  void add_arithmetic(std::vector<Experiment>& list);
  void add_streams(std::vector<Experiment>& list);
  void add_caches(std::vector<Experiment>& list);
  void add_host(std::vector<Experiment>& list);
  Sample finish(double amount, double seconds, unsigned blocks);
  Experiment start(const std::string& id, pagoda::CeilingKind kind, pagoda::CeilingMode mode, const std::string& unit);

  Gpu& gpu_;
  NvmlTrace& trace_;
  const Options& options_;
  GpuBuffer clocks_, words_;
  std::vector<std::string> not_run_;
};

}  // namespace ceilings

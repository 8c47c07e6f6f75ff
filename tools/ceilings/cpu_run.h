// The ceilings of a CPU as experiments for the protocol, the sweep over working sets and the comparison with the kernel
// of Berkeley's Empirical Roofline Tool.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "machine.h"
#include "options.h"
#include "pagoda/plateaus.h"
#include "protocol.h"
#include "workers.h"

namespace ceilings {

// The cores a ceiling is of.
struct Scope {
  std::string name;  // "core", "all", "node0"
  std::shared_ptr<Workers> workers;
};

class CpuCeilings {
 public:
  CpuCeilings(const CpuMachine& machine, const Options& options);

  const std::vector<Scope>& scopes() const { return scopes_; }
  std::vector<Experiment> experiments();
  const std::vector<std::string>& not_run() const { return not_run_; }

  // Loads of one core over working sets from 4 KiB to memory, and what levels they show.
  struct Point {
    double bytes = 0, bytes_per_second = 0, clock_hz = 0;
    std::uint32_t disturbances = 0;
  };
  std::vector<Point> sweep(double seconds);
  std::vector<pagoda::KnownLevel> known_levels() const;

  // Bytes per second of the widest kernel that reads and writes a working set in place, on one core.
  double update_rate(char* memory, double bytes, double seconds);

  const ChainKernel& chain(std::string_view isa) const;

  // One stretch of a kernel by a worker: the bytes a core works on at most, and the work.
  static bool right_result(const ComputeKernel& kernel, std::string& detail);
  static bool right_result(const BandwidthKernel& kernel, std::string& detail);

 private:
  struct Level {
    std::string name;
    std::vector<double> bytes;  // working sets of one core to try
  };
  std::vector<Level> levels(const Scope& scope) const;
  void add_compute(std::vector<Experiment>& list, const Scope& scope);
  void add_bandwidth(std::vector<Experiment>& list, const Scope& scope);
  void add_products(std::vector<Experiment>& list, const Scope& scope);

  const CpuMachine& machine_;
  const Options& options_;
  std::vector<Scope> scopes_;
  std::vector<std::string> not_run_;
  std::map<std::uint64_t, double> update_pace_;  // trips a second of update_rate, by bytes
};

// The best of our ceilings against a re-implementation of ERT's kernel on one core: at every intensity the roof must
// not be below what that kernel reaches.
pagoda::CeilingCheck compare_with_ert(CpuCeilings& cpu, const std::vector<pagoda::Ceiling>& ceilings, double seconds);

}  // namespace ceilings

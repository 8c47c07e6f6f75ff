// The ceilings of a CPU as experiments for the protocol, the sweep over working sets, and the comparison with the
// kernel of Berkeley's Empirical Roofline Tool (ERT).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "machine.h"
#include "options.h"
#include "pagoda/documents/ceilings.h"
#include "pagoda/lab/plateaus.h"
#include "protocol.h"
#include "workers.h"

namespace pagoda::tools::ceilings {

// The cores that a ceiling covers.
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

  struct Level {
    std::string name;
    std::vector<double> bytes;  // candidate working sets of one core, well inside the level
  };
  std::vector<Level> levels(const Scope& scope) const;

  // Load bandwidth of one core over working sets from 4 KiB to DRAM size.
  struct Point : lab::WorkingSetPoint {
    double clock_hz = 0;
    std::uint32_t disturbances = 0;
  };
  std::vector<Point> sweep(double seconds);
  std::vector<lab::KnownLevel> known_levels() const;

  const CpuMachine& machine() const { return machine_; }
  const ChainKernel& chain(std::string_view isa) const;

 private:
  documents::Ceiling start(std::string id, documents::CeilingKind kind, const Scope& scope, std::string_view op) const;
  // Fills in the theoretical rates of cores that do `per_clock` in each clock; empty: unknown.
  void set_theory(documents::Ceiling& ceiling, std::optional<double> per_clock) const;
  void add_compute(std::vector<Experiment>& list, const Scope& scope);
  void add_bandwidth(std::vector<Experiment>& list, const Scope& scope);
  void add_products(std::vector<Experiment>& list, const Scope& scope);
  Candidate candidate(const BandwidthKernel& kernel, double working_set, std::shared_ptr<Workers> workers,
                      std::shared_ptr<std::vector<Buffer>> memory_of) const;

  const CpuMachine& machine_;
  const Options& options_;
  std::vector<Scope> scopes_;
  std::vector<std::string> not_run_;
};

// The kernels of an operation with the machine's widest vectors: the first in the usual form, the others with other
// orders of accesses, which may be faster at some level.
std::vector<const BandwidthKernel*> widest_kernels(const CpuMachine& machine, std::string_view op);

// Bytes of each array, so that all arrays together make up the working set.
std::uint64_t array_bytes(const BandwidthKernel& kernel, double working_set);
// Runs `trips` of a kernel on arrays of `bytes` that follow each other in `memory`, with gaps of kArrayGap so that
// their low address bits differ.
void run_on(const BandwidthKernel& kernel, char* memory, std::uint64_t bytes, std::uint64_t trips);
inline constexpr std::uint64_t kArrayGap = 320;

// The input and the check of kernels (cpu_verify.cpp).
// Operands with which a compute kernel is timed: results stay bounded however long it runs.
std::vector<char> operands(const ComputeKernel& kernel);

// Runs the kernel once on known values.
Verdict right_result(const ComputeKernel& kernel);
Verdict right_result(const BandwidthKernel& kernel);

// Matrix products of installed libraries, opened at run time: a library ceiling is reported next to ours and never
// replaces it.
struct GemmLibrary {
  std::string name;                             // "openblas", "onednn"
  std::string precision;                        // "float64", "float32"
  std::function<void(int n, int threads)> run;  // C = A·B, all n × n; empty: the library is missing
  std::string missing;                          // why it is missing
};
std::vector<GemmLibrary> gemm_libraries();

// Compares our roof with a re-implementation of ERT's kernel at every level and intensity.
documents::ErtComparison compare_with_ert(CpuCeilings& cpu, Depth depth, std::uint64_t seed);

}  // namespace pagoda::tools::ceilings

// The ceilings of a GPU as experiments for the protocol.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/shared.h"
#include "gpu_driver.h"
#include "nvml.h"
#include "options.h"
#include "pagoda/lab/plateaus.h"
#include "protocol.h"

namespace pagoda::tools::ceilings {

using namespace kernels;

inline constexpr unsigned kMostBlocksPerSm = 16;

// The config of a candidate: its grid.
inline base::Settings grid_config(unsigned blocks_per_sm, unsigned threads) {
  return {{"blocks_per_sm", std::int64_t{blocks_per_sm}}, {"threads", std::int64_t{threads}}};
}

// The unit of a precision's rates, and the format in which its products are summed.
constexpr const char* unit_of(std::string_view precision) { return precision.starts_with("int") ? "OP/s" : "FLOP/s"; }
constexpr const char* accumulator_of(std::string_view precision) {
  return precision.starts_with("int") ? "int32" : precision == "float64" ? "float64" : "float32";
}

// Values of float16 and bfloat16 numbers.
inline double half_value(std::uint16_t h) {
  const int exponent = h >> 10 & 31;
  const double magnitude = exponent ? std::ldexp(1024 + (h & 1023), exponent - 25) : std::ldexp(h & 1023, -24);
  return h >> 15 ? -magnitude : magnitude;
}
inline double bfloat_value(std::uint16_t b) {
  return static_cast<double>(std::bit_cast<float>(std::uint32_t{b} << 16));
}

// Matrix products of NVIDIA's cuBLASLt, opened at run time, next to our own kernels: the rate that an application gets
// without writing a kernel.
class GpuGemm {
 public:
  explicit GpuGemm(Gpu& gpu);  // never throws: if the library cannot be used, `why` gives the reason
  ~GpuGemm();
  const std::string& why() const { return why_; }

  struct Type {
    const char* precision;
    int a, c, compute, scale;  // cudaDataType of A and B, of C and D; cublasComputeType_t; cudaDataType of alpha
    unsigned bytes, result_bytes;
  };
  static std::span<const Type> types();

  // Allocates and fills random operands for C = Aᵀ·B, all n × n, and asks the library for up to `most` algorithms.
  // Returns how many it proposes. Throws GpuError.
  int prepare(const Type& type, int n, int most);
  void release();
  double seconds(int algorithm, unsigned repeats);
  Verdict right();  // compares some elements of the last product with the host's

 private:
  struct State;
  Gpu& gpu_;
  std::unique_ptr<State> state_;
  std::string why_;
};

struct StreamRow {
  const char *kernel, *op;
  int arrays;  // each is read or written once per pass
  bool scalar;
  unsigned steps = 0;  // arithmetic steps on every word
};
// How products are issued: by warps, by groups of four warps, by one thread of a block or of a pair of blocks.
enum class TensorPath { Mma, Wgmma, Tcgen05, Tcgen05Pair };
// The paths to a chip's tensor cores, the preferred one first; mma.sync works on all chips.
std::span<const TensorPath> tensor_paths(const lab::GpuAttributes& gpu);
// The path's part of a ceiling's id, such as ".tcgen05".
std::string_view suffix_of(TensorPath path);
// The depth of a trip's products, weighted by the patterns of cuda/tiles.cuh.
int weighed_depth(int products, int depth);
// Register i of a thread of a warpgroup after wgmma on these patterns, over a weighted depth.
double wgmma_element(unsigned thread, unsigned i, int depth);
// The accumulator of tcgen05 at a row and column after a trip on these patterns, with the scales of
// cuda/tcgen05_layout.h. Each product has `depth` elements in `blocks` blocks with scales; 0: none, or tcgen05::kAlike.
double tcgen05_element(int row, int column, int depth, int blocks);

class GpuCeilings {
 public:
  GpuCeilings(Gpu& gpu, NvmlTrace& trace, const Options& options);

  std::vector<Experiment> experiments();
  const std::vector<std::string>& not_run() const { return not_run_; }

  // Bandwidth of loads that bypass L1, by working set: up to 64 times the L2's capacity.
  std::vector<lab::WorkingSetPoint> l2_sweep();
  // Negative controls: changes that must halve or double a result do so.
  std::vector<documents::CeilingCheck> controls();

  // `steps` multiply-adds on each word between load and store: 8 × steps FLOP per 32 bytes; rates in B/s.
  Experiment intensity_experiment(unsigned steps);
  // Fixes the trip count of later launches, so that all passes of a profiler see the same work; empty: as many trips as
  // fill the time.
  void fix_trips(std::optional<unsigned> trips) { fixed_trips_ = trips; }

 private:
  void add_arithmetic(std::vector<Experiment>& list);
  void add_streams(std::vector<Experiment>& list);
  void add_caches(std::vector<Experiment>& list);
  void add_host(std::vector<Experiment>& list);
  void add_products(std::vector<Experiment>& list);
  Experiment stream_experiment(const StreamRow& row, double each);
  double array_bytes() const;
  double stream(const StreamRow& row, const std::vector<GpuBuffer>& arrays, const Gpu::Launch& launch,
                std::size_t vectors, unsigned passes, bool near);
  double bulk_read(DevicePointer array, unsigned blocks, std::size_t vectors, unsigned passes);
  void add_bulk_reads(Experiment& e, const std::shared_ptr<std::vector<GpuBuffer>>& arrays, double each);
  Verdict stream_right(const StreamRow& row, const std::vector<GpuBuffer>& arrays);
  struct CacheShape {
    unsigned per_sm, threads;  // blocks, threads of a block
    std::size_t bytes;         // of the working set; 0: the kernel has a fixed one
  };
  std::vector<CacheShape> l2_shapes() const;
  unsigned sms() const { return gpu_.sms(); }
  Verdict cache_right(std::string_view kernel, DevicePointer memory);
  unsigned trips_for(const Pace& pace, double seconds, unsigned at_first) const;
  Sample watched(double amount, double seconds);
  Sample finish(double amount, double seconds, unsigned blocks);
  // A kernel that `run` launches for as many trips as fill the time, `at_first` before its rate is known; `run` returns
  // its seconds. `work` of a trip is that of all `blocks`.
  Candidate paced(const std::string& kernel, base::Settings config, unsigned at_first, double work, unsigned blocks,
                  std::function<double(unsigned trips)> run);
  // The same for a kernel with the arguments trips, `operands`, words_ and clocks_. `work` of a trip is that of one
  // block.
  Candidate looped(const std::string& kernel, unsigned blocks_per_sm, const Gpu::Launch& launch, double work,
                   const Arguments& operands);
  // An experiment on the whole device.
  Experiment start(documents::Ceiling ceiling) const;

  Gpu& gpu_;
  NvmlTrace& trace_;
  const Options& options_;
  GpuBuffer clocks_, words_;
  std::shared_ptr<GpuGemm> gemm_;
  Verdict bulk_;  // of bulk copies, set when dram.read is verified
  std::vector<std::string> not_run_;
  std::optional<unsigned> fixed_trips_;
};

}  // namespace pagoda::tools::ceilings

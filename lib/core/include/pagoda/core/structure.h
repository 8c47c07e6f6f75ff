// The structure of a model as one row of numbers: features for studies of what makes models fast or slow.
//
//   StructureProfile profile = structure_profile(model, analysis);
//   for (const Feature& feature : features(profile)) …   // name, value
//
// These are the columns of onnx-estimate --profile-structure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/analyze.h"
#include "pagoda/core/graph.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

// Classes of work; each row of an analysis that runs has one.
enum class WorkClass : std::uint8_t {
  Convolution,
  MatMul,
  Attention,
  Recurrent,
  Normalisation,
  Elementwise,
  Reduction,
  Pooling,
  Quantisation,
  Movement,  // no work, only traffic: Transpose, Concat, Slice, Gather …
  Other,
};
inline constexpr std::size_t kWorkClasses = 11;
std::string_view to_string(WorkClass work);  // "convolution", "matmul", …
WorkClass work_class(const NodeReport& row);

// FLOP/B, upper ends of the bins of the intensity histogram; the last bin is open.
inline constexpr std::array<double, 6> kIntensityBins = {0.5, 2, 8, 32, 128, 512};

// Free sizes count as 1. A row is a node of the main graph or of a body that the analysis entered.
struct StructureProfile {
  std::string model;
  std::int64_t nodes = 0;           // rows
  std::int64_t launches = 0;        // rows that run: one kernel each when nothing is fused
  std::int64_t fused_launches = 0;  // groups of the fused traffic model
  std::int64_t views = 0, host = 0, folded = 0, unmodelled = 0;
  std::int64_t op_types = 0;        // distinct operators that run
  std::int64_t depth = 0;           // kernels on the longest path
  std::int64_t width = 0;           // most kernels with the same longest-path length from the inputs
  double parallelism = 0;           // launches / depth
  double critical_flops_share = 0;  // share of all FLOPs on the path with the most
  double fan_out_mean = 0;          // readers per activation
  std::int64_t fan_out_max = 0;
  double flops = 0, macs = 0, bytes = 0, params = 0, param_bytes = 0;
  std::optional<double> activation_peak_bytes;
  std::optional<double> intensity;  // FLOP/B of the whole, unfused
  double fused_bytes = 0;
  std::array<double, kWorkClasses> flops_share = {}, bytes_share = {}, launch_share = {};
  std::array<double, kIntensityBins.size() + 1> intensity_flops_share = {}, intensity_bytes_share = {};
  double kernel_flops_median = 0, kernel_bytes_median = 0;
  std::map<std::string, double> precision_bytes_share;  // by the element type that rows compute in
  double dynamic_shape_ratio = 0;                       // share of rows that run with an output of symbolic size
  double data_dependent_ratio = 0;                      // … of data-dependent size
  std::map<std::string, std::int64_t> op_counts;        // by operator, of rows that run
};

StructureProfile structure_profile(const Model& model, const Analysis& analysis);

// In a fixed order, one value per column; missing ones are empty. Maps are not included.
struct Feature {
  std::string name;
  std::optional<double> value;
};
std::vector<Feature> features(const StructureProfile& profile);

}  // namespace pagoda::inline core
#pragma GCC visibility pop

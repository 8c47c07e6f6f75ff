// Facts that hold only for PyTorch, its exporter and the models that were timed.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pagoda/core/analysis.h"
#include "pagoda/core/peculiarity.h"

namespace pagoda::inline core::pytorch {

// --- element-wise functions under autocast; functions not listed are Plain ---

inline constexpr Peculiarity kAutocastOf{
    "PyTorch, eager under torch.autocast on CUDA", "2.4",
    "torch.amp: CUDA ops that can autocast to float32; which functions take longer: "
    "residuals of data/throughput/rtx-3090-amp-nchw.csv"};

enum class Autocast : std::uint8_t {
  Plain,
  Heavy,   // evaluates exp or the like
  Single,  // autocast runs it in float32
};

struct AutocastOp {
  std::string_view op;
  Autocast autocast;
};

// clang-format off
inline constexpr AutocastOp kAutocast[] = {
    {"Acos", Autocast::Single},      {"Asin", Autocast::Single},     {"Atan", Autocast::Heavy},  {"Celu", Autocast::Heavy},
    {"Cos", Autocast::Heavy},        {"Cosh", Autocast::Single},     {"Elu", Autocast::Heavy},   {"Erf", Autocast::Heavy},
    {"Exp", Autocast::Single},       {"Gelu", Autocast::Heavy},      {"Log", Autocast::Single},  {"Mish", Autocast::Heavy},
    {"Pow", Autocast::Single},       {"QuickGelu", Autocast::Heavy}, {"Reciprocal", Autocast::Single},
    {"Selu", Autocast::Heavy},       {"Sigmoid", Autocast::Heavy},   {"Sin", Autocast::Heavy},   {"Sinh", Autocast::Single},
    {"Softplus", Autocast::Single},  {"Swish", Autocast::Heavy},     {"Tan", Autocast::Single},  {"Tanh", Autocast::Heavy},
};
// clang-format on

// --- calls that the exporter writes as several nodes (pytorch_idioms.cpp) ---

inline constexpr Peculiarity kIdiomsOf{"torch.onnx's TorchScript exporter", "1.13.0 and 2.15.0",
                                       "exports of models/timm_export.py and models/export.py"};

// Element-wise operators that the exporter writes activations with; an activation has at least one of kBends.
inline constexpr std::string_view kInActivation[] = {"Add",         "Clip",    "Div",      "Erf", "Exp",
                                                     "HardSigmoid", "Max",     "Min",      "Mul", "Pow",
                                                     "Relu",        "Sigmoid", "Softplus", "Sub", "Tanh"};
inline constexpr std::string_view kBends[] = {"Clip", "Erf", "Exp", "HardSigmoid", "Sigmoid", "Softplus", "Tanh"};

// --- batch norms that exporters fold into the convolution before them ---

inline constexpr Peculiarity kFoldedNormOf{
    "torch.onnx: TorchScript exporter in evaluation mode, onnxscript's optimizer", "2.15.0 and 0.7.2",
    "exports of models/timm_export.py with either exporter: weights lose their parameter's name, or the bias is named "
    "after the weight"};
inline constexpr std::string_view kFoldedConv = "onnx::Conv_";
inline constexpr std::string_view kFoldedBias = "_bias";
inline constexpr std::string_view kMergedBias = "_of_merged_branches";  // of merged_form(), beside any of an exporter

// --- norms of the timed models ---

inline constexpr Peculiarity kGroupNormOf{"timm, whose norms take autocast's type", "1.0.9",
                                          "data/calibration/README.md"};
inline constexpr ElementType kGroupNorm = ElementType::Float16;

// --- row-major float16 depthwise convolutions of stride 1 or 2 that PyTorch leaves to cuDNN ---

inline constexpr Peculiarity kDepthwiseOf{
    "PyTorch with cuDNN 8.2 and above, more than one image", "2.4",
    "aten/src/ATen/native/Convolution.cpp, check_cudnn_depthwise_workload_with_filter"};
struct Depthwise {
  std::int64_t channels = 32, width = 7;           // minimum
  std::int64_t wide_channels = 512;                // stride 2, any width
  std::int64_t channels_on_wide = 256, wide = 28;  // stride 2, or these
};
inline constexpr Depthwise kDepthwise = {};

// The operators that pytorch_ops.cpp lowers by name. Unnamed element-wise operators are one kernel each; all
// others, and operators that an engine fused, cost their counted work and bytes.
std::vector<std::string_view> lowered_operators();

}  // namespace pagoda::inline core::pytorch

namespace pagoda::inline core {

// The framework call that one or more nodes of the main graph stand for.
enum class Call : std::uint8_t { Own, Part, Linear, Activation, LayerNorm, GroupNorm, Variance, Attention };

struct Idiom {
  Call call = Call::Own;
  ValueIds operands = {};  // of the call
  ValueId result = kAbsent;
  ValueId mask = kAbsent;                   // Attention
  std::vector<std::int32_t> products = {};  // Attention, Linear: the nodes with the multiply-accumulates
};

// By node of the main graph: each call at its last node, Part at its other nodes, Own at all remaining nodes.
std::vector<Idiom> find_idioms(const Model& model, const Analysis& analysis);

}  // namespace pagoda::inline core

// What the built-in backends support.
#include "pagoda/measured/axes.h"

#include "pagoda/measured/study.h"

#include <algorithm>
#include <charconv>

#include "pagoda/base/text.h"

namespace pagoda::measured::bench {
namespace {

struct BackendRow {
  std::string_view name;
  std::string_view axes;  // that it has beside model and backend, between spaces
};

// clang-format off
constexpr std::array<BackendRow, 5> kBackends = {{
    {"ort",   " mode device dtype optimization threads data batch sequence input_size "},
    {"torch", " mode device dtype compile threads data batch sequence input_size optimizer "},
    {"jax",   " mode device dtype data batch sequence input_size "},
    {"cmd",   " mode device dtype compile optimization algorithm threads data command batch sequence input_size optimizer "},
    {"conv",  " mode device dtype algorithm threads batch input_size "},
}};

// A value that a backend takes. Where a backend has rows for an axis, other values are unsupported for `reason`.
struct ValueRow {
  std::string_view backend, axis;
  std::string_view values;  // between spaces
  std::string_view reason;
};
constexpr std::array<ValueRow, 15> kValues = {{
    {"ort",   "mode",         " inference ",                                "ONNX Runtime's Python package runs inference only"},
    {"ort",   "device",       " cpu cuda tensorrt ",                        "no provider of ONNX Runtime for it; there are cpu, cuda and tensorrt"},
    {"ort",   "optimization", " disable basic extended all ",               "no level of ONNX Runtime; there are disable, basic, extended and all"},
    {"ort",   "dtype",        " float32 float16 bfloat16 ",                 "models run in the types stored in the file: float32, float16 or bfloat16"},
    {"torch", "mode",         " inference training ",                       "no mode; there are inference and training"},
    {"torch", "device",       " cpu cuda mps ",                             "no device; there are cpu, cuda and mps"},
    {"torch", "dtype",        " float32 float16 bfloat16 ",                 "no type; there are float32, float16 and bfloat16"},
    {"torch", "compile",      " eager inductor aot_eager cudagraphs openxla ", "no compile mode; there are eager, inductor, aot_eager, cudagraphs and openxla"},
    {"torch", "optimizer",    " sgd adam adamw ",                           "no optimizer; there are sgd, adam and adamw"},
    {"jax",   "mode",         " inference ",                                "a function of JAX runs as it is: give another function for a training step"},
    {"jax",   "device",       " cpu cuda tpu ",                             "no device; there are cpu, cuda and tpu"},
    {"conv",  "mode",         " inference ",                                "convolutions are measured forward only"},
    {"conv",  "dtype",        " float32 ",                                  "convolutions are measured in float32"},
    {"conv",  "device",       " cpu cuda ",                                 "no device; there are cpu (oneDNN) and cuda (cuDNN)"},
    {"conv",  "algorithm",    " reference auto direct gemm winograd implicit_gemm implicit_precomp_gemm fft fft_tiling winograd_nonfused ",
     "no algorithm; there are reference, auto, direct, gemm, winograd, and on cuda implicit_gemm, implicit_precomp_gemm, fft, fft_tiling and winograd_nonfused"},
}};
// clang-format on

bool among(std::string_view list, std::string_view word) {
  std::string wanted = " ";
  wanted.append(word).append(" ");
  return list.find(wanted) != std::string_view::npos;
}

// "cuda" of "cuda:1".
std::string_view kind(std::string_view device) { return device.substr(0, device.find(':')); }

}  // namespace

const AxisRow* find_axis(std::string_view name) {
  const auto* row =
      std::find_if(kAxes.begin(), kAxes.end(), [&](const AxisRow& r) { return r.name == name || r.plural == name; });
  return row == kAxes.end() ? nullptr : row;
}

bool is_built_in(std::string_view backend) {
  return std::any_of(kBackends.begin(), kBackends.end(), [&](const BackendRow& r) { return r.name == backend; });
}

bool has_axis(std::string_view backend, std::string_view axis) {
  if (axis == "model" || axis == "backend") return true;
  for (const BackendRow& row : kBackends)
    if (row.name == backend) return among(row.axes, axis) || !find_axis(axis);
  return true;
}

std::string backend_list() { return base::joined(kBackends, ", ", &BackendRow::name); }

}  // namespace pagoda::measured::bench

namespace pagoda::measured {

using namespace bench;

std::optional<std::string> unsupported_reason(const documents::Config& config, const Study& study) {
  const std::string backend = documents::text_of(config, "backend"), model = documents::text_of(config, "model");
  if (study.backends.contains(backend)) return std::nullopt;
  if (!is_built_in(backend))
    return "there is no backend \"" + backend + "\"; there are " + backend_list() + ", and those of [backends]";
  for (const ValueRow& row : kValues) {
    if (row.backend != backend) continue;
    const std::string value = documents::text_of(config, std::string(row.axis));
    if (value.empty() || among(row.values, row.axis == "device" ? kind(value) : std::string_view(value))) continue;
    return std::string(row.axis) + " \"" + value + "\": " + std::string(row.reason);
  }
  const bool has_file = config.contains("model_file");
  if ((backend == "ort" || backend == "conv") && !has_file)
    return "\"" + model + "\" is a name and " + backend + " runs ONNX files: give one by [models] or as a path";
  if (backend == "torch" && has_file && documents::text_of(config, "mode") == "training")
    return "an ONNX file has no training step in torch: give the name of a model";
  if (backend == "cmd" && documents::text_of(config, "command").empty()) return "the backend cmd needs a command";
  const std::string algorithm = documents::text_of(config, "algorithm");
  if (backend == "conv" && kind(documents::text_of(config, "device")) == "cpu" &&
      !among(" reference auto direct gemm winograd ", algorithm) && !algorithm.empty())
    return "oneDNN has no algorithm \"" + algorithm + "\"; it has direct, gemm, winograd and auto";
  return std::nullopt;
}

}  // namespace pagoda::measured

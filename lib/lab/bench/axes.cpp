// The axes and values that the built-in backends support.
#include "pagoda/lab/axes.h"

#include "pagoda/lab/study.h"

#include <algorithm>
#include <utility>

#include "pagoda/base/cat.h"
#include "pagoda/base/number.h"
#include "pagoda/base/text.h"
#include "pagoda/core/sweep.h"

namespace pagoda::lab::bench {
namespace {

struct BackendRow {
  std::string_view name;
  std::string_view axes;  // its axes besides model and backend, between spaces
};

// clang-format off
constexpr std::array<BackendRow, 5> kBackends = {{
    {"ort",   " mode device dtype optimization threads data batch sequence input_size "},
    {"torch", " mode device dtype compile threads data batch sequence input_size optimizer "},
    {"jax",   " mode device dtype data batch sequence input_size "},
    {"cmd",   " mode device dtype compile optimization algorithm threads data command batch sequence input_size optimizer "},
    {"conv",  " mode device dtype algorithm threads batch input_size "},
}};

// Values that a backend accepts for an axis; other values are unsupported for `reason`. An axis without a row accepts
// any value.
struct ValueRow {
  std::string_view backend, axis;
  std::string_view values;  // between spaces
  std::string_view reason;
};
constexpr std::array<ValueRow, 15> kValues = {{
    {"ort",   "mode",         " inference ",                                "ONNX Runtime's Python package runs inference only"},
    {"ort",   "device",       " cpu cuda tensorrt ",                        "no provider of ONNX Runtime for it; there are cpu, cuda and tensorrt"},
    {"ort",   "optimization", " disable basic extended all ",               "no level of ONNX Runtime; there are disable, basic, extended and all"},
    {"ort",   "dtype",        " float32 float16 bfloat16 ",                 "models run in the types stored in the file: float32, float16 or bfloat16; on tensorrt, float16 is also for files in float32"},
    {"torch", "mode",         " inference training ",                       "no mode; there are inference and training"},
    {"torch", "device",       " cpu cuda mps ",                             "no device; there are cpu, cuda and mps"},
    {"torch", "dtype",        " float32 float16 bfloat16 ",                 "no type; there are float32, float16 and bfloat16"},
    {"torch", "compile",      " eager inductor aot_eager cudagraphs trace openxla lazy ", "no compile mode; there are eager, inductor, aot_eager, cudagraphs, trace, openxla and lazy"},
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
  return list.find(cat(" ", word, " ")) != std::string_view::npos;
}

[[noreturn]] void fail_list(const AxisRow& axis, std::string_view found) {
  throw Error(cat(axis.name, ": found ", found, ", expected integers of at least 1, or ranges like 1,2,4..64",
                  axis.type == AxisType::Size ? ", or HEIGHTxWIDTH" : ""));
}

// Sizes and ranges of a list without HEIGHTxWIDTH.
void add_sizes(const AxisRow& axis, const std::string& list, std::vector<base::Setting>& values) {
  if (list.empty()) return;
  std::vector<std::int64_t> sizes;
  try {
    sizes = parse_axis(cat(axis.name, "=", list)).sizes;
  } catch (const Error&) {
    fail_list(axis, list);
  }
  for (const std::int64_t size : sizes) {
    if (size < 1) fail_list(axis, list);
    values.emplace_back(size);
  }
}

// "cuda" of "cuda:1".
std::string_view kind(std::string_view device) { return device.substr(0, device.find(':')); }

}  // namespace

const AxisRow* find_axis(std::string_view name) {
  const auto* row = std::ranges::find_if(kAxes, [&](const AxisRow& r) { return r.name == name || r.plural == name; });
  return row == kAxes.end() ? nullptr : row;
}

bool is_built_in(std::string_view backend) {
  return std::ranges::find(kBackends, backend, &BackendRow::name) != kBackends.end();
}

bool has_axis(std::string_view backend, std::string_view axis) {
  if (axis == "model" || axis == "backend") return true;
  const auto* row = std::ranges::find(kBackends, backend, &BackendRow::name);
  return row == kBackends.end() || among(row->axes, axis) || !find_axis(axis);
}

std::optional<std::array<std::int64_t, 2>> height_and_width(const base::Setting& size) {
  if (const auto* side = std::get_if<std::int64_t>(&size)) return {{*side, *side}};
  const auto* text = std::get_if<std::string>(&size);
  const std::size_t cross = text ? text->find('x') : std::string::npos;
  if (cross == std::string::npos) return std::nullopt;
  const auto height = base::parse_number<std::int64_t>(std::string_view(*text).substr(0, cross)),
             width = base::parse_number<std::int64_t>(std::string_view(*text).substr(cross + 1));
  if (!height || !width || *height < 1 || *width < 1) return std::nullopt;
  return {{*height, *width}};
}

std::vector<base::Setting> axis_values(const AxisRow& axis, std::string_view list) {
  std::vector<base::Setting> values;
  std::string sizes;  // items of the list not parsed yet: ranges depend on their neighbours
  for (const std::string& item : base::split(list, ",")) {
    if (item.empty()) fail_list(axis, "an empty item");
    if (axis.type == AxisType::Text) {
      values.emplace_back(item);
    } else if (axis.type == AxisType::Integer || item.find('x') == std::string::npos) {
      sizes.append(sizes.empty() ? "" : ",").append(item);
    } else {
      add_sizes(axis, std::exchange(sizes, {}), values);
      const auto pair = height_and_width(item);
      if (!pair) fail_list(axis, item);
      // A square is stored as its side, so that a configuration has only one key.
      values.push_back((*pair)[0] == (*pair)[1] ? base::Setting((*pair)[0]) : base::Setting(item));
    }
  }
  add_sizes(axis, sizes, values);
  return values;
}

std::string backend_list() { return base::joined(kBackends, ", ", &BackendRow::name); }

std::string backends_with(std::string_view axis) {
  std::vector<std::string_view> names;
  for (const BackendRow& row : kBackends)
    if (has_axis(row.name, axis)) names.push_back(row.name);
  return base::joined(names);
}

}  // namespace pagoda::lab::bench

namespace pagoda::lab {

using namespace bench;

std::optional<std::string> unsupported_reason(const documents::Config& config, const Study& study) {
  const std::string backend = documents::text_of(config, "backend"), model = documents::text_of(config, "model");
  if (study.backends.contains(backend)) return std::nullopt;
  if (!is_built_in(backend))
    return cat("there is no backend \"", backend, "\"; known backends: ", backend_list(),
               ", and any defined in [backends]");
  for (const ValueRow& row : kValues) {
    if (row.backend != backend) continue;
    const std::string value = documents::text_of(config, std::string(row.axis));
    if (value.empty() || among(row.values, row.axis == "device" ? kind(value) : std::string_view(value))) continue;
    return cat(row.axis, " \"", value, "\": ", row.reason);
  }
  const bool has_file = config.contains("model_file");
  if ((backend == "ort" || backend == "conv") && !has_file)
    return cat("\"", model, "\" is a name and ", backend, " runs ONNX files: give one by [models] or as a path");
  if (backend == "torch" && has_file && documents::text_of(config, "mode") == "training")
    return "an ONNX file has no training step in torch: give the name of a model";
  if (backend == "cmd" && documents::text_of(config, "command").empty()) return "the backend cmd needs a command";
  const std::string algorithm = documents::text_of(config, "algorithm");
  if (backend == "conv" && kind(documents::text_of(config, "device")) == "cpu" &&
      !among(" reference auto direct gemm winograd ", algorithm) && !algorithm.empty())
    return cat("oneDNN has no algorithm \"", algorithm, "\"; it has direct, gemm, winograd and auto");
  return std::nullopt;
}

}  // namespace pagoda::lab

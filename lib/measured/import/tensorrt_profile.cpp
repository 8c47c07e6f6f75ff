// TensorRT: layer times from trtexec --exportProfile, and layer information from --exportLayerInfo.
//
//   [ {"count": 1000}, {"name": "a + b", "timeMs": 12.3, "averageMs": 0.0123, "medianMs": 0.0121, "percentage": 4.5}, …
//   ]
//   {"Layers": [{"Name": "a + b", "LayerType": "…", "Metadata": "[ONNX Layer: a]\u001f[ONNX Layer: b]", …}],
//   "Bindings": …}
//
// Engines built without detailed verbosity list layers only by name, and profiles before TensorRT 8.5 have no median.
#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

#include "import/engine_names.h"
#include "import/formats.h"
#include "import/runs.h"
#include "import/timeline.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/json.h"
#include "pagoda/base/plural.h"
#include "pagoda/base/text.h"

namespace pagoda::measured::import {
namespace {

using base::JsonField;

constexpr std::string_view kOnnxLayer = "[ONNX Layer: ";

// The names in "[ONNX Layer: a]…[ONNX Layer: b]", without duplicates; some versions write "[ONNX Layer: a][b]". Entries
// are separated by control characters (TensorRT writes 1E and 1F), which are optional. Names may contain brackets: an
// entry ends at the last bracket before the next entry of any kind ("[ONNX Function: …]").
std::vector<std::string> onnx_layers(std::string_view metadata) {
  constexpr std::string_view kAnyEntry = "[ONNX ", kNextName = "][";
  std::vector<std::string> names;
  for (std::size_t begin = metadata.find(kOnnxLayer); begin != std::string_view::npos;
       begin = metadata.find(kOnnxLayer, begin)) {
    begin += kOnnxLayer.size();
    const std::size_t next = std::min(metadata.find(kAnyEntry, begin), metadata.find_first_of("\x1e\x1f", begin));
    const std::string_view entry = metadata.substr(begin, next == std::string_view::npos ? next : next - begin);
    const std::size_t close = entry.rfind(']');
    if (close == std::string_view::npos) continue;
    for (std::string& name : base::split(entry.substr(0, close), kNextName))
      if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

// "Half[1,64,56,56]" of each tensor, joined by commas.
std::string tensors(const JsonField& layer, const char* key) {
  std::string result;
  const auto list = layer.find(key);
  if (!list || !list->value().is_array()) return result;
  for (const JsonField& tensor : list->array()) {
    if (!tensor.value().is_object()) continue;
    const auto dimensions = tensor.find("Dimensions");
    (result += result.empty() ? "" : ",") +=
        tensor.text("Format/Datatype") + (dimensions ? dimensions->value().dump() : "");
  }
  return result;
}

using Layers = std::unordered_map<std::string, documents::MeasuredKernel>;  // by name

// The type, the nodes and the tensors of each layer.
Layers read_layers(std::string_view content, std::string_view subject) {
  Layers layers;
  base::parse_json_elements(content, subject, "Layers", [&](const JsonField& element, std::size_t) {
    if (element.value().is_text()) {
      layers.try_emplace(element.text());
      return;
    }
    if (!element.value().is_object()) element.fail("expected a layer as an object or a name");
    documents::MeasuredKernel layer;
    layer.op_type = element.text("LayerType");
    layer.nodes = onnx_layers(element.text("Metadata"));
    const std::string inputs = tensors(element, "Inputs"), outputs = tensors(element, "Outputs");
    if (!inputs.empty() || !outputs.empty()) layer.detail = inputs + " -> " + outputs;
    if (const std::string tactic = element.text("TacticName"); !tactic.empty())
      layer.detail += (layer.detail.empty() ? "" : ", ") + tactic;
    layers.emplace(element.text("Name"), std::move(layer));
  });
  return layers;
}

// Empty where the profile says nan.
std::optional<double> milliseconds(const JsonField& entry, const char* key) {
  const std::optional<double> value = entry.number(key);
  if (!entry.has(key) || value.value_or(0) < 0) entry.fail(std::string("expected \"") + key + "\" in milliseconds");
  return value;
}

// A mean is at most the sum that it is of, and a median at most twice the mean, since no time is below 0.
bool adds_up(const JsonField& entry) {
  constexpr double kRounding = 1.01;
  const auto sum = entry.number("timeMs"), mean = entry.number("averageMs"), median = entry.number("medianMs");
  return !(mean && ((sum && *mean > kRounding * *sum) || (median && *median > 2 * kRounding * *mean)));
}

}  // namespace

documents::Measured import_tensorrt(std::string_view content, std::string_view subject, std::string_view layers_content,
                                    std::string_view layers_subject) {
  const Layers layers = layers_content.empty() ? Layers() : read_layers(layers_content, layers_subject);

  documents::Measured measured;
  measured.source = "tensorrt";
  measured.tool = "TensorRT";
  std::size_t without_median = 0, unknown_layers = 0;
  ImpossibleTimes impossible;
  std::optional<std::int64_t> count;
  std::size_t not_numbers = 0;
  std::vector<double> sums;  // by kernel, over the runs; 0: unknown
  base::parse_json_elements(content, subject, "layers", [&](const JsonField& entry, std::size_t index) {
    not_numbers = entry.not_numbers();
    if (!entry.value().is_object()) entry.fail("expected a layer as an object");
    if (index == 0 && !entry.has("timeMs") && !entry.has("averageMs")) {
      count = entry.integer("count");
      if (const std::string engine = entry.text("name"); !engine.empty()) measured.env["engine"] = engine;
      return;
    }
    const std::string name = entry.text("name");
    if (name.empty()) entry.fail("expected \"name\" of a layer");
    const auto layer = layers.find(name);
    if (layer == layers.end() && !layers.empty()) ++unknown_layers;
    documents::MeasuredKernel kernel = layer != layers.end() ? layer->second : documents::MeasuredKernel();
    kernel.name = name;
    kernel.launches = 1;
    const bool has_median = entry.has("medianMs");
    if (!has_median) ++without_median;
    const auto time = milliseconds(entry, has_median ? "medianMs" : "averageMs");
    if (time.value_or(0) > 0) kernel.seconds = *time * kMillisecond;
    if (time == 0) impossible.add(Fault::Zero, name, std::nullopt);
    if (!adds_up(entry)) {
      impossible.add(Fault::TooLong, name, kernel.seconds);
      kernel.seconds.reset();
    }
    if (kernel.nodes.empty() && engine_work(kernel.name, kernel.op_type).empty())
      kernel.nodes = name_parts(kernel.name);
    if (kernel.nodes.size() == 1 && !node_range(kernel.nodes[0])) {
      kernel.node = kernel.nodes[0];
      kernel.nodes.clear();
    }
    sums.push_back(entry.has("timeMs") ? entry.number("timeMs").value_or(0) : 0);
    measured.kernels.push_back(std::move(kernel));
  });
  if (!sums.empty() && is_total(sums.back(), std::accumulate(sums.begin(), sums.end(), 0.0), sums.size())) {
    note_total(measured.kernels.back().name, measured.notes);
    measured.kernels.pop_back();
  }
  if (measured.kernels.empty()) base::fail(subject, "holds no layer; expected what trtexec --exportProfile writes");
  if (count && *count < 1) base::fail(subject, cat("counts ", *count, " runs; expected at least one"));
  measured.repeats = count.value_or(1);
  if (!count) add_missing(measured, {{"repeats", "the profile does not say over how many runs it is"}});
  impossible.note("layer", "layers", measured.notes);
  if (without_median > 0)
    measured.notes.emplace_back("times are means over the runs: the profile has no medians (TensorRT before 8.5)");
  if (not_numbers > 0)
    measured.notes.push_back(
        cat(base::counted(static_cast<Int>(not_numbers), "number of the profile is", "numbers of the profile are"),
            " nan or infinite, read as unknown"));
  if (unknown_layers > 0) measured.notes.push_back(cat(unknown_layers, " layers are not in the layer information"));
  add_missing(measured, {{"seconds", "the profile holds layers alone; trtexec prints the latency of a run"},
                         {"seconds_spread", "the profile holds no extremes"},
                         {"flops", "TensorRT counts no operations"},
                         {"bytes", "TensorRT counts no traffic"},
                         {"energy", "TensorRT measures no energy"},
                         {"device", "the profile does not name it"}});
  return measured;
}

}  // namespace pagoda::measured::import

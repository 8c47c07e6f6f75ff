// The command lines of Nsight Compute: options, and studies over models and batches.
#include "pagoda/measured/ncu.h"

#include <algorithm>
#include <cctype>

#include "pagoda/base/enum_names.h"
#include "pagoda/base/text.h"
#include "pagoda/documents/metrics.h"

namespace pagoda::measured::profile {
namespace {

constexpr std::string_view kModel = "{model}", kBatch = "{batch}";

// Metric names consist of letters, digits, '_' and '.'; ncu would interpret a comma or "regex:".
void require_metric(const std::string& name) {
  const bool is_plain = !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.';
  });
  if (!is_plain)
    throw Error("metric \"" + name + "\": expected a name such as dram__bytes_read.sum; take it from the catalogue");
}

bool holds(const std::vector<std::string>& command, std::string_view place) {
  return std::ranges::any_of(command, [&](const std::string& word) { return word.find(place) != std::string::npos; });
}

std::string replaced(std::string text, std::string_view place, const std::string& value) {
  for (std::size_t at = text.find(place); at != std::string::npos; at = text.find(place, at + value.size()))
    text.replace(at, place.size(), value);
  return text;
}

// "models/resnet50.onnx" → "resnet50".
std::string stem(const std::string& path) {
  std::string name = path.substr(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/') + 1);
  if (const std::size_t dot = name.rfind('.'); dot != std::string::npos && dot > 0) name.resize(dot);
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_' && c != '.') c = '_';
  return name;
}

void require_place(const std::vector<std::string>& command, const std::vector<std::string>& values,
                   std::string_view place) {
  if (!values.empty() && !holds(command, place))
    throw Error("the command has no " + std::string(place) + " for \"" + values.front() +
                "\"; write it where the value belongs, as in: python3 models/run_torch.py {model} --batch {batch}");
  if (values.empty() && holds(command, place))
    throw Error("the command has " + std::string(place) + ", and no value is given for it");
}

}  // namespace

std::vector<std::string> ncu_metrics(std::string_view chip) {
  std::vector<std::string> names;
  for (const documents::MetricGroup& group :
       documents::plan_metrics(documents::chip_metrics(chip), documents::MetricMode::Exact).groups)
    for (const std::string& metric : group.metrics)
      if (std::ranges::find(names, metric) == names.end()) names.push_back(metric);
  return names;
}

std::vector<std::string> ncu_arguments(const NcuRequest& request, const std::string& log_file) {
  if (request.command.empty()) throw Error("no program to profile; give it after --");
  if (request.metrics.empty()) throw Error("no metric to collect; choose some of the chip's from the catalogue");
  for (const std::string& name : request.metrics) require_metric(name);
  std::vector<std::string> words = {request.ncu, "--csv"};
  const auto add = [&](const char* option, const std::string& value) {
    words.emplace_back(option);
    words.push_back(value);
  };
  // Prints counts as whole numbers in base units, includes child processes, adds NVTX ranges as columns.
  add("--page", "raw");
  add("--print-units", "base");
  words.emplace_back("--nvtx");
  add("--target-processes", "all");
  add("--cache-control", request.flush_caches ? "all" : "none");
  add("--clock-control", request.lock_clocks ? "base" : "none");
  add("--metrics", base::joined(request.metrics, ","));
  if (!request.devices.empty())
    add("--devices", base::joined(request.devices, ",", [](int device) { return std::to_string(device); }));
  if (!request.kernel_regex.empty()) add("--kernel-name", "regex:" + request.kernel_regex);
  if (!request.nvtx_include.empty()) add("--nvtx-include", request.nvtx_include);
  if (request.launch_skip > 0) add("--launch-skip", std::to_string(request.launch_skip));
  if (request.launch_count) add("--launch-count", std::to_string(*request.launch_count));
  add("--log-file", log_file);
  words.insert(words.end(), request.command.begin(), request.command.end());
  return words;
}

std::string NcuPoint::name() const {
  std::string text = stem(model);
  if (!batch.empty()) (text += text.empty() ? "" : "-") += "batch" + stem(batch);
  return text.empty() ? "run" : text;
}

std::vector<NcuPoint> ncu_points(const std::vector<std::string>& command, const std::vector<std::string>& models,
                                 const std::vector<std::string>& batches) {
  require_place(command, models, kModel);
  require_place(command, batches, kBatch);
  const std::vector<std::string> none = {""};
  std::vector<NcuPoint> points;
  for (const std::string& model : models.empty() ? none : models)
    for (const std::string& batch : batches.empty() ? none : batches) {
      NcuPoint point{model, batch, command};
      for (std::string& word : point.command) word = replaced(replaced(word, kBatch, batch), kModel, model);
      points.push_back(std::move(point));
    }
  return points;
}

std::string_view to_string(CountVerdict verdict) {
  constexpr base::EnumNames<CountVerdict::NotCompared> kNames("same", "differs", "not compared");
  return kNames[verdict];
}

}  // namespace pagoda::measured::profile

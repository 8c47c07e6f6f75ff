// Detects models without weights and creates filled copies.
#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "experiment_run.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/files.h"
#include "pagoda/base/sha256.h"
#include "pagoda/core/model.h"

namespace pagoda::tools::bench {

namespace fs = std::filesystem;

namespace {

// Whether the data of any tensor are missing: its external file does not exist, or the model's file ends before them.
bool lacks_weights(const Model& model) {
  const fs::path folder = fs::path(model.path).parent_path();
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(model.path, error);
  std::string present;  // cache of the last file found: many tensors share one file
  // A skeleton keeps the weights' offsets in the original file, which lie beyond its own end.
  const auto is_there = [&](const Extent& extent) {
    if (extent.location.empty()) return extent.offset + extent.bytes <= bytes;
    if (extent.location == present) return true;
    if (!fs::exists(folder / extent.location.view(), error)) return false;
    present = extent.location;
    return true;
  };
  return std::ranges::any_of(model.graphs, [&](const Graph& graph) {
    return std::ranges::any_of(graph.initializers, [&](const Tensor& tensor) { return !is_there(tensor.extent); });
  });
}

// Checks each file once, not once per experiment.
bool file_lacks_weights(const std::string& file) {
  static std::map<std::pair<std::string, fs::file_time_type>, bool> known;
  std::error_code error;
  const std::pair key(fs::absolute(file).string(), fs::last_write_time(file, error));
  if (const auto found = known.find(key); found != known.end()) return found->second;
  return known[key] = lacks_weights(load_model(file));
}

}  // namespace

documents::Config with_weights(const documents::Config& config, const RunOptions& options) {
  const std::string backend = documents::text_of(config, "backend"), file = documents::text_of(config, "model_file");
  // conv needs only shapes, and torch fills missing weights itself.
  if (file.empty() || backend == "conv" || backend == "torch" || !file_lacks_weights(file)) return config;
  const std::int64_t seed = documents::integer_of(config, "seed").value_or(1);
  std::string content = documents::text_of(config, "model_sha256");
  if (content.empty()) content = base::hex(base::sha256(base::read_file(file, "an ONNX model")));
  const std::string folder = options.folder + "/filled";
  const std::string filled = cat(folder, "/", content.substr(0, 32), "-", seed, ".onnx");
  if (!fs::exists(filled)) {
    fs::create_directories(folder);
    write_filled(file, filled, static_cast<std::uint64_t>(seed));
  }
  documents::Config result = config;
  result["model_file"] = filled;
  return result;
}

}  // namespace pagoda::tools::bench

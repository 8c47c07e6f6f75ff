// Which models lack their weights, and where filled ones are kept.
#include "weights.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "pagoda/base/files.h"
#include "pagoda/base/sha256.h"

namespace pagoda::tools::bench {

namespace fs = std::filesystem;

bool lacks_weights(const Model& model) {
  const fs::path folder = fs::path(model.path).parent_path();
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(model.path, error);
  std::string present;  // the file looked for last: models keep their tensors in one file, or each in its own
  // A skeleton keeps the places of weights in the file that it was taken from: beyond its own end.
  const auto is_there = [&](const Extent& extent) {
    if (extent.location.empty()) return extent.offset + extent.bytes <= bytes;
    if (extent.location == present) return true;
    if (!fs::exists(folder / extent.location, error)) return false;
    present = extent.location;
    return true;
  };
  return std::any_of(model.graphs.begin(), model.graphs.end(), [&](const Graph& graph) {
    return std::any_of(graph.initializers.begin(), graph.initializers.end(),
                       [&](const Tensor& tensor) { return !is_there(tensor.extent); });
  });
}

namespace {

// A file is looked at once, not for each of its experiments.
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
  // conv runs shapes, and torch fills what it lacks itself.
  if (file.empty() || backend == "conv" || backend == "torch" || !file_lacks_weights(file)) return config;
  const std::int64_t seed = documents::integer_of(config, "seed").value_or(1);
  std::string content = documents::text_of(config, "model_sha256");
  if (content.empty()) content = base::hex(base::sha256(base::read_file(file, "an ONNX model")));
  const std::string folder = options.folder + "/filled";
  const std::string filled = folder + "/" + content.substr(0, 32) + "-" + std::to_string(seed) + ".onnx";
  if (!fs::exists(filled)) {
    fs::create_directories(folder);
    write_filled(file, filled, static_cast<std::uint64_t>(seed));
  }
  documents::Config result = config;
  result["model_file"] = filled;
  return result;
}

}  // namespace pagoda::tools::bench

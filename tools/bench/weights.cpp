// Makes the copies that run in place of a model: with weights where it has none, with the sizes of the run where it
// fixes others.
#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "experiment_run.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/files.h"
#include "pagoda/base/sha256.h"
#include "pagoda/core/model.h"
#include "pagoda/core/resize_inputs.h"

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

// The content's hash, by which copies are named.
std::string content_name(const documents::Config& config, const std::string& file) {
  std::string content = documents::text_of(config, "model_sha256");
  if (content.empty()) content = base::hex(base::sha256(base::read_file(file, "an ONNX model")));
  return content.substr(0, 32);
}

// The copy at `path`, made if it is missing.
template <typename Make>
std::string copied(const std::string& path, const Make& make) {
  if (fs::exists(path)) return path;
  fs::create_directories(fs::path(path).parent_path());
  make(path);
  return path;
}

bool has_external_data(const Model& model) {
  return std::ranges::any_of(model.graphs, [](const Graph& graph) {
    return std::ranges::any_of(graph.initializers, [](const Tensor& each) { return !each.extent.location.empty(); });
  });
}

}  // namespace

PreparedModel prepared_model(const documents::Config& config, const RunOptions& options) {
  PreparedModel prepared{.config = config};
  const std::string backend = documents::text_of(config, "backend"), file = documents::text_of(config, "model_file");
  if (file.empty()) return prepared;
  if (lab::bench::has_model_sizes(config)) prepared.sizes = lab::bench::ModelSizes(file).at(config);
  // conv needs only shapes, and torch takes shapes and fills missing weights itself.
  if (backend == "conv" || backend == "torch") return prepared;
  const bool is_resized = prepared.sizes && prepared.sizes->is_resized;
  prepared.is_filled = file_lacks_weights(file);
  if (!prepared.is_filled && !is_resized) return prepared;
  std::string& runs = prepared.config["model_file"].emplace<std::string>(file);
  std::string name = content_name(config, file);
  if (prepared.is_filled) {
    const std::int64_t seed = documents::integer_of(config, "seed").value_or(1);
    name += cat("-", seed);
    runs = copied(cat(options.folder, "/filled/", name, ".onnx"),
                  [&](const std::string& path) { write_filled(file, path, static_cast<std::uint64_t>(seed)); });
  }
  if (is_resized) {
    std::map<std::string, std::vector<std::int64_t>> shapes;
    for (const documents::InputTensor& input : prepared.sizes->inputs) {
      shapes.emplace(input.name, input.shape);
      name += documents::to_string(input);
    }
    // Engines look for external data beside the model.
    if (has_external_data(load_model(runs))) prepared.config["data_folder"] = fs::absolute(runs).parent_path().string();
    const std::string sized = base::hex(base::sha256(name)).substr(0, 32);
    runs = copied(cat(options.folder, "/resized/", sized, ".onnx"),
                  [&](const std::string& path) { write_resized(runs, path, shapes); });
  }
  return prepared;
}

}  // namespace pagoda::tools::bench

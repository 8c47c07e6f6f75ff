// Annotates a model: the notes of each node, matched by its path, become entries of its metadata; files of external
// data are copied when the output goes to a different folder.
#include "pagoda/core/annotate.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <unordered_map>

#include "onnx/external_data.h"
#include "onnx/file_kind.h"
#include "onnx/node_path.h"
#include "onnx/rewrite.h"
#include "onnx/write.h"
#include "pagoda/base/cat.h"
#include "pagoda/core/model.h"

namespace pagoda::inline core {
namespace wire {
namespace {

namespace fs = std::filesystem;

// Field numbers in NodeProto and ModelProto.
constexpr std::uint32_t kNodeMetadata = 9, kModelMetadata = 14;
// The most bytes that protobuf parses; the bytes compared at once.
constexpr std::uint64_t kMostParsed = (std::uint64_t{1} << 31) - 1;
constexpr std::size_t kComparedPiece = std::size_t{1} << 23;

std::string serialized(const Annotations::Entries& entries, std::uint32_t number) {
  std::string text;
  for (const auto& [key, value] : entries) append_entry(text, number, key, value);
  return text;
}

std::string_view first_output(const Graph& graph, const Node& node) {
  for (const ValueId output : node.outputs)
    if (output != kAbsent) return graph.value(output).name;
  return {};
}

// The path of every graph by its id; empty if its node has no path, or if no node has it.
class GraphPaths {
 public:
  explicit GraphPaths(const Model& model) : model_(model), paths_(model.graphs.size()) {
    enter(0, "");
    for (const Function& function : model.functions) {
      const std::string path = function_path(function.domain, function.name, function.overload);
      enter(function.body, path);
      for (const Attribute& attribute : function.defaults) enter(attribute, path);
    }
  }

  // The path of a node; empty where it has none.
  std::optional<std::string> of(GraphId graph, std::int32_t index) const {
    const auto& around = paths_[static_cast<std::size_t>(graph)];
    const Graph& nodes = model_.graph(graph);
    const Node& node = nodes.node(index);
    const std::string_view output = first_output(nodes, node);
    if (!around || (output.empty() && node.name.empty())) return std::nullopt;
    return node_path(*around, output, node.name);
  }

 private:
  void enter(GraphId id, const std::string& path) {
    paths_[static_cast<std::size_t>(id)] = path;
    const Graph& graph = model_.graph(id);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (graph.nodes[i].bodies().empty()) continue;
      if (const auto node = of(id, static_cast<std::int32_t>(i)))
        for (const Attribute& attribute : graph.nodes[i].attributes) enter(attribute, *node);
    }
  }

  void enter(const Attribute& attribute, const std::string& node) {
    const std::string path = attribute_path(node, attribute.name);
    if (const auto* body = std::get_if<GraphId>(&attribute.value)) enter(*body, body_path(path, 0));
    if (const auto* bodies = std::get_if<std::vector<GraphId>>(&attribute.value))
      for (std::size_t i = 0; i < bodies->size(); ++i) enter((*bodies)[i], body_path(path, i));
  }

  const Model& model_;
  std::vector<std::optional<std::string>> paths_;
};

bool same_content(const std::string& a, const std::string& b) {
  const MappedFile left(a), right(b);
  const std::string_view in_left = as_text(left.bytes()), in_right = as_text(right.bytes());
  if (in_left.size() != in_right.size()) return false;
  for (std::size_t at = 0; at < in_left.size(); at += kComparedPiece) {
    if (in_left.substr(at, kComparedPiece) != in_right.substr(at, kComparedPiece)) return false;
    for (const MappedFile* file : {&left, &right})
      file->release(at, std::min(at + kComparedPiece, file->bytes().size()));
  }
  return true;
}

// Copies the external data files that the model at `path` names to the folder of `output`.
void bring_data(const std::string& path, const std::string& output, const std::set<std::string, std::less<>>& locations,
                Annotated& result) {
  const fs::path folder = fs::path(output).parent_path();
  std::error_code error;
  for (const std::string& location : locations) {
    const fs::path relative(location);
    if (relative.is_absolute()) continue;
    std::string source;
    for (const std::string& root : folders_of(path))
      if (source.empty() && !root.empty() && fs::is_regular_file(fs::path(root) / relative, error))
        source = (fs::path(root) / relative).string();
    const std::string target = (folder / relative).string();
    if (source.empty()) {
      result.missing.push_back(location);
      continue;
    }
    if (fs::equivalent(source, target, error)) continue;
    if (std::find(relative.begin(), relative.end(), "..") != relative.end())
      throw Error(cat(output, ": the model's external data ", quoted_name(location),
                      " lie outside its folder and would not be found from here; write the output into the model's own "
                      "folder"));
    if (fs::exists(target, error)) {
      if (fs::is_regular_file(target, error) && same_content(source, target)) continue;
      throw Error(target + ": is there and differs from the model's external data " + source +
                  "; expected a folder without such a file, or with a copy");
    }
    if (const fs::path parent = fs::path(target).parent_path(); !parent.empty()) fs::create_directories(parent, error);
    const MappedFile data(source);
    OutputFile copy(target, source);
    write_edited(data, {}, copy);
    result.copied.push_back(location);
  }
}

}  // namespace
}  // namespace wire

Annotated write_annotated(const Model& model, const std::string& output_path, const Annotations& annotations) {
  Annotated result;
  const wire::GraphPaths paths(model);
  std::unordered_map<std::string, std::string> notes;
  for (const auto& [node, entries] : annotations.nodes) {
    if (const std::optional<std::string> path = paths.of(node.first, node.second))
      notes.emplace(*path, wire::serialized(entries, wire::kNodeMetadata));
    else
      ++result.nameless;
  }

  const MappedFile file(model.path);
  const std::string changed = model.path + ": has changed since it was analysed, expected the same file; run again";
  if (file.bytes().size() != model.file_bytes) throw Error(changed);
  std::set<std::string, std::less<>> locations;
  wire::RewritePolicy policy;
  policy.tensor = [&](const wire::StoredTensor& tensor) -> std::optional<wire::NewData> {
    const std::string& location = tensor.external.location;
    if (tensor.is_external && !location.empty() && location != wire::kInModel) locations.insert(location);
    return std::nullopt;
  };
  policy.metadata = [&](wire::Message, std::string_view key) { return !key.starts_with(annotations.prefix); };
  policy.node = [&](const std::string& path) -> std::string_view {
    const auto found = notes.find(path);
    if (found == notes.end()) return {};
    ++result.nodes;
    return found->second;
  };
  policy.model = wire::serialized(annotations.model, wire::kModelMetadata);
  policy.release = wire::release_of(file);
  const std::vector<wire::Edit> edits =
      wire::about(model.path, wire::as_text(file.bytes()), [&] { return wire::plan_rewrite(file.bytes(), policy); });
  if (result.nodes != notes.size()) throw Error(changed);
  if (const std::uint64_t size = wire::rewritten_size(file.bytes(), edits);
      size > wire::kMostParsed && file.bytes().size() <= wire::kMostParsed)
    throw Error(
        cat(output_path, ": would take ", size,
            " B, more than the 2 GB that protobuf reads; keep the weights in a file of external data and annotate "
            "that model"));

  wire::OutputFile output(output_path, model.path);
  wire::bring_data(model.path, output_path, locations, result);
  wire::write_edited(file, edits, output);
  return result;
}

}  // namespace pagoda::inline core

// load_model: map → walk → graphs.
#include "onnx/load.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "onnx/file_kind.h"
#include "onnx/regular_file.h"
#include "onnx/write.h"
#include "pagoda/base/cat.h"
#include "pagoda/core/model.h"

namespace pagoda::inline core {
namespace wire {
namespace {

// Reads the file as a ModelProto.
Model build_model(File& file, const ExternalData& external) {
  if (file.size() == 0) throw Error("the file is empty, expected an ONNX model; export or download it again");
  Loader loader(file, external);
  Model& model = loader.model;
  std::optional<Range> graph;
  std::vector<Range> functions;
  const auto import = [&](const Field& field) {
    if (model.opsets.size() == Loader::kMostOpsets)
      throw Error(cat("more than ", Loader::kMostOpsets, " opset imports, expected at most that many"));
    Opset opset = read_opset(file, field.payload, 1);
    std::int64_t& version = model.opsets[std::move(opset.domain)];
    version = std::max(version, opset.version);
  };
  const auto function = [&](const Field& field) {
    expect_few_graphs(functions.size());
    functions.push_back(field.payload);
  };
  for_each_field(
      file, Message::Model, {0, file.size()}, 0,
      on(varint_tag(1), [&](const Field& field) { model.ir_version = static_cast<std::int64_t>(field.varint); }),
      on(bytes_tag(2), [&](const Field& field) { model.producer = name_in(file, field); }),
      on(bytes_tag(3), [&](const Field& field) { model.producer_version = name_in(file, field); }),
      on(bytes_tag(7), [&](const Field& field) { take_once(graph, field); }), on(bytes_tag(8), import),
      on(bytes_tag(25), function));
  if (!graph)
    throw Error(
        "there is no graph in it, expected an ONNX model with one; a model of another framework, such as "
        "TensorFlow's or Core ML's, has to be exported to ONNX" +
        describe_kind(file.window({0, file.size()})));
  build_graph(loader, nullptr, *graph, 1);
  model.graph_name = model.main().name;
  std::set<std::tuple<std::string, std::string, std::string>> names;
  for (const Range body : functions) {
    build_function(loader, body, 1);
    const Function& built = model.functions.back();
    if (!names.emplace(built.domain, built.name, built.overload).second)
      throw Error(cat("function ", quoted_name(built.name), " of domain ", quoted_name(built.domain),
                      " is defined twice, expected once; the file is damaged, export it again"));
  }
  model.renamed_dims = loader.dims.renamed();
  return std::move(model);
}

Model load(File file, const std::string& path, const ExternalData& external) {
  const std::string_view head = file.window({0, file.size()});
  Model model = about(path, head, [&] { return build_model(file, external); });
  model.path = path;
  model.file_bytes = file.size();
  return model;
}

}  // namespace

void expect_few_graphs(std::size_t graphs) {
  if (graphs >= Loader::kMostGraphs)
    throw Error(cat("more than ", Loader::kMostGraphs, " graphs of bodies and functions, expected at most that many"));
}

Opset read_opset(File& file, Range body, int depth) {
  Opset opset;
  for_each_field(file, Message::Opset, body, depth, [&](const Field& field) {
    if (field.tag() == bytes_tag(1)) opset.domain = plain_domain(name_in(file, field));
    if (field.tag() == varint_tag(2)) opset.version = static_cast<std::int64_t>(field.varint);
    return true;
  });
  return opset;
}

}  // namespace wire

Model parse_model(std::span<const std::byte> bytes, const std::string& path, const std::string& directory) {
  return wire::load(wire::File(bytes), path, wire::ExternalData({directory}));
}

Model parse_model(std::span<const FileSlice> slices, std::uint64_t file_bytes, const std::string& path,
                  const std::string& directory) {
  return wire::load(wire::File(slices, file_bytes), path, wire::ExternalData({directory}));
}

Model parse_model(const ReadBytes& read, std::uint64_t file_bytes, const std::string& path,
                  const std::string& directory) {
  return wire::load(wire::File(read, file_bytes), path, wire::ExternalData({directory}));
}

Model load_model(const std::string& path) {
  const wire::ExternalData external(wire::folders_of(path));
  const RegularFile regular(path);
  if (!regular.can_be_mapped())
    return wire::load(
        wire::File([&](std::uint64_t offset, std::span<char> bytes) { regular.read(offset, bytes); }, regular.size()),
        path, external);
  const MappedFile file(path);
  return wire::load(wire::File(file.bytes(), wire::release_of(file)), path, external);
}

}  // namespace pagoda::inline core

// load_model: map → skeleton → generated ONNX classes → graphs.
#include "onnx/load.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "onnx/file_kind.h"
#include "onnx/skeleton.h"
#include "onnx/wire.h"

namespace pagoda::inline core {
namespace wire {
namespace {

// Of what the analysis looks at. The graph of a million nodes takes about 200 MB, large forests of trees some more.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

using Release = std::function<void(Range)>;

// The model without all that analysis never looks at.
std::string analysed_part(std::span<const std::byte> bytes, const Release& release) {
  const ExternalData none({});
  const SkeletonOptions options;
  RewritePolicy policy = skeleton_policy(options, none);
  policy.metadata = tells_scope;
  policy.release = release;
  policy.only_analysed = true;
  return rewrite(bytes, policy, kMostBytes);
}

void build_functions(Loader& loader, const ::onnx::ModelProto& proto) {
  std::set<std::tuple<std::string, std::string, std::string>> names;
  for (const ::onnx::FunctionProto& function : proto.functions()) {
    build_function(loader, function);
    const Function& built = loader.model.functions.back();
    if (!names.emplace(built.domain, built.name, built.overload).second)
      throw Error("function " + quoted(built.name) + " of domain " + quoted(built.domain) +
                  " is defined twice, expected once; the file is damaged, export it again");
  }
}

Model build_model(const ::onnx::ModelProto& proto, const ExternalData& external) {
  Loader loader(external);
  Model& model = loader.model;
  model.producer = proto.producer_name();
  model.producer_version = proto.producer_version();
  model.ir_version = proto.ir_version();
  for (const ::onnx::OperatorSetIdProto& opset : proto.opset_import()) {
    std::int64_t& version = model.opsets[plain_domain(opset.domain())];
    version = std::max<std::int64_t>(version, opset.version());
  }
  model.graph_name = proto.graph().name();
  build_main_graph(loader, proto.graph());
  build_functions(loader, proto);
  model.renamed_dims = loader.dims.renamed();
  return std::move(loader.model);
}

Model load(std::span<const std::byte> bytes, const ExternalData& external, const Release& release) {
  if (bytes.empty()) throw Error("the file is empty, expected an ONNX model; export or download it again");
  google::protobuf::Arena arena;
  auto* proto = google::protobuf::Arena::CreateMessage<::onnx::ModelProto>(&arena);
  if (!parse(*proto, analysed_part(bytes, release)))
    throw Error("malformed protobuf, expected an ONNX model; export or download it again");
  if (!proto->has_graph())
    throw Error(
        "there is no graph in it, expected an ONNX model with one; a model of another framework, such as "
        "TensorFlow's or Core ML's, has to be exported to ONNX" +
        std::string(describe_kind(bytes)));
  Model model = build_model(*proto, external);
  model.file_bytes = bytes.size();
  return model;
}

Model load(
    std::span<const std::byte> bytes, const std::string& path, const ExternalData& external,
    const Release& release = [](Range) {}) {
  Model model = about(path, bytes, [&] { return load(bytes, external, release); });
  model.path = path;
  return model;
}

}  // namespace

bool parse(google::protobuf::Message& message, std::string_view bytes) {
  const google::protobuf::LogSilencer silence;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kMaxDepth + 1);
  return message.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

}  // namespace wire

Model parse_model(std::span<const std::byte> bytes, const std::string& path, const std::string& directory) {
  return wire::load(bytes, path, wire::ExternalData({directory}));
}

Model load_model(const std::string& path) {
  const MappedFile file(path);
  return wire::load(file.bytes(), path, wire::ExternalData(wire::folders_of(path)),
                    [&](wire::Range read) { file.release(read.begin, read.end); });
}

}  // namespace pagoda::inline core

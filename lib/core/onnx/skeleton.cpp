// The skeleton of a model: which tensors lose their data, and the location they then refer to.
#include "onnx/skeleton.h"

#include "onnx/file_kind.h"

namespace pagoda::inline core {
namespace wire {
namespace {

std::optional<NewData> inlined(const StoredTensor& tensor, const ExternalData& external) {
  const std::optional<std::uint64_t> bytes = raw_bytes(tensor.element, tensor.elements);
  if (!bytes || !tensor.is_small() || !tensor.external_problem.empty()) return std::nullopt;
  const ExternalData::Bytes data = external.read(tensor.external, *bytes);
  if (!data.problem.empty()) return std::nullopt;
  NewData result;
  append_bytes_field(result.text, kRawData, data.bytes);
  return result;
}

}  // namespace

RewritePolicy skeleton_policy(const SkeletonOptions& options, const ExternalData& external) {
  RewritePolicy policy;
  policy.tensor = [&](const StoredTensor& tensor) -> std::optional<NewData> {
    if (tensor.is_external && tensor.all_bytes == 0) return inlined(tensor, external);
    if (tensor.is_small() || tensor.all_bytes == 0) return std::nullopt;
    if (tensor.is_external)  // which also has inline data that nobody reads
      return NewData{.text =
                         external_reference(tensor.external.location, tensor.external.offset, tensor.external.bytes)};
    const std::string_view location =
        options.weights_location.empty() ? kInModel : std::string_view(options.weights_location);
    return NewData{.text = external_reference(location, tensor.data.begin, tensor.data_bytes)};
  };
  if (!options.keep_stack_traces)
    policy.metadata = [](std::string_view key) { return key.find("stack_trace") == std::string_view::npos; };
  return policy;
}

std::vector<std::string> data_folders(const std::string& path, const SkeletonOptions& options) {
  if (!options.directory.empty()) return {options.directory};
  return path.empty() ? std::vector<std::string>() : folders_of(path);
}

}  // namespace wire

std::string skeleton(std::span<const std::byte> bytes, const SkeletonOptions& options) {
  const wire::ExternalData external(wire::data_folders("", options));
  return wire::about("", wire::as_text(bytes),
                     [&] { return wire::rewrite(bytes, wire::skeleton_policy(options, external)); });
}

}  // namespace pagoda::inline core

// The skeleton of a model: which tensors lose their data, and where they then say that the data lie.
#include "onnx/skeleton.h"

#include "onnx/file_kind.h"

namespace pagoda {
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

RewritePolicy skeleton_policy(const std::string& weights_location, const ExternalData& external) {
  RewritePolicy policy;
  policy.tensor = [&](const StoredTensor& tensor) -> std::optional<NewData> {
    if (tensor.is_external && tensor.all_bytes == 0) return inlined(tensor, external);
    if (tensor.is_small()) return std::nullopt;
    if (tensor.all_bytes == 0) return std::nullopt;
    NewData result;
    if (tensor.is_external)
      result.text = external_reference(tensor.external.location, tensor.external.offset, tensor.external.bytes);
    else
      result.text = external_reference(weights_location.empty() ? kInModel : std::string_view(weights_location),
                                       tensor.data.begin, tensor.data_bytes);
    return result;
  };
  return policy;
}

std::string skeleton_of(std::span<const std::byte> bytes, const std::string& path, const SkeletonOptions& options) {
  const ExternalData external(options.directory.empty() && !path.empty() ? folders_of(path)
                                                                         : std::vector{options.directory});
  RewritePolicy policy = skeleton_policy(options.weights_location, external);
  if (!options.keep_stack_traces)
    policy.metadata = [](std::string_view key) { return key.find("stack_trace") == std::string_view::npos; };
  return about(path, bytes, [&] { return rewrite(bytes, policy); });
}

}  // namespace wire

std::string skeleton(std::span<const std::byte> bytes, const SkeletonOptions& options) {
  return wire::skeleton_of(bytes, "", options);
}

}  // namespace pagoda

// Where in the exporter's module tree a node comes from.
#include <algorithm>

#include "onnx/load.h"

namespace pagoda::inline core::wire {
namespace {

constexpr std::string_view kNameScopes = "pkg.torch.onnx.name_scopes";
constexpr std::string_view kNamespace = "namespace";
constexpr int kNodeMetadata = 9;  // NodeProto.metadata_props, since ONNX 1.16

// The strings of a Python list: "['', 'layer1', 'layer1.0', 'conv2d']".
std::vector<std::string> python_strings(std::string_view list) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const char quote = list[i];
    if (quote != '\'' && quote != '"') continue;
    std::string text;
    for (++i; i < list.size() && list[i] != quote; ++i) {
      if (list[i] == '\\' && i + 1 < list.size()) ++i;
      text += list[i];
    }
    result.push_back(std::move(text));
  }
  return result;
}

// The names in ": class/layer1: class/layer1.0: class/conv2d: op".
std::vector<std::string> namespace_parts(std::string_view text) {
  std::vector<std::string> result;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('/'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    result.emplace_back(part.substr(0, part.find(": ")));
  }
  return result;
}

// Each part is the whole path of a module within the one before; the last is the operation itself.
std::string innermost(const std::vector<std::string>& parts) {
  return parts.size() < 2 ? std::string() : parts[parts.size() - 2];
}

}  // namespace

bool tells_scope(std::string_view metadata_key) { return metadata_key == kNameScopes || metadata_key == kNamespace; }

std::string module_scope(const ::onnx::NodeProto& proto) {
  std::string name_scopes, name_space;
  for_each_unknown(proto, kNodeMetadata, [&](const std::string& bytes) {
    ::onnx::StringStringEntryProto entry;
    if (!parse(entry, bytes)) return;
    if (entry.key() == kNameScopes) name_scopes = innermost(python_strings(entry.value()));
    if (entry.key() == kNamespace) name_space = innermost(namespace_parts(entry.value()));
  });
  for (const std::string& recorded : {name_scopes, name_space})
    // What torch writes where it knows no module.
    if (!recorded.empty() && recorded != "_empty_nn_module_stack_from_metadata_hook") return recorded;
  const std::size_t slash = proto.name().rfind('/');
  return slash == std::string::npos ? std::string() : proto.name().substr(0, slash);
}

}  // namespace pagoda::inline core::wire

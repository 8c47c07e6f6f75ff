// The position of a node in the exporter's module tree.
#include <algorithm>

#include "onnx/load.h"

namespace pagoda::inline core::wire {
namespace {

constexpr std::string_view kNameScopes = "pkg.torch.onnx.name_scopes";
constexpr std::string_view kNamespace = "namespace";

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

// Each part is the full path of a module inside the previous one; the last is the operation itself.
std::string innermost(const std::vector<std::string>& parts) {
  return parts.size() < 2 ? std::string() : parts[parts.size() - 2];
}

}  // namespace

bool names_scope(std::string_view key) { return key == kNameScopes || key == kNamespace; }

void RecordedScope::read(File& file, Range entry, int depth) {
  std::string_view key;
  std::optional<Field> value;
  for_each_field(file, Message::Entry, entry, depth, [&](const Field& field) {
    if (field.tag() == bytes_tag(1)) key = file.text(field.payload);
    if (field.tag() == bytes_tag(2)) value = field;
    return true;
  });
  const auto text = [&] { return value ? name_in(file, *value) : std::string_view(); };
  if (key == kNameScopes) name_scopes = innermost(python_strings(text()));
  if (key == kNamespace) name_space = innermost(namespace_parts(text()));
}

std::string RecordedScope::of(std::string_view node_name) const {
  for (const std::string* recorded : {&name_scopes, &name_space})
    // torch writes this when it has no module.
    if (!recorded->empty() && *recorded != "_empty_nn_module_stack_from_metadata_hook") return *recorded;
  const std::size_t slash = node_name.rfind('/');
  return std::string(node_name.substr(0, slash == std::string_view::npos ? 0 : slash));
}

}  // namespace pagoda::inline core::wire

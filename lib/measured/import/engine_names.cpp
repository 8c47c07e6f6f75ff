// Spellings of ONNX Runtime 1.x and TensorRT 8 to 10, as their profiles show them.
#include "import/engine_names.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace pagoda::measured::import {
namespace {

constexpr std::string_view kRange = "{ForeignNode[", kRangeEnd = "]}";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// Length of a suffix "<word><digits>", 0 if there is none.
std::size_t numbered_suffix(std::string_view name, std::string_view word) {
  std::size_t digits = 0;
  while (digits < name.size() && is_digit(name[name.size() - 1 - digits])) ++digits;
  if (digits == 0 || !name.substr(0, name.size() - digits).ends_with(word)) return 0;
  return digits + word.size();
}

// Length of a last path segment "/…Fusion" or "/…Fusion/", which ONNX Runtime's graph transformers add; 0 if there is
// none.
std::size_t fusion_segment(std::string_view name) {
  std::size_t end = name.size();
  if (name.ends_with('/')) --end;
  std::size_t begin = end;
  while (begin > 0 && is_letter(name[begin - 1])) --begin;
  if (begin == 0 || name[begin - 1] != '/' || !name.substr(begin, end - begin).ends_with("Fusion")) return 0;
  return name.size() - begin + 1;
}

// Length of TensorRT's suffix "_myl<n>_<m>".
std::size_t myelin_suffix(std::string_view name) {
  const std::size_t last = numbered_suffix(name, "_");
  if (last == 0) return 0;
  const std::size_t first = numbered_suffix(name.substr(0, name.size() - last), "_myl");
  return first == 0 ? 0 : first + last;
}

constexpr std::array<std::string_view, 4> kSuffixes = {"_nchwc", "_nhwc", "_fused", "_transformed"};
constexpr std::array<std::string_view, 6> kPrefixes = {
    "fused ", "Fused_", "copied_squeeze_after_", "squeeze_after_", "unsqueeze_node_after_", "squeeze_node_after_"};

void append_parts(std::string_view text, std::vector<std::string>& parts);

void append_part(std::string_view part, std::vector<std::string>& parts) {
  part = trimmed(part);
  if (part.starts_with("PWN(") && part.ends_with(')')) {  // TensorRT's pointwise network
    append_parts(part.substr(4, part.size() - 5), parts);
    return;
  }
  if (part.empty() || part.starts_with("(Unnamed Layer*")) return;
  if (std::ranges::find(parts, part) == parts.end()) parts.emplace_back(part);
}

// Splits at " + ", " || " and ", " outside brackets.
void append_parts(std::string_view text, std::vector<std::string>& parts) {
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && depth > 0) --depth;
    if (depth > 0) continue;
    for (const std::string_view separator : {std::string_view(" + "), std::string_view(" || "), std::string_view(", ")})
      if (text.substr(i).starts_with(separator)) {
        append_part(text.substr(begin, i - begin), parts);
        begin = i + separator.size();
        i = begin - 1;
        break;
      }
  }
  append_part(text.substr(std::min(begin, text.size())), parts);
}

}  // namespace

std::vector<std::string> name_parts(std::string_view name) {
  std::vector<std::string> parts;
  // A name nested deeper than any engine writes is kept as one part, so that a hostile name cannot exhaust the stack.
  if (std::ranges::count(name, '(') > 200)
    parts.emplace_back(name);
  else
    append_parts(name, parts);
  return parts;
}

std::optional<std::pair<std::string, std::string>> node_range(std::string_view part) {
  if (!part.starts_with(kRange) || !part.ends_with(kRangeEnd)) return std::nullopt;
  part = part.substr(kRange.size(), part.size() - kRange.size() - kRangeEnd.size());
  const std::size_t dots = part.find("...");
  if (dots == std::string_view::npos) return std::pair{std::string(part), std::string(part)};
  return std::pair{std::string(part.substr(0, dots)), std::string(part.substr(dots + 3))};
}

std::optional<std::string> undecorated(std::string_view name) {
  for (const std::string_view suffix : kSuffixes)
    if (name.ends_with(suffix)) return std::string(name.substr(0, name.size() - suffix.size()));
  for (const std::string_view prefix : kPrefixes)
    if (name.starts_with(prefix)) return std::string(name.substr(prefix.size()));
  for (const std::size_t length : {numbered_suffix(name, "_token_"), fusion_segment(name), myelin_suffix(name)})
    if (length > 0) return std::string(name.substr(0, name.size() - length));
  return std::nullopt;
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

std::string_view engine_work(std::string_view name, std::string_view op_type) {
  struct Row {
    std::string_view word, what;
  };
  // clang-format off
  constexpr std::array<Row, 4> kOps = {{
      {"MemcpyFromHost", "copy to the device"},
      {"MemcpyToHost",   "copy to the host"},
      {"ReorderInput",   "change of layout"},
      {"ReorderOutput",  "change of layout"},
  }};
  constexpr std::array<Row, 9> kNames = {{
      {"Reformatting CopyNode", "change of layout"},
      {"reformatted_",          "change of layout"},
      {"Memcpy HtoD",           "copy to the device"},
      {"Memcpy DtoH",           "copy to the host"},
      {"Memcpy DtoD",           "copy on the device"},
      {"Memset",                "fill with a value"},
      {"[HostToDeviceCopy",     "copy to the device"},
      {"[DeviceToHostCopy",     "copy to the host"},
      {"[trainStation",         "synchronisation"},
  }};
  // clang-format on
  for (const Row& row : kOps)
    if (op_type == row.word) return row.what;
  for (const Row& row : kNames)
    if (name.starts_with(row.word)) return row.what;
  if (op_type == "Reshape" && (name.ends_with("_new_reshape") || name.starts_with("gemm_")))
    return "reshape around a fused product";
  if (op_type == "Transpose" && name.starts_with("Transpose_token_")) return "transpose moved by the engine";
  return "";
}

}  // namespace pagoda::measured::import

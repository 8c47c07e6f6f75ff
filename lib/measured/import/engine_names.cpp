// Spellings of ONNX Runtime 1.x and TensorRT 8 to 10, as their profiles show them.
#include "import/engine_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

namespace pagoda::measured::import {
namespace {

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

// Length of the type of a layer at the end of its name: "x[Constant]", "x [myelin]"; 0: none.
std::size_t type_suffix(std::string_view name) {
  if (!name.ends_with(']')) return 0;
  std::size_t begin = name.size() - 1;
  while (begin > 0 && is_letter(name[begin - 1])) --begin;
  if (begin < 2 || begin == name.size() - 1 || name[begin - 1] != '[') return 0;
  return name.size() - trimmed(name.substr(0, begin - 1)).size();
}

// Length of " [profile 1]", which TensorRT adds to the layers of an engine with several profiles; 0: none.
std::size_t profile_suffix(std::string_view name) {
  if (!name.ends_with(']')) return 0;
  const std::size_t length = numbered_suffix(name.substr(0, name.size() - 1), " [profile ");
  return length == 0 ? 0 : length + 1;
}

// Words that engines add to the names of nodes, and words that mark work of their own. A Cast that ONNX Runtime
// inserted may pass its name to the kernel ahead of it, so only a Cast of that name is the engine's work.
enum class Place : std::uint8_t { Type, Begin, End };  // the type begins with the word; the name begins or ends with it
struct Spelling {
  std::string_view word;
  Place place;
  bool is_decoration;          // the rest of the name may be a node's
  std::string_view work = {};  // of the engine; empty: none
  std::string_view type = {};  // of that work; empty: any
};
// The first row that fits decides.
// clang-format off
constexpr Spelling kSpellings[] = {
    {"MemcpyFromHost",                Place::Type,  false, "copy to the device"},
    {"MemcpyToHost",                  Place::Type,  false, "copy to the host"},
    {"ReorderInput",                  Place::Type,  false, "change of layout"},
    {"ReorderOutput",                 Place::Type,  false, "change of layout"},
    {"autograd::engine::",            Place::Type,  false, "backward pass"},
    {"TorchDynamo",                   Place::Type,  false, "overhead of torch.compile"},
    {"Pregraph bytecode",             Place::Type,  false, "overhead of torch.compile"},
    {"AOTDispatcher Runtime Wrapper", Place::Type,  false, "overhead of torch.compile"},
    {"Reformatting CopyNode",         Place::Begin, false, "change of layout"},
    {"reformatted_",                  Place::Begin, false, "change of layout"},
    {"shuffle_between_",              Place::Begin, false, "change of layout"},
    {"shuffle_after_",                Place::Begin, false, "change of layout"},
    {"squeeze_after_",                Place::Begin, false, "change of layout"},
    {"copied_squeeze_after_",         Place::Begin, false, "change of layout"},
    {"squeeze_node_after_",           Place::Begin, false, "change of layout"},
    {"unsqueeze_node_after_",         Place::Begin, false, "change of layout"},
    {"Memcpy HtoD",                   Place::Begin, false, "copy to the device"},
    {"Memcpy DtoH",                   Place::Begin, false, "copy to the host"},
    {"Memcpy DtoD",                   Place::Begin, false, "copy on the device"},
    {"Memset",                        Place::Begin, false, "fill with a value"},
    {"[HostToDeviceCopy",             Place::Begin, false, "copy to the device"},
    {"[DeviceToHostCopy",             Place::Begin, false, "copy to the host"},
    {"[trainStation",                 Place::Begin, false, "synchronisation"},
    {"entry^bb^",                     Place::Begin, false, "synchronisation"},
    {"exit^bb^",                      Place::Begin, false, "synchronisation"},
    {"__mye_signal",                  Place::Begin, false, "synchronisation"},
    {" copy",                         Place::End,   false, "copy on the device"},
    {"_castIn",                       Place::End,   true,  "change of type"},
    {"_castOut",                      Place::End,   true,  "change of type"},
    {"_nchwc",                        Place::End,   true},
    {"_nhwc",                         Place::End,   true},
    {"_fused",                        Place::End,   true},
    {"_transformed",                  Place::End,   true},
    {"/duplicated",                   Place::End,   true},
    {"_quantize_scale_node",          Place::End,   true},
    {"fused ",                        Place::Begin, true},
    {"Fused_",                        Place::Begin, true},
    {"myelin-exec:",                  Place::Begin, true},
    {"node_of_",                      Place::Begin, true},
    {"InsertedCast_",                 Place::Begin, true,  "change of type", "Cast"},
    {"InsertedPrecisionFreeCast_",    Place::Begin, true,  "change of type", "Cast"},
};
// clang-format on

bool fits(const Spelling& spelling, std::string_view name, std::string_view op_type) {
  switch (spelling.place) {
    case Place::Type:
      return op_type.starts_with(spelling.word);
    case Place::Begin:
      return name.starts_with(spelling.word);
    case Place::End:
      return name.ends_with(spelling.word);
  }
  return false;
}

constexpr std::array<std::string_view, 2> kNumbered = {"_token_", "_clone_"};

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
  name.remove_suffix(profile_suffix(name));
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
  for (const Spelling& spelling : kSpellings)
    if (spelling.is_decoration && fits(spelling, name, ""))
      return std::string(
          name.substr(spelling.place == Place::Begin ? spelling.word.size() : 0, name.size() - spelling.word.size()));
  for (const std::string_view word : kNumbered)
    if (const std::size_t length = numbered_suffix(name, word); length > 0)
      return std::string(name.substr(0, name.size() - length));
  for (const auto& suffix : {fusion_segment, myelin_suffix, type_suffix, profile_suffix})
    if (const std::size_t length = suffix(name); length > 0) return std::string(name.substr(0, name.size() - length));
  return std::nullopt;
}

std::size_t myelin_suffix(std::string_view name) {
  const std::size_t last = numbered_suffix(name, "_");
  if (last == 0) return 0;
  const std::size_t first = numbered_suffix(name.substr(0, name.size() - last), "_myl");
  return first == 0 ? 0 : first + last;
}

std::string myelin_spelling(std::string_view name) {
  std::string result(name);
  for (char& c : result)
    if (!is_letter(c) && !is_digit(c) && c != '/') c = '_';
  return result;
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

std::string_view engine_work(std::string_view name, std::string_view op_type) {
  for (const Spelling& spelling : kSpellings) {
    const bool is_of_type = spelling.type.empty() || op_type.empty() || op_type == spelling.type;
    if (!spelling.work.empty() && is_of_type && fits(spelling, name, op_type)) return spelling.work;
  }
  if (op_type == "Reshape" && (name.ends_with("_new_reshape") || name.starts_with("gemm_")))
    return "reshape around a fused product";
  if (op_type == "Transpose" && name.starts_with("Transpose_token_")) return "transpose moved by the engine";
  return "";
}

std::string_view cause_of_no_row(std::string_view name, std::string_view op_type) {
  if (const std::string_view work = engine_work(name, op_type); !work.empty()) return work;
  if (name_parts(name).empty()) return "no name";
  if (name == "Transpose" && op_type == "Transpose") return "transpose moved by the engine";  // the first of them
  struct Row {
    std::string_view word, what;
  };
  // Kernels of many nodes that their names do not list.
  // clang-format off
  constexpr std::array<Row, 9> kWholeParts = {{
      {"DmlFusedNode_",              "nodes that DirectML fused"},
      {"TensorrtExecutionProvider_", "a part that TensorRT ran as a whole"},
      {"OpenVINOExecutionProvider_", "a part that OpenVINO ran as a whole"},
      {"QNNExecutionProvider_",      "a part that QNN ran as a whole"},
      {"CoreMLExecutionProvider_",   "a part that Core ML ran as a whole"},
      {"NnapiExecutionProvider_",    "a part that NNAPI ran as a whole"},
      {"Torch-Compiled Region",      "fused by torch.compile"},
      {"triton_",                    "fused by torch.compile"},
      {"cpp_fused_",                 "fused by torch.compile"},
  }};
  // clang-format on
  for (const Row& row : kWholeParts)
    if (name.starts_with(row.word)) return row.what;
  // Myelin's kernels, and nodes that a graph transformer added: "LayerNormalization_token_7".
  const bool is_numbered_op = !op_type.empty() && name.starts_with(op_type) &&
                              (name.size() == op_type.size() || name.substr(op_type.size()).starts_with("_token_"));
  if (name.starts_with("__my") || name.starts_with("_gemm_mha") || (is_numbered_op && is_letter(op_type.front())))
    return "a name that the engine generated";
  return "no row of that name";
}

}  // namespace pagoda::measured::import

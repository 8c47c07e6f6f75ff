// How engines name what they run: a layer that fuses several nodes, or a node with a decoration. The rules use text
// only; the join determines which parts are nodes of the model.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pagoda::measured::import {

// Around the ends of a range; ranges may be part of longer text.
inline constexpr std::string_view kRange = "{ForeignNode[", kRangeEnd = "]}";

// The parts of a layer's name that may be nodes, in order, without duplicates:
//   "a + PWN(b, c) || d"        → a, b, c, d
//   "{ForeignNode[first...last]}" → {ForeignNode[first...last]}, which is a range
std::vector<std::string> name_parts(std::string_view name);

// "first", "last" of "{ForeignNode[first...last]}".
std::optional<std::pair<std::string, std::string>> node_range(std::string_view part);

// The name without one decoration that an engine is known to add; empty if there is none. Call again for the next one.
//   "/relu/Relu_output_0_nchwc" → "/relu/Relu_output_0"; "/q/MatMul/MatMulScaleFusion/" → "/q/MatMul"
std::optional<std::string> undecorated(std::string_view name);

// Length of "_myl<n>_<m>", which Myelin appends to the name of a node that one of its kernels runs; 0: none.
std::size_t myelin_suffix(std::string_view name);
// The name as Myelin spells it: "/layer.0/MatMul" → "/layer_0/MatMul".
std::string myelin_spelling(std::string_view name);

// Whether the text contains one of the words.
bool has_any(std::string_view text, std::initializer_list<std::string_view> words);

// Describes data movement or synchronisation that the engine added and the model does not contain; empty for other
// work.
std::string_view engine_work(std::string_view name, std::string_view op_type);

// Why a kernel that resolves to no row does not: its engine_work(), or what kind of name it has.
std::string_view cause_of_no_row(std::string_view name, std::string_view op_type);

}  // namespace pagoda::measured::import

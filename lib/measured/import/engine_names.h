// How engines name what they run: a layer that joins several nodes, a node with a decoration. Rules are of text alone;
// which of the parts are nodes of a model, the join finds out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pagoda::measured::import {

// Parts of a layer's name that may be nodes, in order, each once:
//   "a + PWN(b, c) || d"        → a, b, c, d
//   "{ForeignNode[first...last]}" → {ForeignNode[first...last]}, which is a range
std::vector<std::string> name_parts(std::string_view name);

// "first", "last" of "{ForeignNode[first...last]}".
std::optional<std::pair<std::string, std::string>> node_range(std::string_view part);

// The name without one decoration that an engine is known to add; empty: there is none. Apply again for the next one.
//   "/relu/Relu_output_0_nchwc" → "/relu/Relu_output_0"; "/q/MatMul/MatMulScaleFusion/" → "/q/MatMul"
std::optional<std::string> undecorated(std::string_view name);

// A name for data movement or synchronisation that the engine added and no model holds; what it is, else empty.
std::string_view engine_work(std::string_view name, std::string_view op_type);

}  // namespace pagoda::measured::import

// What all operators with graph attributes share.
#pragma once

#include <string_view>

#include "infer/infer.h"

namespace pagoda::inline core {

// The graph that an attribute holds.
GraphId body_of(const Node& node, std::string_view attribute_name);

// The scope of the body's rows: that of the node, its name, and the part ("body", "then"), if there are several.
Name inner_scope(const Name& scope, const Name& node, std::string_view part);

// A value that changes from trip to trip: its type, without its known contents.
ValueInfo varying(ValueInfo info);

}  // namespace pagoda::inline core

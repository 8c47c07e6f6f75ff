// Lines of JSON that the runner and its workers exchange.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/base/json.h"
#include "pagoda/base/json_writer.h"

namespace pagoda::tools::bench {

using base::JsonValue;
using base::JsonWriter;

// {"op":…} and the members that `add` writes, as one line.
std::string request(std::string_view op, const std::function<void(JsonWriter&)>& add = {});
// {"event":…}: what a worker answers.
std::string event(std::string_view name, const std::function<void(JsonWriter&)>& add = {});

// A line as JSON; empty where it is none.
std::optional<JsonValue> parse_line(const std::string& line);

// Members of an object; empty where they are missing or of another kind.
std::string text(const JsonValue& object, std::string_view key);
std::optional<double> number(const JsonValue& object, std::string_view key);
// The numbers of an array that is a member, others left out.
std::vector<double> numbers(const JsonValue& object, std::string_view key);
// A member that is an object, as settings; its arrays and objects are left out.
base::Settings settings(const JsonValue& object, std::string_view key);

}  // namespace pagoda::tools::bench

// The JSON lines that the runner and its workers exchange.
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/base/json.h"
#include "pagoda/base/json_writer.h"

namespace pagoda::tools::bench {

using base::JsonValue, base::JsonWriter;

// {"op":…} with the members that `add` writes, as one line.
std::string request(std::string_view op, const std::function<void(JsonWriter&)>& add = {});
// {"event":…}: a worker's answer, as one line.
std::string event(std::string_view name, const std::function<void(JsonWriter&)>& add = {});
std::string event(std::string_view name, const std::string& message);

// Answers the requests of a worker, one per line, until "quit". An exception becomes an error event and ends the
// worker; `no_memory`: message for std::bad_alloc. Returns the exit code.
int serve(std::istream& requests, std::ostream& answers, const char* no_memory,
          const std::function<std::string(const JsonValue&)>& answer);

// A line as JSON; empty if it is not valid JSON.
std::optional<JsonValue> parse_line(const std::string& line);

// Members of an object; empty if missing or of a different type.
std::string text(const JsonValue& object, std::string_view key);
std::optional<double> number(const JsonValue& object, std::string_view key);
// The numbers in a member that is an array; skips other elements.
std::vector<double> numbers(const JsonValue& object, std::string_view key);
// A member that is an array; empty if missing or of a different type.
JsonValue::Array array(const JsonValue& object, std::string_view key);
// A member that is an object, as settings; skips its arrays and objects.
base::Settings settings(const JsonValue& object, std::string_view key);

}  // namespace pagoda::tools::bench

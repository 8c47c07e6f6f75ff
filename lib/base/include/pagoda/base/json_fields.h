// Members of JSON objects read with checks: a member of another kind than expected is an Error that names the place.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/base/error.h"
#include "pagoda/base/settings.h"

#pragma GCC visibility push(default)
namespace pagoda::base {

using Json = nlohmann::json;

[[noreturn]] void fail(std::string_view place, const std::string& what);

// The member, or null when there is none or it is JSON's null.
const Json* member(const Json& object, const char* key);

// Each is empty for a member that is missing or null.
std::string text(const Json& object, const char* key, const std::string& place);
std::optional<double> number(const Json& object, const char* key, const std::string& place);  // finite
std::optional<std::int64_t> integer(const Json& object, const char* key, const std::string& place);
std::vector<std::string> texts(const Json& object, const char* key, const std::string& place);
Settings settings(const Json& object, const char* key, const std::string& place);

// An array that must be there.
const Json& array(const Json& object, const char* key, const std::string& place);

// The whole text as JSON; an Error names `subject`, the byte, and what was `expected`.
Json parse_json(std::string_view json, std::string_view subject, const std::string& expected);

// The whole file; an Error names it and what was `expected`.
std::string read_text(const std::string& path, const std::string& expected);

}  // namespace pagoda::base
#pragma GCC visibility pop

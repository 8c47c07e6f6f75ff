// Members of JSON objects, checked.
#include "pagoda/base/json_fields.h"

#include <cmath>
#include <fstream>
#include <sstream>

namespace pagoda::base {

void fail(std::string_view place, const std::string& what) { throw Error(std::string(place) + ": " + what); }

const Json* member(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::string text(const Json& object, const char* key, const std::string& place) {
  const Json* found = member(object, key);
  if (!found) return "";
  if (!found->is_string()) fail(place + "." + key, "expected a string");
  return found->get<std::string>();
}

std::optional<double> number(const Json& object, const char* key, const std::string& place) {
  const Json* found = member(object, key);
  if (!found) return std::nullopt;
  if (!found->is_number() || !std::isfinite(found->get<double>())) fail(place + "." + key, "expected a number or null");
  return found->get<double>();
}

std::optional<std::int64_t> integer(const Json& object, const char* key, const std::string& place) {
  const std::optional<double> value = number(object, key, place);
  if (!value) return std::nullopt;
  // Beyond 9e15 doubles no longer hold every integer.
  if (!(std::abs(*value) <= 9e15) || *value != std::floor(*value)) fail(place + "." + key, "expected an integer");
  return static_cast<std::int64_t>(*value);
}

std::vector<std::string> texts(const Json& object, const char* key, const std::string& place) {
  std::vector<std::string> result;
  const Json* found = member(object, key);
  if (!found) return result;
  if (!found->is_array()) fail(place + "." + key, "expected an array");
  for (const Json& element : *found) {
    if (!element.is_string()) fail(place + "." + key, "expected strings");
    result.push_back(element.get<std::string>());
  }
  return result;
}

Settings settings(const Json& object, const char* key, const std::string& place) {
  Settings result;
  const Json* found = member(object, key);
  if (!found) return result;
  if (!found->is_object()) fail(place + "." + key, "expected an object");
  for (const auto& [name, value] : found->items()) {
    if (value.is_null())
      result[name] = std::monostate{};
    else if (value.is_boolean())
      result[name] = value.get<bool>();
    else if (value.is_number_integer())
      result[name] = value.get<std::int64_t>();
    else if (value.is_number())
      result[name] = value.get<double>();
    else if (value.is_string())
      result[name] = value.get<std::string>();
    // Objects and arrays are another tool's extension; they are not ours to interpret.
  }
  return result;
}

const Json& array(const Json& object, const char* key, const std::string& place) {
  const Json* found = member(object, key);
  if (!found || !found->is_array()) fail(place, std::string("expected an array \"") + key + "\"");
  return *found;
}

Json parse_json(std::string_view json, std::string_view subject, const std::string& expected) {
  try {
    return Json::parse(json);
  } catch (const Json::exception& error) {
    const auto* parse = dynamic_cast<const Json::parse_error*>(&error);
    fail(subject,
         "not JSON" + (parse ? ", byte " + std::to_string(parse->byte) : std::string()) + "; expected " + expected);
  }
}

std::string read_text(const std::string& path, const std::string& expected) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  if (!file) throw Error(path + ": cannot be read; expected " + expected);
  return std::move(content).str();
}

}  // namespace pagoda::base

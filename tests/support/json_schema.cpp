#include "support/json_schema.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "support/files.h"

namespace pagoda::test {
namespace {

using nlohmann::json;

bool has_type(const json& value, const std::string& type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_boolean();
  if (type == "string") return value.is_string();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  if (type == "number") return value.is_number();
  return type == "integer" && value.is_number_integer();
}

class Checker {
 public:
  explicit Checker(const json& root) : root_(root) {}

  std::vector<std::string> found;

  void check(const json& value, const json& schema, const std::string& where) {
    if (schema.is_boolean()) {
      if (!schema.get<bool>()) report(where, "is not allowed");
      return;
    }
    for (const auto& [keyword, argument] : schema.items()) check_keyword(value, schema, keyword, argument, where);
  }

 private:
  void report(const std::string& where, const std::string& what) {
    found.push_back((where.empty() ? "/" : where) + ": " + what);
  }

  bool matches(const json& value, const json& schema) {
    Checker checker(root_);
    checker.check(value, schema, "");
    return checker.found.empty();
  }

  void check_keyword(const json& value, const json& schema, const std::string& keyword, const json& argument,
                     const std::string& where) {
    static const std::set<std::string> kAnnotations = {"$schema", "$id", "$defs", "title", "description"};
    if (kAnnotations.contains(keyword)) return;
    if (keyword == "type") {
      const std::vector<json> types =
          argument.is_array() ? argument.get<std::vector<json>>() : std::vector<json>{argument};
      if (std::none_of(types.begin(), types.end(), [&](const json& type) { return has_type(value, type); }))
        report(where, "is " + value.dump() + ", expected " + argument.dump());
    } else if (keyword == "const") {
      if (value != argument) report(where, "is " + value.dump() + ", expected " + argument.dump());
    } else if (keyword == "enum") {
      if (std::find(argument.begin(), argument.end(), value) == argument.end())
        report(where, "is " + value.dump() + ", expected one of " + argument.dump());
    } else if (keyword == "minimum") {
      if (value.is_number() && value < argument) report(where, "is " + value.dump() + ", below " + argument.dump());
    } else if (keyword == "maximum") {
      if (value.is_number() && value > argument) report(where, "is " + value.dump() + ", above " + argument.dump());
    } else if (keyword == "exclusiveMinimum") {
      if (value.is_number() && value <= argument)
        report(where, "is " + value.dump() + ", not above " + argument.dump());
    } else if (keyword == "minItems") {
      if (value.is_array() && value.size() < argument.get<std::size_t>()) report(where, "has too few items");
    } else if (keyword == "uniqueItems") {
      if (value.is_array() && std::set<json>(value.begin(), value.end()).size() != value.size())
        report(where, "has an item twice");
    } else if (keyword == "required") {
      if (!value.is_object()) return;
      for (const json& name : argument)
        if (!value.contains(name.get<std::string>())) report(where, "has no " + name.dump());
    } else if (keyword == "properties") {
      if (!value.is_object()) return;
      for (const auto& [name, inner] : argument.items())
        if (value.contains(name)) check(value[name], inner, where + "/" + name);
    } else if (keyword == "additionalProperties") {
      if (!value.is_object()) return;
      for (const auto& [name, member] : value.items())
        if (!schema.contains("properties") || !schema["properties"].contains(name))
          check(member, argument, where + "/" + name);
    } else if (keyword == "items") {
      if (!value.is_array()) return;
      for (std::size_t i = 0; i < value.size(); ++i) check(value[i], argument, where + "/" + std::to_string(i));
    } else if (keyword == "oneOf") {
      const auto fitting =
          std::count_if(argument.begin(), argument.end(), [&](const json& option) { return matches(value, option); });
      if (fitting != 1) report(where, "fits " + std::to_string(fitting) + " of the alternatives, expected one");
    } else if (keyword == "$ref") {
      check(value, root_.at(json::json_pointer(argument.get<std::string>().substr(1))), where);
    } else {
      report(where, "the schema has a keyword that the checker does not know: " + keyword);
    }
  }

  const json& root_;
};

}  // namespace

json schema(const std::string& name) { return read_json("data/schemas/" + name + ".schema.json"); }

json read_json(const std::string& name) { return json::parse(read_file(source_path(name))); }

void check_schema(const std::string& text, const std::string& name) {
  for (const std::string& violation : violations(json::parse(text), schema(name))) CHECK_MESSAGE(false, violation);
}

std::vector<std::string> violations(const json& document, const json& schema) {
  Checker checker(schema);
  checker.check(document, schema, "");
  return checker.found;
}

}  // namespace pagoda::test

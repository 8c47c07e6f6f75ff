// JSON Schema (draft 2020-12), as far as the schemas in data/schemas use it. An unsupported keyword is itself a
// violation, so that a schema cannot require what is not checked.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace pagoda::test {

// data/schemas/<name>.schema.json
nlohmann::json schema(const std::string& name);

// Where and how `document` violates `schema`; empty when it does not.
std::vector<std::string> violations(const nlohmann::json& document, const nlohmann::json& schema);

// Checks that a JSON text satisfies data/schemas/<name>.schema.json.
void check_schema(const std::string& text, const std::string& name);

// A JSON file of the source tree: read_json("models/manifest.json").
nlohmann::json read_json(const std::string& name);

}  // namespace pagoda::test

// Writes and reads lines.
#include "worker_json.h"

#include <istream>
#include <new>
#include <ostream>

#include "pagoda/base/error.h"

namespace pagoda::tools::bench {
namespace {

std::string line(std::string_view key, std::string_view name, const std::function<void(JsonWriter&)>& add) {
  JsonWriter json(JsonWriter::Style::Plain);
  json.begin_object(JsonWriter::Layout::Compact).member(key, name);
  if (add) add(json);
  json.end_object();
  return std::move(json).line();
}

std::optional<double> number(const JsonValue& value) {
  if (!value.is_number()) return std::nullopt;
  return value.is_integer() ? static_cast<double>(std::get<std::int64_t>(value.content))
                            : std::get<double>(value.content);
}

}  // namespace

std::string request(std::string_view op, const std::function<void(JsonWriter&)>& add) { return line("op", op, add); }
std::string event(std::string_view name, const std::function<void(JsonWriter&)>& add) {
  return line("event", name, add);
}

std::string event(std::string_view name, const std::string& message) {
  return event(name, [&](JsonWriter& json) { json.member("message", message); });
}

int serve(std::istream& requests, std::ostream& answers, const char* no_memory,
          const std::function<std::string(const JsonValue&)>& answer) {
  const auto fail = [&](const char* kind, const char* message) {
    answers << event("error", [&](JsonWriter& json) { json.member("kind", kind).member("message", message); })
            << std::endl;
    return 1;
  };
  try {
    for (std::string line; std::getline(requests, line);) {
      const std::optional<JsonValue> asked = parse_line(line);
      if (!asked) continue;
      if (text(*asked, "op") == "quit") break;
      answers << answer(*asked) << std::endl;
    }
    return 0;
  } catch (const std::bad_alloc&) {
    return fail("out_of_memory", no_memory);
  } catch (const std::exception& error) {
    return fail("failed", error.what());
  }
}

std::optional<JsonValue> parse_line(const std::string& line) {
  try {
    return base::parse_json(line, "a line of a worker", "expected an object").root().value();
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string text(const JsonValue& object, std::string_view key) {
  const JsonValue* value = object.find(key);
  return value && value->is_text() ? std::get<std::string>(value->content) : std::string();
}

std::optional<double> number(const JsonValue& object, std::string_view key) {
  const JsonValue* value = object.find(key);
  return value ? number(*value) : std::nullopt;
}

JsonValue::Array array(const JsonValue& object, std::string_view key) {
  const JsonValue* value = object.find(key);
  return value && value->is_array() ? std::get<JsonValue::Array>(value->content) : JsonValue::Array();
}

std::vector<double> numbers(const JsonValue& object, std::string_view key) {
  std::vector<double> list;
  for (const JsonValue& item : array(object, key))
    if (const auto value = number(item)) list.push_back(*value);
  return list;
}

base::Settings settings(const JsonValue& object, std::string_view key) {
  const base::JsonDocument document("a worker's answer", object);
  return document.root().settings(key);
}

}  // namespace pagoda::tools::bench

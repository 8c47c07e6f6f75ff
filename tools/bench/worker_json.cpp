// Writes and reads lines.
#include "worker_json.h"

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

}  // namespace

std::string request(std::string_view op, const std::function<void(JsonWriter&)>& add) { return line("op", op, add); }
std::string event(std::string_view name, const std::function<void(JsonWriter&)>& add) {
  return line("event", name, add);
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
  if (!value || !value->is_number()) return std::nullopt;
  if (value->is_integer()) return static_cast<double>(std::get<std::int64_t>(value->content));
  return std::get<double>(value->content);
}

std::vector<double> numbers(const JsonValue& object, std::string_view key) {
  std::vector<double> list;
  const JsonValue* value = object.find(key);
  if (!value || !value->is_array()) return list;
  for (const JsonValue& item : std::get<JsonValue::Array>(value->content)) {
    if (item.is_integer()) list.push_back(static_cast<double>(std::get<std::int64_t>(item.content)));
    if (const auto* real = std::get_if<double>(&item.content)) list.push_back(*real);
  }
  return list;
}

base::Settings settings(const JsonValue& object, std::string_view key) {
  const base::JsonDocument document("a worker's answer", object);
  return document.root().settings(key);
}

}  // namespace pagoda::tools::bench

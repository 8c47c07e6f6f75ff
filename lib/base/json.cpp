#include "pagoda/base/json.h"

#include <algorithm>
#include <cmath>

#include "pagoda/base/cat.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/base/what_file.h"

namespace pagoda::base {
namespace {

// Above about 9e15, doubles do not represent every integer.
constexpr double kMaxExact = 9e15;

std::string found(const JsonValue& value) {
  if (value.is_array()) return "an array";
  if (value.is_object()) return "an object";
  constexpr std::size_t kLongest = 60;
  const std::string text = value.dump();
  return text.size() <= kLongest ? text : cat("a text of ", text.size(), " bytes");
}

// Appends the path from `from` to `target`: ".peaks[3].rate".
bool append_path(std::string& path, const JsonValue& from, const JsonValue& target) {
  if (&from == &target) return true;
  const std::size_t length = path.size();
  const auto try_child = [&](const std::string& step, const JsonValue& child) {
    path += step;
    if (append_path(path, child, target)) return true;
    path.resize(length);
    return false;
  };
  if (const auto* array = std::get_if<JsonValue::Array>(&from.content)) {
    for (std::size_t i = 0; i < array->size(); ++i)
      if (try_child(cat("[", i, "]"), (*array)[i])) return true;
  } else if (const auto* object = std::get_if<JsonValue::Object>(&from.content)) {
    for (const JsonMember& member : *object)
      if (try_child("." + member.key, member.value)) return true;
  }
  return false;
}

std::optional<Setting> plain(const JsonValue& value) {
  return std::visit(
      [](const auto& content) -> std::optional<Setting> {
        if constexpr (std::is_constructible_v<Setting, decltype(content)>)
          return content;
        else
          return std::nullopt;
      },
      value.content);
}

template <typename T>
const T& content_of(const JsonField& field, std::string_view expected) {
  if (const T* content = std::get_if<T>(&field.value().content)) return *content;
  field.fail_expected(expected);
}

}  // namespace

void fail(std::string_view subject, const std::string& what) { throw Error(cat(subject, ": ", what)); }

const JsonValue* JsonValue::find(std::string_view key) const {
  const auto* object = std::get_if<Object>(&content);
  if (!object) return nullptr;
  const auto at = std::lower_bound(object->begin(), object->end(), key,
                                   [](const JsonMember& member, std::string_view name) { return member.key < name; });
  return at != object->end() && at->key == key ? &at->value : nullptr;
}

std::string JsonValue::dump() const {
  JsonWriter json(JsonWriter::Style::Plain);
  return std::move(json.value(*this)).line();
}

std::string JsonField::place() const {
  std::string path = document_->subject();
  append_path(path, document_->root().value(), *value_);
  return path;
}

std::size_t JsonField::not_numbers() const { return document_->not_numbers(); }

void JsonField::fail(const std::string& what) const { base::fail(place(), what); }

void JsonField::fail_expected(std::string_view expected) const {
  const bool may_be_nan = value_->is_null() && document_->not_numbers() > 0;
  fail(cat("expected ", expected, ", found ", found(*value_), may_be_nan ? ", as nan and infinities are read" : ""));
}

std::string JsonField::text() const { return content_of<std::string>(*this, "a string"); }

double JsonField::number() const {
  if (const auto* integer = std::get_if<std::int64_t>(&value_->content)) return static_cast<double>(*integer);
  return content_of<double>(*this, "a number");
}

double JsonField::amount() const {
  const double value = number();
  if (value < 0) fail("is negative; expected an amount or null");
  return value;
}

double JsonField::positive() const {
  if (!value_->is_number() || number() <= 0) fail_expected("a number above 0");
  return number();
}

std::int64_t JsonField::integer() const {
  if (const auto* integer = std::get_if<std::int64_t>(&value_->content)) return *integer;
  const auto* value = std::get_if<double>(&value_->content);
  if (!value || std::abs(*value) > kMaxExact || *value != std::floor(*value)) fail_expected("an integer");
  return static_cast<std::int64_t>(*value);
}

bool JsonField::truth() const { return content_of<bool>(*this, "true or false"); }

std::vector<JsonField> JsonField::array() const {
  std::vector<JsonField> fields;
  for (const JsonValue& element : content_of<JsonValue::Array>(*this, "an array"))
    fields.push_back({*document_, element});
  return fields;
}

std::vector<std::string> JsonField::texts() const {
  std::vector<std::string> result;
  for (const JsonField& element : array()) result.push_back(element.text());
  return result;
}

std::vector<std::pair<std::string, JsonField>> JsonField::members() const {
  std::vector<std::pair<std::string, JsonField>> result;
  for (const JsonMember& member : content_of<JsonValue::Object>(*this, "an object"))
    result.emplace_back(member.key, JsonField(*document_, member.value));
  return result;
}

Settings JsonField::settings() const {
  Settings result;
  for (const auto& [name, field] : members()) {
    std::optional<Setting> setting = plain(field.value());
    if (!setting) field.fail_expected("a plain value");
    result[name] = *std::move(setting);
  }
  return result;
}

JsonField JsonField::at(std::string_view key) const {
  if (!value_->is_object()) fail_expected("an object");
  if (const JsonValue* member = value_->find(key)) return {*document_, *member};
  fail(cat("\"", key, "\" is missing"));
}

std::optional<JsonField> JsonField::find(std::string_view key) const {
  if (!value_->is_object()) fail_expected("an object");
  const JsonValue* member = value_->find(key);
  return member && !member->is_null() ? std::optional(JsonField(*document_, *member)) : std::nullopt;
}

std::string JsonField::text(std::string_view key) const {
  const auto field = find(key);
  return field ? field->text() : "";
}

std::optional<double> JsonField::number(std::string_view key) const {
  const auto field = find(key);
  if (!field) return std::nullopt;
  if (!field->value().is_number()) field->fail_expected("a number or null");
  return field->number();
}

std::optional<std::int64_t> JsonField::integer(std::string_view key) const {
  const auto field = find(key);
  return field ? std::optional(field->integer()) : std::nullopt;
}

std::vector<std::string> JsonField::texts(std::string_view key) const {
  const auto field = find(key);
  return field ? field->texts() : std::vector<std::string>();
}

Settings JsonField::settings(std::string_view key) const {
  Settings result;
  if (const auto field = find(key))
    for (const auto& [name, member] : field->members())
      if (const auto setting = plain(member.value())) result[name] = *setting;
  return result;
}

std::vector<JsonField> JsonField::array(std::string_view key) const {
  const auto field = find(key);
  if (!field || !field->value().is_array()) fail(cat("expected an array \"", key, "\""));
  return field->array();
}

std::string JsonDocument::schema() const {
  const JsonValue* schema = root_.find("schema");
  return schema && schema->is_text() ? std::get<std::string>(schema->content) : "";
}

void JsonDocument::fail_schema(std::string_view expected, std::string_view text) const {
  const std::string schema = this->schema(), found = is_document(schema, expected);
  const std::string what =
      found.empty() ? is_what(text.empty() ? what_file(root_.dump()) : what_file(text), Reads::Json) : found;
  fail(subject_,
       cat(what, found.empty() && !root_.find("schema") ? ", without a schema" : "", "; expected ", expected));
}

}  // namespace pagoda::base

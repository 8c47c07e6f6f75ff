// JSON read with checks: a value of an unexpected form throws an Error that names the place, what was expected there
// and what was found.
//
//   const JsonDocument document = parse_json(text, "gpu.json", "expected a device");
//   const JsonField root = document.root();
//   for (const JsonField& peak : root.at("peaks").array())
//     rates.push_back(peak.at("rate").positive());  // gpu.json.peaks[3].rate: expected a number above 0, found "fast"
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "pagoda/base/cat.h"
#include "pagoda/base/settings.h"

#pragma GCC visibility push(default)
namespace pagoda::base {

struct JsonMember;

struct JsonValue {
  using Array = std::vector<JsonValue>;
  using Object = std::vector<JsonMember>;  // sorted; of members with the same key the last is kept
  // Integers that fit int64_t are exact; others are doubles.
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> content;

  bool is_null() const { return is<std::monostate>(); }
  bool is_text() const { return is<std::string>(); }
  bool is_integer() const { return is<std::int64_t>(); }
  bool is_number() const { return is<double>() || is_integer(); }
  bool is_array() const { return is<Array>(); }
  bool is_object() const { return is<Object>(); }

  // The member; null if it is missing or this value is not an object.
  const JsonValue* find(std::string_view key) const;
  // One line without spaces.
  std::string dump() const;

 private:
  template <typename T>
  bool is() const {
    return std::holds_alternative<T>(content);
  }
};

struct JsonMember {
  std::string key;
  JsonValue value;
};

class JsonDocument;

// A value and its place in a document; the document must outlive it.
class JsonField {
 public:
  const JsonValue& value() const { return *value_; }
  std::string place() const;                              // "gpu.json.peaks[3].rate"
  std::size_t not_numbers() const;                        // of the document so far
  [[noreturn]] void fail(const std::string& what) const;  // throws Error: place and what
  // Throws Error: place, what was expected and what was found.
  [[noreturn]] void fail_expected(std::string_view expected) const;

  // The value itself; throws Error if it has a different type.
  std::string text() const;
  double number() const;    // finite
  double amount() const;    // at least 0
  double positive() const;  // above 0
  std::int64_t integer() const;
  bool truth() const;
  std::vector<JsonField> array() const;
  std::vector<std::string> texts() const;
  std::vector<std::pair<std::string, JsonField>> members() const;
  Settings settings() const;  // an object of plain values

  // Members of an object.
  bool has(std::string_view key) const { return value_->find(key) != nullptr; }
  JsonField at(std::string_view key) const;                   // Error if it is missing
  std::optional<JsonField> find(std::string_view key) const;  // empty: missing or null

  // Optional members; a missing or null one gives an empty value, or false.
  std::string text(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;
  std::optional<std::int64_t> integer(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;
  Settings settings(std::string_view key) const;  // ignores members that are arrays or objects
  // A required member.
  std::vector<JsonField> array(std::string_view key) const;

 private:
  friend class JsonDocument;
  JsonField(const JsonDocument& document, const JsonValue& value) : document_(&document), value_(&value) {}

  const JsonDocument* document_;
  const JsonValue* value_;
};

class JsonDocument {
 public:
  JsonDocument(std::string subject, JsonValue root, std::size_t not_numbers = 0)
      : subject_(std::move(subject)), root_(std::move(root)), not_numbers_(not_numbers) {}
  JsonDocument(const JsonDocument&) = delete;  // fields point into it
  JsonDocument& operator=(const JsonDocument&) = delete;

  const std::string& subject() const { return subject_; }
  JsonField root() const { return {*this, root_}; }
  std::string schema() const;  // the member "schema"; empty if it is missing or not a text
  // How many nan and infinities were read as null; in an element of an array, also those before it.
  std::size_t not_numbers() const { return not_numbers_; }
  // Throws Error, which says what the document is in place of `expected`: "is an estimate (pagoda.estimate/1); …".
  // `text`: the whole document, where its elements were read one by one.
  [[noreturn]] void fail_schema(std::string_view expected, std::string_view text = {}) const;

 private:
  std::string subject_;
  JsonValue root_;
  std::size_t not_numbers_;
};

// JSON text of a finite double that keeps its type: 1 becomes "1.0".
std::string json_number(double value);

// Deeper documents are rejected.
inline constexpr std::size_t kMaxJsonDepth = 100;

// Throws Error if the text is not JSON; the message names `subject`, what it is instead or the byte, and `remedy`
// ("expected a device file"). nan and infinities, which programs write, are read as null.
JsonDocument parse_json(std::string_view text, std::string_view subject, std::string_view remedy);

// For large files: calls `each` with every element, and its index, of the outermost array or of the array in member
// `key` of the outermost object; no element outlives its call. Returns the outermost object with that array empty (no
// members for an outermost array). Throws Error as parse_json(), for any other shape, and if `is_required` and the
// array is missing.
JsonDocument parse_json_elements(std::string_view text, std::string_view subject, const char* key,
                                 const std::function<void(const JsonField&, std::size_t)>& each,
                                 bool is_required = true);

}  // namespace pagoda::base
#pragma GCC visibility pop

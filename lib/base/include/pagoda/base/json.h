// JSON read with checks: what has another form than expected is an Error that names the place, what was expected there
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
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "pagoda/base/fail.h"
#include "pagoda/base/settings.h"

#pragma GCC visibility push(default)
namespace pagoda::base {

struct JsonMember;

struct JsonValue {
  using Array = std::vector<JsonValue>;
  using Object = std::vector<JsonMember>;  // sorted; of members with one key the last counts
  // Integers that int64_t holds are exact; others are doubles.
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> content;

  bool is_null() const { return is<std::monostate>(); }
  bool is_text() const { return is<std::string>(); }
  bool is_integer() const { return is<std::int64_t>(); }
  bool is_number() const { return is<double>() || is_integer(); }
  bool is_array() const { return is<Array>(); }
  bool is_object() const { return is<Object>(); }

  // The member; null where it is missing or this value is not an object.
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

// A value and its place in a document, which must outlive it.
class JsonField {
 public:
  const JsonValue& value() const { return *value_; }
  std::string place() const;                              // "gpu.json.peaks[3].rate"
  [[noreturn]] void fail(const std::string& what) const;  // throws Error: place and what
  // The same, and what was found.
  [[noreturn]] void fail_expected(std::string_view expected) const;

  // The value itself; Error where it is of another kind.
  std::string text() const;
  double number() const;    // finite
  double amount() const;    // at least 0
  double positive() const;  // above 0
  std::int64_t integer() const;
  bool truth() const;
  std::vector<JsonField> array() const;
  std::vector<std::string> texts() const;
  std::vector<std::size_t> indices() const;
  std::vector<std::pair<std::string, JsonField>> members() const;
  Setting setting() const;                                         // no array or object
  Settings settings() const;                                       // an object of these
  void only(std::initializer_list<std::string_view> known) const;  // Error for any other member

  // Members of an object.
  bool has(std::string_view key) const { return value_->find(key) != nullptr; }
  JsonField at(std::string_view key) const;                   // Error where it is missing
  std::optional<JsonField> find(std::string_view key) const;  // empty: missing or null

  // Members that may be missing or null: empty, or false.
  std::string text(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;
  std::optional<double> amount(std::string_view key) const;
  std::optional<std::int64_t> integer(std::string_view key) const;
  std::int64_t count(std::string_view key, std::int64_t least = 0) const;  // `least` where it is missing
  bool truth(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;
  Settings settings(std::string_view key) const;  // members that are arrays and objects are another tool's: left out
  std::optional<JsonField> object(std::string_view key) const;
  // A member that must be there.
  std::vector<JsonField> array(std::string_view key) const;

 private:
  friend class JsonDocument;
  JsonField(const JsonDocument& document, const JsonValue& value) : document_(&document), value_(&value) {}

  const JsonDocument* document_;
  const JsonValue* value_;
};

class JsonDocument {
 public:
  JsonDocument(std::string subject, JsonValue root) : subject_(std::move(subject)), root_(std::move(root)) {}
  JsonDocument(const JsonDocument&) = delete;  // fields point into it
  JsonDocument& operator=(const JsonDocument&) = delete;

  const std::string& subject() const { return subject_; }
  JsonField root() const { return {*this, root_}; }
  std::string schema() const;  // the member "schema"; empty where it is missing or not a text

 private:
  std::string subject_;
  JsonValue root_;
};

// Deeper documents are refused.
inline constexpr std::size_t kMaxJsonDepth = 100;

// Throws Error if the text is not JSON; the message names `subject`, the byte and `remedy` ("expected a device file").
JsonDocument parse_json(std::string_view text, std::string_view subject, std::string_view remedy);

// For large files: calls `each` with every element of the outermost array, or of the array that is the member `key` of
// the outermost object, and its index; no element outlives its call. Returns that object with the array empty (for an
// outermost array: no members). Throws Error for another shape, too, and where an array that `is_required` is missing.
JsonDocument parse_json_elements(std::string_view text, std::string_view subject, const char* key,
                                 const std::function<void(const JsonField&, std::size_t)>& each,
                                 bool is_required = true);

}  // namespace pagoda::base
#pragma GCC visibility pop

// Each document's members are listed once, for both writing and reading: a part of a document is a function over an
// archive A, which is a Writer or a Reader.
//
//   template <typename A>
//   void sizes(A& a, typename A::template Ref<Sizes> x) {
//     a("params", x.params);            // written; read where it is there
//     a.maybe("scope", x.scope);        // left out where it is empty
//   }
//
// Members that a reader does not know are collected, not refused: newer files still read, and tools report what was
// left out. Files that a person writes (devices, custom operators, studies) have readers of their own, which refuse
// misspelt members.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "pagoda/base/cat.h"
#include "pagoda/base/json.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/documents/dim_json.h"
#include "pagoda/documents/estimate.h"

#pragma GCC visibility push(default)
namespace pagoda::documents::members {

using base::JsonField;
using base::JsonWriter;
using Layout = JsonWriter::Layout;

// The last value of an enum whose values are spelled by to_string().
template <typename E>
inline constexpr E kLast{};

template <typename E>
std::optional<E> named(std::string_view name) {
  if constexpr (std::is_same_v<E, ElementType>) {
    return element_type(name);
  } else if constexpr (std::is_same_v<E, Precision>) {
    return precision(name);
  } else {
    for (int i = 0; i <= static_cast<int>(kLast<E>); ++i)
      if (to_string(static_cast<E>(i)) == name) return static_cast<E>(i);
    return std::nullopt;
  }
}

template <typename E>
std::string known_names() {
  if constexpr (std::is_same_v<E, Precision>) return precision_names();
  if constexpr (std::is_same_v<E, ElementType>) return "float32, float16, int64 and the other types of ONNX";
  std::string names;
  for (int i = 0; i <= static_cast<int>(kLast<E>); ++i)
    (names += names.empty() ? "" : ", ") += to_string(static_cast<E>(i));
  return names;
}

template <typename T>
inline constexpr bool kIsOptional = false;
template <typename T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <>
inline constexpr bool kIsOptional<Count> = true;

template <typename T>
concept Scalar = std::is_arithmetic_v<T> || std::is_same_v<T, Int> || std::is_enum_v<T> ||
    std::is_same_v<T, std::string> || std::is_same_v<T, Name> || std::is_same_v<T, Dim>;
using Ends = std::array<double, 2>;
template <typename T>
concept Scalars = (Scalar<typename T::value_type> || std::is_same_v<typename T::value_type, Ends>) &&
    !std::is_same_v<T, std::string> && !std::is_same_v<T, Ends>;

// The member that names the counts of an object that are only lower bounds. Writers add it and readers apply it to each
// Count, so that parts of documents need not list it.
inline constexpr const char* kLowerBounds = "lower_bounds";

// Writes members in the order in which they are listed.
class Writer {
 public:
  static constexpr bool kReads = false;
  template <typename T>
  using Ref = const T&;

  explicit Writer(JsonWriter& json) : json_(json) {}
  JsonWriter& json() { return json_; }

  // A member that is always written; null if it is not known.
  template <typename T>
  void operator()(const char* key, const T& value) {
    json_.key(key);
    put(value);
    if constexpr (std::is_same_v<T, Count>) {
      if (value.is_at_least()) bounds_.push_back(key);
    }
  }
  // A member that is left out if its value is empty.
  template <typename T>
  void maybe(const char* key, const T& value) {
    if constexpr (kIsOptional<T>) {
      if (value) (*this)(key, value);
    } else {
      if (!value.empty()) (*this)(key, value);
    }
  }
  // An object with the given layout; `fields` lists its members.
  template <typename Fields>
  void object(const char* key, Layout layout, const Fields& fields) {
    json_.key(key);
    one(layout, [&] { fields(*this); });
  }
  // A text; null if it is empty.
  void text(const char* key, const std::string& value) { json_.member_or_null(key, value); }
  // A count that may be a fraction, as means over runs are: without a decimal point if it is whole and below 2^53.
  void amount(const char* key, const std::optional<double>& value) {
    if (value && *value == std::floor(*value) && std::abs(*value) < 0x1p53)
      (*this)(key, static_cast<std::int64_t>(*value));
    else
      (*this)(key, value);
  }
  // An integer of at least `least`.
  void count(const char* key, std::int64_t value, std::int64_t = 0) { (*this)(key, value); }
  // A number that other members determine: written, not read.
  template <typename T>
  void derived(const char* key, const T& value) {
    (*this)(key, value);
  }
  void settings(const char* key, const base::Settings& values, Layout layout = Layout::Line) {
    json_.key(key).value(values, layout);
  }
  void maybe_settings(const char* key, const base::Settings& values) {
    if (!values.empty()) settings(key, values);
  }
  // Texts, one per line.
  void lines(const char* key, const std::vector<std::string>& values) {
    json_.key(key).begin_array();
    for (const std::string& value : values) json_.value(value);
    json_.end_array();
  }
  // A member that a reader cannot do without: known to exist from here on, or read here.
  void required(const char*) {}
  template <typename T>
  void need(const char* key, const T& value) {
    (*this)(key, value);
  }
  // An array of objects, one per line unless told otherwise.
  template <typename List, typename Fields>
  void list(const char* key, const List& values, const Fields& fields, Layout layout = Layout::Line) {
    json_.key(key).begin_array();
    for (const auto& value : values) one(layout, [&] { fields(*this, value); });
    json_.end_array();
  }
  template <typename List, typename Fields>
  void maybe_list(const char* key, const List& values, const Fields& fields, Layout layout = Layout::Line) {
    if (!values.empty()) list(key, values, fields, layout);
  }
  // An object whose members are named by the map's keys, and described by `fields`.
  template <typename T, typename Fields>
  void map(const char* key, const std::map<std::string, T>& values, const Fields& fields) {
    json_.key(key).begin_object();
    for (const auto& [name, value] : values) {
      json_.key(name);
      one(Layout::Line, [&, &each = value] { fields(*this, each); });
    }
    json_.end_object();
  }
  // A number that is written as null unless it is known.
  void known(const char* key, double value, bool is_known) {
    (*this)(key, is_known ? std::optional(value) : std::nullopt);
  }
  // The entries of a map as members of the current object; several maps can share one object.
  template <typename T>
  void entries(const std::map<std::string, T>& map) {
    for (const auto& [name, value] : map) json_.member(name, value);
  }

 private:
  // An object. Its last member names the counts in it that are only lower bounds, if there are any.
  template <typename Members>
  void one(Layout layout, const Members& members) {
    std::vector<const char*> outer = std::exchange(bounds_, {});
    json_.begin_object(layout);
    members();
    if (!bounds_.empty()) {
      json_.key(kLowerBounds).begin_array(Layout::Line);
      for (const char* const name : bounds_) json_.value(std::string_view(name));
      json_.end_array();
    }
    json_.end_object();
    bounds_ = std::move(outer);
  }
  template <Scalar T>
  void put(const T& value) {
    if constexpr (std::is_enum_v<T>)
      json_.value(to_string(value));
    else
      json_.value(value);
  }
  void put(const Ends& ends) { json_.value(ends); }
  void put(const Count& value) { value ? put(*value) : void(json_.null()); }
  template <typename T>
  void put(const std::optional<T>& value) {
    value ? put(*value) : void(json_.null());
  }
  template <typename List>
  requires Scalars<List> void put(const List& values) {
    json_.begin_array(Layout::Line);
    for (const auto& value : values) put(value);
    json_.end_array();
  }

  JsonWriter& json_;
  std::vector<const char*> bounds_;  // of the current object
};

// Members that no reader consumed, each listed once by its path: "nodes.colour".
struct Unknown {
  std::size_t subject_size;
  std::set<std::string> paths = {};

  void add(const JsonField& field) {
    std::string path;
    bool is_index = false;
    for (const char c : field.place().substr(subject_size + 1)) {
      is_index = (is_index || c == '[') && c != ']';
      if (!is_index && c != ']') path += c;
    }
    paths.insert(path);
  }
};

// Reads the same members, in any order.
class Reader {
 public:
  static constexpr bool kReads = true;
  template <typename T>
  using Ref = T&;

  // Estimates and measurements have no negative numbers; fits and ratios may.
  enum class Numbers : bool { AtLeastZero, Any };

  Reader(const JsonField& object, Unknown& unknown, Numbers numbers = Numbers::AtLeastZero)
      : object_(object), unknown_(unknown), numbers_(numbers) {
    if (!object.value().is_object()) object.fail_expected("an object");
  }

  template <typename T>
  void operator()(const char* key, T& value) {
    const auto found = take(key);
    if (!found) return;
    read(*found, value);
    if constexpr (std::is_same_v<T, Count>) value = value.at_least(is_lower_bound(key));
  }
  template <typename T>
  void maybe(const char* key, T& value) {
    (*this)(key, value);
  }
  template <typename Fields>
  void object(const char* key, Layout, const Fields& fields) {
    const auto found = take(key);
    if (!found) return;
    Reader inner(*found, unknown_, numbers_);
    fields(inner);
    inner.finish();
  }
  void text(const char* key, std::string& value) { (*this)(key, value); }
  template <typename Amount>
  void amount(const char* key, Amount& value) {
    (*this)(key, value);
  }
  void count(const char* key, std::int64_t& value, std::int64_t least = 0) {
    if (!take(key)) return;
    value = object_.integer(key).value_or(least);
    if (value < least) object_.at(key).fail_expected(base::cat("at least ", least));
  }
  template <typename T>
  void derived(const char* key, const T&) {
    take(key);
  }
  void settings(const char* key, base::Settings& values, Layout = Layout::Line) {
    if (take(key)) values = object_.settings(key);
  }
  void maybe_settings(const char* key, base::Settings& values) { settings(key, values); }
  void lines(const char* key, std::vector<std::string>& values) { (*this)(key, values); }
  void required(const char* key) { (void)object_.at(key); }
  template <typename T>
  void need(const char* key, T& value) {
    required(key);
    (*this)(key, value);
  }
  // Calls `read` with a member if it is there, even if it is null. Throws Error if it is missing and needed.
  template <typename Read>
  void with(const char* key, bool is_needed, const Read& read) {
    take(key);
    if (is_needed || object_.has(key)) read(object_.at(key));
  }
  template <typename List, typename Fields>
  void maybe_list(const char* key, List& values, const Fields& fields, Layout = Layout::Line) {
    list(key, values, fields);
  }
  template <typename T, typename Fields>
  void map(const char* key, std::map<std::string, T>& values, const Fields& fields) {
    const auto found = take(key);
    if (!found) return;
    for (const auto& [name, member] : found->members()) {
      Reader inner(member, unknown_, numbers_);
      fields(inner, values[name]);
      inner.finish();
    }
  }
  template <typename List, typename Fields>
  void list(const char* key, List& values, const Fields& fields, Layout = Layout::Line) {
    const auto found = take(key);
    if (!found) return;
    for (const JsonField& element : found->array()) {
      Reader inner(element, unknown_, numbers_);
      fields(inner, values.emplace_back());
      inner.finish();
    }
  }
  void known(const char* key, double& value, bool) { (*this)(key, value); }
  template <typename T>
  void entries(std::map<std::string, T>& map) {
    each_member([&](const std::string& name, const JsonField& field) {
      if (!field.value().is_null()) read(field, map[name]);
    });
  }
  bool has(const char* key) const { return object_.find(key).has_value(); }
  const JsonField& all() const { return object_; }
  // Visits all members, for objects whose member names are data.
  template <typename Member>
  void each_member(const Member& member) {
    for (const auto& [name, value] : object_.members()) {
      keys_.insert(name);
      member(name, value);
    }
  }

  // Records the members that no reader consumed.
  void finish() {
    if (keys_.size() == std::get<base::JsonValue::Object>(object_.value().content).size()) return;
    for (const auto& [name, value] : object_.members())
      if (!keys_.contains(name)) unknown_.add(value);
  }

  void read(const JsonField& field, std::string& value) const { value = field.text(); }
  void read(const JsonField& field, Name& value) const { value = field.text(); }
  void read(const JsonField& field, bool& value) const { value = field.truth(); }
  void read(const JsonField& field, double& value) const {
    value = numbers_ == Numbers::Any ? field.number() : field.amount();
  }
  void read(const JsonField& field, Ends& ends) const {
    const std::vector<JsonField> numbers = field.array();
    if (numbers.size() != 2) field.fail_expected("two numbers");
    for (std::size_t i = 0; i < 2; ++i) read(numbers[i], ends[i]);
  }
  void read(const JsonField& field, std::int64_t& value) const {
    value = field.integer();
    if (value < 0 && numbers_ == Numbers::AtLeastZero) field.fail_expected("an integer of at least 0");
  }
  void read(const JsonField& field, Int& value) const {
    const double number = field.amount();  // beyond 64 bits
    if (field.value().is_integer())
      value = field.integer();
    else if (number < 0x1p126 && number == std::floor(number))
      value = static_cast<Int>(number);
    else
      field.fail_expected("an integer of at least 0");
  }
  template <typename T>
  requires(std::is_same_v<T, std::size_t> || std::is_same_v<T, std::int32_t>) void read(const JsonField& field,
                                                                                        T& value) const {
    const std::int64_t number = field.integer();
    if ((number < 0 && numbers_ == Numbers::AtLeastZero) || !std::in_range<T>(number))
      field.fail_expected("an integer of at least 0");
    value = static_cast<T>(number);
  }
  void read(const JsonField& field, Dim& value) const {
    if (!field.value().is_text()) {
      Int number = 0;
      read(field, number);
      value = number;
    } else if (std::optional<Dim> formula = Dim::parse(field.text())) {
      value = std::move(*formula);
    } else {
      field.fail_expected("an integer or a formula");
    }
  }
  template <typename E>
  requires std::is_enum_v<E>
  void read(const JsonField& field, E& value) const {
    const std::optional<E> found = named<E>(field.text());
    if (!found) field.fail_expected("one of " + known_names<E>());
    value = *found;
  }
  void read(const JsonField& field, Count& value) const {
    Int number = 0;
    if (!field.value().is_null()) read(field, number), value = number;
  }
  template <typename T>
  void read(const JsonField& field, std::optional<T>& value) const {
    if (!field.value().is_null()) read(field, value.emplace());
  }
  template <typename List>
  requires Scalars<List> void read(const JsonField& field, List& values) const {
    for (const JsonField& element : field.array()) read(element, values.emplace_back());
  }

 private:
  std::optional<JsonField> take(const char* key) {
    if (object_.has(key)) keys_.insert(key);
    return object_.find(key);
  }

  bool is_lower_bound(const char* key) {
    if (!bounds_) {
      bounds_.emplace();
      if (const auto found = take(kLowerBounds)) read(*found, *bounds_);
    }
    return std::find(bounds_->begin(), bounds_->end(), key) != bounds_->end();
  }

  const JsonField& object_;
  Unknown& unknown_;
  Numbers numbers_;
  std::set<std::string, std::less<>> keys_;
  std::optional<std::vector<std::string>> bounds_;  // kLowerBounds, once read
};

// An optional part, laid out as a block or on one line.
template <typename A, typename T, typename Fields>
void part(A& a, const char* key, Layout layout, T& value, const Fields& fields) {
  if constexpr (A::kReads) {
    a.has(key) ? void(value.emplace()) : a.derived(key, 0);  // known, though null
  }
  if (value) a.object(key, layout, [&](A& inner) { fields(inner, *value); });
}

// An optional part that is null where it is empty.
template <typename A, typename T, typename Fields>
void nullable(A& a, const char* key, Layout layout, T& value, const Fields& fields) {
  value || A::kReads ? part(a, key, layout, value, fields) : a.derived(key, std::optional<double>());
}

// A whole document: its schema, then its members.
template <typename T, typename Fields>
std::string write(std::string_view schema, const T& document, const Fields& fields,
                  JsonWriter::Style style = JsonWriter::Style::Readable) {
  JsonWriter json(style);
  Writer writer(json);
  json.begin_object().member("schema", schema);
  fields(writer, document);
  json.end_object();
  return std::move(json).text();
}
// Reads the members of a document whose schema was checked. Returns those that `fields` does not know.
template <typename T, typename Fields>
std::vector<std::string> read(const JsonField& root, T& document, const Fields& fields,
                              Reader::Numbers numbers = Reader::Numbers::AtLeastZero) {
  Unknown unknown{root.place().size()};
  Reader reader(root, unknown, numbers);
  reader.derived("schema", 0);
  fields(reader, document);
  reader.finish();
  return {unknown.paths.begin(), unknown.paths.end()};
}

}  // namespace pagoda::documents::members
#pragma GCC visibility pop

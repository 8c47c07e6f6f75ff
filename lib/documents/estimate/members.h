// The members of a document are listed once, for both writing and reading: each part of a document is a function over
// an archive A, which is a Writer or a Reader.
//
//   template <typename A>
//   void sizes(A& a, typename A::template Ref<Sizes> x) {
//     a("params", x.params);            // written; read where it is there
//     a.maybe("scope", x.scope);        // left out where it is empty
//   }
#pragma once

#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "pagoda/base/json.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/documents/dim_json.h"
#include "pagoda/documents/estimate.h"

namespace pagoda::documents::members {

using base::JsonField;
using base::JsonWriter;
using Layout = JsonWriter::Layout;

// Enums are spelled by their to_string(); these are their last values.
constexpr Mark last(Mark) { return Mark::Unmodelled; }
constexpr Fusion last(Fusion) { return Fusion::None; }
constexpr TrafficModel last(TrafficModel) { return TrafficModel::Resident; }
constexpr Convention last(Convention) { return Convention::Pagoda; }
constexpr Bound last(Bound) { return Bound::Unknown; }
constexpr Unit last(Unit) { return Unit::Tensor; }
constexpr Phase last(Phase) { return Phase::Decode; }
constexpr Optimizer last(Optimizer) { return Optimizer::AdamW; }
constexpr Recompute last(Recompute) { return Recompute::Sqrt; }
constexpr SavedKind last(SavedKind) { return SavedKind::Statistic; }
constexpr BudgetKind last(BudgetKind) { return BudgetKind::Seconds; }
constexpr Verdict last(Verdict) { return Verdict::CannotTell; }
constexpr Severity last(Severity) { return Severity::Error; }
constexpr CollectiveKind last(CollectiveKind) { return CollectiveKind::Send; }

template <typename E>
std::optional<E> named(std::string_view name) {
  if constexpr (std::is_same_v<E, ElementType>) {
    return element_type(name);
  } else if constexpr (std::is_same_v<E, Precision>) {
    return precision(name);
  } else {
    for (int i = 0; i <= static_cast<int>(last(E())); ++i)
      if (to_string(static_cast<E>(i)) == name) return static_cast<E>(i);
    return std::nullopt;
  }
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
  }
  // A member that is left out if its value is empty.
  template <typename T>
  void maybe(const char* key, const T& value) {
    if constexpr (kIsOptional<T>) {
      if (value) (*this)(key, *value);
    } else {
      if (!value.empty()) (*this)(key, value);
    }
  }
  // An object with the given layout; `fields` lists its members.
  template <typename Fields>
  void object(const char* key, Layout layout, const Fields& fields) {
    json_.key(key).begin_object(layout);
    fields(*this);
    json_.end_object();
  }
  // An array of objects, one per line.
  template <typename List, typename Fields>
  void list(const char* key, const List& values, const Fields& fields) {
    json_.key(key).begin_array();
    for (const auto& value : values) {
      json_.begin_object(Layout::Line);
      fields(*this, value);
      json_.end_object();
    }
    json_.end_array();
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
  template <Scalar T>
  void put(const T& value) {
    if constexpr (std::is_enum_v<T>)
      json_.value(to_string(value));
    else
      json_.value(value);
  }
  void put(const Count& value) { value ? put(*value) : void(json_.null()); }
  template <typename T>
  void put(const std::optional<T>& value) {
    value ? put(*value) : void(json_.null());
  }
  template <typename List>
  requires Scalar<typename List::value_type> && (!std::is_same_v<List, std::string>) void put(const List& values) {
    json_.begin_array(Layout::Line);
    for (const auto& value : values) put(value);
    json_.end_array();
  }

  JsonWriter& json_;
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

  Reader(const JsonField& object, Unknown& unknown) : object_(object), unknown_(unknown) {
    if (!object.value().is_object()) object.fail_expected("an object");
  }

  template <typename T>
  void operator()(const char* key, T& value) {
    if (const auto found = take(key)) read(*found, value);
  }
  template <typename T>
  void maybe(const char* key, T& value) {
    (*this)(key, value);
  }
  template <typename Fields>
  void object(const char* key, Layout, const Fields& fields) {
    const auto found = take(key);
    if (!found) return;
    Reader inner(*found, unknown_);
    fields(inner);
    inner.finish();
  }
  template <typename List, typename Fields>
  void list(const char* key, List& values, const Fields& fields) {
    const auto found = take(key);
    if (!found) return;
    for (const JsonField& element : found->array()) {
      Reader inner(element, unknown_);
      fields(inner, values.emplace_back());
      inner.finish();
    }
  }
  void known(const char* key, double& value, bool) { (*this)(key, value); }
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
  void read(const JsonField& field, double& value) const { value = field.amount(); }
  void read(const JsonField& field, std::int64_t& value) const { value = field.integer(); }
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
    if (number < 0 || !std::in_range<T>(number)) field.fail_expected("an integer of at least 0");
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
    if (!found) field.fail_expected("one of the names in the schema");
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
  requires Scalar<typename List::value_type> && (!std::is_same_v<List, std::string>) void read(const JsonField& field,
                                                                                               List& values) const {
    for (const JsonField& element : field.array()) read(element, values.emplace_back());
  }

 private:
  std::optional<JsonField> take(const char* key) {
    if (object_.has(key)) keys_.insert(key);
    return object_.find(key);
  }

  const JsonField& object_;
  Unknown& unknown_;
  std::set<std::string, std::less<>> keys_;
};

// An optional part, laid out as a block or on one line.
template <typename A, typename T, typename Fields>
void part(A& a, const char* key, Layout layout, T& value, const Fields& fields) {
  if constexpr (A::kReads) {
    if (a.has(key)) value.emplace();
  }
  if (value) a.object(key, layout, [&](A& inner) { fields(inner, *value); });
}

}  // namespace pagoda::documents::members

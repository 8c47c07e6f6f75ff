// The only user of nlohmann's library: its SAX parser builds our values.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "pagoda/base/cat.h"
#include "pagoda/base/json.h"

namespace pagoda::base {
namespace {

using Each = std::function<void(const JsonField&, std::size_t)>;

// Sorted by key; of equal keys the last one is kept.
void finish(JsonValue::Object& object) {
  std::stable_sort(object.begin(), object.end(),
                   [](const JsonMember& a, const JsonMember& b) { return a.key < b.key; });
  const auto kept = std::unique(object.rbegin(), object.rend(),
                                [](const JsonMember& a, const JsonMember& b) { return a.key == b.key; });
  object.erase(object.begin(), kept.base());
}

// Handles the parser's events. With `each`, the outermost value and its array of elements are not built.
class Builder {
 public:
  Builder(std::string_view subject, std::string_view remedy, const char* key, const Each* each, bool is_required)
      : subject_(subject), remedy_(remedy), key_(key), each_(each), is_required_(is_required) {}

  JsonValue result() && {
    if (!each_) return std::move(root_);
    if (is_required_ && !saw_elements_) fail(subject_, cat("has no array \"", key_, "\""));
    finish(rest_);
    return {std::move(rest_)};
  }

  bool null() { return add({}); }
  bool boolean(bool value) { return add({value}); }
  bool number_integer(std::int64_t value) { return add({value}); }
  bool number_unsigned(std::uint64_t value) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return add({static_cast<double>(value)});
    return add({static_cast<std::int64_t>(value)});
  }
  bool number_float(double value, const std::string&) { return add({value}); }
  bool string(std::string& value) { return add({std::move(value)}); }
  bool binary(nlohmann::json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open({JsonValue::Object()}); }
  bool start_array(std::size_t) { return open({JsonValue::Array()}); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    (open_.empty() ? member_ : open_.back().member) = std::move(name);
    return true;
  }
  bool parse_error(std::size_t byte, const std::string&, const nlohmann::json::exception& error) {
    const bool is_range = dynamic_cast<const nlohmann::json::out_of_range*>(&error) != nullptr;
    fail(subject_, cat(is_range ? "a number is out of range, byte " : "not JSON, byte ", byte, "; ", remedy_));
  }

 private:
  enum class Outer { None, Array, Object };
  struct Open {
    JsonValue value;
    std::string member;  // in an object: the member whose value comes next
  };

  bool open(JsonValue container) {
    if (open_.size() >= kMaxJsonDepth) fail(subject_, cat("nests deeper than ", kMaxJsonDepth));
    if (each_ && outer_ == Outer::None) {
      in_elements_ = saw_elements_ = container.is_array();
      outer_ = container.is_array() ? Outer::Array : Outer::Object;
      return true;
    }
    if (outer_ == Outer::Object && open_.empty() && !in_elements_ && member_ == key_ && container.is_array()) {
      in_elements_ = saw_elements_ = true;
      rest_.push_back({member_, std::move(container)});
      return true;
    }
    open_.push_back({std::move(container), {}});
    return true;
  }

  bool close() {
    if (open_.empty()) {  // the array of elements, or the outermost value
      in_elements_ = false;
      return true;
    }
    JsonValue done = std::move(open_.back().value);
    open_.pop_back();
    if (auto* object = std::get_if<JsonValue::Object>(&done.content)) finish(*object);
    return add(std::move(done));
  }

  bool add(JsonValue value) {
    if (!open_.empty()) {
      Open& around = open_.back();
      if (auto* array = std::get_if<JsonValue::Array>(&around.value.content))
        array->push_back(std::move(value));
      else
        std::get<JsonValue::Object>(around.value.content).push_back({std::move(around.member), std::move(value)});
    } else if (!each_) {
      root_ = std::move(value);
    } else if (in_elements_) {
      const std::string array = outer_ == Outer::Array ? "" : cat(".", key_);
      const JsonDocument element(cat(subject_, array, "[", count_, "]"), std::move(value));
      (*each_)(element.root(), count_++);
    } else if (outer_ == Outer::Object) {
      rest_.push_back({member_, std::move(value)});
    } else {
      fail(subject_, "is a single value; expected an array or an object");
    }
    return true;
  }

  std::string_view subject_, remedy_;
  const char* key_;
  const Each* each_;
  bool is_required_;
  JsonValue root_;
  JsonValue::Object rest_;
  Outer outer_ = Outer::None;
  bool in_elements_ = false, saw_elements_ = false;
  std::string member_;      // of the outermost object
  std::vector<Open> open_;  // containers around the current position, outermost first
  std::size_t count_ = 0;
};

JsonDocument parse(std::string_view text, std::string_view subject, Builder builder) {
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return {std::string(subject), std::move(builder).result()};
}

}  // namespace

JsonDocument parse_json(std::string_view text, std::string_view subject, std::string_view remedy) {
  return parse(text, subject, Builder(subject, remedy, "", nullptr, false));
}

JsonDocument parse_json_elements(std::string_view text, std::string_view subject, const char* key, const Each& each,
                                 bool is_required) {
  return parse(text, subject, Builder(subject, "the file may have been cut off or damaged", key, &each, is_required));
}

std::string json_number(double value) { return nlohmann::json(value).dump(); }

}  // namespace pagoda::base

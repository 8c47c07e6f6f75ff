// A handler for the events of nlohmann's SAX parser that builds one element at a time.
#include "import/event_stream.h"

#include <string>
#include <utility>
#include <vector>

namespace pagoda::measured::import {
namespace {

constexpr std::size_t kMaxDepth = 100;

class ElementBuilder {
 public:
  ElementBuilder(std::string_view subject, const char* key, const std::function<void(base::Json&, std::size_t)>& each)
      : subject_(subject), key_(key), each_(each), rest_(base::Json::object()) {}

  base::Json rest() && {
    if (!saw_elements_) base::fail(subject_, std::string("has no array \"") + key_ + "\"");
    return std::move(rest_);
  }

  // What the parser calls.
  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(base::Json::number_integer_t value) { return add(value); }
  bool number_unsigned(base::Json::number_unsigned_t value) { return add(value); }
  bool number_float(base::Json::number_float_t value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(base::Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(base::Json::object()); }
  bool start_array(std::size_t) { return open(base::Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    if (outer_ == Outer::Object && open_.empty() && !in_elements_)
      member_ = std::move(name);
    else
      keys_.back() = std::move(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const base::Json::exception&) {
    base::fail(subject_, "not JSON, byte " + std::to_string(position) + "; the file may have been cut off or damaged");
  }

 private:
  enum class Outer { None, Array, Object };

  // The outermost value, and the array of elements in it, are not built; all else is.
  bool open(base::Json&& container) {
    if (open_.size() >= kMaxDepth) base::fail(subject_, "nests deeper than " + std::to_string(kMaxDepth));
    if (outer_ == Outer::None) {
      outer_ = container.is_array() ? Outer::Array : Outer::Object;
      in_elements_ = saw_elements_ = container.is_array();
      return true;
    }
    if (outer_ == Outer::Object && open_.empty() && !in_elements_ && member_ == key_ && container.is_array()) {
      in_elements_ = saw_elements_ = true;
      return true;
    }
    open_.push_back(std::move(container));
    keys_.emplace_back();
    return true;
  }

  bool close() {
    if (open_.empty()) {  // the array of elements, or the outermost value
      in_elements_ = false;
      return true;
    }
    base::Json done = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    return add(std::move(done));
  }

  template <typename Value>
  bool add(Value&& value) {
    if (!open_.empty()) {
      if (open_.back().is_array())
        open_.back().emplace_back(std::forward<Value>(value));
      else
        open_.back()[keys_.back()] = std::forward<Value>(value);
    } else if (in_elements_) {
      base::Json element(std::forward<Value>(value));
      each_(element, count_++);
    } else if (outer_ == Outer::Object) {
      rest_[member_] = std::forward<Value>(value);
    } else {
      base::fail(subject_, "is a single value; expected an array or an object");
    }
    return true;
  }

  std::string_view subject_;
  const char* key_;
  const std::function<void(base::Json&, std::size_t)>& each_;
  base::Json rest_;
  Outer outer_ = Outer::None;
  bool in_elements_ = false;
  bool saw_elements_ = false;
  std::string member_;             // of the outermost object
  std::vector<base::Json> open_;   // containers around the place, outermost first
  std::vector<std::string> keys_;  // in each of them, the key whose value comes next
  std::size_t count_ = 0;
};

}  // namespace

base::Json stream_elements(std::string_view text, std::string_view subject, const char* key,
                           const std::function<void(base::Json&, std::size_t)>& each) {
  ElementBuilder builder(subject, key, each);
  try {
    base::Json::sax_parse(text.begin(), text.end(), &builder);
  } catch (const base::Json::exception& error) {  // numbers out of range
    base::fail(subject, std::string("not usable JSON: ") + error.what());
  }
  return std::move(builder).rest();
}

}  // namespace pagoda::measured::import

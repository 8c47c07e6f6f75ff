// The only user of nlohmann's library: its SAX parser builds our values.
#include <algorithm>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "pagoda/base/cat.h"
#include "pagoda/base/json.h"
#include "pagoda/base/what_file.h"

namespace pagoda::base {
namespace {

constexpr std::string_view kWriteAgain = "write or download it again";

using Each = std::function<void(const JsonField&, std::size_t)>;

// The text as the parser gets it. What JSON lacks and programs write nevertheless is mended: nan and infinities are
// null, control characters in strings are spaces, and a backslash that begins no escape, as in paths of Windows, is
// itself.
class Source {
 public:
  explicit Source(std::string_view text) : text_(text) { look(); }

  bool is_at_end() const { return instead_.empty() && at_ >= text_.size(); }
  char front() const {
    if (!instead_.empty()) return instead_.front();
    const char c = text_[at_];
    const bool is_control = static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r';  // these end a cut string
    return is_string_ && is_control ? ' ' : c;
  }
  void pop() {
    if (!instead_.empty()) {
      instead_.remove_prefix(1);
      if (!instead_.empty()) return;
    } else {
      const char c = text_[at_++];
      if (c == '"' && !is_escaped_) is_string_ = !is_string_;
      is_escaped_ = c == '\\' && is_string_ && !is_escaped_;
    }
    look();
  }
  // How many more characters than the text has were read, for the nan so far.
  std::ptrdiff_t shift() const { return shift_ - (instead_.size() == instead_size_ ? last_shift_ : 0); }
  std::size_t not_numbers() const { return not_numbers_; }

 private:
  void put(std::string_view instead, std::size_t replaced) {
    at_ += replaced;
    instead_ = instead;
    instead_size_ = instead.size();
    last_shift_ = static_cast<std::ptrdiff_t>(instead.size()) - static_cast<std::ptrdiff_t>(replaced);
    shift_ += last_shift_;
  }

  static bool is_escape(std::string_view behind) {
    constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
    if (behind.empty() || std::string_view("\"\\/bfnrtu").find(behind.front()) == std::string_view::npos)
      return behind.empty();
    return behind.front() != 'u' ||
           (behind.size() > 4 && behind.substr(1, 4).find_first_not_of(kDigits) == std::string_view::npos);
  }

  void look() {
    if (at_ >= text_.size()) return;
    if (is_string_) {
      if (text_[at_] == '\\' && !is_escaped_ && !is_escape(text_.substr(at_ + 1))) put("\\\\", 1);
      return;
    }
    const char c = text_[at_];
    if (c != 'n' && c != 'N' && c != 'i' && c != 'I' && c != '-' && c != '+') return;
    const std::string_view rest = text_.substr(at_);
    for (const std::string_view name : {"nan", "NaN", "NAN", "-nan", "-NaN", "inf", "-inf", "+inf", "Inf", "-Inf",
                                        "INF", "-INF", "Infinity", "-Infinity"}) {
      constexpr std::string_view kEnds = " \t\r\n,]}";
      if (!rest.starts_with(name)) continue;
      if (rest.size() > name.size() && kEnds.find(rest[name.size()]) == std::string_view::npos) continue;
      put("null", name.size());
      ++not_numbers_;
      return;
    }
  }

  std::string_view text_, instead_;
  std::size_t at_ = 0, not_numbers_ = 0, instead_size_ = 0;
  std::ptrdiff_t shift_ = 0, last_shift_ = 0;
  bool is_string_ = false, is_escaped_ = false;
};

// What nlohmann's parser takes of an iterator; all copies share the source.
class SourceIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  explicit SourceIterator(Source* source) : source_(source) {}
  char operator*() const { return source_->front(); }
  SourceIterator& operator++() {
    source_->pop();
    return *this;
  }
  SourceIterator operator++(int) {
    source_->pop();
    return *this;
  }
  // Against the end, which has no source.
  bool operator==(const SourceIterator& other) const { return is_at_end() == other.is_at_end(); }
  bool operator!=(const SourceIterator& other) const { return !(*this == other); }

 private:
  bool is_at_end() const { return source_ == nullptr || source_->is_at_end(); }
  Source* source_;
};

// "not JSON, byte 40 (line 3, column 7)", with what may be wrong there.
std::string syntax_error(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  if (before.size() == text.size()) return cat("not JSON, byte ", byte, ": it ends there, as a file that was cut off");
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  constexpr std::pair<char, std::string_view> kHints[] = {
      {'\'', ": strings take double quotes"},
      {'/', ": JSON has no comments"},
      {'#', ": JSON has no comments"},
      {']', ": a comma before the end"},
      {'}', ": a comma before the end"},
      {'T', ": JSON's is true"},
      {'F', ": JSON's is false"},
      {'N', ": JSON's is null"},
  };
  const char here = text[before.size()];
  const auto* const hint = std::ranges::find(kHints, here, &std::pair<char, std::string_view>::first);
  const std::size_t last = before.find_last_not_of(" \t\r\n");
  const bool is_hint = hint != std::end(kHints) &&
                       ((here != ']' && here != '}') || (last != std::string_view::npos && before[last] == ','));
  return cat("not JSON, byte ", byte, " (line ", line, ", column ", column, ")", is_hint ? hint->second : "");
}

// Sorted by key; of equal keys the last one is kept.
void finish(JsonValue::Object& object) {
  std::stable_sort(object.begin(), object.end(),
                   [](const JsonMember& a, const JsonMember& b) { return a.key < b.key; });
  const auto kept = std::unique(object.rbegin(), object.rend(),
                                [](const JsonMember& a, const JsonMember& b) { return a.key == b.key; });
  object.erase(object.begin(), kept.base());
}

struct Request {
  std::string_view text, subject, remedy;
  const char* key = "";
  const Each* each = nullptr;
  bool is_required = false;
};

// Handles the parser's events. With `each`, the outermost value and its array of elements are not built.
class Builder {
 public:
  // Without a source, a syntax error only ends the parse. Elements before `first` are not reported.
  explicit Builder(const Request& request, const Source* source = nullptr, std::size_t first = 0)
      : request_(request), source_(source), first_(first) {}

  JsonValue result() && {
    if (!request_.each) return std::move(root_);
    if (request_.is_required && !saw_elements_) fail(request_.subject, cat("has no array \"", request_.key, "\""));
    finish(rest_);
    return {std::move(rest_)};
  }
  std::size_t count() const { return count_; }  // of elements

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
  bool parse_error(std::size_t read, const std::string&, const nlohmann::json::exception& error) {
    if (source_ == nullptr) return false;
    const bool is_range = dynamic_cast<const nlohmann::json::out_of_range*>(&error) != nullptr;
    const auto byte = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(read) - source_->shift());
    if (is_range) fail(request_.subject, cat("a number is out of range, byte ", byte, "; ", request_.remedy));
    const WhatFile file = what_file(request_.text, request_.subject);
    if (fits(file.form, Reads::Json))
      fail(request_.subject, cat(syntax_error(request_.text, byte), "; ", request_.remedy));
    fail(request_.subject,
         cat(is_what(file, Reads::Json), "; ", request_.remedy == kWriteAgain ? "expected JSON" : request_.remedy));
  }

 private:
  enum class Outer { None, Array, Object };
  struct Open {
    JsonValue value;
    std::string member;  // in an object: the member whose value comes next
  };

  bool open(JsonValue container) {
    if (open_.size() >= kMaxJsonDepth) fail(request_.subject, cat("nests deeper than ", kMaxJsonDepth));
    if (request_.each && outer_ == Outer::None) {
      in_elements_ = saw_elements_ = container.is_array();
      outer_ = container.is_array() ? Outer::Array : Outer::Object;
      return true;
    }
    if (outer_ == Outer::Object && open_.empty() && !in_elements_ && member_ == request_.key && container.is_array()) {
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
    } else if (!request_.each) {
      root_ = std::move(value);
    } else if (in_elements_) {
      if (const std::size_t index = count_++; index >= first_) report(std::move(value), index);
    } else if (outer_ == Outer::Object) {
      rest_.push_back({member_, std::move(value)});
    } else {
      fail(request_.subject, "is a single value; expected an array or an object");
    }
    return true;
  }

  void report(JsonValue value, std::size_t index) const {
    const std::string array = outer_ == Outer::Array ? "" : cat(".", request_.key);
    const JsonDocument element(cat(request_.subject, array, "[", index, "]"), std::move(value),
                               source_ == nullptr ? 0 : source_->not_numbers());
    (*request_.each)(element.root(), index);
  }

  const Request& request_;
  const Source* source_;
  std::size_t first_;
  JsonValue root_;
  JsonValue::Object rest_;
  Outer outer_ = Outer::None;
  bool in_elements_ = false, saw_elements_ = false;
  std::string member_;      // of the outermost object
  std::vector<Open> open_;  // containers around the current position, outermost first
  std::size_t count_ = 0;
};

// Most text is JSON, which the parser reads faster without a source. Other text is read again from its beginning: the
// elements before the error are the same.
JsonDocument parse(const Request& request) {
  std::string subject(request.subject);
  std::size_t reported = 0;
  {
    Builder plain(request);
    if (nlohmann::json::sax_parse(request.text.begin(), request.text.end(), &plain))
      return {std::move(subject), std::move(plain).result()};
    reported = plain.count();
  }
  Source source(request.text);
  Builder mended(request, &source, reported);
  nlohmann::json::sax_parse(SourceIterator(&source), SourceIterator(nullptr), &mended);
  return {std::move(subject), std::move(mended).result(), source.not_numbers()};
}

}  // namespace

JsonDocument parse_json(std::string_view text, std::string_view subject, std::string_view remedy) {
  return parse({text, subject, remedy});
}

JsonDocument parse_json_elements(std::string_view text, std::string_view subject, const char* key, const Each& each,
                                 bool is_required) {
  return parse({text, subject, kWriteAgain, key, &each, is_required});
}

std::string json_number(double value) { return nlohmann::json(value).dump(); }

}  // namespace pagoda::base

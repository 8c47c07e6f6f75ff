#include "form.h"

#include <algorithm>
#include <iterator>

#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"

namespace pagoda::documents {

using base::JsonField;

Form::Form(const JsonField& object, std::vector<std::string>& mistakes)
    : object_(object), mistakes_(mistakes), first_(mistakes.size()) {
  if (!object.value().is_object()) object.fail_expected("an object");
}

void Form::attempt(const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& error) {
    mistakes_.push_back(error.what());
  }
}

void Form::member(const char* key, Need need, const std::function<void(const JsonField&)>& read) {
  known_.push_back(key);
  const bool is_there = need == Need::Nullable ? object_.find(key).has_value() : object_.has(key);
  if (is_there || need == Need::Required) attempt([&] { read(object_.at(key)); });
}

void Form::within(const JsonField& object, const Fields& fields) {
  Form form(object, mistakes_);
  form.attempt([&] { fields(form); });
  form.finish();
}

void Form::object(const char* key, Need need, const Fields& fields) {
  member(key, need, [&](const JsonField& field) { within(field, fields); });
}

void Form::list(const char* key, Need need, const Fields& each) {
  member(key, need, [&](const JsonField& field) {
    for (const JsonField& element : field.array()) attempt([&] { within(element, each); });
  });
}

void Form::text(const char* key, std::string& into, Need need) {
  member(key, need, [&](const JsonField& field) { into = field.text(); });
}

void Form::texts(const char* key, std::vector<std::string>& into) {
  member(key, Need::Nullable, [&](const JsonField& field) { into = field.texts(); });
}

void Form::precision(const char* key, Precision& into) {
  member(key, Need::Required, [&](const JsonField& field) {
    const std::optional<Precision> known = pagoda::precision(field.text());
    if (!known) field.fail(base::cat("\"", field.text(), "\" is not a precision; known: ", precision_names()));
    into = *known;
  });
}

void Form::finish() {
  std::vector<std::string> unknown;
  for (const auto& [name, value] : object_.members()) {
    if (name == "comment" || std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    const std::string_view meant = base::nearest(name, known_);
    unknown.push_back(
        base::cat(object_.place(), ": \"", name, "\" is not known here; ",
                  meant.empty() ? "known: " + base::joined(known_) : base::cat("did you mean \"", meant, "\"?")));
  }
  // Before the mistakes within its members, in the order in which the author reads the file.
  mistakes_.insert(std::next(mistakes_.begin(), static_cast<std::ptrdiff_t>(first_)), unknown.begin(), unknown.end());
}

void read_form(const base::JsonDocument& document, const Form::Fields& fields) {
  std::vector<std::string> mistakes;
  Form form(document.root(), mistakes);
  form.member("schema", Form::Need::Optional, [](const JsonField&) {});
  form.attempt([&] { fields(form); });
  form.finish();
  if (mistakes.size() == 1) throw Error(mistakes.front());
  if (!mistakes.empty())
    throw Error(base::cat(document.subject(), ": ", mistakes.size(), " mistakes:\n  ", base::joined(mistakes, "\n  ")));
}

}  // namespace pagoda::documents

// Reads files that a person writes: devices and custom operators. A member that is not known is a mistake, and the
// message names the member that may be meant. Reading goes on after a mistake, so that the author sees all at once.
//
//   read_form(document, [&](Form& form) {
//     form.text("id", spec.id, Form::Need::Required);
//     form.list("peaks", Form::Need::Required, [&](Form& peak) { … });
//   });
//
// Files that programs write are read by archive.h, which reports unknown members and goes on.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/base/json.h"
#include "pagoda/core/precision.h"

namespace pagoda::documents {

// An object of the file. Members named "comment" are for people.
class Form {
 public:
  enum class Need {
    Required,
    Optional,  // but not null
    Nullable,  // null is as good as missing
  };
  using Fields = std::function<void(Form&)>;

  Form(const base::JsonField& object, std::vector<std::string>& mistakes);
  const base::JsonField& field() const { return object_; }

  // Calls `read` with the member if it is there. An Error that it throws is a mistake, as is a missing required member.
  void member(const char* key, Need need, const std::function<void(const base::JsonField&)>& read);
  void object(const char* key, Need need, const Fields& fields);
  void list(const char* key, Need need, const Fields& each);
  void text(const char* key, std::string& into, Need need = Need::Optional);
  void texts(const char* key, std::vector<std::string>& into);
  void precision(const char* key, Precision& into);

  // No mistake so far in this object.
  bool is_sound() const { return mistakes_.size() == first_; }
  void attempt(const std::function<void()>& read);
  // Adds the members that nobody asked for to the mistakes.
  void finish();

 private:
  void within(const base::JsonField& object, const Fields& fields);

  base::JsonField object_;
  std::vector<std::string>& mistakes_;
  std::size_t first_;  // of this object's mistakes
  std::vector<std::string_view> known_;
};

// Reads a whole document. Throws Error with all mistakes; its schema was checked before.
void read_form(const base::JsonDocument& document, const Form::Fields& fields);

}  // namespace pagoda::documents

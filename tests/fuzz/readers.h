// The rows of a program of readers: each takes a text, and is called by its name.
#pragma once

#include <span>
#include <string_view>

#include "fuzz/fuzz.h"

namespace pagoda::fuzz {

inline constexpr const char* kSubject = "fuzz";  // of the text, in errors

struct Target {
  std::string_view name;
  void (*run)(std::string_view text);  // may throw Error
};

// In text_readers.cpp or document_readers.cpp.
std::span<const Target> targets();

}  // namespace pagoda::fuzz

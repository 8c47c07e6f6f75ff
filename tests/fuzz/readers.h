// The table of readers in a fuzz program: each takes a text, and is selected by name.
#pragma once

#include <span>
#include <string_view>

#include "fuzz/fuzz.h"

namespace pagoda::fuzz {

inline constexpr const char* kSubject = "fuzz";  // stands for the file in error messages

struct Target {
  std::string_view name;
  void (*run)(std::string_view text);  // may throw Error
};

// Defined in text_readers.cpp or document_readers.cpp.
std::span<const Target> targets();

}  // namespace pagoda::fuzz

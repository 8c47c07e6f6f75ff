// Files that tests read, searches in text, and expected errors.
#pragma once

#include <string>
#include <string_view>

#include "pagoda/base/error.h"

namespace pagoda::test {

// A path in the source tree: source_path("data/ops.csv"). "" gives the tree itself.
std::string source_path(std::string_view name);

// The whole file; throws Error when it cannot be read.
std::string read_file(const std::string& path);

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The message of the Error that `call` throws; empty when it throws none.
template <typename Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace pagoda::test

// Files compiled into the program by cmake/embed.cmake.
#pragma once

#include <span>
#include <string_view>

#pragma GCC visibility push(default)
namespace pagoda::base {

struct EmbeddedFile {
  std::string_view name;  // without the folder: "h200.json"
  std::string_view text;
};

}  // namespace pagoda::base
#pragma GCC visibility pop

// States which exporter, framework or engine a table applies to.
#pragma once

#include <string_view>

#pragma GCC visibility push(default)
namespace pagoda::inline core {

struct Peculiarity {
  std::string_view of;        // the exporter, framework or engine
  std::string_view versions;  // versions for which it was checked
  std::string_view source;
};

}  // namespace pagoda::inline core
#pragma GCC visibility pop

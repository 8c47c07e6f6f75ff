// The outputs for a small model, which programs ask for that embed the library.
#pragma once

#include <span>
#include <string>

namespace pagoda::test {

struct Output {
  const char* name;
  std::string (*make)();
};
std::span<const Output> outputs();

}  // namespace pagoda::test

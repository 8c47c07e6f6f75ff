// Every text reader: whatever the bytes are, the outcome is a value or an Error, and a value that is written reads
// back. The program's name, such as fuzz_formula, selects the reader.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "fuzz/readers.h"
#include "pagoda/base/error.h"

namespace {

const pagoda::fuzz::Target* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char*** arguments) {
  const std::string name = std::filesystem::path((*arguments)[0]).filename().string();
  for (const pagoda::fuzz::Target& target : pagoda::fuzz::targets())
    if (name == "fuzz_" + std::string(target.name)) chosen = &target;
  pagoda::fuzz::require(chosen != nullptr, name + " is no target; call one such as fuzz_formula");
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pagoda::fuzz::timed([&] {
    try {
      chosen->run({reinterpret_cast<const char*>(data), size});
    } catch (const pagoda::Error&) {
    }
  });
  return 0;
}

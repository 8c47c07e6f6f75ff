// Fuzzes everything from bytes to an analysis: whatever the bytes are, the outcome is an Analysis or an Error.
#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/fuzz.h"
#include "pagoda/base/error.h"
#include "pagoda/core/analyze.h"
#include "pagoda/core/model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pagoda::fuzz::timed([&] {
    try {
      (void)pagoda::analyze(pagoda::parse_model({reinterpret_cast<const std::byte*>(data), size}));
    } catch (const pagoda::Error&) {
    }
  });
  return 0;
}

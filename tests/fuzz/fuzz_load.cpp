// Fuzzes the loader: whatever the bytes are, the outcome is a model or an Error, and the
// skeleton of a model loads as the same model.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "fuzz/fuzz.h"
#include "onnx/sample_models.h"
#include "pagoda/base/error.h"
#include "pagoda/core/model.h"

namespace {

std::optional<pagoda::Model> load(std::span<const std::byte> bytes, std::string& error) {
  try {
    return pagoda::parse_model(bytes);
  } catch (const pagoda::Error& thrown) {
    error = thrown.what();
    return std::nullopt;
  }
}

void check(std::span<const std::byte> bytes) {
  using pagoda::fuzz::require;
  std::string error;
  const std::optional<pagoda::Model> model = load(bytes, error);
  if (!model) {
    require(!error.empty() && error.find('\n') == std::string::npos, "an error is one line");
    return;
  }
  const std::string skeleton = pagoda::skeleton(bytes);
  const std::optional<pagoda::Model> again = load(pagoda::test::as_bytes(skeleton), error);
  require(again.has_value(), "the skeleton of a model does not load: " + error);
  require(pagoda::test::describe(*model) == pagoda::test::describe(*again), "a skeleton differs from its model");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pagoda::fuzz::timed([&] { check({reinterpret_cast<const std::byte*>(data), size}); });
  return 0;
}

// Names a file that is not an ONNX model, for users who pass the wrong one.
#pragma once

#include <string>
#include <string_view>

#include "onnx/wire.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "pagoda/base/what_file.h"

namespace pagoda::inline core::wire {

// Runs `use` on a file that begins with `bytes`; prefixes errors with their subject (the path, or "the model" if it is
// empty). For a file of another kind, the error names the kind instead.
template <typename Use>
auto about(const std::string& path, std::string_view bytes, Use use) {
  const std::string subject = path.empty() ? "the model" : path;
  const auto expect_model = [&] { base::expect_file(bytes, subject, base::Reads::Model, "an ONNX model"); };
  try {
    return use();
  } catch (const Malformed& error) {
    expect_model();
    base::fail(subject, cat(error.what(), "; the file is damaged or no ONNX model, export or download it again"));
  } catch (const Error& error) {
    expect_model();
    base::fail(subject, error.what());
  }
}

}  // namespace pagoda::inline core::wire

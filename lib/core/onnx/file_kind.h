// Identifies a file that is not an ONNX model, for users who pass the wrong one.
#pragma once

#include <string>
#include <string_view>

#include "onnx/wire.h"
#include "pagoda/base/error.h"

namespace pagoda::inline core::wire {

// "; it looks like a PNG image", with a remedy if there is one. Empty when the content is not recognised.
std::string describe_kind(std::string_view bytes);

// Runs `use` on a file that begins with `bytes`; prefixes errors with their subject (the path, or "the model" if it is
// empty), and adds to errors about malformed protobuf what the file looks like.
template <typename Use>
auto about(const std::string& path, std::string_view bytes, Use use) {
  const std::string subject = path.empty() ? "the model" : path;
  try {
    return use();
  } catch (const Malformed& error) {
    const std::string kind = describe_kind(bytes);
    throw Error(subject + ": " + error.what() +
                (kind.empty() ? "; the file is damaged or no ONNX model, export or download it again" : kind));
  } catch (const Error& error) {
    throw Error(subject + ": " + error.what());
  }
}

}  // namespace pagoda::inline core::wire

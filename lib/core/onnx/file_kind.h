// What a file is that is no ONNX model: people pass the wrong one.
#pragma once

#include <string>
#include <string_view>

#include "onnx/wire.h"
#include "pagoda/base/error.h"

namespace pagoda::inline core::wire {

// "; it looks like a PNG image" and, where there is one, the remedy. Empty when the content looks like nothing known.
std::string describe_kind(std::string_view bytes);

// Runs `use` on a file that begins with `bytes`; errors get their subject (the path, or "the model" where it is empty),
// and those about malformed protobuf say what the file looks like.
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

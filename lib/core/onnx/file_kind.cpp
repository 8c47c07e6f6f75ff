// Recognises common files by their first bytes.
#include "onnx/file_kind.h"

#include <algorithm>

namespace pagoda::inline core::wire {
namespace {

using namespace std::string_view_literals;

struct Format {
  std::size_t at;
  std::string_view magic;
  std::string_view name;
};

// clang-format off
constexpr Format kFileFormats[] = {
    // at  first bytes                          name and remedy
    {0, "version https://git-lfs"sv,       "a Git LFS pointer: run 'git lfs pull' to fetch the file"},
    {0, "\x89PNG\r\n"sv,                   "a PNG image"},
    {0, "\xff\xd8\xff"sv,                  "a JPEG image"},
    {0, "PK\x03\x04"sv,                    "a ZIP archive, as PyTorch checkpoints are: unpack it, or export the model to ONNX"},
    {0, "\x1f\x8b"sv,                      "a gzip archive: unpack it first"},
    {0, "BZh"sv,                           "a bzip2 archive: unpack it first"},
    {0, "\xfd" "7zXZ"sv,                   "an xz archive: unpack it first"},
    {0, "\x28\xb5\x2f\xfd"sv,              "a zstd archive: unpack it first"},
    {257, "ustar"sv,                       "a tar archive: unpack it first"},
    {0, "\x89HDF\r\n"sv,                   "an HDF5 file, as Keras writes: export the model to ONNX"},
    {4, "TFL3"sv,                          "a TensorFlow Lite model: convert it to ONNX"},
    {4, "ORTM"sv,                          "a model in ONNX Runtime's ORT format: use the .onnx file it was made from"},
    {5, "\0\0\0{\""sv,                     "weights in the safetensors format, without a graph: export their model to ONNX"},
    {0, "GGUF"sv,                          "a GGUF model: export the original to ONNX"},
    {0, "\x80\x02"sv,                      "a Python pickle, as PyTorch checkpoints are: export the model to ONNX"},
    {0, "\x80\x04"sv,                      "a Python pickle: export the model to ONNX"},
    {0, "\x93NUMPY"sv,                     "a NumPy array"},
    {0, "\x7f" "ELF"sv,                    "a program"},
    {0, "%PDF"sv,                          "a PDF document"},
};
// clang-format on

bool is_text(std::string_view head) {
  return std::all_of(head.begin(), head.end(), [](char character) {
    const auto c = static_cast<unsigned char>(character);
    return c >= 0x20 ? c != 0x7f : c == '\n' || c == '\r' || c == '\t';
  });
}

}  // namespace

std::string describe_kind(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, 512);
  for (const Format& kind : kFileFormats)
    if (head.size() > kind.at && head.substr(kind.at).starts_with(kind.magic))
      return "; it looks like " + std::string(kind.name);
  if (std::all_of(head.begin(), head.end(), [](char c) { return c == 0; }))
    return "; it begins with zeros, as a download cut short may";
  if (is_text(head)) return "; it looks like text";
  return {};
}

}  // namespace pagoda::inline core::wire

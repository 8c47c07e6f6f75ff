// Reading ONNX files without their weights.
//
// The file is mapped and its messages are parsed; the bytes of weights are skipped without touching their pages, so a
// model of any size loads in milliseconds and a few megabytes. Its skeleton is the same ModelProto without parameters:
// tensors become external-data references that keep their offset and length, numbers and words in attributes become 0
// and empty. An analysis of both gives the same numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pagoda/core/graph.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

// Largest tensors that can keep their data in a skeleton, if shape arithmetic uses their values.
inline constexpr std::size_t kInlineIntegerElements = 1024;  // int64, int32, bool and other integers
inline constexpr std::size_t kInlineFloatElements = 16;      // scales, epsilons, scalar bounds

struct SkeletonOptions {
  std::string weights_location = {};  // external file name written for dropped tensors; empty: "<in the model>"
  bool keep_stack_traces = false;     // keep metadata entries whose key contains "stack_trace"
  bool anonymous = false;             // rename graphs, nodes, values and files to n1, n2 …, and drop modules
  std::string directory =
      {};  // where to find external data, whose small tensors move into the skeleton; empty: nowhere
};

// What a skeleton kept of a model, and what it left out, by kind.
struct SkeletonReport {
  struct Row {
    std::string what;  // "sizes and arguments: Reshape"
    std::uint64_t count = 0, bytes = 0;
    std::vector<std::string> names;  // of tensors, and of operators with their attributes; empty for some kinds
  };
  std::vector<Row> kept, removed;
};

// Loads the model at `path`. Throws Error when it is unusable, with the byte offset for malformed protobuf. External
// data files are opened only for small integer tensors; a missing one is recorded in Tensor::unread.
Model load_model(const std::string& path);

// The same from memory. `directory`: where to find external data; empty: nowhere.
Model parse_model(std::span<const std::byte> bytes, const std::string& path = "", const std::string& directory = "");

// A part of a file in its own piece of memory.
struct FileSlice {
  std::uint64_t offset = 0;  // in the file
  std::string_view bytes;
};

// The same from slices, in order of offset, of a file of `file_bytes`. The gaps between slices are never read: they may
// hold only data of large tensors, and begin and end where such data do.
Model parse_model(std::span<const FileSlice> slices, std::uint64_t file_bytes, const std::string& path = "",
                  const std::string& directory = "");

// Fills `bytes` from the file, starting at `offset`; the range lies within the file. Throws Error when it cannot.
using ReadBytes = std::function<void(std::uint64_t offset, std::span<char> bytes)>;

// The same for a file that is read in pieces, such as one in a browser: a few kilobytes per large tensor.
Model parse_model(const ReadBytes& read, std::uint64_t file_bytes, const std::string& path = "",
                  const std::string& directory = "");

// The serialized ModelProto without parameters. Documentation, metadata except the nodes' modules, training information
// and fields unknown to this version of ONNX are left out, too.
std::string skeleton(std::span<const std::byte> bytes, const SkeletonOptions& options = {});

// Writes the skeleton of the model at `model_path` to `output_path`, whole or not at all. `options.directory` is the
// model's own when empty. Throws Error when the model is unusable, the output cannot be written, or both are the same
// file.
SkeletonReport write_skeleton(const std::string& model_path, const std::string& output_path,
                              const SkeletonOptions& options = {});

// Writes the model at `model_path`, or the original model of a skeleton there, with random weights that let it run; the
// same seed gives the same weights. Weights go into `output_path`, or beside it into `output_path`.data when the model
// would exceed protobuf's 2 GB. Everything else is as in the skeleton.
void write_filled(const std::string& model_path, const std::string& output_path, std::uint64_t seed,
                  const SkeletonOptions& options = {});

// A file mapped read-only for the lifetime of the object. Throws Error unless it is a readable regular file.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  // Releases the memory of the pages within [begin, end); a later access reads them again.
  void release(std::size_t begin, std::size_t end) const;

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace pagoda::inline core
#pragma GCC visibility pop

// Output files that appear whole or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/external_data.h"
#include "onnx/rewrite.h"
#include "pagoda/base/open_file.h"
#include "pagoda/core/model.h"

namespace pagoda::inline core::wire {

// A file written under a temporary name beside `path` and renamed at commit(); without commit() nothing is left behind.
class OutputFile {
 public:
  // Throws Error when `path` cannot be a regular file, or is the file `input`.
  OutputFile(std::string path, const std::string& input);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(std::string_view bytes);
  Write writer() {
    return [this](std::string_view bytes) { write(bytes); };
  }
  std::uint64_t size() const { return size_; }
  void commit();

 private:
  void flush();
  [[noreturn]] void fail() const;

  std::string path_, temporary_, buffer_;
  std::uint64_t size_ = 0;
  base::OpenFile file_;
};

// Where to find the external data of the model at `path`: in options.directory, else in its own folders.
std::vector<std::string> data_folders(const std::string& path, const SkeletonOptions& options);

// A callback that releases the pages of a file that were read.
File::Release release_of(const MappedFile& file);
// Writes the file with the edits applied, and commits the output.
void write_edited(const MappedFile& file, const std::vector<Edit>& edits, OutputFile& output);

}  // namespace pagoda::inline core::wire

// Writing output files.
#include "onnx/write.h"

#include <cerrno>
#include <utility>
#include <vector>

namespace pagoda::inline core {
namespace wire {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

}  // namespace

OutputFile::OutputFile(std::string path, const std::string& input) : path_(std::move(path)) {
  if (const auto there = base::file_state(path_)) {
    if (there->kind != base::FileKind::Regular)
      throw Error(path_ + ": is a folder, pipe or device, expected the name of a file to write");
    if (const auto read = base::file_state(input); read && read->is_same_file(*there))
      throw Error(path_ + ": is the input itself, expected another name for the output");
  }
  // Creates the file without a name if the file system supports it, so that nothing is left when the process is killed.
  file_ = base::OpenFile::nameless(base::folder_of(path_));
  if (file_) return;
  temporary_ = base::with_free_name(path_, [this](const std::string& name) {
    file_ = base::OpenFile::created(name);
    return static_cast<bool>(file_);
  });
  if (temporary_.empty()) fail();
}

OutputFile::~OutputFile() {
  if (!file_) return;
  file_.close();
  if (!temporary_.empty()) base::remove_file(temporary_);
}

void OutputFile::fail() const {
  throw Error(path_ + ": cannot be written: " + base::error_text() + "; check the folder and its free space");
}

void OutputFile::write(std::string_view bytes) {
  size_ += bytes.size();
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kBufferBytes - buffer_.size());
    buffer_ += part;
    bytes.remove_prefix(part.size());
    if (buffer_.size() == kBufferBytes) flush();
  }
}

void OutputFile::flush() {
  if (!file_.write(buffer_)) fail();
  buffer_.clear();
}

void OutputFile::commit() {
  flush();
  if (temporary_.empty())
    temporary_ = base::with_free_name(path_, [this](const std::string& name) { return file_.give_name(name); });
  if (temporary_.empty()) fail();
  // Some file systems report a full disk only when the file is closed.
  if (file_.close() && base::move_file(temporary_, path_)) return;
  const int error = errno;
  base::remove_file(temporary_);
  errno = error;
  fail();
}

File::Release release_of(const MappedFile& file) {
  return [&](Range read) { file.release(read.begin, read.end); };
}

void write_edited(const MappedFile& file, const std::vector<Edit>& edits, OutputFile& output) {
  write_rewritten(file.bytes(), edits, output.writer(), release_of(file));
  output.commit();
}

std::vector<std::string> data_folders(const std::string& path, const SkeletonOptions& options) {
  if (!options.directory.empty()) return {options.directory};
  return path.empty() ? std::vector<std::string>() : folders_of(path);
}

}  // namespace wire
}  // namespace pagoda::inline core

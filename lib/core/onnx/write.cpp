// Writing skeletons and other output files.
#include "onnx/write.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>
#include <vector>

#include "onnx/file_kind.h"
#include "onnx/skeleton.h"
#include "pagoda/core/model.h"

namespace pagoda::inline core {
namespace wire {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;

bool same_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

}  // namespace

OutputFile::OutputFile(std::string path, const std::string& input) : path_(std::move(path)) {
  struct stat there {
  }, read{};
  if (::stat(path_.c_str(), &there) == 0) {
    if (!S_ISREG(there.st_mode))
      throw Error(path_ + ": is a folder, pipe or device, expected the name of a file to write");
    if (::stat(input.c_str(), &read) == 0 && same_file(there, read))
      throw Error(path_ + ": is the input itself, expected another name for the output");
  }
  // Creates the file without a name if the file system supports it, so that nothing is left when the process is killed.
  // It gets its name through /proc.
  const std::size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path_.substr(0, slash);
  if (::access("/proc/self/fd", X_OK) == 0) file_ = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (file_ >= 0) return;
  with_free_name([this](const char* name) {
    file_ = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return file_ >= 0;
  });
}

template <typename Make>
void OutputFile::with_free_name(const Make& make) {
  for (int attempt = 0;; ++attempt) {
    temporary_ = path_ + ".part" + std::to_string(::getpid()) + (attempt == 0 ? "" : "-" + std::to_string(attempt));
    if (make(temporary_.c_str())) return;
    if (errno != EEXIST) fail();
  }
}

OutputFile::~OutputFile() {
  if (file_ < 0) return;
  ::close(file_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::fail() const {
  throw Error(path_ + ": cannot be written: " + std::generic_category().message(errno) +
              "; check the folder and its free space");
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
  for (std::size_t done = 0; done < buffer_.size();) {
    const ssize_t written = ::write(file_, buffer_.data() + done, buffer_.size() - done);
    if (written < 0 && errno != EINTR) fail();
    if (written > 0) done += static_cast<std::size_t>(written);
  }
  buffer_.clear();
}

void OutputFile::commit() {
  flush();
  if (temporary_.empty()) {
    const std::string nameless = "/proc/self/fd/" + std::to_string(file_);
    with_free_name(
        [&](const char* name) { return ::linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0; });
  }
  const int file = std::exchange(file_, -1);
  // Some file systems report a full disk only here.
  const bool closed = ::close(file) == 0;
  if (closed && std::rename(temporary_.c_str(), path_.c_str()) == 0) return;
  const int error = errno;
  ::unlink(temporary_.c_str());
  errno = error;
  fail();
}

}  // namespace wire

void write_skeleton(const std::string& model_path, const std::string& output_path, const SkeletonOptions& options) {
  const MappedFile file(model_path);
  // Loaded first: a skeleton is only written of a valid model.
  (void)load_model(model_path);
  const wire::ExternalData external(wire::data_folders(model_path, options));
  wire::RewritePolicy policy = wire::skeleton_policy(options, external);
  policy.release = [&](wire::Range read) { file.release(read.begin, read.end); };
  const std::vector<wire::Edit> edits =
      wire::about(model_path, wire::as_text(file.bytes()), [&] { return wire::plan_rewrite(file.bytes(), policy); });
  wire::OutputFile output(output_path, model_path);
  wire::write_rewritten(file.bytes(), edits,
                        {.write = [&](std::string_view text) { output.write(text); }, .release = policy.release});
  output.commit();
}

}  // namespace pagoda::inline core

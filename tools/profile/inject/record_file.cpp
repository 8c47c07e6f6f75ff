// Writes only whole lines, so a reader never sees a partial line unless the machine crashes.
#include "record_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>

#include "pagoda/base/cat.h"
#include "pagoda/base/record_line.h"

namespace pagoda::tools::profile {
namespace {

using base::escaped;

constexpr std::size_t kBufferBytes = 1U << 16;

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  while (!text.empty() && text.back() == '\0') text.pop_back();
  for (char& c : text)
    if (c == '\0') c = ' ';
  return text;
}

}  // namespace

// exec keeps the process id: each program that the process runs gets a file of its own.
void RecordFile::open() {
  for (int i = 0; i < 1000 && descriptor_ < 0; ++i) {
    const std::string path = cat(folder_, "/", getpid(), ".", i, ".record");
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
    if (descriptor_ < 0 && errno != EEXIST) break;
  }
  failed_ = descriptor_ < 0;
  buffer_.insert(0, cat("pagoda.record\t1\nprocess\t", getpid(), "\t", escaped(command_line()), "\n"));
}

void RecordFile::line(const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) buffer_ += '\t';
    buffer_ += escaped(words[i]);
  }
  buffer_ += '\n';
  if (buffer_.size() >= kBufferBytes) flush();
}

void RecordFile::flush() {
  if (buffer_.empty() || failed_) return;
  if (descriptor_ < 0) open();
  const char* at = buffer_.data();
  std::size_t left = failed_ ? 0 : buffer_.size();
  while (left > 0) {
    const ssize_t written = ::write(descriptor_, at, left);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    at += written;
    left -= static_cast<std::size_t>(written);
  }
  failed_ = failed_ || left > 0;
  buffer_.clear();
}

void RecordFile::forget() {
  buffer_.clear();
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  failed_ = false;
}

}  // namespace pagoda::tools::profile

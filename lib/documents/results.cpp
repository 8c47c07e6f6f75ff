// Result files: appended atomically, read despite torn lines, merged by key.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "pagoda/base/files.h"
#include "pagoda/base/statistics.h"
#include "pagoda/documents/result.h"

namespace pagoda::documents {
namespace {

class File {
 public:
  File(const std::string& path, int flags) : path_(path), fd_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (fd_ < 0) fail("opened");
  }
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int fd() const { return fd_; }
  [[noreturn]] void fail(const char* what) const {
    throw Error(path_ + ": cannot be " + what + ": " + std::strerror(errno));
  }

 private:
  std::string path_;
  int fd_;
};

// Whether the file ends in a newline, or is empty.
bool ends_in_line(const File& file) {
  struct stat info {};
  if (::fstat(file.fd(), &info) != 0) file.fail("read");
  if (info.st_size == 0) return true;
  char last = 0;
  if (::pread(file.fd(), &last, 1, info.st_size - 1) != 1) file.fail("read");
  return last == '\n';
}

void merge(ResultSet& set, std::map<std::string, std::size_t>& index, Result result) {
  const auto [it, is_new] = index.try_emplace(result.key, set.results.size());
  if (is_new) {
    set.results.push_back(std::move(result));
  } else {
    set.results[it->second] = std::move(result);
    ++set.duplicates;
  }
}

void add_lines(ResultSet& set, std::map<std::string, std::size_t>& index, std::string_view text,
               std::string_view subject) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    // A line without its end is torn even if it happens to parse: some of its bytes may be missing.
    if (end == std::string_view::npos) {
      ++set.torn;
      return;
    }
    text.remove_prefix(end + 1);
    if (line.find_first_not_of(" \r\t") == std::string_view::npos) continue;
    try {
      merge(set, index, parse_result(line, subject));
    } catch (const Error&) {
      ++set.torn;
    }
  }
}

}  // namespace

void append_result(const std::string& path, const Result& result) {
  const File file(path, O_RDWR | O_APPEND | O_CREAT);
  while (::flock(file.fd(), LOCK_EX) != 0)
    if (errno != EINTR) file.fail("locked");
  const std::string line = (ends_in_line(file) ? "" : "\n") + write_result(result) + "\n";
  // A short write to a regular file means that the disk is full; readers treat the partial line as torn.
  const ssize_t written = ::write(file.fd(), line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size())) file.fail("written whole");
  if (::fsync(file.fd()) != 0 && errno != EINVAL) file.fail("written to the disk");
}

ResultSet parse_results(std::string_view jsonl, std::string_view subject) {
  ResultSet set;
  std::map<std::string, std::size_t> index;
  add_lines(set, index, jsonl, subject);
  return set;
}

ResultSet load_results(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<fs::path> files;
  if (fs::is_directory(path, error)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(path))
      if (entry.path().extension() == ".jsonl" && entry.is_regular_file()) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
  } else {
    files.emplace_back(path);
  }
  ResultSet set;
  std::map<std::string, std::size_t> index;
  for (const fs::path& name : files) {
    const std::string text = base::read_file(name.string(), "results.jsonl of pagoda-bench, or its folder");
    add_lines(set, index, text, name.string());
  }
  return set;
}

}  // namespace pagoda::documents

// External tensor data: opens files with care, since a model may name any path.
#include "onnx/external_data.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <system_error>

#include "onnx/skeleton.h"
#include "onnx/wire.h"

namespace pagoda::inline core::wire {
namespace {

std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real ? std::string(real.get()) : std::string();
}

std::string folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string reason(int error) { return std::generic_category().message(error); }

}  // namespace

std::vector<std::string> folders_of(const std::string& path) {
  const std::string real = resolved(path);
  return {folder(path), real.empty() ? std::string() : folder(real)};
}

ExternalData::ExternalData(const std::vector<std::string>& folders) {
  for (const std::string& name : folders) {
    std::string real = name.empty() ? std::string() : resolved(name);
    if (real.empty()) continue;
    if (real.back() != '/') real += '/';
    if (std::find(folders_.begin(), folders_.end(), real) == folders_.end()) folders_.push_back(std::move(real));
  }
}

ExternalData::~ExternalData() {
  if (file_ >= 0) ::close(file_);
}

const std::string& ExternalData::open(const std::string& location) const {
  if (location == location_ && (file_ >= 0 || !problem_.empty())) return problem_;
  if (file_ >= 0) ::close(file_);
  file_ = -1;
  location_ = location;
  const std::string subject = "its external file " + quoted_name(location);
  if (location == kInModel) return problem_ = "its data lie in the model that this skeleton was taken from";
  if (folders_.empty()) return problem_ = "its data lie in an external file and the model's folder is not known";
  if (location.empty()) return problem_ = "its external data name no file";
  if (location.front() == '/' || location.find('\0') != std::string::npos)
    return problem_ = subject + " is not a path relative to the model's folder";
  problem_ = subject + " cannot be opened: " + reason(ENOENT);
  for (const std::string& root : folders_) {
    const std::string path = resolved(root + location);
    if (path.empty()) {
      if (errno != ENOENT) problem_ = subject + " cannot be opened: " + reason(errno);
      continue;
    }
    if (std::none_of(folders_.begin(), folders_.end(),
                     [&](const std::string& allowed) { return path.starts_with(allowed); })) {
      problem_ = subject + " lies outside the model's folder";
      continue;
    }
    // Checked before opening, since opening a device can have side effects, and after, since the file may have been
    // replaced. O_NONBLOCK: do not wait for the writer of a pipe.
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode))
      file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
    else
      errno = 0;
    if (file_ >= 0 && ::fstat(file_, &status) == 0 && S_ISREG(status.st_mode)) {
      problem_.clear();
      return problem_;
    }
    problem_ =
        file_ < 0 && errno != 0 ? subject + " cannot be opened: " + reason(errno) : subject + " is not a regular file";
    if (file_ >= 0) ::close(file_);
    file_ = -1;
  }
  return problem_;
}

ExternalData::Bytes ExternalData::read(const Extent& extent, std::uint64_t bytes) const {
  if (const std::string& problem = open(extent.location); !problem.empty()) return {{}, problem};
  if (extent.bytes != 0 && extent.bytes != bytes)
    return {{},
            "its external data are said to have " + std::to_string(extent.bytes) + " bytes, its dims need " +
                std::to_string(bytes)};
  Bytes result{std::string(static_cast<std::size_t>(bytes), '\0'), {}};
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t at = extent.offset + done;
    const ssize_t got =
        at > LLONG_MAX ? 0 : ::pread(file_, result.bytes.data() + done, bytes - done, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      return {{},
              "its external file " + quoted_name(extent.location) +
                  (got < 0 ? " cannot be read: " + reason(errno) : " ends before the data")};
    done += static_cast<std::uint64_t>(got);
  }
  return result;
}

}  // namespace pagoda::inline core::wire

// External tensor data: opens files with care, since a model may name any path.
#include "onnx/external_data.h"

#include <algorithm>
#include <cerrno>

#include "onnx/wire.h"
#include "pagoda/base/cat.h"

namespace pagoda::inline core::wire {

std::vector<std::string> folders_of(const std::string& path) {
  const std::string real = base::resolved_path(path);
  return {base::folder_of(path), real.empty() ? std::string() : base::folder_of(real)};
}

ExternalData::ExternalData(const std::vector<std::string>& folders) {
  for (const std::string& name : folders) {
    std::string real = name.empty() ? std::string() : base::resolved_path(name);
    if (real.empty()) continue;
    if (real.back() != '/') real += '/';
    if (std::find(folders_.begin(), folders_.end(), real) == folders_.end()) folders_.push_back(std::move(real));
  }
}

const std::string& ExternalData::open(const std::string& location) const {
  if (location == location_ && (file_ || !problem_.empty())) return problem_;
  file_.close();
  location_ = location;
  const std::string subject = "its external file " + quoted_name(location);
  if (location == kInModel) return problem_ = "its data lie in the model that this skeleton was taken from";
  if (folders_.empty()) return problem_ = "its data lie in an external file and the model's folder is not known";
  if (location.empty()) return problem_ = "its external data name no file";
  if (base::is_absolute_path(location) || location.find('\0') != std::string::npos)
    return problem_ = subject + " is not a path relative to the model's folder";
  problem_ = subject + " cannot be opened: " + base::error_text(ENOENT);
  for (const std::string& root : folders_) {
    const std::string path = base::resolved_path(root + location);
    if (path.empty()) {
      if (errno != ENOENT) problem_ = subject + " cannot be opened: " + base::error_text(errno);
      continue;
    }
    if (std::none_of(folders_.begin(), folders_.end(),
                     [&](const std::string& allowed) { return path.starts_with(allowed); })) {
      problem_ = subject + " lies outside the model's folder";
      continue;
    }
    // Checked before opening, since opening a device can have side effects, and after, since the file may have been
    // replaced.
    const auto is_regular = [](const std::optional<base::FileState>& found) {
      return found && found->kind == base::FileKind::Regular;
    };
    if (is_regular(base::file_state(path)))
      file_ = base::OpenFile::regular(path, /*follows_links=*/false);
    else
      errno = 0;
    const int error = file_ ? 0 : errno;
    if (file_ && is_regular(file_.state())) {
      problem_.clear();
      return problem_;
    }
    problem_ =
        error != 0 ? subject + " cannot be opened: " + base::error_text(error) : subject + " is not a regular file";
    file_.close();
  }
  return problem_;
}

ExternalData::Bytes ExternalData::read(const Extent& extent, std::uint64_t bytes) const {
  if (const std::string& problem = open(extent.location); !problem.empty()) return {{}, problem};
  if (extent.bytes != 0 && extent.bytes != bytes)
    return {{}, cat("its external data are said to have ", extent.bytes, " bytes, its dims need ", bytes)};
  Bytes result{std::string(static_cast<std::size_t>(bytes), '\0'), {}};
  for (std::uint64_t done = 0; done < bytes;) {
    const auto got = file_.read_at(extent.offset + done, std::span(result.bytes).subspan(done));
    if (!got || *got == 0)
      return {{},
              cat("its external file ", quoted_name(extent.location),
                  got ? " ends before the data" : cat(" cannot be read: ", base::error_text(errno)))};
    done += *got;
  }
  return result;
}

}  // namespace pagoda::inline core::wire

// Atomic file writes: writes a new file beside the old one, then renames it.
#include <cerrno>
#include <cstring>

#include "pagoda/base/files.h"
#include "pagoda/base/open_file.h"
#include "pagoda/base/text.h"

namespace pagoda::base {
namespace {

[[noreturn]] void cannot_write(const std::string& path, int code) {
  throw Error("cannot write " + printable(path) + ": " + std::strerror(code));
}

// The destination of a file.
struct Place {
  std::string path, target;
  std::optional<FileState> there;

  explicit Place(const std::string& given) : path(given), target(given), there(file_state(given)) {
    if (there)  // a link stays a link: its target is replaced
      if (std::string real = resolved_path(path); !real.empty()) target = std::move(real);
  }
  // A pipe or a device, which a rename must not replace, or a folder.
  bool is_direct() const { return there && there->kind != FileKind::Regular; }
  // Creates the file that is beside the target until it is complete, and returns its name.
  std::string create(OpenFile& file) const {
    std::string name = with_free_name(target, [&](const std::string& free) {
      file = OpenFile::created(free);
      return static_cast<bool>(file);
    });
    if (name.empty()) cannot_write(path, errno);
    if (there) (void)file.set_permissions(there->permissions);
    return name;
  }
};

}  // namespace

std::string with_free_name(const std::string& path, const std::function<bool(const std::string& name)>& make) {
  for (int attempt = 0;; ++attempt) {
    const std::string name =
        path + ".tmp" + std::to_string(process_number()) + (attempt == 0 ? "" : "-" + std::to_string(attempt));
    if (make(name)) return name;
    if (errno != EEXIST) return "";
  }
}

void write_file(const std::string& path, std::string_view text) {
  const Place place(path);
  if (place.is_direct()) {
    OpenFile file = OpenFile::overwritten(path);
    if (!file || !file.write(text) || !file.close()) cannot_write(path, errno);
    return;
  }
  OpenFile file;
  const std::string temporary = place.create(file);
  // On the disk before it is renamed: after a failure of the machine, the old file or this one is there.
  if (file.write(text) && file.sync() && file.close() && move_file(temporary, place.target)) return;
  const int code = errno;
  file.close();
  remove_file(temporary);
  cannot_write(path, code);
}

void check_writable(const std::string& path) {
  const Place place(path);
  if (place.is_direct()) {  // opening a pipe would wait for its reader
    if (place.there->kind == FileKind::Folder) cannot_write(path, EISDIR);
    if (!can_write(path)) cannot_write(path, errno);
    return;
  }
  OpenFile file;
  const std::string temporary = place.create(file);
  file.close();
  remove_file(temporary);
}

}  // namespace pagoda::base

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

// The destination of a file: its target, and the temporary file beside it until that is complete.
struct Place {
  std::string path, target, temporary;
  std::optional<FileState> there;

  explicit Place(const std::string& given) : path(given), target(given), there(file_state(given)) {
    if (there)  // a link stays a link: its target is replaced
      if (std::string real = resolved_path(path); !real.empty()) target = std::move(real);
    temporary = target + ".tmp" + std::to_string(process_number());
  }
  // A pipe or a device, which a rename must not replace, or a folder.
  bool is_direct() const { return there && there->kind != FileKind::Regular; }
  OpenFile open_temporary() const {
    OpenFile file = OpenFile::created(temporary);
    if (!file) cannot_write(path, errno);
    if (there) (void)file.set_permissions(there->permissions);
    return file;
  }
};

}  // namespace

void write_file(const std::string& path, std::string_view text) {
  const Place place(path);
  if (place.is_direct()) {
    OpenFile file = OpenFile::overwritten(path);
    if (!file || !file.write(text) || !file.close()) cannot_write(path, errno);
    return;
  }
  OpenFile file = place.open_temporary();
  if (file.write(text) && file.close() && move_file(place.temporary, place.target)) return;
  const int code = errno;
  file.close();
  remove_file(place.temporary);
  cannot_write(path, code);
}

void check_writable(const std::string& path) {
  const Place place(path);
  if (place.is_direct()) {  // opening a pipe would wait for its reader
    if (place.there->kind == FileKind::Folder) cannot_write(path, EISDIR);
    if (!can_write(path)) cannot_write(path, errno);
    return;
  }
  place.open_temporary().close();
  remove_file(place.temporary);
}

}  // namespace pagoda::base

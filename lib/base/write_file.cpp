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
};

// The file beside the target until it is complete; removed unless it takes the target's place.
class Temporary {
 public:
  explicit Temporary(const Place& place) : place_(place) {
    name_ = with_free_name(place.target, [&](const std::string& name) {
      file_ = OpenFile::created(name);
      return static_cast<bool>(file_);
    });
    if (name_.empty()) cannot_write(place.path, errno);
    if (place.there) (void)file_.set_permissions(place.there->permissions);
  }
  ~Temporary() {
    file_.close();
    if (!name_.empty()) remove_file(name_);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  // On the disk before it is renamed: a machine that fails later has the old file or this one.
  void complete(std::string_view text) {
    if (!file_.write(text) || !file_.sync() || !file_.close() || !move_file(name_, place_.target))
      cannot_write(place_.path, errno);
    name_.clear();
  }

 private:
  const Place& place_;
  std::string name_;
  OpenFile file_;
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
  Temporary(place).complete(text);
}

void check_writable(const std::string& path) {
  const Place place(path);
  if (place.is_direct()) {  // opening a pipe would wait for its reader
    if (place.there->kind == FileKind::Folder) cannot_write(path, EISDIR);
    if (!can_write(path)) cannot_write(path, errno);
    return;
  }
  const Temporary temporary(place);
}

}  // namespace pagoda::base

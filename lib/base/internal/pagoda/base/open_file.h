// Files, folders and pages of files as the operating system offers them: posix/ and windows/ hold one implementation
// each. Paths are UTF-8. Whatever fails sets errno.
//
//   const OpenFile file = OpenFile::regular("model.onnx");
//   if (!file) throw Error("model.onnx cannot be opened");
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#pragma GCC visibility push(default)
namespace pagoda::base {

// "No such file or directory".
inline std::string error_text(int error = errno) { return std::generic_category().message(error); }

enum class FileKind : std::uint8_t {
  Regular,
  Folder,
  Other,  // a pipe or a device
};

struct FileState {
  FileKind kind = FileKind::Other;
  std::uint64_t bytes = 0;
  std::uint64_t volume = 0, number = 0;  // the same for all names of one file
  unsigned permissions = 0;              // POSIX mode bits; 0 on Windows
  bool is_same_file(const FileState& other) const { return volume == other.volume && number == other.number; }
};

// Of the file that links lead to. Empty if it does not exist.
std::optional<FileState> file_state(const std::string& path);
// Resolves links, "." and "..", and separates by '/' on every system. Empty if the file does not exist.
std::string resolved_path(const std::string& path);
// Lexically: all before the last separator, "." if there is none; and all behind it.
std::string folder_of(const std::string& path);
std::string file_name_of(const std::string& path);
bool is_absolute_path(std::string_view path);

bool can_write(const std::string& path);                         // an existing file, without opening it
bool move_file(const std::string& from, const std::string& to);  // replaces `to` in one step
bool remove_file(const std::string& path);
std::string make_unique_folder(const std::string& prefix);  // only its owner may enter it; empty: it failed
unsigned long process_number();
// Calls `make` with names beside `path` for a temporary file, until `make` succeeds or fails for another reason than
// that there is such a file: a process that was killed may have left one, and in containers all processes may have the
// same number. Returns the name; empty if it failed.
std::string with_free_name(const std::string& path, const std::function<bool(const std::string& name)>& make);

// Writes all of `text`; false on error, such as a closed other end.
bool write_all(int descriptor, std::string_view text);

// A descriptor, closed on destruction.
class OpenFile {
 public:
  OpenFile() = default;
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  OpenFile(OpenFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~OpenFile() { close(); }

  static OpenFile any(const std::string& path);  // for reading, also a pipe or a device
  // For reading. Does not wait for the writer of a pipe, and fails on a link unless `follows_links`; state()
  // returns whether it is regular.
  static OpenFile regular(const std::string& path, bool follows_links = true);
  static OpenFile created(const std::string& path);      // for writing; fails if there is such a file
  static OpenFile nameless(const std::string& folder);   // for writing; not every system and file system has them
  static OpenFile overwritten(const std::string& path);  // for writing into an existing pipe or device
  static OpenFile appended(const std::string& path);     // for reading, and writing at the end; created if missing

  explicit operator bool() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  int take() { return std::exchange(descriptor_, -1); }  // the caller closes it
  bool close();
  std::optional<FileState> state() const;
  // Bytes read, 0 at the end; empty: it failed.
  std::optional<std::size_t> read(std::span<char> bytes) const;
  std::optional<std::size_t> read_at(std::uint64_t offset, std::span<char> bytes) const;
  bool write(std::string_view text) const { return write_all(descriptor_, text); }
  bool set_permissions(unsigned permissions) const;  // does nothing on Windows
  bool give_name(const std::string& path) const;     // to a nameless file; fails if there is such a file
  bool lock() const;                                 // waits until no other process holds the lock
  bool sync() const;                                 // to the disk
  const std::byte* map(std::size_t bytes) const;     // read-only pages, which outlive the file; null: it failed

 private:
  int descriptor_ = -1;
};

void unmap(const std::byte* pages, std::size_t bytes);
enum class PageOrder : std::uint8_t { Random, Sequential };  // whether the system reads ahead
void expect_order(std::span<const std::byte> pages, PageOrder order);
// Releases the memory of whole pages in the range; a later access reads them again.
void release_pages(const std::byte* begin, const std::byte* end);

}  // namespace pagoda::base
#pragma GCC visibility pop

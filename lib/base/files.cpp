// Whole files. A write is atomic: it writes a new file beside the old one, then renames it.
#include "pagoda/base/files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "pagoda/base/cat.h"
#include "pagoda/base/decoded.h"
#include "pagoda/base/open_file.h"
#include "pagoda/base/text.h"

namespace pagoda::base {
namespace {

#ifdef _WIN32
constexpr bool kHasDrives = true;
#else
constexpr bool kHasDrives = false;
#endif
constexpr std::string_view kStandardInput = "-";
constexpr std::string_view kEndings[] = {".json", ".json.gz", ".json.zst", ".json.xz"};
constexpr std::string_view kSeparators = kHasDrives ? "/\\" : "/";

[[noreturn]] void cannot_write(const std::string& path, int code) {
  throw Error(cat("cannot write ", printable(path), ": ", error_text(code)));
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

bool is_path(std::string_view name) {
  return name == kStandardInput || name.find_first_of("/\\") != std::string_view::npos ||
         std::ranges::any_of(kEndings, [&](std::string_view ending) { return name.ends_with(ending); });
}

std::string folder_of(const std::string& path) {
  const std::size_t separator = path.find_last_of(kSeparators);
  if (separator == std::string::npos) return ".";
  const bool is_root = separator == 0 || (kHasDrives && path[separator - 1] == ':');
  return path.substr(0, separator + (is_root ? 1 : 0));
}

std::string file_name_of(const std::string& path) {
  return path.substr(path.find_last_of(kSeparators) + 1);  // npos + 1 is 0
}

bool is_absolute_path(std::string_view path) {
  return path.find_first_of(kSeparators) == 0 || (kHasDrives && path.size() > 1 && path[1] == ':');
}

std::string read_file(const std::string& path, std::string_view expected, std::size_t limit, Reads reads) {
  const auto stop = [&](std::string_view what) { fail(printable(path), cat(what, "; expected ", expected)); };
  OpenFile file = path == kStandardInput ? OpenFile(0) : OpenFile::any(path);
  if (!file) stop(why_not_opened(path, errno));
  const auto state = file.state();
  if (state && state->kind == FileKind::Folder) stop(is_folder(path, reads));
  std::string text;
  if (state && state->kind == FileKind::Regular)
    text.reserve(std::min(static_cast<std::size_t>(state->bytes), limit) + 1);
  for (std::array<char, 1 << 16> part{};;) {
    const auto length = file.read(part);
    if (!length) stop("cannot be read: " + error_text(errno));
    if (*length == 0) break;
    text.append(part.data(), *length);
    if (text.size() > limit) {
      const WhatFile what = what_file(text, path);
      stop(fits(what.form, reads) ? cat("over ", limit >> 20, " MiB") : is_what(what, reads));
    }
  }
  if (path == kStandardInput) file.take();  // stays open
  return text;
}

std::string read_text(const std::string& path, std::string_view expected, Reads reads, std::size_t limit) {
  std::string text = read_file(path, expected, limit, reads);
  if (std::optional<std::string> plain = decoded(text, printable(path), std::min(limit, kMostDecompressed)))
    text = *std::move(plain);
  expect_file(text, printable(path), reads, expected);
  return text;
}

std::string with_free_name(const std::string& path, const std::function<bool(const std::string& name)>& make) {
  for (int attempt = 0;; ++attempt) {
    const std::string name = cat(path, ".tmp", process_number(), attempt == 0 ? "" : cat("-", attempt));
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

TemporaryFolder::TemporaryFolder(std::string_view purpose)
    : path_(make_unique_folder((std::filesystem::temp_directory_path() / (std::string(purpose) + "-")).string())) {
  if (path_.empty())
    throw Error(cat("no folder can be made in ", std::filesystem::temp_directory_path().string(), ": ",
                    error_text(errno), "; set TMPDIR to one that can be written"));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace pagoda::base

// Regular files: opened with care, read and mapped.
#include "onnx/regular_file.h"

#include <algorithm>

#include "pagoda/base/cat.h"
#include "pagoda/core/model.h"

namespace pagoda::inline core {
namespace {

using base::error_text;
using base::fail;

void require_regular(const std::string& path, base::FileKind kind) {
  if (kind == base::FileKind::Folder) fail(path, "is a folder, expected an ONNX file; name the .onnx file in it");
  if (kind == base::FileKind::Other)
    fail(path, "is a pipe or device, expected an ONNX file; save it to a regular file first");
}

}  // namespace

RegularFile::RegularFile(const std::string& path) : path_(path) {
  const auto found = base::file_state(path);
  if (!found) fail(path, "cannot be opened: " + error_text() + "; check the path");
  // Before opening: opening a pipe or device may block or have side effects.
  require_regular(path, found->kind);
  file_ = base::OpenFile::regular(path);
  if (!file_) fail(path, "cannot be opened: " + error_text() + "; check its permissions");
  const auto opened = file_.state();
  if (!opened) fail(path, "cannot be read: " + error_text());
  require_regular(path, opened->kind);
  size_ = opened->bytes;
}

bool RegularFile::can_be_mapped() const {
  if (size_ == 0) return true;
  const std::byte* first = map(1);
  if (first != nullptr) base::unmap(first, 1);
  return first != nullptr;
}

void RegularFile::read(std::uint64_t offset, std::span<char> bytes) const {
  while (!bytes.empty()) {
    const auto got = file_.read_at(offset, bytes);
    if (!got) fail(path_, "cannot be read: " + error_text());
    if (*got == 0) fail(path_, "has become shorter while it was read");
    offset += *got;
    bytes = bytes.subspan(*got);
  }
}

MappedFile::MappedFile(const std::string& path) {
  const RegularFile file(path);
  size_ = static_cast<std::size_t>(file.size());
  if (size_ == 0) return;
  data_ = file.map(size_);
  if (data_ == nullptr) fail(path, "cannot be mapped: " + error_text());
  // The walk jumps from header to header: read-ahead would fetch weights.
  base::expect_order(bytes(), base::PageOrder::Random);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) base::unmap(data_, size_);
}

void MappedFile::release(std::size_t begin, std::size_t end) const {
  end = std::min(end, size_);
  if (begin < end) base::release_pages(data_ + begin, data_ + end);
}

}  // namespace pagoda::inline core

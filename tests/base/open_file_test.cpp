// Files as the operating system offers them. What differs by system is tested on the system that builds the tests.
#include "pagoda/base/open_file.h"

#include <doctest/doctest.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <string>

#include "pagoda/base/files.h"

namespace pagoda::base {
namespace {

const TemporaryFolder& scratch() {
  static const TemporaryFolder folder("pagoda-open-file");
  return folder;
}

TEST_CASE("paths are split at their last separator") {
  struct Row {
    std::string path, folder, name;
  };
  for (const Row& row : {Row{"model.onnx", ".", "model.onnx"}, Row{"a/b/model.onnx", "a/b", "model.onnx"},
                         Row{"/model.onnx", "/", "model.onnx"}, Row{"a/", "a", ""}, Row{"", ".", ""}}) {
    CAPTURE(row.path);
    CHECK(folder_of(row.path) == row.folder);
    CHECK(file_name_of(row.path) == row.name);
  }
}

TEST_CASE("what lies at a path, and whether two paths name one file") {
  const std::string file = scratch().path("file"), link = scratch().path("link"), other = scratch().path("other");
  write_file(file, "four");
  write_file(other, "");
  std::filesystem::create_symlink("file", link);
  const auto found = file_state(file), linked = file_state(link), empty = file_state(other);
  REQUIRE((found && linked && empty));
  CHECK(found->kind == FileKind::Regular);
  CHECK(found->bytes == 4);
  CHECK(found->is_same_file(*linked));
  CHECK(!found->is_same_file(*empty));
  CHECK(file_state(scratch().path())->kind == FileKind::Folder);
  CHECK(file_state("/dev/null")->kind == FileKind::Other);
  CHECK(!file_state(scratch().path("missing")));
  CHECK(errno == ENOENT);
  CHECK(resolved_path(scratch().path("./link")) == resolved_path(file));
  CHECK(resolved_path(scratch().path("missing")).empty());
  CHECK(OpenFile::regular(link));
  CHECK(!OpenFile::regular(link, /*follows_links=*/false));
}

TEST_CASE("a created file is new, an appended one keeps what it holds") {
  const std::string path = scratch().path("lines");
  {
    OpenFile file = OpenFile::created(path);
    REQUIRE(file);
    CHECK(file.write("one\n"));
    CHECK(file.close());
    CHECK(!file);
  }
  CHECK(!OpenFile::created(path));
  CHECK(errno == EEXIST);
  const OpenFile file = OpenFile::appended(path);
  CHECK(file.lock());
  CHECK(file.write("two\n"));
  CHECK(file.sync());
  std::array<char, 16> bytes{};
  CHECK(file.read_at(4, bytes) == 4U);
  CHECK(std::string(bytes.data(), 4) == "two\n");
  CHECK(file.read_at(8, bytes) == 0U);
  CHECK(file.read_at(std::uint64_t{1} << 63, bytes) == 0U);
  CHECK(file.state()->bytes == 8);
}

TEST_CASE("pages show the file, also after it is closed and after they were released") {
  const std::string path = scratch().path("pages");
  const std::string text(100'000, 'p');
  write_file(path, text);
  const std::byte* pages = OpenFile::regular(path).map(text.size());
  REQUIRE(pages != nullptr);
  expect_order({pages, text.size()}, PageOrder::Random);
  CHECK(std::string(reinterpret_cast<const char*>(pages), text.size()) == text);
  release_pages(pages + 1, pages + text.size());
  CHECK(std::string(reinterpret_cast<const char*>(pages), text.size()) == text);
  unmap(pages, text.size());
}

TEST_CASE("a moved file replaces the one in its place") {
  const std::string from = scratch().path("from"), to = scratch().path("to");
  write_file(from, "new");
  write_file(to, "old");
  CHECK(move_file(from, to));
  CHECK(read_file(to, "text") == "new");
  CHECK(!file_state(from));
  CHECK(remove_file(to));
  CHECK(!remove_file(to));
}

TEST_CASE("unique folders differ") {
  const std::string prefix = scratch().path("unique-");
  const std::string one = make_unique_folder(prefix), two = make_unique_folder(prefix);
  CHECK(one != two);
  CHECK(file_state(one)->kind == FileKind::Folder);
  CHECK(make_unique_folder(scratch().path("missing/x")).empty());
}

}  // namespace
}  // namespace pagoda::base

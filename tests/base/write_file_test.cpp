// A report on disk is either the old one or the complete new one.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "pagoda/base/files.h"
#include "support/files.h"

namespace pagoda::base {
namespace {

namespace fs = std::filesystem;

struct Directory {
  std::string path = (fs::temp_directory_path() / ("pagoda_write_" + std::to_string(getpid()))).string();
  Directory() { fs::create_directories(path); }
  ~Directory() { fs::remove_all(path); }
  std::size_t files() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), {})); }
};

TEST_CASE("a file is made, replaced, and nothing is left beside it") {
  const Directory directory;
  const std::string file = directory.path + "/out.json";
  base::write_file(file, "one");
  CHECK(test::read_file(file) == "one");
  base::write_file(file, "two");
  CHECK(test::read_file(file) == "two");
  CHECK(directory.files() == 1);
}

TEST_CASE("a replaced file keeps its permissions, a link stays a link") {
  const Directory directory;
  const std::string file = directory.path + "/real.csv", link = directory.path + "/link.csv";
  base::write_file(file, "old");
  REQUIRE(chmod(file.c_str(), 0640) == 0);
  fs::create_symlink("real.csv", link);
  base::write_file(link, "new");
  CHECK(fs::is_symlink(link));
  CHECK(test::read_file(file) == "new");
  struct stat status {};
  REQUIRE(stat(file.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
}

TEST_CASE("a write that fails leaves the old file and says why") {
  CHECK_THROWS_WITH_AS(base::write_file("/nonexistent/out.json", "x"),
                       "cannot write /nonexistent/out.json: No such file or directory", Error);
  CHECK_THROWS_AS(base::write_file("/dev/full", "x"), Error);
  const Directory directory;
  CHECK_THROWS_AS(base::write_file(directory.path, "x"), Error);
  CHECK(directory.files() == 0);
}

TEST_CASE("whether a file can be written is known beforehand, and nothing changes") {
  const Directory directory;
  const std::string file = directory.path + "/out.json";
  check_writable(file);
  CHECK(directory.files() == 0);
  base::write_file(file, "old");
  check_writable(file);
  CHECK(test::read_file(file) == "old");
  CHECK(directory.files() == 1);
  CHECK_THROWS_WITH_AS(check_writable("/nonexistent/out.json"),
                       "cannot write /nonexistent/out.json: No such file or directory", Error);
  CHECK_THROWS_WITH_AS(check_writable(directory.path), doctest::Contains("Is a directory"), Error);
  CHECK_NOTHROW(check_writable("/dev/null"));
}

TEST_CASE("files that killed processes of the same number left do not block later ones") {
  const Directory directory;
  const std::string file = directory.path + "/out.json", stale = file + ".tmp" + std::to_string(getpid());
  for (const std::string& name : {stale, stale + "-1"}) std::ofstream(name) << "half";
  CHECK_NOTHROW(check_writable(file));
  base::write_file(file, "whole");
  CHECK(test::read_file(file) == "whole");
  CHECK(test::read_file(stale) == "half");  // its process may still run, in another container
  CHECK(directory.files() == 3);
}

TEST_CASE("what is not a regular file is written to directly") { CHECK_NOTHROW(base::write_file("/dev/null", "x")); }

TEST_CASE("a name with a separator of either kind, or that ends in .json, is a file") {
  struct Case {
    const char* name;
    bool is_path;
  };
  for (const Case& row : {Case{"tensorrt", false}, Case{"h100-sxm", false}, Case{"", false}, Case{"json", false},
                          Case{"mine.json", true}, Case{"./tensorrt", true}, Case{"fits\\mine", true}}) {
    CAPTURE(row.name);
    CHECK(base::is_path(row.name) == row.is_path);
  }
}

}  // namespace
}  // namespace pagoda::base

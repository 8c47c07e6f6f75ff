// pagoda-report as people and CI run it: files, formats, exit codes.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "sample.h"

namespace pagoda::present {
namespace {

using test::append;
using test::made;
using test::Noise;

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pagoda-report-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

void write(const std::string& path, const std::vector<documents::Result>& results) {
  for (const documents::Result& result : results) documents::append_result(path, result);
}

int report(const std::string& arguments) {
  const int status = std::system((std::string(PAGODA_REPORT) + " " + arguments + " >/dev/null 2>&1").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string content(const std::string& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_CASE("compare exits 3 where something is slower beyond noise, and 0 where nothing is") {
  const Folder folder;
  const std::string base = folder / "base.jsonl", same = folder / "same.jsonl", slow = folder / "slow.jsonl";
  write(base, made({.repeats = 4, .run = Noise(1, 0.01)}));
  write(same, made({.repeats = 4, .run = Noise(2, 0.01)}));
  write(slow, made({.repeats = 4, .process = [] { return 1.2; }, .run = Noise(3, 0.01)}));
  CHECK(report("compare " + base + " " + same) == 0);
  CHECK(report("compare " + base + " " + slow) == 3);
  CHECK(report("compare " + slow + " " + base) == 0);
  CHECK(report("compare --no-gate " + base + " " + slow) == 0);
  CHECK(report("compare " + base + " " + (folder / "nowhere.jsonl")) == 1);
  CHECK(report("compare --tolerance two " + base + " " + same) == 2);
  CHECK(report("compare " + base + " " + slow + " -o " + (folder / "out.docx")) == 1);
  CHECK(report("compare " + base + " " + slow + " -o " + (folder / "out.html")) == 3);
  CHECK(content(folder / "out.html").find("SLOWER") != std::string::npos);
}

TEST_CASE("a torn last line is left out, and the rest is a table") {
  const Folder folder;
  const std::string path = folder / "results.jsonl";
  write(path, made({}));
  std::ofstream(path, std::ios::app) << "{\"schema\": \"pagoda.res";
  CHECK(report("csv " + path + " -o " + (folder / "tidy.csv")) == 0);
  const std::string csv = content(folder / "tidy.csv");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 2);
  CHECK(report("csv " + path + " --columns others") == 1);
  CHECK(report("measured " + path + " -o " + (folder / "measured.json")) == 0);
  CHECK(content(folder / "measured.json").find("pagoda.measured/1") != std::string::npos);
}

TEST_CASE("one command says which models a compiler does not help, and what goes with it") {
  const Folder folder;
  const std::string path = folder / "results.jsonl";
  std::uint64_t seed = 1;
  for (const char* model : {"alexnet", "vgg16", "resnet50", "densenet121", "mobilenet_v3_large", "efficientnet_b0"}) {
    // What is deep gains.
    const bool is_deep = std::string(model) != "alexnet" && std::string(model) != "vgg16";
    write(path, made({.model = model, .run = Noise(++seed, 0.01)}));
    write(path, made({.model = model,
                      .compile = "inductor",
                      .process = [&] { return is_deep ? 0.5 : 1.0; },
                      .run = Noise(++seed, 0.01)}));
  }
  const std::string command = "explain " + path + " --base compile=eager --new compile=inductor --leaf 2 --models " +
                              PAGODA_SOURCE_DIR + "/models/skeletons -o " + (folder / "why.txt");
  CHECK(report(command) == 0);
  const std::string text = content(folder / "why.txt");
  CHECK(text.find("Models by speed-up") != std::string::npos);
  CHECK(text.find(": alexnet, vgg16") != std::string::npos);  // a leaf
  CHECK(text.find("features were looked at") != std::string::npos);
}

}  // namespace pagoda::present

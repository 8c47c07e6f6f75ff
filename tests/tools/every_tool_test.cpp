// What every tool owes its user: a version, help, and errors that name the file and end with the documented exit code.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "pagoda/present/report.h"
#include "support/files.h"
#include "support/workshop.h"

namespace pagoda {
namespace {

namespace fs = std::filesystem;

using test::Outcome;

// A folder with inputs that no tool can use, and the tools by name.
struct Shop : test::Workshop {
  Shop() {
    fs::create_directories(path("folder"));
    base::write_file(path("empty"), "");
    base::write_file(path("text"), "this is no input of any tool\n");
    std::istringstream paths(PAGODA_EVERY_TOOL);
    for (std::string path; paths >> path;) tools[fs::path(path).filename()] = path;
  }

  // `arguments` is shell text.
  Outcome run(const std::string& tool, const std::string& arguments) const {
    return shell("'" + tools.at(tool) + "' " + arguments);
  }

  std::map<std::string, std::string> tools;
};

TEST_CASE("every tool names itself with its version, and prints help") {
  const Shop shop;
  REQUIRE(shop.tools.size() == PAGODA_TOOLS);
  for (const auto& entry : shop.tools) {
    const std::string tool = entry.first;  // clang 14 captures no structured binding
    CAPTURE(tool);
    const Outcome version = shop.run(tool, "--version");
    CHECK(version.code == 0);
    CHECK(version.out.starts_with(tool + " 0."));
    const Outcome help = shop.run(tool, "--help");
    CHECK(help.code == 0);
    CHECK(help.out.find("Usage:") != std::string::npos);
    const Outcome misuse = shop.run(tool, "--no-such-option");
    CHECK(misuse.code == 2);
    CHECK(misuse.err.starts_with(tool + ": "));
    CHECK(misuse.err.ends_with("; see " + tool + " --help\n"));
  }
}

TEST_CASE("an input of the wrong kind is named, with what was expected, and leaves no output") {
  const Shop shop;
  struct Case {
    const char* tool;
    const char* before;
    const char* after;
  };
  const Case cases[] = {
      {"onnx-estimate", "", "-o made.json"},
      {"onnx-skeleton", "", "-o made.onnx"},
      {"roofline-plot", "--device h200 --estimate", "-o made.svg"},
      {"roofline-plot", "--ceilings", "-o made.svg"},
      {"pagoda-import", "", "-o made.json"},
      {"pagoda-report", "csv", "-o made.csv"},
      {"pagoda-calibrate", "", "--check rtx-3090-amp-nchw"},
  };
  for (const Case& row : cases) {
    for (const std::string input : {"empty", "text", "folder", "missing"}) {
      const Outcome result = shop.run(row.tool, std::string(row.before) + " " + input + " " + row.after);
      CAPTURE(std::string(row.tool) + " " + row.before + " " + input + ": " + result.err);
      CHECK(result.code == 1);
      CHECK(result.err.starts_with(std::string(row.tool) + ": "));
      CHECK(result.err.find(input) != std::string::npos);
      CHECK(result.err.find("basic_filebuf") == std::string::npos);
      CHECK(result.err.find("json.exception") == std::string::npos);
    }
  }
  for (const char* made : {"made.json", "made.onnx", "made.svg", "made.csv"}) CHECK_FALSE(fs::exists(shop.path(made)));
}

TEST_CASE("standard output that is full is an error, not a success") {
  const Shop shop;
  for (const auto& [tool, arguments] : std::map<std::string, std::string>{
           {"onnx-estimate", test::source_path("models/skeletons/linear_64_128.onnx")},
           {"roofline-plot", "--device h200 -o -"},
           {"pagoda-import", test::source_path("tests/import/data/ort_resnet50_all.json")},
           {"pagoda-doctor", ""}}) {
    const Outcome result = shop.run(tool, arguments + " >/dev/full");
    const std::string seen = tool + ": " + result.err;
    CAPTURE(seen);
    CHECK(result.code == 1);
    CHECK(result.err.find("standard output") != std::string::npos);
  }
}

}  // namespace
}  // namespace pagoda

// Reports from the trackers of comparable tools, rebuilt as small inputs: cases.json holds for each report what was
// wrong there, the files, a command of this house, and what it must answer. A row:
//
//   report    where it was reported, as owner/repository#number
//   was       what went wrong there, in our words
//   verdict   what the command does here: "answers" or "refuses" (exit code 1, 2 or 3 and a remedy)
//   files     name → text, or → lines; a tiny ONNX file whose bytes are all below 128 is text with escapes
//   models    name → text graph (support/text_graph.h), written as an ONNX file
//   run       shell text; the tools are on its PATH
//   code, says, never   the exit code, and what the output must and must not say
#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <string>

#include "pagoda/base/files.h"
#include "pagoda/base/json.h"
#include "support/files.h"
#include "support/onnx_file.h"
#include "support/text_graph.h"
#include "support/workshop.h"

namespace pagoda {
namespace {

// Folders of the tools, for PATH.
std::string tool_folders() {
  std::istringstream paths(PAGODA_EVERY_TOOL);
  std::string folders;
  for (std::string path; paths >> path;) folders += std::filesystem::path(path).parent_path().string() + ":";
  return folders;
}

std::string content_of(const base::JsonField& file) {
  if (!file.value().is_array()) return file.text();
  std::string lines;
  for (const std::string& line : file.texts()) lines += line + "\n";
  return lines;
}

}  // namespace

TEST_CASE("faults reported of comparable tools are answered or refused well here") {
  const std::string path = test::source_path("tests/reported/cases.json");
  const base::JsonDocument document = base::parse_json(test::read_file(path), path, "cases");
  const std::string tools = "export PATH='" + tool_folders() + "'\"$PATH\"; ";
  std::set<std::string> reports;
  for (const base::JsonField& row : document.root().array()) {
    const std::string report = row.text("report"), run = row.text("run");
    CAPTURE(report);
    CAPTURE(run);
    CHECK(reports.insert(report).second);
    const test::Workshop shop;
    if (const auto files = row.find("files"))
      for (const auto& [name, file] : files->members()) base::write_file(shop.path(name), content_of(file));
    if (const auto models = row.find("models"))
      for (const auto& [name, graph] : models->members())
        base::write_file(shop.path(name), test::onnx_bytes(test::graph(graph.text())));
    const test::Outcome outcome = shop.shell(tools + run);
    CAPTURE(outcome.out);
    CAPTURE(outcome.err);
    CHECK(outcome.code == row.integer("code"));
    CHECK((row.text("verdict") == "refuses") == (outcome.code != 0));
    for (const std::string& words : row.texts("says")) CHECK_MESSAGE(outcome.says(words), "missing: " << words);
    for (const std::string& words : row.texts("never")) CHECK_MESSAGE(!outcome.says(words), "said: " << words);
  }
  CHECK(!reports.empty());
}

}  // namespace pagoda

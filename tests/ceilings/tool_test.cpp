// The command line: options, exit codes, files, and that what it writes is a valid document and a device.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "pagoda/core/device.h"
#include "pagoda/documents/ceilings.h"
#include "report.h"
#include "support/golden.h"
#include "support/json_schema.h"

namespace {

namespace fs = std::filesystem;

struct Run {
  int exit = 0;
  std::string text;
};

Run run(const std::string& arguments) {
  Run result;
  FILE* pipe = popen((PAGODA_ERT_CEILINGS " " + arguments + " 2>&1").c_str(), "r");
  char block[4096];
  for (std::size_t n; (n = std::fread(block, 1, sizeof block, pipe)) > 0;) result.text.append(block, n);
  const int status = pclose(pipe);
  result.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

}  // namespace

TEST_CASE("wrong use is exit 2 with a message") {
  CHECK(run("").exit == 2);
  CHECK(run("").text.find("--cpu") != std::string::npos);
  CHECK(run("--cpu --nonsense").exit == 2);
  CHECK(run("--cpu --quick --full").exit == 2);
  CHECK(run("--help").exit == 0);
}

TEST_CASE("an unreadable baseline is exit 1") {
  const Run r = run("--cpu --quick --only scalar.fma.core --check /nowhere.json");
  CHECK(r.exit == 1);
  CHECK(r.text.find("/nowhere.json") != std::string::npos);
}

TEST_CASE("a baseline that shares no ceiling is no comparison that passed") {
  const std::string base = (fs::temp_directory_path() / ("pagoda_base_" + std::to_string(getpid()) + ".json")).string();
  REQUIRE(run("--cpu --quick --budget 0.1 --only scalar.fma.core --json " + base).exit == 0);
  const Run other = run("--cpu --quick --budget 0.1 --only l1.load.core --check " + base);
  CHECK(other.exit == 1);
  CHECK(other.text.find("nothing to compare") != std::string::npos);
  fs::remove(base);
}

TEST_CASE("the audit prints every loop and ends well") {
  const Run r = run("--cpu --audit");
  CHECK(r.exit == 0);
  CHECK(r.text.find("pagoda_fma_f64_scalar") != std::string::npos);
}

TEST_CASE("a short run writes a document that fits its schema, beside a CSV, and that a baseline check accepts") {
  const fs::path folder = fs::temp_directory_path() / ("pagoda_ert_" + std::to_string(std::rand()));
  fs::create_directories(folder);
  const std::string json = folder / "a.json", csv = folder / "a.csv";
  const Run r = run("--cpu --quick --only float64.scalar.fma.core,dram.load.core --budget 1 --json " + json +
                    " --csv " + csv + " --csv-ert " + (folder / "ert.txt").string());
  CAPTURE(r.text);
  CHECK((r.exit == 0 || r.exit == 5));
  const auto schema =
      nlohmann::json::parse(pagoda::test::read_file(PAGODA_SOURCE_DIR "/data/schemas/ceilings.schema.json"));
  const std::string text = pagoda::test::read_file(json);
  CHECK(pagoda::test::violations(nlohmann::json::parse(text), schema) == std::vector<std::string>{});
  const pagoda::documents::CeilingsDocument document = pagoda::documents::load_ceilings(json);
  CHECK(document.kind == "cpu");
  CHECK(document.name() != "");
  REQUIRE(document.ceilings.size() == 2);
  for (const pagoda::documents::Ceiling& c : document.ceilings) {
    CHECK(c.median.value() > 1e8);
    CHECK(c.n >= 6);
    CHECK(!c.code.empty());
  }
  CHECK(pagoda::test::read_file(csv).find("float64.scalar.fma.core,burst,compute") != std::string::npos);
  CHECK(pagoda::documents::compare_ceilings(document, document, 0).empty());
  fs::remove_all(folder);
}

TEST_CASE("other tools' forms hold the device-wide best, in their units") {
  pagoda::documents::CeilingsDocument document;
  const auto add = [&](const char* id, pagoda::documents::CeilingKind kind, const char* level, const char* precision,
                       double value, const char* scope) {
    pagoda::documents::Ceiling c;
    c.id = id;
    c.kind = kind;
    c.level = level;
    c.precision = precision;
    c.unit_type = kind == pagoda::documents::CeilingKind::Compute ? "vector" : "";
    c.value = value;
    c.ci95 = {{value * 0.99, value * 1.01}};
    c.scope = scope;
    c.converged = true;
    document.ceilings.push_back(c);
  };
  add("a", pagoda::documents::CeilingKind::Compute, "", "float64", 2.5e11, "device");
  add("b", pagoda::documents::CeilingKind::Compute, "", "float64", 1.2e11, "core");
  add("c", pagoda::documents::CeilingKind::Bandwidth, "dram", "", 4e10, "device");
  add("d", pagoda::documents::CeilingKind::Bandwidth, "l1", "", 1e12, "device");
  CHECK(ceilings::ert_csv(document) == "250.00 FP64 GFLOPs EMP\n1000.00 L1 EMP\n40.00 DRAM EMP\n");
  const std::string rocprof = ceilings::rocprof_csv(document);
  const auto columns = [](const std::string& line) { return std::count(line.begin(), line.end(), ','); };
  const std::size_t end = rocprof.find('\n');
  CHECK(columns(rocprof.substr(0, end)) == columns(rocprof.substr(end + 1)));
  // As checks of ERT read its report: a number, a blank, the name.
  const std::regex line(R"((\d+\.\d+)\s(FP64 GFLOPs|L1|DRAM) EMP)");
  const std::string ert = ceilings::ert_csv(document);
  CHECK(std::distance(std::sregex_iterator(ert.begin(), ert.end(), line), std::sregex_iterator()) == 3);
  const std::string rows = ceilings::csv(document);
  std::istringstream lines(rows);
  std::int64_t count = 0;
  for (std::string row; std::getline(lines, row); ++count)
    CHECK(columns(row) == columns(rows.substr(0, rows.find('\n'))));
  CHECK(count == 5);
  CHECK(rocprof.starts_with("device,HBMBw,HBMBwLow,HBMBwHigh,L2Bw"));
  CHECK(rocprof.find("\n0,40.000,39.600,40.400,0.000") != std::string::npos);
}

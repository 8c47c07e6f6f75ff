// The command line: options, exit codes, files, and that its output is a valid document and device.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "pagoda/base/files.h"
#include "pagoda/core/device.h"
#include "pagoda/documents/ceilings.h"
#include "runs.h"
#include "support/files.h"
#include "support/json_schema.h"
#include "support/workshop.h"

namespace {

namespace ceilings = pagoda::tools::ceilings;
using pagoda::test::Outcome;
using pagoda::test::Workshop;

Outcome run(const std::string& arguments) { return Workshop().shell("'" PAGODA_ERT_CEILINGS "' " + arguments); }

}  // namespace

TEST_CASE("--only that matches nothing is an error before any work") {
  const Outcome r = run("--cpu --quick --only nope --json nope.json");
  CHECK(r.code == 2);
  CHECK(r.err.find("--only nope: no ceiling's id holds one of these") != std::string::npos);
}

TEST_CASE("wrong use is exit 2 with a message") {
  CHECK(run("").code == 2);
  CHECK(run("").says("--cpu"));
  CHECK(run("--cpu --nonsense").code == 2);
  CHECK(run("--cpu --quick --full").code == 2);
  const Outcome resumed = run("--cpu --quick --budget 0.1 --only scalar.fma.core --resume missing.json");
  CHECK(resumed.code == 2);
  CHECK(resumed.says("--resume continues a measurement of a GPU; with --cpu, leave it out"));
  CHECK(run("--help").code == 0);
}

TEST_CASE("a file that cannot be read or written is exit 1 before anything is measured") {
  const Workshop shop;
  pagoda::base::write_file(shop.path("text"), "this is not a ceilings file\n");
  for (const char* option : {"--check missing.json", "--check text", "--json missing/a.json", "--json .",
                             "--csv missing/a.csv", "--csv-ert missing/a.txt", "--csv-rocprof missing/a.csv"}) {
    const Outcome r = shop.shell("'" PAGODA_ERT_CEILINGS "' --cpu --quick --budget 0.1 --only scalar.fma.core " +
                                 std::string(option));
    CAPTURE(std::string(option));
    CAPTURE(r.err);
    CHECK(r.code == 1);
    CHECK(r.out.empty());  // no table: nothing was measured
    const std::string argument = std::string(option).substr(std::string(option).find(' ') + 1);
    CHECK(r.err.find(argument) != std::string::npos);
  }
}

TEST_CASE("an output that cannot be written whole leaves the old file as it was") {
  const Workshop shop;
  pagoda::base::write_file(shop.path("a.json"), "old");
  // Files may grow to 512 bytes only, as on a full disk.
  const Outcome r = shop.shell("trap '' XFSZ; ulimit -f 1; '" PAGODA_ERT_CEILINGS
                               "' --cpu --quick --budget 0.1 --only scalar.fma.core --json a.json");
  CHECK(r.code == 1);
  CHECK(r.says("a.json"));
  CHECK(pagoda::test::read_file(shop.path("a.json")) == "old");
}

TEST_CASE("a baseline that shares no ceiling is no comparison that passed") {
  const Workshop shop;
  const std::string base = shop.path("base.json");
  REQUIRE(run("--cpu --quick --budget 0.1 --only scalar.fma.core --json " + base).code == 0);
  const Outcome other = run("--cpu --quick --budget 0.1 --only l1.load.core --check " + base);
  CHECK(other.code == 1);
  CHECK(other.says("nothing to compare"));
}

TEST_CASE("the audit prints every loop and ends well") {
  const Outcome r = run("--cpu --audit");
  CHECK(r.code == 0);
  CHECK(r.says("pagoda_fma_f64_scalar"));
}

TEST_CASE("a short run writes a document that fits its schema, beside a CSV") {
  const Workshop shop;
  const std::string what = "--cpu --quick --only float64.scalar.fma.core,dram.load.core --budget 1 ";
  const Outcome r = shop.shell("'" PAGODA_ERT_CEILINGS "' " + what + "--json a.json --csv a.csv --csv-ert ert.txt");
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  pagoda::test::check_schema(pagoda::test::read_file(shop.path("a.json")), "ceilings");
  const pagoda::documents::CeilingsDocument document = pagoda::documents::load_ceilings(shop.path("a.json"));
  CHECK(document.kind == "cpu");
  CHECK(document.name() != "");
  REQUIRE(document.ceilings.size() == 2);
  const auto& fma = *pagoda::documents::find_ceiling(document, "float64.scalar.fma.core");
  const auto& load = *pagoda::documents::find_ceiling(document, "dram.load.core");
  for (const pagoda::documents::Ceiling* c : {&fma, &load}) {
    CAPTURE(c->id);
    CHECK(c->n >= 6);
    CHECK(!c->code.empty());
    CHECK(c->p5.value() <= c->median.value());
    CHECK(c->median.value() <= c->p95.value());
  }
  // One or two multiply-adds of 2 operations per cycle; loads of at most 64 bytes per cycle; at 1 to 6 GHz.
  CHECK(fma.median.value() > 1e9);
  CHECK(fma.median.value() < 4 * 6e9);
  CHECK(load.median.value() > 1e8);
  CHECK(load.median.value() < 64 * 6e9);
  CHECK(pagoda::test::read_file(shop.path("a.csv")).find("float64.scalar.fma.core,burst,compute") != std::string::npos);
  char line[64];  // the core's value, as the whole device was not measured
  std::snprintf(line, sizeof line, "%.2f DRAM EMP\n", *load.value * 1e-9);
  CHECK(pagoda::test::read_file(shop.path("ert.txt")) == line);
}

TEST_CASE("energy from the rails of a Jetson says which, how often they were read and what each took") {
  // Written by hand: 12 W and 4 W, and 5 W that include the memory's 2 W.
  const Workshop shop;
  const auto rail = [&](const std::string& monitor, const std::string& channel, const char* name,
                        const char* milliamperes) {
    const std::string folder = shop.path("sys/class/hwmon/" + monitor);
    std::filesystem::create_directories(folder);
    pagoda::base::write_file(folder + "/name", "ina3221\n");
    pagoda::base::write_file(folder + "/in" + channel + "_label", name + std::string("\n"));
    pagoda::base::write_file(folder + "/in" + channel + "_input", "5000\n");
    pagoda::base::write_file(folder + "/curr" + channel + "_input", milliamperes + std::string("\n"));
  };
  rail("hwmon1", "1", "VDD_GPU_SOC", "2400");
  rail("hwmon1", "2", "VDD_CPU_CV", "800");
  rail("hwmon1", "3", "VIN_SYS_5V0", "1000");
  rail("hwmon2", "2", "VDDQ_VDD2_1V8AO", "400");
  const Outcome r = shop.shell("PAGODA_POWER_ROOT=. '" PAGODA_ERT_CEILINGS
                               "' --cpu --quick --energy --only dram.load --budget 1 --json a.json");
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  pagoda::test::check_schema(pagoda::test::read_file(shop.path("a.json")), "ceilings");
  const auto energy = pagoda::documents::load_ceilings(shop.path("a.json")).energy;
  REQUIRE(energy);
  CHECK(energy->source == "rails");
  const auto number = [&](const char* name) {
    const pagoda::base::Setting& value = energy->constants.at(name);  // 12.0 is written as 12
    return std::holds_alternative<double>(value) ? std::get<double>(value)
                                                 : static_cast<double>(std::get<std::int64_t>(value));
  };
  CHECK(std::get<std::string>(energy->constants.at("rails"))
            .starts_with("power of the module (VDD_GPU_SOC + VDD_CPU_CV + VIN_SYS_5V0, INA3221 by hwmon)"));
  CHECK(number("watts.VDD_GPU_SOC") == doctest::Approx(12));
  CHECK(number("watts.VDDQ_VDD2_1V8AO") == doctest::Approx(2));
  CHECK(number("period_seconds") > 0.019);
  CHECK(std::get<std::int64_t>(energy->constants.at("samples")) > 10);
  // Without the 2 W; each window begins and ends with a sample.
  CHECK(number("idle_watts") == doctest::Approx(21).epsilon(0.1));
}

TEST_CASE("a check accepts the same machine, and exits 3 where a baseline was faster") {
  const Workshop shop;
  const std::string what = "'" PAGODA_ERT_CEILINGS "' --cpu --quick --budget 0.2 --only scalar.fma.core ";
  REQUIRE(shop.shell(what + "--json a.json").code == 0);
  const Outcome same = shop.shell(what + "--check a.json --tolerance 0.9");
  CHECK(same.code == 0);
  CHECK(same.says("of 2 intervals meet"));
  pagoda::documents::CeilingsDocument faster = pagoda::documents::load_ceilings(shop.path("a.json"));
  for (pagoda::documents::Ceiling& c : faster.ceilings) {
    *c.value *= 1000;  // far beyond what noise can do
    c.ci95 = {{*c.value, *c.value}};
    c.converged = true;
    c.status = pagoda::documents::CeilingStatus::Ok;
  }
  pagoda::base::write_file(shop.path("faster.json"), pagoda::documents::write_ceilings(faster));
  const Outcome worse = shop.shell(what + "--json now.json --check faster.json");
  CHECK(worse.says(" 0 of 2 intervals meet"));
  // On a busy machine nothing may converge; then nothing is reported as worse.
  bool is_settled = false;
  for (const pagoda::documents::Ceiling& c : pagoda::documents::load_ceilings(shop.path("now.json")).ceilings)
    is_settled = is_settled || (c.converged && c.status == pagoda::documents::CeilingStatus::Ok);
  CHECK(worse.code == (is_settled ? 3 : 0));
  CHECK(worse.says(": worse") == is_settled);
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
  // In the format that checks of ERT parse: a number, a blank, the name.
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

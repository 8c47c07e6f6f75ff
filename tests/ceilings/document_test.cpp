// The ceilings file: it reads back, fits its schema and loads as a device, and two runs can be compared.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "pagoda/core/device.h"
#include "pagoda/documents/ceilings.h"
#include "pagoda/documents/device.h"
#include "support/files.h"
#include "support/json_schema.h"
#include "support/sometimes.h"

namespace {

using namespace pagoda;
using namespace pagoda::documents;
using namespace pagoda::documents;
using namespace pagoda::documents;

documents::Ceiling compute_ceiling() {
  documents::Ceiling c;
  c.id = "float64.avx512.fma.all";
  c.kind = documents::CeilingKind::Compute;
  c.mode = documents::CeilingMode::Sustained;
  c.precision = "float64";
  c.unit_type = "vector";
  c.op = "fma";
  c.scope = "device";
  c.data = "uniform";
  c.unit = "FLOP/s";
  c.value = c.median = 2.5e11;
  c.p5 = c.min = 2.4e11;
  c.p95 = c.max = 2.6e11;
  c.ci95 = {{2.49e11, 2.51e11}};
  c.n = 20;
  c.dropped = 3;
  c.converged = true;
  c.clock_hz = 4e9;
  c.per_clock_unit = 31.25;
  c.units = 2;
  c.watts = 120.5;
  c.throttle = {"sw_power_cap"};
  c.theory = {std::nullopt, 2.6e11, 2.56e11, "two pipes of 512 bit"};
  c.kernel = "fma_f64_avx512";
  c.config = {{"chains", std::int64_t{12}}, {"turbo", std::monostate{}}, {"note", "x"}, {"share", 0.5}, {"ok", true}};
  c.code = {{"vfmadd213pd", std::int64_t{96}}};
  c.counters = {{"flops_ratio", 1.001}};
  c.note = "a \"note\"";
  return c;
}

documents::Ceiling dram_ceiling() {
  documents::Ceiling c;
  c.id = "dram.triad.all";
  c.kind = documents::CeilingKind::Bandwidth;
  c.mode = documents::CeilingMode::Sustained;
  c.level = "dram";
  c.unit = "B/s";
  c.value = 3e10;
  c.converged = true;
  return c;
}

documents::CeilingsDocument sample() {
  documents::CeilingsDocument document;
  document.tool = "ert-ceilings 0";
  document.kind = "cpu";
  document.machine = {{"name", "A machine"}};
  document.clocks = {{"observed_hz", 4e9}};
  document.env = {{"seed", std::int64_t{7}}};
  document.ceilings = {compute_ceiling(), dram_ceiling()};
  document.checks = {{"drift", true, "0.1 %"}};
  document.energy = documents::EnergyReport{"rapl", 12, 0.01, 4.5, {{"idle_watts", 20.0}}};
  document.not_run = {"amx: not on this machine"};
  return document;
}

}  // namespace

TEST_CASE("a document reads back as written") {
  const std::string text = write_ceilings(sample());
  const documents::CeilingsDocument back = documents::parse_ceilings(text, "sample");
  CHECK(write_ceilings(back) == text);
  CeilingsDocument ended = sample();
  ended.ceilings[0].pending = true;
  CHECK(parse_ceilings(write_ceilings(ended), "ended").ceilings[0].pending);
  CHECK_FALSE(back.ceilings[0].pending);
  CHECK(back.name() == "A machine");
  REQUIRE(back.ceilings.size() == 2);
  CHECK(back.ceilings[0].config == compute_ceiling().config);
  CHECK(back.ceilings[0].ci95 == compute_ceiling().ci95);
  CHECK(back.ceilings[1].clock_hz == std::nullopt);
}

TEST_CASE("a document fits its schema, and a damaged one does not") {
  nlohmann::json document = nlohmann::json::parse(write_ceilings(sample()));
  const nlohmann::json schema = test::schema("ceilings");
  CHECK(test::violations(document, schema) == std::vector<std::string>{});
  document["ceilings"][0]["status"] = "great";
  document["ceilings"][1].erase("ci95");
  CHECK(test::violations(document, schema).size() == 2);
}

TEST_CASE("percent is value over theory and is absent where either is unknown") {
  const documents::Ceiling c = compute_ceiling();
  CHECK(c.percent(c.theory.observed_clock).value() == doctest::Approx(97.65625));
  CHECK(!c.percent(c.theory.datasheet));
  CHECK(!documents::Ceiling{}.percent(1.0));
}

TEST_CASE("a ceilings file is a device, without its impossible values") {
  documents::CeilingsDocument document = sample();
  documents::Ceiling wrong = compute_ceiling();
  wrong.id = "float64.wrong";
  wrong.value = 9e11;
  wrong.status = documents::CeilingStatus::Impossible;
  document.ceilings.push_back(wrong);
  const DeviceSpec device = documents::parse_device(write_ceilings(document), "sample");
  CHECK(device.name == "A machine");
  // The fastest clean sample: a limit must not lie below what was reached.
  CHECK(device.peak(Precision::Float64, Unit::Vector)->flops_per_second.value == 2.6e11);
  CHECK(device.level("dram")->bytes_per_second.value == 3e10);
}

TEST_CASE("an H200's counters confirm the work of 46 ceilings; of three library products the wrong ones were asked") {
  const documents::CeilingsDocument h200 =
      documents::load_ceilings(test::source_path("data/measured/nvidia-h200.json"));
  int confirmed = 0, others = 0;
  for (const documents::Ceiling& c : h200.ceilings) {
    const auto found = c.counters.find("counted_over_credited");
    if (found == c.counters.end()) continue;
    CAPTURE(c.id);
    const auto* real = std::get_if<double>(&found->second);
    const auto* whole = std::get_if<std::int64_t>(&found->second);
    REQUIRE((real != nullptr || whole != nullptr));
    const bool agrees = std::abs((real ? *real : static_cast<double>(*whole)) - 1) < 0.0035;
    ++(agrees ? confirmed : others);
    CHECK((agrees || c.op == "gemm"));
  }
  CHECK(confirmed == 46);
  CHECK(others == 3);
}

TEST_CASE("every measured machine in data/measured fits the schema, is listed, and is a device with a roof") {
  namespace fs = std::filesystem;
  const std::string listed = test::read_file(test::source_path("data/measured/README.md"));
  int count = 0;
  for (const auto& entry : fs::directory_iterator(test::source_path("data/measured"))) {
    if (entry.path().extension() != ".json") continue;
    const std::string text = test::read_file(entry.path());
    // The first member is the schema of the file; a calibration contains ceilings.
    if (!test::contains(std::string_view(text).substr(0, 60), "pagoda.ceilings/1")) continue;
    CAPTURE(entry.path().string());
    test::check_schema(text, "ceilings");
    CHECK(listed.find(entry.path().filename().string()) != std::string::npos);
    const documents::CeilingsDocument document = documents::load_ceilings(entry.path());
    CHECK(document.tool.starts_with("ert-ceilings"));
    for (const documents::Ceiling& c : document.ceilings) {
      CAPTURE(c.id);
      CHECK(c.n >= 6);
      CHECK(c.ci95.has_value());
      CHECK(c.value.has_value());
      CHECK(c.kernel != "");
    }
    test::Sometimes is_order("the order of levels");
    for (const documents::CeilingCheck& check : document.checks)
      if (is_order(check.name == "ert" || check.name == "levels in order")) CHECK(check.passed);
    const DeviceSpec device = documents::load_device(entry.path());
    CHECK(device.peak(Precision::Float32, Unit::Vector)->flops_per_second.value.value() > 1e11);
    CHECK(device.level("dram")->bytes_per_second.value.value() > 1e10);
    ++count;
  }
  CHECK(count >= 1);
}

TEST_CASE("of several modes of one ceiling the sustained one is found") {
  documents::CeilingsDocument document;
  documents::Ceiling c = dram_ceiling();
  document.ceilings = {c, c, c};
  document.ceilings[0].mode = documents::CeilingMode::Issue;
  document.ceilings[2].mode = documents::CeilingMode::Burst;
  CHECK(documents::find_ceiling(document, "dram.triad.all") == &document.ceilings[1]);
  CHECK(documents::find_ceiling(document, "nothing") == nullptr);
}

TEST_CASE("two runs differ where their intervals are further apart than the tolerance") {
  struct Case {
    double now;
    documents::CeilingStatus status;
    std::size_t changes;
    bool worse;
  };
  const Case cases[] = {
      {2.50e11, documents::CeilingStatus::Ok, 0, false},            // the same
      {2.53e11, documents::CeilingStatus::Ok, 0, false},            // intervals touch
      {2.60e11, documents::CeilingStatus::Ok, 1, false},            // better
      {2.40e11, documents::CeilingStatus::Ok, 1, true},             // worse
      {2.40e11, documents::CeilingStatus::NotConverged, 0, false},  // results that did not converge are not compared
  };
  for (const Case& c : cases) {
    CAPTURE(c.now);
    documents::CeilingsDocument now = sample();
    documents::Ceiling& ceiling = now.ceilings[0];
    ceiling.value = c.now;
    ceiling.ci95 = {{c.now - 1e9, c.now + 1e9}};
    ceiling.status = c.status;
    const auto changes = documents::compare_ceilings(now, sample(), 0.01);
    REQUIRE(changes.size() == c.changes);
    CHECK((!changes.empty() && changes[0].worse) == c.worse);
  }
}

TEST_CASE("two honest runs miss each other as often as their widths let expect") {
  std::mt19937_64 random(5);
  std::normal_distribution<double> gaussian(0, 1);
  double expected = 0;
  std::int64_t apart = 0, compared = 0;
  for (int run = 0; run < 400; ++run) {
    documents::CeilingsDocument documents[2];
    for (int i = 0; i < 50; ++i)
      for (int side = 0; side < 2; ++side) {
        // Deviations from 0.1 to 0.5 %, different on each side: intervals of unequal widths miss more often.
        const double deviation = 1e8 * (1 + (i + 3 * side) % 5), value = 1e11 + deviation * gaussian(random);
        documents::Ceiling c = compute_ceiling();
        c.id = std::to_string(i);
        c.value = value;
        c.ci95 = {{value - 1.96 * deviation, value + 1.96 * deviation}};
        documents[side].ceilings.push_back(c);
      }
    const documents::Agreement a = agreement(documents[0], documents[1]);
    expected += a.expected_apart;
    apart += a.apart;
    compared += a.compared;
  }
  CHECK(compared == 20000);
  CHECK(static_cast<double>(apart) == doctest::Approx(expected).epsilon(0.2));
  CHECK(expected > 0.005 * 20000);
  // An item without an interval on one side is not compared.
  documents::CeilingsDocument with = sample(), without = sample();
  without.ceilings[0].ci95.reset();
  CHECK(agreement(with, without).compared == 0);
}

TEST_CASE("what is not a ceilings file is named as such") {
  struct Case {
    const char* text;
    const char* says;
  };
  const Case cases[] = {
      {"", "is empty"},
      {"[1]", "without a schema; expected pagoda.ceilings/1"},
      {R"({"schema": "pagoda.device/1"})", "is a device (pagoda.device/1)"},
      {R"({"schema": "pagoda.ceilings/1"})", "\"ceilings\" is missing"},
      {R"({"schema": "pagoda.ceilings/1", "ceilings": [{"kind": "magic", "id": "a"}]})", "expected one of compute, bandwidth, latency, energy, found \"magic\""},
      {R"({"schema": "pagoda.ceilings/1", "ceilings": [{"kind": "energy"}]})", "\"id\" is missing"},
      {R"({"schema": "pagoda.ceilings/1", "ceilings": [{"kind": "energy", "id": "a", "value": "1"}]})",
       "expected a number, found \"1\""},
      {R"({"schema": "pagoda.ceilings/1", "ceilings": [{"kind": "energy", "id": "a", "ci95": [1]}]})",
       "expected two numbers"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const std::string error = test::error_of([&] { documents::parse_ceilings(c.text, "file.json"); });
    CHECK(test::contains(error, c.says));
    CHECK(error.starts_with("file.json"));
  }
}

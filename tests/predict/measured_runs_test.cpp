// Bounds against whole runs on a device that nothing was fitted to.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "pagoda/base/csv_reader.h"
#include "pagoda/core/model.h"
#include "pagoda/documents/device.h"
#include "pagoda/estimate/make_estimate.h"
#include "support/files.h"

using namespace pagoda;

TEST_CASE("no run on an H200 is faster than its bound") {
  const std::string table = test::read_file(test::source_path("data/measured/nvidia-h200-runs.csv"));
  base::CsvReader reader(table, "nvidia-h200-runs.csv");
  std::vector<std::string> row;
  REQUIRE(reader.next(row));
  const std::vector<std::string> columns = row;
  const auto cell = [&](const char* name) {
    return row.at(static_cast<std::size_t>(std::find(columns.begin(), columns.end(), name) - columns.begin()));
  };
  int runs = 0;
  while (reader.next(row)) {
    const std::string name = cell("model");
    CAPTURE(name);
    const Model model = load_model(test::source_path("models/skeletons/" + name + ".onnx"));
    estimate::EstimateRequest request{.sizes = {.batch = std::stoll(cell("batch"))}, .traffic = TrafficModel::Fused};
    if (!cell("sequence").empty()) request.sizes.dims["sequence"] = std::stoll(cell("sequence"));
    request.device = documents::find_device("h200");
    request.precision = Precision::Tf32;
    const auto totals = estimate::make_estimate(model, request).roofline->totals;
    const double fastest = std::stod(cell("fastest_seconds"));
    CHECK(totals.seconds < fastest);
    CHECK(totals.floor_seconds <= totals.seconds);
    ++runs;
  }
  CHECK(runs == 38);
}

TEST_CASE("an estimate names the members of a measurement that this version does not know") {
  documents::Measured measured;
  measured.source = "torch";
  measured.seconds = 1;
  measured.unknown = {"colour"};
  const Model model = load_model(test::source_path("models/skeletons/resnet50.onnx"));
  const auto said =
      estimate::make_estimate(model, {.device = documents::find_device("h200"), .measured = measured}).diagnostics;
  CHECK(std::any_of(said.begin(), said.end(), [](const Diagnostic& each) {
    return each.message == "\"colour\" is not known to this version and was left out";
  }));
}

// Energy tables: units, omitted rows, and the published study's constants from its 24 rows.
#include "pagoda/measured/energy_table.h"

#include <doctest/doctest.h>

#include "pagoda/core/model.h"
#include "pagoda/documents/device.h"
#include "pagoda/estimate/make_estimate.h"
#include "pagoda/lab/energy_report.h"
#include "pagoda/measured/import.h"
#include "support/files.h"
#include "support/json_schema.h"

using namespace pagoda;
using namespace pagoda::lab;
using namespace pagoda::measured;
using doctest::Approx;

namespace {

// Adds the published counts of a network, with its published times and powers.
void add_published(EnergyTable& table, const std::string& model, const std::string& runs) {
  const Model network = load_model(test::source_path("models/skeletons/" + model + ".onnx"));
  const documents::EstimateDocument estimate =
      estimate::make_estimate(network, {.count = Convention::Pagoda, .sweep = {parse_axis("batch=1,4,8,16,32,64")}});
  add_energy_runs(table, load_profile(test::source_path("data/measured/orin-agx/" + runs + ".csv"), {}), &estimate, runs);
}

EnergyTable published() {
  EnergyTable table;
  for (const char* model : {"bert_large", "mobilenet_v3_large", "resnet50", "yolov8n"})
    add_published(table, model, model);
  add_published(table, "lstm_positions8", "lstm");
  return table;
}

}  // namespace

TEST_CASE("the 24 published rows give the constants and the error that are known for them") {
  const EnergyTable table = published();
  REQUIRE(table.rows.size() == 24);
  REQUIRE(table.left_out.size() == 1);  // 18.4 W between 53.5 and 55.4 W
  CHECK(table.left_out[0].find("batch=32: power is far from") != std::string::npos);
  const EnergyFit fit = fit_energy(table.rows);
  // A relative least-squares fit by other means gave 8.67 pJ/FLOP, 133.6 pJ/B, 23.1 W and 16.5 % on rounded rows.
  CHECK(fit.terms[0].value == Approx(8.67e-12).epsilon(0.005));
  CHECK(fit.terms[1].value == Approx(133.6e-12).epsilon(0.005));
  CHECK(fit.terms[2].value == Approx(23.1).epsilon(0.005));
  CHECK(fit.mean_error == Approx(0.165).epsilon(0.005));
  CHECK(fit.indistinct.empty());
  // The device's file states the same constants.
  const DeviceSpec orin = documents::device("orin-agx");
  REQUIRE(orin.energy);
  CHECK(*orin.energy->work[0].joules_per_flop.value == Approx(fit.terms[0].value).epsilon(1e-3));
  CHECK(*orin.energy->joules_per_byte.value == Approx(fit.terms[1].value).epsilon(1e-3));
  CHECK(*orin.energy->constant_watts.value == Approx(fit.terms[2].value).epsilon(1e-3));
}

TEST_CASE("a run is called by the model of its estimate, whatever its settings call it") {
  const Model network = load_model(test::source_path("models/skeletons/resnet50.onnx"));
  const documents::EstimateDocument estimate = estimate::make_estimate(network, {.sweep = {parse_axis("batch=1,8")}});
  documents::Measured measured;
  measured.runs.push_back({.config = {{"batch", std::int64_t{8}}, {"model", std::string("net")}},
                           .seconds = 0.01,
                           .watts = 50,
                           .energy_joules = 0.5,
                           .note = ""});
  EnergyTable table;
  add_energy_runs(table, measured, &estimate, "runs");
  REQUIRE(table.rows.size() == 1);
  CHECK(table.rows[0].label == "resnet50 batch=8");
  CHECK(base::setting_text(table.rows[0].config.at("model")) == "resnet50");
}

TEST_CASE("columns are found by name and read in their units; watts stand for joules") {
  const EnergyTable table = read_energy_csv(
      "model,batch,work(GFLOP),traffic [MB],time(ms),power(W)\r\nnet,8,2,10,4,25\r\nnet,16,4,20,,25\r\nother,1,1,1,,\r\n", "t.csv");
  REQUIRE(table.rows.size() == 1);
  const EnergyRun& run = table.rows[0];
  CHECK(run.label == "net batch=8");
  CHECK(run.flops == Approx(2e9));
  CHECK(run.bytes == Approx(10e6));
  CHECK(run.seconds == Approx(4e-3));
  CHECK(run.joules == Approx(0.1));
  CHECK_THROWS_WITH_AS(read_energy_csv("a,b\n1,2\n", "t.csv"), doctest::Contains("no column \"flops\""), Error);
  CHECK_THROWS_WITH_AS(read_energy_csv("flops(kg),bytes,seconds,joules\n1,2,3,4\n", "t.csv"),
                       doctest::Contains("\"kg\" is not a unit"), Error);
}

TEST_CASE("constants that grow together in all runs are named as not separable, and written as unknown") {
  std::vector<EnergyRun> runs;
  // Always 20 FLOP/B: work and traffic cannot be separated; time is independent of both.
  for (int i = 1; i <= 8; ++i) {
    const double flops = 1e9 * i, bytes = flops / 20, seconds = 1e-3 * (1 + i % 3);
    runs.push_back({.label = "r", .config = {}, .flops = flops, .bytes = bytes, .seconds = seconds,
                    .joules = 10e-12 * flops + 100e-12 * bytes + 20 * seconds});
  }
  const EnergyFit fit = fit_energy(runs);
  REQUIRE(fit.indistinct.size() == 1);
  CHECK(fit.indistinct[0] == std::vector<std::string>{"joules_per_flop", "joules_per_byte"});
  const lab::EnergyStudy study{.label = "", .rows = runs, .fit = fit};
  CHECK(lab::energy_report({study}, {}, {}, Precision::Float32).find("not separable: work and traffic") !=
        std::string::npos);
  const DeviceEnergy energy = lab::device_energy(study, Precision::Float32, "test");
  CHECK_FALSE(energy.joules_per_byte.known());
  CHECK(*energy.constant_watts.value == Approx(20));
}

TEST_CASE("each setting has a fit of its own, and a setting that no run has is refused") {
  EnergyTable table = published();
  const auto groups = grouped_by(table.rows, {"model"});
  CHECK(groups.size() == 5);
  CHECK(groups[0].first == "model=bert_large");
  CHECK(groups[0].second.size() == 5);
  CHECK_THROWS_WITH_AS(grouped_by(table.rows, {"colour"}), doctest::Contains("no setting \"colour\""), Error);
}

TEST_CASE("fitted constants become the energy section of a device file, or of one of its modes, and read back") {
  const EnergyTable table = published();
  const lab::EnergyStudy study{.label = "", .rows = table.rows, .fit = fit_energy(table.rows)};
  const DeviceEnergy energy = lab::device_energy(study, Precision::Float32, "fitted");
  const std::string json = documents::device_with_energy("rtx-4090", energy);
  test::check_schema(json, "device");
  const DeviceSpec spec = documents::parse_device(json, "rtx.json");
  REQUIRE(spec.energy);
  CHECK(*spec.energy->constant_watts.value == Approx(study.fit.terms[2].value));
  CHECK(spec.energy->work[0].joules_per_flop.source.find("95 %") != std::string::npos);
  CHECK(spec.peaks.size() == documents::device("rtx-4090").peaks.size());
  const std::string mode = documents::device_with_energy("orin-agx:30w", energy);
  test::check_schema(mode, "device");
  CHECK(in_power_mode(documents::parse_device(mode, "o.json"), "30w").energy);
  CHECK_FALSE(in_power_mode(documents::parse_device(mode, "o.json"), "15w").energy);
  CHECK_THROWS_AS(documents::device_with_energy("orin-agx:gpu=1GHz", energy), UnknownDevice);
}

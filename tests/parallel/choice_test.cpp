// A table over devices and numbers of devices: each row is what a run of those devices alone gives.
#include <doctest/doctest.h>

#include "pagoda/core/model.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/documents/device.h"
#include "pagoda/documents/estimate.h"
#include "pagoda/estimate/engines.h"
#include "pagoda/estimate/make_estimate.h"
#include "pagoda/present/report.h"
#include "support/files.h"
#include "support/json_schema.h"

using namespace pagoda;

namespace {

Model skeleton(const std::string& name) { return load_model(test::source_path("models/skeletons/" + name + ".onnx")); }

// A decode step of eight sequences under a serving engine, and a prompt of 512 tokens.
estimate::EstimateRequest choice(std::vector<ParallelOptions> groups) {
  estimate::EstimateRequest request{.sizes = {.batch = 8}, .traffic = TrafficModel::Fused};
  request.phase = PhaseOptions{.phase = Phase::Decode, .past = 1023};
  request.precision = Precision::Bfloat16;
  request.engine = documents::calibration("llm-serving");
  request.other_devices = {documents::find_device("l40s"), documents::find_device("h100-sxm")};
  request.other_parallel = std::move(groups);
  request.prompt = 512;
  return request;
}

// The run of one row by itself.
documents::EstimateDocument alone(const Model& model, estimate::EstimateRequest request,
                                  const documents::EstimateVariant& row) {
  request.other_devices.clear();
  request.other_parallel.clear();
  request.prompt = 0;
  request.device = documents::find_device(row.device);
  if (row.devices() > 1) request.parallel = row.parallel;
  return estimate::make_estimate(model, request);
}

void check_row(const Model& model, const estimate::EstimateRequest& request, const documents::EstimateVariant& row) {
  CAPTURE(row.device);
  CAPTURE(row.devices());
  const documents::EstimateDocument run = alone(model, request, row);
  CHECK(row.seconds == run.roofline->totals.seconds);
  CHECK(row.floor_seconds == run.roofline->totals.floor_seconds);
  CHECK(row.total_bytes == run.fit->total_bytes);
  CHECK(row.weight_bytes == run.fit->weight_bytes);
  CHECK(row.cache_bytes == run.fit->cache_bytes);
  CHECK(row.fits == run.fit->fits);
  CHECK(row.largest_batch == run.fit->largest_batch);
  CHECK(row.longest_context == run.fit->longest_context);
  CHECK(row.items_per_second == run.phase->tokens_per_second);
  CHECK((row.devices() == 1 || row.device_items_per_second == run.phase->device_tokens_per_second));
  REQUIRE(row.predicted);
  CHECK(row.predicted->seconds == run.roofline->predicted->seconds);
  CHECK(row.predicted->high == run.roofline->predicted->high);
  CHECK(*row.predicted->device_items_per_second * static_cast<double>(row.devices()) ==
        doctest::Approx(8 / *row.predicted->seconds));

  estimate::EstimateRequest prefill = request;
  prefill.sizes.batch = row.prompt->sequences;
  prefill.phase = PhaseOptions{.phase = Phase::Prefill, .tokens = 512, .past = 0};
  const documents::EstimateDocument prompt = alone(model, prefill, row);
  CHECK(row.prompt->seconds == prompt.roofline->totals.seconds);
  CHECK(row.prompt->predicted->seconds == prompt.roofline->predicted->seconds);
}

}  // namespace

TEST_CASE("each row of a table over devices and their numbers is the run of those devices alone") {
  struct Row {
    const char* model;
    std::vector<ParallelOptions> groups;
  };
  const Row rows[] = {
      {"mistral_7b", {{}, {.tensor = 2}, {.tensor = 4}, {.tensor = 2, .pipeline = 2}}},
      {"mixtral_8x7b", {{}, {.tensor = 4}, {.expert = 4}, {.tensor = 2, .expert = 2}}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.model);
    const Model model = skeleton(row.model);
    const estimate::EstimateRequest request = choice(row.groups);
    const documents::EstimateDocument table = estimate::make_estimate(model, request);
    REQUIRE(table.variants.size() == 2 * row.groups.size());
    for (std::size_t i = 0; i < table.variants.size(); ++i) {
      const documents::EstimateVariant& variant = table.variants[i];
      REQUIRE(variant.parallel);
      CHECK(variant.devices() == row.groups[i % row.groups.size()].devices());
      CHECK(variant.prompt->sequences == variant.parallel->expert);
      check_row(model, request, variant);
    }
    const std::string text = documents::write_estimate(table);
    test::check_schema(text, "estimate");
    CHECK(documents::write_estimate(documents::parse_estimate(text, "estimate")) == text);
  }
}

TEST_CASE("devices that cannot share the model are a row with the reason; none that can are an error") {
  const Model model = skeleton("mistral_7b");
  const documents::EstimateDocument table = estimate::make_estimate(model, choice({{.tensor = 2}, {.tensor = 5}}));
  REQUIRE(table.variants.size() == 4);
  CHECK(table.variants[0].refused.empty());
  CHECK(test::contains(table.variants[1].refused, "5 devices do not divide the 32 query heads"));
  CHECK_FALSE(table.variants[1].seconds);
  CHECK_FALSE(table.variants[1].fits);
  const std::string text = documents::write_estimate(table);
  test::check_schema(text, "estimate");
  CHECK(documents::write_estimate(documents::parse_estimate(text, "estimate")) == text);
  const std::string report = present::table_report(table);
  CHECK(test::contains(report, "(5 × l40s, 5 × h100-sxm)"));  // one reason, said once
  CHECK(test::contains(report, "fewest that hold it: 2 × l40s, 2 × h100-sxm\n"));
  CHECK(test::contains(test::error_of([&] { estimate::make_estimate(model, choice({{.tensor = 5}, {.tensor = 7}})); }),
                       "5 devices do not divide"));
  estimate::EstimateRequest prefill = choice({{.tensor = 2}});
  prefill.phase->phase = Phase::Prefill;
  CHECK(test::contains(estimate::refusal(prefill), "`prompt`"));
}

TEST_CASE("a price is of all devices of a row") {
  estimate::EstimateRequest request = choice({{}, {.tensor = 4}});
  request.price_per_hour["l40s"] = 2;
  const documents::EstimateDocument table = estimate::make_estimate(skeleton("mistral_7b"), request);
  for (std::size_t i : {0, 1}) {
    const documents::EstimateVariant& row = table.variants[i];
    CHECK(*row.price_per_million ==
          doctest::Approx(2.0 * static_cast<double>(row.devices()) / 3600 * 1e6 / *row.items_per_second));
  }
  CHECK_FALSE(table.variants[2].price_per_million);
}

// The metric catalogue without CUPTI: its files are complete and consistent; what the modes collect; what counted
// values amount to. `pagoda-metrics --check` checks that its names and pass counts are CUPTI's.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "import/ncu_metrics.h"
#include "pagoda/documents/metrics.h"
#include "support/files.h"
#include "support/json_schema.h"
#include "support/sometimes.h"

namespace pagoda::measured {
namespace {

using nlohmann::json;

std::set<std::string> collected_by(const documents::MetricPlan& plan) {
  std::set<std::string> all;
  for (const documents::MetricGroup& group : plan.groups) all.insert(group.metrics.begin(), group.metrics.end());
  return all;
}

bool names(const std::vector<documents::Missing>& missing, const std::string& what) {
  return std::any_of(missing.begin(), missing.end(), [&](const documents::Missing& m) { return m.what == what; });
}

TEST_CASE("every file of the catalogue follows its schema, is built in, and is written as it is read") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_path("data/metrics"))) {
    const std::string path = entry.path().string();
    CAPTURE(path);
    ++files;
    const std::string text = test::read_file(path);
    test::check_schema(text, "metrics");
    const documents::ChipMetrics chip = documents::parse_chip_metrics(text, path);
    CHECK(entry.path().stem() == chip.family);
    CHECK(&documents::chip_metrics(chip.family) != nullptr);
    CHECK(documents::write_chip_metrics(chip) == text);
  }
  CHECK(files == documents::metric_catalogue().size());
  CHECK(files >= 13);
}

TEST_CASE("a chip is in one family, and a family's numbers agree with each other") {
  std::set<std::string> chips;
  for (const documents::ChipMetrics& family : documents::metric_catalogue()) {
    CAPTURE(family.family);
    CHECK(family.chips.front() == family.family);
    for (const std::string& chip : family.chips) CHECK_MESSAGE(chips.insert(chip).second, chip << " is there twice");
    std::set<std::string> ids;
    test::Sometimes is_amount("a quantity that is no peak");
    for (const documents::MetricQuantity& quantity : family.quantities) {
      CAPTURE(quantity.id);
      CHECK(ids.insert(quantity.id).second);
      for (const documents::MetricFormula& formula : quantity.formulas) {
        std::set<std::string> metrics;
        CHECK(formula.term_passes <= formula.passes);
        if (is_amount(!quantity.id.starts_with("peak."))) CHECK(formula.base_passes >= formula.passes);
        for (const documents::MetricTerm& term : formula.terms) {
          CHECK_MESSAGE(metrics.insert(term.metric).second, term.metric << " is counted twice");
          CHECK(term.metric.find('.') != std::string::npos);
          CHECK(term.weight > 0);
        }
      }
    }
    // Every chip has time, cycles and cache counters, and either DRAM counters or a reason why there are none.
    for (const char* id : {"seconds", "cycles", "bytes.l2", "bytes.l1", "flops.float32", "flops.float64"})
      CHECK_MESSAGE(ids.contains(id), id);
    CHECK((ids.contains("bytes.dram_read") || names(family.missing, "bytes.dram_read")));
    CHECK(family.groups.front().passes == 1);
  }
  for (const char* chip : {"GH100", "GA100", "GA102", "AD102", "GB100", "GB202", "TU102"}) CHECK(chips.contains(chip));
}

TEST_CASE("exact collects every quantity, rotate all of them where no term needs two passes, quick the first group") {
  for (const documents::ChipMetrics& family : documents::metric_catalogue()) {
    CAPTURE(family.family);
    const documents::MetricPlan exact = documents::plan_metrics(family, documents::MetricMode::Exact),
                                rotate = documents::plan_metrics(family, documents::MetricMode::Rotate),
                                quick = documents::plan_metrics(family, documents::MetricMode::Quick);
    CHECK(exact.missing.size() == family.missing.size());
    for (const documents::MetricGroup& group : rotate.groups) CHECK(group.passes == 1);
    CHECK(quick.groups.size() == 1);
    CHECK(quick.groups.front().metrics == family.groups.front().metrics);
    CHECK(names(quick.missing, "flops.float32"));
    for (const documents::MetricQuantity& quantity : family.quantities) {
      if (!quantity.id.starts_with("flops.")) continue;
      CAPTURE(quantity.id);
      const bool is_told =
          std::any_of(quantity.formulas.begin(), quantity.formulas.end(), [&](const documents::MetricFormula& f) {
            const auto all = collected_by(rotate);
            return std::all_of(f.terms.begin(), f.terms.end(),
                               [&](const documents::MetricTerm& t) { return all.contains(t.metric); });
          });
      CHECK(is_told != names(rotate.missing, quantity.id));
    }
  }
}

TEST_CASE("each precision and level has a peak on every chip, told beside any group and counted by none") {
  for (const documents::ChipMetrics& family : documents::metric_catalogue()) {
    CAPTURE(family.family);
    for (const documents::MetricQuantity& quantity : family.quantities) {
      CAPTURE(quantity.id);
      if (quantity.id.starts_with("flops."))
        CHECK(family.quantity("peak." + quantity.id.substr(6)) != nullptr);
      else if (quantity.id == "bytes.dram" || quantity.id == "bytes.l2" || quantity.id == "bytes.l1")
        CHECK(family.quantity("peak." + quantity.id) != nullptr);
    }
    for (const documents::MetricMode mode :
         {documents::MetricMode::Quick, documents::MetricMode::Rotate, documents::MetricMode::Exact}) {
      const documents::MetricPlan plan = documents::plan_metrics(family, mode);
      CHECK(plan.constants.size() >= 6);
      for (const std::string& metric : plan.constants) CHECK(metric.ends_with(".peak_sustained"));
      for (const std::string& metric : collected_by(plan)) CHECK_FALSE(metric.ends_with(".peak_sustained"));
    }
    CHECK((family.quantity("cycles.dram") || !family.quantity("bytes.dram") || names(family.missing, "cycles.dram")));
  }
  const auto amounts = documents::evaluate_metrics(
      documents::chip_metrics("GH100"), {{"sm__sass_thread_inst_executed_op_hfma_pred_on.sum.peak_sustained", 16896}});
  CHECK(amounts.at("peak.float16") == 4 * 16896);  // two lanes, two operations
}

TEST_CASE("quick counts a precision that is asked for beside time and bytes, or says which modes can") {
  const documents::ChipMetrics& hopper = documents::chip_metrics("GH100");
  const auto metrics = collected_by(documents::plan_metrics(hopper, documents::MetricMode::Quick, "tf32.tensor"));
  CHECK(metrics.contains("sm__ops_path_tensor_src_tf32_dst_fp32.sum"));
  CHECK(metrics.contains("dram__bytes_read.sum"));
  CHECK(metrics.contains("dram__cycles_elapsed.avg"));
  CHECK_FALSE(metrics.contains("sm__ops_path_tensor_src_bf16_dst_fp32.sum"));
  CHECK_THROWS_WITH_AS(documents::plan_metrics(hopper, documents::MetricMode::Quick, "float16.tensor"),
                       doctest::Contains("`mode=rotate`"), Error);
  CHECK_THROWS_WITH_AS(documents::plan_metrics(hopper, documents::MetricMode::Quick, "float128"),
                       doctest::Contains("float64"), Error);
}

TEST_CASE("what a device cannot count is left out and named") {
  const documents::MetricPlan plan =
      documents::plan_metrics(documents::chip_metrics("GH100"), documents::MetricMode::Rotate, "",
                              [](const std::string& metric) { return !metric.starts_with("dram__"); });
  for (const std::string& metric : collected_by(plan)) CHECK_FALSE(metric.starts_with("dram__"));
  CHECK(names(plan.missing, "bytes.dram_read"));
  CHECK_FALSE(names(plan.missing, "bytes.l2"));
}

TEST_CASE("an unknown chip is an error that lists the known ones") {
  CHECK_THROWS_WITH_AS(documents::chip_metrics("XX900"), doctest::Contains("GH100"), Error);
}

// FLOP per instruction and per tensor product. The importer of Nsight Compute's tables weighs the same counters by its
// own rules, which were written independently of the catalogue.
TEST_CASE("values amount to what Nsight Compute's importer makes of them, on every chip") {
  test::Sometimes has_dram("traffic of memory"), has_shared("traffic of shared memory");
  for (const documents::ChipMetrics& family : documents::metric_catalogue()) {
    CAPTURE(family.family);
    std::map<std::string, double> values;
    double next = 1;
    for (const std::string& metric : collected_by(documents::plan_metrics(family, documents::MetricMode::Exact)))
      values[metric] = next *= 2;
    const auto amounts = documents::evaluate_metrics(family, values);
    std::map<std::string, double> as_ncu = values;  // the importer needs seconds
    as_ncu["gpu__time_duration.sum"] *= 1e-9;
    const import::LaunchSample sample = import::sample_of(as_ncu);
    CHECK(amounts.at("seconds") == doctest::Approx(*sample.seconds));
    if (has_dram(sample.bytes.dram)) CHECK(amounts.at("bytes.dram") == *sample.bytes.dram);
    CHECK(amounts.at("bytes.l2") == *sample.bytes.l2);
    CHECK(amounts.at("bytes.l1") == *sample.bytes.l1);
    if (has_shared(sample.bytes.shared)) CHECK(amounts.at("bytes.shared") == *sample.bytes.shared);
    for (const auto& [name, flops] : sample.flops) {
      const std::string& precision = name;
      CAPTURE(precision);
      REQUIRE(amounts.contains("flops." + precision));
      CHECK(amounts.at("flops." + precision) == *flops);
    }
  }
}

TEST_CASE("a value that is not there leaves its quantity out") {
  const auto amounts = documents::evaluate_metrics(documents::chip_metrics("GH100"), {{"dram__bytes_read.sum", 4096}});
  CHECK(amounts == std::map<std::string, double>{{"bytes.dram_read", 4096}});
}

}  // namespace
}  // namespace pagoda::measured

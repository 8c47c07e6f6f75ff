// Reads headlines back: over models, devices, precisions, traffic models, phases, runs and sweeps, no headline says
// more than its estimate.
#include <doctest/doctest.h>

#include <regex>

#include "pagoda/core/model.h"
#include "pagoda/documents/columns.h"
#include "pagoda/documents/device.h"
#include "pagoda/estimate/make_estimate.h"
#include "pagoda/present/report.h"
#include "report/verdict.h"
#include "support/files.h"

namespace pagoda::present::report {
namespace {

using documents::Count;
using documents::EstimateDocument;
using documents::EstimateRoofline;
using estimate::EstimateRequest;

// "635 µs" in seconds; a number without a unit has that of `first`.
double seconds_of(const std::string& text, const std::string& first = "") {
  const auto blank = text.find(' ');
  const std::string unit = blank == std::string::npos ? first.substr(first.find(' ') + 1) : text.substr(blank + 1);
  static const std::map<std::string, double> kUnits = {{"s", 1},     {"ms", 1e-3},  {"µs", 1e-6},
                                                       {"ns", 1e-9}, {"ps", 1e-12}, {"fs", 1e-15}};
  return std::stod(text) * kUnits.at(unit);
}

// A headline as numbers.
struct Read {
  std::map<std::string, double> times;  // "fused", "floor", "launched", "graph", "measured", "predicted", …
  std::string lead;                     // which of them comes first
  double share = 0;                     // of the limit
};

Read read(const std::string& text) {
  Read result;
  std::smatch found;
  static const std::regex kLaunched(
      "launch-bound: ≥ ([\\d.]+ \\S?\\S?s)(?: a training step)?(?:; ([\\d.]+ \\S+) as a (CUDA|HIP|single) graph)?"),
      kBound(
          "^(?:does not fit: [^;]*; )?(?:≥ )?([\\d.]+ \\S+) (?:a training step, )?(fused|unfused|resident)"
          "(?: for what is modelled)?(?: \\(([^)]*)\\))?"),
      kOther("(floor) ([\\d.]+(?: [^\\s;]+)?)|([\\d.]+(?: [^\\s;]+)?) (fused|unfused)"),
      kTold("^(?:does not fit: [^;]*; )?([\\d.]+ \\S+) (measured|predicted)"),
      kLimit("(memory|compute)-bound for ([\\d.]+) % of the time");
  if (std::regex_search(text, found, kLaunched)) {
    result.times = {{"launched", seconds_of(found[1])}};
    if (found[2].matched) result.times["graph"] = seconds_of(found[2]);
    result.lead = "launched";
  } else if (std::regex_search(text, found, kTold)) {
    result.lead = found[2];
    result.times[result.lead] = seconds_of(found[1]);
  } else if (std::regex_search(text, found, kBound)) {
    const std::string first = found[1], others = found[3];
    result.lead = found[2];
    result.times[result.lead] = seconds_of(first);
    for (std::sregex_iterator each(others.begin(), others.end(), kOther), end; each != end; ++each)
      result.times[(*each)[1].matched ? "floor" : (*each)[4].str()] =
          seconds_of((*each)[1].matched ? (*each)[2] : (*each)[3], first);
  }
  if (std::regex_search(text, found, kLimit)) result.share = std::stod(found[2]);
  return result;
}

bool is_close(double a, double b) { return std::abs(a / b - 1) < 0.006; }  // three digits

// What every headline keeps.
void check_headline(const EstimateDocument& estimate) {
  const std::string text = headline(estimate);
  CAPTURE(estimate.model.path);
  CAPTURE(text);
  CHECK(text.find("at least") == std::string::npos);
  CHECK(text.find("latency") == std::string::npos);
  if (!estimate.unset.empty()) {
    CHECK(text.starts_with("set "));
    CHECK(text.find_first_of("0123456789") == std::string::npos);
    return;
  }
  const EstimateRoofline& roofline = *estimate.roofline;
  if (!estimate.cannot_run.empty()) {
    CHECK(text == "cannot run: " + estimate.cannot_run);
    CHECK(roofline.totals.seconds == 0);
    CHECK(estimate.advice.empty());
    return;
  }
  CHECK((estimate.fit && estimate.fit->fits == false) == text.starts_with("does not fit"));
  const RooflineTotals& totals = estimate.training ? *estimate.training->time : roofline.totals;
  if (totals.seconds <= 0) {  // no peak is known
    CHECK(text.find("least time is known") != std::string::npos);
    return;
  }
  const Read said = read(text);
  REQUIRE(!said.lead.empty());
  const double slack = 1.006;
  if (said.lead == "launched") {
    // Launches are the headline only if its time is theirs.
    REQUIRE(totals.eager_seconds);
    CHECK(is_close(said.times.at("launched"), *totals.eager_seconds));
    // A graph is launched once, so that one of one kernel gains nothing.
    CHECK(said.times.contains("graph") == (totals.graph_seconds() * kWorthALine < *totals.eager_seconds));
    if (!said.times.contains("graph")) return;
    CHECK(is_close(said.times.at("graph"), totals.graph_seconds()));
    CHECK(totals.graph_seconds() >= std::max(totals.seconds, roofline.launch_overhead_seconds.value_or(0)));
    CHECK(said.times.at("launched") > said.times.at("graph"));
    const Verdict verdict = *verdict_of(estimate);
    REQUIRE(!verdict.actions.empty());
    const auto first = std::ranges::find_if(verdict.actions, [](const auto& each) { return each.gain.has_value(); });
    REQUIRE(first != verdict.actions.end());
    CHECK(first->text.starts_with("Capture a "));
    return;
  }
  if (estimate.measured) {
    CHECK(said.lead == "measured");
    CHECK(is_close(said.times.at("measured"), estimate.measured->seconds));
    return;
  }
  if (roofline.predicted && roofline.predicted->seconds) {
    CHECK(said.lead == "predicted");
    CHECK(is_close(said.times.at("predicted"), *roofline.predicted->seconds));
    return;
  }
  CHECK(said.lead == to_string(roofline.traffic));
  CHECK(is_close(said.times.at(said.lead), totals.seconds));
  CHECK(said.share >= 50);
  CHECK(said.share <= 100);
  if (totals.floor_seconds > 0) CHECK(is_close(said.times.at("floor"), totals.floor_seconds));
  for (const auto& [name, seconds] : said.times) {
    if (said.times.contains("floor")) CHECK(seconds * slack >= said.times.at("floor"));
    if (name == "unfused" && said.times.contains("fused")) CHECK(said.times.at("fused") <= seconds * slack);
  }
  // The ladder has the same times.
  const std::vector<Rung> ladder = verdict_of(estimate)->ladder;
  for (const Rung& rung : ladder)
    if (const auto found = said.times.find(rung.name); found != said.times.end())
      CHECK(is_close(found->second, rung.seconds));
}

TEST_CASE("headlines of models, devices, precisions and traffic models keep to their estimates") {
  struct Case {
    const char* model;
    std::int64_t batch;
    std::map<std::string, std::int64_t> dims;
  };
  const Case cases[] = {{"resnet50", 1, {}}, {"resnet50_qdq_int8", 8, {}},
                        {"swin_t", 1, {}},   {"bert_base", 8, {{"sequence", 384}}},
                        {"lstm", 4, {}},     {"mobilenet_v3_large", 64, {}}};
  for (const Case& each : cases) {
    const Model model = load_model(test::source_path(std::string("models/skeletons/") + each.model + ".onnx"));
    for (const char* device : {"h200", "rtx-4090", "mi300x", "xeon-8275cl", "orin-agx"})
      for (const auto& precision : {std::optional<Precision>(), std::optional(Precision::Float16)})
        for (const TrafficModel traffic : {TrafficModel::Unfused, TrafficModel::Fused}) {
          EstimateRequest request{.traffic = traffic,
                                  .device = documents::find_device(device),
                                  .precision = precision,
                                  .advice = std::string_view(device) == "h200"};
          request.sizes.batch = each.batch;
          for (const auto& [dim, size] : each.dims) request.sizes.dims[dim] = size;
          try {
            check_headline(estimate::make_estimate(model, request));
          } catch (const Error& error) {  // a model without such a batch
            request.sizes.batch = 0;
            check_headline(estimate::make_estimate(model, request));
          }
        }
  }
}

TEST_CASE("headlines of phases, training, predictions and runs are about them") {
  const Model llama = load_model(test::source_path("models/skeletons/llama_past.onnx"));
  for (const Phase phase : {Phase::Prefill, Phase::Decode})
    for (const TrafficModel traffic : {TrafficModel::Unfused, TrafficModel::Fused}) {
      EstimateRequest request{
          .phase = PhaseOptions{.phase = phase, .tokens = phase == Phase::Decode ? 1 : 128, .past = 1000},
          .traffic = traffic,
          .device = documents::find_device("h200")};
      request.sizes.batch = 4;
      const EstimateDocument estimate = estimate::make_estimate(llama, request);
      check_headline(estimate);
      CHECK(test::contains(headline(estimate), "tokens/s"));
    }
  const Model resnet = load_model(test::source_path("models/skeletons/resnet50.onnx"));
  EstimateRequest request{.device = documents::find_device("h200")};
  request.sizes.batch = 8;
  EstimateDocument estimate = estimate::make_estimate(resnet, request);
  documents::EstimateMeasured& run = estimate.measured.emplace();
  run.seconds = 2 * estimate.roofline->totals.seconds, run.bound_share = 0.5;
  check_headline(estimate);
  CHECK(test::contains(headline(estimate), "50 % of what its roofs can do"));
  request.training = TrainingOptions{};
  const EstimateDocument step = estimate::make_estimate(resnet, request);
  check_headline(step);
  CHECK(test::contains(headline(step), "a training step"));
}

// A document of one memory-bound kernel, by hand.
EstimateDocument by_hand() {
  EstimateDocument estimate;
  estimate.model.path = "net.onnx";
  estimate.bindings = {{"batch", 4}};
  EstimateRoofline& roofline = estimate.roofline.emplace();
  roofline.device_name = "NVIDIA H200";
  roofline.traffic = TrafficModel::Fused;
  roofline.items = 4;
  roofline.totals.seconds = 635e-6;
  roofline.totals.floor_seconds = 571e-6;
  roofline.fused_seconds = 635e-6;
  roofline.unfused_seconds = 2.10e-3;
  RowBound memory, compute;
  memory.bound = Bound::Memory, memory.seconds = 3, compute.bound = Bound::Compute, compute.seconds = 1;
  roofline.rows = {memory, compute};
  return estimate;
}

TEST_CASE("the headline is the bound of an engine that fuses, then the floor and the time unfused") {
  EstimateDocument estimate = by_hand();
  CHECK(headline(estimate) == "635 µs fused (floor 571; 2.10 ms unfused), memory-bound for 75 % of the time");
  estimate.roofline->traffic = TrafficModel::Unfused;  // asked for
  estimate.roofline->totals.seconds = 2.10e-3;
  CHECK(headline(estimate) == "2.10 ms unfused (floor 571 µs; 635 µs fused), memory-bound for 75 % of the time");
  const std::vector<Rung> ladder = verdict_of(estimate)->ladder;
  REQUIRE(ladder.size() == 3);
  CHECK(ladder[0].name == "unfused");
  CHECK(ladder[1].name == "fused");
  CHECK(ladder[2].name == "floor");
  estimate.roofline->totals.at_least = true;  // by a size that the data decide
  CHECK(headline(estimate).starts_with("≥ 2.10 ms unfused (floor"));
  estimate.totals.partial = true;
  CHECK(headline(estimate).starts_with("≥ 2.10 ms unfused for what is modelled (floor"));
}

TEST_CASE("launches that exceed the work are the headline, and a graph the first action") {
  EstimateDocument estimate = by_hand();
  estimate.roofline->totals.eager_seconds = 6.35e-3;
  estimate.advice = {{.kind = documents::AdviceKind::Batch, .batch = 32, .seconds = 6.35e-3, .gain = 8}};
  const Verdict verdict = *verdict_of(estimate);
  CHECK(verdict.headline() == "launch-bound: ≥ 6.35 ms; 635 µs as a CUDA graph");
  REQUIRE(verdict.actions.size() == 2);
  CHECK(verdict.actions[0].sentence() == "Capture a CUDA graph: 6.35 ms → 635 µs (10.0× lower bound).");
  CHECK(verdict.actions[1].sentence() == "Batch 32: 5,040 items/s, 6.35 ms a run (8.00× the items/s).");
  CHECK(verdict.ladder.back().name == "launched");
  estimate.phase.emplace();
  CHECK(headline(estimate) ==
        "launch-bound: ≥ 6.35 ms; 635 µs as a CUDA graph, at most 630 tokens/s; 6,300 tokens/s as a CUDA graph");
  estimate.roofline->totals.eager_seconds = 640e-6;  // within 5 %
  CHECK(headline(estimate).starts_with("635 µs fused"));
}

TEST_CASE("devices are ranked by their times with launches") {
  EstimateDocument estimate = by_hand();
  estimate.variants.resize(2);
  estimate.variants[0].device = "wide", estimate.variants[0].seconds = 30e-6;
  estimate.variants[0].launched_seconds = 591e-6;
  estimate.variants[1].device = "narrow", estimate.variants[1].seconds = 143e-6;
  estimate.variants[1].launched_seconds = 100e-6;
  CHECK(headline(estimate) == "fastest on narrow: ≥ 143 µs, then wide: ≥ 591 µs launched (4.13×)");
}

TEST_CASE("times keep their units from the first that differs") {
  EstimateDocument estimate = by_hand();
  estimate.roofline->traffic = TrafficModel::Unfused;
  estimate.roofline->totals.seconds = 34e-3;
  estimate.roofline->totals.floor_seconds = 826e-6;
  estimate.roofline->fused_seconds = 1.24e-3;
  CHECK(headline(estimate).starts_with("34.0 ms unfused (floor 826 µs; 1.24 ms fused)"));
}

TEST_CASE("sizes to set come first, without a number") {
  EstimateDocument estimate = by_hand();
  estimate.unset = {"height", "width"};
  check_headline(estimate);
  CHECK(headline(estimate) == "set height, width first");
  estimate.roofline.reset();
  CHECK(headline(estimate) == "set height, width first");
  CHECK(headline(EstimateDocument()).empty());
}

TEST_CASE("a model that does not fit says so first, and what would hold it") {
  EstimateDocument estimate = by_hand();
  documents::EstimateFit& fit = estimate.fit.emplace();
  fit.device_bytes = 141'000'000'000, fit.total_bytes = 163'000'000'000, fit.fits = false;
  const Verdict verdict = *verdict_of(estimate);
  CHECK(verdict.is_blocked);
  CHECK(verdict.headline().starts_with("does not fit: 163 GB of 141 GB; 635 µs fused"));
  estimate.advice = {{.kind = documents::AdviceKind::Fit, .devices = 2, .seconds = 320e-6, .gain = 2}};
  CHECK(verdict_of(estimate)->actions.at(0).sentence() == "To fit: 2 devices, 320 µs a run.");
  estimate.fit->fits = true;
  CHECK(headline(estimate).ends_with("; fits: 163 GB of 141 GB"));
}

TEST_CASE("a run and a prediction far above the bound get no advice on the bound") {
  EstimateDocument estimate = by_hand();
  estimate.advice = {
      {.kind = documents::AdviceKind::Precision, .precision = Precision::Tf32, .seconds = 300e-6, .gain = 635.0 / 300}};
  documents::EstimateMeasured& run = estimate.measured.emplace();
  run.seconds = 4.5e-3, run.bound_share = 0.14;
  Verdict verdict = *verdict_of(estimate);
  CHECK(verdict.headline() == "4.50 ms measured, 14 % of what its roofs can do");
  REQUIRE(verdict.actions.size() == 1);
  CHECK(verdict.actions[0].text == "Look at kernels and launches first: 3.87 ms of the run lie above the bound");
  estimate.measured->bound_share = 0.9;
  CHECK(verdict_of(estimate)->actions.at(0).text == "Compute in tf32: 635 µs → 300 µs");
  estimate.measured.reset();
  auto& predicted = estimate.roofline->predicted.emplace();
  predicted.seconds = 12.7e-3, predicted.low = 9.06e-3, predicted.high = 15.2e-3;
  verdict = *verdict_of(estimate);
  CHECK(verdict.headline() == "12.7 ms predicted (9.06–15.2), 20× the bound");
  CHECK(verdict.ladder.back().low == 9.06e-3);
}

TEST_CASE("a sweep says where it stops paying, and which points do not fit") {
  EstimateDocument estimate = by_hand();
  documents::EstimateSweep& sweep = estimate.sweep.emplace();
  sweep.dims = {"batch"};
  for (const auto& [batch, seconds] : {std::pair{1, 1.0}, {2, 1.0}, {8, 1.23}, {16, 2.4}, {32, 4.0}}) {
    documents::EstimatePoint& point = sweep.points.emplace_back();
    point.sizes = {batch};
    point.items = batch;
    point.memory_bytes = 100 * batch;
    point.time.emplace().seconds = seconds * 1e-3;
  }
  CHECK(headline(estimate) == "best at batch 32, the largest tried, at most 8,000 items/s");
  sweep.device_bytes = 2000;
  CHECK(headline(estimate) ==
        "from batch 8 on 98 % of the best, from batch 32 on it does not fit, at most 6,670 items/s");
  const auto knee = knee_of(sweep);
  REQUIRE(knee);
  CHECK(knee->size == 8);
  CHECK(knee->share == doctest::Approx(2.4 / 2.46));
  sweep.best = documents::EstimateBest{.size = 16, .share = 1};
  CHECK(headline(estimate).starts_with("best at batch 16"));
  sweep.best.reset();
  // Rates that fall again: of bounds, and of runs, whose best is their own.
  sweep.points[3].time->seconds = 4e-3;
  CHECK(headline(estimate).starts_with("best at batch 8; 62 % of it at 16"));
  sweep.has_measurements = true;
  sweep.best = documents::EstimateBest{.size = 1, .share = 1};
  for (std::size_t i = 0; i < 4; ++i) sweep.points[i].measured_seconds = 5e-3;
  CHECK(headline(estimate).starts_with("best at batch 16"));
  sweep.points[0].time->floor_seconds = 1e-3;
  sweep.points[0].measured_seconds = 1e-6;  // impossible
  CHECK(headline(estimate).starts_with("best at batch 16"));
  sweep.has_measurements = false;
  sweep.best.reset();
  sweep.points[3].time->seconds = 2.4e-3;
  for (auto& point : sweep.points) point.items = {};
  CHECK(headline(estimate) == "1.00 ms at batch 1, 2.40 ms at batch 16");
  sweep.device_bytes = 50;
  CHECK(headline(estimate) == "none of its sizes fits: batch 1 takes 100 B of 50 B");
  sweep.points.clear();
  CHECK(headline(estimate) == "no time of the sweep is known");
}

TEST_CASE("several devices: the fastest that holds the model, and the next") {
  EstimateDocument estimate = by_hand();
  const auto add = [&](const char* device, std::optional<double> seconds, bool fits) {
    documents::EstimateVariant& variant = estimate.variants.emplace_back();
    variant.device = device, variant.seconds = seconds, variant.fits = fits;
  };
  add("t4", 9e-3, true);
  add("h200", 0.6e-3, true);
  add("b200", 0.3e-3, false);
  CHECK(headline(estimate) == "fastest on h200: ≥ 600 µs, then t4: ≥ 9.00 ms (15.0×)");
  EstimateDocument one = estimate;  // one device in several precisions
  for (auto& variant : one.variants) variant.device = "h200";
  one.variants[1].precision = Precision::Float16;
  CHECK(headline(one).starts_with("fastest in float16: ≥ 600 µs, then the file's: ≥ 9.00 ms"));
  for (auto& variant : estimate.variants) variant.fits = false;
  CHECK(headline(estimate) == "does not fit any of them");
}

TEST_CASE("a fit that is a lower bound has one sign") {
  EstimateDocument estimate = by_hand();
  documents::EstimateFit& fit = estimate.fit.emplace();
  fit.device_bytes = Count(141'000'000'000), fit.total_bytes = Count(304'000'000).at_least(true);
  fit.at_least = true, fit.fits = true;
  CHECK(headline(estimate).ends_with("; fits: ≥ 304 MB of 141 GB"));
}

TEST_CASE("sizes that exceed a table cannot run, on one device and on several") {
  EstimateDocument estimate = by_hand();
  estimate.cannot_run = "wpe has rows for 1,024 positions, these sizes take 2,001";
  documents::EstimateFit& fit = estimate.fit.emplace();
  fit.device_bytes = Count(141'000'000'000), fit.total_bytes = Count(806'000'000), fit.fits = false;
  const std::string said = "cannot run: " + estimate.cannot_run;
  CHECK(headline(estimate) == said);
  CHECK(verdict_of(estimate)->actions.empty());
  estimate.variants.resize(2);
  CHECK(headline(estimate) == said);
}

TEST_CASE("a measured run replaces what a prediction says about its gap") {
  EstimateDocument estimate = by_hand();
  estimate.roofline->predicted.emplace().seconds = 4e-3;
  const auto gaps = [&] {
    const std::vector<Action> actions = verdict_of(estimate)->actions;
    return std::ranges::count_if(actions, &Action::is_gap);
  };
  CHECK(gaps() == 1);
  documents::EstimateMeasured& run = estimate.measured.emplace();
  run.seconds = 3e-3, run.bound_share = 0.2;
  CHECK(gaps() == 1);
  CHECK(test::contains(verdict_of(estimate)->actions.back().text, "of the run"));
}

TEST_CASE("a run below its bound gets no advice that starts from the bound") {
  EstimateDocument estimate = by_hand();
  estimate.advice = {{.kind = documents::AdviceKind::Batch, .batch = 32, .seconds = 1e-3, .gain = 2}};
  REQUIRE(verdict_of(estimate)->actions.size() == 1);
  documents::EstimateMeasured& run = estimate.measured.emplace();
  run.seconds = 0.6e-3, run.bound_share = 1.06;
  CHECK(verdict_of(estimate)->actions.empty());
}

TEST_CASE("the table of devices says the file's precision where none was asked for") {
  EstimateDocument estimate = by_hand();
  documents::EstimateVariant variant;
  CHECK(documents::precision_text(estimate, variant.traffic, variant.precision) == "the file's");
  documents::EstimateNode& node = estimate.nodes.emplace_back();
  node.precision = ElementType::Float32, node.dequantized_from = ElementType::Int8;
  CHECK(documents::precision_text(estimate, variant.traffic, variant.precision) == "float32 (file)");
  variant.traffic = TrafficModel::Fused;
  CHECK(documents::precision_text(estimate, variant.traffic, variant.precision) == "int8 (file)");
  variant.precision = Precision::Float16;
  CHECK(documents::precision_text(estimate, variant.traffic, variant.precision) == "int8, floats as float16");
  variant.traffic = TrafficModel::Unfused;
  CHECK(documents::precision_text(estimate, variant.traffic, variant.precision) == "float16");
}

TEST_CASE("rates are numbers that people say") {
  const std::pair<double, const char*> cases[] = {{3810.4, "3,810 items/s"},
                                                  {54'219, "54,200 items/s"},
                                                  {0.1234, "0.123 items/s"},
                                                  {999.6, "1,000 items/s"},
                                                  {1.234e6, "1.23 M items/s"}};
  for (const auto& [value, text] : cases) CHECK(rate_text(value, "items/s") == text);
}

}  // namespace
}  // namespace pagoda::present::report

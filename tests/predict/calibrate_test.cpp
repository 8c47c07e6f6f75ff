// Fitting: planted coefficients come back, intervals cover what they claim, errors in files are explained.
#include "pagoda/lab/fit.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <set>
#include <span>
#include <string>

#include "pagoda/documents/calibration.h"
#include "pagoda/core/eager.h"
#include "support/json_schema.h"

using namespace pagoda;
using lab::TimedRun;
using doctest::Approx;

namespace {

std::string text_of(const Calibration& calibration) {
  return documents::to_json(documents::CalibrationFile{.fitted = calibration});
}

EagerCoefficients fit(std::span<const TimedRun> runs, const lab::EagerFitOptions& options = {}) {
  return eager_coefficients(lab::fit_coefficients(runs, options));
}

constexpr KernelRates kRates{.tensor = 1e14, .convolution = 1e14, .vector = 2e13, .bandwidth = 1e12, .launch = 2e-6, .units = 100};

// Random numbers that are the same with every standard library.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(engine_()) / static_cast<double>(std::mt19937::max());
  }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform(1e-9, 1)));
    return radius * std::cos(2 * std::numbers::pi * uniform(0, 1));
  }

 private:
  std::mt19937 engine_;
};

KernelLaunch random_kernel(KernelClass kind, Random& random) {
  KernelLaunch kernel{.kind = kind, .bytes = std::exp(random.uniform(14, 20))};
  if (kind == KernelClass::Pointwise) return kernel;
  kernel.macs = kernel.bytes * std::exp(random.uniform(1, 7));
  kernel.width = std::exp(random.uniform(2, 7));
  kernel.depth = std::exp(random.uniform(3, 7));
  kernel.tiles = 1e6;
  return kernel;
}

EagerCoefficients planted() {
  EagerCoefficients calibration;
  calibration.launch = 4;
  calibration.norm = 3;
  calibration.classes[static_cast<std::size_t>(KernelClass::Linear)] = {1.2, 1.5, 40, 20};
  calibration.classes[static_cast<std::size_t>(KernelClass::Pointwise)].bytes = 1.1;
  return calibration;
}

std::vector<TimedRun> synthetic_runs(std::size_t families, std::size_t models, double noise, unsigned seed) {
  Random random(seed);
  std::vector<TimedRun> runs;
  for (std::size_t family = 0; family < families; ++family) {
    const double family_error = noise * random.normal();
    for (std::size_t model = 0; model < models; ++model) {
      TimedRun run{.name = "m",
                   .family = "family " + std::to_string(family),
                   .kernels = {},
                   .device = "d",
                   .channels_last = false,
                   .rates = kRates};
      for (int i = 0; i < 20; ++i)
        run.kernels.push_back(
            random_kernel(random.uniform(0, 1) < 0.5 ? KernelClass::Linear : KernelClass::Pointwise, random));
      for (int i = 0; i < 40; ++i) run.kernels.push_back({.kind = KernelClass::Pointwise, .bytes = 100});
      for (const KernelLaunch& kernel : run.kernels) run.seconds += kernel_seconds(kernel, kRates, planted());
      run.seconds *= std::exp(family_error + noise / 3 * random.normal());
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

}  // namespace

TEST_CASE("a kernel's time is its launch and the longer of work and traffic, softly") {
  EagerCoefficients calibration;
  calibration.launch = 3;
  calibration.norm = 2;
  calibration.classes[static_cast<std::size_t>(KernelClass::Linear)] = {1.5, 2, 64, 32};
  const KernelLaunch kernel{
      .kind = KernelClass::Linear, .macs = 1e9, .bytes = 1e7, .width = 64, .depth = 32, .tiles = 1000};
  const double work = 2e9 / 1e14 * 1.5 * 2 * 2, traffic = 1e7 / 1e12 * 2;
  CHECK(kernel_seconds(kernel, kRates, calibration) == Approx(6e-6 + std::hypot(work, traffic)));
  KernelLaunch few = kernel;
  few.tiles = 10;  // for 100 units: a tenth are busy
  CHECK(kernel_seconds(few, kRates, calibration) == Approx(6e-6 + std::hypot(10 * work, traffic)));
  // As many rows as m0 halve the rate; products whose rows are unknown have enough.
  calibration.classes[static_cast<std::size_t>(KernelClass::Linear)].rows = 8;
  CHECK(kernel_seconds(kernel, kRates, calibration) == Approx(6e-6 + std::hypot(work, traffic)));
  few = kernel;
  few.rows = 8;
  CHECK(kernel_seconds(few, kRates, calibration) == Approx(6e-6 + std::hypot(2 * work, traffic)));
  CHECK(kernel_terms(few, kRates, calibration).by_rows ==
        Approx(kernel_terms(few, kRates, calibration).by_work / 2));
  CHECK(kernel_seconds({.kind = KernelClass::Copy}, kRates, calibration) == Approx(6e-6));
}

TEST_CASE("derivatives of a kernel's time are those of its time") {
  Random random(3);
  for (int trial = 0; trial < 50; ++trial) {
    const KernelClass kind = trial % 2 == 0 ? KernelClass::Linear : KernelClass::Depthwise;
    const KernelLaunch kernel = random_kernel(kind, random);
    EagerCoefficients calibration = planted();
    ClassCoefficients& c = calibration.classes[static_cast<std::size_t>(kind)];
    const KernelTerms terms = kernel_terms(kernel, kRates, calibration);
    const auto slope = [&](double& coefficient) {
      const double saved = coefficient, step = 1e-5;
      coefficient = saved * std::exp(step);
      const double above = kernel_seconds(kernel, kRates, calibration);
      coefficient = saved * std::exp(-step);
      const double below = kernel_seconds(kernel, kRates, calibration);
      coefficient = saved;
      return (above - below) / (2 * step);
    };
    const double scale = terms.seconds;
    CHECK(slope(c.work) / scale == Approx(terms.by_work / scale).epsilon(1e-4));
    CHECK(slope(c.bytes) / scale == Approx(terms.by_bytes / scale).epsilon(1e-4));
    CHECK(slope(c.width) / scale == Approx(terms.by_width / scale).epsilon(1e-4));
    CHECK(slope(c.depth) / scale == Approx(terms.by_depth / scale).epsilon(1e-4));
    CHECK(slope(calibration.norm) / scale == Approx(terms.by_norm / scale).epsilon(1e-4));
    CHECK(slope(calibration.launch) / scale == Approx(terms.launch / scale).epsilon(1e-4));
  }
}

TEST_CASE("a fit finds the coefficients that made the times") {
  const auto runs = synthetic_runs(20, 10, 0, 1);
  const EagerCoefficients got = fit(runs, {.prior = 1e-3});
  const EagerCoefficients want = planted();
  const auto check = [](const char* what, double a, double b) {
    CAPTURE(std::string(what));
    CHECK(a == Approx(b).epsilon(0.02));
  };
  check("launch", got.launch, want.launch);
  check("norm", got.norm, want.norm);
  const auto linear = static_cast<std::size_t>(KernelClass::Linear);
  const auto pointwise = static_cast<std::size_t>(KernelClass::Pointwise);
  check("work", got.classes[linear].work, want.classes[linear].work);
  check("bytes", got.classes[linear].bytes, want.classes[linear].bytes);
  check("width", got.classes[linear].width, want.classes[linear].width);
  check("depth", got.classes[linear].depth, want.classes[linear].depth);
  check("pointwise", got.classes[pointwise].bytes, want.classes[pointwise].bytes);
  CHECK(got.classes[static_cast<std::size_t>(KernelClass::Softmax)].bytes == Approx(1.3));  // no data: the prior
}

TEST_CASE("parts of runs tell apart classes that all runs have in the same proportion") {
  EagerCoefficients truth;
  const auto linear = static_cast<std::size_t>(KernelClass::Linear), pool = static_cast<std::size_t>(KernelClass::MaxPool);
  truth.classes[linear].work = 1.5;
  truth.classes[pool].work = 60;
  std::vector<TimedRun> runs;
  for (int family = 0; family < 8; ++family) {
    const double size = 1 + family;
    TimedRun run{.name = "m", .family = std::to_string(family), .kernels = {}, .device = "d", .rates = kRates};
    run.kernels = {{.kind = KernelClass::Linear, .macs = 1e10 * size, .bytes = 1e6, .width = 4096, .depth = 4096},
                   {.kind = KernelClass::MaxPool, .macs = 1e7 * size, .bytes = 1e5}};
    for (const KernelLaunch& kernel : run.kernels) {
      const double seconds = kernel_seconds(kernel, kRates, truth);
      run.seconds += seconds;
      run.parts.push_back({{kernel.kind}, seconds});
    }
    runs.push_back(std::move(run));
  }
  const EagerCoefficients with_parts = fit(runs, {.prior = 1e-2});
  CHECK(with_parts.classes[pool].work == Approx(60).epsilon(0.03));
  for (TimedRun& run : runs) run.parts.clear();
  CHECK(fit(runs, {.prior = 1e-2}).classes[pool].work != Approx(60).epsilon(0.1));
  runs[0].parts.push_back({{KernelClass::MaxPool}, 0});
  CHECK_THROWS_WITH_AS(fit(runs), doctest::Contains("a part of it takes"), Error);
}

TEST_CASE("coefficients carry over to a device with other rates") {
  const auto runs = synthetic_runs(20, 10, 0, 1);
  const EagerCoefficients got = fit(runs, {.prior = 1e-3});
  const KernelRates other{.tensor = 5e14, .convolution = 5e14, .vector = 3e13, .bandwidth = 3e12, .launch = 1e-6, .units = 132};
  for (const TimedRun& run : synthetic_runs(3, 3, 0, 9))
    for (const KernelLaunch& kernel : run.kernels)
      CHECK(kernel_seconds(kernel, other, got) == Approx(kernel_seconds(kernel, other, planted())).epsilon(0.05));
}

TEST_CASE("cross-validation reports the error of families it did not fit to, and an interval that holds") {
  const auto runs = synthetic_runs(50, 4, 0.1, 5);
  const lab::Fit result = lab::fit_eager(runs, {.coverage = 0.9});
  // A family's error is normal with deviation 0.1, and a model's adds 0.033: |error| averages about 0.084.
  CHECK(result.file.fitted.errors.mean_error > 0.05);
  CHECK(result.file.fitted.errors.mean_error < 0.12);
  CHECK(result.fitted_mean_error <= result.file.fitted.errors.mean_error * 1.02);
  CHECK(result.file.fitted.errors.rank_correlation > 0.97);
  // 50 families tell a share of 90 % to about 4 %.
  CHECK(result.covered >= 0.84);
  CHECK(result.covered <= 0.96);
  REQUIRE(result.file.fitted.interval.has_value());
  const Factors interval = *result.file.fitted.interval;
  CHECK(interval.low < 0.9);
  CHECK(interval.high > 1.1);
  // 400 more families, predicted by the fit to all 50.
  const EagerCoefficients fitted = eager_coefficients(result.file.fitted);
  double inside = 0, count = 0;
  for (const TimedRun& run : synthetic_runs(400, 1, 0.1, 77)) {
    double seconds = 0;
    for (const KernelLaunch& kernel : run.kernels) seconds += kernel_seconds(kernel, kRates, fitted);
    inside += run.seconds >= seconds * interval.low && run.seconds <= seconds * interval.high ? 1 : 0;
    ++count;
  }
  CHECK(inside / count >= 0.88);
  CHECK(inside / count <= 0.985);  // but not by being too wide
}

TEST_CASE("interval factors give families equal weight and expect one more of any error") {
  std::vector<double> errors;
  std::vector<std::string> families;
  for (int i = 0; i < 39; ++i) {
    errors.push_back(0.01 * (i - 19));
    families.push_back("f" + std::to_string(i));
  }
  // Weights are 1/40. The unseen family and one error make 5 %, so the second smallest error is the limit.
  const Factors factors = lab::interval_factors(errors, families, 0.9);
  CHECK(factors.low == Approx(std::exp(-0.18)));
  CHECK(factors.high == Approx(std::exp(0.18)));
  for (int i = 0; i < 1000; ++i) {  // one family with very many models
    errors.push_back(0.19);
    families.push_back("f38");
  }
  CHECK(lab::interval_factors(errors, families, 0.9).high == Approx(std::exp(0.18)));
  // With 18 families 5 % lie at the 0.95th of 19 gaps: below the smallest error, so nothing is claimed. 80 % lie
  // between the 1.9th error and the 1.9th from the other end.
  const std::vector<double> few(errors.begin(), errors.begin() + 18);
  const std::vector<std::string> names(families.begin(), families.begin() + 18);
  CHECK(lab::interval_factors(few, names, 0.9).low == 0);
  CHECK(lab::interval_factors(few, names, 0.8).low == Approx(std::exp(-0.19 + 0.9 * 0.01)));
  CHECK(lab::interval_factors(few, names, 0.8).high == Approx(std::exp(-0.02 - 0.9 * 0.01)));
  // Two families are too few to bound 90 %.
  CHECK(lab::interval_factors(std::vector<double>{0, 0.1}, std::vector<std::string>{"a", "b"}, 0.9).low == 0);
  CHECK(std::isinf(lab::interval_factors(std::vector<double>{0, 0.1}, std::vector<std::string>{"a", "b"}, 0.9).high));
}

TEST_CASE("other devices and layouts have an interval of their own, or none") {
  std::vector<TimedRun> elsewhere = synthetic_runs(50, 2, 0.1, 11);
  for (TimedRun& run : elsewhere) {
    run.device = "other";
    run.seconds *= 2;  // every model is slower than predicted
  }
  const lab::Fit result = lab::fit_eager(synthetic_runs(50, 2, 0.1, 5), {.coverage = 0.9}, elsewhere);
  const Calibration& got = result.file.fitted;
  CHECK(got.judge == "other");
  CHECK(interval(got, "d", false).value().low < 1);
  CHECK(interval(got, "d", false).value().high > 1);
  CHECK(interval(got, "other", false).value().low > 1.3);
  CHECK(interval(got, "other", false).value().high > 2);
  CHECK(interval(got, "d", true).value().high == interval(got, "other", false).value().high);
  const lab::Fit alone = lab::fit_eager(synthetic_runs(50, 2, 0.1, 5));
  CHECK_FALSE(interval(alone.file.fitted, "other", false).has_value());
  CHECK(interval(documents::parse_calibration(text_of(got), "back").fitted, "other", false).value().high ==
        Approx(got.elsewhere.value().high).epsilon(1e-3));
}

TEST_CASE("too few families claim no interval, and their file says null and can be read") {
  const Calibration few = lab::fit_eager(synthetic_runs(3, 4, 0.1, 5), {.id = "few"}).file.fitted;
  CHECK_FALSE(few.interval.has_value());
  nlohmann::json document = nlohmann::json::parse(text_of(few));
  CHECK(document["interval"]["low"].is_null());
  CHECK(document["interval"]["high"].is_null());
  test::check_schema(text_of(few), "calibration");
  CHECK_FALSE(interval(documents::parse_calibration(document.dump(), "back").fitted, "d", false).has_value());
  document["interval"]["low"] = document["interval"]["high"] = 0;  // an unknown written as 0
  CHECK_THROWS_WITH_AS(documents::parse_calibration(document.dump(), "file"),
                       doctest::Contains("interval.low"), Error);
}

TEST_CASE("rank correlation is 1 for any increasing relation") {
  CHECK(lab::rank_correlation(std::vector<double>{1, 2, 3, 4}, std::vector<double>{1, 10, 100, 1000}) == Approx(1));
  CHECK(lab::rank_correlation(std::vector<double>{1, 2, 3, 4}, std::vector<double>{4, 3, 2, 1}) == Approx(-1));
  CHECK(lab::rank_correlation(std::vector<double>{1, 1, 2, 2}, std::vector<double>{1, 2, 1, 2}) == Approx(0));
  CHECK_THROWS_AS(lab::rank_correlation(std::vector<double>{1}, std::vector<double>{1}), Error);
}

TEST_CASE("runs that cannot be fitted are named") {
  CHECK_THROWS_AS(fit({}), Error);
  std::vector<TimedRun> runs = synthetic_runs(1, 3, 0, 1);
  CHECK_THROWS_WITH_AS(lab::fit_eager(runs), doctest::Contains("one family"), Error);
  runs[1].seconds = 0;
  CHECK_THROWS_WITH_AS(fit(runs), doctest::Contains("expected a time above 0"), Error);
  runs[1].seconds = 1;
  runs[1].kernels.clear();
  CHECK_THROWS_WITH_AS(fit(runs), doctest::Contains("launches no kernel"), Error);
}

TEST_CASE("a calibration survives its file, and broken files say what is wrong") {
  const lab::Fit result =
      lab::fit_eager(synthetic_runs(40, 2, 0.1, 5), {.id = "test", .regime = "synthetic", .source = "this test"});
  const std::string text = text_of(result.file.fitted);
  const Calibration back = documents::parse_calibration(text, "back").fitted;
  CHECK(back.id == "test");
  CHECK(back.errors.mean_error == Approx(result.file.fitted.errors.mean_error).epsilon(1e-3));
  REQUIRE(back.coefficients.size() == result.file.fitted.coefficients.size());
  for (const auto& coefficient : result.file.fitted.coefficients) {
    CAPTURE(coefficient.first);
    CHECK(back.coefficients.at(coefficient.first) == Approx(coefficient.second).epsilon(1e-3));
  }
  std::set<std::string_view> names = {""};
  for (std::size_t i = 0; i < kKernelClasses; ++i) names.insert(to_string(static_cast<KernelClass>(i)));
  CHECK(names.size() == kKernelClasses + 1);
  struct Case {
    const char* from;
    const char* to;
    const char* says;
  };
  const Case cases[] = {
      {"pagoda.calibration/1", "pagoda.device/1", "is a device (pagoda.device/1); `device` reads it; expected pagoda.calibration/1 or"},
      {"\"launch\": ", "\"launch\": -", "launch: expected a number of at least 0"},
      {"\"softmax\"", "\"hardmax\"", "\"softmax\""},
      {"\"norm\"", "\"form\"", "\"norm\""},
      {"\"coverage\": 0.9", "\"coverage\": 1.5", "expected a number below 1"},
      {"{", "", "file: is text; expected a calibration"},
  };
  for (const Case& c : cases) {
    std::string broken = text;
    broken.replace(broken.find(c.from), std::string_view(c.from).size(), c.to);
    CHECK_THROWS_WITH_AS(documents::parse_calibration(broken, "file"), doctest::Contains(c.says), Error);
  }
  CHECK_THROWS_WITH_AS(documents::calibration("no-such"), doctest::Contains("rtx-3090-amp-nchw"), Error);
  CHECK_THROWS_WITH_AS(documents::load_calibration("/nonexistent.json"), doctest::Contains("cannot be opened"), Error);
}

TEST_CASE("built-in calibrations follow their schema and carry their figures") {
  REQUIRE_FALSE(documents::calibration_ids("pytorch-amp").empty());
  for (const std::string& id : documents::calibration_ids("pytorch-amp")) {
    CAPTURE(id);
    const Calibration built_in = documents::calibration(id);
    CHECK(built_in.id == id);
    test::check_schema(text_of(built_in), "calibration");
    CHECK(built_in.errors.mean_error <= 0.12);
    CHECK(built_in.errors.models >= 300);
    CHECK(built_in.coverage >= 0.8);
    CHECK_FALSE(built_in.devices.empty());
    CHECK(built_in.elsewhere.value().low < built_in.interval.value().low);
    // No kernel class beats the roofline by much: the coefficients mean what their names say.
    const EagerCoefficients coefficients = eager_coefficients(built_in);
    for (std::size_t i = 0; i < kKernelClasses; ++i) {
      CAPTURE(to_string(static_cast<KernelClass>(i)));
      CHECK(coefficients.classes[i].bytes > 0.6);
      CHECK(coefficients.classes[i].bytes < 4);
    }
  }
}

TEST_CASE("a calibration of a later version is read, and its unknown members are named") {
  std::string text = text_of(documents::calibration("rtx-3090-amp-nchw"));
  const auto add = [&](const char* after, const char* member) {
    text.insert(text.find(after) + std::string_view(after).size(), member);
  };
  add("\"classes\": {", "\"fourier\": {\"bytes\": 1}, ");
  add("\"interval\": {", "\"median\": 1, ");
  add("{", "\"colour\": \"red\", ");
  const Calibration back = documents::parse_calibration(text, "later").fitted;
  CHECK(std::set<std::string>(back.ignored.begin(), back.ignored.end()) ==
        std::set<std::string>{"colour", "classes.fourier", "interval.median"});
}

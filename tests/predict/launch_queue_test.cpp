// A host that launches kernels while the device works: against two clocks that step through the nodes, and fitted.
#include "pagoda/core/eager.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include "pagoda/lab/fit.h"
#include "pagoda/documents/calibration.h"
#include "support/files.h"
#include "support/json_schema.h"

using namespace pagoda;
using lab::TimedRun;
using doctest::Approx;

namespace {

constexpr KernelRates kRates{
    .tensor = 1e14, .convolution = 1e14, .vector = 2e13, .bandwidth = 1e12, .launch = 2e-6, .units = 100};

EagerCoefficients planted() {
  EagerCoefficients calibration;
  calibration.launch = 0.5;
  calibration.host = {
      .run = 25e-6, .shape = 0.7e-6, .node = 1.5e-6, .kernel = 4.5e-6, .product = 10.5e-6, .convolution = 18.5e-6};
  return calibration;
}

// `seconds` on the device, of which the gap between kernels is part.
KernelLaunch lasting(double seconds) { return {.kind = KernelClass::Pointwise, .bytes = (seconds - 1e-6) * 1e12}; }
constexpr KernelLaunch kView = {.kind = KernelClass::Other};

// The end of a run by two clocks.
double stepped(const std::vector<KernelLaunch>& kernels, const EagerCoefficients& calibration) {
  double host = calibration.host.run, device = 0;
  for (const KernelLaunch& kernel : kernels) {
    host += host_seconds(kernel, calibration.host);
    if (has_kernel(host_part(kernel))) device = std::max(host, device) + kernel_seconds(kernel, kRates, calibration);
  }
  return std::max(host, device);
}

std::vector<TimedRun> synthetic_runs(std::size_t families) {
  std::mt19937 engine(7);
  const auto among = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(engine()) / static_cast<double>(std::mt19937::max());
  };
  std::vector<TimedRun> runs;
  for (std::size_t family = 0; family < families; ++family)
    for (const double scale : {0.01, 1.0, 30.0}) {  // bound by the host, mixed, bound by the device
      TimedRun run{.name = "m", .family = std::to_string(family), .kernels = {}, .device = "d", .rates = kRates};
      const double views = among(0, 0.7), products = among(0.1, 0.6);
      for (int i = 0; i < 60; ++i) {
        if (among(0, 1) < views) run.kernels.push_back(kView);
        if (among(0, 1) < products)
          run.kernels.push_back({.kind = KernelClass::Linear,
                                 .macs = scale * among(1e7, 1e9),
                                 .bytes = scale * 1e5,
                                 .width = 1e6,
                                 .depth = 1e6,
                                 .tiles = 1e6});
        else
          run.kernels.push_back({.kind = KernelClass::Pointwise, .bytes = scale * among(1e6, 1e7)});
      }
      run.seconds = stepped(run.kernels, planted());
      runs.push_back(std::move(run));
    }
  return runs;
}

}  // namespace

TEST_CASE("a run takes the longer of host and device, node by node") {
  struct Case {
    const char* why;
    std::vector<KernelLaunch> kernels;
    double seconds;
    std::size_t last_wait;
  };
  const Case cases[] = {
      {"short kernels: the launches, and the last kernel",
       {lasting(2e-6), lasting(2e-6), lasting(2e-6)},
       25e-6 + 18e-6 + 2e-6,
       2},
      {"long kernels: the first launch, and the kernels", {lasting(1e-3), lasting(1e-3)}, 25e-6 + 6e-6 + 2e-3, 0},
      {"a long kernel hides the launches after it",
       {lasting(2e-6), lasting(20e-6), lasting(2e-6)},
       25e-6 + 12e-6 + 22e-6,
       1},
      {"a view costs the host alone", {lasting(2e-6), kView, kView, lasting(2e-6)}, 25e-6 + 15e-6 + 2e-6, 3},
      {"the host may end last", {lasting(2e-6), kView, kView, kView}, 25e-6 + 6e-6 + 4.5e-6, 4},
  };
  const EagerCoefficients calibration = planted();
  for (const Case& c : cases) {
    CAPTURE(std::string(c.why));
    std::vector<double> device;
    for (const KernelLaunch& kernel : c.kernels) device.push_back(kernel_seconds(kernel, kRates, calibration));
    const LaunchQueue queue = launch_queue(c.kernels, device, calibration.host);
    CHECK(queue.seconds == Approx(c.seconds));
    CHECK(queue.last_wait == c.last_wait);
    const std::vector<double> added = added_seconds(c.kernels, kRates, calibration);
    CHECK(std::accumulate(added.begin(), added.end(), 0.0) == Approx(c.seconds));
  }
  for (const TimedRun& run : synthetic_runs(5)) {
    const std::vector<double> added = added_seconds(run.kernels, kRates, calibration);
    CHECK(std::accumulate(added.begin(), added.end(), 0.0) == Approx(run.seconds));
    CHECK(*std::min_element(added.begin(), added.end()) >= 0);
  }
  CHECK(added_seconds({}, kRates, calibration).empty());
  KernelLaunch inside = lasting(2e-6);
  inside.is_inside = true;  // no call of its own
  CHECK(host_seconds(lasting(2e-6), calibration.host) == Approx(6e-6));
  CHECK(host_seconds(inside, calibration.host) == Approx(4.5e-6));
}

TEST_CASE("kernels of libraries cost the host more than the engine's own") {
  CHECK(host_part(kView) == HostPart::View);
  CHECK(host_part({.kind = KernelClass::Softmax, .bytes = 8}) == HostPart::Kernel);
  CHECK(host_part({.kind = KernelClass::Linear, .bytes = 8}) == HostPart::Product);
  for (const KernelClass kind : {KernelClass::Conv, KernelClass::DepthwiseLibrary, KernelClass::MaxPool})
    CHECK(host_part({.kind = kind, .bytes = 8}) == HostPart::Convolution);
  CHECK(host_part({.kind = KernelClass::Depthwise, .bytes = 8}) == HostPart::Kernel);
}

TEST_CASE("a fit finds what launches cost the host") {
  const auto runs = synthetic_runs(20);
  const auto fit = [&](const lab::EagerFitOptions& options) {
    return eager_coefficients(lab::fit_coefficients(runs, options));
  };
  const EagerCoefficients got = fit({.prior = 1e-3, .fits_host = true}), want = planted();
  CHECK(got.host.run == Approx(want.host.run).epsilon(0.1));
  CHECK(got.host.node == Approx(want.host.node).epsilon(0.1));
  CHECK(got.host.kernel == Approx(want.host.kernel).epsilon(0.03));
  CHECK(got.host.product == Approx(want.host.product).epsilon(0.03));
  CHECK(got.host.convolution == Approx(10e-6));  // no convolutions: the prior
  CHECK(got.classes[static_cast<std::size_t>(KernelClass::Linear)].work == Approx(1).epsilon(0.05));
  CHECK(got.classes[static_cast<std::size_t>(KernelClass::Pointwise)].bytes == Approx(1).epsilon(0.05));
  for (const TimedRun& run : synthetic_runs(3)) {
    const std::vector<double> added = added_seconds(run.kernels, kRates, got);
    CHECK(std::accumulate(added.begin(), added.end(), 0.0) == Approx(run.seconds).epsilon(0.02));
  }
  CHECK(!fit({}).host.is_known());
}

TEST_CASE("costs of the host survive the calibration's file") {
  documents::CalibrationFile file{.fitted = documents::calibration("rtx-3090-amp-nchw")};
  CHECK(documents::to_json(file).find("host_seconds") == std::string::npos);
  EagerCoefficients coefficients = eager_coefficients(file.fitted);
  coefficients.host = planted().host;
  file.fitted.coefficients = written_coefficients(coefficients);
  const std::string text = documents::to_json(file);
  test::check_schema(text, "calibration");
  const HostCosts back = eager_coefficients(documents::parse_calibration(text, "back").fitted).host;
  CHECK(back.run == Approx(25e-6));
  CHECK(back.node == Approx(1.5e-6));
  CHECK(back.kernel == Approx(4.5e-6));
  CHECK(back.product == Approx(10.5e-6));
  CHECK(back.convolution == Approx(18.5e-6));
  std::string broken = text;
  const std::string_view kernel = "\"kernel\": ";
  broken.insert(broken.find(kernel) + kernel.size(), "0, \"kernels\": ");
  CHECK_THROWS_AS(documents::parse_calibration(broken, "file"), Error);
}

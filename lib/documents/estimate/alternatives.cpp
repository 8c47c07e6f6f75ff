// What else could be asked: whether and how large it fits, what would be faster, and the same elsewhere.
#include <algorithm>
#include <cmath>

#include "estimate/describe.h"
#include "pagoda/base/error.h"
#include "pagoda/core/fit.h"
#include "pagoda/documents/measured_runs.h"

namespace pagoda::documents {
namespace {

// Less is no advice.
constexpr double kLeastGain = 1.05;
// A batch that reaches so much of what any larger one does is large enough.
constexpr double kEnough = 0.9;
constexpr std::int64_t kLargestBatch = 1024;

// The request with a size left open, and nothing else that the answer does not need.
EstimateRequest opened(const EstimateRequest& request) {
  EstimateRequest open = request;
  open.sweep.clear();
  open.sizes.batch = 0;
  open.sizes.symbolic_batch = true;
  return open;
}

struct OpenBatch {
  Analysis analysis;
  std::vector<std::string> symbols;
};

// Empty where the model has no batch, or works with none but the one it was exported for.
std::optional<OpenBatch> open_batch(const Model& model, const EstimateRequest& request) {
  try {
    OpenBatch open{analysis_of(model, opened(request)), {}};
    open.symbols = axis_symbols(model, open.analysis, "batch");
    return open;
  } catch (const Error&) {
    return std::nullopt;
  }
}

Count largest_batch(const Model& model, const EstimateRequest& request, Int bytes) {
  const std::optional<OpenBatch> open = open_batch(model, request);
  if (!open) return std::nullopt;
  const std::optional<Training> training =
      request.training ? std::optional(train(model, open->analysis, *request.training)) : std::nullopt;
  const auto size = largest_size(model, open->analysis, open->symbols, bytes, training ? &*training : nullptr);
  return size ? Count(*size) : Count();
}

Count longest_context(const Model& model, const EstimateRequest& request, Int bytes) {
  if (!request.phase) return std::nullopt;
  EstimateRequest decode = request;
  decode.phase = {.phase = Phase::Decode, .tokens = 1, .past = std::nullopt};
  decode.sweep.clear();
  try {
    const Sized open = sized(model, decode);
    if (open.phase->past_dim.empty()) return std::nullopt;
    const auto symbols = axis_symbols(model, open.analysis, open.phase->past_dim);
    const auto past = largest_size(model, open.analysis, symbols, bytes);
    return past ? Count(*past + 1) : Count();  // with the token that the step adds
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Bounds of a request in sum.
RooflineTotals times_of(const Model& model, const EstimateRequest& request, const Analysis& analysis) {
  if (request.traffic == TrafficModel::Unfused) return roofline(analysis, *request.device).totals;
  const std::int64_t l2_bytes = request.traffic == TrafficModel::Resident ? cache_bytes(*request.device) : 0;
  return roofline(analysis, traffic(model, analysis, {.model = request.traffic, .l2_bytes = l2_bytes}), *request.device)
      .totals;
}

// Of the next power of two that comes close to what the largest gives; `seconds` are of a run now.
std::optional<EstimateAdvice> larger_batch(const Model& model, const EstimateRequest& request, double seconds,
                                           std::int64_t batch, const EstimateFit& fit) {
  const std::optional<OpenBatch> open = open_batch(model, request);
  if (!open || request.traffic == TrafficModel::Resident) return std::nullopt;
  std::vector<std::int64_t> sizes;
  std::vector<Bindings> points;
  for (std::int64_t size = batch * 2; size <= kLargestBatch && (!fit.largest_batch || size <= *fit.largest_batch);
       size *= 2) {
    sizes.push_back(size);
    for (Bindings& point = points.emplace_back(); const std::string& symbol : open->symbols) point[symbol] = size;
  }
  if (points.empty()) return std::nullopt;
  std::optional<Traffic> fused;
  if (request.traffic == TrafficModel::Fused) fused = traffic(model, open->analysis, {.model = TrafficModel::Fused});
  const std::vector<RooflineTotals> times =
      roofline_sweep(open->analysis, *request.device, {}, points, fused ? &*fused : nullptr);
  const auto gain = [&](std::size_t i) {
    return seconds / static_cast<double>(batch) / (times[i].seconds / static_cast<double>(sizes[i]));
  };
  for (std::size_t i = 0; i < times.size(); ++i)
    if (times[i].seconds > 0 && gain(i) >= kEnough * gain(times.size() - 1))
      return EstimateAdvice{"--batch " + std::to_string(sizes[i]), times[i].seconds, gain(i)};
  return std::nullopt;
}

}  // namespace

Count memory_of(const DeviceSpec& device) {
  const MemoryLevel* dram = device.level("dram");
  if (dram == nullptr || !dram->capacity_bytes.known()) return std::nullopt;
  return static_cast<Int>(*dram->capacity_bytes.value);
}

EstimateFit fit_of(const Model& model, const EstimateRequest& request, const Findings& findings) {
  const MemoryNeed need = memory_need(model, findings.analysis, findings.training ? &*findings.training : nullptr);
  EstimateFit fit{.device_bytes = memory_of(*request.device),
                  .weight_bytes = need.weights,
                  .activation_bytes = need.activations,
                  .cache_bytes = need.cache,
                  .gradient_bytes = request.training ? Count(need.gradients) : Count(),
                  .optimizer_bytes = request.training ? Count(need.optimizer) : Count(),
                  .total_bytes = need.total(),
                  .fits = {},
                  .largest_batch = {},
                  .longest_context = {}};
  if (!fit.device_bytes) return fit;
  if (*fit.total_bytes > *fit.device_bytes)
    fit.fits = false;  // whatever comes on top
  else if (!need.at_least)
    fit.fits = true;
  fit.largest_batch = largest_batch(model, request, *fit.device_bytes);
  fit.longest_context = longest_context(model, request, *fit.device_bytes);
  return fit;
}

void add_measured(const Measured& measured, EstimateDocument& estimate) {
  std::string problem;
  bool is_found = false;
  for (const MeasuredRun& run : whole_runs(measured)) {
    if (!run.seconds || *run.seconds <= 0) continue;
    std::string mismatch;
    const Bindings sizes = run_sizes(estimate, run.config, mismatch);
    if (!mismatch.empty()) {
      problem = mismatch;
      continue;
    }
    std::optional<double> joules = run.energy_joules;
    if (!joules && run.watts) joules = *run.watts * *run.seconds;
    if (estimate.sweep) {
      EstimateSweep& sweep = *estimate.sweep;
      sweep.measured.resize(sweep.points.size());
      for (std::size_t i = 0; i < sweep.points.size(); ++i) {
        bool is_same = true;
        for (std::size_t d = 0; d < sweep.dims.size(); ++d) {
          // An axis is named as the user or as the formulas name it.
          auto size = sizes.find(sweep.dims[d]);
          if (sweep.dims.size() == 1)
            for (const std::string& symbol : sweep.symbols)
              if (size == sizes.end()) size = sizes.find(symbol);
          is_same = is_same && size != sizes.end() && size->second == sweep.points[i].sizes[d];
        }
        if (!is_same) continue;
        sweep.measured[i] = {*run.seconds, joules};
        is_found = true;
      }
      problem = "no run is of a size of the sweep";
    } else if (std::all_of(sizes.begin(), sizes.end(), [](const auto& size) { return size.second == 1; })) {
      EstimateMeasured& part = estimate.measured.emplace();
      part.source = measured.source;
      part.seconds = *run.seconds;
      part.joules = joules;
      if (measured.spread && measured.runs.size() <= 1) {
        part.shortest = measured.spread->min;
        part.longest = measured.spread->max;
      }
      if (estimate.roofline && estimate.roofline->totals.seconds > 0)
        part.bound_share = estimate.roofline->totals.seconds / part.seconds;
      is_found = true;
    } else {
      problem = "a run is of " + sizes.begin()->first + "=" + std::to_string(sizes.begin()->second) +
                ", which the estimate takes as 1; set it with --batch or --dim";
    }
  }
  if (!is_found)
    throw Error("--measured: no run of the file is of this estimate: " +
                (problem.empty() ? "it holds no time of a whole run" : problem));
}

std::vector<EstimateAdvice> advice_of(const Model& model, const EstimateRequest& request, const Findings& findings) {
  std::vector<EstimateAdvice> advice;
  if (!findings.bound || findings.bound->totals.seconds <= 0 || findings.bound->totals.at_least) return advice;
  const double now = findings.bound->totals.seconds;
  const auto add = [&](std::string change, double seconds) {
    if (seconds > 0) advice.push_back({std::move(change), seconds, now / seconds});
  };
  if (request.traffic == TrafficModel::Unfused) {
    EstimateRequest fused = request;
    fused.traffic = TrafficModel::Fused;
    add("--traffic fused", times_of(model, fused, findings.analysis).seconds);
  }
  // Narrower formats that the device multiplies, for models that compute in float32.
  const bool is_single = std::any_of(
      findings.analysis.nodes.begin(), findings.analysis.nodes.end(),
      [](const auto& row) { return row.cost.precision == ElementType::Float32 && row.cost.macs != Dim(0); });
  for (const Precision precision : {Precision::Tf32, Precision::Float16}) {
    if (!is_single || request.precision == precision || request.device->peak(precision, Unit::Tensor) == nullptr)
      continue;
    EstimateRequest other = request;
    other.precision = precision;
    add("--precision " + std::string(to_string(precision)), times_of(model, other, analysis_of(model, other)).seconds);
  }
  const auto bound = findings.analysis.bindings.find("batch");
  const std::int64_t batch = request.sizes.batch > 0                     ? request.sizes.batch
                             : bound != findings.analysis.bindings.end() ? bound->second
                                                                         : 1;
  if (const auto larger = larger_batch(model, request, now, batch, *findings.fit)) advice.push_back(*larger);
  std::erase_if(advice, [](const EstimateAdvice& each) { return each.gain < kLeastGain; });
  std::stable_sort(advice.begin(), advice.end(),
                   [](const EstimateAdvice& a, const EstimateAdvice& b) { return a.gain > b.gain; });
  return advice;
}

std::vector<EstimateVariant> variants_of(const Model& model, const EstimateRequest& request) {
  std::vector<EstimateVariant> variants;
  if (request.other_devices.empty() && request.other_precisions.empty() && request.other_traffic.empty())
    return variants;
  std::vector<DeviceSpec> devices = request.other_devices;
  if (devices.empty() && request.device) devices.push_back(*request.device);
  std::vector<std::optional<Precision>> precisions(request.other_precisions.begin(), request.other_precisions.end());
  if (precisions.empty()) precisions.push_back(request.precision);
  std::vector<TrafficModel> traffics = request.other_traffic;
  if (traffics.empty()) traffics.push_back(request.traffic);
  for (const std::optional<Precision>& precision : precisions) {
    EstimateRequest same = request;
    same.precision = precision;
    same.sweep.clear();
    Sized start = sized(model, same);
    Findings findings{.analysis = std::move(start.analysis)};
    Analysis step;
    if (request.training) {
      findings.training = train(model, findings.analysis, *request.training);
      step = step_analysis(findings.analysis, *findings.training);
    }
    const MemoryNeed need = memory_need(model, findings.analysis, findings.training ? &*findings.training : nullptr);
    const auto items = [&]() -> double {
      if (start.phase) return static_cast<double>(start.phase->tokens.evaluate({}));
      const auto batch = findings.analysis.bindings.find("batch");
      return batch == findings.analysis.bindings.end() ? 1 : static_cast<double>(batch->second);
    }();
    for (const TrafficModel moved : traffics)
      for (const DeviceSpec& device : devices) {
        same.device = device;
        same.traffic = moved;
        const RooflineTotals time = times_of(model, same, request.training ? step : findings.analysis);
        EstimateVariant& row = variants.emplace_back();
        row.device = device.id;
        row.precision = precision;
        row.traffic = moved;
        row.total_bytes = need.total();
        row.device_bytes = memory_of(device);
        if (row.device_bytes && (need.total() > *row.device_bytes || !need.at_least))
          row.fits = need.total() <= *row.device_bytes;
        row.at_least = time.at_least;
        if (time.seconds <= 0) continue;
        row.seconds = time.seconds;
        row.floor_seconds = time.floor_seconds;
        row.bound = time.compute_seconds >= time.memory_seconds ? Bound::Compute : Bound::Memory;
        row.items_per_second = items / time.seconds;
        if (const auto price = request.price_per_hour.find(device.id); price != request.price_per_hour.end())
          row.price_per_million = price->second / 3600 * 1e6 / *row.items_per_second;
      }
  }
  return variants;
}

}  // namespace pagoda::documents

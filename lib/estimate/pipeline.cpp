#include "pagoda/estimate/pipeline.h"

#include <algorithm>

namespace pagoda::estimate {

using namespace documents;

namespace {

// A sum that is empty if any term is.
template <typename Maybe>
class Sum {
 public:
  void add(const Maybe& term) { total_ = total_ && term ? Maybe(*total_ + *term) : Maybe(); }
  const Maybe& total() const { return total_; }

 private:
  Maybe total_ = 0;
};

Count times(const Count& count, std::int64_t runs) { return count ? Count(*count * runs) : Count(); }

}  // namespace

Count PipelinePart::need() const {
  const Count &weights = estimate.totals.counts.param_bytes, &activations = estimate.totals.activation_peak_bytes;
  return weights && activations ? Count(*weights + *activations) : Count();
}

std::optional<bool> Pipeline::fits(const Count& need) const {
  return need && device_bytes ? std::optional(*need <= *device_bytes) : std::nullopt;
}

Pipeline sum_up(std::vector<PipelinePart> parts) {
  Pipeline result;
  Sum<Count> macs, flops, bytes, params, weights;
  Sum<std::optional<double>> seconds, floor, predicted;
  Count most_activations = Int{0}, most = Int{0};
  const auto keep_larger = [](Count& largest, const Count& other) {
    largest = largest && other ? Count(std::max(*largest, *other)) : Count();
  };
  for (const PipelinePart& part : parts) {
    const EstimateDocument& estimate = part.estimate;
    const EstimateCounts& counts = estimate.totals.counts;
    const auto runs = static_cast<double>(part.runs);
    macs.add(times(counts.macs, part.runs));
    flops.add(times(counts.flops, part.runs));
    bytes.add(times(counts.bytes, part.runs));
    params.add(counts.params);
    weights.add(counts.param_bytes);
    const auto& roofline = estimate.roofline;
    seconds.add(roofline ? std::optional(roofline->totals.seconds * runs) : std::nullopt);
    floor.add(roofline ? std::optional(roofline->totals.floor_seconds * runs) : std::nullopt);
    predicted.add(roofline && roofline->predicted ? std::optional(*roofline->predicted->seconds * runs) : std::nullopt);
    keep_larger(most_activations, estimate.totals.activation_peak_bytes);
    keep_larger(most, part.need());
    if (roofline && !result.items) result.items = roofline->items;
    if (estimate.fit) result.device_bytes = estimate.fit->device_bytes;
    result.partial = result.partial || !estimate.is_complete();
  }
  result.macs = macs.total();
  result.flops = flops.total();
  result.bytes = bytes.total();
  result.params = params.total();
  result.weight_bytes = weights.total();
  result.seconds = seconds.total();
  result.floor_seconds = floor.total();
  result.predicted_seconds = predicted.total();
  if (result.weight_bytes && most_activations) result.resident_bytes = *result.weight_bytes + *most_activations;
  result.in_turn_bytes = most;
  result.parts = std::move(parts);
  return result;
}

}  // namespace pagoda::estimate

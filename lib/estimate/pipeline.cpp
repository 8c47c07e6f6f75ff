#include "pagoda/estimate/pipeline.h"

#include <algorithm>

namespace pagoda::estimate {

using namespace documents;

namespace {

// A sum is empty if any term is.
template <typename Maybe>
void add(Maybe& sum, const Maybe& term) {
  sum = sum && term ? Maybe(*sum + *term) : Maybe();
}
void add(Count& sum, const Count& term) { sum = sum + term; }

void keep_larger(Count& largest, const Count& other) {
  const bool is_bound = largest.is_at_least() || other.is_at_least();
  largest = largest && other ? Count(std::max(*largest, *other)).at_least(is_bound) : Count();
}

Count times(const Count& count, std::int64_t runs) {
  return count ? Count(*count * runs).at_least(count.is_at_least()) : Count();
}

}  // namespace

Count PipelinePart::need() const { return estimate.totals.weight_bytes + estimate.totals.activation_peak_bytes; }

std::optional<bool> Pipeline::fits(const Count& need) const {
  if (!need || !device_bytes) return std::nullopt;
  const bool fits = *need <= *device_bytes;
  return fits && need.is_at_least() ? std::nullopt : std::optional(fits);
}

Pipeline sum_up(std::vector<PipelinePart> parts) {
  Pipeline result;
  for (Count Pipeline::*sum : {&Pipeline::macs, &Pipeline::flops, &Pipeline::bytes, &Pipeline::params,
                               &Pipeline::weight_bytes, &Pipeline::in_turn_bytes})
    result.*sum = 0;
  result.seconds = result.floor_seconds = result.fused_seconds = result.unfused_seconds = result.predicted_seconds = 0;
  Count most_activations = 0;
  bool is_sized = true;
  for (const PipelinePart& part : parts) {
    const EstimateDocument& estimate = part.estimate;
    const EstimateCounts counts = estimate.moved();
    const auto runs = static_cast<double>(part.runs);
    add(result.macs, times(counts.macs, part.runs));
    add(result.flops, times(counts.flops, part.runs));
    add(result.bytes, times(counts.bytes, part.runs));
    add(result.params, counts.params);
    add(result.weight_bytes, estimate.totals.weight_bytes);
    const auto& roofline = estimate.roofline;
    using Seconds = std::optional<double>;
    const bool is_timed = roofline && estimate.can_run();
    const auto of_runs = [&](const Seconds& seconds) {
      return is_timed && seconds ? Seconds(*seconds * runs) : Seconds();
    };
    add(result.seconds, of_runs(roofline ? Seconds(roofline->totals.seconds) : Seconds()));
    add(result.floor_seconds, of_runs(roofline ? Seconds(roofline->totals.floor_seconds) : Seconds()));
    add(result.fused_seconds, of_runs(roofline ? roofline->fused_seconds : Seconds()));
    add(result.unfused_seconds, of_runs(roofline ? roofline->unfused_seconds : Seconds()));
    add(result.predicted_seconds,
        roofline && roofline->predicted ? Seconds(*roofline->predicted->seconds * runs) : Seconds());
    keep_larger(most_activations, estimate.totals.activation_peak_bytes);
    keep_larger(result.in_turn_bytes, part.need());
    if (roofline && !result.items) result.items = roofline->items;
    if (estimate.fit) result.device_bytes = estimate.fit->device_bytes;
    is_sized = is_sized && estimate.unset.empty();
    result.partial = result.partial || !estimate.is_complete();
  }
  if (!is_sized) result.device_bytes = std::nullopt;  // no fit
  result.resident_bytes = result.weight_bytes + most_activations;
  result.parts = std::move(parts);
  return result;
}

}  // namespace pagoda::estimate

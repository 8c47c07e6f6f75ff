// Several models that run one after another for one result, each a number of times: the text encoder, the denoiser and
// the decoder of a diffusion pipeline.
//
//   Pipeline pipeline = sum_up({{make_estimate(encoder, request), 1}, {make_estimate(unet, request), 50}});
//   pipeline.seconds;         // of one result, at least
//   pipeline.resident_bytes;  // of memory, where all weights stay on the device
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pagoda/documents/estimate.h"

#pragma GCC visibility push(default)
namespace pagoda::estimate {

struct PipelinePart {
  documents::EstimateDocument estimate;
  std::int64_t runs = 1;  // for one result

  documents::Count need() const;  // weights, and activations at their peak; empty: not known
};

struct Pipeline {
  std::vector<PipelinePart> parts;
  // For one result: sums over all runs. Empty if the value of any part is not known.
  documents::Count macs, flops, bytes, params, weight_bytes;
  std::optional<double> seconds, floor_seconds, fused_seconds, unfused_seconds, predicted_seconds;
  documents::Count items;  // per result: the batch size
  // resident_bytes: all weights, plus the largest activations; in_turn_bytes: weights are loaded part by part.
  documents::Count resident_bytes, in_turn_bytes;
  documents::Count device_bytes;
  bool are_apart = false;  // the models have nothing to do with each other: reports hold no sums
  bool partial = false;    // some node of a part is not modelled: sums are lower bounds

  std::optional<bool> fits(const documents::Count& need) const;  // empty: not known
};

// Sums the parts, in order. All must come from one request, so that device, precision and traffic are the same.
Pipeline sum_up(std::vector<PipelinePart> parts);

}  // namespace pagoda::estimate
#pragma GCC visibility pop

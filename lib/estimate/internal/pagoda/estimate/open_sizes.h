// Sizes that a model's file leaves open, and what to do about them.
#pragma once

#include <string>
#include <vector>

#include "pagoda/core/analysis.h"
#include "pagoda/estimate/make_estimate.h"

#pragma GCC visibility push(default)
namespace pagoda::estimate {

// Free dims without which the size of a run is not known, as formulas name them: all but those of `swept`, the batch,
// which is 1 unless it is set, and those that an operator equates with others.
std::vector<std::string> unset_dims(const Model& model, const Analysis& analysis,
                                    const std::vector<std::string>& swept);

// The inputs with sizes that are not given, and sizes at which the model runs.
std::string open_inputs_text(const Model& model, const EstimateRequest& request, const Analysis& analysis,
                             const std::vector<std::string>& unset);

}  // namespace pagoda::estimate
#pragma GCC visibility pop

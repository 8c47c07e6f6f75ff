// What onnx-estimate writes for the estimate of a model.
#pragma once

#include <string>

#include "arguments.h"

namespace pagoda::tools {

// A report or chart of the estimate, in the format asked for.
std::string output(const Arguments& arguments, const documents::EstimateRequest& request, const Model& model,
                   const documents::EstimateDocument& estimate);
// The model's structure as features.
std::string structure(const Arguments& arguments, const documents::EstimateRequest& request, const Model& model,
                      const documents::EstimateDocument& estimate);
// What changed from the model in another file. `is_complete` becomes false where numbers of that one are missing.
std::string comparison(const Arguments& arguments, const documents::EstimateRequest& request,
                       const documents::EstimateDocument& estimate, bool& is_complete);

// Writes --annotate's copy of the model. Returns what a person should know of it, as lines; empty: nothing.
// MODEL and what --then names, as one report. Says what each is not sure of on standard error.
std::string pipeline(const Arguments& arguments, const documents::EstimateRequest& request, bool& is_complete);
std::string annotate(const Arguments& arguments, const documents::EstimateRequest& request, const Model& model,
                     const documents::EstimateDocument& estimate);

}  // namespace pagoda::tools

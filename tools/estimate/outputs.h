// The outputs of onnx-estimate for the estimate of a model.
#pragma once

#include <string>

#include "arguments.h"

namespace pagoda::tools {

// A report or chart of the estimate, in the requested format.
std::string output(const Arguments& arguments, const estimate::EstimateRequest& request, const Model& model,
                   const documents::EstimateDocument& estimate);
// The model's structure as features.
std::string structure(const Arguments& arguments, const estimate::EstimateRequest& request, const Model& model,
                      const documents::EstimateDocument& estimate);
// The changes from the model of --compare. `is_complete` becomes false if numbers of that model are missing.
std::string comparison(const Arguments& arguments, const estimate::EstimateRequest& request,
                       const documents::EstimateDocument& estimate, bool& is_complete);

// MODEL and the models of --then, as one report. Prints warnings and assumed sizes of each to standard error.
std::string pipeline(const Arguments& arguments, const estimate::EstimateRequest& request, bool& is_complete);
// Writes --annotate's copy of the model. Returns notes for the user as lines; empty: none.
std::string annotate(const Arguments& arguments, const estimate::EstimateRequest& request, const Model& model,
                     const documents::EstimateDocument& estimate);

}  // namespace pagoda::tools

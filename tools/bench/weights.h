// Gives models that are shared without weights random ones.
#pragma once

#include "experiment_run.h"
#include "pagoda/core/model.h"

namespace pagoda::tools::bench {

// Whether the data of any tensor are missing: its external file does not exist, or the model's file ends before them.
bool lacks_weights(const Model& model);

// The config with a model file filled with random weights. The file is created once in the folder of the options and
// named by the model's content and the seed. Returns the config unchanged if the model has its weights or its backend
// (conv, torch) needs none. Throws Error.
documents::Config with_weights(const documents::Config& config, const RunOptions& options);

}  // namespace pagoda::tools::bench

// Models that are shared without their weights run on random ones.
#pragma once

#include "experiment_run.h"
#include "pagoda/core/model.h"

namespace pagoda::tools::bench {

// Whether the data of some tensor are missing: its file is not there, or ends before them.
bool lacks_weights(const Model& model);

// The config with a filled model's file for one without weights, made once in the folder of the options and named by
// the content of the model and the seed. The same config where the file has all, or its backend (conv, torch) needs
// none. Throws Error.
documents::Config with_weights(const documents::Config& config, const RunOptions& options);

}  // namespace pagoda::tools::bench

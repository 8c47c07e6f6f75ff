// The outputs of a run: its files, the comparison with a baseline, and the exit code.
#pragma once

#include <optional>

#include "runs.h"

namespace pagoda::tools::ceilings {

// Checks paths before minutes of measuring: reads the baseline (empty: none was given) and throws Error if it cannot be
// read or an output cannot be written.
std::optional<documents::CeilingsDocument> check_files(const Options& options);

// Prints the table, writes the files and reports problems; returns the exit code.
int publish(const Options& options, const std::optional<documents::CeilingsDocument>& baseline, const Outcome& outcome);

}  // namespace pagoda::tools::ceilings

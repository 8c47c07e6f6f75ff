// What becomes of a run: its files, the comparison with a baseline, and the exit code.
#pragma once

#include <optional>

#include "runs.h"

namespace pagoda::tools::ceilings {

// Minutes of measuring must not end in a path that was wrong from the start: reads the baseline (empty: there is none)
// and throws Error where it, or a file to write, cannot be used.
std::optional<documents::CeilingsDocument> check_files(const Options& options);

// Prints the table, writes the files and says what is wrong; returns the exit code.
int publish(const Options& options, const std::optional<documents::CeilingsDocument>& baseline, const Outcome& outcome);

}  // namespace pagoda::tools::ceilings

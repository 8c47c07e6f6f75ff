// Runs Nsight Compute as a process: one run, and studies over models and batches.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/measured/ncu.h"
#include "tool.h"

namespace pagoda::tools::profile {

// Runs ncu to its end, does not redirect the program's output, and reads ncu's table. Throws ToolError, with the reason
// and the remedy, if ncu returned no results.
documents::Measured run_ncu(const measured::profile::NcuRequest& request);

// A study: its points run one after the other, since ncu needs the GPU for itself.
struct NcuOutcome {
  std::string name;                                            // the point's, made unique in the study
  std::optional<documents::Measured> measured = std::nullopt;  // empty: it failed
  std::string failure = {};                                    // why, with the remedy
  int exit_code = 0;                                           // of its failure
};
// A point that fails becomes an outcome and the study goes on. Without a device, privilege or ncu, the remaining points
// fail with the same reason and are not started. Calls `on_done` with each outcome at once, so that it can be saved.
std::vector<NcuOutcome> run_ncu_study(const measured::profile::NcuRequest& request,
                                      const std::vector<std::string>& models, const std::vector<std::string>& batches,
                                      const std::function<void(const NcuOutcome&)>& on_done = {});
// kDone; kPartial if some points failed; if all failed, the exit code of the first.
int study_exit_code(const std::vector<NcuOutcome>& outcomes);

}  // namespace pagoda::tools::profile

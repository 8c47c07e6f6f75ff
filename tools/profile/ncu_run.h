// Nsight Compute as a process: one run, and studies over models and batches.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pagoda/measured/ncu.h"
#include "tool.h"

namespace pagoda::tools::profile {

// Why ncu gave nothing: what() says the remedy, exit_code is that of the tool.
class NcuFailure : public ToolError {
 public:
  using ToolError::ToolError;
};

// Runs ncu to its end, with the program's own output where it would go, and reads its table. Throws NcuFailure.
documents::Measured run_ncu(const measured::profile::NcuRequest& request, const measured::ImportOptions& options = {});

// A study: its points one after the other, since ncu is alone on a GPU.
struct NcuOutcome {
  measured::profile::NcuPoint point;
  std::string name;                                            // the point's, made different from all others'
  std::optional<documents::Measured> measured = std::nullopt;  // empty: it failed
  std::string failure = {};                                    // why, with the remedy
  int exit_code = 0;                                           // of its failure
};
// A point that fails is an outcome and the study goes on; where there is no device, no privilege or no ncu, the points
// left fail alike and are not started. `on_done` sees each outcome as it comes, so that it can be kept.
std::vector<NcuOutcome> run_ncu_study(const measured::profile::NcuRequest& request,
                                      const std::vector<std::string>& models, const std::vector<std::string>& batches,
                                      const measured::ImportOptions& options = {},
                                      const std::function<void(const NcuOutcome&)>& on_done = {});
// kDone, kPartial where a part failed, else what all failed of.
int study_exit_code(const std::vector<NcuOutcome>& outcomes);

}  // namespace pagoda::tools::profile

// What the two machines do with the options: measure, and return a document or say why they cannot.
#pragma once

#include "options.h"
#include "pagoda/documents/ceilings.h"
#include "tool.h"

namespace pagoda::tools::ceilings {

struct Outcome {
  int exit = kDone;
  documents::CeilingsDocument document;
  std::string points_csv;  // of sweeps; empty: none
  std::string trace_csv;   // power, clock and temperature over the run; empty: none
  bool lost = false;       // the device hangs: end without the driver's own clean-up, which would wait for it
};

// Throws UsageError where --only leaves nothing to measure, before anything is.
void require_any(const Options& options, std::size_t experiments);

// `show_progress`: on a terminal, lines that overwrite each other on standard error. Throws ToolError where there are
// no kernels for this CPU.
Outcome run_cpu(const Options& options, bool show_progress);
// Throws GpuError where there is no driver, no such device or no code for it.
Outcome run_gpu(const Options& options, bool show_progress);
// The audit of the embedded kernels as text; false where one is not what it must be. Needs no device.
bool audit_cpu(const Options& options, std::string& text);
bool audit_gpu(const Options& options, std::string& text);

}  // namespace pagoda::tools::ceilings

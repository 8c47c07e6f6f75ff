// Measures a CPU or a GPU according to the options; returns a document or throws the reason why it cannot.
#pragma once

#include "options.h"
#include "pagoda/documents/ceilings.h"
#include "tool.h"

namespace pagoda::tools::ceilings {

struct Outcome {
  int exit = kDone;
  documents::CeilingsDocument document;
  std::string points_csv;  // points of sweeps; empty: none
  std::string trace_csv;   // power, clock and temperature over the run; empty: none
  bool lost = false;       // the device hangs: exit without the driver's clean-up, which would wait for it
};

// Call before measuring: throws UsageError if --only leaves nothing to measure.
void require_any(const Options& options, std::size_t experiments);

// `show_progress`: shows progress on standard error, which must be a terminal. Throws ToolError if there are no kernels
// for this CPU.
Outcome run_cpu(const Options& options, bool show_progress);
// Throws GpuError if there is no driver, no such device or no code for it.
Outcome run_gpu(const Options& options, bool show_progress);
// Audits the embedded kernels, with the result as text; false if any loop is wrong. Needs no device.
bool audit_cpu(const Options& options, std::string& text);
bool audit_gpu(const Options& options, std::string& text);

}  // namespace pagoda::tools::ceilings

// A run of ert-ceilings: checks files, measures a CPU or a GPU according to the options, writes the outputs.
#pragma once

#include <cstdio>
#include <optional>
#include <string>

#include "options.h"
#include "pagoda/documents/ceilings.h"
#include "protocol.h"
#include "run_checks.h"
#include "tool.h"

namespace pagoda::tools::ceilings {

// Progress on a terminal: one line on standard error that is overwritten and finally cleared.
class ProgressLine {
 public:
  explicit ProgressLine(bool enabled) : enabled_(enabled) {}
  ~ProgressLine() { clear(); }
  void show(const std::string& text) {
    if (enabled_) std::fprintf(stderr, "\r\033[K%s", text.c_str());
  }
  void show(const Progress& p) {
    show(printed("[%zu/%zu] %s, about %.0f s left", p.done, p.of, p.id.c_str(), p.seconds_left));
  }
  void clear() { show(""); }

 private:
  bool enabled_;
};

struct Outcome {
  int exit = kDone;
  documents::CeilingsDocument document;
  std::string points_csv;  // points of sweeps; empty: none
  std::string trace_csv;   // power, clock and temperature over the run; empty: none
  bool lost = false;       // the device hangs: exit without the driver's clean-up, which would wait for it
};

// Checks paths before minutes of measuring: reads the baseline (empty: none was given) and throws Error if it cannot be
// read or an output cannot be written.
std::optional<documents::CeilingsDocument> check_files(const Options& options);

// Prints the table, writes the files and reports problems; returns the exit code.
int publish(const Options& options, const std::optional<documents::CeilingsDocument>& baseline, const Outcome& outcome);

// Ceilings as a readable table.
std::string table(const documents::CeilingsDocument& document);
// One row per ceiling: id, mode, value, interval, unit, status and theoretical values.
std::string csv(const documents::CeilingsDocument& document);
// Lines "<GFLOP/s> FP64 GFLOPs EMP" and "<GB/s> L1 EMP", as read by plotters of the Empirical Roofline Tool.
std::string ert_csv(const documents::CeilingsDocument& document);
// A header and a row with the columns of rocprof-compute's roofline.csv that have a counterpart: value, low and high.
std::string rocprof_csv(const documents::CeilingsDocument& document);

// 1.2345e12, "B/s" → "1.23 TB/s"
std::string with_unit(double value, const std::string& unit);

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

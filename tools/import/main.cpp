// pagoda-import: converts the profile of an engine or profiler to pagoda.measured/1, joined with a static estimate if
// one is given.
#include <iostream>

#include "arguments.h"
#include "pagoda/base/text.h"
#include "pagoda/measured/join.h"
#include "pagoda/present/report.h"
#include "pagoda/present/spell.h"
#include "tool.h"

namespace pagoda::tools {
namespace {

int import(int argc, char** argv) {
  const std::optional<ImportArguments> arguments = parse_import(argc, argv);
  if (!arguments) return kDone;
  documents::Measured measured = measured::load_profile(arguments->file, arguments->options);
  std::string report;
  if (!arguments->estimate.empty()) {
    const documents::EstimateDocument estimate = documents::load_estimate(arguments->estimate);
    measured::join(measured, estimate);
    report = measured::join_report(measured, estimate, arguments->top, arguments->width);
    if (!arguments->csv.empty()) write_output(arguments->csv, measured::node_counts_csv(measured, estimate));
  } else {
    if (arguments->table || (!arguments->output.empty() && !measured.kernels.empty()))
      report = present::command_line(measured::kernel_report(measured, arguments->top, arguments->width));
    if (!arguments->csv.empty()) write_output(arguments->csv, measured::kernels_csv(measured));
  }
  const std::string json = documents::write_measured(measured);
  if (!arguments->output.empty()) write_output(arguments->output, json);
  for (const std::string& member : measured.unknown)
    std::cerr << "pagoda-import: " << base::printable(documents::left_out(member)) << '\n';
  for (const std::string& note : measured.notes) std::cerr << "pagoda-import: " << base::printable(note) << '\n';
  if (!report.empty() || arguments->output.empty()) write_output("", report.empty() ? json : report);
  return kDone;
}

}  // namespace
}  // namespace pagoda::tools

int main(int argc, char** argv) { return pagoda::tools::run_tool("pagoda-import", argc, argv, pagoda::tools::import); }

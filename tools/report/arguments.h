// The command line of pagoda-report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pagoda/lab/result_report.h"

namespace pagoda::tools {

struct ReportArguments {
  std::vector<std::string> inputs, where;
  std::string output, title, columns = "tidy", baseline = "oldest", base, now, key, models, machine;
  lab::CompareOptions compare;
  lab::ExplainOptions explain;
  double slow_down = 0.05;
  std::vector<std::string> same = {"batch"};
  bool no_gate = false;
  std::string command;  // "table", "csv" …
};

// Empty after --help or --version. Throws UsageError.
std::optional<ReportArguments> parse_report(int argc, char** argv);

}  // namespace pagoda::tools

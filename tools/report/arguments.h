// The command line of pagoda-report, and its commands.
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
  int (*command)(const ReportArguments&) = nullptr;  // the requested one of those below
};

// Empty after --help or --version. Throws UsageError.
std::optional<ReportArguments> parse_report(int argc, char** argv);

// Each returns the exit code and throws Error.
int report_table(const ReportArguments& flags);
int report_csv(const ReportArguments& flags);
int report_compare(const ReportArguments& flags);  // kPartial if something is slower beyond noise, or broken
int report_latest(const ReportArguments& flags);
int report_history(const ReportArguments& flags);
int report_measured(const ReportArguments& flags);
int report_modes(const ReportArguments& flags);
int report_explain(const ReportArguments& flags);

}  // namespace pagoda::tools

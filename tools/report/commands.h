// The commands of pagoda-report, one function each. Each returns the exit code and throws Error.
#pragma once

#include "arguments.h"

namespace pagoda::tools {

int report_table(const ReportArguments& flags);
int report_csv(const ReportArguments& flags);
int report_compare(const ReportArguments& flags);  // kPartial if something is slower beyond noise, or broken
int report_latest(const ReportArguments& flags);
int report_history(const ReportArguments& flags);
int report_measured(const ReportArguments& flags);
int report_modes(const ReportArguments& flags);
int report_explain(const ReportArguments& flags);

}  // namespace pagoda::tools

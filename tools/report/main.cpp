// pagoda-report: reports on results of pagoda-bench.
#include "arguments.h"
#include "tool.h"

int main(int argc, char** argv) {
  return pagoda::tools::run_tool("pagoda-report", argc, argv, [](int count, char** words) {
    const auto arguments = pagoda::tools::parse_report(count, words);
    return arguments ? arguments->command(*arguments) : int{pagoda::tools::kDone};
  });
}

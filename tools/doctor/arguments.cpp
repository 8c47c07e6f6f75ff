#include "arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "tool.h"

namespace pagoda::tools::doctor {
namespace {

constexpr const char* kExamples = R"(Examples:
  pagoda-doctor                                       everything, with remedies
  pagoda-doctor --need counters && pagoda-profile …   exit 4 where the counters cannot be read
  pagoda-doctor --strict --json doctor.json           exit 3 where anything disturbs; keep the report with the results

Exit codes: 0 done, 1 unusable output, 2 usage, 3 warnings or problems (--strict), 4 a need is not met (--need).)";

}  // namespace

std::optional<Arguments> parse_arguments(int argc, char** argv) {
  CLI::App app("Checks GPU, driver, counters, clocks, CPU and frameworks before a measurement.", "pagoda-doctor");
  app.set_version_flag("--version", "pagoda-doctor " PAGODA_VERSION);
  app.footer(kExamples);
  Arguments arguments;
  app.add_option("--json", arguments.json, "File for the report as JSON; - for standard output");
  app.add_option("--need", arguments.needs, "Exit 4 where this is not there: gpu, counters, ncu, onnxruntime, pytorch, torch.compile")
      ->check(CLI::IsMember({"gpu", "counters", "ncu", "onnxruntime", "pytorch", "torch.compile"}));
  app.add_flag("--strict", arguments.is_strict, "Exit 3 where there is a warning or a problem");
  app.add_option("--python", arguments.surroundings.python,
                 "Python that is asked for packages (default: $PAGODA_PYTHON or python3)")
      ->envname("PAGODA_PYTHON");
  app.add_option("--root", arguments.surroundings.root,
                 "Folder that holds the proc and sys to read instead of this machine's");
  app.add_option("--nvml", arguments.surroundings.nvml, "Management library (default libnvidia-ml.so.1)");
  app.add_option("--cuda", arguments.surroundings.cuda, "Driver library (default libcuda.so.1)");
  if (!parse(app, argc, argv)) return std::nullopt;
  arguments.surroundings.tries_compile =
      std::count(arguments.needs.begin(), arguments.needs.end(), "torch.compile") > 0;
  return arguments;
}

}  // namespace pagoda::tools::doctor

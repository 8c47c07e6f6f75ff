// ert-ceilings: measures the roof of this machine and reports its uncertainty.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "protocol.h"
#include "runs.h"

namespace pagoda::tools::ceilings {
namespace {

int audit(const Options& options) {
  std::string text;
  const bool fine = options.cpu ? audit_cpu(options, text) : audit_gpu(options, text);
  std::fputs(text.c_str(), stdout);
  return fine ? kDone : kImpossible;
}

int run(int argc, char** argv) try {
  const std::optional<Options> options = parse_options(argc, argv);
  if (!options) return kDone;
  if (options->audit) return audit(*options);
  const std::optional<documents::CeilingsDocument> baseline = check_files(*options);
  const bool is_terminal = isatty(STDERR_FILENO) != 0;
  Outcome outcome = options->gpu ? run_gpu(*options, is_terminal) : run_cpu(*options, is_terminal);
  outcome.document.tool = std::string("ert-ceilings ") + PAGODA_VERSION;
  const int code = publish(*options, baseline, outcome);
  if (outcome.lost) {  // the driver's clean-up would wait for the device
    std::fflush(stdout);
    std::_Exit(code);
  }
  return code;
} catch (const DeviceLost& error) {  // lost before there was anything to report
  std::fprintf(stderr, "ert-ceilings: the device is lost: %s\n", error.what());
  std::_Exit(kNoDevice);
}

}  // namespace
}  // namespace pagoda::tools::ceilings

int main(int argc, char** argv) {
  return pagoda::tools::run_tool("ert-ceilings", argc, argv, pagoda::tools::ceilings::run);
}

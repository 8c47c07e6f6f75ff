// pagoda-calibrate: fits the coefficients of predicted times to measured times, or checks a calibration against them;
// with --energy fits the energy cost of work, traffic and time; with --here measures this machine and an engine on it.
#include "arguments.h"
#include "tool.h"

namespace pagoda::tools {
namespace {

int calibrate(int argc, char** argv) {
  const std::optional<CalibrateArguments> arguments = parse_calibrate(argc, argv);
  if (!arguments) return kDone;
  if (!arguments->here.empty()) return calibrate_here(*arguments);
  if (arguments->energy) return calibrate_energy(*arguments);
  return arguments->tensorrt ? calibrate_tensorrt(*arguments) : calibrate_runs(*arguments);
}

}  // namespace
}  // namespace pagoda::tools

int main(int argc, char** argv) {
  return pagoda::tools::run_tool("pagoda-calibrate", argc, argv, pagoda::tools::calibrate);
}

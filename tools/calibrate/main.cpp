// pagoda-calibrate: fits the coefficients of predicted times to measured times, or checks a calibration against them;
// with --energy fits the energy cost of work, traffic and time; with --here measures this machine and an engine on it.

#include "arguments.h"
#include "pagoda/base/files.h"
#include "pagoda/core/eager.h"
#include "pagoda/documents/calibration.h"
#include "runs.h"
#include "tool.h"

namespace pagoda::tools {
namespace {

Judged held_against(const std::string& name, const Loaded& loaded) {
  const Calibration calibration =
      base::is_path(name) ? documents::load_calibration(name).fitted : documents::calibration(name);
  const EagerCoefficients coefficients = eager_coefficients(calibration);
  Judged judged;
  for (const lab::TimedRun& run : loaded.runs) {
    double seconds = 0;
    for (const KernelLaunch& kernel : run.kernels) seconds += kernel_seconds(kernel, run.rates, coefficients);
    judged.predicted.push_back(seconds);
    const std::optional<Factors> around = interval(calibration, run.device, run.channels_last);
    judged.interval.push_back(around ? std::optional(Factors{seconds * around->low, seconds * around->high}) : around);
  }
  return judged;
}

Judged fitted(const CalibrateArguments& arguments, const Loaded& loaded) {
  const Loaded elsewhere = arguments.elsewhere.empty() ? Loaded() : load(arguments.elsewhere);
  const lab::Fit fit = lab::fit_eager(loaded.runs, arguments.options, elsewhere.runs);
  Judged judged;
  for (std::size_t i = 0; i < loaded.runs.size(); ++i) {
    judged.predicted.push_back(*fit.predicted[i]);
    judged.interval.emplace_back(fit.intervals[i]);
  }
  if (!arguments.output.empty()) write_output(arguments.output, documents::to_json(fit.file));
  return judged;
}

int calibrate_runs(int argc, char** argv) {
  const std::optional<CalibrateArguments> arguments = parse_calibrate(argc, argv);
  if (!arguments) return kDone;
  if (!arguments->here.empty()) return calibrate_here(*arguments);
  if (arguments->energy) return calibrate_energy(*arguments);
  if (arguments->tensorrt) return calibrate_tensorrt(*arguments);
  const Loaded loaded = load(arguments->runs.front());
  const bool is_check = !arguments->check.empty();
  const Judged judged = is_check ? held_against(arguments->check, loaded) : fitted(*arguments, loaded);
  write_output("", (is_check ? "" : "Each model by a fit that did not see its family:\n") + report(loaded, judged));
  if (!arguments->residuals.empty()) write_output(arguments->residuals, residuals(loaded, judged));
  return kDone;
}

}  // namespace
}  // namespace pagoda::tools

int main(int argc, char** argv) {
  return pagoda::tools::run_tool("pagoda-calibrate", argc, argv, pagoda::tools::calibrate_runs);
}

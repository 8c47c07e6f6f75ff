// Calibrations of TensorRT: by a table of published runs, and by the runs of --here.
#include <cstdio>
#include <filesystem>
#include <map>

#include "here.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/number.h"
#include "pagoda/base/statistics.h"
#include "pagoda/core/analyze.h"
#include "pagoda/core/model.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/documents/device.h"
#include "runs.h"
#include "tool.h"

namespace pagoda::tools {
namespace {

// Identifies a run across releases: device, model, sequence, batch, precision.
using Configuration = std::vector<std::string>;

// The seconds of each configuration, by release.
std::map<Configuration, std::vector<double>> read_runs(const std::string& path) {
  RunTable table(path, {"device", "model", "sequence", "batch", "precision", "seconds"});
  std::map<Configuration, std::vector<double>> runs;
  while (table.next()) {
    const std::string& precision = table["precision"];
    if (precision != "fp16" && precision != "int8")
      throw Error(cat(table.place(), ": precision \"", precision, "\"; expected fp16 or int8"));
    const auto seconds = table.positive<double>("seconds");
    if (!seconds || !table.positive<std::int64_t>("batch") || !table.positive<std::int64_t>("sequence"))
      throw Error(table.place() + ": batch, sequence and seconds have to be numbers above 0");
    runs[{table["device"], table["model"], table["sequence"], table["batch"], precision}].push_back(*seconds);
  }
  if (runs.empty()) throw Error(path + ": holds no runs");
  return runs;
}

std::vector<lab::TensorRtRun> load_runs(const std::string& path) {
  std::map<std::string, Model> models;
  std::map<Configuration, TensorRtKernels> kernels;  // without the device
  std::vector<lab::TensorRtRun> result;
  for (auto& [configuration, seconds] : read_runs(path)) {
    const std::string &device = configuration[0], &name = configuration[1];
    const bool is_int8 = configuration[4] == "int8";
    const DeviceSpec spec = documents::find_device(device);
    const auto rates = tensorrt_rates(spec);
    if (!rates) throw Error(device + ": states no rate of tensor units, bandwidth, L2, clock or power");
    if (!models.contains(name)) {
      const auto file = std::filesystem::path(path).parent_path() / (name + ".onnx");
      models.emplace(name, load_model(file.string()));
    }
    const Configuration sizes(configuration.begin() + 1, configuration.end());
    if (!kernels.contains(sizes)) {
      const auto size = [&, &given = configuration](int column) {
        return *base::parse_number<std::int64_t>(given[column]);
      };
      const Analysis analysis = analyze(models.at(name), {.batch = size(3),
                                                          .dims = {{"sequence", size(2)}},
                                                          .precision = is_int8 ? Precision::Int8 : Precision::Float16});
      kernels[sizes] = tensorrt_kernels(models.at(name), analysis);
    }
    result.push_back({.device = spec.id,
                      .group = "sequence " + configuration[2],
                      .pair = cat(device, " ", name, " ", configuration[2], " ", configuration[3]),
                      .is_int8 = is_int8,
                      .kernels = kernels.at(sizes),
                      .rates = *rates,
                      .seconds = base::median(seconds)});
  }
  return result;
}

std::string lines(const char* what, const std::vector<documents::GroupErrors>& list) {
  std::string out;
  for (const documents::GroupErrors& errors : list) {
    char text[200];
    std::snprintf(text, sizeof text, "%-9s %-14s %4lld runs  mean error %5.1f %%  median %5.1f %%  bias %+6.1f %%\n",
                  what, errors.of.c_str(), static_cast<long long>(errors.runs), 100 * errors.mean_error,
                  100 * errors.median_error, 100 * errors.bias);
    out += text;
  }
  return out;
}

}  // namespace

int calibrate_tensorrt(const CalibrateArguments& arguments) {
  lab::Fit fit = lab::fit_tensorrt(load_runs(arguments.runs.front()), arguments.options.coverage);
  documents::CalibrationFile& file = fit.file;
  file.fitted.id = arguments.options.id;
  file.fitted.regime = arguments.options.regime;
  file.fitted.source = arguments.options.source;
  write_output("",
               cat(lines("fitted", file.groups), lines("left out", file.left_out), "int8 or float16 faster: right for ",
                   file.pairs_right, " of ", file.pairs, " pairs, by a fit without the device\n"));
  if (!arguments.output.empty()) write_output(arguments.output, documents::to_json(file));
  return kDone;
}

// By whole runs; coefficients that they do not determine are those of the devices of the built-in calibration.
HereFit fit_tensorrt(const Here& here) {
  const std::optional<TensorRtRates> rates = tensorrt_rates(here.device);
  if (!rates)
    throw Error(here.folder +
                "/ceilings.json: states no float16 rate of tensor units, memory bandwidth, L2 capacity, "
                "clock, power limit or compute capability; measure it again on a GPU with tensor units");
  std::vector<lab::TensorRtRun> runs;
  for (std::size_t i = 0; i < here.runs.size(); ++i) {
    const auto& [row, result, seconds, apart_seconds] = here.runs[i];
    const Model model = load_model(documents::text_of(result->config, "model_file"));
    TensorRtKernels kernels = tensorrt_kernels(model, analysis_of(model, *result, Precision::Float16));
    require_costs(here, i, kernels.unknown_rows);
    runs.push_back({.device = here.device.name,
                    .group = row->family,
                    .kernels = std::move(kernels),
                    .rates = *rates,
                    .seconds = seconds});
  }
  const TensorRtCoefficients elsewhere = tensorrt_coefficients(documents::calibration("tensorrt"));
  return with_residuals(here, lab::fit_tensorrt(runs, 0.8, &elsewhere), false);
}

}  // namespace pagoda::tools

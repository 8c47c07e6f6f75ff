// Measured runs of models, and how well they are predicted.
#include "runs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "arguments.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/csv_line.h"
#include "pagoda/base/files.h"
#include "pagoda/core/eager.h"
#include "pagoda/core/model.h"
#include "pagoda/core/roofline.h"
#include "pagoda/core/traffic.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/documents/device.h"
#include "tool.h"

namespace pagoda::tools {

RunTable::RunTable(const std::string& path, std::initializer_list<const char*> needed)
    : text_(base::read_text(path, "CSV of runs", base::Reads::Table)),
      table_(text_, path, base::has_column(*needed.begin()),
             cat("no column \"", *needed.begin(), "\" in the header")) {
  for (const char* column : needed)
    if (!has(column)) throw Error(cat(path, ": no column \"", column, "\" in the header"));
  table_.expect_all_numbers();
}

bool RunTable::next() {
  return table_.next([](const auto& row) { return row.front().starts_with('#'); });
}

namespace {

struct Row {
  std::string model, family, device;
  bool channels_last = false;
  std::int64_t batch = 0;
  double seconds = 0;
  double floor = 0, fused = 0;  // bounds, s
};

struct Loaded {
  std::vector<lab::TimedRun> runs;
  std::vector<Row> rows;
};

struct Judged {
  std::vector<double> predicted;
  std::vector<std::optional<Factors>> interval;  // in seconds
};

std::vector<Row> read_rows(const std::string& path) {
  RunTable table(path, {"model", "family", "batch", "device", "seconds"});
  std::vector<Row> rows;
  while (table.next()) {
    const std::string layout = table.has("layout") ? table["layout"] : "nchw";
    if (layout != "nchw" && layout != "nhwc")
      throw Error(cat(table.place(), ": layout \"", layout, "\"; expected nchw or nhwc"));
    const auto batch = table.positive<std::int64_t>("batch");
    const auto seconds = table.positive<double>("seconds");
    if (!batch || !seconds)
      throw Error(cat(table.place(), ": batch \"", table["batch"], "\" and seconds \"", table["seconds"],
                      "\"; expected numbers above 0"));
    rows.push_back({table["model"], table["family"], table["device"], layout == "nhwc", *batch, *seconds});
  }
  if (rows.empty())
    throw Error(path + ": holds no runs; expected CSV with columns model, family, batch, device and seconds");
  return rows;
}

// Analyzes the models of a table. Leaves out rows of models that are not completely modelled, and says so on standard
// error.
Loaded load(const std::string& path) {
  Loaded loaded;
  std::map<std::string, DeviceSpec> devices;
  const auto directory = std::filesystem::path(path).parent_path();
  for (Row& row : read_rows(path)) {
    if (devices.count(row.device) == 0) devices[row.device] = documents::find_device(row.device);
    const DeviceSpec& device = devices.at(row.device);
    const auto rates = kernel_rates(device);
    if (!rates) throw Error(row.device + ": states no float16 rate of tensor units, bandwidth or launch overhead");
    const Model model = load_model((directory / row.model).string());
    const Analysis analysis = analyze(model, {.batch = row.batch});
    EagerKernels eager = eager_kernels(model, analysis, {.bindings = {}, .channels_last = row.channels_last});
    if (eager.unknown_rows > 0) {
      std::cerr << row.model << ": " << eager.unknown_rows << " rows are not modelled; left out\n";
      continue;
    }
    const Analysis half = analyze(model, {.batch = row.batch, .precision = Precision::Float16});
    const Traffic fused = traffic(model, half, {.model = TrafficModel::Fused});
    row.floor = roofline(half, device).totals.floor_seconds;
    row.fused = roofline(half, fused, device).totals.seconds;
    loaded.runs.push_back(
        {row.model, row.family, std::move(eager.kernels), device.id, row.channels_last, *rates, row.seconds});
    loaded.rows.push_back(std::move(row));
  }
  return loaded;
}

// Errors, intervals and ranks, as lines of text.
std::string report(const Loaded& loaded, const Judged& judged) {
  std::string out;
  std::vector<double> errors, measured, floors;
  std::map<std::string, std::pair<double, double>> families;  // models, summed error
  double inside = 0, judged_by_interval = 0, floor_above = 0, fused_above = 0;
  for (std::size_t i = 0; i < loaded.runs.size(); ++i) {
    const double seconds = loaded.runs[i].seconds;
    errors.push_back(std::abs(judged.predicted[i] / seconds - 1));
    measured.push_back(seconds);
    floors.push_back(loaded.rows[i].floor);
    auto& family = families[loaded.runs[i].family];
    family.first += 1;
    family.second += errors.back();
    if (const auto& interval = judged.interval[i]) {
      ++judged_by_interval;
      inside += seconds >= interval->low && seconds <= interval->high ? 1 : 0;
    }
    floor_above += loaded.rows[i].floor > seconds ? 1 : 0;
    fused_above += loaded.rows[i].fused > seconds ? 1 : 0;
  }
  const double count = static_cast<double>(errors.size());
  double sum = 0, by_family = 0;
  for (const double error : errors) sum += error;
  std::ranges::sort(errors);
  for (const auto& [name, family] : families) by_family += family.second / family.first;
  const auto line = [&](const char* what, double value, const char* unit) {
    char text[160];
    std::snprintf(text, sizeof text, "%-52s %8.4g %s\n", what, value, unit);
    out += text;
  };
  line("models", count, "");
  line("families", static_cast<double>(families.size()), "");
  line("mean absolute error", 100 * sum / count, "%");
  line("  each family weighing the same", 100 * by_family / static_cast<double>(families.size()), "%");
  line("median absolute error", 100 * errors[errors.size() / 2], "%");
  line("90th percentile", 100 * errors[errors.size() * 9 / 10], "%");
  if (judged_by_interval > 0) line("models inside the interval", 100 * inside / judged_by_interval, "%");
  line("rank correlation of the prediction", lab::rank_correlation(judged.predicted, measured), "");
  line("rank correlation of the floor", lab::rank_correlation(floors, measured), "");
  line("floors above the measured time", floor_above, "");
  line("fused bounds above the measured time", fused_above, "");
  return out;
}

// Measured time, predicted time and bound of every run, as CSV.
std::string residuals(const Loaded& loaded, const Judged& judged) {
  std::string out = "model,family,batch,device,layout,seconds,predicted,low,high,floor,fused\r\n";
  for (std::size_t i = 0; i < loaded.runs.size(); ++i) {
    const Row& row = loaded.rows[i];
    const auto& interval = judged.interval[i];
    base::CsvLine line;
    line.add(row.model).add(row.family).add(row.batch).add(row.device).add(row.channels_last ? "nhwc" : "nchw");
    line.add(row.seconds).add(judged.predicted[i]);
    interval ? line.add(interval->low).add(interval->high) : line.add("").add("");
    out += std::move(line.add(row.floor).add(row.fused)).end();
  }
  return out;
}

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

}  // namespace

int calibrate_runs(const CalibrateArguments& arguments) {
  const Loaded loaded = load(arguments.runs.front());
  const bool is_check = !arguments.check.empty();
  const Judged judged = is_check ? held_against(arguments.check, loaded) : fitted(arguments, loaded);
  write_output("", (is_check ? "" : "Each model by a fit that did not see its family:\n") + report(loaded, judged));
  if (!arguments.residuals.empty()) write_output(arguments.residuals, residuals(loaded, judged));
  return kDone;
}

}  // namespace pagoda::tools

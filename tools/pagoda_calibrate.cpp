// pagoda-calibrate: fits the coefficients of predicted times to measured ones, or holds a calibration against them.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "pagoda/core/calibrate.h"
#include "pagoda/core/model.h"
#include "pagoda/core/predict.h"
#include "pagoda/core/roofline.h"
#include "pagoda/core/traffic.h"
#include "pagoda/documents/calibration.h"
#include "pagoda/documents/device.h"

namespace {

using namespace pagoda;

constexpr int kUnusableInput = 1, kUsage = 2;

constexpr const char* kExamples = R"(Examples:
  pagoda-calibrate runs.csv --id my-gpu --regime "PyTorch 2.4, autocast" --source "own runs" -o my-gpu.json
      fits, judges by families left out, writes the calibration
  pagoda-calibrate runs.csv --check rtx-3090-amp-nchw --residuals residuals.csv
      holds a calibration against runs, row by row

RUNS is CSV with a header. Columns: model (path, relative to the file), family (models that are left out together),
batch, device (name or file), seconds (of one batch), and maybe layout (nchw or nhwc); others are ignored. Lines that start with # are skipped.
Exit codes: 0 done, 1 unusable input or output, 2 usage.)";

std::vector<std::string> fields_of(std::string line) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
  std::vector<std::string> fields;
  std::stringstream stream(line + ",");
  for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
  return fields;
}

struct Row {
  std::string model, family, device;
  bool channels_last = false;
  std::int64_t batch = 0;
  double seconds = 0;
};

std::vector<Row> read_rows(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(path + ": cannot be opened");
  std::map<std::string, std::size_t> columns;
  std::vector<Row> rows;
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> fields = fields_of(line);
    if (columns.empty()) {
      for (std::size_t i = 0; i < fields.size(); ++i) columns[fields[i]] = i;
      for (const char* needed : {"model", "family", "batch", "device", "seconds"})
        if (columns.count(needed) == 0) throw Error(path + ": no column \"" + needed + "\" in the header");
      continue;
    }
    const std::string where = path + ":" + std::to_string(number);
    const auto field = [&](const char* name) -> const std::string& {
      if (columns.at(name) >= fields.size()) throw Error(where + ": fewer fields than the header has");
      return fields[columns.at(name)];
    };
    try {
      const std::string layout = columns.count("layout") == 0 ? "nchw" : field("layout");
      if (layout != "nchw" && layout != "nhwc")
        throw Error(where + ": layout \"" + layout + "\"; expected nchw or nhwc");
      rows.push_back({field("model"), field("family"), field("device"), layout == "nhwc", std::stoll(field("batch")),
                      std::stod(field("seconds"))});
    } catch (const std::logic_error&) {
      throw Error(where + ": batch and seconds have to be numbers");
    }
  }
  if (rows.empty())
    throw Error(path + ": holds no runs; expected CSV with columns model, family, batch, device and seconds");
  return rows;
}

struct Bounds {
  double floor = 0, fused = 0;  // s
};

struct Loaded {
  std::vector<TimedRun> runs;
  std::vector<Row> rows;
  std::vector<Bounds> bounds;
};

Loaded load(const std::string& path) {
  Loaded loaded;
  std::map<std::string, DeviceSpec> devices;
  const auto directory = std::filesystem::path(path).parent_path();
  for (const Row& row : read_rows(path)) {
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
    const RooflineOptions options{.precision = Precision::Float16};
    const Traffic fused = traffic(model, analysis, {.model = TrafficModel::Fused});
    loaded.bounds.push_back({roofline(analysis, device, options).totals.floor_seconds,
                             roofline(analysis, fused, device, options).totals.seconds});
    loaded.runs.push_back(
        {row.model, row.family, std::move(eager.kernels), device.id, row.channels_last, *rates, row.seconds});
    loaded.rows.push_back(row);
  }
  return loaded;
}

struct Judged {
  std::vector<double> predicted;
  std::vector<std::optional<Factors>> interval;  // in seconds
};

void report(const Loaded& loaded, const Judged& judged, std::ostream& out) {
  std::vector<double> errors, measured, floors;
  std::map<std::string, std::pair<double, double>> families;  // models, summed error
  double inside = 0, judged_by_interval = 0, floor_above = 0, fused_above = 0;
  for (std::size_t i = 0; i < loaded.runs.size(); ++i) {
    const double seconds = loaded.runs[i].seconds;
    errors.push_back(std::abs(judged.predicted[i] / seconds - 1));
    measured.push_back(seconds);
    floors.push_back(loaded.bounds[i].floor);
    auto& family = families[loaded.runs[i].family];
    family.first += 1;
    family.second += errors.back();
    if (const auto& interval = judged.interval[i]) {
      ++judged_by_interval;
      inside += seconds >= interval->low && seconds <= interval->high ? 1 : 0;
    }
    floor_above += loaded.bounds[i].floor > seconds ? 1 : 0;
    fused_above += loaded.bounds[i].fused > seconds ? 1 : 0;
  }
  std::vector<double> sorted = errors;
  std::sort(sorted.begin(), sorted.end());
  const double count = static_cast<double>(errors.size());
  double sum = 0, by_family = 0;
  for (const double error : errors) sum += error;
  for (const auto& [name, family] : families) by_family += family.second / family.first;
  const auto line = [&](const char* what, double value, const char* unit) {
    char text[160];
    std::snprintf(text, sizeof text, "%-52s %8.4g %s\n", what, value, unit);
    out << text;
  };
  line("models", count, "");
  line("families", static_cast<double>(families.size()), "");
  line("mean absolute error", 100 * sum / count, "%");
  line("  each family weighing the same", 100 * by_family / static_cast<double>(families.size()), "%");
  line("median absolute error", 100 * sorted[sorted.size() / 2], "%");
  line("90th percentile", 100 * sorted[sorted.size() * 9 / 10], "%");
  if (judged_by_interval > 0) line("models inside the interval", 100 * inside / judged_by_interval, "%");
  line("rank correlation of the prediction", rank_correlation(judged.predicted, measured), "");
  line("rank correlation of the floor", rank_correlation(floors, measured), "");
  line("floors above the measured time", floor_above, "");
  line("fused bounds above the measured time", fused_above, "");
}

void write_residuals(const std::string& path, const Loaded& loaded, const Judged& judged) {
  std::ofstream out(path);
  out << "model,family,batch,device,layout,seconds,predicted,low,high,floor,fused\n";
  for (std::size_t i = 0; i < loaded.runs.size(); ++i) {
    const Row& row = loaded.rows[i];
    const auto& interval = judged.interval[i];
    out << row.model << ',' << row.family << ',' << row.batch << ',' << row.device << ','
        << (row.channels_last ? "nhwc" : "nchw") << ',' << row.seconds << ',' << judged.predicted[i] << ',';
    if (interval)
      out << interval->low << ',' << interval->high;
    else
      out << ',';  // unknown
    out << ',' << loaded.bounds[i].floor << ',' << loaded.bounds[i].fused << '\n';
  }
  if (!out.flush()) throw Error(path + ": cannot be written");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Fits predicted times to measured ones and judges them by families left out.", "pagoda-calibrate");
  app.set_version_flag("--version", "pagoda-calibrate " PAGODA_VERSION);
  app.footer(kExamples);
  std::string runs, elsewhere, check, output, residuals;
  CalibrationOptions options;
  app.add_option("RUNS", runs, "CSV of models and their measured seconds")->required();
  app.add_option("--id", options.id, "Name of the calibration, also its file's");
  app.add_option("--regime", options.regime, "What was measured: framework, precision, layout, batches");
  app.add_option("--source", options.source, "Where the measured times come from");
  app.add_option("--folds", options.folds, "Groups of families that are left out in turn (default 10)");
  app.add_option("--coverage", options.coverage, "Of the interval (default 0.9)")->check(CLI::Range(0.01, 0.99));
  app.add_option("--elsewhere", elsewhere, "CSV of runs on other devices: not fitted, they give the interval there");
  app.add_option("-o,--output", output, "Write the calibration there");
  app.add_option("--residuals", residuals, "Write measured, predicted and bound of every run there, as CSV");
  app.add_option("--check", check, "Fit nothing: hold this calibration (built in, or a .json file) against the runs")
      ->excludes("--output");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsage;
  }
  try {
    const Loaded loaded = load(runs);
    Judged judged;
    if (!check.empty()) {
      const bool is_path = check.find('/') != std::string::npos || check.ends_with(".json");
      const Calibration calibration =
          is_path ? documents::load_calibration(check) : pagoda::documents::calibration(check);
      for (const TimedRun& run : loaded.runs) {
        double seconds = 0;
        for (const KernelLaunch& kernel : run.kernels) seconds += kernel_seconds(kernel, run.rates, calibration);
        judged.predicted.push_back(seconds);
        std::optional<Factors> around = interval(calibration, run.device, run.channels_last);
        if (around) around = Factors{seconds * around->low, seconds * around->high};
        judged.interval.push_back(around);
      }
    } else {
      const CalibrationResult result =
          calibrate(loaded.runs, options, elsewhere.empty() ? std::vector<TimedRun>{} : load(elsewhere).runs);
      for (const RunPrediction& run : result.runs) {
        judged.predicted.push_back(run.predicted);
        judged.interval.push_back(Factors{run.low, run.high});
      }
      std::cout << "Each model by a fit that did not see its family:\n";
      if (!output.empty()) {
        std::ofstream out(output);
        out << documents::to_json(result.calibration);
        if (!out.flush()) throw Error(output + ": cannot be written");
      }
    }
    report(loaded, judged, std::cout);
    if (!residuals.empty()) write_residuals(residuals, loaded, judged);
  } catch (const std::exception& error) {
    std::cerr << "pagoda-calibrate: " << error.what() << '\n';
    return kUnusableInput;
  }
  return 0;
}

#include "runs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <map>

#include "pagoda/base/csv_line.h"
#include "pagoda/base/csv_reader.h"
#include "pagoda/base/files.h"
#include "pagoda/base/number.h"
#include "pagoda/core/eager.h"
#include "pagoda/core/model.h"
#include "pagoda/core/roofline.h"
#include "pagoda/core/traffic.h"
#include "pagoda/documents/device.h"

namespace pagoda::tools {
namespace {

std::vector<Row> read_rows(const std::string& path) {
  const std::string text = base::read_file(path, "CSV of runs");
  base::CsvReader file(text, path);
  std::map<std::string, std::size_t> columns;
  std::vector<Row> rows;
  for (std::vector<std::string> fields; file.next(fields);) {
    if (fields.front().starts_with('#')) continue;
    if (columns.empty()) {
      for (std::size_t i = 0; i < fields.size(); ++i) columns[fields[i]] = i;
      for (const char* needed : {"model", "family", "batch", "device", "seconds"})
        if (columns.count(needed) == 0) throw Error(path + ": no column \"" + needed + "\" in the header");
      continue;
    }
    const std::string where = file.place();
    const auto field = [&](const char* name) -> const std::string& {
      if (columns.at(name) >= fields.size()) throw Error(where + ": fewer fields than the header has");
      return fields[columns.at(name)];
    };
    const std::string layout = columns.count("layout") == 0 ? "nchw" : field("layout");
    if (layout != "nchw" && layout != "nhwc") throw Error(where + ": layout \"" + layout + "\"; expected nchw or nhwc");
    const auto batch = base::parse_number<std::int64_t>(field("batch"));
    const auto seconds = base::parse_number<double>(field("seconds"));
    if (!batch || *batch < 1 || !seconds || !(*seconds > 0))
      throw Error(where + ": batch \"" + field("batch") + "\" and seconds \"" + field("seconds") +
                  "\"; expected numbers above 0");
    rows.push_back({field("model"), field("family"), field("device"), layout == "nhwc", *batch, *seconds});
  }
  if (rows.empty())
    throw Error(path + ": holds no runs; expected CSV with columns model, family, batch, device and seconds");
  return rows;
}

}  // namespace

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
    const Analysis half = analyze(model, {.batch = row.batch, .precision = Precision::Float16});
    const Traffic fused = traffic(model, half, {.model = TrafficModel::Fused});
    loaded.bounds.push_back(
        {roofline(half, device).totals.floor_seconds, roofline(half, fused, device).totals.seconds});
    loaded.runs.push_back(
        {row.model, row.family, std::move(eager.kernels), device.id, row.channels_last, *rates, row.seconds});
    loaded.rows.push_back(row);
  }
  return loaded;
}

std::string report(const Loaded& loaded, const Judged& judged) {
  std::string out;
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
    out += text;
  };
  line("models", count, "");
  line("families", static_cast<double>(families.size()), "");
  line("mean absolute error", 100 * sum / count, "%");
  line("  each family weighing the same", 100 * by_family / static_cast<double>(families.size()), "%");
  line("median absolute error", 100 * sorted[sorted.size() / 2], "%");
  line("90th percentile", 100 * sorted[sorted.size() * 9 / 10], "%");
  if (judged_by_interval > 0) line("models inside the interval", 100 * inside / judged_by_interval, "%");
  line("rank correlation of the prediction", lab::rank_correlation(judged.predicted, measured), "");
  line("rank correlation of the floor", lab::rank_correlation(floors, measured), "");
  line("floors above the measured time", floor_above, "");
  line("fused bounds above the measured time", fused_above, "");
  return out;
}

std::string residuals(const Loaded& loaded, const Judged& judged) {
  std::string out = "model,family,batch,device,layout,seconds,predicted,low,high,floor,fused\r\n";
  for (std::size_t i = 0; i < loaded.runs.size(); ++i) {
    const Row& row = loaded.rows[i];
    const auto& interval = judged.interval[i];
    base::CsvLine line;
    line.add(row.model).add(row.family).add(row.batch).add(row.device).add(row.channels_last ? "nhwc" : "nchw");
    line.add(row.seconds).add(judged.predicted[i]);
    line.add(interval ? std::optional(interval->low) : std::nullopt);
    line.add(interval ? std::optional(interval->high) : std::nullopt);
    out += std::move(line.add(loaded.bounds[i].floor).add(loaded.bounds[i].fused)).end();
  }
  return out;
}

}  // namespace pagoda::tools

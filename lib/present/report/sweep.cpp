// A sweep as a table, as Markdown, as CSV, or inside the JSON of its estimate.
#include <algorithm>
#include <filesystem>
#include <tuple>

#include "pagoda/base/csv_line.h"
#include "report/rows.h"

namespace pagoda::present {
namespace {

using base::CsvLine;
using documents::EstimateDocument;
using documents::EstimateSweep;
using report::cell;

bool has_time(const EstimateSweep& sweep) { return !sweep.points.empty() && sweep.points.front().time.has_value(); }

// False on a device whose time of a launch is not known.
bool has_launches(const EstimateSweep& sweep) {
  return std::any_of(sweep.points.begin(), sweep.points.end(),
                     [](const SweepPoint& point) { return point.time && point.time->eager_seconds; });
}

bool has_joules(const EstimateSweep& sweep) {
  return std::any_of(sweep.measured.begin(), sweep.measured.end(), [](const auto& point) { return point.joules; });
}

// The measured FLOP/s of a point.
std::optional<double> measured_rate(const EstimateSweep& sweep, std::size_t at) {
  if (at >= sweep.measured.size() || !sweep.measured[at].seconds || !sweep.points[at].flops) return std::nullopt;
  return static_cast<double>(*sweep.points[at].flops) / *sweep.measured[at].seconds;
}

// Cells of a measured point: seconds, FLOP/s, B/s, J, FLOP/J and the share of the speed at the bound.
void add_measured(CsvLine& line, const EstimateSweep& sweep, std::size_t at) {
  const SweepPoint& point = sweep.points[at];
  const std::optional<double>&seconds = sweep.measured[at].seconds, &joules = sweep.measured[at].joules;
  const auto over = [](const std::optional<Int>& amount, const std::optional<double>& by) {
    return amount && by && *by > 0 ? std::optional(static_cast<double>(*amount) / *by) : std::nullopt;
  };
  line.add(seconds).add(over(point.flops, seconds)).add(over(point.bytes, seconds));
  line.add(joules).add(over(point.flops, joules));
  line.add(seconds && point.time ? std::optional(point.time->seconds / *seconds) : std::nullopt);
}

// Items per predicted second.
std::optional<double> predicted_rate(const EstimateSweep& sweep, std::size_t at) {
  const std::optional<double>& seconds = sweep.predicted[at].seconds;
  const std::optional<Int>& items = sweep.points[at].items;
  if (!seconds || !items || *seconds <= 0) return std::nullopt;
  return static_cast<double>(*items) / *seconds;
}

void add_predicted_header(CsvLine& header) {
  for (const char* name : {"predicted_seconds", "predicted_low", "predicted_high", "predicted_items_per_second"})
    header.add(std::string_view(name));
}

void add_predicted(CsvLine& line, const EstimateSweep& sweep, std::size_t at) {
  const documents::EstimatePredictedPoint& point = sweep.predicted[at];
  line.add(point.seconds).add(point.low).add(point.high).add(predicted_rate(sweep, at));
}

void add_measured_header(CsvLine& header) {
  for (const char* name : {"measured_seconds", "measured_flops_per_second", "measured_bytes_per_second",
                           "measured_joules", "measured_flops_per_joule", "bound_share"})
    header.add(std::string_view(name));
}

base::Grid sweep_grid(const EstimateDocument& estimate) {
  const EstimateSweep& sweep = *estimate.sweep;
  base::Grid grid;
  for (const std::string& dim : sweep.dims) grid.columns.push_back({.header = base::printable(dim), .is_number = true});
  const std::string unit = report::operation(estimate.count);
  const bool has_flops = !report::counts_macs(estimate);
  if (has_flops) grid.columns.push_back({.header = "MACs", .is_number = true});
  for (const std::string& header : {unit + "s", std::string("bytes"), unit + "/B", std::string("memory")})
    grid.columns.push_back({.header = header, .is_number = true});
  const bool has_items = !sweep.points.empty() && sweep.points.front().items.has_value();
  const std::string items = estimate.phase ? "tokens/s ≤" : "items/s ≤";
  const bool has_users = estimate.phase && estimate.phase->sequence_tokens;
  if (sweep.device_bytes) grid.columns.push_back({.header = "fits"});
  if (has_time(sweep)) {
    grid.columns.push_back({.header = "time ≥", .is_number = true});
    if (has_launches(sweep)) grid.columns.push_back({.header = "launched ≥", .is_number = true, .drop_order = 2});
    if (has_items) grid.columns.push_back({.header = items, .is_number = true});
    if (has_users) grid.columns.push_back({.header = "a user ≤", .is_number = true});
    grid.columns.push_back({.header = unit + "/s ≤", .is_number = true, .drop_order = 3});
    grid.columns.push_back({.header = "bound"});
  }
  if (!sweep.predicted.empty()) {
    grid.columns.push_back({.header = "predicted", .is_number = true});
    if (has_items)
      grid.columns.push_back(
          {.header = estimate.phase ? "tokens/s ≈" : "items/s ≈", .is_number = true, .drop_order = 1});
  }
  if (!sweep.joules.empty()) {
    grid.columns.push_back({.header = "energy ≈", .is_number = true, .drop_order = 1});
    if (has_items)
      grid.columns.push_back(
          {.header = estimate.phase ? "J a token ≈" : "J an item ≈", .is_number = true, .drop_order = 4});
  }
  if (!sweep.measured.empty()) {
    grid.columns.push_back({.header = "measured", .is_number = true});
    grid.columns.push_back({.header = unit + "/s", .is_number = true});
    if (has_time(sweep)) grid.columns.push_back({.header = "of the bound", .is_number = true});
    if (has_joules(sweep)) grid.columns.push_back({.header = unit + "/J", .is_number = true});
  }
  for (std::size_t at = 0; at < sweep.points.size(); ++at) {
    const SweepPoint& point = sweep.points[at];
    std::vector<std::string> row;
    for (const std::int64_t size : point.sizes) row.push_back(base::grouped(size));
    if (has_flops) row.push_back(cell(point.macs));
    row.push_back(cell(point.flops));
    row.push_back(cell(point.bytes, "B"));
    row.push_back(point.intensity ? report::intensity_text(*point.intensity) : "?");
    row.push_back(cell(point.memory_bytes, "B"));
    if (sweep.device_bytes)
      row.push_back(!point.memory_bytes ? "?" : *point.memory_bytes <= *sweep.device_bytes ? "yes" : "no");
    if (point.time) {
      const double seconds = point.time->seconds;
      row.push_back(base::si_seconds(seconds));
      if (has_launches(sweep))
        row.push_back(point.time->eager_seconds ? base::si_seconds(*point.time->eager_seconds) : "?");
      const bool has_rate = seconds > 0;
      if (has_items)
        row.push_back(has_rate && point.items ? base::si_rate(static_cast<double>(*point.items) / seconds, "") : "?");
      if (has_users)
        row.push_back(has_rate ? base::si_rate(static_cast<double>(*estimate.phase->sequence_tokens) / seconds, "")
                               : "?");
      row.push_back(has_rate && point.flops ? base::si_rate(static_cast<double>(*point.flops) / seconds, "") : "?");
      row.emplace_back(to_string(point.bound));
    }
    if (!sweep.predicted.empty()) {
      const std::optional<double>& seconds = sweep.predicted[at].seconds;
      row.push_back(seconds ? base::si_seconds(*seconds) : "?");
      const std::optional<double> rate = predicted_rate(sweep, at);
      if (has_items) row.push_back(rate ? base::si_rate(*rate, "") : "?");
    }
    if (!sweep.joules.empty()) {
      const std::optional<double>& joules = sweep.joules[at];
      row.push_back(joules ? base::si_text(*joules, "J", {.trims = false}) : "?");
      const bool is_each = joules && point.items && *point.items > 0;
      if (has_items) row.push_back(is_each ? base::si_text(*joules / static_cast<double>(*point.items), "J", {.trims = false}) : "?");
    }
    if (!sweep.measured.empty()) {
      const auto& [seconds, joules] = std::tie(sweep.measured[at].seconds, sweep.measured[at].joules);
      const auto rate = measured_rate(sweep, at);
      row.push_back(seconds ? base::si_seconds(*seconds) : "");
      row.push_back(rate ? base::si_rate(*rate, "") : "");
      if (has_time(sweep))
        row.push_back(seconds && point.time ? base::rounded(100 * point.time->seconds / *seconds) + " %" : "");
      if (has_joules(sweep))
        row.push_back(joules && point.flops ? base::si_rate(static_cast<double>(*point.flops) / *joules, "") : "");
    }
    grid.rows.push_back(std::move(row));
  }
  return grid;
}

// heading() and footing(): the text above and below the rows.
std::string heading(const EstimateDocument& estimate) {
  std::string text = report::subtitle(estimate) + "\n" + std::string(to_string(estimate.sweep->traffic)) + " traffic";
  if (!estimate.roofline) return text;
  const auto& parallel = estimate.roofline->parallel;
  return text + " · " + (parallel ? std::to_string(parallel->devices.devices()) + " × " : "") +
         report::device_text(*estimate.roofline);
}

std::string footing(const EstimateDocument& estimate) {
  const EstimateSweep& sweep = *estimate.sweep;
  std::string text = estimate.training
                         ? "a training step; memory: weights, gradients, optimizer states, and the peak of activations "
                           "and their gradients"
                     : estimate.roofline && estimate.roofline->parallel
                         ? "memory: weights and the activation peak of the device that needs the most; counts are of "
                           "the whole model"
                         : "memory: weights and the activation peak";
  if (!sweep.predicted.empty()) text += "\npredicted: " + sweep.engine + ": " + sweep.calibration;
  if (!has_time(sweep) || sweep.dims.size() != 1) return text;
  const std::string dim = base::printable(sweep.dims[0]);
  if (!sweep.ridge) return text + "\nmemory takes longer than arithmetic at every " + dim + " of the sweep";
  if (sweep.ridge->at_start) return text + "\narithmetic takes longer than memory from the first " + dim + " on";
  return text + "\nridge: arithmetic takes longer than memory from " + dim + " " + base::grouped(sweep.ridge->size) +
         " on";
}

std::string model_name(const documents::EstimateModel& model) {
  return model.path.empty() ? model.name : std::filesystem::path(model.path).stem().string();
}

std::optional<double> achieved(const SweepPoint& point) {
  if (!point.time || !point.flops || point.time->seconds <= 0) return std::nullopt;
  return static_cast<double>(*point.flops) / point.time->seconds;
}

// The columns of the published estimator's batch tables: index model,batch, then ai and perf.
std::string published_csv(const std::string& model, const EstimateSweep& sweep) {
  base::CsvLine header;
  header.add("model");
  for (const std::string& dim : sweep.dims) header.name(dim);
  for (const char* name : {"ai", "perf", "flops", "param_bytes", "bytes", "param_fraction"})
    header.add(std::string_view(name));
  if (!sweep.joules.empty()) header.add("joules");
  if (!sweep.predicted.empty()) add_predicted_header(header);
  if (!sweep.measured.empty()) {
    header.add("bound_perf");
    add_measured_header(header);
  }
  std::string text = std::move(header).end();
  for (std::size_t at = 0; at < sweep.points.size(); ++at) {
    const SweepPoint& point = sweep.points[at];
    base::CsvLine line;
    line.name(model);
    for (const std::int64_t size : point.sizes) line.add(std::to_string(size));
    line.add(point.intensity)
        .add(sweep.measured.empty() ? achieved(point) : measured_rate(sweep, at))
        .add(point.flops)
        .add(point.param_bytes)
        .add(point.bytes);
    const bool is_known = point.bytes && point.param_bytes && *point.bytes > 0;
    line.add(is_known ? std::optional(static_cast<double>(*point.param_bytes) / static_cast<double>(*point.bytes))
                      : std::nullopt);
    if (!sweep.joules.empty()) line.add(sweep.joules[at]);
    if (!sweep.predicted.empty()) add_predicted(line, sweep, at);
    if (!sweep.measured.empty()) {
      line.add(achieved(point));
      add_measured(line, sweep, at);
    }
    text += std::move(line).end();
  }
  return text;
}

std::string plain_csv(const std::string& model, const EstimateSweep& sweep) {
  base::CsvLine header;
  header.add("model");
  for (const std::string& dim : sweep.dims) header.name(dim);
  for (const char* name : {"macs", "flops", "param_bytes", "bytes_read", "bytes_written", "bytes", "intensity",
                           "activation_peak_bytes", "memory_bytes"})
    header.add(std::string_view(name));
  if (has_time(sweep))
    for (const char* name :
         {"seconds", "eager_seconds", "floor_seconds", "bound", "flops_per_second", "items", "items_per_second"})
      header.add(std::string_view(name));
  if (!sweep.joules.empty()) header.add("joules");
  if (!sweep.predicted.empty()) add_predicted_header(header);
  if (!sweep.measured.empty()) add_measured_header(header);
  std::string text = std::move(header).end();
  for (std::size_t at = 0; at < sweep.points.size(); ++at) {
    const SweepPoint& point = sweep.points[at];
    base::CsvLine line;
    line.name(model);
    for (const std::int64_t size : point.sizes) line.add(std::to_string(size));
    line.add(point.macs).add(point.flops).add(point.param_bytes).add(point.bytes_read).add(point.bytes_written);
    line.add(point.bytes).add(point.intensity).add(point.activation_peak_bytes).add(point.memory_bytes);
    if (point.time) {
      line.add(point.time->seconds).add(point.time->eager_seconds).add(point.time->floor_seconds);
      line.add(to_string(point.bound)).add(achieved(point)).add(point.items);
      const bool has_rate = point.items && point.time->seconds > 0;
      line.add(has_rate ? std::optional(static_cast<double>(*point.items) / point.time->seconds) : std::nullopt);
    }
    if (!sweep.joules.empty()) line.add(sweep.joules[at]);
    if (!sweep.predicted.empty()) add_predicted(line, sweep, at);
    if (!sweep.measured.empty()) add_measured(line, sweep, at);
    text += std::move(line).end();
  }
  return text;
}

}  // namespace

std::string sweep_report(Format format, const EstimateDocument& estimate, const ReportOptions& options) {
  if (format == Format::Json) return documents::write_estimate(estimate, options.top);
  const std::string model = model_name(estimate.model);
  if (format == Format::Csv)
    return estimate.count == Convention::Pagoda ? published_csv(model, *estimate.sweep)
                                                : plain_csv(model, *estimate.sweep);
  const base::Grid grid = sweep_grid(estimate);
  if (format == Format::Markdown)
    return "# " + report::code(report::title(estimate)) + "\n\n" + heading(estimate) + "\n\n" +
           report::markdown_table(grid) + "\n" + footing(estimate) + "\n";
  return report::title(estimate) + "\n" + heading(estimate) + "\n\n" + base::aligned(grid, options.width) + "\n" +
         footing(estimate) + "\nSI units: 1 kB is 1000 B, 1 M is 10^6\n";
}

}  // namespace pagoda::present

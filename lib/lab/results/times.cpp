// The time of each configuration: a table, and latency and throughput over the size with the most values.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "draw/text.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"
#include "pagoda/lab/axes.h"
#include "pagoda/lab/result_report.h"
#include "results/chart.h"
#include "results/csv.h"
#include "results/groups.h"

namespace pagoda::lab {
namespace {

using documents::Result, results::Group, results::median_of, results::text_of;
using Number = std::optional<double>;

// The number of an axis to sort and draw by; for HEIGHTxWIDTH the root of the product.
Number axis_number(const documents::Config& config, const std::string& axis) {
  const auto found = config.find(axis);
  if (found == config.end()) return std::nullopt;
  const auto pair = lab::bench::height_and_width(found->second);
  if (!pair) return std::nullopt;
  return std::sqrt(static_cast<double>((*pair)[0]) * static_cast<double>((*pair)[1]));
}

Number p50_of(const Group& row) { return median_of(row.repeats, "p50_seconds"); }

// The device's peak; on a CPU device, the host's peak if the device's is unknown.
Number peak_bytes(const Group& row) {
  if (const Number bytes = median_of(row.repeats, "device_peak_bytes")) return bytes;
  return text_of(row.config, "device").starts_with("cpu") ? median_of(row.repeats, "host_peak_bytes") : std::nullopt;
}

std::int64_t runs_of(const Group& row) {
  std::int64_t count = 0;
  for (const Result* repeat : row.repeats) count += repeat->timing->latency.n;
  return count;
}

std::vector<Group> rows_of(const std::vector<Result>& all) {
  std::vector<Group> rows = results::groups(all);
  std::ranges::stable_sort(rows, {}, [](const Group& row) {
    const auto number = [&](const char* axis) { return axis_number(row.config, axis).value_or(0); };
    return std::tuple(text_of(row.config, "model"),
                      documents::config_label(row.config, {"batch", "sequence", "input_size"}), number("input_size"),
                      number("sequence"), number("batch"));
  });
  return rows;
}

// Axes whose values differ, the model first; `common` becomes the settings that all rows share, as text.
std::vector<std::string> varying_axes(const std::vector<Group>& rows, std::string& common) {
  std::map<std::string, std::set<std::string>> values;
  for (const Group& row : rows)
    for (const auto& [axis, value] : row.config) values[axis];
  for (auto& [axis, texts] : values)
    for (const Group& row : rows) texts.insert(text_of(row.config, axis));
  std::vector<std::string> axes;
  documents::Config same;
  const auto visit = [&](const std::string& axis) {
    const auto found = values.find(axis);
    if (found == values.end()) return;
    if (found->second.size() > 1 || axis == "model")
      axes.push_back(axis);
    else
      same[axis] = rows.front().config.at(axis);
    values.erase(found);
  };
  values.erase("model_name");  // a longer name of "model"
  for (const lab::bench::AxisRow& row : lab::bench::kAxes) visit(std::string(row.name));
  while (!values.empty()) visit(std::string(values.begin()->first));
  common = documents::config_label(same);
  return axes;
}

constexpr const char* kInputs = "inputs";  // header of the shapes

struct TableColumn {
  const char* header;
  std::string_view number;  // its median; "memory" and "runs" are no medians of one number
  std::string (*text)(double) = nullptr;
  bool is_energy = false;

  std::string cell(const Group& row) const {
    if (row.repeats.empty()) return "";
    if (!text) return cat(runs_of(row));
    const Number value = number.empty() ? peak_bytes(row) : median_of(row.repeats, number);
    return value ? text(*value) : "?";
  }
};
// clang-format off
constexpr std::array<TableColumn, 8> kColumns = {{
    {"p50",     "p50_seconds",      base::si_seconds},
    {"p95",     "p95_seconds",      base::si_seconds},
    {"p99",     "p99_seconds",      base::si_seconds},
    {"items/s", "items_per_second", [](double rate) { return base::si_rate(rate, ""); }},
    {"memory",  "",                 [](double bytes) { return base::si_rate(bytes, "B"); }},
    {"energy",  "energy_joules",    results::joules_text, true},
    {"power",   "watts",            [](double watts) { return base::si_text(watts, "W"); }, true},
    {"runs",    ""},
}};
// clang-format on

// "images float32[4,3,224,224]": what ran; the first inputs of many.
std::string shapes_of(const Group& row) {
  constexpr std::size_t kShown = 2;
  if (row.repeats.empty()) return "";
  const Result& first = *row.repeats.front();
  if (first.inputs.empty()) return "?";
  const auto differs = [&](const Result* r) { return results::inputs_text(*r) != results::inputs_text(first); };
  if (std::ranges::any_of(row.repeats, differs)) return "different ones";
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, first.inputs.size()); ++i)
    text += cat(i > 0 ? ", " : "", first.inputs[i].name, " ", first.inputs[i].type, "[",
                base::joined(first.inputs[i].shape, ",", [](std::int64_t size) { return cat(size); }), "]");
  if (first.inputs.size() > kShown) text += cat(" and ", first.inputs.size() - kShown, " more");
  return base::printable(text);
}

struct TimesTable {
  std::string common;  // what all rows share
  std::vector<std::string> axes, columns;
  std::vector<std::vector<std::string>> cells;
  bool has_energy = false;
};

// Tasks that wanted each processor beside a run on a CPU. Empty: another device, or not recorded.
Number load_of(const Result& result) {
  const Number cpus = documents::number_of(result.metadata, "cpus");
  if (text_of(result.config, "device") != "cpu" || !cpus || !result.interference.load) return std::nullopt;
  return *result.interference.load / *cpus;
}

// A benchmark keeps at most every processor busy: with one more task runnable over a whole minute, something else ran.
bool is_crowded(const Result& result) {
  const Number load = load_of(result);
  return load && *result.interference.load >= *documents::number_of(result.metadata, "cpus") + 1;
}

TimesTable table_of(const std::vector<Group>& rows) {
  TimesTable table;
  table.axes = varying_axes(rows, table.common);
  table.has_energy = std::ranges::any_of(rows, [](const Group& row) {
    return median_of(row.repeats, "energy_joules") || median_of(row.repeats, "watts");
  });
  const bool has_note = std::ranges::any_of(rows, [](const Group& row) { return !row.failure.empty(); });
  std::vector<TableColumn> shown(kColumns.begin(), kColumns.end());
  std::erase_if(shown, [&](const TableColumn& column) { return column.is_energy && !table.has_energy; });
  table.columns = table.axes;
  for (const TableColumn& column : shown) table.columns.emplace_back(column.header);
  const bool has_inputs = std::ranges::any_of(
      rows, [](const Group& row) { return !row.repeats.empty() && !row.repeats.front()->inputs.empty(); });
  if (has_inputs) table.columns.emplace_back(kInputs);
  if (has_note) table.columns.emplace_back("note");
  for (const Group& row : rows) {
    std::vector<std::string> cells;
    for (const std::string& axis : table.axes) cells.push_back(base::printable(text_of(row.config, axis)));
    for (const TableColumn& column : shown) cells.push_back(column.cell(row));
    if (has_inputs) cells.push_back(shapes_of(row));
    if (has_note) cells.push_back(base::elide(base::printable(row.failure.substr(0, row.failure.find('\n'))), 70));
    table.cells.push_back(std::move(cells));
  }
  return table;
}

// Adds the disturbances of runs on a CPU: other tasks, and processors of different caches.
void add_disturbances(const std::vector<Group>& rows, std::vector<std::string>& facts) {
  using documents::CachePlacement, present::plot::count_text;
  std::size_t runs = 0, crowded = 0;
  double most_load = 0;
  std::map<CachePlacement, std::vector<double>> handoffs;  // seconds until one processor saw another's write
  for (const Group& row : rows)
    for (const Result* repeat : row.repeats) {
      if (text_of(repeat->config, "device") != "cpu") continue;
      ++runs;
      if (const CachePlacement placement = documents::placement(repeat->interference);
          placement == CachePlacement::Together || placement == CachePlacement::Apart)
        handoffs[placement].push_back(repeat->interference.handoff_seconds.front());
      if (!is_crowded(*repeat)) continue;
      ++crowded;
      most_load = std::max(most_load, *load_of(*repeat));
    }
  if (crowded > 0)
    facts.push_back(cat("disturbed: beside ", crowded, " of ", count_text(runs, "run", "runs"),
                        ", something else wanted the processors, up to ", base::rounded(most_load, 2),
                        " tasks for each; run them again on an idle machine"));
  if (handoffs.size() < 2) return;
  const std::vector<double>&apart = handoffs[CachePlacement::Apart], &together = handoffs[CachePlacement::Together];
  const auto mean = [](const std::vector<double>& seconds) {
    return base::si_seconds(std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size()));
  };
  facts.push_back(cat("moved: beside ", count_text(apart.size(), "run", "runs"),
                      ", the host had the processors on different caches (what one wrote took ", mean(apart),
                      " to another), beside ", together.size(), " on one (", mean(together),
                      "): networks of many small kernels take longer apart, some by half"));
}

std::vector<std::string> times_facts(const std::vector<Group>& rows, const TimesTable& table) {
  std::vector<std::string> facts;
  if (!table.common.empty()) facts.push_back("all: " + table.common);
  facts.push_back(
      "medians over repeats; an item is one of the batch; memory is the device's peak, of runs on a CPU the host's");
  add_disturbances(rows, facts);
  if (!table.has_energy) facts.emplace_back("energy: no counter could be read");
  return facts;
}

std::string text_of(const std::vector<Group>& rows, const TimesTable& table, std::size_t most) {
  base::Grid grid{{}, table.cells};
  for (const std::string& name : table.columns) {
    const bool is_axis = static_cast<std::size_t>(&name - table.columns.data()) < table.axes.size();
    const bool is_size = name == "batch" || name == "sequence" || name == "input_size";
    grid.columns.push_back({name, name != "note" && name != kInputs && (!is_axis || is_size)});
  }
  const std::size_t hidden = most > 0 && grid.rows.size() > most ? grid.rows.size() - most : 0;
  grid.rows.resize(grid.rows.size() - hidden);
  std::string text = base::aligned(grid, 0);
  if (hidden > 0) text += cat("… and ", hidden, " more: pagoda-report table\n");
  for (const std::string& fact : times_facts(rows, table)) text += base::printable(fact) + "\n";
  return text;
}

// Repeats beside which something else ran; empty where no load was recorded.
Number disturbed_runs(const Group& row) {
  const auto& repeats = row.repeats;
  if (std::ranges::none_of(repeats, [](const Result* r) { return load_of(*r).has_value(); })) return std::nullopt;
  return static_cast<double>(std::ranges::count_if(repeats, [](const Result* r) { return is_crowded(*r); }));
}

std::string csv_of(const std::vector<Group>& rows) {
  const std::vector<std::string> axes = results::setting_names(rows, &Group::config);
  constexpr const char* kNumbers[] = {"p50_seconds",     "p95_seconds",       "p99_seconds",   "mean_seconds",
                                      "std_seconds",     "min_seconds",       "max_seconds",   "items_per_second",
                                      "host_peak_bytes", "device_peak_bytes", "energy_joules", "watts"};
  std::string csv = results::csv_row(axes, "status", "repeats", "runs", kNumbers, "inputs", "disturbed_runs");
  csv.replace(csv.find("energy_joules"), std::string_view("energy_joules").size(), "joules");
  for (const Group& row : rows) {
    std::vector<Number> numbers;
    for (const char* name : kNumbers) numbers.push_back(median_of(row.repeats, name));
    csv += results::csv_row(results::texts_of(row.config, axes), row.repeats.empty() ? row.failure : "ok",
                            static_cast<double>(row.repeats.size()), static_cast<double>(runs_of(row)), numbers,
                            row.repeats.empty() ? "" : results::inputs_text(*row.repeats.front()), disturbed_runs(row));
  }
  return csv;
}

// The size with the most values; empty if none has two.
std::string swept_axis(const std::vector<Group>& rows) {
  std::string best;
  std::size_t most = 1;
  for (const char* axis : {"batch", "input_size", "sequence"}) {
    std::set<double> values;
    for (const Group& row : rows)
      if (const Number value = axis_number(row.config, axis)) values.insert(*value);
    if (values.size() > most) {
      most = values.size();
      best = axis;
    }
  }
  return best;
}

// The differing settings of a row, as text; without `left_out`.
std::string label_of(const Group& row, const TimesTable& table, const std::string& left_out = "") {
  documents::Config name;
  for (const std::string& axis : table.axes)
    if (axis != left_out && row.config.contains(axis)) name[axis] = row.config.at(axis);
  return documents::config_label(name);
}

results::LineChart line_chart(const std::vector<Group>& rows, const std::string& axis, const std::string& title,
                              const TimesTable& table, const char* y_title, std::string_view number, double scale = 1) {
  std::map<double, std::string> names;
  for (const Group& row : rows)
    if (const Number x = axis_number(row.config, axis)) names[*x] = text_of(row.config, axis);
  results::LineChart chart{.title = title, .subtitle = table.common, .x_title = axis, .y_title = y_title};
  for (const auto& [x, name] : names) chart.x_names.push_back(name);
  std::map<std::string, results::ChartLine> lines;
  for (const Group& row : rows)
    if (const Number x = axis_number(row.config, axis), y = median_of(row.repeats, number); x && y)
      lines[label_of(row, table, axis)].points.push_back(
          {.x = static_cast<double>(std::distance(names.begin(), names.find(*x))), .y = *y * scale});
  for (auto& [name, line] : lines) {
    line.name = name;
    line.color = chart.lines.size() % 6;
    std::ranges::sort(line.points, {}, &results::ChartPoint::x);
    chart.lines.push_back(std::move(line));
  }
  return chart;
}

results::IntervalChart bar_chart(const std::vector<Group>& rows, const std::string& title, const TimesTable& table) {
  results::IntervalChart chart{.title = title, .subtitle = table.common, .x_title = "p50 [ms]"};
  double least = 0;
  for (const Group& row : rows) {
    const Number p50 = p50_of(row);
    if (!p50) continue;
    const double value = *p50 * 1e3;
    chart.rows.push_back({label_of(row, table), value, {}, {}, base::si_seconds(*p50), chart.rows.size() % 6});
    least = least > 0 ? std::min(least, value) : value;
  }
  chart.reference = least;
  return chart;
}

// "1.2 … 35.6 ms of 12 configurations".
std::string verdict_of(const std::vector<Group>& rows) {
  std::vector<double> times;
  for (const Group& row : rows)
    if (const Number p50 = p50_of(row)) times.push_back(*p50);
  if (times.empty()) return "no run has a time";
  const auto [least, most] = std::ranges::minmax(times);
  return cat(base::si_seconds(least), most > least ? " … " + base::si_seconds(most) : "", " over ", rows.size(),
             rows.size() == 1 ? " configuration" : " configurations");
}

std::vector<results::Picture> charts_of(const std::vector<Group>& rows, const TimesTable& table,
                                        const std::string& title) {
  const std::string axis = swept_axis(rows);
  if (axis.empty()) return {picture_of(bar_chart(rows, title, table))};
  return {
      picture_of(line_chart(rows, axis, title + ": latency over " + axis, table, "p50 [ms]", "p50_seconds", 1e3)),
      picture_of(line_chart(rows, axis, title + ": throughput over " + axis, table, "items/s", "items_per_second"))};
}

}  // namespace

std::string times_report(const std::vector<Result>& all, ReportFormat format, const std::string& title,
                         std::size_t most) {
  const std::vector<Group> rows = rows_of(all);
  const TimesTable table = table_of(rows);
  const std::string heading = title.empty() ? "Times" : title;
  const auto charts = [&] { return charts_of(rows, table, heading); };
  return results::written(
      format, [&] { return text_of(rows, table, most); }, [&] { return csv_of(rows); },
      [&] { return results::stacked(charts()); },
      [&] {
        return results::page({heading,
                              verdict_of(rows),
                              times_facts(rows, table),
                              charts(),
                              {{.title = "Configurations", .columns = table.columns, .rows = table.cells}}});
      });
}

}  // namespace pagoda::lab

// Report of a measurement alone: kernels, totals, and launch counts.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "pagoda/base/cat.h"
#include "pagoda/base/csv_line.h"
#include "pagoda/base/text.h"
#include "pagoda/measured/join.h"

namespace pagoda::measured {
namespace {

using Number = documents::Amount;
constexpr const char* kNotKnown = "?";

// A sum that is a lower bound if a part of it is not known.
struct Sum {
  double value = 0;
  bool is_known = false, is_whole = true;

  void add(const Number& part) {
    is_known = is_known || part.has_value();
    is_whole = is_whole && part.has_value();
    value += part.value_or(0);
  }
  std::string text(const char* unit = "") const {
    if (!is_known) return kNotKnown;
    return (is_whole ? "" : "≥ ") + base::si_rate(value, unit);
  }
};

// Kernels of one name.
struct Row {
  std::string name;
  std::optional<std::int64_t> launches = 0;  // empty: not known for one of them
  Sum seconds, dram, flops;
  std::map<std::string, Sum> by_precision;
  bool has_uncounted = false;  // some kernel has no counter of FLOPs

  void add(const documents::MeasuredKernel& kernel) {
    launches = launches && kernel.launches ? std::optional(*launches + *kernel.launches) : std::nullopt;
    seconds.add(kernel.seconds);
    dram.add(kernel.bytes.dram);
    if (kernel.flops.empty()) {
      flops.add(std::nullopt);
      has_uncounted = true;
    }
    for (const auto& [precision, count] : kernel.flops) {
      flops.add(count);
      by_precision[precision].add(count);
    }
  }
  std::string flops_text(const std::string& precision) const {
    const auto found = by_precision.find(precision);
    if (found == by_precision.end()) return has_uncounted ? kNotKnown : "";
    Sum sum = found->second;
    sum.is_whole = sum.is_whole && !has_uncounted;
    return sum.text();
  }
  std::string intensity() const {
    if (!flops.is_known || !dram.is_known || !dram.is_whole || !(dram.value > 0)) return kNotKnown;
    if (!flops.is_whole && !(flops.value > 0)) return kNotKnown;  // "≥ 0" is not informative
    return (flops.is_whole ? "" : "≥ ") + base::rounded(flops.value / dram.value);
  }
};

std::vector<Row> rows_of(const documents::Measured& measured, Row& total) {
  std::map<std::string, Row> by_name;
  for (const documents::MeasuredKernel& kernel : measured.kernels) {
    Row& row = by_name[kernel.name];
    row.name = kernel.name;
    row.add(kernel);
    total.add(kernel);
  }
  std::vector<Row> rows;
  rows.reserve(by_name.size());
  for (auto& [name, row] : by_name) rows.push_back(std::move(row));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.seconds.value > b.seconds.value; });
  return rows;
}

std::vector<std::string> cells(const Row& row, const Row& total, const std::string& name) {
  const bool has_share = row.seconds.is_known && total.seconds.value > 0;
  std::vector<std::string> list = {
      base::printable(name), row.launches ? std::to_string(*row.launches) : kNotKnown,
      row.seconds.is_known ? base::si_seconds(row.seconds.value) : kNotKnown,
      has_share ? base::rounded(100 * row.seconds.value / total.seconds.value) + " %" : kNotKnown};
  for (const auto& [precision, sum] : total.by_precision) list.push_back(row.flops_text(precision));
  list.push_back(row.dram.text("B"));
  list.push_back(row.intensity());
  return list;
}

// "launched in a run  1×: 12 kernels, 2×: 3 kernels", without kernels whose launches are not known.
std::string histogram(const std::vector<Row>& rows) {
  std::map<std::int64_t, std::size_t> counts;
  for (const Row& row : rows)
    if (row.launches) ++counts[*row.launches];
  if (counts.empty()) return "";
  std::string text = "launched in a run";
  for (const auto& [launches, kernels] : counts)
    text += cat(launches == counts.begin()->first ? "  " : ", ", launches, "×: ", kernels,
                kernels == 1 ? " kernel" : " kernels");
  return text + "\n";
}

}  // namespace

std::string kernel_report(const documents::Measured& measured, std::size_t top, std::size_t width) {
  if (measured.kernels.empty()) return cat("no kernels: ", measured.source, " has whole runs alone\n");
  Row total;
  const std::vector<Row> rows = rows_of(measured, total);
  base::Grid grid;
  grid.columns = {{.header = "kernel", .shortest_width = 24},
                  {.header = "launches", .is_number = true, .drop_order = 2},
                  {.header = "time", .is_number = true},
                  {.header = "% of time", .is_number = true}};
  for (const auto& [precision, sum] : total.by_precision)
    grid.columns.push_back({.header = "FLOP " + precision, .is_number = true, .drop_order = 1});
  grid.columns.push_back({.header = "DRAM", .is_number = true});
  grid.columns.push_back({.header = "FLOP/B", .is_number = true});
  for (std::size_t i = 0; i < rows.size() && (top == 0 || i < top); ++i)
    grid.rows.push_back(cells(rows[i], total, rows[i].name));
  const std::size_t hidden = rows.size() - grid.rows.size();
  grid.rows.push_back(cells(total, total, "one run"));
  std::string text = base::aligned(grid, width);
  if (hidden > 0) text += cat(hidden, " more kernels: `top=0`\n");
  text += histogram(rows);
  for (const documents::Missing& missing : measured.missing)
    if (missing.what.find("flops") != std::string::npos || missing.what.starts_with("bytes.dram"))
      text += cat("not collected  ", missing.what, ": ", base::printable(missing.why), "\n");
  return text;
}

std::string kernels_csv(const documents::Measured& measured) {
  std::set<std::string> precisions;
  for (const documents::MeasuredKernel& kernel : measured.kernels)
    for (const auto& [precision, count] : kernel.flops) precisions.insert(precision);
  std::vector<std::string> columns = {"name", "op_type", "nodes", "nvtx", "provider", "launches", "seconds", "share"};
  for (const std::string& precision : precisions) columns.push_back("flops." + precision);
  for (const documents::LevelField& level : documents::kLevels)
    if (level.is_level) columns.push_back(std::string(level.name) + "_bytes");
  columns.insert(columns.end(), {"intensity", "energy_joules"});
  const Number all = measured.kernel_seconds();
  std::string text = base::csv_line(columns);
  for (const documents::MeasuredKernel& kernel : measured.kernels) {
    base::CsvLine line;
    line.name(kernel.name).name(kernel.op_type);
    line.name(kernel.nodes.empty() ? kernel.node : base::joined(kernel.nodes, " + "));
    line.name(kernel.nvtx).name(kernel.provider);
    line.add(kernel.launches ? Number(static_cast<double>(*kernel.launches)) : std::nullopt).add(kernel.seconds);
    line.add(documents::ratio(kernel.seconds, all));
    Sum flops;
    if (kernel.flops.empty()) flops.add(std::nullopt);
    for (const auto& [precision, count] : kernel.flops) flops.add(count);
    for (const std::string& precision : precisions) line.add(documents::amount(kernel.flops, precision));
    for (const documents::LevelField& level : documents::kLevels)
      if (level.is_level) line.add(kernel.bytes.*level.bytes);
    const Number operations = flops.is_known && flops.is_whole ? Number(flops.value) : std::nullopt;
    line.add(documents::ratio(operations, kernel.bytes.dram)).add(kernel.energy_joules);
    text += std::move(line).end();
  }
  return text;
}

}  // namespace pagoda::measured

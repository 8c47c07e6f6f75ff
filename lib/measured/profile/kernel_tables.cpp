// Tables of a measurement alone: a report of its kernels with totals and launch counts, the same as CSV, and the
// summary that a run prints: where the time went, the rates reached, and the closest peak.
#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "join/causes.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/csv_line.h"
#include "pagoda/base/text.h"
#include "pagoda/estimate/measured_runs.h"
#include "pagoda/measured/join.h"
#include "pagoda/measured/record.h"

namespace pagoda::measured {
namespace {

using documents::Amount;
constexpr const char* kNotKnown = "?";

// A sum that is a lower bound if a part of it is not known.
struct BoundedSum {
  double value = 0;
  bool is_known = false, is_whole = true;

  void add(const Amount& part) {
    is_known = is_known || part.has_value();
    is_whole = is_whole && part.has_value();
    value += part.value_or(0);
  }
  // Operations of a kernel by precision. Without a precision, the kernel was not counted.
  void add(const std::map<std::string, Amount>& flops) {
    is_whole = is_whole && !flops.empty();
    for (const auto& [precision, count] : flops) add(count);
  }
  std::string text(const char* unit = "") const { return is_known ? bounded(base::si_rate(value, unit)) : kNotKnown; }
  std::string bounded(const std::string& number) const { return (is_whole ? "" : "≥ ") + number; }
};

// Kernels of one name.
struct Row {
  std::string name;
  std::optional<std::int64_t> launches = 0;  // empty: not known for one of them
  BoundedSum seconds, dram, flops;
  std::map<std::string, BoundedSum> by_precision;
  bool has_uncounted = false;  // some kernel has no counter of FLOPs

  void add(const documents::MeasuredKernel& kernel) {
    launches = launches && kernel.launches ? std::optional(*launches + *kernel.launches) : std::nullopt;
    seconds.add(kernel.seconds);
    dram.add(kernel.bytes.dram);
    flops.add(kernel.flops);
    has_uncounted = has_uncounted || kernel.flops.empty();
    for (const auto& [precision, count] : kernel.flops) by_precision[precision].add(count);
  }
  std::string flops_text(const std::string& precision) const {
    const auto found = by_precision.find(precision);
    if (found == by_precision.end()) return has_uncounted ? kNotKnown : "";
    BoundedSum sum = found->second;
    sum.is_whole = sum.is_whole && !has_uncounted;
    return sum.text();
  }
  std::string intensity() const {
    if (!flops.is_known || !dram.is_known || !dram.is_whole || !(dram.value > 0)) return kNotKnown;
    if (!flops.is_whole && !(flops.value > 0)) return kNotKnown;  // "≥ 0" is not informative
    return flops.bounded(base::rounded(flops.value / dram.value));
  }
};

std::vector<Row> rows_of(const documents::Measured& measured, Row& total) {
  std::map<std::string, Row> by_name;
  for (const documents::MeasuredKernel& kernel : measured.kernels) {
    const std::string name =
        !kernel.name.empty() ? kernel.name : cat("(no name) ", kernel.op_type);  // unlike others of its kind
    Row& row = by_name[name];
    row.name = name;
    row.add(kernel);
    total.add(kernel);
  }
  std::vector<Row> rows;
  rows.reserve(by_name.size());
  for (auto& [name, row] : by_name) rows.push_back(std::move(row));
  std::ranges::stable_sort(rows, std::greater(), [](const Row& row) { return row.seconds.value; });
  return rows;
}

std::vector<std::string> kernel_cells(const Row& row, const Row& total, const std::string& name) {
  const bool is_total = &row == &total;
  const bool has_share = row.seconds.is_known && (row.seconds.is_whole || is_total) && total.seconds.value > 0;
  std::vector<std::string> list = {
      base::printable(name), row.launches ? std::to_string(*row.launches) : kNotKnown,
      row.seconds.is_known ? row.seconds.bounded(base::si_seconds(row.seconds.value)) : kNotKnown,
      !has_share ? kNotKnown
                 : cat(total.seconds.is_whole || is_total ? "" : "≤ ",
                       base::rounded(100 * row.seconds.value / total.seconds.value), " %")};
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
    grid.rows.push_back(kernel_cells(rows[i], total, rows[i].name));
  const std::size_t hidden = rows.size() - grid.rows.size();
  grid.rows.push_back(kernel_cells(total, total, "sum of one run"));
  std::string text = base::aligned(grid, width);
  if (hidden > 0) text += cat(hidden, " more kernels: `top=0`\n");
  if (measured.seconds)
    text += cat("a run took  ", base::si_seconds(*measured.seconds), "\n");
  else if (total.seconds.is_whole && estimate::basis_of(measured) == documents::MeasuredBasis::Busy)
    text += cat("kernels overlap: at least one ran for  ", base::si_seconds(*measured.busy_seconds), "\n");
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
  const Amount all = measured.kernel_seconds();
  std::string text = base::csv_line(columns);
  for (const documents::MeasuredKernel& kernel : measured.kernels) {
    base::CsvLine line;
    line.name(kernel.name).name(kernel.op_type);
    line.name(kernel.nodes.empty() ? kernel.node : base::joined(kernel.nodes, " + "));
    line.name(kernel.nvtx).name(kernel.provider);
    line.add(Amount(kernel.launches)).add(kernel.seconds).add(documents::ratio(kernel.seconds, all));
    BoundedSum flops;
    flops.add(kernel.flops);
    for (const std::string& precision : precisions) line.add(documents::amount(kernel.flops, precision));
    for (const documents::LevelField& level : documents::kLevels)
      if (level.is_level) line.add(kernel.bytes.*level.bytes);
    const Amount operations = flops.is_known && flops.is_whole ? Amount(flops.value) : std::nullopt;
    line.add(documents::ratio(operations, kernel.bytes.dram)).add(kernel.energy_joules);
    text += std::move(line).end();
  }
  return text;
}

namespace profile {
namespace {

struct Line {
  std::string name;
  std::int64_t launches = 0;
  std::optional<double> seconds = 0, bytes = 0;
  BoundedSum operations;
  std::set<std::string> others;           // nodes of a kernel, or kernels of a node
  std::map<std::string, double> at_peak;  // seconds that each peak alone would have taken
  std::size_t with_peak = 0, rows = 0;

  void add(const documents::MeasuredKernel& kernel, const std::vector<documents::MeasuredDevice>& devices) {
    launches += kernel.launches.value_or(0);
    seconds = documents::plus(seconds, kernel.seconds);
    bytes = documents::plus(bytes, kernel.bytes.dram);
    operations.add(kernel.flops);
    ++rows;
    if (!kernel.device || *kernel.device >= devices.size()) return;
    const auto shares = shares_of_peak(kernel, devices[*kernel.device]);
    with_peak += shares.empty() ? 0 : 1;
    for (const auto& [of, share] : shares) at_peak[of] += share * *kernel.seconds;
  }

  // The peak that alone would have taken the largest part of the time: "62 % dram".
  std::string closest() const {
    if (at_peak.empty() || with_peak != rows || !seconds || !(*seconds > 0)) return "-";
    const auto most = std::ranges::max_element(at_peak, {}, [](const auto& each) { return each.second; });
    if (!(most->second > 0)) return "-";
    const std::string& of = most->first;
    return cat(base::rounded(100 * most->second / *seconds), " % ", documents::quantity_name(of).of);
  }
};

std::string rate(const std::optional<double>& amount, const std::optional<double>& seconds, const char* unit) {
  const auto rate = documents::ratio(amount, seconds);
  return rate ? base::si_rate(*rate, unit) : "-";
}

// Marks a lower bound if some precisions were not collected; "-" if nothing is known.
std::string bounded(const BoundedSum& operations, const std::string& text) {
  if (text == "-" || !operations.is_known || (operations.value == 0 && !operations.is_whole)) return "-";
  return operations.bounded(text);
}

std::vector<std::string> cells(const Line& line, const std::optional<double>& all_seconds) {
  const bool has_share = line.seconds && all_seconds && *all_seconds > 0;
  const std::optional<double> flops = line.operations.value;
  std::string others = line.others.empty() ? "" : *line.others.begin();
  if (line.others.size() > 1) others += cat(" +", line.others.size() - 1);
  return {std::to_string(line.launches),
          line.seconds ? base::si_seconds(*line.seconds) : "-",
          has_share ? base::rounded(100 * *line.seconds / *all_seconds) : "-",
          rate(line.bytes, line.seconds, "B/s"),
          bounded(line.operations, rate(flops, line.seconds, "FLOP/s")),
          line.bytes && *line.bytes > 0 ? bounded(line.operations, base::rounded(*flops / *line.bytes)) : "-",
          line.closest(),
          base::elide(line.name, 70),
          base::elide(others, 40)};
}

// The precisions missing from sums marked "≥".
std::string not_collected(const documents::Measured& measured) {
  std::set<std::string> precisions;
  bool is_any_known = false;
  for (const documents::MeasuredKernel& kernel : measured.kernels)
    for (const auto& [precision, count] : kernel.flops) {
      if (!count) precisions.insert(precision);
      is_any_known = is_any_known || count.has_value();
    }
  if (precisions.empty() || !is_any_known) return "";
  return cat("operations not collected: ", base::joined(precisions), "\n");
}

}  // namespace

std::string profile_table(const documents::Measured& measured, std::size_t top, TableBy by) {
  std::vector<Line> lines;
  std::map<std::string, std::size_t> index;
  Line total;
  for (const documents::MeasuredKernel& kernel : measured.kernels) {
    const std::string node = !kernel.node.empty() ? kernel.node : kernel.nvtx;
    const std::string& name = by == TableBy::Kernel ? kernel.name : node;
    const std::string& other = by == TableBy::Kernel ? kernel.node : kernel.name;
    const auto [found, is_new] = index.try_emplace(name, lines.size());
    if (is_new) lines.emplace_back().name = name.empty() ? "(no range)" : name;
    Line& line = lines[found->second];
    line.add(kernel, measured.devices);
    if (!other.empty()) line.others.insert(other);
    total.add(kernel, measured.devices);
  }
  std::ranges::stable_sort(lines, std::greater(), [](const Line& line) { return line.seconds.value_or(0); });
  const bool by_kernel = by == TableBy::Kernel;
  base::Grid grid;
  for (const char* header : {"launches", "time", "%", is_replayed(measured) ? "DRAM, replayed" : "DRAM", "operations",
                             "FLOP/B", "closest peak"})
    grid.columns.push_back({header, true});
  grid.columns.push_back({by_kernel ? "kernel" : "node"});
  grid.columns.push_back({by_kernel ? "node" : "kernel"});
  for (std::size_t i = 0; i < lines.size() && i < top; ++i) grid.rows.push_back(cells(lines[i], total.seconds));
  if (lines.size() > top) {
    Line rest;
    rest.name = cat("... ", lines.size() - top, by_kernel ? " more kernels" : " more nodes");
    for (std::size_t i = top; i < lines.size(); ++i) {
      rest.launches += lines[i].launches;
      rest.seconds = documents::plus(rest.seconds, lines[i].seconds);
    }
    rest.bytes.reset();
    grid.rows.push_back(cells(rest, total.seconds));
  }
  total.name = "all of one run";
  grid.rows.push_back(cells(total, total.seconds));
  return base::aligned(grid, 0) + not_collected(measured);
}

}  // namespace profile
}  // namespace pagoda::measured

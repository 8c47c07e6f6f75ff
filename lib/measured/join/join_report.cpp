// Report of a join for people: the joined share of time and the rules, groups by time with their bounds, unjoined
// kernels.
#include <algorithm>
#include <map>

#include "join/causes.h"
#include "pagoda/base/text.h"
#include "pagoda/measured/join.h"

namespace pagoda::measured {
namespace {

constexpr std::string_view kUnknown = "?";

std::string time_cell(const std::optional<double>& seconds) {
  return seconds ? base::si_seconds(*seconds) : std::string(kUnknown);
}

std::string percent(const std::optional<double>& part, const std::optional<double>& whole) {
  if (!part || !whole || !(*whole > 0)) return std::string(kUnknown);
  return base::rounded(100 * *part / *whole) + " %";
}

std::string rows_cell(const JoinedGroup& group, const EstimateDocument& estimate) {
  std::string text;
  for (const std::size_t row : group.rows) {
    const documents::EstimateNode& r = estimate.nodes[row];
    (text += text.empty() ? "" : " + ") += r.name.empty() ? "#" + std::to_string(row) : base::printable(r.name);
  }
  return text;
}

std::string types_cell(const JoinedGroup& group, const EstimateDocument& estimate) {
  std::string text;
  for (std::size_t i = 0; i < group.rows.size() && i < 6; ++i)
    (text += i == 0 ? "" : "+") += base::printable(estimate.nodes[group.rows[i]].op_type);
  return group.rows.size() > 6 ? text + "+…" : text;
}

// The kernels' share of a run. For several runs it uses means, since medians do not add up.
std::string added_up(const documents::Measured& measured) {
  if (!measured.seconds) return "";
  if (!measured.spread) return ", " + percent(measured.kernel_seconds(), measured.seconds) + " of the run";
  double means = 0;
  for (const documents::MeasuredKernel& kernel : measured.kernels) {
    if (!kernel.spread) return "";
    means += kernel.spread->mean;
  }
  return "; their means add up to " + percent(means, measured.spread->mean) + " of the run's";
}

void append_totals(const documents::Measured& measured, std::string& text) {
  const documents::JoinSummary& summary = *measured.join;
  const auto line = [&](const std::string& name, const std::string& value) {
    text += name + std::string(name.size() < 18 ? 18 - name.size() : 1, ' ') + value + '\n';
  };
  if (measured.seconds)
    line("run", base::si_seconds(*measured.seconds) + ", median of " + std::to_string(measured.repeats));
  line("kernels", time_cell(summary.seconds) + " in " + std::to_string(measured.kernels.size()) + added_up(measured));
  line("joined", time_cell(summary.joined_seconds) + ", " + percent(summary.joined_seconds, summary.seconds) +
                     " of the kernels' time");
  std::map<std::string, std::pair<std::size_t, double>> rules;
  for (const documents::MeasuredKernel& kernel : measured.kernels)
    if (kernel.joined) {
      auto& [count, seconds] = rules[kernel.joined->rule];
      ++count;
      seconds += kernel.seconds.value_or(0);
    }
  for (const auto& [rule, sum] : rules)
    line("  by " + rule, std::to_string(sum.first) + " kernels, " + percent(sum.second, summary.seconds));
  if (!summary.silent_nodes.empty())
    line("without a kernel",
         std::to_string(summary.silent_nodes.size()) + " nodes that should have run: folded or fused unseen");
}

void append_groups(const documents::Measured& measured, const EstimateDocument& estimate, std::size_t top,
                   std::size_t width, std::string& text) {
  const std::vector<JoinedGroup> groups = joined_groups(measured, estimate);
  if (groups.empty()) return;
  const bool has_bounds = estimate.roofline.has_value();
  base::Grid grid;
  grid.columns = {{.header = "node", .shortest_width = 24},
                  {.header = "op", .drop_order = 1, .shortest_width = 8},
                  {.header = "kernels", .is_number = true, .drop_order = 3},
                  {.header = "time", .is_number = true},
                  {.header = "% of time", .is_number = true},
                  {.header = "FLOP/s", .is_number = true, .drop_order = 2},
                  {.header = "B/s", .is_number = true, .drop_order = 4}};
  if (has_bounds) {
    grid.columns.push_back({.header = "bound", .is_number = true});
    grid.columns.push_back({.header = "time/bound", .is_number = true});
  }
  const auto rate = [](const std::optional<double>& amount, const std::optional<double>& seconds) {
    return amount && seconds && *seconds > 0 ? base::si_rate(*amount / *seconds, "") : std::string(kUnknown);
  };
  for (std::size_t i = 0; i < groups.size() && (top == 0 || i < top); ++i) {
    const JoinedGroup& group = groups[i];
    std::vector<std::string> row = {rows_cell(group, estimate),
                                    types_cell(group, estimate),
                                    std::to_string(group.kernels.size()),
                                    time_cell(group.seconds),
                                    percent(group.seconds, measured.join->seconds),
                                    rate(group.flops, group.seconds),
                                    rate(group.bytes, group.seconds)};
    if (has_bounds) {
      const std::optional<double> ratio = group.ratio();
      row.push_back(time_cell(group.bound_seconds));
      row.push_back(ratio ? base::rounded(*ratio) : std::string(kUnknown));
    }
    grid.rows.push_back(std::move(row));
  }
  text += '\n' + base::aligned(grid, width);
  if (has_bounds) text += "bounds of " + base::printable(estimate.roofline->device) + '\n';
  if (grid.rows.size() < groups.size()) text += std::to_string(groups.size() - grid.rows.size()) + " more\n";
}

// Counters next to the estimate; nothing without counters.
void append_counts(const documents::Measured& measured, const EstimateDocument& estimate, std::size_t top,
                   std::size_t width, std::string& text) {
  const std::vector<documents::NodeCounts>& counts = measured.join->counts;
  if (counts.empty()) return;
  base::Grid grid;
  grid.columns = {{.header = "counted", .shortest_width = 24},
                  {.header = "FLOP", .is_number = true, .drop_order = 2},
                  {.header = "/static", .is_number = true},
                  {.header = "products/static", .is_number = true},
                  {.header = is_replayed(measured) ? "DRAM B, replayed" : "DRAM B", .is_number = true, .drop_order = 3},
                  {.header = "/static", .is_number = true},
                  {.header = "read/static", .is_number = true, .drop_order = 4},
                  {.header = "why", .drop_order = 1}};
  const auto amount = [](const std::optional<double>& value) {
    return value ? base::si_rate(*value, "") : std::string(kUnknown);
  };
  const auto ratio = [](const std::optional<double>& value) {
    return value ? base::rounded(*value) : std::string(kUnknown);
  };
  for (std::size_t i = 0; i < counts.size() && (top == 0 || i < top); ++i) {
    const documents::NodeCounts& group = counts[i];
    std::string flags;
    for (const documents::CountFlag flag : group.flags) (flags += flags.empty() ? "" : ", ") += to_string(flag);
    JoinedGroup rows;
    rows.rows = group.nodes;
    grid.rows.push_back({rows_cell(rows, estimate), amount(group.measured_flops), ratio(group.flops_ratio()),
                         ratio(group.contraction_ratio()), amount(group.measured_bytes), ratio(group.bytes_ratio()),
                         ratio(group.read_ratio()), flags});
  }
  text += '\n' + base::aligned(grid, width);
  if (grid.rows.size() < counts.size()) text += std::to_string(counts.size() - grid.rows.size()) + " more\n";
}

// The whole model: counters over all kernels, the estimate's totals, and the difference.
void append_model(const documents::Measured& measured, const EstimateDocument& estimate, std::string& text) {
  if (measured.join->counts.empty()) return;
  const auto sum = [](const std::optional<double>& a, const std::optional<double>& b) {
    return a && b ? std::optional(*a + *b) : std::nullopt;
  };
  std::optional<double> flops = 0, bytes = 0, written = 0;
  for (const documents::MeasuredKernel& kernel : measured.kernels) {
    if (kernel.flops.empty()) flops.reset();
    const bool has_halves = !kernel.joined || computes_in_halves(kernel.joined->nodes, estimate);
    for (const auto& [precision, count] : kernel.flops)
      if (precision != "float16" || has_halves) flops = sum(flops, count);
    bytes = sum(bytes, kernel.bytes.dram);
    written = sum(written, kernel.bytes.dram_write);
  }
  std::optional<double> products = 0, arithmetic = 0, traffic = 0, writes = 0;
  for (const documents::EstimateNode& node : estimate.nodes) {
    const auto macs = documents::real(node.counts.macs), arith = documents::real(node.counts.arith),
               comparisons = documents::real(node.counts.comparisons);
    const auto moved = documents::real(node.counts.bytes);
    traffic = sum(traffic, moved);
    if (!node.runs_nothing()) writes = sum(writes, documents::real(node.counts.bytes_written));
    products = products && macs ? std::optional(*products + 2 * *macs) : std::nullopt;
    arithmetic = arithmetic && arith && comparisons ? std::optional(*arithmetic + *arith - *comparisons) : std::nullopt;
  }
  const auto line = [&](const char* what, const std::optional<double>& counted, const std::optional<double>& expected) {
    if (!counted || !expected || !(*expected > 0)) return;
    const double error = 100 * (*counted / *expected - 1);
    text += std::string(what) + base::si_rate(*counted, "") + " measured, " + base::si_rate(*expected, "") +
            " estimated: " + (error >= 0 ? "+" : "") + base::rounded(error) + " %\n";
  };
  text += '\n';
  line("model FLOPs   ", flops,
       products && arithmetic ? std::optional(*products + *arithmetic) : std::nullopt);
  line("model DRAM B  ", bytes, traffic);
  line("  written     ", written,
       writes);  // only for the whole model: what a kernel writes leaves the cache during later ones
}

void append_unjoined(const documents::Measured& measured, std::size_t top, std::size_t width, std::string& text) {
  const std::vector<Unjoined> unjoined = unjoined_kernels(measured);
  if (unjoined.empty()) return;
  base::Grid grid;
  grid.columns = {{.header = "not joined", .shortest_width = 24},
                  {.header = "time", .is_number = true},
                  {.header = "% of time", .is_number = true},
                  {.header = "why"}};
  for (std::size_t i = 0; i < unjoined.size() && (top == 0 || i < top); ++i) {
    const documents::MeasuredKernel& kernel = measured.kernels[unjoined[i].kernel];
    grid.rows.push_back(
        {base::printable(kernel.name), time_cell(kernel.seconds), percent(unjoined[i].share, 1.0), unjoined[i].why});
  }
  text += '\n' + base::aligned(grid, width);
  if (grid.rows.size() < unjoined.size()) text += std::to_string(unjoined.size() - grid.rows.size()) + " more\n";
}

}  // namespace

std::string join_report(const documents::Measured& measured, const EstimateDocument& estimate, std::size_t top,
                        std::size_t width) {
  std::string text;
  if (!measured.join) return text;
  append_totals(measured, text);
  append_groups(measured, estimate, top, width, text);
  append_counts(measured, estimate, top, width, text);
  append_model(measured, estimate, text);
  append_unjoined(measured, top, width, text);
  return text;
}

}  // namespace pagoda::measured

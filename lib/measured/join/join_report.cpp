// Report of a join for people: the joined share of time and the rules, groups by time with their bounds, unjoined
// kernels.
#include <algorithm>
#include <map>
#include <span>

#include "join/causes.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/plural.h"
#include "pagoda/base/text.h"
#include "pagoda/measured/join.h"

namespace pagoda::measured {
namespace {

using documents::Amount;
constexpr std::string_view kUnknown = "?";

std::string time_cell(const Amount& seconds) { return seconds ? base::si_seconds(*seconds) : std::string(kUnknown); }

std::string percent(const Amount& part, const Amount& whole) {
  return part && documents::ratio(part, whole) ? base::rounded(100 * *part / *whole) + " %" : std::string(kUnknown);
}

std::string amount_cell(const Amount& amount) { return amount ? base::si_rate(*amount, "") : std::string(kUnknown); }
std::string ratio_cell(const Amount& ratio) { return ratio ? base::rounded(*ratio) : std::string(kUnknown); }

// "a + b"; "first…last (400)" for more than a reader takes in.
std::string rows_cell(const std::vector<std::size_t>& rows, const EstimateDocument& estimate) {
  constexpr std::size_t kMostNames = 6;
  const auto name = [&](std::size_t row) { return base::printable(estimate.nodes[row].shown_name()); };
  if (rows.size() > kMostNames) return cat(name(rows.front()), "…", name(rows.back()), " (", rows.size(), ")");
  return base::joined(rows, " + ", name);
}

// The first `top` of `items`, one per row.
template <typename Items, typename ToRow>
std::string table(std::vector<base::Column> columns, const Items& items, std::size_t top, std::size_t width,
                  const ToRow& to_row, const std::string& below = "") {
  base::Grid grid{std::move(columns), {}};
  const std::size_t shown = top == 0 ? items.size() : std::min(top, items.size());
  for (std::size_t i = 0; i < shown; ++i) grid.rows.push_back(to_row(items[i]));
  return cat("\n", base::aligned(grid, width), below, shown < items.size() ? cat(items.size() - shown, " more\n") : "");
}

std::string types_cell(const JoinedGroup& group, const EstimateDocument& estimate) {
  const bool is_long = group.rows.size() > 6;
  const std::string text = base::joined(std::span(group.rows).first(is_long ? 6 : group.rows.size()), "+",
                                        [&](std::size_t row) { return base::printable(estimate.nodes[row].op_type); });
  return is_long ? text + "+…" : text;
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

std::string totals(const documents::Measured& measured) {
  const documents::JoinSummary& summary = *measured.join;
  std::string text;
  const auto line = [&](const std::string& name, const std::string& value) {
    text += name + std::string(name.size() < 18 ? 18 - name.size() : 1, ' ') + value + '\n';
  };
  if (measured.seconds) line("run", cat(base::si_seconds(*measured.seconds), ", median of ", measured.repeats));
  line("kernels", cat(time_cell(summary.seconds), " in ", measured.kernels.size(), added_up(measured)));
  line("joined", cat(time_cell(summary.joined_seconds), ", ", percent(summary.joined_seconds, summary.seconds),
                     " of the kernels' time"));
  std::map<std::string, std::pair<std::size_t, double>> rules;
  for (const documents::MeasuredKernel& kernel : measured.kernels)
    if (kernel.joined) {
      auto& [count, seconds] = rules[kernel.joined->rule];
      ++count;
      seconds += kernel.seconds.value_or(0);
    }
  for (const auto& [rule, sum] : rules)
    line("  by " + rule, cat(base::counted(sum.first, "kernel"), ", ", percent(sum.second, summary.seconds)));
  const auto is_joined = [](const documents::MeasuredKernel& kernel) { return kernel.joined.has_value(); };
  const bool joined_any = std::ranges::any_of(measured.kernels, is_joined);
  const bool joined_all = documents::ratio(summary.joined_seconds, summary.seconds).value_or(0) >= 0.999 ||
                          std::ranges::all_of(measured.kernels, is_joined);
  if (!summary.silent_nodes.empty())
    line("without a kernel", cat(base::counted(summary.silent_nodes.size(), "node"), " that should have run: ",
                                 !joined_any  ? "no kernel names any node; the profile is probably of another model"
                                 : joined_all ? "folded or fused unseen"
                                              : "folded, fused unseen, or in kernels that did not join"));
  return text;
}

std::string groups_table(const documents::Measured& measured, const EstimateDocument& estimate, std::size_t top,
                         std::size_t width) {
  const std::vector<JoinedGroup> groups = joined_groups(measured, estimate);
  if (groups.empty()) return "";
  // A bound is of what the file's precision, sizes and device allow.
  constexpr double kImpossible = 0.95;
  const auto faster = static_cast<std::size_t>(std::ranges::count_if(
      groups, [](const JoinedGroup& group) { return group.ratio() && *group.ratio() < kImpossible; }));
  std::vector<base::Column> columns = {{.header = "node", .shortest_width = 24},
                                       {.header = "op", .drop_order = 1, .shortest_width = 8},
                                       {.header = "kernels", .is_number = true, .drop_order = 3},
                                       {.header = "time", .is_number = true},
                                       {.header = "% of time", .is_number = true},
                                       {.header = "FLOP/s", .is_number = true, .drop_order = 2},
                                       {.header = "B/s", .is_number = true, .drop_order = 4}};
  const bool has_bounds = estimate.roofline.has_value();
  if (has_bounds)
    for (const char* header : {"bound", "time/bound"}) columns.push_back({.header = header, .is_number = true});
  const auto to_row = [&](const JoinedGroup& group) {
    std::vector<std::string> row = {rows_cell(group.rows, estimate),
                                    types_cell(group, estimate),
                                    std::to_string(group.kernels.size()),
                                    time_cell(group.seconds),
                                    percent(group.seconds, measured.join->seconds),
                                    amount_cell(documents::ratio(group.flops, group.seconds)),
                                    amount_cell(documents::ratio(group.bytes, group.seconds))};
    if (has_bounds) row.insert(row.end(), {time_cell(group.bound_seconds), ratio_cell(group.ratio())});
    return row;
  };
  return table(std::move(columns), groups, top, width, to_row,
               cat(has_bounds ? cat("bounds of ", base::printable(estimate.roofline->device), "\n") : "",
                   faster > 0 ? cat(base::counted(faster, "row takes", "rows take"),
                                    " less time than the bound: the estimate is of another batch, precision or device\n")
                              : ""));
}

// Counters next to the estimate; nothing without counters.
std::string counts_table(const documents::Measured& measured, const EstimateDocument& estimate, std::size_t top,
                         std::size_t width) {
  if (measured.join->counts.empty()) return "";
  return table({{.header = "counted", .shortest_width = 24},
                {.header = "FLOP", .is_number = true, .drop_order = 2},
                {.header = "/static", .is_number = true},
                {.header = "products/static", .is_number = true},
                {.header = is_replayed(measured) ? "DRAM B, replayed" : "DRAM B", .is_number = true, .drop_order = 3},
                {.header = "/static", .is_number = true},
                {.header = "read/static", .is_number = true, .drop_order = 4},
                {.header = "why", .drop_order = 1}},
               measured.join->counts, top, width, [&](const documents::NodeCounts& group) -> std::vector<std::string> {
                 return {rows_cell(group.nodes, estimate),
                         amount_cell(group.flops.measured),
                         ratio_cell(group.flops.ratio()),
                         ratio_cell(group.contraction_ratio()),
                         amount_cell(group.bytes.measured),
                         ratio_cell(group.bytes.ratio()),
                         ratio_cell(group.bytes_read.ratio()),
                         base::joined(group.flags, ", ", [](auto flag) { return to_string(flag); })};
               });
}

// The whole model: counters over all kernels, the estimate's totals, and the difference.
std::string whole_model(const documents::Measured& measured, const EstimateDocument& estimate) {
  if (measured.join->counts.empty()) return "";
  using documents::plus, documents::real;
  Amount flops = 0, bytes = 0, written = 0;
  for (const documents::MeasuredKernel& kernel : measured.kernels) {
    if (kernel.flops.empty()) flops.reset();
    const bool has_halves = !kernel.joined || computes_in_halves(kernel.joined->nodes, estimate);
    for (const auto& [precision, count] : kernel.flops)
      if (precision != "float16" || has_halves) flops = plus(flops, count);
    bytes = plus(bytes, kernel.bytes.dram);
    written = plus(written, kernel.bytes.dram_write);
  }
  Amount products = 0, arithmetic = 0, traffic = 0, writes = 0;
  for (const documents::EstimateNode& node : estimate.nodes) {
    const Amount macs = real(node.counts.macs), arith = real(node.counts.arith),
                 comparisons = real(node.counts.comparisons);
    traffic = plus(traffic, real(node.counts.bytes));
    if (!node.runs_nothing()) writes = plus(writes, real(node.counts.bytes_written));
    products = products && macs ? Amount(*products + 2 * *macs) : std::nullopt;
    arithmetic = arithmetic && arith && comparisons ? Amount(*arithmetic + *arith - *comparisons) : std::nullopt;
  }
  std::string text = "\n";
  const auto line = [&](const char* what, const Amount& counted, const Amount& expected) {
    const Amount ratio = documents::ratio(counted, expected);
    if (!ratio) return;
    const double error = 100 * (*ratio - 1);
    text += cat(what, base::si_rate(*counted, ""), " measured, ", base::si_rate(*expected, ""),
                " estimated: ", error >= 0 ? "+" : "", base::rounded(error), " %\n");
  };
  line("model FLOPs   ", flops, plus(products, arithmetic));
  line("model DRAM B  ", bytes, traffic);
  // Only for the whole model: data that a kernel writes leave the cache during later ones.
  line("  written     ", written, writes);
  return text;
}

// The time without a node, by cause.
std::string causes_table(const documents::Measured& measured, std::size_t width) {
  const documents::JoinSummary& summary = *measured.join;
  if (summary.unjoined.empty()) return "";
  return table({{.header = "not joined, by cause", .shortest_width = 24},
                {.header = "kernels", .is_number = true},
                {.header = "time", .is_number = true},
                {.header = "% of time", .is_number = true}},
               summary.unjoined, 0, width, [&](const documents::UnjoinedTime& each) -> std::vector<std::string> {
                 return {base::printable(each.cause), std::to_string(each.kernels), time_cell(each.seconds),
                         percent(each.seconds, summary.seconds)};
               });
}

// Names of another model, or of another export of it, join little; what they join then takes the blame for the rest.
std::string doubt(const documents::Measured& measured, const EstimateDocument& estimate) {
  constexpr double kImplausible = 1000;
  const auto does_work = [](const documents::EstimateNode& node) { return !node.runs_nothing(); };
  const auto work = static_cast<std::size_t>(std::ranges::count_if(estimate.nodes, does_work));
  const std::size_t silent = measured.join->silent_nodes.size();
  if (2 * silent <= work) return "";
  for (const JoinedGroup& group : joined_groups(measured, estimate))
    if (group.ratio().value_or(0) > kImplausible)
      return cat("\n", rows_cell(group.rows, estimate), ": ", base::rounded(*group.ratio()), " times its bound, while ",
                 silent, " of ", base::counted(work, "node"),
                 " have no kernel: most names in the profile are not of this model; make the estimate of the file that "
                 "was run\n");
  return "";
}

std::string unjoined_table(const documents::Measured& measured, std::size_t top, std::size_t width) {
  const std::vector<Unjoined> unjoined = unjoined_kernels(measured);
  if (unjoined.empty()) return "";
  return table({{.header = "not joined", .shortest_width = 24},
                {.header = "time", .is_number = true},
                {.header = "% of time", .is_number = true},
                {.header = "why"}},
               unjoined, top, width, [&](const Unjoined& each) -> std::vector<std::string> {
                 const documents::MeasuredKernel& kernel = measured.kernels[each.kernel];
                 return {base::printable(kernel.name), time_cell(kernel.seconds), percent(each.share, 1.0), each.why};
               });
}

}  // namespace

std::string join_report(const documents::Measured& measured, const EstimateDocument& estimate, std::size_t top,
                        std::size_t width) {
  if (!measured.join) return "";
  return cat(totals(measured), groups_table(measured, estimate, top, width),
             counts_table(measured, estimate, top, width), whole_model(measured, estimate), doubt(measured, estimate),
             causes_table(measured, width), unjoined_table(measured, top, width));
}

}  // namespace pagoda::measured

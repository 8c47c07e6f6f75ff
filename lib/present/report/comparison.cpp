// Two models side by side.
#include <algorithm>
#include <cmath>

#include "pagoda/base/csv_line.h"
#include "pagoda/base/json_writer.h"
#include "pagoda/documents/dim_json.h"
#include "report/rows.h"

namespace pagoda::present {
namespace {

using estimate::Comparison;
using documents::EstimateDocument;
using documents::EstimateNode;
using estimate::Match;
using estimate::RowPair;
using report::Count;
using report::EstimateCounts;
using Layout = base::JsonWriter::Layout;

constexpr std::size_t kShown = 10;  // rows shown by default, largest changes first

// The counters that a comparison shows for nodes and totals.
constexpr std::pair<std::string_view, Count EstimateCounts::*> kCompared[] = {
    {"macs", &EstimateCounts::macs},
    {"arith", &EstimateCounts::arith},
    {"special", &EstimateCounts::special},
    {"flops", &EstimateCounts::flops},
    {"params", &EstimateCounts::params},
    {"param_bytes", &EstimateCounts::param_bytes},
    {"bytes_read", &EstimateCounts::bytes_read},
    {"bytes_written", &EstimateCounts::bytes_written},
    {"bytes", &EstimateCounts::bytes},
};

constexpr std::pair<std::string_view, double RooflineTotals::*> kTimes[] = {
    {"seconds", &RooflineTotals::seconds}, {"floor_seconds", &RooflineTotals::floor_seconds}};

Count difference(const Count& before, const Count& after) {
  return before && after ? Count(*after - *before) : std::nullopt;
}

std::string signed_si(const Count& value, std::string_view unit = "") {
  if (!value) return "?";
  return (*value > 0 ? "+" : "") + base::si(*value, unit);
}

std::string signed_seconds(const std::optional<double>& value) {
  if (!value) return "";
  return (*value < 0 ? "-" : "+") + base::si_seconds(std::abs(*value));
}

std::string ratio_text(const Count& before, const Count& after) {
  if (!before || !after || *before == 0) return "";
  return base::rounded(static_cast<double>(*after) / static_cast<double>(*before)) + "×";
}

// A node or a kernel of one of the estimates.
struct Row {
  std::size_t index = 0;
  std::string name, op;
  const EstimateCounts* counts = nullptr;
  std::optional<double> seconds = {};  // empty without a device, or if the bound is unknown
};

struct Pair {
  std::optional<Row> before, after;
  Match match = Match::None;

  const Row& shown() const { return after ? *after : *before; }
  // A missing row counts as 0.
  Count delta(Count EstimateCounts::*counter) const {
    const Count none = Int{0};
    return difference(before ? before->counts->*counter : none, after ? after->counts->*counter : none);
  }
  std::optional<double> seconds_delta() const {
    const auto of = [](const std::optional<Row>& row) { return row ? row->seconds : 0.0; };
    const std::optional<double> from = of(before), to = of(after);
    return from && to ? std::optional(*to - *from) : std::nullopt;
  }
  bool differs() const {
    if (seconds_delta().value_or(0) != 0) return true;
    if (!before || !after || before->op != after->op) return true;
    return std::any_of(std::begin(kCompared), std::end(kCompared), [&](const auto& counter) {
      const Count change = delta(counter.second);
      return !change || *change != 0;
    });
  }
};

std::optional<double> seconds_of(const RowBound* bound) {
  return bound == nullptr || bound->bound == Bound::Unknown ? std::nullopt : std::optional(bound->seconds);
}

Row node_row(const EstimateDocument& estimate, std::size_t index) {
  const EstimateNode& node = estimate.nodes[index];
  return {node.index, node.shown_name(), node.qualified_op(), &node.counts, seconds_of(estimate.bound_of(node))};
}

Row kernel_row(const EstimateDocument& estimate, std::size_t index) {
  const report::GroupRow group = report::group_row(estimate, index);
  return {index, group.name, group.ops, &group.group->counts, seconds_of(group.bound)};
}

std::vector<Pair> pairs_of(const std::vector<RowPair>& rows, const EstimateDocument& before,
                           const EstimateDocument& after, Row (*row_of)(const EstimateDocument&, std::size_t)) {
  std::vector<Pair> pairs;
  pairs.reserve(rows.size());
  const auto side = [&](const EstimateDocument& estimate, std::int32_t row) {
    return row < 0 ? std::nullopt : std::optional(row_of(estimate, static_cast<std::size_t>(row)));
  };
  for (const RowPair& row : rows)
    pairs.push_back({.before = side(before, row.before), .after = side(after, row.after), .match = row.match});
  return pairs;
}

std::string op_text(const Pair& pair) {
  if (!pair.before || !pair.after || pair.before->op == pair.after->op) return base::printable(pair.shown().op);
  return base::printable(pair.before->op + " → " + pair.after->op);
}

base::Grid totals_grid(const EstimateDocument& before, const EstimateDocument& after) {
  base::Grid grid;
  grid.columns = {{.header = "total"},
                  {.header = "before", .is_number = true},
                  {.header = "after", .is_number = true},
                  {.header = "change", .is_number = true},
                  {.header = "after/before", .is_number = true}};
  for (const auto& [name, counter] : kCompared) {
    if (name == "flops" && report::counts_macs(before)) continue;  // the macs row already shows it
    const std::string_view unit = name.find("bytes") != std::string_view::npos ? "B" : "";
    const Count &a = before.totals.counts.*counter, &b = after.totals.counts.*counter;
    std::string label(name);
    std::replace(label.begin(), label.end(), '_', ' ');
    grid.rows.push_back({label, a ? base::si(*a, unit) : "?", b ? base::si(*b, unit) : "?",
                         signed_si(difference(a, b), unit), ratio_text(a, b)});
  }
  const Count &a = before.totals.activation_peak_bytes, &b = after.totals.activation_peak_bytes;
  grid.rows.push_back({"activation peak", a ? base::si(*a, "B") : "?", b ? base::si(*b, "B") : "?",
                       signed_si(difference(a, b), "B"), ratio_text(a, b)});
  const auto add = [&](const char* what, std::optional<double> x, std::optional<double> y) {
    if (!x || !y) return;
    grid.rows.push_back({what, base::si_seconds(*x), base::si_seconds(*y), signed_seconds(*y - *x),
                         *x > 0 ? base::rounded(*y / *x) + "×" : ""});
  };
  if (before.roofline && after.roofline) {
    const RooflineTotals &x = before.roofline->totals, &y = after.roofline->totals;
    add("time ≥", x.seconds, y.seconds);
    add("launched ≥", x.eager_seconds, y.eager_seconds);
    add("whatever is fused ≥", x.floor_seconds, y.floor_seconds);
    if (const auto& engine = after.roofline->predicted; engine && before.roofline->predicted)
      add(("under " + base::printable(engine->engine)).c_str(), before.roofline->predicted->seconds, engine->seconds);
  }
  if (before.fit && after.fit) {
    const Count &x = before.fit->total_bytes, &y = after.fit->total_bytes;
    grid.rows.push_back({"memory of a run", report::cell(x, "B"), report::cell(y, "B"),
                         signed_si(difference(x, y), "B"), ratio_text(x, y)});
  }
  return grid;
}

// Largest changes first: by time on the device, then by work, then by traffic.
std::vector<Pair> changed(std::vector<Pair> pairs, std::size_t top) {
  std::erase_if(pairs, [](const Pair& pair) { return !pair.differs(); });
  const auto weight = [](const Pair& pair, Count EstimateCounts::*counter) {
    const Count change = pair.delta(counter);
    return change ? std::abs(static_cast<double>(*change)) : 0.0;
  };
  std::stable_sort(pairs.begin(), pairs.end(), [&](const Pair& a, const Pair& b) {
    const double seconds_a = std::abs(a.seconds_delta().value_or(0)),
                 seconds_b = std::abs(b.seconds_delta().value_or(0));
    if (seconds_a != seconds_b) return seconds_a > seconds_b;
    const double flops_a = weight(a, &EstimateCounts::flops), flops_b = weight(b, &EstimateCounts::flops);
    return flops_a != flops_b ? flops_a > flops_b
                              : weight(a, &EstimateCounts::bytes) > weight(b, &EstimateCounts::bytes);
  });
  if (top > 0 && pairs.size() > top) pairs.resize(top);
  return pairs;
}

base::Grid pairs_grid(const std::vector<Pair>& pairs, std::string_view row_name, const std::string& unit) {
  base::Grid grid;
  grid.columns = {{.header = std::string(row_name), .shortest_width = 16},
                  {.header = "op", .shortest_width = 10},
                  {.header = "change"},
                  {.header = "matched by", .drop_order = 5},
                  {.header = unit + "s before", .is_number = true, .drop_order = 2},
                  {.header = "after", .is_number = true, .drop_order = 3},
                  {.header = "Δ " + unit + "s", .is_number = true},
                  {.header = "Δ params", .is_number = true, .drop_order = 4},
                  {.header = "Δ bytes", .is_number = true}};
  const bool is_timed =
      std::any_of(pairs.begin(), pairs.end(), [](const Pair& pair) { return pair.seconds_delta().has_value(); });
  if (is_timed) grid.columns.push_back({.header = "Δ time", .is_number = true});
  for (const Pair& pair : pairs) {
    const auto flops = [](const std::optional<Row>& row) { return row ? report::cell(row->counts->flops) : ""; };
    grid.rows.push_back({base::printable(pair.shown().name), op_text(pair),
                         !pair.before  ? "added"
                         : !pair.after ? "removed"
                                       : "changed",
                         std::string(estimate::to_string(pair.match)), flops(pair.before), flops(pair.after),
                         signed_si(pair.delta(&EstimateCounts::flops)), signed_si(pair.delta(&EstimateCounts::params)),
                         signed_si(pair.delta(&EstimateCounts::bytes), "B")});
    if (is_timed) grid.rows.back().push_back(signed_seconds(pair.seconds_delta()));
  }
  return grid;
}

// "120 kernels matched, of which 8 changed; 0 added, 2 removed".
std::string summary(const std::vector<Pair>& pairs, std::string_view row_name) {
  std::size_t matched = 0, differing = 0, added = 0, removed = 0;
  for (const Pair& pair : pairs) {
    ++(!pair.before ? added : !pair.after ? removed : matched);
    if (pair.before && pair.after && pair.differs()) ++differing;
  }
  return std::to_string(matched) + " " + std::string(row_name) + "s matched, of which " + std::to_string(differing) +
         " changed; " + std::to_string(added) + " added, " + std::to_string(removed) + " removed";
}

void write_side(base::JsonWriter& json, const std::optional<Row>& row, const EstimateDocument* of_nodes) {
  if (!row) {
    json.null();
    return;
  }
  json.begin_object();
  json.member("index", row->index);
  if (of_nodes != nullptr) {  // as in the file, without a substitute for a missing name
    const EstimateNode& node = of_nodes->nodes[row->index];
    json.member("name", node.name).member("op_type", node.op_type);
  } else {
    json.member("name", row->name).member("ops", row->op);
  }
  for (const auto& [name, counter] : kCompared) json.member(name, row->counts->*counter);
  if (row->seconds) json.member("seconds", *row->seconds);
  json.end_object();
}

// `before` and `after`: the estimates, for pairs of nodes; null for pairs of kernels.
void write_pairs(base::JsonWriter& json, const std::vector<Pair>& pairs, const EstimateDocument* before,
                 const EstimateDocument* after) {
  json.begin_array();
  for (const Pair& pair : pairs) {
    json.begin_object(Layout::Line);
    json.key("matched_by");
    pair.match == Match::None ? json.null() : json.value(estimate::to_string(pair.match));
    json.key("before");
    write_side(json, pair.before, before);
    json.key("after");
    write_side(json, pair.after, after);
    json.key("delta").begin_object();
    for (const auto& [name, counter] : kCompared) json.member(name, pair.delta(counter));
    if (const auto seconds = pair.seconds_delta()) json.member("seconds", *seconds);
    json.end_object();
    json.end_object();
  }
  json.end_array();
}

std::string json_text(const EstimateDocument& before, const EstimateDocument& after, const Comparison& comparison,
                      const std::vector<Pair>& nodes, const std::vector<Pair>& kernels) {
  base::JsonWriter json;
  json.begin_object();
  json.member("schema", "pagoda.comparison/1");
  if (!after.tool.empty()) json.member("tool", after.tool);
  json.member("before", before.model.path).member("after", after.model.path);
  json.member("count", to_string(after.count));
  json.member("matched", comparison.matched).member("added", comparison.added).member("removed", comparison.removed);
  json.key("totals").begin_object();
  for (const auto& [name, counter] : kCompared) {
    json.key(name).begin_object(Layout::Line);
    const Count &a = before.totals.counts.*counter, &b = after.totals.counts.*counter;
    json.member("before", a).member("after", b).member("delta", difference(a, b));
    json.end_object();
  }
  json.key("activation_peak_bytes").begin_object(Layout::Line);
  const Count &a = before.totals.activation_peak_bytes, &b = after.totals.activation_peak_bytes;
  json.member("before", a).member("after", b).member("delta", difference(a, b));
  json.end_object();
  if (before.roofline && after.roofline)
    for (const auto& [name, member] : kTimes) {
      const std::optional<double> x = before.roofline->totals.*member, y = after.roofline->totals.*member;
      json.key(name).begin_object(Layout::Line);
      json.member("before", x).member("after", y).member("delta", x && y ? std::optional(*y - *x) : std::nullopt);
      json.end_object();
    }
  if (before.roofline && after.roofline && before.roofline->predicted && after.roofline->predicted) {
    const documents::EstimatePrediction &x = *before.roofline->predicted, &y = *after.roofline->predicted;
    json.key("predicted_seconds").begin_object(Layout::Line);
    json.member("before", x.seconds).member("after", y.seconds).member("delta", y.seconds - x.seconds);
    json.member("engine", y.engine);
    json.end_object();
  }
  json.end_object();
  json.member("partial", before.totals.partial || after.totals.partial);
  json.key("nodes");
  write_pairs(json, nodes, &before, &after);
  if (!comparison.groups.empty()) {
    json.key("kernels");
    write_pairs(json, kernels, nullptr, nullptr);
  }
  json.end_object();
  return std::move(json).text();
}

std::string csv_text(const std::vector<Pair>& pairs, bool is_timed) {
  base::CsvLine header;
  for (const char* name : {"name", "op_type", "matched_by", "before_index", "after_index"})
    header.add(std::string_view(name));
  for (const auto& [name, counter] : kCompared)
    for (const char* prefix : {"before_", "after_", "delta_"}) header.add(prefix + std::string(name));
  if (is_timed)
    for (const char* name : {"before_seconds", "after_seconds", "delta_seconds"}) header.add(std::string_view(name));
  std::string text = std::move(header).end();
  for (const Pair& pair : pairs) {
    const auto index = [](const std::optional<Row>& row) { return row ? std::to_string(row->index) : ""; };
    const auto seconds = [](const std::optional<Row>& row) { return row ? row->seconds : std::nullopt; };
    base::CsvLine line;
    line.name(pair.shown().name).name(pair.shown().op).add(estimate::to_string(pair.match));
    line.add(index(pair.before)).add(index(pair.after));
    for (const auto& [name, counter] : kCompared) {
      line.add(pair.before ? pair.before->counts->*counter : Count());
      line.add(pair.after ? pair.after->counts->*counter : Count());
      line.add(pair.delta(counter));
    }
    if (is_timed) line.add(seconds(pair.before)).add(seconds(pair.after)).add(pair.seconds_delta());
    text += std::move(line).end();
  }
  return text;
}

}  // namespace

std::string comparison_report(Format format, const EstimateDocument& before, const EstimateDocument& after,
                              const Comparison& comparison, const ReportOptions& options) {
  const bool is_table = format == Format::Table || format == Format::Markdown;
  const auto chosen = [&](const std::vector<Pair>& pairs) {
    return is_table || options.top == 0 ? pairs : changed(pairs, options.top);
  };
  const std::vector<Pair> nodes = chosen(pairs_of(comparison.nodes, before, after, node_row)),
                          kernels = chosen(pairs_of(comparison.groups, before, after, kernel_row));
  if (format == Format::Json) return json_text(before, after, comparison, nodes, kernels);
  const std::vector<Pair>& pairs = comparison.groups.empty() ? nodes : kernels;
  if (format == Format::Csv) return csv_text(pairs, before.roofline && after.roofline);
  const std::string_view row_name = comparison.groups.empty() ? "node" : "kernel";
  const base::Grid totals = totals_grid(before, after),
                   rows = pairs_grid(changed(pairs, options.top == 0 ? kShown : options.top), row_name,
                                     report::operation(before.count));
  const std::string from = report::title(before), to = report::title(after);
  if (format == Format::Markdown)
    return "# " + report::code(from) + " → " + report::code(to) + "\n\n" + report::markdown_table(totals) + "\n" +
           summary(pairs, row_name) + "\n\n" + report::markdown_table(rows);
  return "before  " + from + "\nafter   " + to + "\n\n" + base::aligned(totals, 0) + "\n" + summary(pairs, row_name) +
         "\n" + (rows.rows.empty() ? "" : "\n" + base::aligned(rows, options.width)) +
         "SI units: 1 kB is 1000 B, 1 M is 10^6\n";
}

}  // namespace pagoda::present

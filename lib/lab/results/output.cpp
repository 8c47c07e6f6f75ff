// The reports in all formats: one table and one or two pictures each; every format shows the same rows.
#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "draw/text.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/number.h"
#include "pagoda/base/text.h"
#include "pagoda/lab/result_report.h"
#include "results/chart.h"
#include "results/csv.h"

namespace pagoda::lab {
namespace {

using present::plot::count_text, present::plot::percent_text, results::PageTable;

constexpr std::size_t kMostRows = 60;  // in a picture

std::string ratio_text(double ratio) {
  // Three decimals near 1, where changes are small.
  if (ratio < 0.5 || ratio >= 10) return base::rounded(ratio);
  return base::decimal(static_cast<double>(std::llround(ratio * 1000)) / 1000, std::chars_format::fixed, 3);
}

std::string interval_text(const std::optional<double>& low, const std::optional<double>& high) {
  return low && high ? ratio_text(*low) + " … " + ratio_text(*high) : "not known";
}

std::string mean_text(const MeanRatio& mean) {
  return cat(ratio_text(mean.ratio), "× (", interval_text(mean.low, mean.high), ")");
}

std::string text_of(const std::vector<std::string>& facts, const std::vector<PageTable>& tables) {
  std::string text;
  for (const PageTable& table : tables) {
    if (table.rows.empty()) continue;
    base::Grid grid;
    for (const std::string& column : table.columns) grid.columns.push_back({.header = column});
    for (std::vector<std::string> row : table.rows) {
      for (std::string& cell : row) cell = base::printable(cell);
      grid.rows.push_back(std::move(row));
    }
    text += table.title + "\n" + base::aligned(grid, 0) + "\n";
  }
  for (const std::string& fact : facts) text += base::printable(fact) + "\n";
  return text;
}

std::string first_picture(const std::vector<results::Picture>& pictures) {
  for (const results::Picture& picture : pictures)
    if (!picture.wide.empty()) return picture.wide;
  throw Error("there is nothing to draw: no pair of records has times on both sides");
}

// Names in pictures: the model, and the parts that differ between names.
class ShortNames {
 public:
  template <typename Row>
  ShortNames(const std::vector<Row>& rows, std::string Row::*name) : total_(rows.size()) {
    for (const Row& row : rows) {
      std::istringstream words(row.*name);
      for (std::string word; words >> word;) ++counts_[word];
    }
  }
  std::string operator()(const std::string& name) const {
    std::string result;
    std::istringstream words(name);
    for (std::string word; words >> word;)
      if (result.empty() || total_ < 2 || counts_.at(word) < total_)
        result.append(result.empty() ? "" : " ").append(word);
    return result;
  }

 private:
  std::size_t total_;
  std::map<std::string, std::size_t> counts_;
};

// Names of snapshots on an axis: the date, with the snapshot's name if the date occurs twice; the name if there is no
// date.
std::vector<std::string> axis_names(const History& h) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < h.snapshots.size(); ++i) {
    const std::string date = i < h.dates.size() ? h.dates[i] : std::string();
    const bool is_alone = std::ranges::count(h.dates, date) == 1;
    names.push_back(date.empty() ? h.snapshots[i] : is_alone ? date : date + " " + h.snapshots[i]);
  }
  return names;
}

results::LineChart speed_up_chart(const std::string& title, const char* subtitle, const char* x_title) {
  return {title, subtitle, x_title, "speed-up", {}, {}, 1, "baseline"};
}

struct Document : results::Page {
  PageTable csv;  // the rows of the first table; further tables are only for readers of text and pages
};

std::string written(const Document& document, ReportFormat format) {
  const auto csv = [&] {
    std::string text = base::csv_line(document.csv.columns);
    for (const auto& row : document.csv.rows) text += results::csv_row(row);
    return text;
  };
  return results::written(
      format, [&] { return text_of(document.facts, document.tables); }, csv,
      [&] { return first_picture(document.pictures); }, [&] { return results::page(document); });
}

std::string shortest(const std::optional<double>& value) { return value ? base::shortest(*value) : std::string(); }

// The table with ratios in some columns to be read; `table` has them in full.
PageTable with_short_ratios(PageTable table, std::initializer_list<std::size_t> columns) {
  for (auto& row : table.rows)
    for (const std::size_t i : columns)
      if (!row[i].empty()) row[i] = ratio_text(*base::parse_number<double>(row[i]));
  return table;
}

std::vector<std::vector<std::string>> single_column(const std::vector<std::string>& list) {
  std::vector<std::vector<std::string>> rows;
  rows.reserve(list.size());
  for (const std::string& text : list) rows.push_back({text});
  return rows;
}

}  // namespace

std::string comparison_report(const ResultComparison& c, ReportFormat format, const std::string& title) {
  Document document;
  document.title = title.empty() ? "Speed-up of new over base" : title;
  const CompareOptions& o = c.options;
  const auto mean = [](const MeanRatio& m) {
    return cat("geometric mean over ", count_text(m.count, "model", "models"), m.name.empty() ? "" : " of ", m.name,
               ": ", mean_text(m));
  };
  document.facts = {
      c.by_mode.empty() ? mean(c.geomean) : base::joined(c.by_mode, "; ", mean),
      cat(c.count(SpeedVerdict::Slower), " slower, ", c.count(SpeedVerdict::Faster), " faster, ",
          c.count(SpeedVerdict::Same), " the same, ", c.count(SpeedVerdict::CannotTell), " undecided; ",
          c.broken.size(), " no longer run"),
      cat("slower or faster: beyond ", percent_text(o.tolerance), " and beyond noise. Where nothing changed, any of ",
          c.tested, " is called slower with a probability of ", percent_text(o.false_alarm),
          " at most (Holm), given that repeats are independent")};
  document.verdict = mean_text(c.geomean);
  PageTable table{"Configurations, slowest first",
                  {"configuration", "base", "new", "speed-up", "95 % interval", "verdict", "p slower", "note"}};
  document.csv.columns = {"configuration", "model",     "base_seconds", "new_seconds", "speedup", "low",
                          "high",          "verdict",   "p_slower",     "p_faster",    "test",    "units",
                          "base_units",    "new_units", "base_error",   "new_error",   "note"};
  results::IntervalChart chart{document.title, document.facts[0] + "; bars: 95 % intervals of each",
                               "base / new: right of 1 is faster"};
  const ShortNames short_name(c.rows, &SpeedUp::name);
  for (const SpeedUp& row : c.rows) {
    const std::string verdict(to_string(row.verdict));
    table.rows.push_back({row.name, base::si_seconds(row.base_seconds), base::si_seconds(row.new_seconds),
                          ratio_text(*row.ratio), interval_text(row.low, row.high), verdict,
                          row.p_slower ? base::rounded(*row.p_slower) : "", row.note});
    table.keys.push_back(row.name);
    document.csv.rows.push_back({row.name, row.model, shortest(row.base_seconds), shortest(row.new_seconds),
                                 shortest(row.ratio), shortest(row.low), shortest(row.high), verdict,
                                 shortest(row.p_slower), shortest(row.p_faster), row.test, row.units,
                                 cat(row.base_units), cat(row.new_units), shortest(row.base_error),
                                 shortest(row.new_error), row.note});
    // If there are too many rows, the middle ones are left out.
    const auto at = static_cast<std::size_t>(&row - c.rows.data());
    if (c.rows.size() > kMostRows && at >= kMostRows / 2 && at < c.rows.size() - kMostRows / 2) continue;
    const std::size_t color = row.verdict == SpeedVerdict::Slower ? 3 : row.verdict == SpeedVerdict::Faster ? 2 : 6;
    chart.rows.push_back({short_name(row.name), *row.ratio, row.low, row.high,
                          cat(ratio_text(*row.ratio), "× ", verdict), color, row.name});
  }
  PageTable models{"Models", {"model", "configurations", "speed-up", "95 % interval"}};
  for (const MeanRatio& model : c.models)
    models.rows.push_back(
        {model.name, cat(model.count), ratio_text(model.ratio), interval_text(model.low, model.high)});
  document.pictures = {picture_of(chart)};
  document.tables = {std::move(table),
                     std::move(models),
                     {"No longer run", {"configuration and reason"}, single_column(c.broken)},
                     {"Run now, and did not before", {"configuration and reason"}, single_column(c.repaired)},
                     {"Only in base", {"configuration"}, single_column(c.only_base)},
                     {"Only in new", {"configuration"}, single_column(c.only_new)}};
  return written(document, format);
}

std::string history_report(const History& h, ReportFormat format, const std::string& title) {
  Document document;
  document.title = title.empty() ? "Speed-up over time, baseline " + h.baseline : title;
  document.facts = {"geometric mean and 5th, 50th and 95th percentile of the speed-ups of all workloads in a snapshot"};
  PageTable table{"Snapshots",
                  {"series", "snapshot", "date", "workloads", "geomean", "low", "high", "p5", "p50", "p95"}};
  results::LineChart chart = speed_up_chart(
      document.title, "geometric mean with its 95 % interval; dashed and dotted: 95th and 5th percentile", "snapshot");
  chart.x_names = axis_names(h);
  for (std::size_t s = 0; s < h.series.size(); ++s) {
    const SeriesHistory& series = h.series[s];
    results::ChartLine mean{series.name, {}, {}, "", s % 6}, top{"", {}, {}, "6 3", s % 6},
        bottom{"", {}, {}, "2 3", s % 6};
    for (const HistoryPoint& point : series.points) {
      table.rows.push_back({series.name, h.snapshots[point.snapshot], h.dates[point.snapshot], cat(point.workloads),
                            shortest(point.geomean), shortest(point.low), shortest(point.high),
                            shortest(point.percentiles[0]), shortest(point.percentiles[1]),
                            shortest(point.percentiles[2])});
      if (!point.low && point.geomean == 1) table.baselines.push_back(table.rows.size() - 1);
      table.keys.push_back(series.name + " " + h.snapshots[point.snapshot]);
      const double x = static_cast<double>(point.snapshot);
      mean.points.push_back({x, point.geomean, point.low, point.high, "", table.keys.back()});
      bottom.points.push_back({x, point.percentiles[0]});
      top.points.push_back({x, point.percentiles[2]});
    }
    chart.lines.insert(chart.lines.end(), {top, bottom, mean});
    if (!series.points.empty())
      document.verdict += cat(document.verdict.empty() ? "" : ", ", series.name, series.name.empty() ? "" : " ",
                              ratio_text(series.points.back().geomean), "×");
  }
  document.pictures = {picture_of(chart)};
  document.tables = {with_short_ratios(table, {4, 5, 6, 7, 8, 9})};
  document.csv = std::move(table);
  return written(document, format);
}

std::string latest_report(const History& h, ReportFormat format, const std::string& title) {
  Document document;
  document.title = title.empty() ? "Latest speed-ups, baseline " + h.baseline : title;
  PageTable table{"Workloads, slowest first",
                  {"series", "snapshot", "workload", "speedup", "low", "high", "verification", "error"}};
  results::LineChart curve =
      speed_up_chart(document.title, "workloads of each series, sorted; bars: 95 % intervals", "workload, sorted");
  results::LineChart gap{"Correctness gap",
                         "mean relative error of outputs against the reference run, sorted; zero is not drawn",
                         "workload, sorted",
                         "error",
                         {},
                         {},
                         0.02,
                         "2 %"};
  std::size_t count = 0, below = 0;
  for (std::size_t s = 0; s < h.series.size(); ++s) {
    const SeriesHistory& series = h.series[s];
    results::ChartLine line{series.name, {}, {}, "", s % 6};
    results::ChartLine errors{series.name, {}, {}, "", s % 6};
    std::vector<double> sorted;
    const ShortNames short_name(series.latest, &CurvePoint::workload);
    for (const CurvePoint& point : series.latest) {
      table.rows.push_back({series.name, series.latest_snapshot, point.workload, shortest(point.ratio),
                            shortest(point.low), shortest(point.high), point.code.value_or(""), shortest(point.error)});
      if (!point.low && point.ratio == 1)
        table.baselines.push_back(table.rows.size() - 1);
      else
        ++count, below += point.ratio < 1 ? 1 : 0;
      table.keys.push_back(series.name + " " + point.workload);
      // A point that is its own baseline needs no name.
      const bool is_named = series.latest.size() <= 30 && point.low.has_value();
      line.points.push_back({static_cast<double>(line.points.size()), point.ratio, point.low, point.high,
                             is_named ? short_name(point.workload) : "", table.keys.back()});
      if (point.error) sorted.push_back(*point.error);
    }
    std::ranges::sort(sorted);
    for (const double error : sorted) errors.points.push_back({static_cast<double>(errors.points.size()), error});
    curve.lines.push_back(std::move(line));
    if (!errors.points.empty()) gap.lines.push_back(std::move(errors));
  }
  document.verdict = cat(below, " of ", count_text(count, "workload", "workloads"), " below 1");
  document.pictures = {picture_of(curve), picture_of(gap)};
  document.tables = {with_short_ratios(table, {3, 4, 5})};
  document.csv = std::move(table);
  return written(document, format);
}

std::string explanation_report(const Explanation& e, ReportFormat format, const std::string& title) {
  Document document;
  document.title = title.empty() ? "What goes with " + e.quantity : title;
  PageTable ranks{"Models by " + e.quantity, {"rank", "model", e.quantity}},
      tree{"Tree", {"node", "models", e.quantity, "explains"}},
      correlations{"Features by rank correlation", {"feature", "rank correlation", "linear", "explains alone"}};
  results::IntervalChart chart{document.title, "", e.quantity};
  for (const auto& [model, value] : e.ranks) {
    ranks.rows.push_back({cat(ranks.rows.size() + 1), model, ratio_text(value)});
    ranks.keys.push_back(model);
    chart.rows.push_back({model, value, {}, {}, ratio_text(value), value < 1 ? 3U : 2U, model});
  }
  document.csv.columns = {"feature",         "models",           "rank_correlation", "linear_correlation",
                          "explained_alone", "explained_in_tree"};
  for (const Correlation& c : e.correlations) {
    const auto share = std::ranges::find(e.shares, c.feature, &std::pair<std::string, double>::first);
    document.csv.rows.push_back({c.feature, cat(c.count), shortest(c.rank), shortest(c.linear), shortest(c.explained),
                                 shortest(share == e.shares.end() ? 0 : share->second)});
    if (correlations.rows.size() < 15)
      correlations.rows.push_back(
          {c.feature, base::rounded(c.rank), base::rounded(c.linear), percent_text(c.explained)});
  }
  const auto visit = [&](const auto& self, std::size_t at, std::size_t depth, const std::string& condition) -> void {
    const TreeNode& node = e.tree[at];
    const std::string models = base::joined(node.models);
    tree.rows.push_back(
        {cat(std::string(2 * depth, ' '), condition.empty() ? "all" : condition, models.empty() ? "" : ": ", models),
         cat(node.count), ratio_text(node.mean), node.feature.empty() ? "" : percent_text(node.explained)});
    if (node.feature.empty()) return;
    self(self, node.left, depth + 1, node.feature + " ≤ " + base::rounded(node.threshold));
    self(self, node.right, depth + 1, node.feature + " > " + base::rounded(node.threshold));
  };
  if (!e.tree.empty()) visit(visit, 0, 0, "");
  document.facts = {
      cat("the tree explains ", percent_text(e.explained), " of the variance of the logarithm in the ", e.ranks.size(),
          " models it was grown on, and ", e.explained_unseen ? percent_text(*e.explained_unseen) : "an unknown part",
          " in models left out one at a time (below 0: worse than the mean)"),
      cat(e.correlations.size(), " features were looked at: the strongest of many is strong by chance, too")};
  if (!e.shares.empty())
    document.verdict = cat(e.shares.front().first, ", ", percent_text(e.shares.front().second), " in the tree");
  for (const auto& [feature, share] : e.shares)
    document.facts.push_back(cat(feature, " explains ", percent_text(share), " in the tree"));
  if (!e.missing.empty()) document.facts.push_back("without a structure, and left out: " + base::joined(e.missing));
  chart.subtitle = document.facts[0];
  document.pictures = {picture_of(chart)};
  document.tables = {std::move(tree), std::move(correlations), std::move(ranks)};
  return written(document, format);
}

}  // namespace pagoda::lab

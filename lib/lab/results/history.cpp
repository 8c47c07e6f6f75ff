// Speed-ups over a baseline, snapshot by snapshot, and the newest results of each series.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "pagoda/base/cat.h"
#include "pagoda/base/statistics.h"
#include "pagoda/lab/result_report.h"
#include "results/groups.h"

namespace pagoda::lab {
namespace {

using results::Group;

// The groups of a snapshot by series and workload. With several modes, each mode has its own series: training and
// inference never share a mean.
using Table = std::map<std::string, std::map<std::string, Group>>;

bool has_several_modes(const std::vector<Snapshot>& snapshots) {
  std::set<std::string> modes;
  for (const Snapshot& snapshot : snapshots)
    for (const documents::Result& result : snapshot.results) modes.insert(results::mode_of(result.config));
  return modes.size() > 1;
}

Table table_of(const Snapshot& snapshot, bool names_mode) {
  Table table;
  for (Group& group : results::groups(snapshot.results)) {
    if (group.repeats.empty()) continue;
    const documents::Config& config = group.repeats.front()->config;
    const std::string series = results::series_name(config) + (names_mode ? " " + results::mode_of(config) : "");
    const std::string workload = results::workload_name(config);
    table[series][workload] = std::move(group);
  }
  return table;
}

bool fits(const Group& group, const std::vector<std::pair<std::string, std::string>>& wanted) {
  return std::ranges::all_of(wanted, [&](const auto& pair) {
    return results::text_of(group.repeats.front()->config, pair.first) == pair.second;
  });
}

// The baseline of each workload of each series.
class Baseline {
 public:
  Baseline(const std::vector<Snapshot>& snapshots, const std::vector<Table>& tables, const std::string& text)
      : tables_(tables), last_(tables.size()) {
    const auto named = std::ranges::find(snapshots, text, &Snapshot::name);
    if (named != snapshots.end())
      first_ = static_cast<std::size_t>(named - snapshots.begin()), last_ = first_ + 1;
    else if (text != "oldest")
      wanted_ = results::pairs_of(text, [&](const std::string& part) {
        return Error(cat("baseline \"", text, "\": found \"", part,
                         "\"; expected oldest, the name of a snapshot, or AXIS=VALUE,… like compile=eager"));
      });
  }

  const Group* of(const std::string& series, const std::string& workload) const {
    for (std::size_t i = first_; i < last_; ++i)
      for (const auto& [name, groups] : tables_[i]) {
        if (wanted_.empty() && name != series) continue;
        const auto found = groups.find(workload);
        if (found != groups.end() && fits(found->second, wanted_)) return &found->second;
      }
    return nullptr;
  }

 private:
  const std::vector<Table>& tables_;
  std::size_t first_ = 0, last_;
  std::vector<std::pair<std::string, std::string>> wanted_;
};

CurvePoint point_of(const std::string& workload, const Group& base, const Group& now) {
  CurvePoint point{workload, results::median_seconds(base) / results::median_seconds(now)};
  const std::vector<double> a = results::units(base).logs, b = results::units(now).logs;
  if (&base != &now) {
    if (const auto shift = base::shift_interval(a, b, 0.95)) {
      point.low = std::exp((*shift)[1]);
      point.high = std::exp((*shift)[2]);
    } else if (const auto welch = base::welch(a, b)) {
      const double reach = base::student_quantile(0.975, welch->degrees) * welch->error;
      point.low = std::exp(welch->difference - reach);
      point.high = std::exp(welch->difference + reach);
    }
  }
  for (const documents::Result* repeat : now.repeats) {
    if (!repeat->verification) continue;
    point.error = repeat->verification->error;
    point.code = std::string(to_string(repeat->verification->code));
  }
  return point;
}

HistoryPoint summary_of(std::size_t snapshot, const std::vector<CurvePoint>& points) {
  std::vector<double> ratios;
  ratios.reserve(points.size());
  for (const CurvePoint& point : points) ratios.push_back(point.ratio);
  std::ranges::sort(ratios);
  const MeanRatio mean = results::mean_ratio("", points);
  return {snapshot,   points.size(),
          mean.ratio, mean.low,
          mean.high,  {base::quantile(ratios, 0.05), base::quantile(ratios, 0.5), base::quantile(ratios, 0.95)}};
}

}  // namespace

std::vector<Snapshot> by_day(const std::vector<documents::Result>& results) {
  std::map<std::string, Snapshot> days;
  for (const documents::Result& result : results) {
    const std::string time = results::text_of(result.metadata, "time"), day = time.substr(0, 10);
    Snapshot& snapshot = days[day];
    snapshot.name = day;
    if (snapshot.time.empty() || time < snapshot.time) snapshot.time = time;
    snapshot.results.push_back(result);
  }
  std::vector<Snapshot> list;
  list.reserve(days.size());
  for (auto& [day, snapshot] : days) list.push_back(std::move(snapshot));
  return list;
}

History history(const std::vector<Snapshot>& snapshots, const std::string& baseline_text) {
  std::vector<Table> tables;
  History result{baseline_text, {}, {}, {}};
  const bool names_mode = has_several_modes(snapshots);
  for (const Snapshot& snapshot : snapshots) {
    tables.push_back(table_of(snapshot, names_mode));
    result.snapshots.push_back(snapshot.name);
    result.dates.push_back(snapshot.time.substr(0, 10));
  }
  const Baseline baseline(snapshots, tables, baseline_text);
  std::map<std::string, SeriesHistory> series;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    for (const auto& [name, groups] : tables[i]) {
      std::vector<CurvePoint> points;
      for (const auto& [workload, group] : groups)
        if (const Group* base = baseline.of(name, workload)) points.push_back(point_of(workload, *base, group));
      if (points.empty()) continue;
      SeriesHistory& line = series[name];
      line.name = name;
      line.points.push_back(summary_of(i, points));
      std::ranges::stable_sort(points, {}, &CurvePoint::ratio);
      line.latest = std::move(points);
      line.latest_snapshot = snapshots[i].name;
    }
  }
  if (series.empty())
    throw Error(cat("baseline \"", baseline_text,
                    "\": no record is left to compare with; expected oldest, the name of a ",
                    "snapshot, or AXIS=VALUE,… that some records have"));
  for (auto& [name, line] : series) result.series.push_back(std::move(line));
  return result;
}

}  // namespace pagoda::lab

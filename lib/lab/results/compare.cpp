// Compares two sets of results, configuration by configuration: ratios, intervals, and differences beyond noise.
#include <algorithm>
#include <cmath>
#include <map>

#include "pagoda/base/cat.h"
#include "pagoda/base/enum_names.h"
#include "pagoda/base/statistics.h"
#include "pagoda/lab/result_report.h"
#include "results/groups.h"

namespace pagoda::lab {
namespace {

using results::Group, results::Units;

std::optional<double> verification_error(const Group& group) {
  for (const documents::Result* repeat : group.repeats)
    if (repeat->verification && repeat->verification->error) return repeat->verification->error;
  return std::nullopt;
}

void add_note(SpeedUp& row, const char* note) { row.note += cat(row.note.empty() ? "" : "; ", note); }

// A pair with its units, kept because the test depends on the number of pairs.
struct Pair {
  SpeedUp row;
  Units base, now;
  std::string mode;
};

Pair pair_of(const Group& base, const Group& now) {
  Pair pair;
  pair.base = results::units(base);
  pair.now = results::units(now);
  SpeedUp& row = pair.row;
  row.name = now.name;
  row.model = results::text_of(now.config, "model");
  pair.mode = results::mode_of(now.repeats.front()->config);
  row.base_seconds = results::median_seconds(base);
  row.new_seconds = results::median_seconds(now);
  row.ratio = row.base_seconds / row.new_seconds;
  row.base_units = pair.base.logs.size();
  row.new_units = pair.now.logs.size();
  row.units = pair.base.are_repeats && pair.now.are_repeats ? "repeats" : "blocks of one process";
  if (row.units != "repeats") add_note(row, "noise between processes is not in it: --repeat 3 or more");
  row.base_error = verification_error(base);
  row.new_error = verification_error(now);
  if (base.sha256 != now.sha256) add_note(row, "the model's file differs");
  return pair;
}

// Uses the rank-sum test if its smallest possible p reaches `threshold` and it has an interval, for which three repeats
// are too few; it assumes only exchangeable samples. Otherwise uses Welch's test, which assumes that the logarithms of
// medians are Gaussian.
void test(Pair& pair, double threshold) {
  SpeedUp& row = pair.row;
  const std::vector<double>&a = pair.now.logs, &b = pair.base.logs;
  if (a.size() < 2 || b.size() < 2) return add_note(row, "too few measurements");
  const bool is_enough = base::rank_sum_resolution(a.size(), b.size()) <= threshold;
  if (const auto shift = base::shift_interval(b, a, 0.95); is_enough && shift) {
    row.test = "rank sum, exact";
    row.p_slower = base::rank_sum_tail(a.size(), b.size(), base::wins(a, b));
    row.p_faster = base::rank_sum_tail(b.size(), a.size(), base::wins(b, a));
    row.low = std::exp((*shift)[1]);
    row.high = std::exp((*shift)[2]);
  } else if (const auto welch = base::welch(a, b)) {
    row.test = "Welch on logarithms";
    const double t = welch->difference / welch->error;
    row.p_slower = base::student_tail(t, welch->degrees);
    row.p_faster = base::student_tail(-t, welch->degrees);
    const double reach = base::student_quantile(0.975, welch->degrees) * welch->error;
    row.low = std::exp(-welch->difference - reach);
    row.high = std::exp(-welch->difference + reach);
  } else {
    add_note(row, "the measurements do not vary: a clock too coarse");
  }
}

// Holm's procedure: compares the smallest p with α/m, the next with α/(m−1), … until one is not below. The probability
// of any false alarm is at most α, however the pairs depend on each other.
void decide(std::vector<Pair>& pairs, double alpha, SpeedVerdict verdict, std::optional<double> SpeedUp::*p,
            const auto& is_beyond) {
  std::vector<SpeedUp*> order;
  // Blocks of one process do not show the variation between processes: no verdict is based on them.
  for (Pair& pair : pairs)
    if (pair.row.*p && pair.row.units == "repeats") order.push_back(&pair.row);
  std::ranges::sort(order, [&](const SpeedUp* a, const SpeedUp* b) { return *(a->*p) < *(b->*p); });
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (*(order[i]->*p) > alpha / static_cast<double>(order.size() - i)) break;
    if (is_beyond(*order[i]->ratio)) order[i]->verdict = verdict;
  }
}

// Mean of the logarithms of ratios; their variances add up, since the pairs were measured independently.
MeanRatio mean_of(std::string name, const std::vector<const Pair*>& pairs) {
  MeanRatio mean{.name = std::move(name), .count = pairs.size(), .ratio = 1, .low = {}, .high = {}};
  double sum = 0, variance = 0, weight = 0;
  bool all_known = !pairs.empty();
  for (const Pair* pair : pairs) {
    sum += std::log(*pair->row.ratio);
    const auto welch = base::welch(pair->now.logs, pair->base.logs);
    all_known = all_known && welch;
    if (!welch) continue;
    const double v = welch->error * welch->error;
    variance += v;
    weight += v * v / welch->degrees;
  }
  if (pairs.empty()) return mean;
  const double n = static_cast<double>(pairs.size());
  mean.ratio = std::exp(sum / n);
  if (all_known) {
    const double reach = base::student_quantile(0.975, variance * variance / weight) * std::sqrt(variance) / n;
    mean.low = std::exp(sum / n - reach);
    mean.high = std::exp(sum / n + reach);
  }
  return mean;
}

// The inputs of two groups, alike where either is unknown. One configuration may have run at two shapes: earlier
// versions took open sizes as 1.
std::pair<std::string, std::string> different_inputs(const Group& before, const Group& after) {
  if (before.repeats.empty() || after.repeats.empty()) return {};
  std::string then = results::inputs_text(*before.repeats.front()), now = results::inputs_text(*after.repeats.front());
  if (then.empty() || now.empty()) return {};
  return {std::move(then), std::move(now)};
}

}  // namespace

std::string_view to_string(SpeedVerdict verdict) {
  constexpr base::EnumNames<SpeedVerdict::CannotTell> kNames("same", "faster", "SLOWER", "cannot tell");
  return kNames[verdict];
}

std::size_t ResultComparison::count(SpeedVerdict verdict) const {
  return static_cast<std::size_t>(std::ranges::count(rows, verdict, &SpeedUp::verdict));
}

ResultComparison compare_results(const std::vector<documents::Result>& base, const std::vector<documents::Result>& now,
                                 const CompareOptions& options) {
  ResultComparison comparison;
  comparison.options = options;
  const std::vector<Group> before = results::groups(base, options.without),
                           after = results::groups(now, options.without);
  std::map<std::string, const Group*> known;
  for (const Group& group : before) known[group.name] = &group;
  std::vector<Pair> pairs;
  for (const Group& group : after) {
    const auto found = known.find(group.name);
    if (found == known.end()) {
      comparison.only_new.push_back(group.name);
      continue;
    }
    const Group& old = *found->second;
    if (const auto [then, since] = different_inputs(old, group); then != since) {
      comparison.only_base.push_back(cat(group.name, " at ", then));
      comparison.only_new.push_back(cat(group.name, " at ", since));
      known.erase(found);
      continue;
    }
    if (!old.repeats.empty() && !group.repeats.empty())
      pairs.push_back(pair_of(old, group));
    else if (!old.repeats.empty())
      comparison.broken.push_back(group.name + ": " + group.failure);
    else if (!group.repeats.empty())
      comparison.repaired.push_back(group.name + ": " + old.failure);
    known.erase(found);
  }
  for (const Group& group : before)
    if (known.contains(group.name)) comparison.only_base.push_back(group.name);

  for (Pair& pair : pairs)
    test(pair, options.false_alarm / static_cast<double>(std::max<std::size_t>(1, pairs.size())));
  for (Pair& pair : pairs) {
    SpeedUp& row = pair.row;
    if (!row.p_slower || row.units != "repeats") continue;
    ++comparison.tested;
    // "The same" is a finding, not the lack of one: the whole interval lies within the tolerance.
    const double band = 1 + options.tolerance;
    if (row.low && row.high && *row.low >= 1 / band && *row.high <= band) row.verdict = SpeedVerdict::Same;
  }
  decide(pairs, options.false_alarm, SpeedVerdict::Slower, &SpeedUp::p_slower,
         [&](double ratio) { return ratio < 1 / (1 + options.tolerance); });
  decide(pairs, options.false_alarm, SpeedVerdict::Faster, &SpeedUp::p_faster,
         [&](double ratio) { return ratio > 1 + options.tolerance; });

  std::map<std::string, std::map<std::string, std::vector<const Pair*>>> by_mode;
  for (const Pair& pair : pairs) by_mode[pair.mode][pair.row.model].push_back(&pair);
  for (const auto& [mode, by_model] : by_mode) {
    std::vector<MeanRatio> models;
    const std::string ending = by_mode.size() > 1 ? " " + mode : "";
    for (const auto& [model, members] : by_model) models.push_back(mean_of(model + ending, members));
    comparison.models.insert(comparison.models.end(), models.begin(), models.end());
    // Each model counts once, however many configurations it has.
    if (by_mode.size() > 1)
      comparison.by_mode.push_back(results::mean_ratio(mode, models));
    else
      comparison.geomean = results::mean_ratio("", models);
  }
  for (Pair& pair : pairs) comparison.rows.push_back(std::move(pair.row));
  std::ranges::stable_sort(comparison.rows, {}, &SpeedUp::ratio);
  return comparison;
}

}  // namespace pagoda::lab

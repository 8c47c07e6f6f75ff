// The rules by which stamps contradict each other.
#include "import/timeline.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "pagoda/base/cat.h"
#include "pagoda/base/statistics.h"
#include "pagoda/base/text.h"

namespace pagoda::measured::import {
namespace {

// clang-format off
constexpr std::array<std::string_view, 5> kCauses = {  // by Fault
    "the profiler has no stamps of it",
    "its duration is 0",
    "it ends before it starts",
    "it runs on into the next one of its stream or thread",
    "it is longer than its trace",
};
// clang-format on

// Rounding error of a stamp as a double. Stamps since 1970 have steps of a quarter of a microsecond.
double step_of(double stamp) { return 4 * std::numeric_limits<double>::epsilon() * std::abs(stamp); }

// The longest time that the trace allows. If its length is not known: an hour, and with four launches or more at most
// 100 times the time from the first start to the last, or 100 times their median, since a trace may end with its one
// long launch.
double longest_of(const std::vector<Stretch>& stretches, const TimelineRules& rules) {
  constexpr double kHour = 3600, kFar = 100;
  if (rules.longest) return *rules.longest;
  double first = std::numeric_limits<double>::infinity(), last = -first;
  std::vector<double> seconds;
  for (const Stretch& each : stretches) {
    if (each.start == 0 || !each.seconds) continue;
    first = std::min(first, each.start), last = std::max(last, each.start);
    seconds.push_back(*each.seconds);
  }
  if (seconds.size() < 4) return kHour;
  return std::min(kHour, kFar * std::max(last - first, base::summarize(seconds).median));
}

}  // namespace

void ImpossibleTimes::add(Fault fault, std::string_view name, const std::optional<double>& seconds) {
  Cases& cases = cases_[static_cast<std::size_t>(fault)];
  if (cases.count++ == 0)
    cases.example = cat("\"", name, "\"", seconds && *seconds > 0 ? ", " + base::si_seconds(*seconds) : "");
}

void ImpossibleTimes::note(const std::string& one, const std::string& several, std::vector<std::string>& notes) const {
  for (std::size_t i = 0; i < cases_.size(); ++i)
    if (const Cases& cases = cases_[i]; cases.count == 1)
      notes.push_back(cat("1 ", one, " has an impossible time, left unknown: ", kCauses[i], " (", cases.example, ")"));
    else if (cases.count > 1)
      notes.push_back(cat(cases.count, " ", several, " have impossible times, left unknown; of the first, ",
                          cases.example, ": ", kCauses[i]));
}

bool has_lost_digits(const std::vector<Stretch>& stretches, const std::function<std::string_view(std::size_t)>& name) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < stretches.size(); ++i)
    if (const Stretch& each = stretches[i]; each.is_alone && each.start != 0 && each.seconds.value_or(0) > 0)
      order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return std::pair(stretches[i].lane, stretches[i].start); });
  std::size_t same = 0;
  for (std::size_t k = 1; k < order.size(); ++k) {
    const Stretch &before = stretches[order[k - 1]], &now = stretches[order[k]];
    const bool is_copy = before.seconds == now.seconds && name(order[k - 1]) == name(order[k]);  // of an event
    if (before.lane == now.lane && before.start == now.start && !is_copy) ++same;
  }
  return same > 0 && 4 * same >= order.size();
}

void note_lost_digits(std::vector<std::string>& notes) {
  notes.emplace_back(
      "stamps of the start have lost their digits, as a spreadsheet's saving does: times are the durations, and "
      "overlap "
      "is not known; export again");
}

std::size_t check_times(std::vector<Stretch>& stretches, const TimelineRules& rules,
                        const std::function<std::string_view(std::size_t)>& name, ImpossibleTimes& found) {
  const auto clear = [&](std::size_t i, Fault fault) {
    found.add(fault, name(i), stretches[i].seconds);
    stretches[i].seconds.reset();
  };
  const double longest = longest_of(stretches, rules);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const Stretch& each = stretches[i];
    if (!each.seconds || (*each.seconds == 0 && each.start == 0))
      clear(i, Fault::Unstamped);
    else if (*each.seconds == 0 && rules.are_kernels)  // which take time; whole microseconds round a short one to 0
      clear(i, Fault::Zero);
    else if (*each.seconds < 0)
      clear(i, Fault::Backward);
    else if (each.is_alone && *each.seconds > 0)  // one rounded to 0 contradicts nothing
      order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return std::tuple(stretches[i].lane, stretches[i].start, *stretches[i].seconds);
  });
  // The last blocks of a kernel run for less than half of it, and rarely for longer than this.
  constexpr double kDependent = 100e-6;
  std::size_t dependent = 0;
  std::vector<std::size_t> ahead;  // in the lane, with possible times
  for (const std::size_t i : order) {
    Stretch& now = stretches[i];
    const double end = now.start + *now.seconds;
    if (!ahead.empty() && stretches[ahead.back()].lane != now.lane) ahead.clear();
    while (!ahead.empty()) {
      const Stretch& before = stretches[ahead.back()];
      const double over = before.start + *before.seconds, overlap = over - now.start;
      if (overlap <= rules.resolution + step_of(now.start)) break;
      const bool is_dependent = rules.are_kernels && over < end && overlap <= std::max(kDependent, *before.seconds / 2);
      if (is_dependent) {
        now.start = over;
        now.seconds = end - over;
        ++dependent;
        break;
      }
      clear(ahead.back(), Fault::Overlapping);
      ahead.pop_back();
    }
    ahead.push_back(i);
  }
  for (std::size_t i = 0; i < stretches.size(); ++i)
    if (const Stretch& each = stretches[i]; each.seconds.value_or(0) > longest + rules.resolution + step_of(each.start))
      clear(i, Fault::TooLong);
  return dependent;
}

double covered_seconds(std::vector<std::pair<double, double>> intervals) {
  std::ranges::sort(intervals);
  double covered = 0, until = -std::numeric_limits<double>::infinity();
  for (const auto& [start, end] : intervals) {
    covered += std::max(0.0, end - std::max(start, until));
    until = std::max(until, end);
  }
  return covered;
}

}  // namespace pagoda::measured::import

#include "here.h"

#include <algorithm>

#include "pagoda/base/cat.h"
#include "pagoda/base/text.h"

namespace pagoda::tools {
namespace {

using documents::CachePlacement;
using List = std::vector<const documents::Result*>;

constexpr double kDisturbed = 1.25;  // times the fastest round

// The row that a result is of.
const StudyRow& row_of(const HereEngine& engine, const documents::Result& result) {
  const auto number = [&](const char* axis) { return documents::integer_of(result.config, axis).value_or(0); };
  const std::string model = documents::text_of(result.config, "model");
  const auto found = std::ranges::find_if(engine.study, [&](const StudyRow& row) {
    return model == row.model && row.sequence == number("sequence") &&
           std::max<std::int64_t>(row.batch, 1) == number("batch");
  });
  if (found == engine.study.end()) throw Error(documents::config_label(result.config) + ": is not a run of this study");
  return *found;
}

// Of runs on processors: those beside a GPU only launch.
CachePlacement placement_of(const documents::Result& round) {
  const bool is_on_processors = documents::text_of(round.config, "device") == "cpu";
  return is_on_processors ? documents::placement(round.interference) : CachePlacement::Unknown;
}
double seconds_of(const documents::Result& round) { return round.timing->latency.p50; }

List in(List rounds, CachePlacement wanted) {
  std::erase_if(rounds, [&](const documents::Result* round) { return placement_of(*round) != wanted; });
  return rounds;
}

// The rounds that count: those with one cache, or all where there are none.
List counted(const List& rounds, const Placements& placements) {
  const List of_one_cache = placements.is_of_one_cache ? in(rounds, CachePlacement::Together) : List();
  return of_one_cache.empty() ? rounds : of_one_cache;
}

// Of the rounds that were not disturbed: a machine that shares its host is slower at some times than at others, and a
// prediction is of neither.
double mean_seconds(const List& rounds) {
  double sum = 0, count = 0;
  for (const documents::Result* round : rounds)
    if (seconds_of(*round) <= kDisturbed * seconds_of(*rounds.front())) sum += seconds_of(*round), ++count;
  return sum / count;
}

// Whether the fastest round was disturbed, or rounds disagree.
bool is_disturbed(const List& rounds) {
  const auto& fastest = rounds.front()->timing->latency;
  return fastest.p95 > 2 * fastest.min || seconds_of(*rounds.back()) > kDisturbed * fastest.p50;
}

}  // namespace

Rounds rounds_of(const HereEngine& engine, const std::vector<documents::Result>& results) {
  Rounds rounds;
  for (const documents::Result& result : results)
    if (result.status == documents::ResultStatus::Ok && result.timing)
      rounds[&row_of(engine, result)].push_back(&result);
  for (auto& [row, list] : rounds)
    std::ranges::sort(list, {}, [](const documents::Result* round) { return seconds_of(*round); });
  return rounds;
}

double Placements::apart_share() const {
  return together + apart > 0 ? static_cast<double>(apart) / static_cast<double>(together + apart) : 0;
}

Placements placements_of(const Rounds& rounds) {
  Placements found;
  std::size_t runs = 0;
  for (const auto& [row, list] : rounds) {
    runs += in(list, CachePlacement::Together).empty() ? 0 : 1;
    for (const documents::Result* round : list) {
      const CachePlacement placement = placement_of(*round);
      if (placement != CachePlacement::Together && placement != CachePlacement::Apart) continue;
      const bool is_apart = placement == CachePlacement::Apart;
      ++(is_apart ? found.apart : found.together);
      (is_apart ? found.apart_seconds : found.together_seconds) += round->interference.handoff_seconds.front();
    }
  }
  found.is_of_one_cache = 2 * runs >= rounds.size();
  if (found.together > 0) found.together_seconds /= static_cast<double>(found.together);
  if (found.apart > 0) found.apart_seconds /= static_cast<double>(found.apart);
  return found;
}

std::vector<const StudyRow*> runs_without_one_cache(const Rounds& rounds, const Placements& placements) {
  std::vector<const StudyRow*> rows;
  if (!placements.is_of_one_cache || placements.apart == 0) return rows;
  for (const auto& [row, list] : rounds)
    if (in(list, CachePlacement::Together).empty()) rows.push_back(row);
  return rows;
}

HereRun run_of(const StudyRow& row, const List& rounds, const Placements& placements) {
  const List list = counted(rounds, placements), apart = in(rounds, CachePlacement::Apart);
  HereRun run{.row = &row, .result = list.front(), .seconds = mean_seconds(list), .apart_seconds = {}};
  if (placements.is_of_one_cache && placement_of(*list.front()) == CachePlacement::Together && !apart.empty())
    run.apart_seconds = mean_seconds(apart);
  return run;
}

std::vector<std::string> notes_of(const Rounds& rounds, const Placements& placements, const std::string& folder) {
  std::vector<std::string> notes;
  if (placements.together > 0 && placements.apart > 0)
    notes.push_back(cat(placements.apart, " of ", placements.apart + placements.together,
                        " rounds ran while the host had the processors on different caches: what one wrote took ",
                        base::si_seconds(placements.apart_seconds), " to the other instead of ",
                        base::si_seconds(placements.together_seconds), "; times are of ",
                        placements.is_of_one_cache ? "the other rounds" : "both"));
  const auto disturbed =
      std::ranges::count_if(rounds, [&](const auto& each) { return is_disturbed(counted(each.second, placements)); });
  if (disturbed > 0)
    notes.push_back(cat(disturbed, " of ", rounds.size(),
                        " runs were disturbed: one of twenty took over twice the fastest, or one round over 1.25 times "
                        "another; delete ",
                        folder, " and measure again on an idle machine"));
  return notes;
}

}  // namespace pagoda::tools

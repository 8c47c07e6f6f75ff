// Judges pairs of measurements of ERT's kernel and our roof.
#include <algorithm>
#include <cstdio>

#include "pagoda/base/statistics.h"
#include "pagoda/documents/ceilings.h"
#include "pagoda/lab/ert.h"

namespace pagoda::lab {
namespace {

std::string describe(const documents::ErtPoint& point) {
  char text[160];
  std::snprintf(text, sizeof text, "%s of a %s at %lld FLOP per element: %.2f %% [%.2f, %.2f]", point.level.c_str(),
                point.scope.c_str(), static_cast<long long>(point.flops_per_element), 100 * point.ratio,
                100 * (*point.interval)[0], 100 * (*point.interval)[1]);
  return text;
}

}  // namespace

documents::CeilingCheck judge(documents::ErtComparison& comparison) {
  if (comparison.points.empty()) return {"ert", false, "nothing was compared"};
  const double each_side = (1 - comparison.confidence) / static_cast<double>(comparison.points.size());
  const documents::ErtPoint* highest = nullptr;
  std::string faster, undecided;
  double blind = 0;  // the largest half width of an interval: the resolution of the check
  std::size_t fewest = comparison.points.front().pairs.size();
  for (documents::ErtPoint& point : comparison.points) {
    std::vector<double> ratios;
    for (const auto& [theirs, ours] : point.pairs) ratios.push_back(theirs / ours);
    fewest = std::min(fewest, ratios.size());
    point.ratio = ratios.empty() ? 0 : base::median(ratios);
    point.interval = base::median_interval(ratios, 1 - 2 * each_side);
    if (!point.interval) {
      undecided += (undecided.empty() ? "" : ", ") + point.level;
      continue;
    }
    blind = std::max(blind, ((*point.interval)[1] - (*point.interval)[0]) / 2);
    if ((*point.interval)[0] > 1) faster += (faster.empty() ? "" : "; ") + describe(point);
    if (highest == nullptr || point.ratio > highest->ratio) highest = &point;
  }
  if (!faster.empty()) return {"ert", false, "faster than our roof: " + faster};
  if (!undecided.empty()) return {"ert", false, "too few pairs to tell at " + undecided};
  char text[160];
  std::snprintf(text, sizeof text,
                "nowhere surely faster than our roof (%zu points of at least %zu pairs, all together at %.0f %%; "
                "intervals up to +-%.1f %%); closest at ",
                comparison.points.size(), fewest, 100 * comparison.confidence, 100 * blind);
  return {"ert", true, text + describe(*highest)};
}

}  // namespace pagoda::lab

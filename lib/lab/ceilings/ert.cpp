// Judges pairs of measurements of ERT's kernel and our roof.
#include <algorithm>

#include "pagoda/base/cat.h"
#include "pagoda/base/number.h"
#include "pagoda/base/statistics.h"
#include "pagoda/documents/ceilings.h"
#include "pagoda/lab/ert.h"

namespace pagoda::lab {
namespace {

std::string percent(double share, int digits) { return base::decimal(100 * share, std::chars_format::fixed, digits); }

std::string describe(const documents::ErtPoint& point) {
  return cat(point.level, " of a ", point.scope, " at ", point.flops_per_element,
             " FLOP per element: ", percent(point.ratio, 2), " % [", percent((*point.interval)[0], 2), ", ",
             percent((*point.interval)[1], 2), "]");
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
  return {"ert", true,
          cat("nowhere surely faster than our roof (", comparison.points.size(), " points of at least ", fewest,
              " pairs, all together at ", percent(comparison.confidence, 0), " %; intervals up to +-",
              percent(blind, 1), " %); closest at ", describe(*highest))};
}

}  // namespace pagoda::lab

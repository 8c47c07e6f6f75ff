// Levels of a bandwidth sweep: windows from known capacities, checked by a change-point fit.
#include "pagoda/lab/plateaus.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "pagoda/base/cat.h"
#include "pagoda/base/number.h"
#include "pagoda/base/statistics.h"

namespace pagoda::lab {
namespace {

constexpr double kEdgeFactor = 1.5;   // largest factor between an edge and the capacity
constexpr double kInside = 0.75;      // a working set up to this part of the capacity is well inside
constexpr double kRealStep = 0.04;    // smaller steps are unevenness of a plateau, not a new level …
constexpr double kPartOfEdge = 0.25;  // … as are steps below this part of the level's own edges; in ln(bandwidth)
constexpr std::size_t kFewest = 5;    // minimum points of a plateau
constexpr double kNoiseFloor = 1e-3;  // of ln(bandwidth): no timer is more precise

std::string size_text(double bytes) {
  const bool is_large = bytes >= 1 << 20;
  return base::decimal(bytes / (is_large ? 1 << 20 : 1 << 10), std::chars_format::general, 3) +
         (is_large ? " MiB" : " KiB");
}

// Prefix sums, which give the squared error of any piece in O(1).
struct Prefix {
  std::vector<double> sum{0}, square{0};
  explicit Prefix(std::span<const double> values) {
    for (const double v : values) {
      sum.push_back(sum.back() + v);
      square.push_back(square.back() + v * v);
    }
  }
  // Σ (v - mean)² over [from, to).
  double error(std::size_t from, std::size_t to) const {
    const double s = sum[to] - sum[from], n = static_cast<double>(to - from);
    return std::max(0.0, square[to] - square[from] - s * s / n);
  }
};

struct Edge {
  double bytes = 0;    // between the two pieces
  double step = 0;     // ln(bandwidth after / bandwidth before)
  std::size_t at = 0;  // index of the first point after the edge
};

std::vector<Edge> edges(const std::vector<WorkingSetPoint>& sweep, std::span<const double> logs) {
  const std::vector<std::size_t> starts = change_points(logs);
  const auto level = [&](std::size_t piece) {
    const std::size_t end = piece + 1 < starts.size() ? starts[piece + 1] : logs.size();
    return base::median(logs.subspan(starts[piece], end - starts[piece]));
  };
  std::vector<Edge> result;
  for (std::size_t piece = 1; piece < starts.size(); ++piece) {
    const std::size_t at = starts[piece];
    result.push_back({std::sqrt(sweep[at - 1].bytes * sweep[at].bytes), level(piece) - level(piece - 1), at});
  }
  return result;
}

void doubt(Plateau& plateau, const std::string& why) {
  plateau.ambiguous = true;
  plateau.why += (plateau.why.empty() ? "" : "; ") + why;
}

}  // namespace

std::vector<std::size_t> change_points(std::span<const double> values, std::size_t min_points, double penalty) {
  const std::size_t n = values.size();
  if (n < 2 * min_points) return {0};
  std::vector<double> differences;
  for (std::size_t i = 1; i < n; ++i) differences.push_back(std::abs(values[i] - values[i - 1]));
  // The absolute difference of two Gaussians of standard deviation σ has the median 0.6745·√2·σ.
  const double sigma = std::max(base::median(differences) / (0.6745 * std::sqrt(2.0)), kNoiseFloor);
  const double per_piece = penalty * sigma * sigma * std::log(static_cast<double>(n));

  // best[end]: the least cost of a fit of [0, end), over all starts of its last piece. O(n²); n is a few hundred.
  const Prefix prefix(values);
  std::vector<double> best(n + 1, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> last(n + 1, 0);
  best[0] = 0;
  for (std::size_t end = min_points; end <= n; ++end)
    for (std::size_t start = 0; start + min_points <= end; ++start) {
      const double cost = best[start] + prefix.error(start, end) + per_piece;
      if (cost < best[end]) {
        best[end] = cost;
        last[end] = start;
      }
    }
  std::vector<std::size_t> starts;
  for (std::size_t end = n; end > 0; end = last[end]) starts.push_back(last[end]);
  std::ranges::reverse(starts);
  return starts;
}

std::vector<Plateau> find_plateaus(std::span<const WorkingSetPoint> points, const std::vector<KnownLevel>& levels) {
  std::vector<WorkingSetPoint> sweep(points.begin(), points.end());
  std::erase_if(sweep, [](const WorkingSetPoint& p) { return !(p.bytes > 0) || !(p.bytes_per_second > 0); });
  std::ranges::sort(sweep, {}, &WorkingSetPoint::bytes);
  std::vector<double> logs;
  logs.reserve(sweep.size());
  for (const WorkingSetPoint& p : sweep) logs.push_back(std::log(p.bytes_per_second));
  const std::vector<Edge> found = edges(sweep, logs);

  struct Range {
    double inner = 0, outer = 0;     // capacities at its beginning and end; 0: none
    std::size_t first = 0, end = 0;  // points well inside it
  };
  std::vector<Plateau> result;
  std::vector<Range> ranges;
  double inner = 0;  // capacity of the previous level
  for (const KnownLevel& known : levels) {
    // Well inside: above sizes that the previous level still holds in part, and below the capacity left beside code,
    // stack and other users of the cache. Memory begins where caches no longer matter: at 4 times the last capacity.
    const double low = known.capacity_bytes ? inner * kEdgeFactor : inner * 4;
    const double high = known.capacity_bytes ? *known.capacity_bytes * kInside : 1e300;
    std::vector<double> rates;
    std::size_t first = sweep.size(), end = 0;
    for (std::size_t i = 0; i < sweep.size(); ++i) {
      if (sweep[i].bytes < low || sweep[i].bytes > high) continue;
      rates.push_back(sweep[i].bytes_per_second);
      first = std::min(first, i);
      end = i + 1;
    }
    const double before = std::exchange(inner, known.capacity_bytes.value_or(inner));
    if (rates.size() < kFewest) continue;
    ranges.push_back({before, known.capacity_bytes.value_or(0), first, end});
    result.push_back({.level = known.level, .bytes_per_second = base::median(rates), .points = rates.size()});
  }

  const auto near = [](double bytes, double capacity) {
    return bytes > capacity / kEdgeFactor && bytes < capacity * kEdgeFactor;
  };
  const auto edge_near = [&](double capacity) {
    return std::ranges::any_of(found, [&](const Edge& e) { return e.step < -kRealStep && near(e.bytes, capacity); });
  };
  for (std::size_t i = 0; i < result.size(); ++i) {
    Plateau& plateau = result[i];
    const auto& [begin, outer, first, end] = ranges[i];
    if (begin > 0 && !edge_near(begin)) doubt(plateau, "no edge near " + size_text(begin) + ", where it should begin");
    if (outer > 0 && sweep.back().bytes > outer * kEdgeFactor && !edge_near(outer))
      doubt(plateau, "no edge near " + size_text(outer) + ", where it should end");
    // The smaller of the two edges of this level: a step that is small compared with it is not a separate level.
    double edge = 1e300;
    for (const std::size_t neighbour : {i - 1, i + 1})
      if (neighbour < result.size())
        edge = std::min(edge, std::abs(std::log(result[neighbour].bytes_per_second / plateau.bytes_per_second)));
    const double real = edge < 1e300 ? std::max(kRealStep, kPartOfEdge * edge) : kRealStep;
    for (const Edge& e : found) {
      // Rises come from prefetching: no outer level is faster.
      if (e.at <= first || e.at >= end || e.step > -real) continue;
      // Skip the level's own edges, within the spacing of the sweep's points.
      const auto is_own = [&, at = e.at](double capacity) {
        return capacity > 0 && (near(sweep[at - 1].bytes, capacity) || near(sweep[at].bytes, capacity));
      };
      if (is_own(ranges[i].inner) || is_own(ranges[i].outer)) continue;
      doubt(plateau, cat("a step of ", base::decimal(100 * std::expm1(e.step), std::chars_format::fixed, 0),
                         " % inside it, at ", size_text(e.bytes)));
    }
  }
  return result;
}

}  // namespace pagoda::lab

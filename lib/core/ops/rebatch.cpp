// Which size of a constant target shape holds the batch.
//
// A size covers an interval of the element order: from the product of the sizes before it to that times itself. The
// input size that holds the batch covers some interval; the target size that holds it must touch that interval.
//   [b,197,768]   → [1,197,768]    the 1 at the same place
//   [b,8,8,7,7,96] → [64,49,96]    64 = 1·8·8
//   [64·b,49,96]  → [1,8,8,7,7,96] the 1 within 64
//   [197,b,768]   → [197,12,64]    197 and 12 touch the batch: 12 begins where the batch begins
//   [197,12·b,64] → [197,768]      197 and 768 touch it: the last size holds features, so 197
#include "ops/rebatch.h"

#include <algorithm>
#include <tuple>

namespace pagoda::inline core::ops {

bool has_batch(const Dim& dim, const OpContext::Rebatch& rebatch) {
  const std::vector<std::string> names = dim.symbols();
  return std::find(names.begin(), names.end(), rebatch.to.to_string()) != names.end();
}

std::optional<std::size_t> batch_position(const Shape& input, const Shape& target, const OpContext::Rebatch& rebatch) {
  Dim begin = 1, end = 1;  // the interval of the input size that holds the batch
  std::size_t carriers = 0;
  Dim before = 1;
  for (const Dim& dim : input) {
    const Dim exported = dim.bind({{rebatch.to.to_string(), rebatch.from}});
    if (has_batch(dim, rebatch)) {
      ++carriers;
      begin = before;
      end = before * exported;
    }
    before *= exported;
  }
  if (carriers != 1) return std::nullopt;

  // The best of those that touch: the batch itself, then one that is not the last, then one that begins with the batch.
  std::optional<std::size_t> best;
  std::tuple<bool, bool, bool> best_rank;
  Dim from = 1;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const Dim to = from * target[i];
    const bool touches = greater_equal(end, from) == true && greater_equal(to, begin) == true;
    const bool holds = exact_div(target[i], rebatch.from).has_value() &&
                       greater_equal(min(end, to), max(begin, from) * rebatch.from) == true;
    if (touches && holds) {
      const std::tuple rank{target[i] == Dim(rebatch.from), i + 1 < target.size() || target.size() == 1, from == begin};
      if (!best || rank > best_rank) best = i, best_rank = rank;
    }
    from = to;
  }
  return best;
}

}  // namespace pagoda::inline core::ops

#include "place/axes.h"

#include <algorithm>

namespace pagoda::inline core {
namespace {

std::size_t at(std::int64_t axis) { return static_cast<std::size_t>(axis); }

}  // namespace

Axes inverse(const Axes& perm) {
  Axes result(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) result[at(perm[i])] = static_cast<std::int64_t>(i);
  return result;
}

Axes composed(const Axes& a, const Axes& b) {
  Axes result;
  for (const std::int64_t axis : b) result.push_back(a[at(axis)]);
  return result;
}

bool is_identity(const Axes& perm) {
  for (std::size_t i = 0; i < perm.size(); ++i)
    if (at(perm[i]) != i) return false;
  return true;
}

bool normalise(Axes& axes, std::size_t rank) {
  std::vector<bool> is_used(rank, false);
  for (std::int64_t& axis : axes) {
    if (axis < 0) axis += static_cast<std::int64_t>(rank);
    if (axis < 0 || at(axis) >= rank || is_used[at(axis)]) return false;
    is_used[at(axis)] = true;
  }
  return true;
}

Axes without(const Axes& axes, const Axes& perm) {
  Axes places(perm.size(), -1), result;
  std::int64_t next = 0;
  for (std::size_t i = 0; i < perm.size(); ++i)
    if (std::ranges::find(axes, static_cast<std::int64_t>(i)) == axes.end()) places[i] = next++;
  for (const std::int64_t axis : perm)
    if (places[at(axis)] >= 0) result.push_back(places[at(axis)]);
  return result;
}

Axes with(const Axes& axes, const Axes& perm) {
  Axes places, result;
  const std::size_t rank = perm.size() + axes.size();
  const auto is_added = [&](std::size_t i) {
    return std::ranges::find(axes, static_cast<std::int64_t>(i)) != axes.end();
  };
  for (std::size_t i = 0; i < rank; ++i)
    if (!is_added(i)) places.push_back(static_cast<std::int64_t>(i));
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i)
    result.push_back(is_added(i) ? static_cast<std::int64_t>(i) : places[at(perm[next++])]);
  return result;
}

}  // namespace pagoda::inline core

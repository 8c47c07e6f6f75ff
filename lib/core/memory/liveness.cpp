#include "memory/liveness.h"

#include <algorithm>
#include <numeric>

#include "graph/dim_poly.h"
#include "graph/index.h"

namespace pagoda::inline core {
namespace {

// Keeps only expressions that are not known to be below another; their max is the max of all added.
class Maxima {
 public:
  void add(const Dim& candidate) {
    for (const Dim& kept : kept_)
      if (kept == candidate || is_at_least(kept, candidate)) return;
    std::erase_if(kept_, [&](const Dim& kept) { return is_at_least(candidate, kept); });
    kept_.push_back(candidate);
    if (kept_.size() > kMaxCandidates) throw TooComplex("the peak's formula has too many alternatives");
  }
  Dim max() const {
    Dim result = 0;
    for (const Dim& kept : kept_) result = pagoda::max(result, kept);
    return result;
  }

 private:
  static constexpr std::size_t kMaxCandidates = 24;
  std::vector<Dim> kept_;
};

bool owns_bytes(const Storage& storage) {
  return storage.place == StoragePlace::Device && storage.bytes != Dim(0) && !storage.is_of_weights;
}

// The operand whose bytes the node's only output can reuse: element-wise, of the same size, not the caller's, and
// without later readers.
std::optional<std::int32_t> overwritten(const Schedule& schedule, const std::vector<Lifetime>& lifetimes,
                                        std::int32_t node, std::int32_t position) {
  if (!can_overwrite(schedule, node)) return std::nullopt;
  const Step& step = schedule.steps[index(node)];
  const Storage& output = schedule.storages[index(step.writes[0])];
  if (!owns_bytes(output) || !output.bytes) return std::nullopt;
  for (const std::int32_t read : step.reads) {
    const Storage& operand = schedule.storages[index(read)];
    const bool is_free = operand.place == StoragePlace::Device && !operand.is_input && !operand.is_output &&
                         !operand.is_held && lifetimes[index(read)].last == position;
    if (is_free && operand.bytes == output.bytes && operand.element_bits == output.element_bits) return read;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::int32_t> file_order(const Schedule& schedule) {
  std::vector<std::int32_t> order(schedule.steps.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

bool can_overwrite(const Schedule& schedule, std::int32_t node) {
  const Step& step = schedule.steps[index(node)];
  return step.writes.size() == 1 && step.is_pointwise;
}

Liveness liveness(const Schedule& schedule, std::span<const std::int32_t> order, bool in_place) {
  const std::size_t count = schedule.storages.size();
  const auto end = static_cast<std::int32_t>(order.size()) - 1;
  std::vector<std::int32_t> position(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) position[index(order[i])] = static_cast<std::int32_t>(i);

  Liveness live{.shares = std::vector<std::int32_t>(count), .lifetimes = std::vector<Lifetime>(count)};
  std::iota(live.shares.begin(), live.shares.end(), 0);
  for (std::size_t s = 0; s < count; ++s) {
    const Storage& storage = schedule.storages[s];
    Lifetime& life = live.lifetimes[s];
    life.first = storage.producer < 0 ? 0 : position[index(storage.producer)];
    life.last = storage.producer < 0 ? -1 : life.first;
    for (const std::int32_t reader : storage.readers) life.extend(position[index(reader)]);
    if (storage.is_output) life.extend(std::max(end, 0));
  }
  // A sequence comes after its members, so in reverse order its lifetime is final before theirs.
  for (std::size_t s = count; s-- > 0;)
    for (const std::int32_t member : schedule.storages[s].holds)
      live.lifetimes[index(member)].extend(live.lifetimes[s].last);
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const std::int32_t output : schedule.steps[index(order[i])].writes)
      if (const Storage& after = schedule.storages[index(output)]; after.is_in_place)
        live.shares[index(output)] = live.shares[index(after.continues)];
    if (!in_place) continue;
    const auto operand = overwritten(schedule, live.lifetimes, order[i], static_cast<std::int32_t>(i));
    if (!operand) continue;
    const std::int32_t output = schedule.steps[index(order[i])].writes[0];
    live.shares[index(output)] = live.shares[index(*operand)];
  }
  for (std::size_t s = 0; s < count; ++s) live.lifetimes[index(live.shares[s])].extend(live.lifetimes[s].last);
  return live;
}

StorageSizes sizes_of(const Schedule& schedule, const Bindings& bindings) {
  StorageSizes sizes;
  for (const Storage& storage : schedule.storages)
    sizes.storages.push_back(storage.bytes && !storage.is_of_weights ? size_at(*storage.bytes, bindings) : 0);
  for (const Step& step : schedule.steps) {
    Int& peak = sizes.bodies.emplace_back(0);
    if (!step.body_schedule) continue;
    const Schedule& body = *step.body_schedule;
    peak = peak_bytes(body, file_order(body), sizes_of(body, bindings), false);
  }
  return sizes;
}

bool has_unsized(const Schedule& schedule) {
  return std::any_of(schedule.storages.begin(), schedule.storages.end(), [](const Storage& s) { return !s.bytes; }) ||
         std::any_of(schedule.steps.begin(), schedule.steps.end(), [](const Step& step) {
           return step.has_body && (!step.body_schedule || has_unsized(*step.body_schedule));
         });
}

std::vector<Int> timeline(const Schedule& schedule, const Liveness& live, std::span<const std::int32_t> order,
                          const StorageSizes& sizes) {
  const std::vector<Int>& bytes = sizes.storages;
  std::vector<Int> change(order.size() + 1, 0);
  for (std::size_t s = 0; s < bytes.size(); ++s) {
    const Lifetime& life = live.lifetimes[s];
    if (!live.is_owner(s) || bytes[s] == 0) continue;
    change[index(life.first)] += bytes[s];
    change[index(std::min(life.last + 1, static_cast<std::int32_t>(order.size())))] -= bytes[s];
  }
  std::vector<Int> result(order.size());
  Int alive = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    alive += change[i];
    result[i] = alive;
    const Step& step = schedule.steps[index(order[i])];
    if (!step.has_body) continue;
    Int extra = sizes.bodies[index(order[i])];
    if (!step.body_on_top)
      for (const std::int32_t output : step.writes) extra -= bytes[index(output)];
    result[i] += std::max<Int>(extra, 0);
  }
  return result;
}

Int peak_bytes(const Schedule& schedule, std::span<const std::int32_t> order, const StorageSizes& sizes,
               bool in_place) {
  const std::vector<Int> alive = timeline(schedule, liveness(schedule, order, in_place), order, sizes);
  return alive.empty() ? Int{0} : *std::max_element(alive.begin(), alive.end());
}

namespace {

// Storages by step, as linked lists: a step has the first, each storage the next.
class ByStep {
 public:
  ByStep(std::size_t steps, std::size_t storages) : first_(steps + 1, -1), next_(storages, -1) {}
  void add(std::int32_t step, std::int32_t storage) {
    next_[index(storage)] = std::exchange(first_[index(step)], storage);
  }
  std::int32_t first(std::int32_t step) const { return first_[index(step)]; }
  std::int32_t next(std::int32_t storage) const { return next_[index(storage)]; }

 private:
  std::vector<std::int32_t> first_, next_;
};

}  // namespace

std::optional<Dim> peak_formula(const Schedule& schedule, const Liveness& live, std::span<const std::int32_t> order) {
  ByStep born(order.size(), schedule.storages.size()), dies = born;
  for (std::size_t s = 0; s < schedule.storages.size(); ++s) {
    const Lifetime& life = live.lifetimes[s];
    if (!live.is_owner(s) || !owns_bytes(schedule.storages[s])) continue;
    if (!schedule.storages[s].bytes) return std::nullopt;
    born.add(life.first, static_cast<std::int32_t>(s));
    dies.add(life.last, static_cast<std::int32_t>(s));
  }
  try {
    Dim alive = 0;
    Maxima peak;
    for (std::size_t i = 0; i <= order.size(); ++i) {
      const auto at = static_cast<std::int32_t>(i);
      for (std::int32_t s = born.first(at); s >= 0; s = born.next(s)) alive += *schedule.storages[index(s)].bytes;
      const Step* step = i < order.size() ? &schedule.steps[index(order[i])] : nullptr;
      // Without a birth, the previous or the next step has at least as much alive.
      if (born.first(at) >= 0) peak.add(alive);
      if (step != nullptr && step->has_body) {
        const std::optional<Dim> body = step->body_schedule ? activation_peak(*step->body_schedule) : std::nullopt;
        if (!body) return std::nullopt;
        Dim with_body = alive + *body;
        if (!step->body_on_top)
          for (const std::int32_t output : step->writes)
            with_body -= schedule.storages[index(output)].bytes.value_or(0);
        if (*body != Dim(0)) peak.add(with_body);
      }
      for (std::int32_t s = dies.first(at); s >= 0; s = dies.next(s)) alive -= *schedule.storages[index(s)].bytes;
    }
    return peak.max();
  } catch (const TooComplex&) {
    return std::nullopt;
  }
}

std::optional<Dim> activation_peak(const Schedule& schedule) {
  const std::vector<std::int32_t> order = file_order(schedule);
  return peak_formula(schedule, liveness(schedule, order, false), order);
}

}  // namespace pagoda::inline core

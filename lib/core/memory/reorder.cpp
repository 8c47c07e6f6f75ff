// Three list schedulers, each evaluated by the peak of the whole order, and a search around the peak of the best one
// (reorder_window.cpp). Any topological order is valid; the peak of an order is exact, only the choice is heuristic:
// finding the best order is NP-hard.
#include "memory/reorder.h"

#include <algorithm>
#include <queue>

#include "graph/index.h"

namespace pagoda::inline core {
namespace {

// Tracks the readers of each storage that have not run yet, as the order grows.
class Pressure {
 public:
  explicit Pressure(const OrderCost& cost)
      : cost_(cost), readers_left_(cost.schedule.storages.size()), is_done_(cost.schedule.steps.size()) {
    for (std::size_t s = 0; s < readers_left_.size(); ++s)
      readers_left_[s] = static_cast<std::int32_t>(cost.schedule.storages[s].readers.size());
  }

  auto left() const {
    return [this](std::int32_t storage) { return readers_left_[index(storage)]; };
  }
  bool is_done(std::int32_t node) const { return is_done_[index(node)]; }
  Int growth(std::int32_t node) const { return cost_.growth(node, left()); }
  Int rise(std::int32_t node) const { return cost_.rise(node, left()); }

  // Marks the node done. Calls `changed` for each node whose net growth changed.
  template <typename Changed>
  void run(std::int32_t node, const Changed& changed) {
    is_done_[index(node)] = true;
    for (const std::int32_t read : cost_.schedule.steps[index(node)].reads) {
      if (--readers_left_[index(read)] != 1) continue;
      for (const std::int32_t reader : cost_.schedule.storages[index(read)].readers)
        if (!is_done_[index(reader)]) changed(reader);
    }
  }

  void undo(std::int32_t node) {
    is_done_[index(node)] = false;
    for (const std::int32_t read : cost_.schedule.steps[index(node)].reads) ++readers_left_[index(read)];
  }

 private:
  const OrderCost& cost_;
  std::vector<std::int32_t> readers_left_;
  std::vector<bool> is_done_;
};

enum class Tie : std::uint8_t { FileOrder, Latest };

// Always runs the ready node that adds the fewest bytes.
std::vector<std::int32_t> greedy_order(const OrderCost& cost, const Precedence& precedence, Tie tie) {
  const std::size_t count = cost.schedule.steps.size();
  Pressure pressure(cost);
  std::vector<std::size_t> waits(count);
  std::vector<std::int32_t> ready_since(count, -1);
  using Entry = std::tuple<Int, std::int32_t, std::int32_t>;  // growth, tie, node
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::vector<std::int32_t> order;
  const auto push = [&](std::int32_t node) {
    queue.emplace(pressure.growth(node), tie == Tie::FileOrder ? node : -ready_since[index(node)], node);
  };
  const auto make_ready = [&](std::int32_t node) {
    ready_since[index(node)] = static_cast<std::int32_t>(order.size());
    push(node);
  };
  for (std::size_t i = 0; i < count; ++i) waits[i] = precedence.before[i].size();
  for (std::size_t i = 0; i < count; ++i)
    if (waits[i] == 0) make_ready(static_cast<std::int32_t>(i));
  while (!queue.empty()) {
    const auto [growth, key, node] = queue.top();
    queue.pop();
    if (pressure.is_done(node) || growth != pressure.growth(node)) continue;
    order.push_back(node);
    pressure.run(node, [&](std::int32_t other) {
      if (ready_since[index(other)] >= 0) push(other);
    });
    for (const std::int32_t next : precedence.after[index(node)])
      if (--waits[index(next)] == 0) make_ready(next);
  }
  return order;
}

// Runs each chain up to a point where little is alive. For independent chains the best order is known (Liu 1987): first
// the segments that end with no more bytes alive than at their start, lowest hill first, then the others by the height
// of the hill above their end, highest first. Here a segment is only the next few steps from a ready node, so the order
// is heuristic.
class HillOrder {
 public:
  HillOrder(const OrderCost& cost, const Precedence& precedence)
      : precedence_(precedence), pressure_(cost), waits_(precedence.before.size()) {
    for (std::size_t i = 0; i < waits_.size(); ++i) waits_[i] = precedence.before[i].size();
  }

  std::vector<std::int32_t> run() {
    for (std::size_t i = 0; i < waits_.size(); ++i)
      if (waits_[i] == 0) ready_.push_back(static_cast<std::int32_t>(i));
    while (!ready_.empty()) {
      std::optional<Segment> best;
      // The latest ready nodes use tensors that are alive; when many nodes are ready, most begin independent chains.
      const std::size_t looks = work_ < kMaxWork ? kMaxReady : 1;
      const std::size_t first = ready_.size() > looks ? ready_.size() - looks : 0;
      for (std::size_t i = ready_.size(); i-- > first;) {
        Segment segment = look_ahead(ready_[i]);
        if (!best || is_before(segment, *best)) best = std::move(segment);
        if (best->end <= 0 && best->hill <= 0) break;  // costs nothing: no need to look further
      }
      for (const std::int32_t node : best->nodes) commit(node);
    }
    return std::move(order_);
  }

 private:
  struct Segment {
    Int hill = 0;  // above the bytes alive before
    Int end = 0;
    std::vector<std::int32_t> nodes;
  };

  static bool is_before(const Segment& a, const Segment& b) {
    if ((a.end <= 0) != (b.end <= 0)) return a.end <= 0;
    if (a.end <= 0) return std::pair(a.hill, a.end) < std::pair(b.hill, b.end);
    return a.hill - a.end > b.hill - b.end;
  }

  // Simulates a run from a ready node through nodes that become ready by it, least growth first, then undoes it.
  Segment look_ahead(std::int32_t start) {
    std::vector<std::int32_t> ran, open = {start};
    std::vector<Int> hills, ends;
    Int alive = 0, hill = 0;
    const std::size_t limit = work_ < kMaxWork ? kMaxSteps : 1;
    while (!open.empty() && ran.size() < limit) {
      const auto least = std::min_element(open.begin(), open.end(), [&](std::int32_t a, std::int32_t b) {
        return std::pair(pressure_.growth(a), a) < std::pair(pressure_.growth(b), b);
      });
      const std::int32_t node = *least;
      open.erase(least);
      hill = std::max(hill, alive + pressure_.rise(node));
      alive += pressure_.growth(node);
      hills.push_back(hill);
      ends.push_back(alive);
      ran.push_back(node);
      pressure_.run(node, [](std::int32_t) {});
      for (const std::int32_t next : precedence_.after[index(node)])
        if (--waits_[index(next)] == 0) open.push_back(next);
      work_ += 1 + open.size();
      if (alive <= 0) break;
    }
    for (std::size_t i = ran.size(); i-- > 0;) {
      pressure_.undo(ran[i]);
      for (const std::int32_t next : precedence_.after[index(ran[i])]) ++waits_[index(next)];
    }
    // Cuts where the fewest bytes are alive after the highest hill.
    std::size_t cut = ran.size() - 1;
    for (std::size_t i = ran.size(); i-- > 0 && hills[i] == hill;)
      if (ends[i] <= ends[cut]) cut = i;
    ran.resize(cut + 1);
    return {hills[cut], ends[cut], std::move(ran)};
  }

  void commit(std::int32_t node) {
    ready_.erase(std::prev(std::find(ready_.rbegin(), ready_.rend(), node).base()));  // one of the latest
    order_.push_back(node);
    pressure_.run(node, [](std::int32_t) {});
    for (const std::int32_t next : precedence_.after[index(node)])
      if (--waits_[index(next)] == 0) ready_.push_back(next);
  }

  static constexpr std::size_t kMaxReady = 32;
  static constexpr std::size_t kMaxSteps = 48;
  static constexpr std::size_t kMaxWork = 2'000'000;  // total steps of look-ahead; after that, one per segment

  const Precedence& precedence_;
  Pressure pressure_;
  std::vector<std::size_t> waits_;
  std::vector<std::int32_t> ready_, order_;
  std::size_t work_ = 0;
};

}  // namespace

Precedence precedence_of(const Model& model) {
  const Graph& graph = model.main();
  Precedence result{.before = std::vector<std::vector<std::int32_t>>(graph.nodes.size()),
                    .after = std::vector<std::vector<std::int32_t>>(graph.nodes.size())};
  const std::vector<std::int32_t> producer = producers_of(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    std::vector<std::int32_t>& before = result.before[i];
    const auto wait_for = [&](ValueId value) {
      if (value != kAbsent && producer[index(value)] >= 0) before.push_back(producer[index(value)]);
    };
    for (const ValueId input : graph.nodes[i].inputs) wait_for(input);
    for (const GraphId body : graph.nodes[i].bodies())
      for (const Value& value : model.graphs[index(body)].values) wait_for(value.outer);
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    for (const std::int32_t source : before) result.after[index(source)].push_back(static_cast<std::int32_t>(i));
  }
  return result;
}

bool is_topological(const Model& model, std::span<const std::int32_t> order) {
  const Precedence precedence = precedence_of(model);
  std::vector<std::int32_t> position(precedence.before.size(), -1);
  if (order.size() != position.size()) return false;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] < 0 || index(order[i]) >= position.size() || position[index(order[i])] >= 0) return false;
    position[index(order[i])] = static_cast<std::int32_t>(i);
  }
  for (std::size_t node = 0; node < position.size(); ++node)
    for (const std::int32_t source : precedence.before[node])
      if (position[index(source)] > position[node]) return false;
  return true;
}

std::optional<std::vector<std::int32_t>> better_order(const Model& model, const OrderCost& cost) {
  const Precedence precedence = precedence_of(model);
  Int best = cost.peak(file_order(cost.schedule));
  std::optional<std::vector<std::int32_t>> found;
  const auto consider = [&](std::vector<std::int32_t> order) {
    if (order.size() != cost.schedule.steps.size()) return;
    const Int peak = cost.peak(order);
    if (peak >= best) return;
    best = peak;
    found = std::move(order);
  };
  consider(greedy_order(cost, precedence, Tie::FileOrder));
  consider(greedy_order(cost, precedence, Tie::Latest));
  consider(HillOrder(cost, precedence).run());
  consider(lower_peaks(cost, precedence, found ? *found : file_order(cost.schedule)));
  return found;
}

}  // namespace pagoda::inline core

// Three list schedulers, each evaluated by the peak of the whole order, and a search around the peak of the best one.
// Any topological order is valid; the peak of an order is exact, only the choice is heuristic: finding the best order
// is NP-hard.
#include "memory/reorder.h"

#include <algorithm>
#include <bitset>
#include <queue>
#include <unordered_map>

#include "graph/index.h"

namespace pagoda::inline core {
namespace {

// The cost of an order.
struct OrderCost {
  const Schedule& schedule;
  const StorageSizes& sizes;
  bool in_place = false;  // operands may be overwritten

  Int peak(std::span<const std::int32_t> order) const { return peak_bytes(schedule, order, sizes, in_place); }

  // growth(): additional bytes alive after the node has run; rise(): while it runs. `left` gives the number of readers
  // of a storage that have not run yet, including this node.
  template <typename Left>
  Int growth(std::int32_t node, const Left& left) const {
    Int growth = 0;
    const Step& step = schedule.steps[index(node)];
    for (const std::int32_t written : step.writes) {
      const Storage& s = schedule.storages[index(written)];
      const bool is_needed = s.is_output || s.is_held || !s.readers.empty();
      if (s.is_in_place || is_needed)  // what continues another storage is not freed below
        growth += sizes.storages[index(s.is_in_place ? s.continues : written)];
    }
    for (const std::int32_t read : step.reads)
      if (sizes.storages[index(read)] != 0 && ends_with(read, left)) growth -= sizes.storages[index(read)];
    return growth;
  }
  template <typename Left>
  Int rise(std::int32_t node, const Left& left) const {
    Int rise = 0;
    const Step& step = schedule.steps[index(node)];
    for (const std::int32_t written : step.writes)
      if (!schedule.storages[index(written)].is_in_place) rise += sizes.storages[index(written)];
    if (step.has_body) {
      const Int body = sizes.bodies[index(node)];
      return step.body_on_top ? rise + body : std::max(rise, body);
    }
    if (in_place && rise != 0 && can_overwrite(schedule, node))
      for (const std::int32_t read : step.reads)
        if (sizes.storages[index(read)] == rise && !schedule.storages[index(read)].is_input && ends_with(read, left))
          return 0;
    return rise;
  }

 private:
  template <typename Left>
  bool ends_with(std::int32_t storage, const Left& left) const {
    const Storage& s = schedule.storages[index(storage)];
    return !s.is_output && !s.is_held && left(storage) == 1;
  }
};

// Dependencies between nodes.
struct Precedence {
  std::vector<std::vector<std::int32_t>> before, after;  // by node, each once
};

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

// --- the search around the peak ---

constexpr std::size_t kMaxWindow = 384;  // nodes, views and host arithmetic included
constexpr std::size_t kMaxWeighty = 28;  // nodes that change the bytes alive
constexpr std::size_t kWidth = 96;       // sets kept per step
constexpr int kMaxRounds = 24;           // windows tried

using Members = std::bitset<kMaxWindow>;

struct State {
  Members ran;
  Int alive = 0;  // relative to the beginning of the window
  Int peak = 0;
  std::int32_t from = -1;           // preceding state
  std::vector<std::int32_t> nodes;  // run since then, by index in the window
};

// Searches the orders of a few dozen nodes around the step at which an order peaks: at each step it keeps all sets of
// nodes that can have run, each with the lowest peak that leads there; of more than kWidth sets, the best ones.
class WindowSearch {
 public:
  WindowSearch(const OrderCost& cost, const Precedence& precedence, std::span<const std::int32_t> order,
               std::size_t begin, std::size_t end)
      : cost_(cost), precedence_(precedence), window_(order.subspan(begin, end - begin)), position_(order.size()) {
    for (std::size_t i = 0; i < order.size(); ++i)
      position_[index(order[i])] = static_cast<std::int32_t>(i) - static_cast<std::int32_t>(begin);
    for (const std::int32_t node : window_)
      for (const std::int32_t read : cost.schedule.steps[index(node)].reads) {
        const auto [at, is_new] = readers_.try_emplace(read);
        if (!is_new) continue;
        for (const std::int32_t reader : cost.schedule.storages[index(read)].readers) {
          const std::int32_t place = position_[index(reader)];
          if (place >= 0 && index(place) < window_.size()) at->second.places.push_back(index(place));
          at->second.is_read_behind = at->second.is_read_behind || (place >= 0 && index(place) >= window_.size());
        }
      }
  }

  // The nodes of the window in a better order; empty if none was found.
  std::vector<std::int32_t> run() {
    State start;
    const Int peak_now = peak_as_given();
    settle(start);
    states_.push_back(std::move(start));
    std::vector<std::int32_t> front = {0};
    note_if_done(0);
    while (!front.empty()) front = advance(front, peak_now);
    if (done_ < 0 || states_[index(done_)].peak >= peak_now) return {};
    std::vector<std::int32_t> places;
    for (std::int32_t at = done_; at >= 0; at = states_[index(at)].from)
      places.insert(places.begin(), states_[index(at)].nodes.begin(), states_[index(at)].nodes.end());
    std::vector<std::int32_t> result;
    result.reserve(places.size());
    for (const std::int32_t place : places) result.push_back(window_[index(place)]);
    return result;
  }

 private:
  bool has_run(const State& state, std::int32_t node) const {
    const std::int32_t place = position_[index(node)];
    return place < 0 || (index(place) < window_.size() && state.ran[index(place)]);
  }

  auto left_in(const State& state) const {
    return [&](std::int32_t storage) {
      const Readers& readers = readers_.at(storage);
      int left = readers.is_read_behind ? 1 : 0;
      for (const std::size_t place : readers.places) left += state.ran[place] ? 0 : 1;
      return left;
    };
  }

  bool is_ready(const State& state, std::size_t place) const {
    if (state.ran[place]) return false;
    const auto& before = precedence_.before[index(window_[place])];
    return std::all_of(before.begin(), before.end(), [&](std::int32_t node) { return has_run(state, node); });
  }

  void execute(State& state, std::size_t place) const {
    const std::int32_t node = window_[place];
    state.peak = std::max(state.peak, state.alive + cost_.rise(node, left_in(state)));
    state.alive += cost_.growth(node, left_in(state));
    state.ran.set(place);
    state.nodes.push_back(static_cast<std::int32_t>(place));
  }

  // Runs every node that needs no extra memory: that can only help.
  void settle(State& state) const {
    for (bool again = true; again;) {
      again = false;
      for (std::size_t place = 0; place < window_.size(); ++place) {
        if (!is_ready(state, place)) continue;
        const std::int32_t node = window_[place];
        if (cost_.rise(node, left_in(state)) != 0 || cost_.growth(node, left_in(state)) > 0) continue;
        execute(state, place);
        again = true;
      }
    }
  }

  Int peak_as_given() const {
    State state;
    for (std::size_t place = 0; place < window_.size(); ++place) execute(state, place);
    return state.peak;
  }

  // Whether the whole window has run; keeps the best such state.
  bool note_if_done(std::int32_t id) {
    const State& state = states_[index(id)];
    if (state.ran.count() != window_.size()) return false;
    if (done_ < 0 || state.peak < states_[index(done_)].peak) done_ = id;
    return true;
  }

  // Extends every state of the front by one node. Drops states whose peak reaches that of the given order.
  std::vector<std::int32_t> advance(const std::vector<std::int32_t>& front, Int peak_now) {
    std::unordered_map<Members, std::int32_t> seen;
    std::vector<std::int32_t> next;
    for (const std::int32_t id : front) {
      for (std::size_t place = 0; place < window_.size(); ++place) {
        if (!is_ready(states_[index(id)], place)) continue;
        State state = states_[index(id)];
        state.from = id;
        state.nodes.clear();
        execute(state, place);
        if (state.peak >= peak_now) continue;
        settle(state);
        if (state.peak >= peak_now) continue;
        const auto [at, is_new] = seen.emplace(state.ran, static_cast<std::int32_t>(states_.size()));
        if (!is_new) {
          State& other = states_[index(at->second)];
          if (state.peak < other.peak) {
            other = std::move(state);
            note_if_done(at->second);
          }
          continue;
        }
        states_.push_back(std::move(state));
        if (!note_if_done(at->second)) next.push_back(at->second);
      }
    }
    if (next.size() > kWidth) {
      std::nth_element(next.begin(), next.begin() + kWidth, next.end(), [&](std::int32_t a, std::int32_t b) {
        const State& x = states_[index(a)];
        const State& y = states_[index(b)];
        return std::tuple(x.peak, x.alive, a) < std::tuple(y.peak, y.alive, b);
      });
      next.resize(kWidth);
    }
    return next;
  }

  // The readers of a storage: nodes of the window, by index, and nodes that run after it.
  struct Readers {
    std::vector<std::size_t> places;
    bool is_read_behind = false;
  };

  const OrderCost& cost_;
  const Precedence& precedence_;
  std::span<const std::int32_t> window_;
  std::unordered_map<std::int32_t, Readers> readers_;  // by storage that the window reads
  std::vector<std::int32_t> position_;                 // of each node relative to the window
  std::vector<State> states_;
  std::int32_t done_ = -1;
};

// As many nodes on both sides of the peak as the search can handle.
std::pair<std::size_t, std::size_t> window_around(const OrderCost& cost, std::span<const std::int32_t> order,
                                                  std::size_t peak) {
  const auto is_weighty = [&](std::size_t at) {
    const Step& step = cost.schedule.steps[index(order[at])];
    return std::any_of(step.writes.begin(), step.writes.end(),
                       [&](std::int32_t s) { return cost.sizes.storages[index(s)] != 0; });
  };
  std::size_t begin = peak, end = peak + 1, weighty = 1;
  while (weighty < kMaxWeighty && end - begin + 1 < kMaxWindow && (begin > 0 || end < order.size())) {
    // Two nodes before the peak for each one after: tensors alive at the peak were produced before it.
    const bool goes_back = end == order.size() || (begin > 0 && end - peak > (peak - begin) / 2);
    weighty += is_weighty(goes_back ? --begin : end++) ? 1 : 0;
  }
  return {begin, end};
}

// Reorders the nodes around each peak of the order, as long as that lowers the peak.
std::vector<std::int32_t> lower_peaks(const OrderCost& cost, const Precedence& precedence,
                                      std::vector<std::int32_t> order) {
  for (int round = 0; round < kMaxRounds; ++round) {
    const std::vector<Int> alive =
        timeline(cost.schedule, liveness(cost.schedule, order, cost.in_place), order, cost.sizes);
    if (alive.empty()) break;
    const auto peak = static_cast<std::size_t>(std::max_element(alive.begin(), alive.end()) - alive.begin());
    const auto [begin, end] = window_around(cost, order, peak);
    const std::vector<std::int32_t> better = WindowSearch(cost, precedence, order, begin, end).run();
    if (better.empty()) break;
    std::copy(better.begin(), better.end(), order.begin() + static_cast<std::ptrdiff_t>(begin));
  }
  return order;
}

}  // namespace

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

std::optional<std::vector<std::int32_t>> better_order(const Model& model, const Schedule& schedule,
                                                      const StorageSizes& sizes, bool in_place) {
  const OrderCost cost{schedule, sizes, in_place};
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

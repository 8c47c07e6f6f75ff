// Searches the orders of a few dozen nodes around the step at which an order peaks: at each step it keeps all sets of
// nodes that can have run, each with the lowest peak that leads there; of more than kWidth sets, the best ones.
#include <bitset>
#include <unordered_map>

#include "graph/index.h"
#include "memory/reorder.h"

namespace pagoda::inline core {
namespace {

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

  // The nodes of the window in a better order; empty when there is none.
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

  // Runs one more node from every state of the front; drops states that are no better than the given order.
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

}  // namespace

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

}  // namespace pagoda::inline core

// Joins layers that TensorRT names by their ends alone: {ForeignNode[first...last]}.
//
// An end is the first or last layer of the fused part in an order of execution. It may be a node, a stored tensor (also
// a layer of TensorRT's network), or a layer that the model does not have. Every such name implies:
//
// * The layer runs as one unit, so a row on a path between two of its rows is also its row.
// * A stored tensor or an input stands for a row that reads it. With several readers it is one of them.
// * No row of the layer feeds a node that is its first end, and none reads from a node that is its last end.
// * A row that, by the order of kernels and the data flow, no other kernel can have run is its row.
//
// A layer gets the rows that follow from this. It gets none if an end is unknown, or if rows between its ends are not
// known: those that are known would then seem to take all of its time.
#include <algorithm>
#include <map>

#include "import/engine_names.h"
#include "join/join_state.h"

namespace pagoda::measured {
namespace {

using Rows = std::vector<std::size_t>;
using Marks = std::vector<bool>;  // by row

constexpr std::string_view kUnknownEnd = "one end of the range is not in the model";
constexpr std::string_view kOpenEnd = "the tensor at an end of the range is read in several places";
constexpr std::string_view kShared = "its nodes are in another layer, too";
constexpr std::string_view kNoPath = "rows between the ends of the range are not known";

// A tensor with more readers, such as a scalar, does not show where a range begins.
constexpr std::size_t kMostChoices = 64;

struct End {
  std::vector<Rows> choices;  // the rows of one of them are the end; empty: unknown
  bool is_node = false;       // the only choice is the end itself, not readers of a tensor
};

struct Layer {
  Rows kernels;  // ascending
  End first, last;
  Marks has;    // its rows
  Marks never;  // rows that its ends exclude
  bool is_named() const { return first.is_node && last.is_node; }
  bool has_both_ends() const { return !first.choices.empty() && !last.choices.empty(); }
};

class RangeJoin {
 public:
  explicit RangeJoin(JoinState& state) : state_(state), after_(count()), before_(count()) {
    for (std::size_t row = 0; row < count(); ++row)
      for (const std::size_t reader : state_.after(row)) {
        if (is_fixed(row) || is_fixed(reader)) continue;
        after_[row].push_back(reader);
        before_[reader].push_back(row);
      }
  }

  void run() {
    collect();
    if (layers_.empty()) return;
    claim();
    while (assign_the_only_choice()) {
    }
    for (Layer& layer : layers_)
      if (const std::string_view cause = fault(layer); !cause.empty())
        for (const std::size_t kernel : layer.kernels) state_.withhold(kernel, cause);
    // Other rules must not assign rows that a range may have.
    const std::vector<Window> when = windows(state_);
    for (std::size_t row = 0; row < count(); ++row)
      if (std::ranges::any_of(layers_, [&](const Layer& layer) { return may_have(layer, row, when[row]); }))
        state_.is_withheld[row] = true;
  }

 private:
  std::size_t count() const { return state_.estimate.nodes.size(); }
  // Computed before the first run, so no kernel waits for it.
  bool is_fixed(std::size_t row) const {
    return state_.row(row).mark == Mark::Folded || state_.row(row).mark == Mark::Host;
  }

  // The layers of the kernels' own names and of the ranges around them.
  void collect() {
    std::map<std::string, std::size_t> known;
    for (std::size_t i = 0; i < state_.measured.kernels.size(); ++i) {
      if (state_.is_joined(i)) continue;
      const std::string name = range_of(state_.kernel(i));
      if (name.empty()) continue;
      const auto [place, is_new] = known.emplace(name, layers_.size());
      if (is_new) layers_.push_back(layer_of(*import::node_range(name)));
      layers_[place->second].kernels.push_back(i);
    }
    // A node at an end is of this layer, even if the layer's other rows are not known.
    for (const Layer& layer : layers_)
      if (!layer.has_both_ends())
        for (const End* end : {&layer.first, &layer.last})
          if (end->is_node)
            for (const std::size_t row : end->choices[0]) state_.is_withheld[row] = true;
  }

  static std::string range_of(const documents::MeasuredKernel& kernel) {
    for (const std::string& part : kernel.nodes)
      if (import::node_range(part)) return part;
    const std::size_t begin = kernel.nvtx.rfind(import::kRange), end = kernel.nvtx.rfind(import::kRangeEnd);
    if (begin == std::string::npos || end == std::string::npos || end < begin) return "";
    return kernel.nvtx.substr(begin, end + import::kRangeEnd.size() - begin);
  }

  Layer layer_of(const std::pair<std::string, std::string>& ends) const {
    Layer layer{{}, end_of(ends.first), end_of(ends.second), Marks(count()), Marks(count())};
    if (layer.first.is_node) exclude(layer.never, layer.first.choices[0], before_);
    if (layer.last.is_node) exclude(layer.never, layer.last.choices[0], after_);
    return layer;
  }

  // An end may be fused of several parts, of which TensorRT's own have no row: "/a/Add + (Unnamed Layer* 3) [Shuffle]".
  End end_of(const std::string& name) const {
    Rows nodes, readers;
    bool is_unique = true;
    for (const std::string& part : import::name_parts(name)) {
      const Rows found = resolve(state_, part).rows;
      is_unique &= found.size() < 2;
      for (const std::size_t row : found) {
        if (is_fixed(row))
          append_readers(row, readers);
        else
          nodes.push_back(row);
      }
      if (found.empty()) append_readers(part, readers);
    }
    End end;
    end.is_node = !nodes.empty() && is_unique;
    if (end.is_node) {
      end.choices.push_back(nodes);
      return end;
    }
    // Nodes of one name are choices, as readers are.
    if (!nodes.empty()) readers = nodes;
    std::ranges::sort(readers);
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    for (const std::size_t row : readers) end.choices.push_back({row});
    return end;
  }

  // The first rows that run and read the tensor, also through rows that are computed before the first run.
  void append_readers(const std::string& tensor, Rows& rows) const {
    for (std::optional<std::string> now(tensor); now; now = import::undecorated(*now)) {
      const Rows& found = state_.reading(*now);
      for (const std::size_t reader : found) append_running(reader, rows);
      if (!found.empty()) return;
    }
  }
  void append_readers(std::size_t fixed, Rows& rows) const {
    for (const std::size_t reader : state_.after(fixed)) append_running(reader, rows);
  }
  void append_running(std::size_t from, Rows& rows) const {
    const auto through = [&](std::size_t row) { return is_fixed(row) ? state_.after(row) : Rows(); };
    for (const std::size_t row : reachable({from}, through))
      if (!is_fixed(row)) rows.push_back(row);
  }

  static Marks reached(const Rows& from, const std::vector<Rows>& step) {
    Marks seen(step.size());
    Rows work = from;
    for (const std::size_t row : from) seen[row] = true;
    while (!work.empty()) {
      const std::size_t row = work.back();
      work.pop_back();
      for (const std::size_t next : step[row])
        if (!seen[next]) {
          seen[next] = true;
          work.push_back(next);
        }
    }
    return seen;
  }

  static void exclude(Marks& never, const Rows& end, const std::vector<Rows>& step) {
    const Marks far = reached(end, step);
    for (std::size_t row = 0; row < far.size(); ++row)
      if (far[row] && std::ranges::find(end, row) == end.end()) never[row] = true;
  }

  // Rows that the layer has, whichever of the choices its ends are: the ends and what lies on paths between them.
  Marks certain(const Layer& layer) const {
    Marks common(count(), true);
    if (layer.first.choices.size() > kMostChoices || layer.last.choices.size() > kMostChoices) return Marks(count());
    std::vector<Marks> up;
    for (const Rows& last : layer.last.choices) up.push_back(reached(last, before_));
    for (const Rows& first : layer.first.choices) {
      const Marks down = reached(first, after_);
      for (std::size_t i = 0; i < up.size(); ++i) {
        Marks here(count());
        for (std::size_t row = 0; row < count(); ++row) here[row] = down[row] && up[i][row];
        for (const Rows& end : {first, layer.last.choices[i]})
          for (const std::size_t row : end) here[row] = true;
        for (std::size_t row = 0; row < count(); ++row) common[row] = common[row] && here[row];
      }
    }
    return common;
  }

  // Gives each layer its certain rows, except those that another kernel names or two layers claim. A layer that is
  // named by two nodes goes before one that is named by a tensor.
  void claim() {
    std::vector<std::size_t> claims(count(), 0), named(count(), 0);
    for (Layer& layer : layers_) {
      if (!layer.has_both_ends()) continue;
      layer.has = certain(layer);
      for (std::size_t row = 0; row < count(); ++row) (layer.is_named() ? named : claims)[row] += layer.has[row];
    }
    for (Layer& layer : layers_) {
      Rows rows;
      for (std::size_t row = 0; row < count(); ++row) {
        const bool is_only = layer.is_named() ? named[row] == 1 : named[row] == 0 && claims[row] == 1;
        layer.has[row] = layer.has[row] && is_only && !state_.is_taken(row);
        if (layer.has[row]) rows.push_back(row);
      }
      if (!rows.empty())
        for (const std::size_t kernel : layer.kernels) state_.take(kernel, rows, "range");
    }
  }

  bool may_have(const Layer& layer, std::size_t row, const Window& window) const {
    return !layer.never[row] && layer.kernels.back() >= window.begin && layer.kernels.front() <= window.end;
  }

  // Gives each silent row that only one kernel can have run to that kernel's layer. Returns whether there was any.
  bool assign_the_only_choice() {
    const std::vector<Window> when = windows(state_);
    Rows unnamed;
    for (std::size_t i = 0; i < state_.measured.kernels.size(); ++i)
      if (state_.is_unplaced(i) && range_of(state_.kernel(i)).empty()) unnamed.push_back(i);
    bool has_assigned = false;
    for (std::size_t row = 0; row < count(); ++row) {
      if (!state_.is_silent(row)) continue;
      const auto other = std::ranges::lower_bound(unnamed, when[row].begin);
      if (other != unnamed.end() && *other <= when[row].end) continue;
      Layer* only = nullptr;
      std::size_t choices = 0;
      for (Layer& layer : layers_)
        if (may_have(layer, row, when[row])) {
          only = &layer;
          ++choices;
        }
      if (choices != 1 || !only->has_both_ends()) continue;
      only->has[row] = has_assigned = true;
      for (const std::size_t kernel : only->kernels) state_.absorb(kernel, {row});
    }
    return has_assigned;
  }

  // Why the layer's rows are not all known; empty if they are.
  std::string_view fault(const Layer& layer) const {
    if (!layer.has_both_ends()) return kUnknownEnd;
    const auto is_in = [&](const Rows& rows) {
      return std::ranges::all_of(rows, [&](std::size_t row) { return layer.has[row]; });
    };
    for (const End* end : {&layer.first, &layer.last})
      if (std::ranges::none_of(end->choices, is_in)) return end->choices.size() == 1 ? kShared : kOpenEnd;
    if (!is_connected(layer)) return kNoPath;
    if ((!layer.first.is_node || !layer.last.is_node) && may_go_on(layer)) return kOpenEnd;
    return "";
  }

  // Whether data flow connects the layer's rows, also by way of rows that run nothing, or by a result that rows share.
  bool is_connected(const Layer& layer) const {
    const auto passes = [&](std::size_t row) { return layer.has[row] || !state_.is_work(row); };
    const auto around = [&](std::size_t row) {
      Rows next = after_[row];
      for (const std::size_t before : before_[row]) {
        next.push_back(before);
        if (layer.has[row]) next.insert(next.end(), after_[before].begin(), after_[before].end());
      }
      std::erase_if(next, [&](std::size_t each) { return !passes(each); });
      return next;
    };
    const auto begin = std::ranges::find(layer.has, true);
    if (begin == layer.has.end()) return false;
    const auto seen = reachable({static_cast<std::size_t>(begin - layer.has.begin())}, around);
    for (std::size_t row = 0; row < count(); ++row)
      if (layer.has[row] && !seen.contains(row)) return false;
    return true;
  }

  // Whether rows next to the layer's may be its rows, too.
  bool may_go_on(const Layer& layer) const {
    const std::vector<Window> when = windows(state_);
    for (std::size_t row = 0; row < count(); ++row) {
      if (!state_.is_silent(row) || !may_have(layer, row, when[row])) continue;
      for (const std::vector<Rows>* step : {&before_, &after_})
        if (std::ranges::any_of((*step)[row], [&](std::size_t next) { return layer.has[next]; })) return true;
    }
    return false;
  }

  JoinState& state_;
  std::vector<Rows> after_, before_;  // by row; without rows that are computed before the first run
  std::vector<Layer> layers_;
};

}  // namespace

std::vector<Window> windows(const JoinState& state) {
  const std::size_t count = state.estimate.nodes.size(), kernels = state.measured.kernels.size();
  std::vector<Window> result(count, {0, kernels});
  // Rows are in order of execution: producers before readers.
  for (std::size_t row = 0; row < count; ++row)
    for (const std::size_t before : state.before(row)) {
      if (before >= row || state.row(before).mark == Mark::Host || state.row(before).mark == Mark::Folded) continue;
      std::size_t begin = result[before].begin;
      if (state.is_taken(before)) begin = std::max(begin, std::ranges::min(state.kernels_of[before]));
      result[row].begin = std::max(result[row].begin, begin);
    }
  for (std::size_t row = count; row-- > 0;)
    for (const std::size_t after : state.after(row)) {
      if (after <= row || state.row(after).mark == Mark::Host || state.row(after).mark == Mark::Folded) continue;
      std::size_t end = result[after].end;
      if (state.is_taken(after)) end = std::min(end, std::ranges::max(state.kernels_of[after]));
      result[row].end = std::min(result[row].end, end);
    }
  return result;
}

void join_ranges(JoinState& state) { RangeJoin(state).run(); }

}  // namespace pagoda::measured

// A step runs the nodes 0 … n − 1, the loss, and the backward of n − 1 … 0: positions 0 … 2n. Whatever holds bytes
// is an item: the storages of the forward schedule, what forward keeps besides its values (statistics), and gradients.
//
// An item that backward needs is kept from forward, or computed again when the first backward that needs it runs: its
// producer runs again, on items that are kept or have been computed again by then.
#include <algorithm>
#include <set>

#include "graph/index.h"
#include "memory/liveness.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "train/flow.h"

namespace pagoda::inline core::train_rules {
namespace {

struct Item {
  std::int32_t producer = -1;
  std::optional<Dim> bytes = {};
  Lifetime forward = {};     // while forward runs and, if it is kept, until backward is done with it
  Lifetime again = {};       // computed again
  bool is_kept = false;      // it is kept if it is needed
  bool is_needed = false;    // by some backward, or to compute something again
  std::int32_t reader = -1;  // the first node to run again that reads it; −1 if none does
};

class StepMemory {
 public:
  StepMemory(const Analysis& analysis, const TrainingOptions& options, Schedule& schedule, Flow& flow,
             TrainingMemory& result)
      : analysis_(analysis),
        options_(options),
        schedule_(schedule),
        flow_(flow),
        result_(result),
        nodes_(static_cast<std::int32_t>(schedule.steps.size())) {}

  void run() {
    add_items();
    collect_needs();
    choose_kept();
    for (std::int32_t node = nodes_; node-- > 0;)
      for (const Need& need : needs_[index(node)]) require(need.item, backward_of(node));
    charge();
    add_gradients();
    result_.activation_peak_bytes = peak();
  }

 private:
  struct Need {
    std::int32_t item = -1;
    SavedTensor tensor = {};
  };

  std::int32_t backward_of(std::int32_t node) const { return 2 * nodes_ - node; }
  bool is_on_device(std::int32_t storage) const {
    return storage >= 0 && schedule_.storages[index(storage)].place == StoragePlace::Device;
  }

  void add_items() {
    for (const Storage& storage : schedule_.storages) {
      Item item{.producer = storage.producer, .bytes = storage.bytes};
      if (storage.place == StoragePlace::Device) {
        item.forward = {std::max(storage.producer, 0), storage.producer};
        for (const std::int32_t reader : storage.readers) item.forward.extend(reader);
        if (storage.is_output) item.forward.extend(nodes_);
      }
      items_.push_back(std::move(item));
    }
    for (std::size_t s = items_.size(); s-- > 0;)  // a sequence's members live as long as it does
      for (const std::int32_t member : schedule_.storages[s].holds)
        items_[index(member)].forward.extend(items_[s].forward.last);
  }

  void collect_needs() {
    needs_.resize(index(nodes_));
    statistics_.resize(index(nodes_));
    for (std::int32_t node = 0; node < nodes_; ++node) {
      const NodeBackward& backward = flow_.nodes[index(node)];
      for (const Statistic& statistic : backward.statistics) {
        statistics_[index(node)].push_back(static_cast<std::int32_t>(items_.size()));
        items_.push_back({.producer = node, .bytes = statistic.bytes, .forward = {node, node}, .again = {}});
      }
      std::set<std::int32_t> seen;
      for (const Gradient& gradient : backward.gradients)
        for (const Read& read : gradient.reads) add_need(node, read, seen);
    }
  }

  void add_need(std::int32_t node, const Read& read, std::set<std::int32_t>& seen) {
    const Node& of = schedule_.graph->nodes[index(node)];
    Need need;
    SavedTensor& tensor = need.tensor;
    switch (read.source) {
      case Source::Statistic:
        need.item = statistics_[index(node)][index(read.index)];
        tensor.kind = SavedKind::Statistic;
        tensor.what = flow_.nodes[index(node)].statistics[index(read.index)].what;
        break;
      case Source::Input:
      case Source::Output:
        tensor.kind = read.source == Source::Input ? SavedKind::Input : SavedKind::Output;
        tensor.value = (read.source == Source::Input ? of.inputs : of.outputs)[index(read.index)];
        need.item = tensor.value == kAbsent ? -1 : schedule_.storage_of[index(tensor.value)];
        if (!is_on_device(need.item)) return;
        tensor.what = schedule_.graph->value(tensor.value).name;
        break;
    }
    if (seen.insert(need.item).second) needs_[index(node)].push_back(std::move(need));
  }

  // --- what is kept ---

  bool runs_again(std::int32_t node) const {
    return schedule_.is_kernel(index(node)) && flow_.rows[index(node)].forward.mark == Mark::Compute;
  }

  // The node is a sum of activations that all get its gradient: a residual connection. If it were not kept, all nodes
  // before it, up to the start of the network, would run again for it. (A free dim may decide if one of the activations
  // is broadcast.)
  bool joins_branches(std::int32_t node) const {
    const auto& gradients = flow_.nodes[index(node)].gradients;
    return std::ranges::count(gradients, true, &Gradient::is_passed_on) > 1;
  }

  // The segment of each node.
  std::vector<std::int32_t> segments() const {
    std::vector<std::int32_t> segment(index(nodes_), 0);
    const Graph& graph = *schedule_.graph;
    if (options_.recompute == Recompute::Segments) {
      std::set<std::string_view> starts(options_.segment_starts.begin(), options_.segment_starts.end());
      std::int32_t current = 0;
      for (std::int32_t node = 0; node < nodes_; ++node) {
        if (starts.erase(display_name(graph, graph.nodes[index(node)])) != 0) ++current;
        segment[index(node)] = current;
      }
      for (const std::string& start : options_.segment_starts)
        if (starts.contains(start)) throw Error(cat("segment at '", start, "': the model has no such node"));
      return segment;
    }
    const auto keeping = std::ranges::count_if(needs_, [](const auto& needs) { return !needs.empty(); });
    std::int32_t length = 1;  // ⌈√n⌉
    while (static_cast<std::int64_t>(length) * length < keeping) ++length;
    std::int32_t count = 0;
    for (std::int32_t node = 0; node < nodes_; ++node) {
      segment[index(node)] = count / length;
      if (!needs_[index(node)].empty()) ++count;
    }
    return segment;
  }

  void choose_kept() {
    const bool by_segment = options_.recompute == Recompute::Segments || options_.recompute == Recompute::Sqrt;
    const std::vector<std::int32_t> segment = by_segment ? segments() : std::vector<std::int32_t>();
    for (std::size_t i = 0; i < items_.size(); ++i) {
      Item& item = items_[i];
      const bool is_value = i < schedule_.storages.size();
      if (options_.recompute == Recompute::None || item.producer < 0 || !runs_again(item.producer)) {
        item.is_kept = true;
      } else if (by_segment) {
        if (!is_value) continue;
        const Storage& storage = schedule_.storages[i];
        item.is_kept =
            storage.is_output || storage.is_held || std::ranges::any_of(storage.readers, [&](std::int32_t reader) {
              return segment[index(reader)] != segment[index(item.producer)];
            });
      } else {
        item.is_kept = flow_.rows[index(item.producer)].forward.macs != Dim(0) || joins_branches(item.producer);
      }
    }
  }

  // Makes the item available to the backward at `position`. Positions come in ascending order.
  void require(std::int32_t wanted, std::int32_t position) {
    std::vector<std::pair<std::int32_t, std::int32_t>> pending = {{wanted, -1}};  // item, node that runs again for it
    while (!pending.empty()) {
      const auto [id, reader] = pending.back();
      pending.pop_back();
      Item& item = items_[index(id)];
      item.is_needed = true;
      if (item.reader < 0) item.reader = reader;
      if (item.is_kept) {
        item.forward.extend(position);
        continue;
      }
      if (item.again.is_alive()) {
        item.again.extend(position);
        continue;
      }
      const std::int32_t node = item.producer;
      flow_.rows[index(node)].recomputed = true;
      for (const std::int32_t written : schedule_.steps[index(node)].writes) start_again(written, position);
      for (const std::int32_t statistic : statistics_[index(node)]) start_again(statistic, position);
      for (const std::int32_t read : schedule_.steps[index(node)].reads)
        if (is_on_device(read)) pending.emplace_back(read, node);
    }
  }

  void start_again(std::int32_t id, std::int32_t position) {
    Item& item = items_[index(id)];
    if (!item.is_kept && !item.again.is_alive()) item.again = {position, position};
  }

  // Charges each kept item to the first node, in the file's order, whose backward needs it.
  void charge() {
    std::vector<bool> charged(items_.size(), false);
    const auto save = [&](std::int32_t node, std::int32_t id, SavedTensor tensor) {
      const Item& item = items_[index(id)];
      if (item.is_kept && !charged[index(id)]) {
        charged[index(id)] = true;
        tensor.bytes = item.bytes.value_or(0);
        result_.saved_activation_bytes += tensor.bytes;
      }
      flow_.rows[index(node)].saved.push_back(std::move(tensor));
    };
    for (std::int32_t node = 0; node < nodes_; ++node)
      for (Need& need : needs_[index(node)]) save(node, need.item, std::move(need.tensor));
    for (std::size_t i = 0; i < items_.size(); ++i) {  // kept only to compute something again
      if (!items_[i].is_needed || !items_[i].is_kept || charged[i] || items_[i].reader < 0) continue;
      SavedTensor tensor;
      if (i < schedule_.storages.size()) {
        tensor.value = schedule_.storages[i].owner;
        tensor.what = schedule_.graph->value(tensor.value).name;
      }
      save(items_[i].reader, static_cast<std::int32_t>(i), std::move(tensor));
    }
  }

  // --- gradients of values ---

  std::int32_t new_gradient(ValueId value, std::int32_t position) {
    std::optional<Dim> bytes = bytes_of(analysis_.types[index(value)]);
    items_.push_back({.bytes = std::move(bytes), .forward = {position, position}, .again = {}});
    return static_cast<std::int32_t>(items_.size()) - 1;
  }

  // A gradient lives from the backward of its value's last reader, which computes it, to the backward of its producer.
  // If it is only renamed, the bytes are shared. Other readers add to it in place; their own contributions live
  // for that position only.
  void add_gradients() {
    std::vector<std::int32_t> gradient_of(analysis_.types.size(), -1);
    for (std::size_t v = 0; v < flow_.seeded.size(); ++v)
      if (flow_.seeded[v]) gradient_of[v] = new_gradient(static_cast<ValueId>(v), nodes_);
    for (std::int32_t id = nodes_; id-- > 0;) {
      const NodeBackward& backward = flow_.nodes[index(id)];
      if (!backward.runs()) continue;
      const Node& node = schedule_.graph->nodes[index(id)];
      const std::int32_t position = backward_of(id);
      std::int32_t arriving = -1;
      for (std::size_t i = 0; i < backward.arrives.size(); ++i) {
        if (!backward.arrives[i] || gradient_of[index(node.outputs[i])] < 0) continue;
        arriving = gradient_of[index(node.outputs[i])];
        items_[index(arriving)].forward.extend(position);
      }
      std::set<ValueId> seen;
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (!backward.wanted[i] || flow_.trained[index(node.inputs[i])] || !seen.insert(node.inputs[i]).second)
          continue;
        const auto found = std::ranges::find(backward.gradients, static_cast<int>(i), &Gradient::input);
        const bool is_renamed = found != backward.gradients.end() && found->is_renamed && arriving >= 0;
        std::int32_t& gradient = gradient_of[index(node.inputs[i])];
        const std::int32_t added = is_renamed ? arriving : new_gradient(node.inputs[i], position);
        if (gradient < 0)
          gradient = added;
        else
          items_[index(gradient)].forward.extend(position);
      }
    }
    for (const ValueId input : schedule_.graph->inputs)  // wanted by the caller: alive to the end
      if (const std::int32_t gradient = gradient_of[index(input)]; gradient >= 0)
        items_[index(gradient)].forward.extend(2 * nodes_);
  }

  // The same bytes as a schedule of 2n + 1 steps, for the formula of its peak. Storages come in the order of items, so
  // that the bodies' nodes find their outputs; items that are computed again come after them.
  std::optional<Dim> peak() {
    Schedule step;
    step.graph = schedule_.graph;
    Liveness live;
    const auto add = [&](const Lifetime& life, const std::optional<Dim>& bytes) {
      live.shares.push_back(static_cast<std::int32_t>(step.storages.size()));
      live.lifetimes.push_back(life);
      step.storages.push_back({.bytes = bytes});
    };
    for (const Item& item : items_) add(item.forward, item.bytes);
    for (const Item& item : items_)
      if (item.again.is_alive()) add(item.again, item.bytes);
    step.steps = std::move(schedule_.steps);
    step.steps.resize(index(2 * nodes_ + 1));
    std::optional<Dim> peak = peak_formula(step, live, file_order(step));
    step.steps.resize(index(nodes_));
    schedule_.steps = std::move(step.steps);
    return peak;
  }

  const Analysis& analysis_;
  const TrainingOptions& options_;
  Schedule& schedule_;
  Flow& flow_;
  TrainingMemory& result_;
  const std::int32_t nodes_;
  std::vector<Item> items_;
  std::vector<std::vector<Need>> needs_;               // by node
  std::vector<std::vector<std::int32_t>> statistics_;  // by node: items
};

}  // namespace

void add_step_memory(const Analysis& analysis, const TrainingOptions& options, Schedule& schedule, Flow& flow,
                     TrainingMemory& memory) {
  StepMemory(analysis, options, schedule, flow, memory).run();
}

}  // namespace pagoda::inline core::train_rules

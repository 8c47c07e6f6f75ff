// Tries products one by one, and keeps what each successful trial has split.
//
// A trial pushes the split of one product forward until every path ends in a product that contracts it. A trial
// that learns about heads restarts; one that cannot place a part is discarded, and the product stays whole.
#include "parallel/split.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "graph/index.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "pagoda/core/memory.h"

namespace pagoda::inline core {
namespace {

// Arbitrary limits of the search: a trial that exceeds one is given up, and its product stays whole.
constexpr int kMostRestarts = 64;
constexpr std::size_t kMostVisits = 4096;

// Facts about the graph that the search looks up repeatedly.
class GraphLookup {
 public:
  GraphLookup(const Model& model, const Analysis& analysis)
      : graph(model.main()),
        producer(producers_of(graph)),
        readers(graph.values.size()),
        rows(graph.nodes.size(), nullptr),
        is_constant(constant_values(model, analysis)),
        outputs(graph.outputs.begin(), graph.outputs.end()),
        analysis_(analysis) {
    for (const NodeReport& row : analysis.nodes)
      if (row.graph == 0) rows[index(row.node)] = &row;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n)
      for (const ValueId input : graph.nodes[n].inputs) {
        if (input == kAbsent) continue;
        auto& list = readers[index(input)];
        if (list.empty() || list.back() != static_cast<std::int32_t>(n)) list.push_back(static_cast<std::int32_t>(n));
      }
    for (const CachePair& pair : find_kv_cache(model, analysis).pairs) {
      pasts.insert(pair.past);
      presents.insert(pair.present);
    }
  }

  const Shape* shape(ValueId value) const { return shape_of(analysis_, value); }  // null when unknown
  const Name& name(std::int32_t node) const { return display_name(graph, graph.node(node)); }

  // The form of a node that multiplies an activation by a weight; nullopt for other nodes.
  std::optional<WeightProduct> product(std::int32_t node) const {
    const NodeReport* row = rows[index(node)];
    const Node& of = graph.node(node);
    if (row == nullptr || of.input(1) == kAbsent || of.input(0) == kAbsent) return std::nullopt;
    if (!is_constant[index(of.input(1))] || is_constant[index(of.input(0))]) return std::nullopt;
    const Shape* weight = shape(of.input(1));
    return weight == nullptr ? std::nullopt : weight_product(of, row->facts, weight->size());
  }

  const Graph& graph;
  std::vector<std::int32_t> producer;
  std::vector<std::vector<std::int32_t>> readers;
  std::vector<const NodeReport*> rows;
  std::vector<bool> is_constant;
  std::set<ValueId> outputs, pasts, presents;

 private:
  const Analysis& analysis_;
};

// Ends a trial. If `origin` is set, the trial restarts and gives `part` to that value.
struct TrialStop {
  std::string reason;
  ValueId origin = kAbsent;
  Part part = {};
  bool is_final = false;  // a restart does not help: heads cannot be divided over the devices
};

// One attempt, with the sizes of parts that earlier ones learnt.
class Trial {
 public:
  Trial(const GraphLookup& lookup, Int devices, bool is_head, const std::map<ValueId, Part>& learnt, Split& done)
      : lookup_(lookup), done_(done), devices_(devices), is_head_(is_head), learnt_(learnt) {}

  // Splits the product and all that follows from it, and adds that to `done`. Throws TrialStop.
  void run(std::int32_t product) {
    split_columns(product);
    settle();
    finish();
  }

 private:
  void settle() {
    std::size_t visits = 0;
    while (!queue_.empty() || !waiting_.empty()) {
      if (queue_.empty()) fetch_operands();
      if (++visits > kMostVisits) throw TrialStop{"the parts spread over too many nodes"};
      const std::int32_t node = queue_.front();
      queue_.pop_front();
      waiting_.erase(node);
      visit(node);
    }
  }

  // Visits the node again when the operand, which must also be in parts, is.
  void wait(std::int32_t node, ValueId operand) {
    waiting_.insert(node);
    wanted_.insert(operand);
  }

  // Splits the products behind operands that must also be in parts: gate beside up, keys beside queries.
  void fetch_operands() {
    const std::set<std::int32_t> blocked = std::exchange(waiting_, {});
    const std::set<ValueId> wanted = std::exchange(wanted_, {});
    bool found = false;
    for (const ValueId value : wanted) {
      if (part_of(value) != nullptr) continue;
      const std::int32_t product = product_behind(value);
      if (product < 0 || here_.columns.contains(product)) continue;
      split_columns(product);
      found = true;
    }
    if (!found && std::none_of(wanted.begin(), wanted.end(), [&](ValueId v) { return part_of(v) != nullptr; }))
      stop(*blocked.begin(), "needs an operand whole that no product with a weight makes");
    queue_.insert(queue_.end(), blocked.begin(), blocked.end());
  }

  // The nearest product with a weight that is not placed yet; -1 if there is none.
  std::int32_t product_behind(ValueId value) const {
    std::set<ValueId> seen;
    std::deque<ValueId> queue = {value};
    while (!queue.empty() && seen.size() < 256) {
      const ValueId at = queue.front();
      queue.pop_front();
      if (at == kAbsent || lookup_.is_constant[index(at)] || !seen.insert(at).second) continue;
      const std::int32_t from = lookup_.producer[index(at)];
      if (from < 0) continue;
      if (lookup_.product(from)) {
        const auto places = [&](const Split& split) {
          return split.rows.contains(from) || split.columns.contains(from);
        };
        if (!places(done_) && !places(here_)) return from;
        continue;
      }
      for (const ValueId input : lookup_.graph.node(from).inputs) queue.push_back(input);
    }
    return -1;
  }

  void finish() {
    if (!uneven_.empty()) throw TrialStop{uneven_};
    if (!is_head_ && here_.rows.empty()) throw TrialStop{"no product contracts its columns"};
    if (is_head_ && (!here_.rows.empty() || here_.gathered.empty())) throw TrialStop{"its columns reach no output"};
    done_.parts.merge(here_.parts);
    if (is_head_) done_.heads.insert(here_.columns.begin(), here_.columns.end());
    done_.columns.merge(here_.columns);
    done_.rows.merge(here_.rows);
    done_.gathered.merge(here_.gathered);
  }

  const Part* part_of(ValueId value) const {
    if (value == kAbsent) return nullptr;
    if (const auto found = here_.parts.find(value); found != here_.parts.end()) return &found->second;
    const auto found = done_.parts.find(value);
    return found == done_.parts.end() ? nullptr : &found->second;
  }

  const Shape& shape(ValueId value) const {
    const Shape* known = lookup_.shape(value);
    if (known == nullptr) throw TrialStop{"the rank of " + lookup_.graph.value(value).name + " is not known"};
    return *known;
  }

  void set(ValueId value, const Part& part) {
    if (value == kAbsent) return;
    if (part.shape == shape(value)) return;
    if (const Part* before = part_of(value)) {
      if (before->shape != part.shape) throw TrialStop{lookup_.graph.value(value).name + " would be split in two ways"};
      return;
    }
    if (lookup_.outputs.contains(value) && !lookup_.presents.contains(value)) {
      if (!is_head_) throw TrialStop{lookup_.graph.value(value).name + ", an output of the model, would be in parts"};
      here_.gathered.insert(lookup_.producer[index(value)]);
    }
    here_.parts[value] = part;
    for (const std::int32_t reader : lookup_.readers[index(value)]) queue_.push_back(reader);
  }

  [[noreturn]] void stop(std::int32_t node, const std::string& why) const {
    throw TrialStop{lookup_.graph.node(node).op_type + " " + lookup_.name(node) + " " + why};
  }

  // Ends the trial to start again, with a part of `origin` that has `width` elements in the last axis.
  [[noreturn]] void restart(std::int32_t id, std::string_view what, ValueId origin, const Dim& width,
                            Int replicas = 1) const {
    Part part{.shape = shape(origin), .replicas = replicas};
    part.shape.back() = width;
    throw TrialStop{.reason = cat(what, " of ", lookup_.name(id)), .origin = origin, .part = std::move(part)};
  }

  // Ends the search: heads cannot be divided over the devices.
  [[noreturn]] void give_up(std::string reason) const {
    throw TrialStop{.reason = std::move(reason), .is_final = true};
  }

  // Splits a weight, or a value computed from weights alone, back to the tensors that the file stores.
  void split_weight(ValueId value, int axis, const Fraction& of) {
    const Shape& whole = shape(value);
    if (axis < 0) axis += static_cast<int>(whole.size());
    if (axis < 0 || index(axis) >= whole.size() || whole[index(axis)] == Dim(1)) return;
    Part part{.shape = whole};
    const Dim scaled = whole[index(axis)] * of.part;
    part.shape[index(axis)] = is_head_ ? ceil_div(scaled, of.whole) : floor_div(scaled, of.whole);
    if (!is_head_ && !exact_div(scaled, of.whole))
      throw TrialStop{"an axis of " + whole[index(axis)].to_string() + " in " + lookup_.graph.value(value).name +
                      " is not divisible by the " + to_string(devices_) + " devices"};
    if (const Part* before = part_of(value)) {
      if (before->shape != part.shape)
        throw TrialStop{"the weight " + lookup_.graph.value(value).name + " is used twice"};
      return;
    }
    here_.parts[value] = part;
    const std::int32_t from = lookup_.producer[index(value)];
    if (from < 0) return;
    const Node& node = lookup_.graph.node(from);
    const OpKind kind = lookup_.rows[index(from)]->facts.kind;
    if (kind == OpKind::Transpose) {
      const auto* perm = node.integers("perm");
      const int back =
          perm == nullptr ? static_cast<int>(whole.size()) - 1 - axis : static_cast<int>((*perm)[index(axis)]);
      return split_weight(node.input(0), back, of);
    }
    if (kind == OpKind::Dequantize) {
      split_weight(node.input(0), axis, of);
      for (const std::size_t scale : {1U, 2U}) {
        if (node.input(scale) == kAbsent) continue;
        const Shape& shape_of_scale = shape(node.input(scale));
        if (shape_of_scale.size() == whole.size())
          split_weight(node.input(scale), axis, of);
        else if (shape_of_scale.size() == 1 && shape_of_scale[0] == whole[index(axis)])
          split_weight(node.input(scale), 0, of);
      }
      return;
    }
    if (kind == OpKind::Pointwise || node.op_type == "Identity") {
      for (const ValueId input : node.inputs)
        if (input != kAbsent && shape(input).size() == whole.size()) split_weight(input, axis, of);
      return;
    }
    if (node.op_type != "Constant") stop(from, "makes a weight in a way that is not split");
  }

  void split_columns(std::int32_t node) {
    const WeightProduct form = *lookup_.product(node);
    const Node& of = lookup_.graph.node(node);
    const ValueId output = of.output(0);
    const Shape& whole = shape(output);
    const std::optional<Int> columns = whole.empty() ? std::nullopt : whole.back().value();
    if (!columns) stop(node, "has a width that is not known");
    Part part{.shape = whole};
    if (const auto known = learnt_.find(output); known != learnt_.end()) {
      part = known->second;
    } else {
      if (!is_head_ && *columns % devices_ != 0)  // provisional until its heads are known
        uneven_ = lookup_.name(node) + " has " + to_string(*columns) + " columns, which " + to_string(devices_) +
                  " devices do not divide";
      part.shape.back() = (*columns + devices_ - 1) / devices_;
    }
    part.origin = output;
    here_.columns.insert(node);
    const Fraction of_columns = fraction(part.shape, whole);
    // The share of a vocabulary is rounded up: ⌈columns / devices⌉.
    const Fraction share = is_head_ ? Fraction{1, devices_} : of_columns;
    split_weight(of.input(index(form.weight)), form.columns_axis, share);
    for (const int place : form.per_column)
      if (const ValueId each = of.input(index(place)); each != kAbsent && lookup_.is_constant[index(each)])
        split_weight(each, -1, share);
    for (const int place : form.per_block)
      if (const ValueId each = of.input(index(place)); each != kAbsent) split_weight(each, 0, share);
    set(output, part);
  }

  void split_rows(std::int32_t node, const WeightProduct& form, const Part& part) {
    const Node& of = lookup_.graph.node(node);
    const Shape& whole = shape(of.input(0));
    if (here_.columns.contains(node) || done_.columns.contains(node)) stop(node, "is split by columns already");
    if (split_axis(part, whole) != static_cast<int>(whole.size()) - 1 ||
        fraction({part.shape.begin(), part.shape.end() - 1}, {whole.begin(), whole.end() - 1}).whole != 1)
      stop(node, "takes an operand that is split in another axis than the one it contracts");
    if (part.replicas != 1)
      give_up(cat(to_string(devices_), " devices are more than the heads before ", lookup_.name(node),
                  "; give a divisor of the query heads"));
    if (done_.rows.contains(node) || !here_.rows.insert(node).second) return;
    const Fraction of_rows = fraction(part.shape, whole);
    split_weight(of.input(index(form.weight)), form.rows_axis, of_rows);
    for (const int place : form.per_block)
      if (const ValueId each = of.input(index(place)); each != kAbsent)
        split_weight(each, shape(each).size() > 1 ? 1 : 0, of_rows);
  }

  // --- from the parts of a node's operands to the parts of its results, by kind of operator ---

  void visit(std::int32_t id) {
    const Node& node = lookup_.graph.node(id);
    const NodeReport* row = lookup_.rows[index(id)];
    if (row == nullptr || !node.bodies().empty()) stop(id, "has a body");
    if (row->cost.mark == Mark::Host || row->facts.placement == Placement::AsksShape) return;
    if (node.output(0) == kAbsent || lookup_.is_constant[index(node.output(0))]) return;
    if (const auto form = lookup_.product(id)) {
      if (const Part* part = part_of(node.input(0))) split_rows(id, *form, *part);
      return;
    }
    const OpKind kind = row->facts.kind;
    if (kind == OpKind::Pointwise) return pointwise(id, node);
    if (kind == OpKind::Product && row->facts.form == ProductForm::Matrices) return matrices(id, node);
    if (kind == OpKind::View || kind == OpKind::Expand || kind == OpKind::Transpose) return rearrange(id, node, kind);
    if (kind == OpKind::Norm) return norm(id, node, row->facts.rows);
    if (kind == OpKind::Attention) return attention(id, node);
    if (node.op_type == "Concat") return concat(id, node);
    if (node.op_type == "Split" || node.op_type == "Slice") return pieces(id, node);
    if (node.op_type == "TensorScatter") return scatter(id, node);
    if (node.op_type == "DynamicQuantizeLinear")  // each device finds the scale of its part
      return set(node.output(0), first_part(id, node));
    constexpr OpKind kKeeping[] = {OpKind::Quantize, OpKind::Dequantize, OpKind::Layout, OpKind::Reduction};
    if (std::find(std::begin(kKeeping), std::end(kKeeping), kind) != std::end(kKeeping) || node.op_type == "Gather")
      return keep_axes(id, node);
    stop(id, "needs the whole of a tensor that would be split");
  }

  // New rows placed in a cache, which is split like the rows.
  void scatter(std::int32_t id, const Node& node) {
    const Part* added = part_of(node.input(1));
    if (added == nullptr) stop(id, "takes a cache in parts and new rows that are whole");
    const auto part = same_axes(*added, shape(node.input(1)), shape(node.input(0)));
    if (!part) stop(id, "places rows along an axis that would be split");
    set(node.input(0), *part);
    set(node.output(0), *part);
  }

  const Part& first_part(std::int32_t id, const Node& node) const {
    const Part* part = part_of(node.input(0));
    if (part == nullptr) stop(id, "takes parts in an operand that holds its sizes");
    return *part;
  }

  // Element-wise: operands broadcast along the split axis stay whole, weights are split, others must be in parts.
  void pointwise(std::int32_t id, const Node& node) {
    const Shape& whole = shape(node.output(0));
    std::optional<Part> result;
    for (const ValueId input : node.inputs) {
      const Part* part = part_of(input);
      if (part == nullptr || lookup_.is_constant[index(input)]) continue;
      const auto each = broadcast(*part, shape(input), whole);
      if (!each) stop(id, "takes parts that do not fit its result");
      if (result && result->shape != each->shape) stop(id, "takes parts of different sizes");
      if (!result || each->replicas > result->replicas) result = each;
    }
    if (!result) return;
    bool waits = false;
    for (const ValueId input : node.inputs)
      if (input != kAbsent && part_of(input) == nullptr) waits = !match(id, input, *result, whole) || waits;
    if (waits) return;
    for (const ValueId output : node.outputs) set(output, *result);
  }

  // Fits a whole operand to a result in parts, splitting a weight. False if the operand must first be in parts. The
  // last `inner` axes are those of matrices, which stay whole.
  bool match(std::int32_t id, ValueId input, const Part& result, const Shape& whole, std::size_t inner = 0) {
    const Shape& own = shape(input);
    for (std::size_t axis = 0; axis + inner < own.size(); ++axis) {
      const std::size_t there = whole.size() - own.size() + axis;
      if (result.shape[there] == whole[there] || own[axis] == Dim(1)) continue;
      if (inner > 0 || !lookup_.is_constant[index(input)]) {
        wait(id, input);
        return false;
      }
      split_weight(input, static_cast<int>(axis), fraction({result.shape[there]}, {whole[there]}));
    }
    return true;
  }

  // Products of activations alone: the batch axes of the matrices are split.
  void matrices(std::int32_t id, const Node& node) {
    const Shape& whole = shape(node.output(0));
    std::optional<Part> result;
    for (const ValueId input : {node.input(0), node.input(1)}) {
      const Part* part = part_of(input);
      const Shape& own = shape(input);
      if (part == nullptr) continue;
      if (own.size() < 3 || is_split(*part, own, -1) || is_split(*part, own, -2))
        stop(id, "contracts an axis that is split, of two activations");
      Part counted{.shape = {part->shape.begin(), part->shape.end() - 2},
                   .replicas = part->replicas,
                   .has_heads = true,
                   .origin = part->origin};
      const auto each = broadcast(counted, {own.begin(), own.end() - 2}, {whole.begin(), whole.end() - 2});
      if (!each) stop(id, "takes parts that do not fit its result");
      if (!result || fraction(each->shape, {whole.begin(), whole.end() - 2}).whole > 1) {
        if (result && result->shape != each->shape && each->replicas == 1 && result->replicas == 1)
          stop(id, "takes parts of different sizes");
        if (!result || each->replicas < result->replicas) result = each;
      }
    }
    if (!result) return;
    result->shape.insert(result->shape.end(), whole.end() - 2, whole.end());
    for (const ValueId input : {node.input(0), node.input(1)}) {
      if (part_of(input) == nullptr && !match(id, input, *result, whole, 2)) return;
    }
    set(node.output(0), *result);
  }

  void rearrange(std::int32_t id, const Node& node, OpKind kind) {
    const Part& part = first_part(id, node);
    const Shape& from = shape(node.input(0));
    const Shape& to = shape(node.output(0));
    std::optional<Part> result;
    if (kind == OpKind::Expand) {
      result = broadcast(part, from, to);
    } else if (kind == OpKind::Transpose) {
      const auto* perm = node.integers("perm");
      result = part;
      for (std::size_t axis = 0; axis < from.size(); ++axis)
        result->shape[axis] =
            part.shape[perm == nullptr ? from.size() - 1 - axis : index(static_cast<std::int32_t>((*perm)[axis]))];
    } else {
      Dim heads = 0;
      result = reshaped(part, from, to, &heads);
      if (!result && heads != Dim(0)) share_heads(id, part, heads);
    }
    if (!result) stop(id, "cuts a split axis in another place");
    set(node.output(0), *result);
  }

  void norm(std::int32_t id, const Node& node, RowAxes rows) {
    const Part& part = first_part(id, node);
    const Shape& whole = shape(node.input(0));
    const auto rank = static_cast<std::int64_t>(whole.size());
    std::int64_t first = rank - 1;
    if (rows == RowAxes::Softmax || rows == RowAxes::FromAxis) {
      first = node.integer("axis", -1);
      if (first < 0) first += rank;
    } else if (rows != RowAxes::Last) {
      stop(id, "takes statistics over a tensor that would be split");
    }
    for (std::int64_t axis = first; axis < rank; ++axis) {
      if (is_split(part, whole, static_cast<int>(axis))) stop(id, "takes statistics along an axis that would be split");
      if (rows == RowAxes::Softmax) break;
    }
    keep_axes(id, node);
  }

  // Split axes pass through unchanged; the operands after the first only affect the other axes.
  void keep_axes(std::int32_t id, const Node& node) {
    const Part& part = first_part(id, node);
    const Shape& from = shape(node.input(0));
    for (const ValueId output : node.outputs) {
      if (output == kAbsent) continue;
      const Shape& to = shape(output);
      Part rest = part;
      Shape left = from;
      if (to.size() < from.size()) {  // an axis was reduced away, or one entry of it was picked
        std::int64_t axis = node.integer("axis", 0);
        if (const auto* axes = node.integers("axes"); axes != nullptr && axes->size() == 1) axis = axes->front();
        if (axis < 0) axis += static_cast<std::int64_t>(from.size());
        if (is_split(part, from, static_cast<int>(axis)) || index(static_cast<std::int32_t>(axis)) >= from.size())
          stop(id, "works along an axis that would be split");
        rest.shape.erase(rest.shape.begin() + axis);
        left.erase(left.begin() + axis);
      }
      const auto result = same_axes(rest, left, to);
      if (!result) stop(id, "works along an axis that would be split");
      set(output, *result);
    }
  }

  void concat(std::int32_t id, const Node& node) {
    std::int64_t along = node.integer("axis", 0);
    if (along < 0) along += static_cast<std::int64_t>(shape(node.output(0)).size());
    const Part* known = nullptr;
    for (const ValueId input : node.inputs)
      if (const Part* part = part_of(input); part != nullptr && (known == nullptr || part->replicas > known->replicas))
        known = part;
    if (known == nullptr) return;
    Part result = *known;
    Dim sum = 0;
    for (const ValueId input : node.inputs) {
      if (part_of(input) == nullptr) {
        Part part = result;
        part.shape[along] = shape(input)[along];
        if (part.shape != shape(input)) {
          const ValueId past = past_behind(input);
          if (past == kAbsent) return wait(id, input);
          part.shape[along] = shape(past)[along];
          set(past, part);
          if (past != input) return;  // visited again when its operand is in parts
        }
      }
      const Part* part = part_of(input);
      sum += (part != nullptr ? part->shape : shape(input))[along];
    }
    result.shape[along] = sum;
    set(node.output(0), result);
  }

  // The past cache that the value is, or that one node passes on to it; kAbsent if there is none.
  ValueId past_behind(ValueId value) const {
    if (lookup_.pasts.contains(value)) return value;
    const std::int32_t from = lookup_.producer[index(value)];
    if (from < 0) return kAbsent;
    const Node& node = lookup_.graph.node(from);
    const bool passes = node.inputs.size() == 1 && (node.op_type == "Concat" || node.op_type == "Identity");
    return passes && lookup_.pasts.contains(node.input(0)) ? node.input(0) : kAbsent;
  }

  // Several projections in one product: each projection's part of the split axis is split separately.
  void pieces(std::int32_t id, const Node& node) {
    const ValueId packed = node.input(0);
    const Part& part = first_part(id, node);
    const Shape& whole = shape(packed);
    const int axis = split_axis(part, whole);
    const auto at = index(axis);
    const bool passes = std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
      return output == kAbsent || shape(output)[at] == whole[at];
    });
    if (passes) return keep_axes(id, node);
    if (part.has_heads || part.origin == kAbsent) stop(id, "takes pieces of an axis that would be split");
    std::vector<ValueId> all;
    for (const std::int32_t reader : lookup_.readers[index(packed)])
      if (lookup_.graph.node(reader).op_type == node.op_type)
        for (const ValueId output : lookup_.graph.node(reader).outputs)
          if (output != kAbsent) all.push_back(output);
    Dim sum = 0, sum_whole = 0;
    std::vector<Part> parts;
    for (const ValueId piece : all) {
      const Shape& size = shape(piece);
      Part each{.shape = size, .origin = piece};
      if (const auto known = learnt_.find(piece); known != learnt_.end()) {
        each.replicas = known->second.replicas;
        each.shape[at] = known->second.shape[at];
      } else {
        const auto share = exact_div(size[at], devices_);
        if (!share) uneven_ = lookup_.name(id) + " takes pieces that " + to_string(devices_) + " devices do not divide";
        each.shape[at] = share.value_or(ceil_div(size[at], devices_));
      }
      sum += each.shape[at];
      sum_whole += size[at];
      parts.push_back(each);
    }
    if (sum_whole != whole[at]) stop(id, "takes pieces that are not all of an axis that would be split");
    if (sum != part.shape[at]) restart(id, "pieces", part.origin, sum);
    for (std::size_t i = 0; i < all.size(); ++i) set(all[i], parts[i]);
  }

  // Stops the trial, or restarts it with the origin of the split cut between its `heads` heads.
  [[noreturn]] void share_heads(std::int32_t id, const Part& part, const Dim& heads) {
    const auto count = heads.value();
    if (!count || part.origin == kAbsent || part.has_heads || *count % devices_ == 0)
      stop(id, "cuts a split axis in another place");
    const Int replicas = replicas_of(id, *count);  // one head each if there are fewer heads than devices
    const Dim& whole = shape(part.origin).back();
    restart(id, "heads", part.origin, exact_div(whole * replicas, devices_).value_or(whole), replicas);
  }

  // Number of devices that hold the same head: 1 if there are enough heads for all.
  Int replicas_of(std::int32_t id, Int heads) const {
    if (heads % devices_ == 0) return 1;
    if (heads > 0 && devices_ % heads == 0) return devices_ / heads;
    give_up(cat(to_string(devices_), " devices do not divide the ", to_string(heads), " heads of ", lookup_.name(id),
                ", nor do those divide the devices"));
  }

  void attention(std::int32_t id, const Node& node) {
    if (node.op_type == "RotaryEmbedding") return keep_axes(id, node);
    const bool grouped = node.op_type == "GroupQueryAttention" || node.op_type == "PagedAttention";
    const bool multi = node.op_type == "MultiHeadAttention";
    const bool standard = node.op_type == "Attention" && node.domain.empty();
    if (!grouped && !multi && !standard) stop(id, "is an attention that is not split");
    if (standard && shape(node.input(0)).size() == 4) return split_attention(id, node);
    const Int heads = node.integer(standard ? "q_num_heads" : "num_heads", 0);
    const Int key_heads = multi ? heads : node.integer("kv_num_heads", 0);
    if (heads <= 0 || key_heads <= 0) stop(id, "states no heads");
    if (heads % devices_ != 0)
      give_up(cat(to_string(devices_), " devices do not divide the ", to_string(heads), " query heads of ",
                  lookup_.name(id), "; give a divisor of them"));
    const Int replicas = replicas_of(id, key_heads);
    const bool packed = node.input(1) == kAbsent;
    if (packed && multi) stop(id, "takes queries, keys and values packed");
    const Dim per_head = floor_div(shape(node.input(0)).back(), heads + (packed ? 2 * key_heads : 0));
    const Int own = heads / devices_, own_keys = key_heads * replicas / devices_;
    expect_heads(id, node.input(0), per_head * (own + (packed ? 2 * own_keys : 0)), 1);
    if (!packed)
      for (const std::size_t place : {1U, 2U})
        if (node.input(place) != kAbsent && shape(node.input(place)).size() < 4)
          expect_heads(id, node.input(place), floor_div(shape(node.input(place)).back(), key_heads) * own_keys,
                       replicas);
    if (waiting_.contains(id)) return;
    const std::size_t past = multi ? 6 : standard ? 4 : 3;
    const int axis = node.op_type == "PagedAttention" ? 2 : 1;
    split_caches(node, past, axis, own_keys, replicas);
    Part part{.shape = shape(node.output(0)), .has_heads = true};
    part.shape.back() = floor_div(part.shape.back(), heads) * own;
    set(node.output(0), part);
  }

  // The standard operator with heads on their own axis, [batch, heads, tokens, size].
  void split_attention(std::int32_t id, const Node& node) {
    for (const std::size_t place : {0U, 1U, 2U})
      if (part_of(node.input(place)) == nullptr) return wait(id, node.input(place));
    const Part& query = *part_of(node.input(0));
    const Part& key = *part_of(node.input(1));
    for (const std::size_t place : {0U, 1U, 2U})
      for (const int axis : {0, 2, 3})
        if (is_split(*part_of(node.input(place)), shape(node.input(place)), axis))
          stop(id, "takes operands that are split in another axis than the heads");
    Part part{.shape = shape(node.output(0)), .has_heads = true};
    part.shape[1] = query.shape[1];
    set(node.output(0), part);
    split_caches(node, 4, 1, key.shape[1], key.replicas);
  }

  // Checks the heads of an operand [tokens …, heads · size]: its part must have `expected` elements in the last axis.
  void expect_heads(std::int32_t id, ValueId value, const Dim& expected, Int replicas) {
    if (value == kAbsent) return;
    const Part* part = part_of(value);
    if (part == nullptr) return wait(id, value);
    if (part->shape.back() == expected) return;
    if (part->origin == kAbsent || shape(part->origin).back() != shape(value).back())
      stop(id, "takes heads that are split in another way");
    restart(id, "heads", part->origin, expected, replicas);
  }

  // The caches of keys and values that an attention takes, from input `past` on, and returns.
  void split_caches(const Node& node, std::size_t past, int axis, const Dim& heads, Int replicas) {
    for (const ValueId cache : {node.input(past), node.input(past + 1), node.output(1), node.output(2)}) {
      if (cache == kAbsent) continue;
      Part part{.shape = shape(cache), .replicas = replicas, .has_heads = true};
      part.shape[axis] = heads;
      set(cache, part);
    }
  }

  const GraphLookup& lookup_;
  Split& done_;
  const Int devices_;
  const bool is_head_;
  const std::map<ValueId, Part>& learnt_;  // sizes of parts by origin
  Split here_;
  std::set<std::int32_t> waiting_;  // nodes with an operand that is not in parts yet
  std::set<ValueId> wanted_;        // those operands
  std::deque<std::int32_t> queue_;
  std::string uneven_;  // why a part is only a guess
};

// Splits `product` and all that follows from it, and adds that to `done`. Returns why that fails, else nullopt.
std::optional<TrialStop> try_split(const GraphLookup& lookup, std::int32_t product, Int devices, bool is_head,
                                   Split& done) {
  std::map<ValueId, Part> learnt;
  std::optional<TrialStop> stopped;
  for (int starts = 0; starts < kMostRestarts; ++starts) {
    try {
      Trial(lookup, devices, is_head, learnt, done).run(product);
      return std::nullopt;
    } catch (TrialStop& stop) {
      stopped = std::move(stop);
    }
    if (stopped->origin == kAbsent) break;
    learnt[stopped->origin] = stopped->part;
  }
  return stopped;
}

// Splits tables with as many rows as a head has columns: the embedding of the same vocabulary.
void split_embeddings(const GraphLookup& lookup, Int devices, Split& split) {
  std::set<Int> vocabularies;
  for (const std::int32_t node : split.heads)
    if (const auto size = lookup.shape(lookup.graph.node(node).output(0))->back().value()) vocabularies.insert(*size);
  for (std::size_t n = 0; n < lookup.graph.nodes.size(); ++n) {
    const Node& node = lookup.graph.nodes[n];
    if (node.op_type != "Gather" || node.input(0) == kAbsent || !lookup.is_constant[index(node.input(0))]) continue;
    const Shape* table = lookup.shape(node.input(0));
    if (table == nullptr || table->size() != 2 || node.integer("axis", 0) != 0) continue;
    const auto rows = (*table)[0].value();
    if (!rows || !vocabularies.contains(*rows)) continue;
    Part part{.shape = *table};
    part.shape[0] = (*rows + devices - 1) / devices;
    // A table that is shared with the head is one Transpose away from the stored weight.
    const std::int32_t from = lookup.producer[index(node.input(0))];
    const ValueId stored =
        from >= 0 && lookup.graph.node(from).op_type == "Transpose" ? lookup.graph.node(from).input(0) : kAbsent;
    if (from >= 0 && !split.parts.contains(stored)) continue;
    split.parts[node.input(0)] = part;
    split.looked_up.insert(static_cast<std::int32_t>(n));
  }
}

}  // namespace

std::vector<bool> constant_values(const Model& model, const Analysis& analysis) {
  const Graph& graph = model.main();
  std::vector<bool> is_constant(graph.values.size(), false);
  for (std::size_t v = 0; v < graph.values.size(); ++v) is_constant[v] = graph.values[v].initializer >= 0;
  for (const NodeReport& row : analysis.nodes) {
    if (row.graph != 0) continue;
    const Node& node = graph.node(row.node);
    const bool is_known = node.bodies().empty() && row.facts.placement != Placement::AsksShape &&
                          std::all_of(node.inputs.begin(), node.inputs.end(),
                                      [&](ValueId input) { return input == kAbsent || is_constant[index(input)]; });
    for (const ValueId output : node.outputs)
      if (output != kAbsent) is_constant[index(output)] = is_known;
  }
  return is_constant;
}

Split find_split(const Model& model, const Analysis& analysis, std::int64_t devices) {
  const GraphLookup lookup(model, analysis);
  Split split;
  std::map<std::int32_t, std::string> reasons;  // why products are whole
  const auto is_placed = [&](std::int32_t node) { return split.columns.contains(node) || split.rows.contains(node); };
  for (const bool is_head : {false, true})
    for (std::size_t n = 0; n < lookup.graph.nodes.size(); ++n) {
      const auto node = static_cast<std::int32_t>(n);
      if (!lookup.product(node) || is_placed(node)) continue;
      const std::optional<TrialStop> failed = try_split(lookup, node, devices, is_head, split);
      if (!failed) {
        split.whole.erase(node);
        continue;
      }
      if (failed->is_final) throw Error(base::field("tensor_parallel", devices) + ": " + failed->reason);
      if (is_head) continue;
      split.whole.insert(node);
      reasons[node] = lookup.name(node) + ": " + failed->reason;
    }
  if (split.rows.empty())
    throw Error(base::field("tensor_parallel", devices) + ": the model has no products that devices can share" +
                (reasons.empty() ? "" : "; " + reasons.begin()->second));
  if (!split.whole.empty()) split.whole_reason = reasons.at(*split.whole.begin());
  split_embeddings(lookup, devices, split);
  return split;
}

}  // namespace pagoda::inline core

// Tries products one by one, and keeps what each successful trial has split. A trial that learns about heads restarts;
// one that cannot place a part is discarded, and the product stays whole.
#include <algorithm>

#include "pagoda/base/error.h"
#include "pagoda/core/memory.h"
#include "parallel/trial.h"

namespace pagoda::inline core {

GraphLookup::GraphLookup(const Model& model, const Analysis& analysis)
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

void Trial::run(std::int32_t product) {
  split_columns(product);
  settle();
  finish();
}

void Trial::settle() {
  std::size_t visits = 0;
  while (!queue_.empty() || !waiting_.empty()) {
    if (queue_.empty()) fetch_operands();
    if (++visits > kMostVisits) throw TrialStop{"the parts spread over too many nodes"};
    const std::int32_t node = queue_.front();
    queue_.pop_front();
    waiting_.erase(node);
    place_results(*this, node);
  }
}

// Splits the products behind operands that must also be in parts: gate beside up, keys beside queries.
void Trial::fetch_operands() {
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
std::int32_t Trial::product_behind(ValueId value) const {
  std::set<ValueId> seen;
  std::deque<ValueId> queue = {value};
  while (!queue.empty() && seen.size() < 256) {
    const ValueId at = queue.front();
    queue.pop_front();
    if (at == kAbsent || lookup.is_constant[index(at)] || !seen.insert(at).second) continue;
    const std::int32_t from = lookup.producer[index(at)];
    if (from < 0) continue;
    if (lookup.product(from)) {
      const auto places = [&](const Split& split) { return split.rows.contains(from) || split.columns.contains(from); };
      if (!places(done_) && !places(here_)) return from;
      continue;
    }
    for (const ValueId input : lookup.graph.node(from).inputs) queue.push_back(input);
  }
  return -1;
}

void Trial::finish() {
  if (!uneven_.empty()) throw TrialStop{uneven_};
  if (!is_head_ && here_.rows.empty()) throw TrialStop{"no product contracts its columns"};
  if (is_head_ && (!here_.rows.empty() || here_.gathered.empty())) throw TrialStop{"its columns reach no output"};
  done_.parts.merge(here_.parts);
  if (is_head_) done_.heads.insert(here_.columns.begin(), here_.columns.end());
  done_.columns.merge(here_.columns);
  done_.rows.merge(here_.rows);
  done_.gathered.merge(here_.gathered);
}

void Trial::set(ValueId value, const Part& part) {
  if (value == kAbsent) return;
  if (part.shape == shape(value)) return;
  if (const Part* before = part_of(value)) {
    if (before->shape != part.shape) throw TrialStop{lookup.graph.value(value).name + " would be split in two ways"};
    return;
  }
  if (lookup.outputs.contains(value) && !lookup.presents.contains(value)) {
    if (!is_head_) throw TrialStop{lookup.graph.value(value).name + ", an output of the model, would be in parts"};
    here_.gathered.insert(lookup.producer[index(value)]);
  }
  here_.parts[value] = part;
  for (const std::int32_t reader : lookup.readers[index(value)]) queue_.push_back(reader);
}

void Trial::split_weight(ValueId value, int axis, const Fraction& of) {
  const Shape& whole = shape(value);
  if (axis < 0) axis += static_cast<int>(whole.size());
  if (axis < 0 || index(axis) >= whole.size() || whole[index(axis)] == Dim(1)) return;
  Part part{.shape = whole};
  const Dim scaled = whole[index(axis)] * of.part;
  part.shape[index(axis)] = is_head_ ? ceil_div(scaled, of.whole) : floor_div(scaled, of.whole);
  if (!is_head_ && !exact_div(scaled, of.whole))
    throw TrialStop{"an axis of " + whole[index(axis)].to_string() + " in " + lookup.graph.value(value).name +
                    " is not divisible by the " + to_string(devices) + " devices"};
  if (const Part* before = part_of(value)) {
    if (before->shape != part.shape) throw TrialStop{"the weight " + lookup.graph.value(value).name + " is used twice"};
    return;
  }
  here_.parts[value] = part;
  const std::int32_t from = lookup.producer[index(value)];
  if (from < 0) return;
  const Node& node = lookup.graph.node(from);
  const OpKind kind = lookup.rows[index(from)]->facts.kind;
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

void Trial::split_columns(std::int32_t node) {
  const WeightProduct form = *lookup.product(node);
  const Node& of = lookup.graph.node(node);
  const ValueId output = of.output(0);
  const Shape& whole = shape(output);
  const std::optional<Int> columns = whole.empty() ? std::nullopt : whole.back().value();
  if (!columns) stop(node, "has a width that is not known");
  Part part{.shape = whole};
  if (const auto known = learnt.find(output); known != learnt.end()) {
    part = known->second;
  } else {
    if (!is_head_ && *columns % devices != 0)  // provisional until its heads are known
      uneven_ = lookup.name(node) + " has " + to_string(*columns) + " columns, which " + to_string(devices) +
                " devices do not divide";
    part.shape.back() = (*columns + devices - 1) / devices;
  }
  part.origin = output;
  here_.columns.insert(node);
  const Fraction of_columns = fraction(part.shape, whole);
  // The share of a vocabulary is rounded up: ⌈columns / devices⌉.
  const Fraction share = is_head_ ? Fraction{1, devices} : of_columns;
  split_weight(of.input(index(form.weight)), form.columns_axis, share);
  for (const int place : form.per_column)
    if (const ValueId each = of.input(index(place)); each != kAbsent && lookup.is_constant[index(each)])
      split_weight(each, -1, share);
  for (const int place : form.per_block)
    if (const ValueId each = of.input(index(place)); each != kAbsent) split_weight(each, 0, share);
  set(output, part);
}

void Trial::split_rows(std::int32_t node, const WeightProduct& form, const Part& part) {
  const Node& of = lookup.graph.node(node);
  const Shape& whole = shape(of.input(0));
  if (here_.columns.contains(node) || done_.columns.contains(node)) stop(node, "is split by columns already");
  if (split_axis(part, whole) != static_cast<int>(whole.size()) - 1 ||
      fraction({part.shape.begin(), part.shape.end() - 1}, {whole.begin(), whole.end() - 1}).whole != 1)
    stop(node, "takes an operand that is split in another axis than the one it contracts");
  if (part.replicas != 1)
    give_up(cat(to_string(devices), " devices are more than the heads before ", lookup.name(node),
                "; give a divisor of the query heads"));
  if (done_.rows.contains(node) || !here_.rows.insert(node).second) return;
  const Fraction of_rows = fraction(part.shape, whole);
  split_weight(of.input(index(form.weight)), form.rows_axis, of_rows);
  for (const int place : form.per_block)
    if (const ValueId each = of.input(index(place)); each != kAbsent)
      split_weight(each, shape(each).size() > 1 ? 1 : 0, of_rows);
}

namespace {

// Splits `product` and all that follows from it, and adds that to `done`. Returns why that fails, else nullopt.
std::optional<TrialStop> try_split(const GraphLookup& lookup, std::int32_t product, Int devices, bool is_head,
                                   Split& done) {
  std::map<ValueId, Part> learnt;
  std::optional<TrialStop> stopped;
  for (int starts = 0; starts < Trial::kMostRestarts; ++starts) {
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

// The trial as a whole: how it starts, propagates and ends.
#include "parallel/trial.h"

#include <algorithm>

#include "memory/kv_cache.h"
#include "pagoda/base/cat.h"

namespace pagoda::inline core {
namespace {

// Arbitrary limits of the search: a trial that exceeds one is given up, and its product stays whole.
constexpr int kMostRestarts = 64;
constexpr std::size_t kMostVisits = 4096;

}  // namespace

GraphLookup::GraphLookup(const Model& model, const Analysis& analysis) : graph(model.main()), analysis_(analysis) {
  producer.assign(graph.values.size(), -1);
  readers.resize(graph.values.size());
  rows.assign(graph.nodes.size(), nullptr);
  is_constant = constant_values(model, analysis);
  for (const NodeReport& row : analysis.nodes)
    if (row.graph == 0) rows[index(row.node)] = &row;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    for (const ValueId input : node.inputs) {
      if (input == kAbsent) continue;
      auto& list = readers[index(input)];
      if (list.empty() || list.back() != static_cast<std::int32_t>(n)) list.push_back(static_cast<std::int32_t>(n));
    }
    for (const ValueId output : node.outputs)
      if (output != kAbsent) producer[index(output)] = static_cast<std::int32_t>(n);
  }
  outputs.insert(graph.outputs.begin(), graph.outputs.end());
  for (const CachePair& pair : find_kv_cache(model, analysis).pairs) {
    pasts.insert(pair.past);
    presents.insert(pair.present);
  }
}

std::optional<WeightProduct> GraphLookup::product(std::int32_t node) const {
  const NodeReport* row = rows[index(node)];
  const Node& of = graph.node(node);
  if (row == nullptr || of.input(1) == kAbsent || of.input(0) == kAbsent) return std::nullopt;
  if (!is_constant[index(of.input(1))] || is_constant[index(of.input(0))]) return std::nullopt;
  const Shape* weight = shape(of.input(1));
  return weight == nullptr ? std::nullopt : weight_product(of, row->facts, weight->size());
}

bool Trial::run(std::int32_t product) {
  for (int starts = 0; starts < kMostRestarts; ++starts) {
    here_ = {};
    waiting_.clear();
    wanted_.clear();
    queue_.clear();
    uneven_.clear();
    try {
      split_columns(product);
      settle();
      finish();
      return true;
    } catch (const TrialStop& stop) {
      reason_ = stop.reason;
      is_final_ = stop.is_final;
      if (stop.origin == kAbsent) return false;
      learnt_[stop.origin] = stop.part;
    }
  }
  return false;
}

const Part* Trial::part_of(ValueId value) const {
  if (value == kAbsent) return nullptr;
  if (const auto found = here_.parts.find(value); found != here_.parts.end()) return &found->second;
  const auto found = done_.parts.find(value);
  return found == done_.parts.end() ? nullptr : &found->second;
}

const Shape& Trial::shape(ValueId value) const {
  const Shape* known = lookup_.shape(value);
  if (known == nullptr) throw TrialStop{"the rank of " + lookup_.graph.value(value).name + " is not known"};
  return *known;
}

const Shape& Trial::local(ValueId value) const {
  const Part* part = part_of(value);
  return part != nullptr ? part->shape : shape(value);
}

void Trial::stop(std::int32_t node, const std::string& why) const {
  throw TrialStop{lookup_.graph.node(node).op_type + " " + lookup_.name(node) + " " + why};
}

void Trial::set(ValueId value, const Part& part) {
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

void Trial::split_weight(ValueId value, int axis, const Fraction& of) {
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

void Trial::split_columns(std::int32_t node) {
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

void Trial::split_rows(std::int32_t node, const WeightProduct& form, const Part& part) {
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

void Trial::settle() {
  std::size_t visits = 0;
  do {
    while (!queue_.empty()) {
      if (++visits > kMostVisits) throw TrialStop{"the parts spread over too many nodes"};
      const std::int32_t node = queue_.front();
      queue_.pop_front();
      waiting_.erase(node);
      visit(node);
    }
  } while (!waiting_.empty() && fetch_operands());
}

bool Trial::fetch_operands() {
  const std::set<std::int32_t> blocked = std::move(waiting_);
  const std::set<ValueId> wanted = std::move(wanted_);
  waiting_.clear();
  wanted_.clear();
  bool found = false;
  for (const ValueId value : wanted) {
    if (part_of(value) != nullptr) continue;
    const std::int32_t product = product_behind(value);
    if (product < 0 || here_.columns.contains(product)) continue;
    split_columns(product);
    found = true;
  }
  for (const std::int32_t node : blocked) queue_.push_back(node);
  if (!found && !blocked.empty()) {
    const bool progresses = std::any_of(wanted.begin(), wanted.end(), [&](ValueId v) { return part_of(v) != nullptr; });
    if (!progresses) stop(*blocked.begin(), "needs an operand whole that no product with a weight makes");
  }
  return true;
}

std::int32_t Trial::product_behind(ValueId value) const {
  std::set<ValueId> seen;
  std::deque<ValueId> queue = {value};
  while (!queue.empty() && seen.size() < 256) {
    const ValueId at = queue.front();
    queue.pop_front();
    if (at == kAbsent || lookup_.is_constant[index(at)] || !seen.insert(at).second) continue;
    const std::int32_t from = lookup_.producer[index(at)];
    if (from < 0) continue;
    if (lookup_.product(from)) {
      const auto places = [&](const Split& split) { return split.rows.contains(from) || split.columns.contains(from); };
      if (!places(done_) && !places(here_)) return from;
      continue;
    }
    for (const ValueId input : lookup_.graph.node(from).inputs) queue.push_back(input);
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

}  // namespace pagoda::inline core

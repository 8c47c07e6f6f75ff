// Loop: how many trips, and what changes from trip to trip. A body is walked once with symbols for what changes; where
// that leaves sizes open, trip by trip.
#include <algorithm>
#include <iterator>

#include "infer/each_dim.h"
#include "infer/infer.h"
#include "infer/trips.h"
#include "ops/scalar_math.h"
#include "pagoda/base/cat.h"

namespace pagoda::inline core {
namespace {

constexpr Int kEndless = Int{1} << 40;  // trip counts from here on mean "until the condition ends it"

// The number of the trip or the condition, as the body declares it: old exporters give it a shape of [1], in which
// ONNX Runtime passes it.
ValueInfo scalar_input(const Graph& body, std::size_t i, ElementType element, Dim value) {
  const std::optional<Shape>& declared = body.value(body.inputs[i]).declared.shape;
  ValueInfo info;
  info.type = {.element = element, .shape = Shape(declared && declared->size() == 1 ? 1 : 0, Dim(1))};
  info.computed_value = TensorValue{std::move(value)};
  return info;
}

// Whether a size or a count of the walked body depends on the symbol.
bool mentions(const GraphResult& result, const Dim& symbol) {
  const auto in_dim = [&](const Dim& dim) { return depends_on(dim, symbol); };
  const auto in_type = [&](const TensorType& type) { return type.shape && std::ranges::any_of(*type.shape, in_dim); };
  const auto in_row = [&](const NodeReport& row) {
    return std::ranges::any_of(row.outputs, in_type, &OutputInfo::type) ||
           std::ranges::any_of(kCostCounts, [&](auto count) { return in_dim(row.cost.*count); });
  };
  return std::ranges::any_of(result.outputs, in_type, &ValueInfo::type) || std::ranges::any_of(result.rows, in_row);
}

// A carried element or size that grows by the same step in every trip: start + step · trip. The walk that finds the
// step has `probe` in its place.
struct Growing {
  std::size_t carried, place;  // index of the carried value; of its element or axis
  Scalar start, probe;
};

// Elements of carried values that may be counters or do not change: those of small tensors of known numbers.
std::vector<Growing> counters_among(std::span<const ValueInfo* const> carried) {
  constexpr std::size_t kMostElements = 8;
  std::vector<Growing> counters;
  for (std::size_t i = 0; i < carried.size(); ++i) {
    const TensorValue* value = carried[i] == nullptr ? nullptr : carried[i]->value();
    const ElementType element = value == nullptr ? ElementType::Undefined : carried[i]->type.element;
    if ((!is_integer(element) && !is_float(element)) || value->size() > kMostElements) continue;
    for (std::size_t place = 0; place < value->size(); ++place)
      if (ops::as_ratio((*value)[place])) counters.push_back({i, place, (*value)[place], {}});
  }
  return counters;
}

}  // namespace

// A symbol that the walk of a loop's body made, or the number of the trip: it has another value in each trip.
bool Walker::is_of_trip(const Dim& dim, std::size_t first_symbol) const {
  if (dim.is_constant()) return false;
  const std::vector<std::string> names = dim.symbols();
  return std::any_of(session_.symbols.begin() + static_cast<std::ptrdiff_t>(first_symbol), session_.symbols.end(),
                     [&](const Symbol& symbol) { return std::ranges::binary_search(names, symbol.name); });
}

// start + step · trip, where the step is the same in all trips: `after` is the element after a trip that had `probe`.
Scalar Walker::at_trip(const Scalar& start, const Scalar& probe, const Scalar& after, ElementType type, const Dim& trip,
                       std::size_t first_symbol) const {
  const Scalar step = ops::subtract(after, probe, type);
  const auto ratio = ops::as_ratio(step);
  if (!ratio || is_of_trip(ratio->numerator, first_symbol)) return {};
  return ops::add(start, ops::multiply(step, ops::convert(trip, ElementType::Int64, type), type), type);
}

void Walker::visit_loop(Frame& frame, OpContext::State& state) {
  const GraphId body_id = body_of(state.node, "body");
  const Graph& body = session_.model.graph(body_id);
  const std::size_t carried = state.inputs.size() < 2 ? 0 : state.inputs.size() - 2;
  if (body.inputs.size() != carried + 2 || body.outputs.size() < carried + 1)
    throw RuleStop{RuleStop::Kind::Contradiction, "the body's inputs and outputs do not fit the loop's"};

  // Trips: the first input, if the condition stays true; otherwise data-dependent.
  const ValueInfo* most = state.inputs.empty() ? nullptr : state.inputs[0];
  const ValueInfo* condition = state.inputs.size() < 2 ? nullptr : state.inputs[1];
  std::optional<Dim> limit;
  if (const Dim* dim = known_integer(most); dim != nullptr && dim->value().value_or(0) < kEndless) limit = *dim;

  const Opened opened = {session_.symbols.size(), session_.diagnostics.size()};
  // The index of the trip, so that x[i : i + 1] is known to have one element.
  const Dim trip = session_.fresh("trip_" + state.display_name, state.display_name, "number of the trip", limit);
  std::vector<ValueInfo> inputs = {scalar_input(body, 0, ElementType::Int64, trip),
                                   scalar_input(body, 1, ElementType::Bool, 1)};  // runs only while it holds
  for (std::size_t i = 0; i < carried; ++i) {
    const ValueInfo* given = state.inputs[i + 2];
    inputs.push_back(given == nullptr ? ValueInfo{} : varying(*given));
    // An empty sequence does not determine its members: the first trip does.
    if (given != nullptr && given->members && given->members->empty()) inputs.back().members = given->members;
  }

  // The first walk finds the steps of counters, with p − q in place of their values, which may have either sign.
  std::vector<Growing> counters =
      counters_among(std::span(state.inputs).subspan(std::min<std::size_t>(2, state.inputs.size())));
  const auto set_element = [&](const Growing& counter, Scalar element) {
    base::Boxed<TensorValue>& value = inputs[counter.carried + 2].computed_value;
    if (!value) value.emplace(state.inputs[counter.carried + 2]->value()->size());
    (*value)[counter.place] = std::move(element);
  };
  std::vector<NodeReport> counted;  // rows of the first walk, which have the weights
  if (!counters.empty()) {
    const std::vector<Symbol> outer = session_.symbols;
    const std::size_t first_note = session_.diagnostics.size();
    std::optional<Session::Branch> apart(std::in_place, session_);
    for (Growing& counter : counters) {
      const ElementType type = inputs[counter.carried + 2].type.element;
      const auto probe = [&] { return session_.fresh("probe", state.display_name, "", std::nullopt); };
      counter.probe = ops::convert(probe() - probe(), ElementType::Int64, type);
      set_element(counter, counter.probe);
    }
    GraphResult once = walk_body(frame, state, body_id, inputs);
    for (Growing& counter : counters) {
      const ValueInfo& after = once.outputs[counter.carried + 1];
      const TensorValue* value = after.value();
      const ElementType type = inputs[counter.carried + 2].type.element;
      const bool is_known = value != nullptr && value->size() == inputs[counter.carried + 2].computed_value->size();
      counter.probe = is_known
                          ? at_trip(counter.start, counter.probe, (*value)[counter.place], type, trip, opened.symbols)
                          : Scalar();
    }
    for (std::size_t i = 0; i < carried; ++i) inputs[i + 2].computed_value.reset();
    std::erase_if(counters, [](const Growing& counter) { return !ops::is_known(counter.probe); });
    for (const Growing& counter : counters) set_element(counter, counter.probe);
    counted = std::move(once.rows);
    (void)session_.take_notes(first_note);
    apart.reset();
    session_.symbols = outer;
    calls_.clear();  // their rows may hold symbols of this walk
  }

  // A size that changes from trip to trip becomes a symbol, and if the next walk shows that it grows by one step, a
  // formula; walks repeat until no other size changes.
  std::vector<Growing> sizes;
  std::set<std::string> varying_dims;
  GraphResult result;
  for (bool stable = false; !stable;) {
    const std::size_t first_symbol = session_.symbols.size();
    result = walk_body(frame, state, body_id, inputs);
    keep_weights(counted, result.rows);
    const std::size_t end_of_walk = session_.symbols.size();
    stable = true;
    for (std::size_t i = 0; i < carried; ++i) {
      std::optional<Shape>& before = inputs[i + 2].type.shape;
      const std::optional<Shape>& after = result.outputs[i + 1].type.shape;
      if (!before && !inputs[i + 2].members) continue;
      if (inputs[i + 2].members || !after || after->size() != before->size()) {
        before = inputs[i + 2].members ? after : std::nullopt;
        inputs[i + 2].members.reset();
        stable = false;
        continue;
      }
      for (std::size_t axis = 0; axis < before->size(); ++axis) {
        Dim& dim = (*before)[axis];
        if (dim == (*after)[axis]) continue;
        const auto size =
            std::ranges::find_if(sizes, [&](const Growing& each) { return each.carried == i && each.place == axis; });
        if (size != sizes.end()) {
          if (!varying_dims.contains(dim.to_string())) continue;  // grows as its formula says
          const Scalar formula = at_trip(size->start, dim, (*after)[axis], ElementType::Int64, trip, opened.symbols);
          if (!ops::is_known(formula)) continue;
          varying_dims.erase(dim.to_string());
          session_.forget(dim);
          dim = std::get<Dim>(formula);
        } else {
          sizes.push_back({i, axis, dim, {}});
          dim = session_.fresh(cat(state.display_name, "_carried", i, "_dim", axis), state.display_name,
                               "a size that changes from trip to trip", std::nullopt);
          varying_dims.insert(dim.to_string());
        }
        stable = false;
      }
    }
    if (stable) break;
    counted = std::move(result.rows);
    const auto of_walk = session_.symbols.begin() + static_cast<std::ptrdiff_t>(first_symbol);
    session_.symbols.erase(of_walk, of_walk + static_cast<std::ptrdiff_t>(end_of_walk - first_symbol));
    if (end_of_walk > first_symbol) calls_.clear();
  }

  const Dim* const began = condition == nullptr ? nullptr : known_integer(condition);
  const Dim start = began != nullptr ? *began : Dim(1);
  const bool may_start = condition == nullptr || began != nullptr;
  const Dim* const truth = known_integer(&result.outputs[0]);
  std::optional<Dim> trips;
  if (start == Dim(0)) trips = 0;
  // A condition may depend on the trip, but on no symbol that its walk made.
  if (!trips && may_start && truth != nullptr &&
      !is_of_trip(truth->substitute({{trip.to_string(), 0}}), opened.symbols))
    trips = trip_count(start, *truth, trip, limit);
  const bool holds_sequence = std::ranges::any_of(
      result.outputs, [](const ValueInfo& output) { return output.type.container == Container::Sequence; });
  const bool changes = mentions(result, trip) || holds_sequence || !varying_dims.empty() || !sizes.empty();
  const auto first_note = session_.diagnostics.begin() + static_cast<std::ptrdiff_t>(opened.notes);
  const bool has_open_branch = std::any_of(first_note, session_.diagnostics.end(),
                                           [](const Diagnostic& note) { return note.cause == Cause::OpenBranch; });
  if (may_start && start == Dim(1) && (changes || has_open_branch || truth == nullptr || *truth != Dim(1)) &&
      replace_by_trips(frame, state, result, trips ? trips : limit, opened, has_open_branch))
    return;
  if (!trips) trips = session_.fresh("trips_" + state.display_name, state.display_name, "trip count", limit);

  // As they are after the last trip.
  const auto in_last = [&](Dim& dim) { dim = dim.substitute({{trip.to_string(), *trips - 1}}); };
  const std::span<ValueInfo> outputs = std::span(result.outputs).subspan(1);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const base::Boxed<TensorValue> known = outputs[i].computed_value;
    ValueInfo& info = outputs[i] = varying(std::move(outputs[i]));
    for_each_dim(info.type, in_last);
    if (i >= carried && info.type.shape) info.type.shape->insert(info.type.shape->begin(), *trips);
    for (const Growing& counter : counters) {
      if (counter.carried != i || !known || counter.place >= known->size()) continue;
      if (!info.computed_value) info.computed_value.emplace(known->size());
      Scalar& element = (*info.computed_value)[counter.place] = (*known)[counter.place];
      if (Dim* dim = std::get_if<Dim>(&element)) in_last(*dim);
      if (Ratio* ratio = std::get_if<Ratio>(&element)) in_last(ratio->numerator);
    }
  }
  for (NodeReport& row : result.rows) {
    const OpCost once = row.cost;
    const Dim runs = row.runs;
    row.cost = once.scaled(*trips);
    row.runs *= *trips;
    try {
      if (const auto sum = sum_over_trips(runs, trip, *trips)) row.runs = *sum;
      for (const auto count : kCostCounts)
        if (const auto sum = sum_over_trips(once.*count, trip, *trips)) row.cost.*count = *sum;
    } catch (const TooComplex&) {
      row.cost = once.scaled(*trips);
    }
    for (OutputInfo& output : row.outputs)
      for_each_dim(output.type, [&](Dim& dim) { dim = dim.substitute({{trip.to_string(), max(*trips - 1, 0)}}); });
  }
  if (!mentions(result, trip)) session_.forget(trip);
  finish(frame, state, outputs, std::move(result.rows), 1);
}

// The results of a loop's trips.
struct Walker::Unrolled {
  std::vector<ValueInfo> carried;               // after the last trip
  std::vector<std::vector<ValueInfo>> scanned;  // by trip
  std::vector<std::vector<NodeReport>> rows;    // by trip
};

namespace {

// A value that a loop returns: keeps its type and value, but marks it as computed by the loop.
ValueInfo handed_on(ValueInfo info) {
  info.constant = info.host = false;
  info.tensor_graph = -1;
  return info;
}

}  // namespace

std::optional<Walker::Unrolled> Walker::unroll(const Frame& frame, const OpContext::State& state, GraphId body_id,
                                               const std::optional<Dim>& limit, bool has_open_branch) {
  constexpr std::int64_t kMaxTrips = 64;
  constexpr std::size_t kFewNodes = 4096;
  if (unroll_budget_ == 0) return std::nullopt;
  const Graph& body = session_.model.graph(body_id);
  const std::size_t nodes = std::max<std::size_t>(body.nodes.size(), 1);
  // The number of the trip may decide a branch: then more trips of a small body.
  const auto few =
      static_cast<std::int64_t>(std::min(kFewNodes, (walk_limit_ - std::min(walked_nodes_, walk_limit_)) / 2) / nodes);
  const std::int64_t most = has_open_branch && limit && limit->is_constant() ? std::max(kMaxTrips, few) : kMaxTrips;
  if (limit && limit->value().value_or(most + 1) > most) return std::nullopt;
  Unrolled result;
  std::vector<ValueInfo> inputs = {scalar_input(body, 0, ElementType::Int64, 0),
                                   scalar_input(body, 1, ElementType::Bool, 1)};
  for (std::size_t i = 2; i < state.inputs.size(); ++i)
    inputs.push_back(state.inputs[i] == nullptr ? ValueInfo{} : handed_on(*state.inputs[i]));
  bool goes_on = true;
  for (std::int64_t trip = 0; goes_on && (!limit || Dim(trip) != *limit); ++trip) {
    // The other half of all visits is for walks that must not fail.
    if (trip == most || 2 * walked_nodes_ > walk_limit_) return std::nullopt;
    inputs[0].computed_value = TensorValue{Dim(trip)};
    const std::size_t walked_before = walked_nodes_;
    GraphResult once = walk_body(frame, state, body_id, inputs);
    const std::size_t walked = walked_nodes_ - walked_before;
    const std::optional<bool> condition = known_bool(&once.outputs[0]);
    const bool is_affordable = walked <= unroll_budget_;
    unroll_budget_ -= std::min(walked, unroll_budget_);
    if (!condition || !is_affordable) return std::nullopt;
    goes_on = *condition;
    for (std::size_t i = 2; i < inputs.size(); ++i) inputs[i] = handed_on(std::move(once.outputs[i - 1]));
    once.outputs.erase(once.outputs.begin(), once.outputs.begin() + static_cast<std::ptrdiff_t>(inputs.size()) - 1);
    result.scanned.push_back(std::move(once.outputs));
    result.rows.push_back(std::move(once.rows));
  }
  if (result.rows.empty()) return std::nullopt;
  result.carried.assign(std::make_move_iterator(inputs.begin() + 2), std::make_move_iterator(inputs.end()));
  return result;
}

bool Walker::replace_by_trips(Frame& frame, OpContext::State& state, const GraphResult& once,
                              const std::optional<Dim>& limit, const Opened& opened, bool has_open_branch) {
  const std::size_t symbols_before = session_.symbols.size();
  std::vector<Diagnostic> notes = session_.take_notes(opened.notes);
  std::optional<Unrolled> trips = unroll(frame, state, body_of(state.node, "body"), limit, has_open_branch);
  const std::size_t opened_once = symbols_before - opened.symbols;
  if (!trips || session_.symbols.size() - symbols_before > opened_once) {
    (void)session_.take_notes(opened.notes);
    for (Diagnostic& note : notes)
      session_.note(note.severity, std::move(note.node), std::move(note.message), note.cause);
    session_.symbols.resize(symbols_before, {});
    return false;
  }
  const auto first = session_.symbols.begin() + static_cast<std::ptrdiff_t>(opened.symbols);
  session_.symbols.erase(first, first + static_cast<std::ptrdiff_t>(opened_once));
  // The weights were counted in the first walk: move their counts to the first trip.
  keep_weights(once.rows, trips->rows.front());
  const std::size_t carried = trips->carried.size();
  const Dim count = trips->rows.size();
  for (std::size_t i = 0; i < state.outputs.size(); ++i) {
    ValueInfo info;
    if (i < carried) {
      info = std::move(trips->carried[i]);
    } else if (i - carried < trips->scanned.front().size()) {
      info = varying(trips->scanned.front()[i - carried]);
      for (const std::vector<ValueInfo>& scanned : trips->scanned)
        if (scanned[i - carried].type != info.type)
          info = join(info, scanned[i - carried], state.display_name, state.display_name, "trips give different sizes");
      if (info.type.shape) info.type.shape->insert(info.type.shape->begin(), count);
    }
    set_output(state, i, std::move(info));
  }
  add_own_row(frame, state);
  std::vector<NodeReport> rows;
  for (std::vector<NodeReport>& trip : trips->rows)
    rows.insert(rows.end(), std::make_move_iterator(trip.begin()), std::make_move_iterator(trip.end()));
  splice(frame, state, std::move(rows), 1);
  return true;
}

}  // namespace pagoda::inline core

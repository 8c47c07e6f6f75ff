// Pipelines, and the least time of a step on all devices.
#include <algorithm>
#include <limits>
#include <set>

#include "graph/index.h"
#include "memory/schedule.h"
#include "pagoda/base/cat.h"
#include "pagoda/base/error.h"
#include "pagoda/base/text.h"
#include "pagoda/core/parallel.h"

namespace pagoda::inline core {

double sent_bytes(CollectiveKind kind, double bytes, std::int64_t devices, bool sums_in_switch) {
  const double others = static_cast<double>(devices - 1) / static_cast<double>(devices);
  switch (kind) {
    case CollectiveKind::AllReduce:
      return sums_in_switch ? std::min(2 * others, 1.0) * bytes : 2 * others * bytes;
    case CollectiveKind::AllGather:
    case CollectiveKind::AllToAll:
      return others * bytes;
    case CollectiveKind::Send:
      return bytes;
  }
  return bytes;
}

namespace {

// A place between rows, and the bytes that cross it, which the next stage must receive. Each stage computes for itself
// the tensors that follow from inputs alone, without a product or a table (masks, positions).
struct Place {
  std::int32_t row = 0;  // the first row after the place
  Dim bytes = {};
};

// Arbitrary breadth of the search: candidate places per cut, those that the fewest bytes cross.
constexpr std::size_t kPlacesPerCut = 4;

std::vector<Place> places_between(const Model& model, const Analysis& analysis) {
  const Graph& graph = model.main();
  std::vector<bool> is_hidden(graph.values.size(), false);
  std::vector<std::int32_t> last(graph.values.size(), -1), made(graph.values.size(), -1);
  std::vector<ValueId> source(graph.values.size(), kAbsent);  // the value whose bytes a view shares
  for (std::size_t r = 0; r < analysis.nodes.size(); ++r) {
    const NodeReport& row = analysis.nodes[r];
    if (row.graph != 0) continue;
    const Node& node = graph.node(row.node);
    const auto place = static_cast<std::int32_t>(r);
    const bool looks_up =
        row.facts.kind == OpKind::Gather && node.input(0) != kAbsent && graph.is_stored(node.input(0));
    bool hidden =
        row.cost.mark == Mark::Compute &&
        (row.cost.macs != Dim(0) || (looks_up && node.input(1) != kAbsent && !graph.is_stored(node.input(1))));
    for (const ValueId input : node.inputs) {
      if (input == kAbsent) continue;
      hidden = hidden || (is_hidden[index(input)] && row.cost.mark != Mark::Host);
      for (ValueId v = input; v != kAbsent; v = source[index(v)]) last[index(v)] = place;
    }
    for (const ValueId output : node.outputs) {
      if (output == kAbsent) continue;
      is_hidden[index(output)] = hidden;
      made[index(output)] = place;
      if (row.cost.mark == Mark::View && node.input(0) != kAbsent) source[index(output)] = node.input(0);
    }
  }
  // The bytes that cross each place, by a sweep over the tensors' lifetimes.
  std::vector<std::vector<ValueId>> begins(analysis.nodes.size() + 1), ends(analysis.nodes.size() + 1);
  for (std::size_t v = 0; v < graph.values.size(); ++v) {
    if (!is_hidden[v] || last[v] <= made[v] || source[v] != kAbsent) continue;
    begins[index(made[v]) + 1].push_back(static_cast<ValueId>(v));
    ends[index(last[v]) + 1].push_back(static_cast<ValueId>(v));
  }
  std::vector<Place> places;
  Dim alive = 0;
  for (std::size_t r = 1; r < analysis.nodes.size(); ++r) {
    for (const ValueId v : begins[r]) alive += bytes_of(analysis.types[index(v)]).value_or(Dim(0));
    for (const ValueId v : ends[r]) alive -= bytes_of(analysis.types[index(v)]).value_or(Dim(0));
    if (alive != Dim(0)) places.push_back({static_cast<std::int32_t>(r), alive});
  }
  return places;
}

// The places that the fewest bytes cross: between layers, the hidden states, with or without a separate residual.
std::vector<Place> narrow_places(std::vector<Place> places, std::size_t cuts) {
  std::vector<Int> levels;
  levels.reserve(places.size());
  for (const Place& place : places) levels.push_back(place.bytes.evaluate({}));
  std::sort(levels.begin(), levels.end());
  if (levels.empty()) return places;
  const Int most = levels[std::min(levels.size() - 1, cuts * kPlacesPerCut)];
  std::erase_if(places, [&](const Place& place) { return place.bytes.evaluate({}) > most; });
  return places;
}

}  // namespace

std::vector<Stage> pipeline_stages(const Model& model, const Analysis& analysis, const Roofline& bound,
                                   std::int64_t count) {
  const std::vector<Place> places =
      narrow_places(places_between(model, analysis), index(static_cast<std::int32_t>(count - 1)));
  if (static_cast<std::int64_t>(places.size()) < count - 1)
    throw Error(cat(base::field("pipeline_parallel", count), ": the model has ", places.size(),
                    " places to cut it, and ", count - 1, " are needed"));
  std::vector<double> until(analysis.nodes.size() + 1, 0);  // seconds of all rows before
  for (std::size_t r = 0; r < analysis.nodes.size(); ++r) until[r + 1] = until[r] + bound.rows[r].seconds;
  // Bisects the time of the longest stage: stages are filled, one after another, up to a limit.
  const auto cuts = [&](double limit) {
    std::vector<std::size_t> chosen;  // indices in places
    double begin = 0;
    for (std::size_t p = 0; p < places.size(); ++p) {
      const double here = until[index(places[p].row)];
      const double next = p + 1 < places.size() ? until[index(places[p + 1].row)] : until.back();
      if (next - begin > limit && here > begin) {
        chosen.push_back(p);
        begin = here;
      }
    }
    return chosen;
  };
  double low = until.back() / static_cast<double>(count), high = until.back();
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    const auto chosen = cuts(middle);
    double longest = 0, begin = 0;
    for (const std::size_t p : chosen) {
      longest = std::max(longest, until[index(places[p].row)] - begin);
      begin = until[index(places[p].row)];
    }
    longest = std::max(longest, until.back() - begin);
    (static_cast<std::int64_t>(chosen.size()) < count && longest <= middle * (1 + 1e-12) ? high : low) = middle;
  }
  std::vector<std::size_t> chosen = cuts(high);
  // If fewer cuts suffice, the first unused places make up the rest.
  for (std::size_t p = 0; p < places.size() && static_cast<std::int64_t>(chosen.size()) < count - 1; ++p)
    if (std::find(chosen.begin(), chosen.end(), p) == chosen.end()) chosen.push_back(p);
  std::sort(chosen.begin(), chosen.end());
  std::vector<Stage> stages(1);
  for (const std::size_t p : chosen) {
    stages.back().end = places[p].row;
    stages.push_back({.begin = places[p].row, .received_bytes = places[p].bytes});
  }
  stages.back().end = static_cast<std::int32_t>(analysis.nodes.size());
  for (Stage& stage : stages) stage.seconds = until[index(stage.end)] - until[index(stage.begin)];
  return stages;
}

Analysis analysis_of_stage(const Model& model, const Analysis& analysis, const Stage& stage) {
  const Graph& graph = model.main();
  Analysis result = analysis;
  std::set<ValueId> used;
  for (std::int32_t r = stage.begin; r < stage.end; ++r) {
    const NodeReport& row = analysis.nodes[index(r)];
    if (row.graph != 0) continue;
    const Node& node = graph.node(row.node);
    used.insert(node.inputs.begin(), node.inputs.end());
    used.insert(node.outputs.begin(), node.outputs.end());
  }
  for (std::size_t v = 0; v < result.types.size(); ++v) {
    auto& shape = result.types[v].shape;
    if (used.contains(static_cast<ValueId>(v)) || !shape) continue;
    for (Dim& dim : *shape) dim = 0;
    if (shape->empty()) *shape = {Dim(0)};
  }
  Totals& totals = result.totals;
  totals.cost = {};
  totals.params = totals.param_bytes = 0;
  for (std::size_t r = 0; r < result.nodes.size(); ++r) {
    NodeReport& row = result.nodes[r];
    if (r >= index(stage.begin) && r < index(stage.end)) {
      totals.cost += row.cost;
      totals.params += row.params;
      totals.param_bytes += row.param_bytes;
      continue;
    }
    row.params = row.param_bytes = 0;
    OpCost nothing;
    nothing.precision = row.cost.precision;
    nothing.mark = row.cost.mark;
    row.cost = std::move(nothing);
  }
  count_memory(model, result);
  return result;
}

LinkRate link_of(const DeviceSpec& device, std::string_view name, std::int64_t devices) {
  const auto rate = [](const Link& link) {
    return LinkRate{link.name, link.bytes_per_second.value.value_or(0), link.bytes_per_second.source,
                    !link.sums_source.empty()};
  };
  LinkRate best;
  std::vector<std::string> known;
  for (const Link& link : device.links) {
    if (!link.bytes_per_second.known() || (link.devices > 0 && devices > link.devices)) continue;
    known.push_back(link.name);
    if (name.empty() ? rate(link).bytes_per_second > best.bytes_per_second
                     : base::lower(link.name) == base::lower(name))
      best = rate(link);
  }
  if (best.bytes_per_second > 0) return best;
  if (name.empty())
    throw Error(
        cat("the file of ", device.id, " states no link between ", devices, " devices; give `link=BYTES_PER_SECOND`"));
  throw Error(cat(base::field("link", name), ": ", device.id, " has no such link between ", devices,
                  " devices; expected ", base::joined(known), known.empty() ? "" : ", or ",
                  "bytes per second in one direction, such as 450e9"));
}

namespace {

// Seconds of a stage for one of `parts` micro-batches: it does its share of the arithmetic and activations, and reads
// all weights again.
double stage_seconds(const Analysis& analysis, const Roofline& bound, const Stage& stage, double parts) {
  double seconds = 0;
  for (std::int32_t r = stage.begin; r < stage.end; ++r) {
    const RowBound& row = bound.rows[index(r)];
    if (row.seconds <= 0) continue;
    const double bytes = std::max(row.bytes, 1.0);
    const double weights =
        std::min(static_cast<double>(analysis.nodes[index(r)].param_bytes.evaluate({})) / bytes, 1.0);
    seconds += std::max(row.compute_seconds / parts, row.memory_seconds * (weights + (1 - weights) / parts));
  }
  return seconds;
}

}  // namespace

ParallelTime parallel_time(const Analysis& analysis, const Roofline& bound, const std::vector<Collective>& collectives,
                           const std::vector<Stage>& stages, const LinkRate& link, double most_parts) {
  const std::vector<Stage> all =
      stages.empty() ? std::vector<Stage>{{0, static_cast<std::int32_t>(analysis.nodes.size()), bound.totals.seconds}}
                     : stages;
  std::vector<double> links(all.size(), 0);
  double link_total = 0;
  for (const Collective& collective : collectives) {
    const double seconds = sent_bytes(collective.kind, static_cast<double>(collective.bytes.evaluate({})),
                                      collective.devices, link.sums_in_switch) /
                           link.bytes_per_second;
    link_total += seconds;
    for (std::size_t s = 0; s < all.size(); ++s)
      if (collective.row >= all[s].begin && collective.row < all[s].end) links[s] += seconds;
  }
  ParallelTime best;
  best.seconds = std::numeric_limits<double>::infinity();
  for (double parts = 1; parts <= std::max(most_parts, 1.0); parts *= 2) {
    double sum = 0, longest = 0, work = 0;
    for (std::size_t s = 0; s < all.size(); ++s) {
      const double busy = all.size() == 1 ? bound.totals.seconds : stage_seconds(analysis, bound, all[s], parts);
      const double seconds = std::max(busy, links[s] / parts);
      sum += seconds;
      work += busy * parts;
      longest = std::max(longest, seconds);
    }
    const double seconds = sum + (parts - 1) * longest;
    if (seconds < best.seconds)
      best = {.seconds = seconds,
              .work_seconds = work,
              .link_seconds = link_total,
              .parts = static_cast<std::int64_t>(parts),
              .bubble = seconds > 0 ? 1 - sum * parts / (static_cast<double>(all.size()) * seconds) : 0,
              .interval_seconds = parts * longest};
    if (all.size() == 1) break;
  }
  return best;
}

}  // namespace pagoda::inline core

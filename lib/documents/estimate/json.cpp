// "pagoda.estimate/1" written and read: each part lists its members once, for both directions.
#include <algorithm>
#include <span>

#include "estimate/members.h"
#include "pagoda/base/files.h"

namespace pagoda::documents {
namespace {

using namespace members;

constexpr const char* kSchema = "pagoda.estimate/1";
constexpr std::string_view kExpected = "an estimate, as onnx-estimate MODEL --format json writes it";

constexpr std::pair<Container, std::string_view> kContainers[] = {{Container::Sequence, "sequence("},
                                                                  {Container::Optional, "optional("},
                                                                  {Container::OptionalSequence, "optional(sequence("},
                                                                  {Container::Map, "map("},
                                                                  {Container::SparseTensor, "sparse_tensor("}};

bool set_type(TensorType& type, std::string_view name) {
  for (const auto& [container, opening] : kContainers)
    // "optional(" begins "optional(sequence(", too: there the rest is no element type.
    if (name.starts_with(opening) && name.ends_with(')')) {
      const std::string_view element =
          name.substr(opening.size(), name.find(')') < opening.size() ? 0 : name.find(')') - opening.size());
      if (const auto found = element_type(element)) {
        type.container = container;
        type.element = *found;
        return true;
      }
    }
  const auto found = element_type(name);
  if (found) type.element = *found;
  return found.has_value();
}

template <typename A>
void counts(A& a, typename A::template Ref<EstimateCounts> x) {
  for (const auto& [name, member] : kEstimateCounts) a(name, x.*member);
}

// Intensity follows from counts.
template <typename A>
void intensity(A& a, const EstimateCounts& x) {
  std::optional<double> ratio = x.intensity();
  a("intensity", ratio);
}

template <typename A>
void formulas(A& a, typename A::template Ref<EstimateFormulas> x) {
  a("macs", x.macs);
  a.maybe("flops", x.flops);
  a("bytes", x.bytes);
}

template <typename A>
void model(A& a, typename A::template Ref<EstimateModel> x) {
  a("path", x.path);
  a("name", x.name);
  a("ir_version", x.ir_version);
  a.object("opsets", Layout::Line, [&](A& inner) {
    if constexpr (A::kReads) {
      inner.each_member(
          [&](const std::string& domain, const JsonField& version) { inner.read(version, x.opsets[domain]); });
    } else {
      inner.entries(x.opsets);
    }
  });
  a("producer", x.producer);
  a("nodes", x.nodes);
  a("functions", x.functions);
}

template <typename A, typename Doc>
void bindings(A& a, Doc& x) {
  a.object("bindings", Layout::Line, [&](A& inner) {
    if constexpr (A::kReads) {
      inner.each_member([&](const std::string& name, const JsonField& value) {
        if (value.value().is_text())
          inner.read(value, x.renamed[name]);
        else
          inner.read(value, x.bindings[name]);
      });
    } else {
      inner.entries(x.bindings);
      for (const auto& [name, identifier] : x.renamed)
        if (!x.bindings.contains(name)) inner.json().member(name, identifier);
    }
  });
}

template <typename A>
void totals(A& a, typename A::template Ref<EstimateTotals> x) {
  counts(a, x.counts);
  a("intensity", x.intensity);
  a("activation_peak_bytes", x.activation_peak_bytes);
  a("unmodelled_nodes", x.unmodelled_nodes);
  a("unmodelled_ops", x.unmodelled_ops);
  a("partial", x.partial);
  if constexpr (A::kReads) {
    if (a.has("at_load")) x.at_load.emplace();
  }
  if (x.at_load)
    a.object("at_load", Layout::Line, [&](A& inner) {
      inner("macs", x.at_load->macs);
      inner("arith", x.at_load->arith);
      inner("special", x.at_load->special);
      inner("flops", x.at_load->flops);
    });
}

template <typename A>
void output(A& a, typename A::template Ref<OutputInfo> x) {
  a("name", x.name);
  if constexpr (A::kReads) {
    std::string type;
    a("type", type);
    if (!type.empty() && !set_type(x.type, type)) a.all().at("type").fail_expected("a type");
  } else {
    a("type", type_name(x.type));
  }
  a("shape", x.type.shape);
}

// A type or null.
template <typename A>
void element(A& a, const char* key, typename A::template Ref<ElementType> x) {
  if constexpr (A::kReads) {
    a(key, x);
  } else {
    a(key, x == ElementType::Undefined ? std::nullopt : std::optional(x));
  }
}

template <typename A>
void node(A& a, typename A::template Ref<EstimateNode> x, bool has_groups) {
  a("index", x.index);
  a("name", x.name);
  a("op_type", x.op_type);
  a("domain", x.domain);
  a("scope", x.scope);
  a.maybe("body", x.body);
  a("inputs", x.inputs);
  a.list("outputs", x.outputs, [](A& inner, auto& each) { output(inner, each); });
  counts(a, x.counts);
  intensity(a, x.counts);
  element(a, "precision", x.precision);
  if (A::kReads || x.dequantized_from != ElementType::Undefined) a("dequantized_from", x.dequantized_from);
  if constexpr (A::kReads) {
    a("group", x.group);
  } else {
    if (has_groups) a("group", x.group < 0 ? Count() : Count(x.group));
  }
  a("mark", x.mark);
  a.maybe("problem", x.problem);
  part(a, "symbolic", Layout::Line, x.symbolic, formulas<A>);
}

template <typename A>
void type_row(A& a, typename A::template Ref<EstimateType> x) {
  a("op_type", x.op_type);
  a("domain", x.domain);
  a("nodes", x.nodes);
  a("unmodelled_nodes", x.unmodelled_nodes);
  counts(a, x.counts);
  intensity(a, x.counts);
  a.maybe("seconds", x.seconds);
  part(a, "symbolic", Layout::Line, x.symbolic, formulas<A>);
}

// Tensors alive at the peak, by name. Several may have the same, such as the empty one of what lives inside a body.
template <typename A>
void peak_tensors(A& a, typename A::template Ref<EstimateMemory> x, std::vector<std::string>& names) {
  if constexpr (!A::kReads)
    for (const std::size_t tensor : x.peak_tensors) names.push_back(x.tensors[tensor].name);
  a("peak_tensors", names);
}

void find_peak_tensors(const Reader& reader, EstimateMemory& x, const std::vector<std::string>& names) {
  std::map<std::string_view, std::vector<std::size_t>> alive;  // at the peak, the largest last
  for (std::size_t i = 0; i < x.tensors.size(); ++i) {
    const EstimateMemory::Tensor& tensor = x.tensors[i];
    const auto peak = static_cast<std::int64_t>(x.peak_step);
    if (tensor.first_step <= peak && peak <= tensor.last_step) alive[tensor.name].push_back(i);
  }
  for (auto& [name, tensors] : alive)
    std::stable_sort(tensors.begin(), tensors.end(),
                     [&](std::size_t a, std::size_t b) { return x.tensors[a].bytes < x.tensors[b].bytes; });
  for (const std::string& name : names) {
    std::vector<std::size_t>& tensors = alive[name];
    if (tensors.empty()) reader.all().at("peak_tensors").fail_expected("names of tensors that are alive at the peak");
    x.peak_tensors.push_back(tensors.back());
    tensors.pop_back();
  }
}

template <typename A>
void memory(A& a, typename A::template Ref<EstimateMemory> x) {
  a("excludes", x.excludes);
  a("peak_bytes", x.peak_bytes);
  a("peak_step", x.peak_step);
  a.maybe("peak_formula", x.peak_formula);
  std::vector<std::string> peak_names;
  peak_tensors(a, x, peak_names);
  a("arena_bytes", x.arena_bytes);
  a("timeline", x.timeline);
  a("order", x.order);
  a("names", x.names);
  a("op_types", x.op_types);
  a.list("tensors", x.tensors, [](A& inner, auto& each) {
    inner("name", each.name);
    inner("bytes", each.bytes);
    inner("first_step", each.first_step);
    inner("last_step", each.last_step);
    inner("offset", each.offset);
    inner("shared_by", each.shared_by);
  });
  if constexpr (A::kReads) find_peak_tensors(a, x, peak_names);
  a.list("weights", x.weights, [](A& inner, auto& each) {
    inner("type", each.type);
    inner("tensors", each.tensors);
    inner("elements", each.elements);
    inner("bytes", each.bytes);
  });
  part(a, "kv_cache", Layout::Line, x.kv_cache, [](A& inner, auto& cache) {
    inner("bytes_per_token", cache.bytes_per_token);
    inner("past_bytes", cache.past_bytes);
    inner("shared_bytes", cache.shared_bytes);
    inner("separate_bytes", cache.separate_bytes);
    inner("written_bytes", cache.written_bytes);
    inner("copied_bytes", cache.copied_bytes);
    inner("pairs", cache.pairs);
  });
  part(a, "reordered", Layout::Block, x.reordered, [](A& inner, auto& better) {
    inner("peak_bytes", better.peak_bytes);
    inner("arena_bytes", better.arena_bytes);
    inner("order", better.order);
  });
  a("unsized", x.unsized);
}

template <typename A>
void phase_of(A& a, typename A::template Ref<EstimatePhase> x) {
  a("name", x.phase);
  a("tokens", x.tokens);
  a("cache_bytes_per_token", x.cache_bytes_per_token);
  a("bytes_per_token", x.bytes_per_token);
  a("sequence_tokens", x.sequence_tokens);
  part(a, "speculated", Layout::Line, x.speculated, [](A& inner, auto& speculated) {
    inner("tokens", speculated.tokens);
    inner("acceptance", speculated.acceptance);
    inner("tokens_per_step", speculated.tokens_per_step);
  });
  a.maybe("user_tokens_per_second", x.user_tokens_per_second);
  a.maybe("device_tokens_per_second", x.device_tokens_per_second);
  if constexpr (A::kReads) x.is_timed = a.all().has("tokens_per_second");
  if (x.is_timed) a("tokens_per_second", x.tokens_per_second);
}

// The place in a list, which readers do not need.
template <typename A>
void place_in_list(A& a, std::size_t index) {
  a("index", index);
}

template <typename A>
void traffic(A& a, typename A::template Ref<EstimateTraffic> x) {
  a("model", x.model);
  a("bytes_read", x.bytes_read);
  a("bytes_written", x.bytes_written);
  a("bytes", x.bytes);
  std::size_t index = 0;
  a.list("groups", x.groups, [&](A& inner, auto& group) {
    place_in_list(inner, index++);
    inner("rule", group.rule);
    inner("nodes", group.nodes);
    inner("joined_by", group.joined_by);
    counts(inner, group.counts);
    intensity(inner, group.counts);
    inner("saved_bytes", group.saved_bytes);
    part(inner, "symbolic", Layout::Line, group.symbolic, formulas<A>);
  });
  if (A::kReads || x.model == TrafficModel::Resident)
    a.list("stayed", x.stayed, [](A& inner, auto& tensor) {
      inner("value", tensor.value);
      inner("bytes", tensor.bytes);
      inner("saved_bytes", tensor.saved_bytes);
      inner("in_memory", tensor.in_memory);
    });
}

template <typename A>
void times(A& a, typename A::template Ref<RooflineTotals> x) {
  a("seconds", x.seconds);
  a("floor_seconds", x.floor_seconds);
  a("eager_seconds", x.eager_seconds);
  a("compute_seconds", x.compute_seconds);
  a("memory_seconds", x.memory_seconds);
  a("launches", x.launches);
}

// Of a node, with the kernel it runs in, or of a group.
template <typename A>
void bound(A& a, typename A::template Ref<RowBound> x, bool is_node) {
  a("index", x.row);
  if constexpr (A::kReads) {
    a("group", x.group);
  } else {
    if (is_node) a("group", x.group < 0 ? Count() : Count(x.group));
  }
  a("bound", x.bound);
  const bool is_known = x.bound != Bound::Unknown;
  a.known("seconds", x.seconds, is_known);
  a.known("compute_seconds", x.compute_seconds, is_known);
  a.known("memory_seconds", x.memory_seconds, is_known);
  a.known("share", x.share, is_known);
  a("headroom", x.headroom);
  a.known("flops", x.flops, is_known);
  a.known("bytes", x.bytes, is_known);
  a("intensity", x.intensity);
  a("precision", x.precision);
  a("unit", x.unit);
  a("level", x.level);
}

template <typename A>
void parallel(A& a, typename A::template Ref<EstimateParallel> x) {
  a("tensor", x.devices.tensor);
  a("pipeline", x.devices.pipeline);
  a("expert", x.devices.expert);
  a("link", x.link.name);
  a("link_bytes_per_second", x.link.bytes_per_second);
  a("seconds", x.time.seconds);
  a("work_seconds", x.time.work_seconds);
  a("link_seconds", x.time.link_seconds);
  a("parts", x.time.parts);
  a("bubble", x.time.bubble);
  a("interval_seconds", x.time.interval_seconds);
  a.object("device", Layout::Line, [&](A& inner) {
    inner("macs", x.macs);
    inner("bytes", x.bytes);
    inner("weight_bytes", x.weight_bytes);
    inner("cache_bytes", x.cache_bytes);
  });
  a.object("products", Layout::Line, [&](A& inner) {
    inner("columns", x.column_products);
    inner("rows", x.row_products);
    inner("whole", x.whole_products);
    inner("whole_weight_bytes", x.whole_weight_bytes);
    inner.maybe("whole_reason", x.whole_reason);
  });
  a.list("collectives", x.collectives, [](A& inner, auto& each) {
    inner("kind", each.kind);
    inner("node", each.node);
    inner("bytes", each.bytes);
    inner("seconds", each.seconds);
  });
  a.list("stages", x.stages, [](A& inner, auto& each) {
    inner("begin", each.begin);
    inner("end", each.end);
    inner("seconds", each.seconds);
    inner("weight_bytes", each.weight_bytes);
    inner("cache_bytes", each.cache_bytes);
    inner("received_bytes", each.received_bytes);
  });
}

template <typename A>
void roofline(A& a, typename A::template Ref<EstimateRoofline> x) {
  a("device", x.device);
  a("device_name", x.device_name);
  a.maybe("power_mode", x.power_mode);
  a("measured", x.measured);
  a("precision", x.precision);
  a("traffic", x.traffic);
  times(a, x.totals);
  a("unknown_nodes", x.totals.unknown_rows);
  a("at_least", x.totals.at_least);
  a("items", x.items);
  a("launch_overhead_seconds", x.launch_overhead_seconds);
  a("launch_overhead_assumed", x.launch_is_assumed);
  part(a, "predicted", Layout::Line, x.predicted, [](A& inner, auto& predicted) {
    inner("seconds", predicted.seconds);
    inner("low", predicted.low);
    inner("high", predicted.high);
    inner("coverage", predicted.coverage);
    inner("engine", predicted.engine);
    inner("calibration", predicted.calibration);
    inner.maybe("node_seconds", predicted.nodes);
    inner.maybe("joules", predicted.joules);
    inner.maybe("joules_per_item", predicted.joules_per_item);
    part(inner, "memory", Layout::Line, predicted.memory, [](A& within, auto& memory) {
      within("bytes", memory.bytes);
      within("low", memory.low);
      within("high", memory.high);
      within("coverage", memory.coverage);
      within("load_bytes", memory.load_bytes);
      within("run_bytes", memory.run_bytes);
    });
  });
  part(a, "parallel", Layout::Block, x.parallel, parallel<A>);
  part(a, "energy", Layout::Line, x.energy, [](A& inner, auto& energy) {
    inner("precision", energy.precision);
    inner("joules_per_flop", energy.joules_per_flop);
    inner("joules_per_byte", energy.joules_per_byte);
    inner("constant_watts", energy.constant_watts);
    inner("joules", energy.joules);
    inner("work_joules", energy.work_joules);
    inner("traffic_joules", energy.traffic_joules);
    inner("constant_joules", energy.constant_joules);
    inner("flops_per_joule", energy.flops_per_joule);
    inner("joules_per_item", energy.joules_per_item);
    inner("time_balance", energy.time_balance);
    inner("energy_balance", energy.energy_balance);
    inner("race_to_idle", energy.race_to_idle);
  });
  part(a, "handover", Layout::Line, x.handover, [](A& inner, auto& handover) {
    inner("device", handover.device);
    inner("cache_bytes", handover.cache_bytes);
    inner("link", handover.link.name);
    inner("link_bytes_per_second", handover.link.bytes_per_second);
    inner("transfer_seconds", handover.transfer_seconds);
    inner("decode_seconds", handover.decode_seconds);
  });
  a.list("nodes", x.nodes, [](A& inner, auto& each) { bound(inner, each, true); });
  if (A::kReads || !x.groups.empty())
    a.list("groups", x.groups, [](A& inner, auto& each) { bound(inner, each, false); });
}

template <typename A>
void fit(A& a, typename A::template Ref<EstimateFit> x) {
  for (const auto& [name, member] : kEstimateFit) a(name, x.*member);
  a("at_least", x.at_least);
  a("fits", x.fits);
  a("largest_batch", x.largest_batch);
  a("longest_context", x.longest_context);
  a.maybe("memory_context", x.memory_context);
  part(a, "position_table", Layout::Line, x.position_table, [](A& inner, auto& table) {
    inner("name", table.name);
    inner("positions", table.positions);
  });
}

template <typename A>
void variant(A& a, typename A::template Ref<EstimateVariant> x) {
  a("device", x.device);
  a("precision", x.precision);
  a("traffic", x.traffic);
  a("total_bytes", x.total_bytes);
  a("device_bytes", x.device_bytes);
  a("fits", x.fits);
  a("seconds", x.seconds);
  a("floor_seconds", x.floor_seconds);
  a("at_least", x.at_least);
  a("bound", x.bound);
  a("items_per_second", x.items_per_second);
  a.maybe("largest_batch", x.largest_batch);
  a.maybe("longest_context", x.longest_context);
  a.maybe("joules", x.joules);
  a.maybe("price_per_million", x.price_per_million);
  part(a, "predicted", Layout::Line, x.predicted, [](A& inner, auto& predicted) {
    inner("engine", predicted.engine);
    inner("seconds", predicted.seconds);
    inner("low", predicted.low);
    inner("high", predicted.high);
    inner("float_products", predicted.float_products);
    inner("unfused_conversions", predicted.unfused_conversions);
  });
}

template <typename A>
void work(A& a, const char* key, typename A::template Ref<EstimateWork> x, bool has_flops) {
  a.object(key, Layout::Line, [&](A& inner) {
    inner("macs", x.macs);
    inner("arith", x.arith);
    inner("special", x.special);
    if (has_flops) inner("flops", x.flops);
    inner("bytes_read", x.bytes_read);
    inner("bytes_written", x.bytes_written);
  });
}

template <typename A>
void training(A& a, typename A::template Ref<EstimateTraining> x) {
  a("optimizer", x.optimizer);
  a("recompute", x.recompute);
  a("trained_params", x.trained_params);
  a.object("totals", Layout::Block, [&](A& inner) {
    for (const auto& [name, member] : kTrainingParts) work(inner, name, x.*member, true);
  });
  if constexpr (A::kReads) {
    if (a.has("seconds")) x.time.emplace();
  }
  if (x.time) {
    a("seconds", x.time->seconds);
    a("eager_seconds", x.time->eager_seconds);
    a("floor_seconds", x.time->floor_seconds);
  }
  a.object("memory", Layout::Block, [&](A& inner) {
    for (const auto& [name, member] : kTrainingMemory) inner(name, x.*member);
  });
  a.object("symbolic", Layout::Block, [&](A& inner) {
    inner("macs", x.macs_formula);
    inner("bytes", x.bytes_formula);
    inner("saved_activation_bytes", x.saved_activation_formula);
  });
  a("unmodelled_nodes", x.unmodelled_nodes);
  a("unmodelled_ops", x.unmodelled_ops);
  a("partial", x.partial);
  a.list("rows", x.rows, [](A& inner, auto& row) {
    inner("node", row.node);
    inner("part", row.part);
    inner("flops", row.bound.flops);
    inner("bytes", row.bound.bytes);
    inner("bound", row.bound.bound);
    const bool is_known = row.bound.bound != Bound::Unknown;
    inner.known("seconds", row.bound.seconds, is_known);
    inner.known("compute_seconds", row.bound.compute_seconds, is_known);
    inner.known("memory_seconds", row.bound.memory_seconds, is_known);
    inner("precision", row.bound.precision);
    inner("unit", row.bound.unit);
  });
  a.list("nodes", x.nodes, [](A& inner, auto& row) {
    inner("index", row.index);
    work(inner, "dx", row.dx, false);
    work(inner, "dw", row.dw, false);
    inner("gradient_bytes", row.gradient_bytes);
    inner("parameter_gradient_bytes", row.parameter_gradient_bytes);
    inner("saved_bytes", row.saved_bytes);
    inner.list("saved", row.saved, [](A& in, auto& tensor) {
      in("kind", tensor.kind);
      in("what", tensor.what);
      in("bytes", tensor.bytes);
    });
    inner("recomputed", row.recomputed);
    inner.maybe("problem", row.problem);
  });
}

template <typename A>
void sweep_of(A& a, typename A::template Ref<EstimateSweep> x) {
  a("dims", x.dims);
  a("symbols", x.symbols);
  a.maybe("device_bytes", x.device_bytes);
  a("traffic", x.traffic);
  part(a, "ridge", Layout::Line, x.ridge, [&](A& inner, auto& ridge) {
    std::string dim = x.dims.empty() ? "" : x.dims[0];
    inner("dim", dim);
    inner("size", ridge.size);
    inner("at_start", ridge.at_start);
  });
  std::size_t place = 0;
  a.list("points", x.points, [&](A& inner, auto& point) {
    const std::size_t at = place++;
    if constexpr (A::kReads) {
      point.sizes.resize(x.dims.size());
      if (inner.has("measured_seconds")) x.measured.resize(at + 1);
    }
    for (std::size_t i = 0; i < x.dims.size(); ++i) inner(x.dims[i].c_str(), point.sizes[i]);
    inner("macs", point.macs);
    inner("flops", point.flops);
    inner("param_bytes", point.param_bytes);
    inner("bytes_read", point.bytes_read);
    inner("bytes_written", point.bytes_written);
    inner("bytes", point.bytes);
    inner("intensity", point.intensity);
    inner("activation_peak_bytes", point.activation_peak_bytes);
    inner("memory_bytes", point.memory_bytes);
    if constexpr (A::kReads) {
      if (inner.has("seconds")) point.time.emplace();
    }
    if (point.time) {
      times(inner, *point.time);
      inner("items", point.items);
      inner("bound", point.bound);
    }
    if constexpr (A::kReads) {
      if (inner.has("joules")) x.joules.resize(at + 1);
    }
    if (at < x.joules.size()) inner("joules", x.joules[at]);
    if (at >= x.measured.size()) return;
    inner("measured_seconds", x.measured[at].seconds);
    inner("measured_joules", x.measured[at].joules);
  });
}

// All but "schema" and "nodes"; `rows` stands where the rows do.
template <typename A, typename Doc, typename Rows>
void document(A& a, Doc& x, const Rows& rows) {
  a.maybe("tool", x.tool);
  a.object("model", Layout::Block, [&](A& inner) { model(inner, x.model); });
  bindings(a, x);
  a("count", x.count);
  a.maybe("precision", x.precision);
  a.object("totals", Layout::Block, [&](A& inner) { totals(inner, x.totals); });
  rows();
  part(a, "symbolic", Layout::Block, x.symbolic, [](A& inner, auto& symbolic) {
    formulas(inner, symbolic.totals);
    inner.maybe("activation_peak_bytes", symbolic.activation_peak_bytes);
  });
  if (A::kReads || !x.symbols.empty())
    a.list("symbols", x.symbols, [](A& inner, auto& symbol) {
      inner("name", symbol.name);
      inner("node", symbol.node);
      inner("cause", symbol.cause);
      inner("upper", symbol.upper);
    });
  part(a, "memory", Layout::Block, x.memory, memory<A>);
  part(a, "phase", Layout::Line, x.phase, phase_of<A>);
  part(a, "traffic", Layout::Block, x.traffic, traffic<A>);
  part(a, "roofline", Layout::Block, x.roofline, roofline<A>);
  part(a, "fit", Layout::Line, x.fit, fit<A>);
  part(a, "measured", Layout::Line, x.measured, [](A& inner, auto& run) {
    inner("source", run.source);
    inner("seconds", run.seconds);
    inner("shortest", run.shortest);
    inner("longest", run.longest);
    inner("joules", run.joules);
    inner("bound_share", run.bound_share);
  });
  if (A::kReads || !x.advice.empty())
    a.list("advice", x.advice, [](A& inner, auto& each) {
      std::string change = each.change();  // follows from the next three
      inner("change", change);
      inner.maybe("traffic", each.traffic);
      inner.maybe("precision", each.precision);
      inner.maybe("batch", each.batch);
      inner("seconds", each.seconds);
      inner("gain", each.gain);
    });
  if (A::kReads || !x.variants.empty())
    a.list("variants", x.variants, [](A& inner, auto& each) { variant(inner, each); });
  part(a, "training", Layout::Block, x.training, training<A>);
  part(a, "sweep", Layout::Block, x.sweep, sweep_of<A>);
  if constexpr (A::kReads) {
    if (a.has("budgets")) x.budgets.emplace();
  }
  if (x.budgets)
    a.list("budgets", *x.budgets, [](A& inner, auto& result) {
      inner("budget", result.budget);
      inner("limit", result.limit);
      inner("verdict", result.verdict);
      inner("value", result.value);
      inner("causes", result.causes);
    });
  a.list("diagnostics", x.diagnostics, [](A& inner, auto& diagnostic) {
    inner("severity", diagnostic.severity);
    inner("node", diagnostic.node);
    inner("message", diagnostic.message);
  });
}

}  // namespace

std::string type_name(const TensorType& type) {
  std::string text(to_string(type.element));
  for (const auto& [container, opening] : kContainers)
    if (container == type.container) {
      const auto depth = std::count(opening.begin(), opening.end(), '(');
      return std::string(opening) + text + std::string(static_cast<std::size_t>(depth), ')');
    }
  return text;
}

std::string write_estimate(const EstimateDocument& estimate, std::size_t top) {
  JsonWriter json;
  Writer writer(json);
  json.begin_object();
  json.member("schema", kSchema);
  document(writer, estimate, [&] {
    const auto write_node = [&](Writer& inner, const EstimateNode& row) {
      node(inner, row, estimate.traffic.has_value());
    };
    if (estimate.types)
      writer.list("types",
                  std::span(*estimate.types).first(std::min(top == 0 ? SIZE_MAX : top, estimate.types->size())),
                  type_row<Writer>);
    else if (top == 0)
      writer.list("nodes", estimate.nodes, write_node);
    else
      writer.list("nodes", heaviest(estimate, top),
                  [&](Writer& inner, const EstimateNode* row) { write_node(inner, *row); });
  });
  json.end_object();
  return std::move(json).text();
}

EstimateDocument parse_estimate(std::string_view json, std::string_view subject) {
  EstimateDocument estimate;
  Unknown unknown{subject.size()};
  const base::JsonDocument rest = base::parse_json_elements(
      json, subject, "nodes",
      [&](const JsonField& row, std::size_t) {
        Reader inner(row, unknown);
        node(inner, estimate.nodes.emplace_back(), true);
        inner.finish();
      },
      false);
  if (rest.schema() != kSchema)
    base::fail(subject, std::string("expected \"schema\": \"") + kSchema +
                            "\"; write one with onnx-estimate MODEL --format json");
  const JsonField root = rest.root();
  Reader reader(root, unknown);
  std::string schema;
  reader("schema", schema);
  document(reader, estimate, [&] {
    if (!reader.has("types") && !reader.has("nodes")) base::fail(subject, "has no array \"nodes\"");
    std::vector<EstimateNode> read_above;
    reader.list("nodes", read_above, [](Reader&, EstimateNode&) {});
    if (reader.has("types")) reader.list("types", estimate.types.emplace(), type_row<Reader>);
  });
  reader.finish();
  estimate.unknown.assign(unknown.paths.begin(), unknown.paths.end());
  return estimate;
}

EstimateDocument load_estimate(const std::string& path) {
  return parse_estimate(base::read_file(path, kExpected), path);
}

}  // namespace pagoda::documents

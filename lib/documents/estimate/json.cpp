// Writes and reads pagoda.estimate/1: each part lists its members once, for both directions.
#include <algorithm>
#include <map>
#include <span>

#include "estimate/json_parts.h"
#include "pagoda/base/files.h"

namespace pagoda::documents {
namespace {

using namespace members;

constexpr const char* kSchema = "pagoda.estimate/1";
constexpr std::string_view kExpected = "pagoda.estimate/1, as onnx-estimate MODEL --format json writes it";

constexpr std::pair<Container, std::string_view> kContainers[] = {{Container::Sequence, "sequence("},
                                                                  {Container::Optional, "optional("},
                                                                  {Container::OptionalSequence, "optional(sequence("},
                                                                  {Container::Map, "map("},
                                                                  {Container::SequenceOfMaps, "sequence(map("},
                                                                  {Container::SparseTensor, "sparse_tensor("}};

bool set_type(TensorType& type, std::string_view name) {
  for (const auto& [container, opening] : kContainers) {
    // "optional(" is also a prefix of "optional(sequence(", but the rest is then not an element type.
    if (!name.starts_with(opening) || !name.ends_with(')')) continue;
    std::string_view element = name.substr(opening.size(), name.find(')') - opening.size());
    ElementType key = ElementType::Undefined;
    if (const std::size_t comma = element.find(','); comma != std::string_view::npos && opening.ends_with("map(")) {
      const auto known = element_type(element.substr(0, comma));
      if (!known) continue;
      key = *known;
      element.remove_prefix(comma + 1);
    }
    if (const auto found = element_type(element)) {
      type.container = container;
      type.element = *found;
      type.key = key;
      return true;
    }
  }
  const auto found = element_type(name);
  if (found) type.element = *found;
  return found.has_value();
}

// The columns of a row.
template <typename A>
void row(A& a, const std::vector<const ResultColumn*>& columns, const Row& x) {
  for (const ResultColumn* column : columns) {
    if constexpr (A::kReads) {
      column->read(a, *column, x);
    } else {
      column->write(a, *column, x);
    }
  }
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
  row(a, columns_of(RowKind::Total, View::Json), {.counts = &x.counts});
  a("intensity", x.intensity);
  if (A::kReads || x.weight_bytes != x.counts.param_bytes) a.maybe("weight_bytes", x.weight_bytes);
  if constexpr (A::kReads)
    if (!x.weight_bytes) x.weight_bytes = x.counts.param_bytes;
  a("activation_peak_bytes", x.activation_peak_bytes);
  a("unmodelled_nodes", x.unmodelled_nodes);
  a("unmodelled_ops", x.unmodelled_ops);
  a("partial", x.partial);
  part(a, "at_load", Layout::Line, x.at_load,
       [](A& inner, auto& counts) { row(inner, columns_of(RowKind::AtLoad, View::Json), {.counts = &counts}); });
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

// Names of tensors that are alive at the peak need not be unique: tensors inside bodies have empty ones.
void find_peak_tensors(const Reader& reader, EstimateMemory& x, const std::vector<std::string>& names) {
  std::map<std::string_view, std::vector<std::size_t>> alive;  // at the peak, largest last
  for (std::size_t i = 0; i < x.tensors.size(); ++i) {
    const PlannedTensor& tensor = x.tensors[i];
    if (tensor.first_step <= x.peak_step && x.peak_step <= tensor.last_step) alive[tensor.name].push_back(i);
  }
  for (auto& [name, tensors] : alive)
    std::ranges::stable_sort(tensors, {}, [&](std::size_t i) { return x.tensors[i].bytes; });
  for (const std::string& name : names) {
    std::vector<std::size_t>& tensors = alive[name];
    if (tensors.empty()) reader.all().at("peak_tensors").fail_expected("names of tensors that are alive at the peak");
    x.peak_tensors.push_back(tensors.back());
    tensors.pop_back();
  }
}

template <typename A>
void cache(A& a, typename A::template Ref<KvCache> x) {
  a("bytes_per_token", x.bytes_per_token);
  a("past_bytes", x.past_bytes);
  a("shared_bytes", x.shared_bytes);
  a("separate_bytes", x.separate_bytes);
  a("written_bytes", x.written_bytes);
  a("copied_bytes", x.copied_bytes);
  std::size_t pairs = x.pairs.size();  // files state no more of them
  a("pairs", pairs);
  if constexpr (A::kReads) {
    constexpr std::size_t kMost = 1'000'000;
    if (pairs > kMost) a.all().at("pairs").fail_expected("a number of tensors");
    x.pairs.resize(pairs);
  }
}

template <typename A>
void memory(A& a, typename A::template Ref<EstimateMemory> x) {
  a("excludes", x.excludes);
  Count peak = Count(x.peak_bytes).at_least(x.is_at_least), arena = Count(x.arena_bytes).at_least(x.is_at_least);
  a("peak_bytes", peak);
  if constexpr (A::kReads) {
    x.peak_bytes = peak.value_or(0);
    x.is_at_least = peak.is_at_least();
  }
  a("peak_step", x.peak_step);
  a.maybe("peak_formula", x.peak_text);
  std::vector<std::string> peak_names;
  if constexpr (!A::kReads)
    for (const std::size_t tensor : x.peak_tensors) peak_names.push_back(x.tensors[tensor].name);
  a("peak_tensors", peak_names);
  a("arena_bytes", arena);
  if constexpr (A::kReads) x.arena_bytes = std::optional<Int>(arena);
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
    inner("type", each.element);
    inner("tensors", each.tensors);
    inner("elements", each.elements);
    inner("bytes", each.bytes);
  });
  if (A::kReads || !x.kv_cache.pairs.empty())
    a.object("kv_cache", Layout::Line, [&](A& inner) { cache(inner, x.kv_cache); });
  part(a, "reordered", Layout::Block, x.reordered, [](A& inner, auto& better) {
    inner("peak_bytes", better.peak_bytes);
    inner("arena_bytes", better.arena_bytes);
    inner("order", better.order);
  });
  a("unsized", x.unsized);
}

template <typename A>
void traffic(A& a, typename A::template Ref<EstimateTraffic> x) {
  a("model", x.model);
  a("bytes_read", x.bytes_read);
  a("bytes_written", x.bytes_written);
  a("bytes", x.bytes);
  a.maybe("bytes_formula", x.bytes_formula);
  std::size_t index = 0;
  const auto columns = columns_of(RowKind::Kernel, View::Json);
  a.list("groups", x.groups, [&](A& inner, auto& kernel) {
    row(inner, columns, {.index = index++, .kernel = &kernel, .counts = &kernel.counts});
  });
  if (A::kReads || x.model == TrafficModel::Resident)
    a.list("stayed", x.stayed, [](A& inner, auto& tensor) {
      inner("value", tensor.name);
      inner("bytes", tensor.bytes);
      inner("saved_bytes", tensor.bytes_saved);
      inner("in_memory", tensor.in_memory);
    });
}

template <typename A>
void parallel(A& a, typename A::template Ref<EstimateParallel> x) {
  fields(a, x.devices);
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

// "eager_seconds" is the former name of "launched_seconds", and stays beside it.
template <typename A>
void launched(A& a, typename A::template Ref<RooflineTotals> x) {
  if constexpr (A::kReads) {
    std::optional<double> seconds;  // of files that lack it, the former name holds
    a.maybe("launched_seconds", seconds);
    if (seconds) x.eager_seconds = seconds;
  } else {
    a("launched_seconds", x.eager_seconds);
  }
}

template <typename A>
void roofline(A& a, typename A::template Ref<EstimateRoofline> x) {
  a("device", x.device);
  a("device_name", x.device_name);
  a.maybe("power_mode", x.power_mode);
  a("measured", x.measured);
  a("precision", x.precision);
  a("traffic", x.traffic);
  row(a, columns_of(RowKind::Run, View::Json), {.run = &x.totals});
  launched(a, x.totals);
  a("fused_seconds", x.fused_seconds);
  a("unfused_seconds", x.unfused_seconds);
  a("unknown_nodes", x.totals.unknown_rows);
  a("at_least", x.totals.at_least);
  a("items", x.items);
  a("launch_overhead_seconds", x.launch_overhead_seconds);
  a("launch_overhead_assumed", x.launch_is_assumed);
  part(a, "predicted", Layout::Line, x.predicted, [](A& inner, auto& predicted) {
    interval(inner, predicted);
    inner("coverage", predicted.coverage);
    inner.maybe("no_interval", predicted.no_interval);
    inner("engine", predicted.engine);
    inner("calibration", predicted.calibration);
    inner.maybe("node_seconds", predicted.row_seconds);
    part(inner, "other_placement", Layout::Line, predicted.other_placement, [](A& other, auto& placement) {
      other("apart", placement.is_apart);
      other("seconds", placement.seconds);
      other("share", placement.share);
    });
    inner.maybe("joules", predicted.joules);
    inner.maybe("joules_per_item", predicted.joules_per_item);
    engine_memory(inner, predicted);
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
  const auto nodes = columns_of(RowKind::NodeTime, View::Json), groups = columns_of(RowKind::KernelTime, View::Json);
  a.list("nodes", x.rows, [&](A& inner, auto& each) { row(inner, nodes, {.bound = &each}); });
  a.maybe_list("groups", x.groups, [&](A& inner, auto& each) { row(inner, groups, {.bound = &each}); });
}

template <typename A>
void fit(A& a, typename A::template Ref<EstimateFit> x) {
  for (const auto& [name, member] : kEstimateFit) a(name, x.*member);
  a("at_least", x.at_least);
  a.maybe("most_bytes", x.most_bytes);
  a("fits", x.fits);
  a("largest_batch", x.largest_batch);
  a("longest_context", x.longest_context);
  a.maybe("memory_context", x.memory_context);
  structure(a, "position_table", x.position_table);
  part(a, "engine", Layout::Line, x.engine, [](A& inner, auto& taken) {
    inner("engine", taken.engine);
    inner("weight_bytes", taken.weight_bytes);
    inner("arena_bytes", taken.arena_bytes);
    inner("workspace_bytes", taken.workspace_bytes);
    inner("pool_bytes", taken.pool_bytes);
    inner("total_bytes", taken.total_bytes);
    inner.maybe("total_low_bytes", taken.total_low_bytes);
    inner.maybe("total_high_bytes", taken.total_high_bytes);
    inner.maybe("cache_bytes", taken.cache_bytes);
    inner.maybe("blocks", taken.blocks);
    inner.maybe("tokens", taken.tokens);
    inner.maybe("context", taken.context);
    inner.maybe("users", taken.users);
    inner.list("options", taken.options, [](A& option, auto& each) {
      option("option", each.option);
      option("total_bytes", each.total_bytes);
    });
  });
}

template <typename A>
void training(A& a, typename A::template Ref<EstimateTraining> x) {
  a("optimizer", x.optimizer);
  a("recompute", x.recompute);
  a("trained_params", x.trained_params);
  const auto parts = columns_of(RowKind::Part, View::Json), backward = columns_of(RowKind::Backward, View::Json),
             times = columns_of(RowKind::StepTime, View::Json);
  const auto work = [](A& inner, const char* key, const std::vector<const ResultColumn*>& columns, auto& counts) {
    inner.object(key, Layout::Line, [&](A& in) { row(in, columns, {.counts = &counts}); });
  };
  a.object("totals", Layout::Block, [&](A& inner) {
    for (const auto& [name, member] : kTrainingParts) work(inner, name, parts, x.*member);
  });
  if constexpr (A::kReads) {
    if (a.has("seconds")) x.time.emplace();
  }
  if (x.time) {
    a("seconds", x.time->seconds);
    a("eager_seconds", x.time->eager_seconds);
    launched(a, *x.time);
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
  a.list("rows", x.rows, [&](A& inner, auto& part) { row(inner, times, {.bound = &part.bound, .step_row = &part}); });
  a.list("nodes", x.nodes, [&](A& inner, auto& node) {
    inner("index", node.index);
    work(inner, "dx", backward, node.dx);
    work(inner, "dw", backward, node.dw);
    inner("gradient_bytes", node.gradient_bytes);
    inner("parameter_gradient_bytes", node.parameter_gradient_bytes);
    inner("saved_bytes", node.saved_bytes);
    inner.list("saved", node.saved, [](A& in, auto& tensor) {
      in("kind", tensor.kind);
      in("what", tensor.what);
      in("bytes", tensor.bytes);
    });
    inner("recomputed", node.recomputed);
    inner.maybe("problem", node.problem);
  });
}

template <typename A>
void sweep_of(A& a, typename A::template Ref<EstimateSweep> x, const std::vector<const ResultColumn*>& columns) {
  a("dims", x.dims);
  a("symbols", x.symbols);
  a.maybe("device_bytes", x.device_bytes);
  a("traffic", x.traffic);
  a.maybe("engine", x.engine);
  a.maybe("calibration", x.calibration);
  part(a, "ridge", Layout::Line, x.ridge, [&](A& inner, auto& ridge) {
    std::string dim = x.dims.empty() ? "" : x.dims[0];
    inner("dim", dim);
    inner("size", ridge.size);
    inner("at_start", ridge.at_start);
  });
  part(a, "best", Layout::Line, x.best, [&](A& inner, auto& best) {
    inner(x.dims.empty() ? "size" : x.dims[0].c_str(), best.size);
    inner("share", best.share);
  });
  a.maybe_list("cliffs", x.cliffs, [](A& inner, auto& cliff) {
    inner("at", cliff.size);
    inner("cause", cliff.cause);
  });
  a.list("points", x.points, [&](A& inner, auto& point) {
    if constexpr (A::kReads) {
      point.sizes.resize(x.dims.size());
      if (inner.has("seconds")) point.time.emplace();
      x.has_joules = x.has_joules || inner.has("joules");
      x.has_predictions = x.has_predictions || inner.has("predicted_seconds");
      x.has_measurements = x.has_measurements || inner.has("measured_seconds");
    }
    for (std::size_t i = 0; i < x.dims.size(); ++i) inner(x.dims[i].c_str(), point.sizes[i]);
    row(inner, columns, {.counts = &point.counts, .run = point.time ? &*point.time : nullptr, .point = &point});
    if (point.time) launched(inner, *point.time);
  });
}

template <typename A>
void placement(A& a, typename A::template Ref<EstimatePlacement> x) {
  a("provider", x.provider);
  a("name", x.name);
  a("version", x.version);
  a("judged", x.is_judged);
  a("form", x.form);
  a("on_provider", x.on_provider);
  a("folded", x.folded);
  a("fused", x.fused);
  a("unknown", x.unknown);
  a("in_bodies", x.in_bodies);
  a("parts", x.parts);
  a.maybe("refused", x.refused);
  const auto left = [](A& inner, auto& some) {
    inner("nodes", some.nodes);
    inner("flops", some.flops);
    inner("bytes", some.bytes);
    inner("seconds", some.seconds);
  };
  a.object("off", Layout::Line, [&](A& inner) { left(inner, x.off); });
  a.list("copies", x.copies, [](A& inner, auto& copy) {
    inner("tensor", copy.tensor);
    inner("bytes", copy.bytes);
    std::string direction = copy.is_to_host ? "to_host" : "from_host";
    inner("direction", direction);
    if constexpr (A::kReads) copy.is_to_host = direction == "to_host";
  });
  a("copied_bytes", x.copied_bytes);
  const auto why = [&](A& inner, auto& reason) {
    inner("reason", reason.reason);
    left(inner, reason);
    inner("operators", reason.operators);
    inner.maybe("cure", reason.cure);
    inner.maybe("refused", reason.refused);
    inner.maybe("answers", reason.answers);
  };
  a.list("reasons", x.reasons, why);
  a.maybe_list("may_be_refused", x.doubts, why);
  part(a, "cured", Layout::Line, x.cured, [](A& inner, auto& cured) {
    inner("nodes", cured.nodes);
    inner("parts", cured.parts);
    inner("copies", cured.copies);
    inner("copied_bytes", cured.copied_bytes);
  });
  part(a, "times", Layout::Line, x.times, [](A& inner, auto& times) {
    inner("host_device", times.host_device);
    inner.maybe("link", times.link);
    inner("on_provider_seconds", times.on_provider_seconds);
    inner("on_cpu_seconds", times.on_cpu_seconds);
    inner("placed_seconds", times.placed_seconds);
    inner("copy_seconds", times.copy_seconds);
    inner("cured_seconds", times.cured_seconds);
    part(inner, "predicted", Layout::Line, times.predicted, [](A& sides, auto& predicted) {
      const auto time = [&](const char* name, auto& one) {
        part(sides, name, Layout::Line, one, [](A& in, auto& interval) {
          in("seconds", interval.seconds);
          in("low", interval.low);
          in("high", interval.high);
        });
      };
      time("on_provider", predicted.on_provider);
      time("on_cpu", predicted.on_cpu);
      time("placed", predicted.placed);
      time("cured", predicted.cured);
      sides.maybe("missing", predicted.missing);
    });
  });
  a.list("nodes", x.nodes, [](A& inner, auto& node) {
    inner("index", node.index);
    inner("on", node.on);
    bool has_part = node.part >= 0;
    if constexpr (A::kReads) has_part = inner.has("part");
    if (has_part) inner("part", node.part);
    inner.maybe("reason", node.reason);
  });
}

// All members except "schema" and the rows, which `rows` writes or reads in their place.
template <typename A, typename Doc, typename Rows>
void document(A& a, Doc& x, const Rows& rows) {
  a.maybe("tool", x.tool);
  a.object("model", Layout::Block, [&](A& inner) { model(inner, x.model); });
  bindings(a, x);
  a.maybe("unset", x.unset);
  a("count", x.count);
  a.maybe("precision", x.precision);
  a.maybe("exceeded_table", x.exceeded_table);
  a.maybe("cannot_run", x.cannot_run);
  a.object("totals", Layout::Block, [&](A& inner) { totals(inner, x.totals); });
  rows();
  part(a, "symbolic", Layout::Block, x.symbolic, [](A& inner, auto& symbolic) {
    fields(inner, symbolic.totals);
    inner.maybe("activation_peak_bytes", symbolic.activation_peak_bytes);
  });
  a.maybe_list("symbols", x.symbols, [](A& inner, auto& symbol) {
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
    inner("basis", run.basis);
    inner("seconds", run.seconds);
    inner("at_least", run.at_least);
    inner("shortest", run.shortest);
    inner("longest", run.longest);
    inner("joules", run.joules);
    inner("bound_share", run.bound_share);
    inner.maybe("precision", run.precision);
  });
  a.maybe_list("advice", x.advice, [](A& inner, auto& each) {
    inner("kind", each.kind);
    inner("change", each.change);
    inner.maybe("traffic", each.traffic);
    inner.maybe("precision", each.precision);
    inner.maybe("batch", each.batch);
    inner.maybe("devices", each.devices);
    inner("needs_export", each.needs_export);
    inner("seconds", each.seconds);
    inner("gain", each.gain);
  });
  const auto variants = columns_of(RowKind::Variant, View::Json);
  a.maybe_list("variants", x.variants, [&](A& inner, auto& variant) { row(inner, variants, {.variant = &variant}); });
  part(a, "training", Layout::Block, x.training, training<A>);
  part(a, "sweep", Layout::Block, x.sweep, [&](A& inner, auto& sweep) {
    // A writer leaves out what no point has.
    sweep_of(inner, sweep,
             A::kReads ? columns_of(RowKind::Point, View::Json) : columns_of(RowKind::Point, View::Json, x));
  });
  a.maybe_list("placement", x.placement, placement<A>);
  a.maybe("fused_by", x.fused_by);
  a.maybe_list("fused", x.fused, [](A& inner, auto& each) {
    inner("pattern", each.pattern);
    inner("nodes", each.nodes);
  });
  const auto unfused = [](A& inner, auto& each) {
    inner("pattern", each.pattern);
    inner("nodes", each.nodes);
    inner("condition", each.condition);
    inner.maybe("others", each.others);
    inner("seconds", each.seconds);
    inner("cure", each.cure);
  };
  if (!x.fused_by.empty()) a.list("unfused", x.unfused, unfused);
  if constexpr (A::kReads) {
    if (a.has("budgets")) x.budgets.emplace();
  }
  if (x.budgets)
    a.list("budgets", *x.budgets, [](A& inner, auto& result) {
      inner("budget", result.budget.kind);
      inner("limit", result.budget.text);
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

namespace members {

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

template void output(Writer& a, const OutputInfo& x);
template void output(Reader& a, OutputInfo& x);

}  // namespace members

std::string type_name(const TensorType& type) {
  std::string text(to_string(type.element));
  if (type.key != ElementType::Undefined) text.insert(0, std::string(to_string(type.key)) + ",");
  for (const auto& [container, opening] : kContainers)
    if (container == type.container) {
      const auto depth = std::count(opening.begin(), opening.end(), '(');
      return std::string(opening) + text + std::string(static_cast<std::size_t>(depth), ')');
    }
  return text;
}

std::string write_estimate(const EstimateDocument& estimate, std::size_t top) {
  constexpr std::size_t kUsualRow = 768;  // most rows are shorter; memory that is reserved and not used costs nothing
  JsonWriter json;
  json.reserve(kUsualRow * std::min(top == 0 ? SIZE_MAX : top, estimate.nodes.size()));
  Writer writer(json);
  json.begin_object();
  json.member("schema", kSchema);
  document(writer, estimate, [&] {
    const auto columns = columns_of(estimate.types ? RowKind::Type : RowKind::Node, View::Json, estimate);
    const auto write_type = [&](Writer& inner, const EstimateType& type) {
      row(inner, columns, {.type = &type, .counts = &type.counts});
    };
    const auto write_node = [&](Writer& inner, const EstimateNode& node) {
      row(inner, columns, {.node = &node, .counts = &node.counts});
    };
    if (estimate.types)
      writer.list("types",
                  std::span(*estimate.types).first(std::min(top == 0 ? SIZE_MAX : top, estimate.types->size())),
                  write_type);
    else if (top == 0)
      writer.list("nodes", estimate.nodes, write_node);
    else
      writer.list("nodes", heaviest(estimate, top),
                  [&](Writer& inner, const EstimateNode* node) { write_node(inner, *node); });
  });
  json.end_object();
  return std::move(json).text();
}

EstimateDocument parse_estimate(std::string_view json, std::string_view subject) {
  base::expect_file(json, subject, base::Reads::Json, kExpected);
  if (const std::size_t begin = json.find_first_not_of("\xEF\xBB\xBF \t\r\n"); json.substr(begin).starts_with('['))
    base::JsonDocument(std::string(subject), {}).fail_schema(kExpected, json);
  EstimateDocument estimate;
  Unknown unknown{subject.size()};
  const auto node_columns = columns_of(RowKind::Node, View::Json), type_columns = columns_of(RowKind::Type, View::Json);
  const base::JsonDocument rest = base::parse_json_elements(
      json, subject, "nodes",
      [&](const JsonField& field, std::size_t) {
        Reader inner(field, unknown);
        const EstimateNode& node = estimate.nodes.emplace_back();
        row(inner, node_columns, {.node = &node, .counts = &node.counts});
        inner.finish();
      },
      false);
  if (rest.schema() != kSchema) rest.fail_schema(kExpected, json);
  const JsonField root = rest.root();
  Reader reader(root, unknown);
  reader.derived("schema", 0);
  document(reader, estimate, [&] {
    if (!reader.has("types") && !reader.has("nodes")) base::fail(subject, "has no array \"nodes\"");
    std::vector<EstimateNode> read_above;
    reader.list("nodes", read_above, [](Reader&, EstimateNode&) {});
    if (reader.has("types"))
      reader.list("types", estimate.types.emplace(), [&](Reader& inner, const EstimateType& type) {
        row(inner, type_columns, {.type = &type, .counts = &type.counts});
      });
  });
  reader.finish();
  estimate.unknown.assign(unknown.paths.begin(), unknown.paths.end());
  return estimate;
}

EstimateDocument load_estimate(const std::string& path) {
  return parse_estimate(base::read_text(path, kExpected), path);
}

}  // namespace pagoda::documents

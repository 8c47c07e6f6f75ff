// Times on a device: bounds, several devices, energy, fit, and variants of a request.
#include "estimate/json_parts.h"

namespace pagoda::documents::members {

template <typename A>
void fields(A& a, typename A::template Ref<ParallelOptions> x) {
  a("tensor", x.tensor);
  a("pipeline", x.pipeline);
  a("expert", x.expert);
}

namespace {

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

}  // namespace

// The members that predictions of the run and of variants share.
template <typename A>
void interval(A& a, typename A::template Ref<EstimatePrediction> x) {
  if constexpr (A::kReads) x.seconds = 0;  // for files without it
  a("seconds", *x.seconds);
  a("low", x.low);
  a("high", x.high);
}

template <typename A>
void engine_memory(A& a, typename A::template Ref<EstimatePrediction> x) {
  part(a, "memory", Layout::Line, x.memory, [](A& inner, auto& memory) {
    inner("bytes", memory.bytes);
    inner("low", memory.low);
    inner("high", memory.high);
    inner("coverage", memory.coverage);
    inner("load_bytes", memory.load_bytes);
    inner("run_bytes", memory.run_bytes);
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
  row(a, columns_of(RowKind::Run, View::Json), {.run = &x.totals});
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
  if (A::kReads || !x.groups.empty())
    a.list("groups", x.groups, [&](A& inner, auto& each) { row(inner, groups, {.bound = &each}); });
}

template <typename A>
void fields(A& a, typename A::template Ref<PositionTable> x) {
  a("name", x.name);
  a("positions", x.positions);
}

template <typename A>
void fit(A& a, typename A::template Ref<EstimateFit> x) {
  for (const auto& [name, member] : kEstimateFit) a(name, x.*member);
  a("at_least", x.at_least);
  a("fits", x.fits);
  a("largest_batch", x.largest_batch);
  a("longest_context", x.longest_context);
  a.maybe("memory_context", x.memory_context);
  structure(a, "position_table", x.position_table);
}

template <typename A>
void fields(A& a, typename A::template Ref<EstimatePrediction> x) {
  a("engine", x.engine);
  interval(a, x);
  a.maybe("items_per_second", x.items_per_second);
  a.maybe("device_items_per_second", x.device_items_per_second);
  a("float_products", x.float_products);
  a("unfused_conversions", x.unfused_conversions);
  engine_memory(a, x);
}

template <typename A>
void fields(A& a, typename A::template Ref<EstimatePrompt> x) {
  a("tokens", x.tokens);
  a("sequences", x.sequences);
  a("seconds", x.seconds);
  a("at_least", x.at_least);
  structure(a, "predicted", x.predicted);
}

template void roofline(Writer& a, const EstimateRoofline& x);
template void roofline(Reader& a, EstimateRoofline& x);
template void fit(Writer& a, const EstimateFit& x);
template void fit(Reader& a, EstimateFit& x);
template void fields(Writer& a, const PositionTable& x);
template void fields(Reader& a, PositionTable& x);
template void fields(Writer& a, const ParallelOptions& x);
template void fields(Reader& a, ParallelOptions& x);
template void fields(Writer& a, const EstimatePrediction& x);
template void fields(Reader& a, EstimatePrediction& x);
template void fields(Writer& a, const EstimatePrompt& x);
template void fields(Reader& a, EstimatePrompt& x);

}  // namespace pagoda::documents::members

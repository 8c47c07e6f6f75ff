// Training steps and sweeps.
#include "estimate/json_parts.h"

namespace pagoda::documents::members {

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
  });
}

template void training(Writer& a, const EstimateTraining& x);
template void training(Reader& a, EstimateTraining& x);
template void sweep_of(Writer& a, const EstimateSweep& x, const std::vector<const ResultColumn*>& columns);
template void sweep_of(Reader& a, EstimateSweep& x, const std::vector<const ResultColumn*>& columns);

}  // namespace pagoda::documents::members

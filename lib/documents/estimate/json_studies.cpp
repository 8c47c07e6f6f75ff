// Training steps and sweeps.
#include "estimate/json_parts.h"

namespace pagoda::documents::members {

namespace {

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

}  // namespace

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
  a.maybe("engine", x.engine);
  a.maybe("calibration", x.calibration);
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
    if constexpr (A::kReads) {
      if (inner.has("predicted_seconds")) x.predicted.resize(at + 1);
    }
    if (at < x.predicted.size()) {
      inner("predicted_seconds", x.predicted[at].seconds);
      inner("predicted_low", x.predicted[at].low);
      inner("predicted_high", x.predicted[at].high);
    }
    if (at >= x.measured.size()) return;
    inner("measured_seconds", x.measured[at].seconds);
    inner("measured_joules", x.measured[at].joules);
  });
}

template void training(Writer& a, const EstimateTraining& x);
template void training(Reader& a, EstimateTraining& x);
template void sweep_of(Writer& a, const EstimateSweep& x);
template void sweep_of(Reader& a, EstimateSweep& x);

}  // namespace pagoda::documents::members

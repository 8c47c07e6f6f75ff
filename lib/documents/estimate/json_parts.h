// Parts of an estimate's JSON: objects that are cells of columns, and the names of enums.
#pragma once

#include "pagoda/documents/archive.h"
#include "pagoda/documents/columns.h"

namespace pagoda::documents::members {

// clang-format off
template <> inline constexpr Mark kLast<Mark> = Mark::Unmodelled;
template <> inline constexpr Fusion kLast<Fusion> = Fusion::None;
template <> inline constexpr TrafficModel kLast<TrafficModel> = TrafficModel::Resident;
template <> inline constexpr Convention kLast<Convention> = Convention::Pagoda;
template <> inline constexpr Bound kLast<Bound> = Bound::Unknown;
template <> inline constexpr Unit kLast<Unit> = Unit::Tensor;
template <> inline constexpr Phase kLast<Phase> = Phase::Decode;
template <> inline constexpr Optimizer kLast<Optimizer> = Optimizer::AdamW;
template <> inline constexpr Recompute kLast<Recompute> = Recompute::Sqrt;
template <> inline constexpr SavedKind kLast<SavedKind> = SavedKind::Statistic;
template <> inline constexpr BudgetKind kLast<BudgetKind> = BudgetKind::Rate;
template <> inline constexpr Verdict kLast<Verdict> = Verdict::CannotTell;
template <> inline constexpr MeasuredBasis kLast<MeasuredBasis> = MeasuredBasis::Kernels;
template <> inline constexpr AdviceKind kLast<AdviceKind> = AdviceKind::Batch;
template <> inline constexpr Severity kLast<Severity> = Severity::Error;
template <> inline constexpr CollectiveKind kLast<CollectiveKind> = CollectiveKind::Send;
// clang-format on

// An optional object on one line.
template <typename A, typename T>
void structure(A& a, const char* key, T& value) {
  part(a, key, Layout::Line, value, [](A& inner, auto& x) { fields(inner, x); });
}

template <typename A>
void fields(A& a, typename A::template Ref<EstimateFormulas> x) {
  a("macs", x.macs);
  a.maybe("flops", x.flops);
  a("bytes", x.bytes);
}

template <typename A>
void fields(A& a, typename A::template Ref<ParallelOptions> x) {
  a("tensor", x.tensor);
  a("pipeline", x.pipeline);
  a("expert", x.expert);
}

template <typename A>
void fields(A& a, typename A::template Ref<PositionTable> x) {
  a("name", x.name);
  a("positions", x.positions);
}

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

// json.cpp defines it for Writer and Reader.
template <typename A>
void output(A& a, typename A::template Ref<OutputInfo> x);

}  // namespace pagoda::documents::members

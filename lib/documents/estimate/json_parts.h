// Parts of an estimate's JSON that are used by several other parts or implemented in their own file.
#pragma once

#include "estimate/members.h"

namespace pagoda::documents::members {

template <typename A>
void counts(A& a, typename A::template Ref<EstimateCounts> x) {
  for (const auto& [name, member] : kEstimateCounts) a(name, x.*member);
}

// Intensity is derived from the counts.
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
void times(A& a, typename A::template Ref<RooflineTotals> x) {
  a("seconds", x.seconds);
  a("floor_seconds", x.floor_seconds);
  a("eager_seconds", x.eager_seconds);
  a("compute_seconds", x.compute_seconds);
  a("memory_seconds", x.memory_seconds);
  a("launches", x.launches);
}

// Defined in json_memory.cpp, json_times.cpp and json_studies.cpp for Writer and Reader.
template <typename A>
void memory(A& a, typename A::template Ref<EstimateMemory> x);
template <typename A>
void traffic(A& a, typename A::template Ref<EstimateTraffic> x);
template <typename A>
void roofline(A& a, typename A::template Ref<EstimateRoofline> x);
template <typename A>
void fit(A& a, typename A::template Ref<EstimateFit> x);
template <typename A>
void variant(A& a, typename A::template Ref<EstimateVariant> x);
template <typename A>
void training(A& a, typename A::template Ref<EstimateTraining> x);
template <typename A>
void sweep_of(A& a, typename A::template Ref<EstimateSweep> x);

}  // namespace pagoda::documents::members

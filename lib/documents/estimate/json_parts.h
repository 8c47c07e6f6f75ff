// Parts of an estimate's JSON that are used by several other parts or implemented in their own file.
#pragma once

#include <vector>

#include "estimate/members.h"
#include "pagoda/documents/columns.h"

namespace pagoda::documents::members {

template <typename A>
void fields(A& a, typename A::template Ref<EstimateFormulas> x) {
  a("macs", x.macs);
  a.maybe("flops", x.flops);
  a("bytes", x.bytes);
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

// Defined in json.cpp, json_memory.cpp, json_times.cpp and json_studies.cpp for Writer and Reader.
template <typename A>
void output(A& a, typename A::template Ref<OutputInfo> x);
template <typename A>
void memory(A& a, typename A::template Ref<EstimateMemory> x);
template <typename A>
void traffic(A& a, typename A::template Ref<EstimateTraffic> x);
template <typename A>
void roofline(A& a, typename A::template Ref<EstimateRoofline> x);
template <typename A>
void fit(A& a, typename A::template Ref<EstimateFit> x);
template <typename A>
void training(A& a, typename A::template Ref<EstimateTraining> x);
template <typename A>
void sweep_of(A& a, typename A::template Ref<EstimateSweep> x, const std::vector<const ResultColumn*>& columns);
template <typename A>
void fields(A& a, typename A::template Ref<PositionTable> x);
template <typename A>
void fields(A& a, typename A::template Ref<ParallelOptions> x);
template <typename A>
void fields(A& a, typename A::template Ref<EstimatePrediction> x);
template <typename A>
void fields(A& a, typename A::template Ref<EstimatePrompt> x);

// An optional object on one line.
template <typename A, typename T>
void structure(A& a, const char* key, T& value) {
  part(a, key, Layout::Line, value, [](A& inner, auto& x) { fields(inner, x); });
}

}  // namespace pagoda::documents::members

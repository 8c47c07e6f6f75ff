// What one operator does: work in four kinds and traffic in two directions, all exact and symbolic.
#pragma once

#include <optional>
#include <string_view>

#include "pagoda/core/dim.h"
#include "pagoda/core/tensor_type.h"

namespace pagoda {

// How a node enters the totals.
enum class Mark : std::uint8_t {
  Compute,     // work and traffic as stated
  View,        // renames bytes: costs nothing
  Host,        // integer shape arithmetic done once on the host: costs nothing
  Folded,      // all inputs are constants: done before the first run
  Unmodelled,  // no rule, or the rule could not tell: counted nowhere, reported everywhere
};
std::string_view to_string(Mark mark);

struct OpCost {
  Dim macs;           // multiply-accumulates of contractions (Conv, Gemm, MatMul, recurrent gates, QK^T, PV)
  Dim arith;          // + - * / comparisons min max outside contractions, one each
  Dim special;        // evaluations of exp, log, sqrt, rsqrt, tanh, erf, sigmoid, sin, pow …, one each
  Dim comparisons;    // the part of `arith` that floating-point counters do not see: comparisons, min, max, rounding
  Dim bytes_read;     // distinct input bytes needed, at stored width
  Dim bytes_written;  // output bytes
  ElementType precision = ElementType::Undefined;  // type in which the work is done
  Mark mark = Mark::Compute;

  Dim bytes() const { return bytes_read + bytes_written; }
  OpCost& operator+=(const OpCost& other);  // sums counts; keeps this precision and mark
  OpCost scaled(const Dim& times) const;
  OpCost bind(const Bindings& bindings) const;
};

// How counts become one number of FLOPs.
enum class Convention : std::uint8_t {
  Flops,        // 2·macs + arith + special: the default
  Macs,         // macs
  Contraction,  // 2·macs: torch's FlopCounterMode
  Hardware,     // 2·macs + arith − comparisons: what floating-point counters of a GPU see
  Pagoda,       // the published Pagoda estimator's rules, faults included: see conventions.h
};
std::optional<Convention> convention(std::string_view name);
std::string_view to_string(Convention convention);

// Not for Convention::Pagoda, which is no function of these counts.
Dim flops(const OpCost& cost, Convention convention = Convention::Flops);

}  // namespace pagoda

// The cost of one operator: four kinds of work, and traffic in two directions, all exact and symbolic.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "pagoda/core/dim.h"
#include "pagoda/core/tensor_type.h"

#pragma GCC visibility push(default)
namespace pagoda::inline core {

// How a node enters the totals.
enum class Mark : std::uint8_t {
  Compute,     // work and traffic as stated
  View,        // renames bytes: costs nothing
  Host,        // integer shape arithmetic done once on the host: costs nothing
  Folded,      // all inputs are constants: done before the first run
  Unmodelled,  // no rule, or the rule could not tell: counted nowhere, reported everywhere
};
std::string_view to_string(Mark mark);

// Bytes moved of one tensor of a node, where it is moved in part or more than once.
struct PartMoved {
  static constexpr int kAttributes = -1;  // as `place`: data in the node's own attributes
  bool is_output = false;
  int place = 0;  // in the node's list of inputs or outputs
  Dim bytes;
};

struct OpCost {
  Dim macs;           // multiply-accumulates of contractions (Conv, Gemm, MatMul, recurrent gates, QK^T, PV)
  Dim arith;          // + - * / comparisons min max outside contractions, one each
  Dim special;        // evaluations of exp, log, sqrt, rsqrt, tanh, erf, sigmoid, sin, pow …, one each
  Dim comparisons;    // the part of `arith` that floating-point counters do not see: comparisons, min, max, rounding
  Dim bytes_read;     // distinct input bytes needed, at stored width
  Dim bytes_written;  // output bytes
  ElementType precision = ElementType::Undefined;  // type in which the work is done
  Mark mark = Mark::Compute;

  // The tensors that make up bytes_read and bytes_written. Bit i is set where input (output) i is moved in full; equal
  // inputs count once. The last bit stands for all places from 31 on. Tensors moved in part are listed in `parts`.
  std::uint32_t whole_inputs = 0, whole_outputs = 0;
  std::vector<PartMoved> parts;

  Dim bytes() const { return bytes_read + bytes_written; }
  // Adds bytes read from an input, or written to an output.
  void read(int input, const Dim& bytes);
  void write(int output, const Dim& bytes);
  bool reads_whole(int input) const { return (whole_inputs >> place_bit(input) & 1) != 0; }
  bool writes_whole(int output) const { return (whole_outputs >> place_bit(output) & 1) != 0; }
  // Bytes of an input (output) listed in `parts`; 0 if it is not listed.
  Dim part_read(int input) const;
  Dim part_written(int output) const;

  OpCost& operator+=(const OpCost& other);  // sums counts; keeps this precision and mark; forgets which tensors moved
  OpCost scaled(const Dim& times) const;    // forgets which tensors moved
  OpCost bind(const Bindings& bindings) const;

  static constexpr int place_bit(int place) { return place < 31 ? place : 31; }
};

// The counts of a cost.
inline constexpr std::array kCostCounts = {&OpCost::macs,        &OpCost::arith,      &OpCost::special,
                                           &OpCost::comparisons, &OpCost::bytes_read, &OpCost::bytes_written};

// How the counts combine into one number of FLOPs.
enum class Convention : std::uint8_t {
  Flops,        // 2·macs + arith + special: the default
  Macs,         // macs
  Contraction,  // 2·macs: torch's FlopCounterMode
  Hardware,     // 2·macs + arith − comparisons: what floating-point counters of a GPU see
  Pagoda,       // the published Pagoda estimator's rules, faults included: see conventions.h
};
std::optional<Convention> convention(std::string_view name);
std::vector<std::string_view> convention_names();  // of all, for messages and usage texts
std::string_view to_string(Convention convention);

// Not for Convention::Pagoda, which does not follow from these counts.
Dim flops(const OpCost& cost, Convention convention = Convention::Flops);

}  // namespace pagoda::inline core
#pragma GCC visibility pop

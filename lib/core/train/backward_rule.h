// One operator's backward is one row: its name, one pure function, which inputs can have a gradient, which outputs pass
// one on, the work in words.
//
//   {"Tanh", unary<3, 0, 0, Source::Output>, 0b1, 0b1, "dy·(1 − y²)"},
//
// The operator's facts say whether it has such a row, or why it has none (OpFacts::gradient).
// For each wanted input, a rule states the work of its gradient and the tensors that it reads. Forward must keep all
// that it reads besides the arriving gradient. The arithmetic counts follow the formula in words with as few
// operations as possible; `dy` is the arriving gradient, x an input, y an output.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ops/nn_work.h"
#include "pagoda/core/rule.h"
#include "pagoda/core/train.h"

namespace pagoda::inline core::train_rules {

using ops::Work;

enum class Source : std::uint8_t { Input, Output, Statistic };

struct Read {
  Source source;
  int index;
  bool operator==(const Read&) const = default;
};
inline constexpr Read kA{Source::Input, 0}, kB{Source::Input, 1};   // y = a ∘ b
inline constexpr Read kX{Source::Input, 0}, kY{Source::Output, 0};  // y = f(x)

// The gradient of one input.
struct Gradient {
  int input = 0;
  Work work = {};
  std::vector<Read> reads = {};            // besides the arriving gradients
  std::optional<Dim> arriving_bytes = {};  // read of the arriving gradients, if not all of them
  bool is_passed_on = false;               // it is the arriving gradient, renamed or summed
  bool is_renamed = false;                 // the arriving gradient under a different name: nothing moves
  Dim moved = 1;                           // factor of its bytes: 0 for sizes that make it a rename
};

struct Statistic {
  std::string_view what;
  Dim bytes;
};

// The backward of one node.
struct NodeBackward {
  std::vector<bool> wanted;         // by input: a gradient is computed (or would be, if the rule is missing)
  std::vector<bool> arrives;        // by output: whether it has a gradient
  std::vector<Gradient> gradients;  // empty where the rule is missing
  std::vector<Statistic> statistics;

  bool runs() const { return !wanted.empty(); }
};

// A node as its backward rule sees it. The rule adds to the node's gradients and statistics.
class Backward {
 public:
  Backward(const OpContext& context, const OpCost& forward_cost, const TrainingOptions& training, NodeBackward& node)
      : op(context), forward(forward_cost), options(training), gradients(node.gradients), node_(node) {}

  const OpContext& op;
  const OpCost& forward;
  const TrainingOptions& options;
  std::vector<Gradient>& gradients;
  std::vector<bool> parameters = {};  // by input: computed from parameters alone

  bool wants(int input) const {
    return input < static_cast<int>(node_.wanted.size()) && node_.wanted[static_cast<std::size_t>(input)];
  }
  bool has_gradient(int output) const {
    return output < static_cast<int>(node_.arrives.size()) && node_.arrives[static_cast<std::size_t>(output)];
  }
  bool is_parameter(int input) const { return parameters[static_cast<std::size_t>(input)]; }

  // Adds the gradient of a wanted input; for an input that is not wanted, the work is discarded.
  Gradient& add(int input, std::vector<Read> reads = {}, Work work = {}) {
    Gradient gradient{.input = input, .work = std::move(work), .reads = std::move(reads)};
    if (!wants(input)) return unwanted_ = std::move(gradient);
    return gradients.emplace_back(std::move(gradient));
  }
  // Records something that forward computes besides its outputs and that backward needs; returns how to read it.
  Read keep(std::string_view what, Dim bytes) {
    node_.statistics.push_back({what, std::move(bytes)});
    return {Source::Statistic, static_cast<int>(node_.statistics.size()) - 1};
  }

 private:
  NodeBackward& node_;
  Gradient unwanted_;
};

struct BackwardRule {
  std::string_view name;
  void (*gradients)(Backward&) = nullptr;  // null: no gradient by nature, or not modelled (`inputs` is not 0)
  std::uint64_t inputs = 0;                // bit i: input i can have a gradient; the last bit covers all further ones
  std::uint64_t outputs = 0;               // bit i: output i passes one on
  std::string_view work;

  // Gradients could flow, but at an unknown cost.
  bool is_unmodelled() const { return gradients == nullptr && inputs != 0; }
  bool can_have_gradient(int input) const { return (inputs >> (input < 63 ? input : 63) & 1) != 0; }
  bool passes_gradient(int output) const { return (outputs >> (output < 63 ? output : 63) & 1) != 0; }
};

inline constexpr std::uint64_t kAll = ~std::uint64_t{0};
inline constexpr std::uint64_t kFirst = 1;

// Finds the rule by plain domain. If the operator's facts say that there is none, or the table lacks it, the rule has
// no function, and its `inputs` say whether gradients could flow.
const BackwardRule& backward_rule(std::string_view domain, std::string_view op_type);
const BackwardRule& unmodelled_backward();
std::span<const BackwardRule> default_rules();    // ai.onnx, sorted
std::span<const BackwardRule> microsoft_rules();  // com.microsoft, sorted

// --- parts that many rules share ---

// 1 if the operand at `input` is broadcast to output 0, else 0, or a formula of that value.
Dim is_broadcast(const OpContext& op, int input);
// Additions that sum a gradient of output 0's size to the operand's size: n − m.
Dim summed(const OpContext& op, int input);
// Adds the gradient of an element-wise operator's operand: `each` per output element, then the sum if the operand is
// broadcast. Without work it is the arriving gradient renamed, unless it is summed or goes into a parameter's buffer.
Gradient& each(Backward& b, int input, const Work& each, std::vector<Read> reads = {});

inline Work ops_each(int arith, int special = 0, int comparisons = 0) {
  return {.arith = arith, .special = special, .comparisons = comparisons};
}

// Of the element that each result came from: output 1 of the node, or kept.
Read indices(Backward& b);

// A Dropout drops elements in training unless its ratio is known to be 0.
bool drops_in_training(const OpContext& op);

// dx = f(dy, x or y), at a fixed cost per element; sums along rows included.
template <int Arith, int Special, int Comparisons, Source From>
void unary(Backward& b) {
  each(b, 0, ops_each(Arith, Special, Comparisons), {{From, 0}});
}

// The functions of the rules; the tables are in rules.cpp.
using Rule = void(Backward& b);
// contractions.cpp
Rule conv, gemm, matmul, einsum, attention, lstm, gru, rnn, causal_conv;
// elementwise.cpp
Rule add, sub, mul, div, pow, mod, extreme, mean, where, prelu, celu, clip, gelu, fast_gelu, bias_gelu, swish,
    quick_gelu, swiglu, neg, renamed, cast, dropout;
// norms.cpp
Rule layer_norm, rms_norm, skip_layer_norm, skip_rms_norm, batch_norm, instance_norm, group_norm, mean_variance_norm,
    lp_norm, lrn, cross_entropy, negative_log_likelihood;
// reductions.cpp
Rule reduce_sum, reduce_mean, reduce_extreme, reduce_prod, reduce_sum_square, reduce_l1, reduce_l2, reduce_log_sum,
    reduce_log_sum_exp, cum_sum, max_pool, average_pool, lp_pool, global_max_pool, global_lp_pool, max_unpool,
    roi_align;
// movement.cpp
Rule move, expand, concat, pad, gather, scatter, top_k, resize, rotary, one_hot, linear_transform;

}  // namespace pagoda::inline core::train_rules

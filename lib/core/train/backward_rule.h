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

#include <array>
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

enum class Source : std::uint8_t { Gradient, Input, Output, Statistic };

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
  Dim macs = 0;
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

// What is known of a node when its gradients are computed.
class Backward {
 public:
  Backward(const OpContext& context, const OpCost& forward_cost, const TrainingOptions& training)
      : op(context), forward(forward_cost), options(training) {}

  const OpContext& op;
  const OpCost& forward;
  const TrainingOptions& options;
  std::vector<bool> wanted;      // by input
  std::vector<bool> parameters;  // by input: computed from parameters alone
  std::vector<bool> arrives;     // by output: whether it has a gradient
  std::vector<Gradient> gradients;
  std::vector<Statistic> statistics;

  bool wants(int input) const {
    return input < static_cast<int>(wanted.size()) && wanted[static_cast<std::size_t>(input)];
  }
  bool has_gradient(int output) const {
    return output < static_cast<int>(arrives.size()) && arrives[static_cast<std::size_t>(output)];
  }
  bool is_parameter(int input) const { return parameters[static_cast<std::size_t>(input)]; }

  // Adds the gradient of a wanted input; for an input that is not wanted, the work is discarded.
  Gradient& add(int input, std::vector<Read> reads = {}, Work work = {});
  // Records something that forward computes besides its outputs and that backward needs; returns how to read it.
  Read keep(std::string_view what, Dim bytes);

 private:
  Gradient unwanted_;
};

struct BackwardRule {
  std::string_view name;
  void (*gradients)(Backward&) = nullptr;  // null: no gradient by nature, or not modelled (`inputs` is not 0)
  std::uint64_t inputs = 0;                // bit i: input i can have a gradient; the last bit covers all further ones
  std::uint64_t outputs = 0;               // bit i: output i passes one on
  std::string_view work;

  // Whether gradients could flow, but at an unknown cost.
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

// Whether the operand at `input` is broadcast to output 0: 1, 0, or a formula of that value.
Dim is_broadcast(const OpContext& op, int input);
// Additions that sum a gradient of output 0's size to the operand's size: n − m.
Dim summed(const OpContext& op, int input);
// Adds the gradient of an element-wise operator's operand: `each` per output element, then the sum if the operand is
// broadcast. Without work it is the arriving gradient renamed, unless it is summed or goes into a parameter's buffer.
Gradient& each(Backward& b, int input, const Work& each, std::vector<Read> reads = {});

inline Work ops_each(int arith, int special = 0, int comparisons = 0) {
  return {.arith = arith, .special = special, .comparisons = comparisons};
}

// Whether a Dropout drops elements in training: yes, unless its ratio is known to be 0.
bool drops_in_training(const OpContext& op);

// dx = f(dy, x or y) element by element.
template <int Arith, int Special, int Comparisons, Source From>
void unary(Backward& b) {
  each(b, 0, ops_each(Arith, Special, Comparisons), {{From, 0}});
}

// The functions of the rules; the tables are in rules.cpp.
// contractions.cpp
void conv(Backward& b);
void gemm(Backward& b);
void matmul(Backward& b);
void einsum(Backward& b);
void attention(Backward& b);
void lstm(Backward& b);
void gru(Backward& b);
void rnn(Backward& b);
void causal_conv(Backward& b);
// elementwise.cpp
void add(Backward& b);
void sub(Backward& b);
void mul(Backward& b);
void div(Backward& b);
void pow(Backward& b);
void mod(Backward& b);
void extreme(Backward& b);
void mean(Backward& b);
void where(Backward& b);
void prelu(Backward& b);
void celu(Backward& b);
void clip(Backward& b);
void gelu(Backward& b);
void fast_gelu(Backward& b);
void bias_gelu(Backward& b);
void swish(Backward& b);
void quick_gelu(Backward& b);
void swiglu(Backward& b);
void neg(Backward& b);
void renamed(Backward& b);
void cast(Backward& b);
void dropout(Backward& b);
// norms.cpp
void softmax(Backward& b);
void log_softmax(Backward& b);
void layer_norm(Backward& b);
void rms_norm(Backward& b);
void skip_layer_norm(Backward& b);
void skip_rms_norm(Backward& b);
void batch_norm(Backward& b);
void instance_norm(Backward& b);
void group_norm(Backward& b);
void mean_variance_norm(Backward& b);
void lp_norm(Backward& b);
void lrn(Backward& b);
void cross_entropy(Backward& b);
void negative_log_likelihood(Backward& b);
// reductions.cpp
void reduce_sum(Backward& b);
void reduce_mean(Backward& b);
void reduce_extreme(Backward& b);
void reduce_prod(Backward& b);
void reduce_sum_square(Backward& b);
void reduce_l1(Backward& b);
void reduce_l2(Backward& b);
void reduce_log_sum(Backward& b);
void reduce_log_sum_exp(Backward& b);
void cum_sum(Backward& b);
void max_pool(Backward& b);
void average_pool(Backward& b);
void lp_pool(Backward& b);
void global_average_pool(Backward& b);
void global_max_pool(Backward& b);
void global_lp_pool(Backward& b);
void max_unpool(Backward& b);
void roi_align(Backward& b);
// movement.cpp
void move(Backward& b);
void expand(Backward& b);
void concat(Backward& b);
void split(Backward& b);
void slice(Backward& b);
void pad(Backward& b);
void gather(Backward& b);
void gather_elements(Backward& b);
void scatter(Backward& b);
void top_k(Backward& b);
void trilu(Backward& b);
void resize(Backward& b);
void rotary(Backward& b);
void one_hot(Backward& b);
void linear_transform(Backward& b);

}  // namespace pagoda::inline core::train_rules

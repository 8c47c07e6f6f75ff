// Backward of contractions: each operand's gradient is a contraction of the arriving gradient with the other operand,
// with as many products as forward. Recurrent layers and attention are several contractions in one.
#include <algorithm>
#include <utility>

#include "train/backward_rule.h"

namespace pagoda::inline core::train_rules {
namespace {

// The gradient of a bias with one entry per channel: n elements summed into m, n − m additions.
void channel_bias(Backward& b, int input) {
  if (b.wants(input)) b.add(input).work.arith = b.op.output_elements(0) - b.op.elements(input);
}

// `whole`·part/of; rounded down unless `of` divides.
Dim share(const Dim& whole, const Dim& part, const Dim& of) {
  if (const auto exact = exact_div(whole * part, of)) return *exact;
  return floor_div(whole * part, of);
}

}  // namespace

// dA from B, dB from A; broadcast batch axes are contracted as well, so nothing is left to sum.
void matmul(Backward& b) {
  for (const int i : {0, 1}) b.add(i, {i == 0 ? kB : kA}, {.macs = b.forward.macs});
}

// Also for ConvTranspose: dx is a convolution if forward is a transposed one, and the other way round.
void conv(Backward& b) {
  matmul(b);
  channel_bias(b, 2);
}

// y = α·A·B + β·C: dy·α once for each of dA and dB; dC = β·Σ dy.
void gemm(Backward& b) {
  const bool scaled = b.op.attribute("alpha", 1.0) != 1.0;
  matmul(b);
  if (scaled)
    for (Gradient& gradient : b.gradients) gradient.work.arith = b.op.output_elements(0);
  if (!b.op.has_input(2)) return;
  const bool bias_scaled = b.op.attribute("beta", 1.0) != 1.0;
  Gradient& bias = each(b, 2, {});
  if (!bias_scaled || !b.wants(2)) return;
  bias.work.arith += b.op.elements(2);
  bias.is_renamed = false;
  bias.moved = 1;
}

// Two operands: as many macs as forward or, if nothing is summed, products. One: a sum or a permutation is undone.
void einsum(Backward& b) {
  const int operands = b.op.input_count();
  if (operands == 1) {
    b.add(0);
    return;
  }
  if (operands > 2) b.op.unknown("the gradients of an equation of more than two operands are not counted");
  matmul(b);
  for (Gradient& gradient : b.gradients) gradient.work.arith = b.forward.arith;
}

void causal_conv(Backward& b) {
  if (b.op.attribute("activation", std::string_view("none")) != "none" || b.has_gradient(1) || b.wants(3))
    b.op.unknown("gradients through its activation or its state are not counted");
  matmul(b);
  channel_bias(b, 2);
}

// --- attention: S = Q·Kᵀ, P = softmax(S), Y = P·V ---

// dV = Pᵀ·dY, dP = dY·Vᵀ, dS = P·(dP − Σ dP·P) (4 per pair) and the scale (1), softcap (3); dQ = dS·K, dK = dSᵀ·Q.
// If probabilities are not kept: Q·Kᵀ again, and per pair a scale, the subtraction of the kept log-sum, and exp.
void attention(Backward& b) {
  const OpContext& op = b.op;
  if (b.has_gradient(1) || b.has_gradient(2) || b.has_gradient(3))
    op.unknown("gradients that arrive at its caches or scores are not counted");
  const bool packed = op.rank(0) == 3;
  const auto heads = [&](std::string_view name, int input) {
    return packed ? Dim(op.required_integer(name)) : op.shape(input)[1];
  };
  const Dim query_heads = heads("q_num_heads", 0);
  const Dim key_size = packed ? share(op.shape(0).back(), 1, query_heads) : op.shape(0).back();
  const Dim value_size = packed ? share(op.shape(2).back(), 1, heads("kv_num_heads", 2)) : op.shape(2).back();
  const Dim pairs = share(b.forward.macs, 1, key_size + value_size);
  const Dim rows = op.shape(0)[0] * query_heads * op.shape(0)[packed ? 1 : 2];
  const bool softcap = op.attribute("softcap", 0.0) != 0;

  const Read kept = b.options.recompute_attention
                        ? b.keep("log-sums of the softmax", byte_size(rows, ElementType::Float32))
                        : b.keep("probabilities", byte_size(pairs, op.element(0)));
  const Read value{Source::Input, 2};
  bool shared = true;  // work that all gradients need is counted with the first
  const auto add_shared = [&](Gradient& gradient) {
    if (!shared || !b.wants(gradient.input)) return;
    shared = false;
    if (!b.options.recompute_attention) return;
    gradient.work = gradient.work + Work{.arith = 2, .special = 1, .macs = key_size} * pairs;
    gradient.reads.insert(gradient.reads.end(), {kA, kB});
  };
  bool scores = true;
  for (const int i : {0, 1}) {
    if (!b.wants(i)) continue;
    Gradient& gradient = b.add(i, {kept, value, i == 0 ? kB : kA}, {.macs = pairs * key_size});
    if (scores) gradient.work = gradient.work + Work{.arith = softcap ? 8 : 5, .macs = value_size} * pairs;  // dP
    scores = false;
    add_shared(gradient);
  }
  if (b.wants(2)) add_shared(b.add(2, {kept}, {.macs = pairs * value_size}));
  for (const int i : {3, 4, 5})
    if (b.wants(i)) op.unknown("gradients of its mask and caches are not counted");
}

// --- recurrent layers ---

namespace {

enum RecurrentInput { kSequence, kW, kR, kBias, kLengths, kInitial, kInitialCell, kPeephole };

// A recurrent cell: arithmetic, and values kept besides the hidden state, per hidden element and step; the default
// activations of one direction.
struct Cell {
  int gates, arith, kept;
  std::array<std::string_view, 3> activations;
};

bool has_default_activations(const OpContext& op, const Cell& cell) {
  const auto* names = ops::attribute_if<std::vector<std::string>>(op, "activations");
  if (names == nullptr) return !op.has_attribute("activations");
  const auto count = static_cast<std::size_t>(std::count_if(cell.activations.begin(), cell.activations.end(),
                                                            [](std::string_view name) { return !name.empty(); }));
  for (std::size_t i = 0; i < names->size(); ++i)
    if ((*names)[i] != cell.activations[i % count]) return false;
  return true;
}

// macs = steps·gates·H·(I + H), of which I/(I + H) multiply W and the rest R. dX = dG·W and dW = dGᵀ·X; the gradient
// runs back through time by dG·R in every step, whatever is wanted, and dR = dGᵀ·H. dB sums dG over the steps, once
// for both of its halves.
void recurrent(Backward& b, const Cell& cell) {
  const OpContext& op = b.op;
  if (!has_default_activations(op, cell) || op.has_attribute("clip"))
    op.unknown("gradients through clipping and activations other than the default are not counted");
  if (op.has_input(kPeephole)) op.unknown("gradients through peepholes are not counted");
  if (op.attribute("input_forget", std::int64_t{0}) != 0) op.unknown("gradients of coupled gates are not counted");
  const Dim directions = op.shape(kW)[0];
  const Dim input_size = op.shape(kSequence)[2];
  const Dim hidden = op.shape(kR)[2];
  const Dim input_macs = share(b.forward.macs, input_size, input_size + hidden);
  const Dim recurrent_macs = b.forward.macs - input_macs;
  const Dim cells = share(recurrent_macs, 1, cell.gates * hidden);  // steps · directions · H
  const Read hidden_states = op.has_output(0)
                                 ? Read{Source::Output, 0}
                                 : b.keep("hidden states of all steps", byte_size(cells, op.element(kSequence)));
  const Read gates = cell.kept == 0
                         ? hidden_states
                         : b.keep("gates and states of all steps", byte_size(cell.kept * cells, op.element(kSequence)));

  bool shared = true;
  const auto add = [&](int input, std::vector<Read> reads, Dim macs) -> void {
    if (!b.wants(input)) return;
    reads.push_back(gates);
    Gradient& gradient = b.add(input, std::move(reads), {.macs = std::move(macs)});
    if (!std::exchange(shared, false)) return;
    gradient.work = gradient.work + Work{.arith = cell.arith * cells, .macs = recurrent_macs};
    gradient.reads.push_back({Source::Input, kR});
  };
  add(kSequence, {{Source::Input, kW}}, input_macs);
  add(kW, {{Source::Input, kSequence}}, input_macs);
  add(kR, {hidden_states}, recurrent_macs);
  add(kBias, {}, 0);
  if (b.wants(kBias)) b.gradients.back().work.arith += cell.gates * (cells - directions * hidden);
  for (const int i : {kInitial, kInitialCell}) add(i, {}, 0);
}

}  // namespace

// dH from two sources 1; do = dH·h(C)·o(1 − o) 4; dC += dH·o·(1 − h²) 5; di, df, dc̃ 4 each; dC·f 1. Kept: 4 gates, C,
// h(C).
void lstm(Backward& b) {
  recurrent(b, {.gates = 4, .arith = 23, .kept = 6, .activations = {"Sigmoid", "Tanh", "Tanh"}});
}

// H' = (1 − z)·n + z·H. dH from two sources 1; dz = dH·(H − n)·z(1 − z) 5; dn = dH·(1 − z)·(1 − n²) 5; dH·z and its sum
// 2. If R multiplies r·H: dr = d(rH)·H·r(1 − r) 4, d(rH)·r and its sum 2; if it multiplies H: dr 4, dn·r 1. Kept: z, r,
// n, and in the second case R·H.
void gru(Backward& b) {
  const bool linear_first = b.op.attribute("linear_before_reset", std::int64_t{0}) != 0;
  recurrent(
      b,
      {.gates = 3, .arith = linear_first ? 18 : 19, .kept = linear_first ? 4 : 3, .activations = {"Sigmoid", "Tanh"}});
}

// dH from two sources 1; dH·(1 − h²) 3.
void rnn(Backward& b) { recurrent(b, {.gates = 1, .arith = 4, .kept = 0, .activations = {"Tanh"}}); }

}  // namespace pagoda::inline core::train_rules

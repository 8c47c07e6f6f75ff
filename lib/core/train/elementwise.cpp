// Backward of operators that work element by element, on one operand or on several with broadcasting.
#include "ops/shape_math.h"
#include "train/backward_rule.h"

namespace pagoda::inline core::train_rules {
namespace {

// The only element of a known input.
std::optional<double> known_scalar(const OpContext& op, int input) {
  const TensorValue* value = op.has_input(input) ? op.value(input) : nullptr;
  return value != nullptr && value->size() == 1 ? ops::as_real(value->front()) : std::nullopt;
}

// Exact: Φ(x) + x·φ(x) with Φ = ½(1 + erf(x/√2)) (3, erf) and φ = c·exp(−½x²) (3, exp); product, sum, dy: 3.
// Else t = tanh(k·x·(1 + c·x²)) (5, tanh); ½(1 + t) (2); ½x·(1 − t²)·k(1 + 3c·x²): 1 − t² 2, k(1 + 3c·x²) 3, products
// 3; sum and dy 2.
Work gelu_work(bool exact) { return exact ? ops_each(9, 2) : ops_each(17, 1); }

}  // namespace

// Compares axis by axis, from the last. A constant 1 against a larger constant is broadcast for all sizes; against a
// formula d it is broadcast if d > 1, which min(1, d − 1) expresses.
Dim is_broadcast(const OpContext& op, int input) {
  const Shape& operand = op.shape(input);
  const Shape& output = op.output_shape(0);
  Dim extra = 1;  // product of the output's sizes along axes that the operand lacks
  for (std::size_t i = 0; i < output.size(); ++i) {
    const Dim& size = output[output.size() - 1 - i];
    const bool lacks = i >= operand.size() || (operand[operand.size() - 1 - i] == Dim(1) && size != Dim(1));
    if (!lacks) continue;
    if (size.is_constant() && size != Dim(1)) return 1;
    extra *= size;
  }
  return extra == Dim(1) ? Dim(0) : min(Dim(1), extra - 1);
}

Dim summed(const OpContext& op, int input) { return op.output_elements(0) - op.elements(input); }

Gradient& each(Backward& b, int input, const Work& each, std::vector<Read> reads) {
  if (!b.wants(input)) return b.add(input);
  const bool is_passed_on = each.arith == Dim(0) && each.special == Dim(0) && reads.empty();
  Gradient& gradient = b.add(input, std::move(reads), each * b.op.output_elements(0));
  gradient.work.arith += summed(b.op, input);
  if (is_passed_on && !b.is_parameter(input)) {
    gradient.is_passed_on = true;
    gradient.moved = is_broadcast(b.op, input);
    gradient.is_renamed = gradient.moved == Dim(0);
  }
  return gradient;
}

// --- several operands ---

void add(Backward& b) {
  for (int i = 0; i < b.op.input_count(); ++i) each(b, i, {});
}

void sub(Backward& b) {
  each(b, 0, {});
  each(b, 1, ops_each(1));
}

void mul(Backward& b) {
  for (const int i : {0, 1}) each(b, i, ops_each(1), {i == 0 ? kB : kA});
}

// da = dy/b; db = −dy·(a/b)/b.
void div(Backward& b) {
  each(b, 0, ops_each(1), {kB});
  each(b, 1, ops_each(4), {kA, kB});
}

// d base = dy·p·x^(p−1): 2 and a pow; 2·x·dy for p = 2. A tensor p takes one more, p − 1. dp = dy·y·log(x).
void pow(Backward& b) {
  const std::optional<double> exponent = known_scalar(b.op, 1);
  const bool is_scalar = exponent || (b.op.has_shape(1) && b.op.elements(1) == Dim(1));
  if (exponent == 2.0)
    each(b, 0, ops_each(2), {kA});
  else
    each(b, 0, ops_each(is_scalar ? 2 : 3, 1), {kA, kB});
  each(b, 1, ops_each(2, 1), {kA, kY});
}

// da = dy; db = −dy·⌊a/b⌋.
void mod(Backward& b) {
  each(b, 0, {});
  each(b, 1, ops_each(4, 0, 1), {kA, kB});
}

// The gradient goes to the operand that is the extreme: each is compared once with the result.
void extreme(Backward& b) {
  for (int i = 0; i < b.op.input_count(); ++i) each(b, i, ops_each(1, 0, 1), {{Source::Input, i}, kY});
}

void mean(Backward& b) {
  for (int i = 0; i < b.op.input_count(); ++i) each(b, i, ops_each(1));
}

void where(Backward& b) {
  for (const int i : {1, 2}) each(b, i, ops_each(1, 0, 1), {kA});
}

// x > 0 ? dy : slope·dy; for the slope x > 0 ? 0 : x·dy.
void prelu(Backward& b) {
  each(b, 0, ops_each(2, 0, 1), {kA, kB});
  each(b, 1, ops_each(2, 0, 1), {kA});
}

// --- one operand ---

// x > 0 ? dy : dy·(y/α + 1); a division only if α is not 1.
void celu(Backward& b) { each(b, 0, ops_each(b.op.attribute("alpha", 1.0) == 1.0 ? 3 : 4, 0, 1), {kY}); }

// One comparison per bound.
void clip(Backward& b) {
  const auto has = [&](std::string_view name, int i) { return b.op.has_attribute(name) || b.op.has_input(i) ? 1 : 0; };
  const int bounds = has("min", 1) + has("max", 2);
  if (bounds == 0) return renamed(b);
  each(b, 0, ops_each(bounds, 0, bounds), {kA});
}

void gelu(Backward& b) {
  each(b, 0, gelu_work(b.op.attribute("approximate", std::string_view("none")) == "none"), {kA});
}

// The bias is added first: one more addition per element of each gradient that is computed.
void fast_gelu(Backward& b) {
  const Work bias = ops_each(b.op.has_input(1) ? 1 : 0);
  const std::vector<Read> reads = b.op.has_input(1) ? std::vector<Read>{kA, kB} : std::vector<Read>{kA};
  each(b, 0, gelu_work(false) + bias, reads);
  if (b.op.has_input(1)) each(b, 1, gelu_work(false) + bias, reads);
}

void bias_gelu(Backward& b) {
  for (const int i : {0, 1}) each(b, i, gelu_work(true) + ops_each(1), {kA, kB});
}

// s = sigmoid(α·x): dy·s·(1 + α·x·(1 − s)): 5 and a sigmoid; one more, α·x, if α is not 1.
void swish(Backward& b) { each(b, 0, ops_each(b.op.attribute("alpha", 1.0) == 1.0 ? 5 : 6, 1), {kA}); }
void quick_gelu(Backward& b) { each(b, 0, ops_each(6, 1), {kA}); }

// y = a·sigmoid(α·a)·b: da as for Swish, times b; db = dy·a·s.
void swiglu(Backward& b) {
  const int scale = b.op.attribute("alpha", 1.0) == 1.0 ? 0 : 1;
  each(b, 0, ops_each(6 + scale, 1), {kA, kB});
  each(b, 1, ops_each(2 + scale, 1), {kA});
}

void neg(Backward& b) { each(b, 0, ops_each(1)); }

// A view: its gradient is a view, too, unless it goes into a parameter's buffer.
void renamed(Backward& b) { b.add(0).is_renamed = !b.is_parameter(0); }

// The gradient is converted back; conversions between integers and reals have none.
void cast(Backward& b) { b.add(0).is_renamed = b.op.element(0) == b.op.output(0).element && !b.is_parameter(0); }

bool drops_in_training(const OpContext& op) {
  const std::optional<double> ratio = op.has_input(1) ? known_scalar(op, 1) : op.attribute("ratio", 0.5);
  return ratio != 0.0;
}

// dy·mask·scale.
void dropout(Backward& b) {
  if (!drops_in_training(b.op)) return renamed(b);
  each(b, 0, ops_each(2), {b.keep("mask", b.op.elements(0))});
}

}  // namespace pagoda::inline core::train_rules

// Backward of element-wise operators: each formula of the rules is evaluated twice. With counting numbers, it must cost
// what the rule says; its value must be the derivative, which dual numbers give exactly.
#include <doctest/doctest.h>

#include "pagoda/core/train.h"
#include "support/text_graph.h"
#include "train/cases.h"
#include "train/counted.h"

using namespace pagoda;
using test::Counted;
using test::Dual;

namespace {

const double kRoot2 = std::sqrt(2.0), kTanhGelu = std::sqrt(2 / M_PI), kErf = 2 / std::sqrt(M_PI);
const double kSeluAlpha = 1.67326, kSeluGamma = 1.0507;

Dual dual_tanh_gelu(Dual x) { return 0.5 * x * (1.0 + tanh(kTanhGelu * (x + 0.044715 * x * x * x))); }

struct Unary {
  const char* op;  // a node y = Op(x …)
  Dual (*forward)(Dual x);
  Counted (*backward)(Counted dy, Counted x, Counted y);
  std::vector<double> at;  // where to compare values
};

// Attribute constants are folded: an operation on constants only is not counted.
const Unary kUnary[] = {
    {"Abs(x)", [](Dual x) { return abs(x); }, [](Counted dy, Counted x, Counted) { return dy * sign(x); }, {-2, 3}},
    {"Acos(x)",
     [](Dual x) { return Dual(std::acos(x.v), -x.d / std::sqrt(1 - x.v * x.v)); },
     [](Counted dy, Counted x, Counted) { return -(dy * rsqrt(1.0 - x * x)); },
     {0.3}},
    {"Acosh(x)",
     [](Dual x) { return log(x + sqrt(x * x - 1.0)); },
     [](Counted dy, Counted x, Counted) { return dy * rsqrt(x * x - 1.0); },
     {1.7}},
    {"Asin(x)",
     [](Dual x) { return Dual(std::asin(x.v), x.d / std::sqrt(1 - x.v * x.v)); },
     [](Counted dy, Counted x, Counted) { return dy * rsqrt(1.0 - x * x); },
     {0.3}},
    {"Asinh(x)",
     [](Dual x) { return log(x + sqrt(x * x + 1.0)); },
     [](Counted dy, Counted x, Counted) { return dy * rsqrt(x * x + 1.0); },
     {-1.7, 0.4}},
    {"Atan(x)",
     [](Dual x) { return Dual(std::atan(x.v), x.d / (1 + x.v * x.v)); },
     [](Counted dy, Counted x, Counted) { return dy / (1.0 + x * x); },
     {0.6}},
    {"Atanh(x)",
     [](Dual x) { return 0.5 * log((1.0 + x) / (1.0 - x)); },
     [](Counted dy, Counted x, Counted) { return dy / (1.0 - x * x); },
     {0.6}},
    {"Celu(x)",
     [](Dual x) { return x > 0.0 ? x : exp(x) - 1.0; },
     [](Counted dy, Counted x, Counted y) { return select(x, 0, dy, dy * (y + 1.0)); },
     {-0.7, 2}},
    {"Celu(x) {alpha=2.0}",
     [](Dual x) { return x > 0.0 ? x : 2.0 * (exp(x / 2.0) - 1.0); },
     [](Counted dy, Counted x, Counted y) { return select(x, 0, dy, dy * (y / 2.0 + 1.0)); },
     {-0.7, 2}},
    {"Cos(x)", [](Dual x) { return cos(x); }, [](Counted dy, Counted x, Counted) { return -(dy * sin(x)); }, {0.7}},
    {"Cosh(x)",
     [](Dual x) { return 0.5 * (exp(x) + exp(-x)); },
     [](Counted dy, Counted x, Counted) { return dy * sinh(x); },
     {0.7}},
    {"Elu(x) {alpha=0.5}",
     [](Dual x) { return x > 0.0 ? x : 0.5 * (exp(x) - 1.0); },
     [](Counted dy, Counted x, Counted y) { return select(x, 0, dy, dy * (y + 0.5)); },
     {-0.7, 2}},
    {"Erf(x)",
     [](Dual x) { return erf(x); },
     [](Counted dy, Counted x, Counted) { return dy * (kErf * exp(-(x * x))); },
     {0.4, -1}},
    {"Exp(x)", [](Dual x) { return exp(x); }, [](Counted dy, Counted, Counted y) { return dy * y; }, {0.4}},
    {"Gelu(x)",
     [](Dual x) { return 0.5 * x * (1.0 + erf(x / kRoot2)); },
     [](Counted dy, Counted x, Counted) {
       const Counted whole = 0.5 * (1.0 + erf(x * (1 / kRoot2)));
       return dy * (whole + x * ((1 / std::sqrt(2 * M_PI)) * exp(-0.5 * (x * x))));
     },
     {-1.2, 0.3}},
    {"Gelu(x) {approximate='tanh'}",
     dual_tanh_gelu,
     [](Counted dy, Counted x, Counted) {
       const Counted square = x * x;
       const Counted inner = 0.044715 * square;
       const Counted t = tanh(kTanhGelu * x * (1.0 + inner));
       const Counted slope = kTanhGelu * (1.0 + (3 * 0.044715) * square);
       return dy * (0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * slope);
     },
     {-1.2, 0.3}},
    {"HardSwish(x)",
     [](Dual x) { return x > 3.0    ? x
                         : x < -3.0 ? Dual(0)
                                    : x * (x + 3.0) / 6.0; },
     [](Counted dy, Counted x, Counted) { return select(x, 3, dy, select(x, -3, dy * (x * (1.0 / 3) + 0.5), 0)); },
     {-4, 1, 4}},
    {"HardSigmoid(x)",
     [](Dual x) { return 0.2 * x + 0.5; },
     [](Counted dy, Counted, Counted y) { return select(y, 0, select(y, 1, 0, 0.2 * dy), 0); },
     {0.4}},
    {"LeakyRelu(x)",
     [](Dual x) { return x > 0.0 ? x : 0.01 * x; },
     [](Counted dy, Counted x, Counted) { return select(x, 0, dy, 0.01 * dy); },
     {-1, 2}},
    {"Log(x)", [](Dual x) { return log(x); }, [](Counted dy, Counted x, Counted) { return dy / x; }, {0.4}},
    {"Mish(x)",
     [](Dual x) { return x * tanh(log(1.0 + exp(x))); },
     [](Counted dy, Counted x, Counted) {
       const Counted t = tanh(softplus(x));
       return dy * (t + x * sigmoid(x) * (1.0 - t * t));
     },
     {-1, 0.5}},
    {"Neg(x)", [](Dual x) { return -x; }, [](Counted dy, Counted, Counted) { return -dy; }, {2}},
    {"Pow(x, two)", [](Dual x) { return x * x; }, [](Counted dy, Counted x, Counted) { return 2.0 * x * dy; }, {-3}},
    {"Pow(x, half)",
     [](Dual x) { return sqrt(x); },
     [](Counted dy, Counted x, Counted) { return 0.5 * dy * pow(x, -0.5); },
     {3}},
    {"Reciprocal(x)",
     [](Dual x) { return 1.0 / x; },
     [](Counted dy, Counted, Counted y) { return -(dy * (y * y)); },
     {3}},
    {"Relu(x)",
     [](Dual x) { return x > 0.0 ? x : Dual(0); },
     [](Counted dy, Counted, Counted y) { return select(y, 0, dy, 0); },
     {-1, 2}},
    {"Selu(x)",
     [](Dual x) { return x > 0.0 ? kSeluGamma * x : kSeluGamma * kSeluAlpha * (exp(x) - 1.0); },
     [](Counted dy, Counted x, Counted y) { return select(x, 0, kSeluGamma * dy, dy * (y + kSeluGamma * kSeluAlpha)); },
     {-1, 2}},
    {"Shrink(x)",
     [](Dual x) { return x > 0.5    ? x
                         : x < -0.5 ? x
                                    : Dual(0); },
     [](Counted dy, Counted x, Counted) { return select(abs(x), 0.5, dy, 0); },
     {-1, 0.2, 2}},
    {"Sigmoid(x)",
     [](Dual x) { return sigmoid(x); },
     [](Counted dy, Counted, Counted y) { return dy * y * (1.0 - y); },
     {0.3}},
    {"Sin(x)", [](Dual x) { return sin(x); }, [](Counted dy, Counted x, Counted) { return dy * cos(x); }, {0.3}},
    {"Sinh(x)",
     [](Dual x) { return 0.5 * (exp(x) - exp(-x)); },
     [](Counted dy, Counted x, Counted) { return dy * cosh(x); },
     {0.3}},
    {"Softplus(x)",
     [](Dual x) { return log(1.0 + exp(x)); },
     [](Counted dy, Counted x, Counted) { return dy * sigmoid(x); },
     {0.3}},
    {"Softsign(x)",
     [](Dual x) { return x / (1.0 + abs(x)); },
     [](Counted dy, Counted x, Counted) {
       const Counted below = 1.0 + abs(x);
       return dy / (below * below);
     },
     {-0.3, 2}},
    {"Sqrt(x)", [](Dual x) { return sqrt(x); }, [](Counted dy, Counted, Counted y) { return dy / (2.0 * y); }, {3}},
    {"Swish(x)",
     [](Dual x) { return x * sigmoid(x); },
     [](Counted dy, Counted x, Counted) {
       const Counted s = sigmoid(x);
       return dy * s * (1.0 + x * (1.0 - s));
     },
     {-0.3, 2}},
    {"Swish(x) {alpha=1.5}",
     [](Dual x) { return x * sigmoid(1.5 * x); },
     [](Counted dy, Counted x, Counted) {
       const Counted scaled = 1.5 * x;
       const Counted s = sigmoid(scaled);
       return dy * s * (1.0 + scaled * (1.0 - s));
     },
     {-0.3, 2}},
    {"com.microsoft.QuickGelu(x)",
     [](Dual x) { return x * sigmoid(1.702 * x); },
     [](Counted dy, Counted x, Counted) {
       const Counted scaled = 1.702 * x;
       const Counted s = sigmoid(scaled);
       return dy * s * (1.0 + scaled * (1.0 - s));
     },
     {-0.3, 2}},
    {"Tan(x)",
     [](Dual x) { return sin(x) / cos(x); },
     [](Counted dy, Counted, Counted y) { return dy * (1.0 + y * y); },
     {0.3}},
    {"Tanh(x)",
     [](Dual x) { return tanh(x); },
     [](Counted dy, Counted, Counted y) { return dy * (1.0 - y * y); },
     {0.3}},
    {"ThresholdedRelu(x)",
     [](Dual x) { return x > 1.0 ? x : Dual(0); },
     [](Counted dy, Counted x, Counted) { return select(x, 1, dy, 0); },
     {0.3, 2}},
    {"Clip(x, low, high)",
     [](Dual x) { return x > 6.0   ? Dual(6)
                         : x < 0.0 ? Dual(0)
                                   : x; },
     [](Counted dy, Counted x, Counted) { return select(x, 0, select(x, 6, 0, dy), 0); },
     {-1, 3, 8}},
};

// One input is an activation, with parameters before it so that it needs a gradient.
Training one_node(const std::string& node, const std::string& more = "") {
  const Model model = test::graph(
      "opset=26 com.microsoft=1 : x0:f32[4,6], w:f32[4,6]=const, two:f32=2.0, half:f32=0.5, "
      "low:f32=0.0, high:f32=6.0" +
      more + " -> x = Add(x0, w); y = " + node);
  const Training training = train(model, analyze(model));
  REQUIRE_MESSAGE(!training.partial, node << ": " << training.rows[1].problem);
  return training;
}

}  // namespace

TEST_CASE("derivatives of one operand are right and take what the rules say") {
  for (const Unary& row : kUnary) {
    CAPTURE(std::string(row.op));
    for (const double x : row.at) {
      const Dual forward = row.forward(Dual(x, 1));
      Counted::counts = {};
      const double got = row.backward(1.7, x, forward.v).v;
      CAPTURE(x);
      CHECK(got == doctest::Approx(1.7 * forward.d));
    }
    const test::Counts per_element = Counted::counts;
    const OpCost dx = one_node(row.op).rows[1].dx;
    CHECK(dx.macs == Dim(0));
    CHECK(dx.arith == Dim(24 * per_element.arith));
    CHECK(dx.special == Dim(24 * per_element.special));
    CHECK(dx.comparisons == Dim(24 * per_element.comparisons));
    CHECK(dx.bytes_written == Dim(24 * 4));
  }
}

namespace {

struct Binary {
  const char* op;  // y = Op(a, b)
  Dual (*forward)(Dual a, Dual b);
  Counted (*da)(Counted dy, Counted a, Counted b, Counted y);
  Counted (*db)(Counted dy, Counted a, Counted b, Counted y);
  int reads_a, reads_b;  // tensors that the two gradients read besides dy
};

const Binary kBinary[] = {
    {"Add", [](Dual a, Dual b) { return a + b; }, [](Counted dy, Counted, Counted, Counted) { return dy; },
     [](Counted dy, Counted, Counted, Counted) { return dy; }, 0, 0},
    {"Sub", [](Dual a, Dual b) { return a - b; }, [](Counted dy, Counted, Counted, Counted) { return dy; },
     [](Counted dy, Counted, Counted, Counted) { return -dy; }, 0, 0},
    {"Mul", [](Dual a, Dual b) { return a * b; }, [](Counted dy, Counted, Counted b, Counted) { return dy * b; },
     [](Counted dy, Counted a, Counted, Counted) { return dy * a; }, 1, 1},
    {"Div", [](Dual a, Dual b) { return a / b; }, [](Counted dy, Counted, Counted b, Counted) { return dy / b; },
     [](Counted dy, Counted a, Counted b, Counted) { return -(dy * ((a / b) / b)); }, 1, 2},
    {"Pow", [](Dual a, Dual b) { return exp(b * log(a)); },
     [](Counted dy, Counted a, Counted b, Counted) { return dy * b * pow(a, (b - 1.0).v); },
     [](Counted dy, Counted a, Counted, Counted y) { return dy * y * log(a); }, 2, 2},
    {"Max", [](Dual a, Dual b) { return a > b ? a : b; },
     [](Counted dy, Counted a, Counted, Counted y) { return select(y, a, 0, dy); },
     [](Counted dy, Counted, Counted b, Counted y) { return select(y, b, 0, dy); }, 2, 2},
    {"Mod", [](Dual a, Dual b) { return a - Dual(std::floor(a.v / b.v)) * b; },
     [](Counted dy, Counted, Counted, Counted) { return dy; },
     [](Counted dy, Counted a, Counted b, Counted) { return -(dy * floor(a / b)); }, 0, 2},
    {"Mean", [](Dual a, Dual b) { return (a + b) / 2.0; },
     [](Counted dy, Counted, Counted, Counted) { return dy / 2.0; },
     [](Counted dy, Counted, Counted, Counted) { return dy / 2.0; }, 0, 0},
    {"PRelu", [](Dual a, Dual b) { return a > 0.0 ? a : a * b; },
     [](Counted dy, Counted a, Counted b, Counted) { return select(a, 0, dy, b * dy); },
     [](Counted dy, Counted a, Counted, Counted) { return select(a, 0, 0, a * dy); }, 2, 1},
    {"SwiGLU", [](Dual a, Dual b) { return a * sigmoid(a) * b; },
     [](Counted dy, Counted a, Counted b, Counted) {
       const Counted s = sigmoid(a);
       return dy * b * s * (1.0 + a * (1.0 - s));
     },
     [](Counted dy, Counted a, Counted, Counted) { return dy * (a * sigmoid(a)); }, 2, 1},
};

OpCost counts_of(Counted (*gradient)(Counted, Counted, Counted, Counted), double a, double b, double y,
                 double expected) {
  Counted::counts = {};
  CHECK(gradient(1.7, a, b, y).v == doctest::Approx(1.7 * expected));
  OpCost cost;
  cost.arith = Counted::counts.arith;
  cost.special = Counted::counts.special;
  cost.comparisons = Counted::counts.comparisons;
  return cost;
}

}  // namespace

TEST_CASE("derivatives of two operands are right and take what the rules say") {
  for (const Binary& row : kBinary) {
    CAPTURE(std::string(row.op));
    for (const auto& [a, b] : {std::pair{1.3, 0.7}, std::pair{0.4, 2.1}}) {
      const Dual along_a = row.forward(Dual(a, 1), Dual(b));
      const Dual along_b = row.forward(Dual(a), Dual(b, 1));
      const OpCost da = counts_of(row.da, a, b, along_a.v, along_a.d);
      const OpCost db = counts_of(row.db, a, b, along_a.v, along_b.d);
      // a is an activation and b a parameter of the same size, so that dx and dw distinguish them.
      const Training training = one_node(std::string(row.op) + "(x, b)", ", b:f32[4,6]=const");
      const TrainingRow& got = training.rows[1];
      CHECK(got.dx.arith == 24 * da.arith);
      CHECK(got.dx.special == 24 * da.special);
      CHECK(got.dw.arith == 24 * db.arith);
      CHECK(got.dw.special == 24 * db.special);
      CHECK(got.dw.comparisons == 24 * db.comparisons);
      const bool is_renamed = da.arith == Dim(0) && da.special == Dim(0);
      CHECK(got.dx.bytes_read == Dim(is_renamed ? 0 : 96 * (1 + row.reads_a)));
      CHECK(got.dx.bytes_written == Dim(is_renamed ? 0 : 96));
      CHECK(got.dw.bytes_read == Dim(96 * (1 + row.reads_b)));
      CHECK(got.dw.bytes_written == Dim(96));
    }
  }
}

TEST_CASE("the gradient of a broadcast operand is summed, n elements into m by n − m additions") {
  struct Case {
    const char* shape;
    int elements;
  };
  for (const Case& operand : {Case{"[4,6]", 24}, Case{"[6]", 6}, Case{"[4,1]", 4}, Case{"[1]", 1}}) {
    CAPTURE(std::string(operand.shape));
    const std::string parameter = std::string(", b:f32") + operand.shape + "=const";
    CHECK(one_node("Add(x, b)", parameter).rows[1].dw.arith == Dim(24 - operand.elements));
    CHECK(one_node("Mul(x, b)", parameter).rows[1].dw.arith == Dim(24 + 24 - operand.elements));
    CHECK(one_node("Add(x, b)", parameter).rows[1].dw.bytes_written == Dim(4 * operand.elements));
  }
}

TEST_CASE("whether an operand is broadcast may depend on a free dim: the formula holds for all its values") {
  const Model model = test::graph(
      "x0:f32[N,6], w:f32[6]=const, v:f32[1,6]=const, z:f32[1,6] "
      "-> x = Add(x0, w); b = Add(z, v); y = Sub(b, x)");
  const Training formula = train(model, analyze(model));
  for (const std::int64_t n : {1, 2, 5}) {
    CAPTURE(n);
    const Training first = train(model, analyze(model, {.dims = {{"N", n}}}));
    const Training after = bind_dims(formula, {{"N", n}});
    CHECK(first.totals.step.bytes() == after.totals.step.bytes());
    CHECK(flops(first.totals.step) == flops(after.totals.step));
    CHECK(first.rows[2].gradient_bytes == Dim(n * 24 + (n == 1 ? 0 : 24)));
  }
}

std::vector<std::string> test::elementwise_nodes() {
  std::vector<std::string> nodes;
  for (const Unary& row : kUnary) nodes.emplace_back(row.op);
  for (const Binary& row : kBinary) nodes.push_back(std::string(row.op) + "(");
  return nodes;
}

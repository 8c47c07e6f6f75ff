// The backward of every operator whose facts say Gradient::Rule, one row each.
#include <algorithm>

#include "ops/op_rule.h"
#include "train/backward_rule.h"

namespace pagoda::inline core::train_rules {
namespace {

template <std::size_t N>
consteval bool well_formed(const BackwardRule (&rules)[N]) {
  for (std::size_t i = 0; i < N; ++i) {
    if (rules[i].name.empty() || rules[i].work.empty() || rules[i].gradients == nullptr || rules[i].inputs == 0 ||
        rules[i].outputs == 0)
      return false;
    if (i > 0 && !(rules[i - 1].name < rules[i].name)) return false;
  }
  return true;
}

// clang-format off
constexpr BackwardRule kDefault[] = {
    // op, gradients, inputs that can have one, outputs that pass one on, work per element unless it says otherwise
    {"Abs",                          unary<2, 0, 1, Source::Input>,  kFirst,    kFirst, "dy·sign(x)"},
    {"Acos",                         unary<4, 1, 0, Source::Input>,  kFirst,    kFirst, "−dy·rsqrt(1 − x²)"},
    {"Acosh",                        unary<3, 1, 0, Source::Input>,  kFirst,    kFirst, "dy·rsqrt(x² − 1)"},
    {"Add",                          add,                            kAll,      kFirst, "dy, summed where broadcast"},
    {"Asin",                         unary<3, 1, 0, Source::Input>,  kFirst,    kFirst, "dy·rsqrt(1 − x²)"},
    {"Asinh",                        unary<3, 1, 0, Source::Input>,  kFirst,    kFirst, "dy·rsqrt(x² + 1)"},
    {"Atan",                         unary<3, 0, 0, Source::Input>,  kFirst,    kFirst, "dy/(1 + x²)"},
    {"Atanh",                        unary<3, 0, 0, Source::Input>,  kFirst,    kFirst, "dy/(1 − x²)"},
    {"Attention",                    attention,                      0b111111,  kAll,   "dQ, dK, dV, dP as many macs as forward; 5 per pair; keeps the probabilities"},
    {"AveragePool",                  average_pool,                   kFirst,    kFirst, "1 div, kernel adds per output element"},
    {"BatchNormalization",           batch_norm,                     0b111,     kFirst, "sums 5, dx 6 per element; 3 per channel"},
    {"Cast",                         cast,                           kFirst,    kFirst, "converted back"},
    {"CastLike",                     cast,                           kFirst,    kFirst, "converted back"},
    {"CausalConvWithState",          causal_conv,                    0b1111,    kAll,   "dX, dW: forward macs each; db: sum"},
    {"Celu",                         celu,                           kFirst,    kFirst, "x > 0 ? dy : dy·(y/α + 1)"},
    {"CenterCropPad",                move,                           kFirst,    kFirst, "moves"},
    {"Clip",                         clip,                           kFirst,    kFirst, "1 comparison per bound"},
    {"Col2Im",                       move,                           kFirst,    kFirst, "picks what each column added to"},
    {"Compress",                     gather,                         kFirst,    kFirst, "placed among zeros"},
    {"Concat",                       concat,                         kAll,      kFirst, "each input's part"},
    {"Conv",                         conv,                           0b111,     kFirst, "dX, dW: forward macs each; db: sum"},
    {"ConvTranspose",                conv,                           0b111,     kFirst, "dX, dW: forward macs each; db: sum"},
    {"Cos",                          unary<2, 1, 0, Source::Input>,  kFirst,    kFirst, "−dy·sin(x)"},
    {"Cosh",                         unary<1, 1, 0, Source::Input>,  kFirst,    kFirst, "dy·sinh(x)"},
    {"CumSum",                       cum_sum,                        kFirst,    kFirst, "as many adds as forward"},
    {"DFT",                          linear_transform,               kFirst,    kFirst, "as many operations as forward"},
    {"DepthToSpace",                 move,                           kFirst,    kFirst, "moves"},
    {"Div",                          div,                            0b11,      kFirst, "dy/b; −dy·(a/b)/b"},
    {"Dropout",                      dropout,                        kFirst,    kFirst, "dy·mask·scale"},
    {"Einsum",                       einsum,                         kAll,      kFirst, "each of two operands: forward macs"},
    {"Elu",                          unary<3, 0, 1, Source::Output>, kFirst,    kFirst, "x > 0 ? dy : dy·(y + α)"},
    {"Erf",                          unary<4, 1, 0, Source::Input>,  kFirst,    kFirst, "dy·c·exp(−x²)"},
    {"Exp",                          unary<1, 0, 0, Source::Output>, kFirst,    kFirst, "dy·y"},
    {"Expand",                       expand,                         kFirst,    kFirst, "sum of the copies"},
    {"Flatten",                      renamed,                        kFirst,    kFirst, "a view"},
    {"GRU",                          gru,                            0b101111,  kAll,   "dX, dW, dH, dR: forward macs of their part each; 19 per hidden element (18 linear_before_reset)"},
    {"Gather",                       gather,                         kFirst,    kFirst, "1 add per picked element; writes the dense gradient"},
    {"GatherElements",               gather,                         kFirst,    kFirst, "1 add per picked element"},
    {"GatherND",                     gather,                         kFirst,    kFirst, "1 add per picked element"},
    {"Gelu",                         gelu,                           kFirst,    kFirst, "9, erf, exp per element; tanh form 17, tanh"},
    {"Gemm",                         gemm,                           0b111,     kFirst, "dA, dB: forward macs each; dC: sum"},
    {"GlobalAveragePool",            reduce_mean,                    kFirst,    kFirst, "1 div per output element"},
    {"GlobalLpPool",                 global_lp_pool,                 kFirst,    kFirst, "as ReduceL2, ReduceL1"},
    {"GlobalMaxPool",                global_max_pool,                kFirst,    kFirst, "placed at the maxima"},
    {"GroupNormalization",           group_norm,                     0b111,     kFirst, "10 per element; dγ 4, dβ 1"},
    {"HardSigmoid",                  unary<3, 0, 2, Source::Output>, kFirst,    kFirst, "0 < y < 1 ? α·dy : 0"},
    {"HardSwish",                    unary<5, 0, 2, Source::Input>,  kFirst,    kFirst, "2 comparisons, dy·(x/3 + ½)"},
    {"Identity",                     renamed,                        kFirst,    kFirst, "a view"},
    {"InstanceNormalization",        instance_norm,                  0b111,     kFirst, "10 per element; dγ 4, dβ 1"},
    {"LRN",                          lrn,                            kFirst,    kFirst, "size + 5, pow per element"},
    {"LSTM",                         lstm,                           0b1101111, kAll,   "dX, dW, dH, dR: forward macs of their part each; 23 per hidden element"},
    {"LayerNormalization",           layer_norm,                     0b111,     kFirst, "10 per element; dγ 4, dβ 1"},
    {"LeakyRelu",                    unary<2, 0, 1, Source::Input>,  kFirst,    kFirst, "x > 0 ? dy : α·dy"},
    {"Log",                          unary<1, 0, 0, Source::Input>,  kFirst,    kFirst, "dy/x"},
    {"LogSoftmax",                   unary<3, 1, 0, Source::Output>, kFirst,    kFirst, "dy − exp(y)·Σ dy"},
    {"LpNormalization",              lp_norm,                        kFirst,    kFirst, "(dy − y·Σ dy·y)/‖x‖"},
    {"LpPool",                       lp_pool,                        kFirst,    kFirst, "1 product, 1 add per tap, 1 div per output element"},
    {"MatMul",                       matmul,                         0b11,      kFirst, "dA, dB: forward macs each"},
    {"Max",                          extreme,                        kAll,      kFirst, "1 comparison per operand"},
    {"MaxPool",                      max_pool,                       kFirst,    kFirst, "1 add per output element, at the kept indices"},
    {"MaxUnpool",                    max_unpool,                     kFirst,    kFirst, "picks"},
    {"Mean",                         mean,                           kAll,      kFirst, "1 div per operand"},
    {"MeanVarianceNormalization",    mean_variance_norm,             kFirst,    kFirst, "9 per element"},
    {"Min",                          extreme,                        kAll,      kFirst, "1 comparison per operand"},
    {"Mish",                         unary<6, 3, 0, Source::Input>,  kFirst,    kFirst, "t = tanh(softplus(x)): dy·(t + x·sigmoid(x)·(1 − t²))"},
    {"Mod",                          mod,                            0b11,      kFirst, "dy; −dy·floor(a/b)"},
    {"Mul",                          mul,                            0b11,      kFirst, "dy·b; dy·a"},
    {"Neg",                          neg,                            kFirst,    kFirst, "−dy"},
    {"NegativeLogLikelihoodLoss",    negative_log_likelihood,        kFirst,    kFirst, "per label"},
    {"OneHot",                       one_hot,                        0b100,     kFirst, "1 add per element"},
    {"PRelu",                        prelu,                          0b11,      kFirst, "x > 0 ? dy : slope·dy; x > 0 ? 0 : x·dy"},
    {"Pad",                          pad,                            kFirst,    kFirst, "the part that is not padding"},
    {"Pow",                          pow,                            0b11,      kFirst, "dy·p·x^(p − 1): 2, pow; 2 for p = 2; dy·y·log(x)"},
    {"RMSNormalization",             rms_norm,                       0b11,      kFirst, "7 per element; dγ 3"},
    {"RNN",                          rnn,                            0b101111,  kAll,   "dX, dW, dH, dR: forward macs of their part each; 4 per hidden element"},
    {"Reciprocal",                   unary<3, 0, 0, Source::Output>, kFirst,    kFirst, "−dy·y²"},
    {"ReduceL1",                     reduce_l1,                      kFirst,    kFirst, "dy·sign(x)"},
    {"ReduceL2",                     reduce_l2,                      kFirst,    kFirst, "(dy/y)·x"},
    {"ReduceLogSum",                 reduce_log_sum,                 kFirst,    kFirst, "dy·exp(−y) per result"},
    {"ReduceLogSumExp",              reduce_log_sum_exp,             kFirst,    kFirst, "dy·exp(x − y)"},
    {"ReduceMax",                    reduce_extreme,                 kFirst,    kFirst, "1 comparison per element"},
    {"ReduceMean",                   reduce_mean,                    kFirst,    kFirst, "1 div per result, copied"},
    {"ReduceMin",                    reduce_extreme,                 kFirst,    kFirst, "1 comparison per element"},
    {"ReduceProd",                   reduce_prod,                    kFirst,    kFirst, "(dy·y)/x"},
    {"ReduceSum",                    reduce_sum,                     kFirst,    kFirst, "copied"},
    {"ReduceSumSquare",              reduce_sum_square,              kFirst,    kFirst, "(2·dy)·x"},
    {"Relu",                         unary<1, 0, 1, Source::Output>, kFirst,    kFirst, "y > 0 ? dy : 0"},
    {"Reshape",                      renamed,                        kFirst,    kFirst, "a view"},
    {"Resize",                       resize,                         kFirst,    kFirst, "nearest 1 add per output element; else as many operations as forward, 1 more per element"},
    {"ReverseSequence",              move,                           kFirst,    kFirst, "moves"},
    {"RoiAlign",                     roi_align,                      kFirst,    kFirst, "8 per sample, 1 div per output element"},
    {"RotaryEmbedding",              rotary,                         kFirst,    kFirst, "as many operations as forward"},
    {"Scatter",                      scatter,                        0b101,     kFirst, "moves, picks"},
    {"ScatterElements",              scatter,                        0b101,     kFirst, "moves, picks"},
    {"ScatterND",                    scatter,                        0b101,     kFirst, "moves, picks"},
    {"Selu",                         unary<4, 0, 1, Source::Output>, kFirst,    kFirst, "x > 0 ? γ·dy : dy·(y + γ·α)"},
    {"Shrink",                       unary<2, 0, 2, Source::Input>,  kFirst,    kFirst, "|x| > λ ? dy : 0"},
    {"Sigmoid",                      unary<3, 0, 0, Source::Output>, kFirst,    kFirst, "dy·y·(1 − y)"},
    {"SimplifiedLayerNormalization", rms_norm,                       0b11,      kFirst, "as RMSNormalization"},
    {"Sin",                          unary<1, 1, 0, Source::Input>,  kFirst,    kFirst, "dy·cos(x)"},
    {"Sinh",                         unary<1, 1, 0, Source::Input>,  kFirst,    kFirst, "dy·cosh(x)"},
    {"Slice",                        move,                           kFirst,    kFirst, "placed among zeros"},
    {"Softmax",                      unary<4, 0, 0, Source::Output>, kFirst,    kFirst, "y·(dy − Σ dy·y)"},
    {"SoftmaxCrossEntropyLoss",      cross_entropy,                  kFirst,    kAll,   "1, exp per score; per label"},
    {"Softplus",                     unary<1, 1, 0, Source::Input>,  kFirst,    kFirst, "dy·sigmoid(x)"},
    {"Softsign",                     unary<4, 0, 1, Source::Input>,  kFirst,    kFirst, "dy/(1 + |x|)²"},
    {"SpaceToDepth",                 move,                           kFirst,    kFirst, "moves"},
    {"Split",                        move,                           kFirst,    kAll,   "joined"},
    {"Sqrt",                         unary<2, 0, 0, Source::Output>, kFirst,    kFirst, "dy/(2·y)"},
    {"Squeeze",                      renamed,                        kFirst,    kFirst, "a view"},
    {"Sub",                          sub,                            0b11,      kFirst, "dy; −dy"},
    {"Sum",                          add,                            kAll,      kFirst, "dy, summed where broadcast"},
    {"SwiGLU",                       swiglu,                         0b11,      kFirst, "s = sigmoid(a): dy·b·s·(1 + a·(1 − s)); dy·a·s"},
    {"Swish",                        swish,                          kFirst,    kFirst, "s = sigmoid(x): dy·s·(1 + x·(1 − s))"},
    {"Tan",                          unary<3, 0, 0, Source::Output>, kFirst,    kFirst, "dy·(1 + y²)"},
    {"Tanh",                         unary<3, 0, 0, Source::Output>, kFirst,    kFirst, "dy·(1 − y²)"},
    {"TensorScatter",                scatter,                        0b11,      kFirst, "moves, picks"},
    {"ThresholdedRelu",              unary<1, 0, 1, Source::Input>,  kFirst,    kFirst, "x > α ? dy : 0"},
    {"Tile",                         expand,                         kFirst,    kFirst, "sum of the copies"},
    {"TopK",                         top_k,                          kFirst,    kFirst, "placed among zeros"},
    {"Transpose",                    move,                           kFirst,    kFirst, "moves"},
    {"Trilu",                        move,                           kFirst,    kFirst, "zeros outside the triangle"},
    {"Unsqueeze",                    renamed,                        kFirst,    kFirst, "a view"},
    {"Upsample",                     resize,                         kFirst,    kFirst, "as Resize"},
    {"Where",                        where,                          0b110,     kFirst, "1 selection per operand"},
};

constexpr BackwardRule kMicrosoft[] = {
    {"BiasGelu",                         bias_gelu,       0b11,    kFirst, "as Gelu, 1 more per operand"},
    {"FastGelu",                         fast_gelu,       0b11,    kFirst, "as Gelu's tanh form; 1 more where there is a bias"},
    {"FusedMatMul",                      matmul,          0b11,    kFirst, "dA, dB: forward macs each"},
    {"Gelu",                             gelu,            kFirst,  kFirst, "9, erf, exp per element"},
    {"QuickGelu",                        quick_gelu,      kFirst,  kFirst, "6, sigmoid per element"},
    {"RotaryEmbedding",                  rotary,          kFirst,  kFirst, "as many operations as forward"},
    {"SkipLayerNormalization",           skip_layer_norm, 0b11111, 0b1001, "as LayerNormalization; the sum's gradient to all that is added"},
    {"SkipSimplifiedLayerNormalization", skip_rms_norm,   0b1111,  0b1001, "as RMSNormalization; the sum's gradient to all that is added"},
};
// clang-format on
static_assert(well_formed(kDefault) && well_formed(kMicrosoft));

constexpr BackwardRule kNone{"", nullptr, 0, 0, "no gradient, by nature"};
constexpr BackwardRule kUnmodelled{"", nullptr, kAll, kAll, "not modelled"};

}  // namespace

std::span<const BackwardRule> default_rules() { return kDefault; }
std::span<const BackwardRule> microsoft_rules() { return kMicrosoft; }

const BackwardRule& backward_rule(std::string_view domain, std::string_view op_type) {
  const OpRule* forward = ops::find_rule(domain, op_type);
  if (forward == nullptr) return kUnmodelled;
  if (forward->facts.gradient != pagoda::Gradient::Rule)
    return has_gradient(forward->facts.gradient) ? kUnmodelled : kNone;
  const std::span<const BackwardRule> rules = domain.empty() ? default_rules() : microsoft_rules();
  const auto found = std::lower_bound(rules.begin(), rules.end(), op_type,
                                      [](const BackwardRule& rule, std::string_view key) { return rule.name < key; });
  return found != rules.end() && found->name == op_type ? *found : kUnmodelled;
}

const BackwardRule& unmodelled_backward() { return kUnmodelled; }

}  // namespace pagoda::inline core::train_rules

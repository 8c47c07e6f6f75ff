// The longer functions of rule_parts.h and nn_work.h.
#include "ops/nn_work.h"

#include <array>
#include <cassert>

#include "pagoda/base/text.h"

namespace pagoda::inline core::ops {

const OpRule& standard_rule(std::string_view op_type) {
  const OpRule* rule = find_rule("", op_type);
  assert(rule != nullptr);
  return *rule;
}

namespace {

// clang-format off
constexpr std::array kActivations = std::to_array<Activation>({
    // name             arith special comparisons, recurrent
    {"Clip",            2,    0,      2, false},
    {"Elu",             3,    1,      1, true},  // x > 0 ? x : α·(exp(x) − 1)
    {"Gelu",            4,    1,      0, false},
    {"HardSigmoid",     4,    0,      2, true},  // max(0, min(1, α·x + β))
    {"HardSwish",       5,    0,      2, false},
    {"LeakyRelu",       2,    0,      1, true},
    {"QuickGelu",       2,    1,      0, false},  // x·sigmoid(α·x)
    {"Relu",            1,    0,      1, true},
    {"Relu2",           2,    0,      1, false},  // max(0, x)²
    {"Relu_squared",    2,    0,      1, false},  // the same; operators spell it in two ways
    {"ScaledTanh",      2,    1,      0, true},
    {"Selu",            4,    1,      1, false},  // γ·(x > 0 ? x : α·exp(x) − α)
    {"Sigmoid",         0,    1,      0, true},
    {"Silu",            1,    1,      0, false},
    {"Softplus",        1,    2,      0, true},  // log(1 + exp(x))
    {"Softsign",        3,    0,      1, true},  // x / (1 + |x|)
    {"Swish",           1,    1,      0, false},
    {"Tanh",            0,    1,      0, true},
    {"ThresholdedRelu", 1,    0,      1, true},
});
// clang-format on

}  // namespace

OpCost qlinear_cost(const OpContext& op, const Dim& macs) {
  const Dim outputs = op.output_elements(0);
  const Dim operands = op.elements(0) + op.elements(3) + 2 * op.elements(4);
  return int8_cost(op) + Work{.arith = operands + when(op.has_input(8), outputs), .macs = macs} +
         quantize_work() * outputs;
}

Work swiglu_work(const OpContext& op, bool is_clamped) {
  Work work = {.arith = 2, .special = 1};
  if (op.attribute("activation_alpha", 1.0) != 1.0) work.arith += 1;
  if (op.attribute("activation_beta", 0.0) != 0.0) work.arith += 1;
  if (is_clamped) work += Work{.arith = 3, .comparisons = 3};
  return work;
}

const Activation* find_activation(std::string_view name) {
  const std::string wanted = base::lower(name);
  const auto found = std::find_if(kActivations.begin(), kActivations.end(),
                                  [&](const Activation& row) { return base::lower(row.name) == wanted; });
  return found == kActivations.end() ? nullptr : &*found;
}

Work activation_work(const OpContext& op, std::string_view name) {
  const std::string wanted = base::lower(name);
  if (wanted.empty() || wanted == "none" || wanted == "identity") return {};
  if (const Activation* activation = find_activation(name)) return activation->work();
  op.unknown(cat("activation '", name, "' is not a known one"));
}

Work fused_activation_work(const OpContext& op) {
  return activation_work(op, op.attribute("activation", "")) * op.output_elements(0);
}

std::optional<Dim> scalar_value(const OpContext& op, int i) {
  const TensorValue* value = op.value(i);
  return value != nullptr && value->size() == 1 ? as_dim(value->front()) : std::nullopt;
}

std::optional<std::vector<Dim>> known_sizes(const OpContext& op, int i) {
  const TensorValue* value = op.value(i);
  if (value == nullptr) return std::nullopt;
  std::vector<Dim> sizes;
  for (const Scalar& scalar : *value) {
    const std::optional<Dim> size = as_dim(scalar);
    if (!size) return std::nullopt;
    sizes.push_back(*size);
  }
  return sizes;
}

std::optional<bool> flag_value(const OpContext& op, int i) {
  const std::optional<Dim> value = scalar_value(op, i);
  if (!value || !value->is_constant()) return std::nullopt;
  return *value != Dim(0);
}

Dim size_argument(OpContext& op, int i, std::string_view hint) {
  const std::optional<Dim> size = scalar_value(op, i);
  if (!size) return op.fresh(hint, "a size computed from data");
  if (size->is_constant() && *size->value() < 0) op.fail(cat(hint, " is ", size->to_string()));
  return *size;
}

std::int64_t positive_attribute(const OpContext& op, std::string_view name) {
  constexpr std::int64_t kLargest = (std::int64_t{1} << 31) - 1;
  const std::int64_t value = op.required_integer(name);
  if (value < 1 || value > kLargest) op.fail(cat(name, " is ", value));
  return value;
}

Dim divided(const OpContext& op, const Dim& size, const Dim& parts, std::string_view what) {
  if (const auto exact = exact_div(size, parts)) return *exact;
  if (size.is_constant() && parts.is_constant())
    op.fail(cat(what, ": ", size.to_string(), " does not divide by ", parts.to_string()));
  return floor_div(size, parts);
}

const Dim& dim_of(const OpContext& op, int i, int axis) {
  const Shape& shape = op.shape(i);
  const int rank = static_cast<int>(shape.size());
  if (axis < -rank || axis >= rank)
    op.fail(cat("input ", i, " has rank ", rank, ", expected ", axis < 0 ? -axis : axis + 1, " or more"));
  return shape[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
}

void expect_dim(OpContext& op, int i, int axis, const Dim& dim, std::string_view what) {
  if (op.has_shape(i)) op.unify(dim_of(op, i, axis), dim, what);
}

Shape appended(Shape shape, std::initializer_list<Dim> last) {
  shape.insert(shape.end(), last.begin(), last.end());
  return shape;
}

Shape leading(const Shape& shape) { return Shape(shape.begin(), shape.empty() ? shape.end() : shape.end() - 1); }

Dim row_count(const Shape& shape) { return element_count(leading(shape)); }

}  // namespace pagoda::inline core::ops

// Operators that make tensors from attributes, shapes and random numbers.
#include <cmath>

#include "ops/fold.h"
#include "ops/rule_parts.h"

namespace pagoda::inline core::ops {
namespace {

// --- Constant ---

// Exactly one attribute gives the value: a tensor, or since opset 12 a number, a string or a list of them.
constexpr std::pair<std::string_view, ElementType> kConstantTypes[] = {
    {"value_float", ElementType::Float32}, {"value_floats", ElementType::Float32},
    {"value_int", ElementType::Int64},     {"value_ints", ElementType::Int64},
    {"value_string", ElementType::String}, {"value_strings", ElementType::String},
};

const Tensor* constant_tensor(const OpContext& op) {
  const Tensor* dense = attribute_if<Tensor>(op, "value");
  return dense != nullptr ? dense : attribute_if<Tensor>(op, "sparse_value");
}

void infer_constant(OpContext& op) {
  if (const Tensor* tensor = constant_tensor(op)) return op.set_output(0, tensor->type);
  for (const auto& [attribute, element] : kConstantTypes) {
    if (!op.has_attribute(attribute)) continue;
    const std::size_t length = list_length(op, attribute);
    const bool is_list = length > 0 || attribute.ends_with('s');
    return op.set_output(0, element, is_list ? Shape{Dim(length)} : Shape{});
  }
  op.fail("no attribute gives the value");
}

void fold_constant(OpContext& op) {
  if (const Tensor* tensor = constant_tensor(op)) {
    if (tensor->value) op.set_value(0, *tensor->value);
    return;
  }
  if (!small_output(op, 0)) return;
  TensorValue value;
  for (const std::string_view name : {"value_float", "value_floats", "value_int", "value_ints"}) {
    if (!op.has_attribute(name)) continue;
    if (const auto* integer = attribute_if<std::int64_t>(op, name)) value.push_back(Dim(*integer));
    if (const auto* number = attribute_if<double>(op, name)) value.push_back(real(*number, ElementType::Float32));
    if (const auto* list = attribute_if<std::vector<std::int64_t>>(op, name)) value.assign(list->begin(), list->end());
    if (const auto* list = attribute_if<std::vector<double>>(op, name))
      for (const double entry : *list) value.push_back(real(entry, ElementType::Float32));
    return publish(op, std::move(value));
  }
}

// --- ConstantOfShape, EyeLike, Range ---

void infer_constant_of_shape(OpContext& op) {
  const Tensor* fill = attribute_if<Tensor>(op, "value");
  const ElementType element = fill != nullptr ? fill->type.element : ElementType::Float32;
  set_element(op, 0, element);
  if (const TensorValue* sizes = op.value(0))
    return op.set_output(0, element, shape_from_value(op, *sizes, "filled_dim"));
  if (const auto length = entry_count(op, 0))
    op.set_output(0, element, shape_from_value(op, TensorValue(*length), "filled_dim"));
}

void fold_constant_of_shape(OpContext& op) {
  const auto shape = small_output(op, 0);
  const Tensor* fill = attribute_if<Tensor>(op, "value");
  Scalar element = real(0, ElementType::Float32);
  if (fill != nullptr) {
    if (!fill->value || fill->value->size() != 1) return;
    element = fill->value->front();
  }
  if (!shape) return publish_uniform(op, element);
  publish(op, TensorValue(static_cast<std::size_t>(count_of(*shape)), element));
}

// The shape of the input, and its type unless dtype states a different one.
void infer_random_like(OpContext& op) { set_shape_of_first(op, element_attribute(op, "dtype", op.element(0))); }

void infer_eye_like(OpContext& op) {
  if (op.has_shape(0) && op.rank(0) != 2) op.fail(cat("the input has rank ", op.rank(0), ", expected 2"));
  infer_random_like(op);
}

Scalar scalar_input(const OpContext& op, int i) {
  const auto tensor = known_input(op, i);
  return tensor && tensor->count == 1 ? (*tensor)[0] : Scalar();
}

// Delta; com.microsoft.Range may omit it: 1.
Scalar range_step(const OpContext& op) {
  const ElementType type = op.element(0);
  if (op.has_input(2)) return scalar_input(op, 2);
  return is_integer(type) ? Scalar(Dim(1)) : real(1, type);
}

// max(⌈(limit − start) / delta⌉, 0). Reals divide in double precision, as onnxruntime does.
std::optional<Dim> range_length(const OpContext& op) {
  const ElementType type = op.element(0);
  const Scalar span = subtract(scalar_input(op, 1), scalar_input(op, 0), type);
  const Scalar delta = range_step(op);
  if (!is_known(span) || !is_known(delta)) return std::nullopt;
  if (is_true(delta) == false) op.fail("a step of 0");
  if (is_integer(type)) {
    const Dim* distance = std::get_if<Dim>(&span);
    const Dim* step = std::get_if<Dim>(&delta);
    if (distance == nullptr || step == nullptr) return std::nullopt;
    const auto forward = greater_equal(*step, 0);
    if (!forward) return std::nullopt;
    return max(*forward ? ceil_div(*distance, *step) : ceil_div(-*distance, -*step), 0);
  }
  const Scalar steps = ceil(divide(span, delta, ElementType::Float64), ElementType::Float64);
  const auto length = as_dim(convert(steps, ElementType::Float64, ElementType::Int64));
  return length ? std::optional<Dim>(max(*length, 0)) : std::nullopt;
}

void infer_range(OpContext& op) {
  const bool is_standard = plain_domain(op.node().domain).empty();
  for (int i = 0; i < (is_standard ? 3 : 2); ++i) static_cast<void>(op.input(i));
  const auto length = range_length(op);
  op.set_output(0, op.element(0), {length ? *length : op.fresh("range", "a bound of Range is computed from data")});
}

void fold_range(OpContext& op) {
  const auto shape = small_output(op, 0);
  if (!shape) return;
  const ElementType type = op.element(0);
  const Scalar start = scalar_input(op, 0), step = range_step(op);
  publish_each(op, count_of(*shape), [&](std::int64_t i) {
    const Scalar index = is_integer(type) ? Scalar(Dim(i)) : real(static_cast<double>(i), type);
    return add(start, multiply(index, step, type), type);
  });
}

// One multiplication and one addition per element: start + i·delta, low + u·(high − low).
OpCost cost_affine(const OpContext& op) { return cost_fill(op) + Work{.arith = 2 * op.output_elements(0)}; }

// --- random numbers: the arithmetic on them counts, the integer arithmetic of the generator does not ---

Shape listed_shape(const OpContext& op) {
  const auto listed = op.integer_list("shape");
  if (!listed) op.fail("attribute shape is missing");
  for (const std::int64_t size : *listed)
    if (size < 0) op.fail(cat("a size of ", size));
  return Shape(listed->begin(), listed->end());
}

void infer_random(OpContext& op) {
  op.set_output(0, element_attribute(op, "dtype", ElementType::Float32), listed_shape(op));
}

// Box-Muller makes two normal numbers from a log, a sqrt, a sin and a cos: 2 special each; then mean + scale·z.
OpCost cost_normal(const OpContext& op) { return cost_affine(op) + Work{.special = 2 * op.output_elements(0)}; }

// Scores [batch, classes] → [batch, sample_size].
void infer_multinomial(OpContext& op) {
  const ElementType element = element_attribute(op, "dtype", ElementType::Int32);
  const std::int64_t samples = op.attribute("sample_size", 1);
  if (samples < 0) op.fail(cat("sample_size is ", samples));
  if (!op.has_shape(0)) {
    const Dim batch = op.fresh("batch", "the input's rank is not known");
    return op.set_output(0, element, {batch, Dim(samples)});
  }
  if (op.rank(0) != 2) op.fail(cat("the input has rank ", op.rank(0), ", expected 2"));
  op.set_output(0, element, {op.shape(0)[0], Dim(samples)});
}

// The exponentials of all scores and their running sum, searched from the front for each sample.
OpCost cost_multinomial(const OpContext& op) {
  const Dim scores = op.elements(0);
  return op.streamed() + Work{.arith = scores, .special = scores} + compared(op.output_elements(0) * op.shape(0)[1]);
}

// clang-format off
constexpr OpRule kGenerateRules[] = {
    // op                  infer                    cost                fold                    cost in words
    {"Bernoulli",          infer_random_like,       cost_each<1, 0, 1>, nullptr,                "1 comparison / element", kRandom},
    {"Constant",           infer_constant,          cost_view,          fold_constant,          "nothing: stored with the model", kGenerated},
    {"ConstantOfShape",    infer_constant_of_shape, cost_fill,          fold_constant_of_shape, "no arithmetic; writes the output", kGenerated.with(Placement::Materialises)},
    {"EyeLike",            infer_eye_like,          cost_fill,          nullptr,                "no arithmetic; writes the output", kGenerated},
    {"Multinomial",        infer_multinomial,       cost_multinomial,   nullptr,                "1 exp, 1 add / score; 1 comparison / score and sample", kRandom},
    {"RandomNormal",       infer_random,            cost_normal,        nullptr,                "2 special (Box-Muller), 1 mul, 1 add / element", kRandom},
    {"RandomNormalLike",   infer_random_like,       cost_normal,        nullptr,                "2 special (Box-Muller), 1 mul, 1 add / element", kRandom},
    {"RandomUniform",      infer_random,            cost_affine,        nullptr,                "1 mul, 1 add / element", kRandom},
    {"RandomUniformLike",  infer_random_like,       cost_affine,        nullptr,                "1 mul, 1 add / element", kRandom},
    {"Range",              infer_range,             cost_affine,        fold_range,             "1 mul, 1 add / element", kGenerated.with(Placement::Materialises)},
};
// clang-format on
static_assert(well_formed(kGenerateRules));

}  // namespace

std::span<const OpRule> generate_rules() { return kGenerateRules; }

}  // namespace pagoda::inline core::ops

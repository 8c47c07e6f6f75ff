// Operators that ONNX Runtime adds to ONNX's own domain: experiments that ONNX withdrew before 1.3, plugins of
// TensorRT, and the copies between devices that saved models contain.
#include "ops/nn_work.h"

namespace pagoda::inline core::ops {
namespace {

// --- withdrawn experiments ---

// [N, C, H, W] without its border; with scale, that height and width from the left and top border on.
Shape crop_shape(OpContext& op) {
  Shape shape = shape_of(op, 0, 4);
  const auto border = op.integer_list("border");
  if (!border || border->size() != 4) op.fail("border should hold 4 sizes");
  const auto scale = op.integer_list("scale");
  if (scale && scale->size() != 2) op.fail("scale should hold a height and a width");
  for (const std::size_t axis : {std::size_t{0}, std::size_t{1}}) {
    const std::size_t first = 1 - axis;  // border lists left, top, right, bottom
    Dim& size = shape[2 + axis];
    const Dim cropped = scale ? Dim((*scale)[axis]) : size - (*border)[first] - (*border)[first + 2];
    if (cropped.is_constant() && *cropped.value() < 0) op.fail("nothing of " + size.to_string() + " is left");
    size = cropped;
  }
  return shape;
}

// The attribute shape; or the input's value as a shape, extended by extra_shape; or the input's own shape.
Shape tensor_fill_shape(OpContext& op) {
  if (const auto shape = op.integer_list("shape"); shape && !op.has_input(0))
    return Shape(shape->begin(), shape->end());
  if (!op.flag("input_as_shape")) return op.shape(0);
  const TensorValue* value = op.value(0);
  if (value == nullptr) op.unknown("the shape to fill is data");
  Shape shape = shape_from_value(op, *value, "filled");
  for (const std::int64_t size : op.integer_list("extra_shape").value_or(std::vector<std::int64_t>{}))
    shape.push_back(size);
  return shape;
}

// h = z·h' + (1 − z)·tanh(n), z a sigmoid: per unit 2 special, 2 multiplications, a subtraction, an addition. Sequences
// that have ended copy their state; their number depends on the data, so all sequences are counted in full.
OpCost cost_gru_unit(const OpContext& op) {
  return op.streamed({0, 1, 2}) + Work{.arith = 4, .special = 2} * op.output_elements(0);
}

// --- plugins of TensorRT ---

// boxes [batch, boxes, 4] or [batch, boxes, classes, 4], scores [batch, boxes, classes].
void infer_efficient_nms(OpContext& op) {
  const Shape& boxes = op.shape(0);
  const Dim kept = positive_attribute(op, "max_output_boxes");
  if (boxes.empty()) op.fail("boxes are a scalar");
  op.set_output(0, ElementType::Int32, {boxes[0], Dim(1)});
  op.set_output(1, op.element(0), {boxes[0], kept, Dim(4)});
  op.set_output(2, op.element(0), {boxes[0], kept});
  op.set_output(3, ElementType::Int32, {boxes[0], kept});
}

OpCost cost_efficient_nms(const OpContext& op) { op.unknown("the data decide how many boxes are compared"); }

// boxes [batch, boxes, 4], maps [batch, channels, height, width] → [batch, boxes, channels, pooled, pooled].
Shape crop_levels_shape(OpContext& op) {
  const Shape& boxes = shape_of(op, 0, 3);
  const Dim pooled = positive_attribute(op, "pooled_size");
  return {boxes[0], boxes[1], shape_of(op, 1, 4)[1], pooled, pooled};
}

// A bilinear sample per output element from one of the maps; `pooled` rows and columns per box have coordinates. Reads
// the taps, at most all maps.
OpCost cost_crop_levels(const OpContext& op) {
  const Shape& output = op.output_shape(0);
  const Dim boxes = output[0] * output[1];
  Dim maps = 0;
  for (int i = 1; i < op.input_count(); ++i) maps += op.elements(i);
  OpCost cost = op.streamed({0});
  cost.read(1, byte_size(min(maps, 4 * op.output_elements(0)), op.element(1)));  // or of another map
  return std::move(cost) + resampling_work(Interpolation::Linear, 2, boxes * (output[3] + output[4]),
                                           boxes * output[3] * output[4], op.output_elements(0));
}

// (QKᵀ + its two picks by relative position)·factor: 2 additions, 1 multiplication, 3 elements read each.
OpCost cost_disentangled(const OpContext& op) {
  OpCost cost = op.streamed({0});
  for (const int picked : {1, 2})
    cost.read(picked, byte_size(min(op.elements(picked), op.output_elements(0)), op.element(picked)));
  return std::move(cost) + Work{.arith = 3 * op.output_elements(0)};
}

// clang-format off
constexpr OpRule kWithdrawnRules[] = {
    // op                           infer                      cost                fold     cost in words
    {"Affine",                      infer_same,                cost_each<2>,       nullptr, "1 mul, 1 add / element", kPointwise.with(Gradient::Unmodelled)},
    {"Crop",                        shaped<crop_shape>,        cost_picked,        nullptr, "no arithmetic; reads what it keeps", kLayout.with(Gradient::Unmodelled)},
    {"DisentangledAttention_TRT",   infer_same,                cost_disentangled,  nullptr, "2 add, 1 mul / element", kAttention},
    {"EfficientNMS_TRT",            infer_efficient_nms,       cost_efficient_nms, nullptr, "not known: the data decide how many boxes are compared", kSearch},
    {"GRUUnit",                     infer_same,                cost_gru_unit,      nullptr, "sigmoid, tanh, 2 mul, sub, add / element", kRecurrence.with(BatchAxis::Lost).with(Gradient::Unmodelled)},
    {"GivenTensorFill",             shaped_as<tensor_fill_shape, ElementType::Float32>, cost_written,       nullptr, "no arithmetic; writes the output", kGenerated},
    {"ImageScaler",                 infer_same,                cost_each<2>,       nullptr, "1 mul, 1 add / element", kPointwise.with(Gradient::Unmodelled)},
    {"MemcpyFromHost",              infer_same,                cost_move,          nullptr, "no arithmetic; reads and writes all", kLayout.with(Gradient::Unmodelled)},
    {"MemcpyToHost",                infer_same,                cost_move,          nullptr, "no arithmetic; reads and writes all", kLayout.with(Gradient::Unmodelled)},
    {"MultilevelCropAndResize_TRT", shaped<crop_levels_shape>, cost_crop_levels,   nullptr, "a bilinear sample (7) per output element; weights per box", kPooling.with(Gradient::Unmodelled)},
    {"ParametricSoftplus",          infer_same,                cost_each<3, 2>,    nullptr, "α·log(1 + exp(β·x)): 2 special, 2 mul, 1 add / element", kPointwise.with(Gradient::Unmodelled)},
    {"PyramidROIAlign_TRT",         shaped<crop_levels_shape>, cost_crop_levels,   nullptr, "a bilinear sample (7) per output element; weights per box", kPooling.with(Gradient::Unmodelled)},
    {"Scale",                       infer_same,                cost_each<1>,       nullptr, "1 mul / element", kPointwise.with(Gradient::Unmodelled)},
    {"ScaledTanh",                  infer_same,                cost_each<2, 1>,    nullptr, "α·tanh(β·x): 1 special, 2 mul / element", kPointwise.with(Gradient::Unmodelled)},
};
// clang-format on
static_assert(well_formed(kWithdrawnRules));

}  // namespace

std::span<const OpRule> withdrawn_rules() { return kWithdrawnRules; }

}  // namespace pagoda::inline core::ops

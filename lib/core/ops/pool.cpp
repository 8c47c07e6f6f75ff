// Pooling over windows, over whole images and over regions of interest, and detection of regions. Windows count in
// full, padding included.
#include "ops/fixed_sizes.h"
#include "ops/nn_work.h"

namespace pagoda::inline core::ops {
namespace {

// In a fixed export, a window that covers a whole axis follows its size. An average pool whose windows tile the axis
// may be an exported adaptive pool, whose windows grow with the input.
Window pool_window(const OpContext& op) {
  if (op.rank(0) < 3) op.fail(cat("input 0 has rank ", op.rank(0), ", expected 3 or more"));
  Window window = window_attributes(op, op.rank(0) - 2, nullptr);
  const FixedSizes* fixed = op.fixed_sizes();
  if (fixed == nullptr) return window;
  constexpr std::int64_t kLeastAdaptive = 3;  // windows of 2 just halve the size
  const std::size_t axes = window.kernel.size();
  for (std::size_t i = 0; i < axes; ++i) {
    const Dim& size = op.shape(0)[i + 2];
    if (!fixed->hold_other(size) || window.pads[i] != 0 || window.pads[i + axes] != 0) continue;
    const Dim exported = fixed->as_exported(size);
    const Dim kernel = window.kernel[i];
    if (kernel == exported) {
      window.kernel[i] = size;
    } else if (changes(*fixed, size) && op.node().op_type == "AveragePool" && Dim(window.strides[i]) == kernel &&
               greater_equal(kernel, kLeastAdaptive) == true && exact_div(exported, kernel)) {
      op.unknown("its windows of " + kernel.to_string() + " tile the axis of size " + exported.to_string() +
                 ", as those of an adaptive pool do");
    }
  }
  return window;
}

void infer_pool(OpContext& op) {
  set_element(op, 0, op.element(0));
  set_element(op, 1, ElementType::Int64);
  const Shape& data = op.shape(0);
  const Window window = pool_window(op);
  Shape output = {data[0], data[1]};
  const bool ceil_mode = op.flag("ceil_mode");
  for (Dim& size : window_output(op, Shape(data.begin() + 2, data.end()), window, ceil_mode))
    output.push_back(std::move(size));
  op.set_output(1, ElementType::Int64, output);
  op.set_output(0, op.element(0), std::move(output));
}

OpCost cost_max_pool(const OpContext& op) {
  return op.streamed() + compared(op.output_elements(0) * (element_count(pool_window(op).kernel) - 1));
}

// kernel − 1 additions and a division per output element.
OpCost cost_average_pool(const OpContext& op) {
  return op.streamed() + Work{.arith = op.output_elements(0) * element_count(pool_window(op).kernel)};
}

OpCost cost_lp_pool(const OpContext& op) {
  const double p = norm_order(op);
  const Dim kernel = element_count(pool_window(op).kernel);
  return op.streamed() +
         (norm_power_work(p) * kernel + norm_root_work(p) + Work{.arith = kernel - 1}) * op.output_elements(0);
}

Shape global_pool_shape(OpContext& op) {
  Shape output = op.shape(0);
  if (output.size() < 2) op.fail(cat("input 0 has rank ", output.size(), ", expected 2 or more"));
  std::fill(output.begin() + 2, output.end(), Dim(1));
  return output;
}

OpCost cost_global_max_pool(const OpContext& op) { return op.streamed() + compared(joins(op)); }

// Additions are one fewer than elements per output, and each output is divided once.
OpCost cost_global_average_pool(const OpContext& op) { return op.streamed() + Work{.arith = op.elements(0)}; }

OpCost cost_global_lp_pool(const OpContext& op) {
  const double p = norm_order(op);
  return op.streamed() + norm_power_work(p) * op.elements(0) + norm_root_work(p) * op.output_elements(0) +
         Work{.arith = joins(op)};
}

Shape max_unpool_shape(OpContext& op) {
  const Shape& data = op.shape(0);
  const Window window = pool_window(op);
  const std::size_t axes = window.kernel.size();
  if (op.has_shape(1)) {
    if (op.rank(1) != op.rank(0)) op.fail("values and indices differ in rank");
    unify_axes(op, data, op.shape(1), "values and indices");
  }
  Shape output = {data[0], data[1]};
  if (op.has_input(2)) {
    if (const TensorValue* stated = op.value(2)) {
      if (stated->size() != data.size()) op.fail(cat("output_shape has ", stated->size(), " entries"));
      output = shape_from_value(op, *stated, "unpooled");
      for (std::size_t i = 0; i < output.size(); ++i) output[i] = stated_size(op, data.size(), i, data[i], output[i]);
    } else {
      for (std::size_t i = 0; i < axes; ++i)
        output.push_back(op.fresh("unpooled_" + std::to_string(i), "a size computed from data"));
    }
  } else {
    for (std::size_t i = 0; i < axes; ++i) {
      output.push_back(Dim(window.strides[i]) * (data[i + 2] - 1) + window.kernel[i] - window.pads[i] -
                       window.pads[i + axes]);
      if (const auto size = output.back().value(); size && *size < 0)
        op.fail(cat("spatial axis ", i, " of the output has size ", output.back().to_string()));
    }
  }
  return output;
}

OpCost cost_max_unpool(const OpContext& op) { return op.streamed({0, 1}); }

// --- regions of interest ---

Shape max_roi_pool_shape(OpContext& op) {
  const auto pooled = op.integer_list("pooled_shape");
  if (!pooled || pooled->size() != 2 || pooled->front() < 1 || pooled->back() < 1)
    op.fail("pooled_shape should hold 2 sizes");
  return {shape_of(op, 1, 2)[0], shape_of(op, 0, 4)[1], Dim((*pooled)[0]), Dim((*pooled)[1])};
}

// Regions are data: a bin spans at most its share of the map plus one pixel along each axis.
OpCost cost_max_roi_pool(const OpContext& op) {
  const Shape& map = op.shape(0);
  const Shape& output = op.output_shape(0);
  Dim most = 1;
  for (const std::size_t axis : {2, 3}) most *= min(map[axis], ceil_div(map[axis], output[axis]) + 1);
  const Dim bin = op.fresh("roi_bin", "pixels of a region's bin", most);
  return op.streamed() + compared(op.output_elements(0) * (bin - 1));
}

Shape roi_align_shape(OpContext& op) {
  const Shape& map = shape_of(op, 0, 4);
  Dim regions = shape_of(op, 1, 2)[0];
  if (op.has_shape(2) && op.rank(2) == 1) regions = op.unify(regions, op.shape(2)[0], "regions");
  return {regions, map[1], positive_or_one(op, "output_height"), positive_or_one(op, "output_width")};
}

// Samples of a bin along a spatial axis of the map. With sampling_ratio 0 a region has one per pixel: ⌈size / bins⌉.
Dim roi_samples(const OpContext& op, std::string_view hint, std::size_t axis) {
  const std::int64_t ratio = op.attribute("sampling_ratio", 0);
  if (ratio > 0) return ratio;
  return op.fresh(hint, "samples of a region's bin along an axis",
                  ceil_div(op.shape(0)[axis], op.output_shape(0)[axis]));
}

// r × r bilinear samples per bin, r = sampling_ratio. Per region: scale 4 corners, shift them where pixels are
// centred on halves, 2 differences, 2 bin sizes (and 2 comparisons with the least size 1 where not shifted). Sample
// rows and columns have coordinates. Per output element: r² interpolations, then r² − 1 additions and a division, or
// r² − 1 comparisons. Reads the taps, at most the whole map.
OpCost cost_roi_align(const OpContext& op) {
  const Dim rows = roi_samples(op, "roi_rows", 2);
  const Dim columns = roi_samples(op, "roi_columns", 3);
  const bool shifted = op.opset() >= 16 && op.attribute("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const bool maximum = op.attribute("mode", "avg") == "max";
  const Shape& output = op.output_shape(0);
  const Dim& regions = output[0];
  const Dim samples = output[2] * output[3] * rows * columns;  // per region and channel
  const Dim taps_read = min(op.elements(0), regions * output[1] * samples * 4);
  const Dim reductions = op.output_elements(0) * (rows * columns - 1);
  return cost_reading(op, {1, 2}, byte_size(taps_read, op.element(0))) +
         (shifted ? Work{.arith = 12} : Work{.arith = 10, .comparisons = 2}) * regions +
         resampling_work(Interpolation::Linear, 2, regions * (output[2] * rows + output[3] * columns),
                         regions * samples, regions * output[1] * samples) +
         (maximum ? compared(reductions) : Work{.arith = reductions + op.output_elements(0)});
}

// --- detection and image files: their output sizes depend on the data ---

// The most boxes kept per class and image: the third input, 0 if it is absent. Empty if it is unknown or no limit, for
// which exporters write the largest integer.
std::optional<Dim> kept_per_class(const OpContext& op) {
  if (!op.has_input(2)) return Dim(0);
  const std::optional<Dim> kept = scalar_value(op, 2);
  if (!kept || !kept->is_constant()) return kept;
  if (*kept->value() < 0) return Dim(0);
  return *kept->value() >= (Int{1} << 31) - 1 ? std::nullopt : kept;
}

// boxes [batch, boxes, 4], scores [batch, classes, boxes] → [selected, 3].
Shape selected_boxes_shape(OpContext& op) {
  const Shape& boxes = op.shape(0);
  const Shape& scores = op.shape(1);
  if (boxes.size() != 3 || scores.size() != 3) op.fail("boxes and scores should have rank 3");
  op.unify(boxes[0], scores[0], "batch");
  const Dim per_class = op.unify(boxes[1], scores[2], "boxes");
  const std::optional<Dim> kept = kept_per_class(op);
  const Dim upper = scores[0] * scores[1] * (kept ? min(per_class, *kept) : per_class);
  const Dim selected =
      upper == Dim(0) ? Dim(0) : op.fresh("selected_boxes", "boxes that non-maximum suppression keeps", upper);
  return {selected, Dim(3)};
}

// Every score is compared with the threshold, if there is one. Corners and area of a box, once: 4 comparisons,
// 2 subtractions, 1 multiplication from two corners; 2 + 4 + 1 from centre and size. Every selected box is compared
// with all boxes of its image: intersection 4 min/max, 2 subtractions, 2 comparisons with 0, 1 multiplication; union
// an addition and a subtraction; a division and a comparison. Sorting the scores is not counted.
OpCost cost_non_max_suppression(const OpContext& op) {
  const Shape& boxes = op.shape(0);
  const Dim& selected = op.output_shape(0)[0];
  const Dim box_count = boxes[0] * boxes[1];
  const Dim pairs = selected * boxes[1];
  const Dim tests = op.has_input(4) ? op.elements(1) : Dim(0);
  const Dim corners = op.flag("center_point_box") ? 0 : 4;
  return op.streamed({0, 1}) + compared(tests) + Work{.arith = 7, .comparisons = corners} * box_count +
         Work{.arith = 13, .comparisons = 7} * pairs;
}

void infer_image_decoder(OpContext& op) {
  const std::string_view format = op.attribute("pixel_format", "RGB");
  if (format != "RGB" && format != "BGR" && format != "Grayscale") op.fail(cat("pixel_format is '", format, "'"));
  const Dim height = op.fresh("image_height", "height of a decoded image");
  const Dim width = op.fresh("image_width", "width of a decoded image");
  op.set_output(0, ElementType::Uint8, {height, width, Dim(format == "Grayscale" ? 1 : 3)});
}

OpCost cost_image_decoder(const OpContext& op) {
  op.unknown("the work of decoding depends on the format and contents of the image");
}

// clang-format off
constexpr OpRule kPoolRules[] = {
    // op                 infer                       cost                      fold     cost in words
    {"AveragePool",       infer_pool,                 cost_average_pool,        nullptr, "kernel − 1 adds, 1 division per output element", kPooling},
    {"GlobalAveragePool", shaped<global_pool_shape>,  cost_global_average_pool, nullptr, "n − 1 adds, 1 division per output element", kPooling},
    {"GlobalLpPool",      shaped<global_pool_shape>,  cost_global_lp_pool,      nullptr, "|x|^p per element, n − 1 adds, 1 root per output element", kPooling},
    {"GlobalMaxPool",     shaped<global_pool_shape>,  cost_global_max_pool,     nullptr, "n − 1 comparisons per output element", kPooling},
    {"ImageDecoder",      infer_image_decoder,        cost_image_decoder,       nullptr, "not known: depends on the image", kOther.with(Gradient::NoInput)},
    {"LpPool",            infer_pool,                 cost_lp_pool,             nullptr, "|x|^p per tap, kernel − 1 adds, 1 root per output element", kPooling},
    {"MaxPool",           infer_pool,                 cost_max_pool,            nullptr, "kernel − 1 comparisons per output element", kPooling},
    {"MaxRoiPool",        shaped<max_roi_pool_shape>, cost_max_roi_pool,        nullptr, "pixels − 1 comparisons per bin; the data decide its pixels", kPooling.with(Gradient::Unmodelled)},
    {"MaxUnpool",         shaped<max_unpool_shape>,   cost_max_unpool,          nullptr, "no arithmetic; reads values and indices, writes the output", kPooling},
    {"NonMaxSuppression", shaped_as<selected_boxes_shape, ElementType::Int64>, cost_non_max_suppression, nullptr, "1 comparison per score with a threshold; 7 per box; 13 per selected box and box of its image; no sorting", kSearch},
    {"RoiAlign",          shaped<roi_align_shape>,    cost_roi_align,           nullptr, "r² bilinear samples (7) and their mean or maximum per output element; weights per region; with sampling_ratio 0 the data decide r", kPooling},
};
// clang-format on
static_assert(well_formed(kPoolRules));

}  // namespace

std::span<const OpRule> pool_rules() { return kPoolRules; }

}  // namespace pagoda::inline core::ops

// Resampling of images: Resize and Upsample, GridSample with AffineGrid, and CenterCropPad.
//
// Resize weights taps of the neighbourhood: 1, 2 or 4 per resized axis for nearest, linear and cubic. Coordinates and
// weights are computed once per position of an axis, the weighted sum once per output element.
#include <cmath>
#include <numeric>

#include "ops/fixed_sizes.h"
#include "ops/images.h"

namespace pagoda::inline core::ops {
namespace {

// --- output size from a scale ---

struct Fraction {
  std::int64_t numerator, denominator;
};

// The simplest fraction that rounds to `value` in float32, by continued fractions; empty when none is short.
std::optional<Fraction> short_fraction(float value) {
  double rest = value;
  Fraction before{0, 1}, now{1, 0};
  for (int step = 0; step < 24; ++step) {
    const double whole = std::floor(rest);
    if (whole > 1e6) return std::nullopt;
    const auto digit = static_cast<std::int64_t>(whole);
    const Fraction next{digit * now.numerator + before.numerator, digit * now.denominator + before.denominator};
    if (next.numerator > 1'000'000 || next.denominator > 1'000'000) return std::nullopt;
    before = now;
    now = next;
    if (static_cast<float>(static_cast<double>(now.numerator) / static_cast<double>(now.denominator)) == value)
      return now;
    if (rest == whole) return std::nullopt;
    rest = 1 / (rest - whole);
  }
  return std::nullopt;
}

// ⌊size · scale⌋ as engines compute it: in float32.
std::int64_t scaled_size(std::int64_t size, float scale) {
  return static_cast<std::int64_t>(std::floor(static_cast<float>(size) * scale));
}

// The largest size for which a formula is checked against float32 arithmetic before it is used.
constexpr std::int64_t kLargestImage = 8192;

// ⌊input · scale⌋. A symbolic size becomes a fraction's formula only if that agrees with float32 for all image sizes.
Dim scaled(OpContext& op, const Dim& input, double real_scale) {
  const auto scale = static_cast<float>(real_scale);
  if (!(scale > 0) || !std::isfinite(scale)) op.fail(cat("a scale of ", std::to_string(real_scale)));
  if (scale == 1) return input;
  if (const auto size = input.value64()) {
    if (static_cast<double>(*size) * real_scale > 1e15) op.fail(cat("a scale of ", std::to_string(real_scale)));
    return scaled_size(*size, scale);
  }
  if (const auto fraction = short_fraction(scale)) {
    bool agrees = true;
    for (std::int64_t size = 1; agrees && size <= kLargestImage; ++size)
      agrees = size * fraction->numerator / fraction->denominator == scaled_size(size, scale);
    if (agrees) return floor_div(input * fraction->numerator, fraction->denominator);
  }
  return op.fresh("resized", "a size times the scale " + std::to_string(real_scale) + ", rounded down in float32");
}

Dim scaled(OpContext& op, const Dim& input, const Scalar& scale) {
  if (const auto real = as_real(scale)) return scaled(op, input, *real);
  if (const auto factor = as_dim(scale)) return input * *factor;
  if (const Ratio* ratio = std::get_if<Ratio>(&scale))
    if (ratio->denominator > 0) return floor_div(input * ratio->numerator, ratio->denominator);
  return op.fresh("resized", "a size computed from data");
}

// --- Resize and Upsample ---

// True if Resize uses input sizes (since opset 11), not scales. Exporters write an empty tensor for an unused input.
bool is_sized(const OpContext& op) {
  const bool is_empty = op.has_shape(3) && op.rank(3) == 1 && op.shape(3)[0] == Dim(0);
  return op.node().op_type == "Resize" && op.opset() >= 11 && op.has_input(3) && !is_empty;
}

std::vector<int> resized_axes(const OpContext& op) {
  if (const auto axes = op.integer_list("axes")) return normal_axes(op, *axes, op.rank(0));
  std::vector<int> all(op.shape(0).size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// The scales of `axes` axes, from an attribute (Upsample before opset 9) or an input; empty if unknown.
std::optional<TensorValue> axis_scales(const OpContext& op, std::size_t axes) {
  std::optional<TensorValue> scales;
  if (const AttributeValue* stated = op.attribute_value("scales")) {
    const auto* list = std::get_if<std::vector<double>>(stated);
    if (list == nullptr) op.fail("attribute scales is not a list of numbers");
    scales = TensorValue(list->begin(), list->end());
  } else if (op.has_attribute("height_scale")) {
    scales = TensorValue(axes, Scalar(1.0));
    if (axes != 4) op.fail("height_scale and width_scale need an input of rank 4");
    (*scales)[2] = op.attribute("height_scale", 1.0);
    (*scales)[3] = op.attribute("width_scale", 1.0);
  } else if (const TensorValue* value = op.value(op.opset() >= 11 && op.node().op_type == "Resize" ? 2 : 1)) {
    scales = *value;
  }
  if (scales && scales->size() != axes) op.fail(cat("there are ", scales->size(), " scales for ", axes, " axes"));
  return scales;
}

// One common scale, the least (not_larger) or greatest (not_smaller) of size/input over all axes, rounds half up:
// out = min or max over i of ⌊(2·sizeᵢ·in + inᵢ) / (2·inᵢ)⌋, since rounding keeps order.
Dim keep_aspect(const OpContext& op, const Shape& sizes, const std::vector<int>& axes, std::size_t of,
                bool not_larger) {
  const Shape& input = op.shape(0);
  std::optional<Dim> result;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const Dim& own = input[axes[of]];
    const Dim& other = input[axes[i]];
    if (other == Dim(0)) op.fail("an empty axis has no aspect ratio");
    const Dim size = i == of ? sizes[i] : floor_div(2 * sizes[i] * own + other, 2 * other);
    result = !result ? size : not_larger ? min(*result, size) : max(*result, size);
  }
  return *result;
}

// Input i as a size per axis.
Shape stated_sizes(OpContext& op, int i, std::size_t axes, std::string_view hint) {
  const TensorValue* value = op.value(i);
  if (value != nullptr && value->size() != axes)
    op.fail(cat("there are ", value->size(), " sizes for ", axes, " axes"));
  return shape_from_value(op, value != nullptr ? *value : TensorValue(axes), hint);
}

Shape resized_by_sizes(OpContext& op, const std::vector<int>& axes) {
  const Shape& input = op.shape(0);
  Shape output = input;
  const Shape sizes = stated_sizes(op, 3, axes.size(), "resized");
  const std::string_view policy = op.attribute("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
    op.fail(cat("keep_aspect_ratio_policy is '", policy, "'"));
  for (std::size_t i = 0; i < axes.size(); ++i)
    output[axes[i]] = policy == "stretch" ? stated_size(op, input.size(), axes[i], input[axes[i]], sizes[i])
                                          : keep_aspect(op, sizes, axes, i, policy == "not_larger");
  return output;
}

// roi crops the sampled region and never changes the output's size.
Shape resized_shape(OpContext& op) {
  const std::vector<int> axes = resized_axes(op);
  if (is_sized(op)) return resized_by_sizes(op, axes);
  const auto scales = axis_scales(op, axes.size());
  Shape output = op.shape(0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    const Dim& own = op.shape(0)[axis];
    output[axis] = scaled(op, own, scales ? (*scales)[i] : Scalar());
    // Where the own size is constant, such as 1 of a pooled image, the exporter fitted the scale to another tensor.
    if (own.is_constant()) output[axis] = stated_size(op, output.size(), axis, own, output[axis]);
  }
  return output;
}

// The resampling along one axis.
struct Axis {
  Dim input, output;
  std::optional<double> scale;
  Dim changes = 1;  // 0 if its size stays; a formula of value 0 or 1 if that depends on free sizes
};

struct Resampling {
  std::vector<Axis> active;  // axes whose size or scale changes, or may change
  Dim others = 1;            // elements along the axes that stay as they are
};

Resampling resampling(const OpContext& op) {
  const std::vector<int> axes = resized_axes(op);
  const bool by_sizes = is_sized(op);
  const auto scales = by_sizes ? std::nullopt : axis_scales(op, axes.size());
  Resampling result;
  for (int i = 0; i < op.rank(0); ++i) {
    const auto position = static_cast<std::size_t>(i);
    Axis axis{op.shape(0)[position], op.output_shape(0)[position], std::nullopt};
    const auto named = std::find(axes.begin(), axes.end(), i);
    if (scales && named != axes.end()) axis.scale = as_real((*scales)[named - axes.begin()]);
    const std::optional<bool> stays = axis.scale ? *axis.scale == 1 : equal(axis.input, axis.output);
    if (!stays) axis.changes = min(Dim(1), max(axis.output - axis.input, axis.input - axis.output));
    if (named != axes.end() && stays != true) {
      result.active.push_back(std::move(axis));
    } else {
      result.others *= axis.input;
    }
  }
  return result;
}

// Elements of one axis that at least one output position reads: all, unless it shrinks.
Dim touched(const Axis& axis, Interpolation mode) {
  if (axis.scale && *axis.scale >= 1) return axis.input;
  return min(axis.input, axis.output * taps(mode));
}

// The filter of an antialiased axis stretches by input/output if that exceeds 1: radius·input/output on either side.
Dim stretched_taps(const Axis& axis, Interpolation mode) {
  const int radius = taps(mode) / 2;
  if (axis.output == Dim(0)) return 0;
  return 2 * max(Dim(radius), ceil_div(radius * axis.input, axis.output));
}

// Axis by axis, in order: each pass resizes one axis, weighting taps of the previous pass's result.
Work antialias_work(const Resampling& plan, Interpolation mode) {
  Work work;
  for (std::size_t pass = 0; pass < plan.active.size(); ++pass) {
    Dim outputs = plan.others;
    for (std::size_t i = 0; i < plan.active.size(); ++i)
      outputs *= i <= pass ? plan.active[i].output : plan.active[i].input;
    work.arith += plan.active[pass].changes * outputs * (2 * stretched_taps(plan.active[pass], mode) - 1);
  }
  return work;
}

// Work per output element, over the axes that change; with free sizes, their number is a sum of terms of value 0 or 1.
Work samples_work(const Resampling& plan, Interpolation mode) {
  std::vector<Dim> ways = {1};  // by number of axes that change: 1 for the actual number, else 0
  for (const Axis& axis : plan.active) {
    ways.push_back(0);
    for (std::size_t n = ways.size() - 1; n > 0; --n)
      ways[n] = ways[n] * (Dim(1) - axis.changes) + ways[n - 1] * axis.changes;
    ways[0] = ways[0] * (Dim(1) - axis.changes);
  }
  Work work;
  for (std::size_t n = 0; n < ways.size(); ++n) work += sample_work(mode, static_cast<int>(n)) * ways[n];
  return work;
}

OpCost cost_resize(const OpContext& op) {
  const Interpolation mode = interpolation(op, "nearest");
  const bool antialias = mode != Interpolation::Nearest && op.flag("antialias");
  const Resampling plan = resampling(op);
  OpCost cost = op.streamed({});
  if (!is_float(cost.precision)) cost.precision = ElementType::Float32;  // weights are real
  Dim elements_read = plan.others;
  for (const Axis& axis : plan.active) {
    elements_read *= antialias ? axis.input : touched(axis, mode);
    // The coordinate is an affine function of the position, in every transformation mode.
    cost += (Work{.arith = 2} + axis_weights_work(mode)) * (axis.output * axis.changes);
  }
  cost.read(0, byte_size(elements_read, op.element(0)));
  cost += antialias ? antialias_work(plan, mode) : samples_work(plan, mode) * op.output_elements(0);
  return cost;
}

// --- GridSample and AffineGrid ---

}  // namespace

Shape grid_sample_shape(OpContext& op) {
  const Image image = image_of(op);
  const Shape& grid = op.shape(1);
  if (grid.size() != op.shape(0).size()) op.fail(cat("the input has rank ", op.rank(0), ", the grid ", grid.size()));
  op.unify(grid.back(), Dim(image.spatial.size()), "coordinates per location");
  const Image output{op.unify(image.batch, grid[0], "batch"), image.channels, Shape(grid.begin() + 1, grid.end() - 1)};
  return output.shape(layout_of(op));
}

namespace {

OpCost cost_grid_sample(const OpContext& op) {
  const Shape& output = op.output_shape(0);
  return in_precision(is_float(op.element(0)) ? op.element(0) : op.element(1),
                      grid_sample_cost(op, output[0] * element_count(Shape(output.begin() + 2, output.end()))));
}

// theta [N, n, n + 1], size = [N, C, spatial…] → grid [N, spatial…, n].
Shape affine_grid_shape(OpContext& op) {
  const Shape& theta = op.shape(0);
  if (theta.size() != 3) op.fail(cat("theta has rank ", theta.size(), ", expected 3"));
  const TensorValue* size = op.value(1);
  std::optional<std::int64_t> axes = theta[1].value64();
  if (!axes && size != nullptr) axes = static_cast<std::int64_t>(size->size()) - 2;
  if (!axes) op.unknown("neither theta nor size gives the number of spatial axes");
  if (*axes != 2 && *axes != 3) op.fail(cat(*axes, " spatial axes, expected 2 or 3"));
  const auto rank = static_cast<std::size_t>(*axes) + 2;
  if (size != nullptr && size->size() != rank) op.fail(cat("size has ", size->size(), " entries, expected ", rank));
  const Shape sizes = shape_from_value(op, size != nullptr ? *size : TensorValue(rank), "grid");
  Shape output = {op.unify(theta[0], sizes[0], "batch")};
  output.insert(output.end(), sizes.begin() + 2, sizes.end());
  output.push_back(*axes);
  return output;
}

// Each coordinate is a row of theta times the homogeneous position: n + 1 products. Positions: mul, add per axis.
OpCost cost_affine_grid(const OpContext& op) {
  const Shape& output = op.output_shape(0);
  OpCost cost = op.streamed({0}) + Work{.macs = op.output_elements(0) * (output.back() + 1)};
  for (std::size_t i = 1; i + 1 < output.size(); ++i) cost.arith += 2 * output[i];
  return cost;
}

// --- CenterCropPad ---

Shape center_crop_pad_shape(OpContext& op) {
  const std::vector<int> axes = resized_axes(op);
  const Shape sizes = stated_sizes(op, 1, axes.size(), "cropped");
  Shape output = op.shape(0);
  for (std::size_t i = 0; i < axes.size(); ++i)
    output[axes[i]] = stated_size(op, output.size(), axes[i], output[axes[i]], sizes[i]);
  return output;
}

// Reads only the elements inside the crop.
OpCost cost_center_crop_pad(const OpContext& op) {
  Dim kept = 1;
  for (std::size_t i = 0; i < op.shape(0).size(); ++i) kept *= min(op.shape(0)[i], op.output_shape(0)[i]);
  return cost_reading(op, {}, byte_size(kept, op.element(0)));
}

// clang-format off
constexpr OpRule kResizeRules[] = {
    // op             infer                          cost                  fold     cost in words
    {"AffineGrid",    shaped<affine_grid_shape>,     cost_affine_grid,     nullptr, "n + 1 macs per coordinate; mul, add per position of an axis", kPooling.with(Gradient::Unmodelled)},
    {"CenterCropPad", shaped<center_crop_pad_shape>, cost_center_crop_pad, nullptr, "no arithmetic; reads what is kept", kLayout},
    {"GridSample",    shaped<grid_sample_shape>,     cost_grid_sample,     nullptr, "taps mul, taps − 1 adds per element; coordinates and weights per location", kPooling.with(Gradient::Unmodelled)},
    {"Resize",        shaped<resized_shape>,         cost_resize,          nullptr, "taps mul, taps − 1 adds per element (antialias: axis by axis); coordinates and weights per axis position", kPooling},
    {"Upsample",      shaped<resized_shape>,         cost_resize,          nullptr, "as Resize", kPooling},
};
// clang-format on
static_assert(well_formed(kResizeRules));

}  // namespace

std::span<const OpRule> resize_rules() { return kResizeRules; }

}  // namespace pagoda::inline core::ops

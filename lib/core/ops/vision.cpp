// Detection and image files: non-maximum suppression and image decoding. Their output sizes depend on the data.
#include "ops/nn_work.h"

namespace pagoda::inline core::ops {
namespace {

// The most boxes kept per class and image: the third input, 0 if it is absent; empty if it is unknown, or larger than
// any number of boxes, which exporters write for "all".
std::optional<Dim> kept_per_class(const OpContext& op) {
  if (!op.has_input(2)) return Dim(0);
  const std::optional<Dim> kept = scalar_value(op, 2);
  if (!kept || !kept->is_constant()) return kept;
  if (*kept->value() < 0) return Dim(0);
  // Exporters write the largest integer for "no limit".
  return *kept->value() >= (Int{1} << 31) - 1 ? std::nullopt : kept;
}

// boxes [batch, boxes, 4], scores [batch, classes, boxes] → [selected, 3].
void infer_non_max_suppression(OpContext& op) {
  set_element(op, 0, ElementType::Int64);
  const Shape& boxes = op.shape(0);
  const Shape& scores = op.shape(1);
  if (boxes.size() != 3 || scores.size() != 3) op.fail("boxes and scores should have rank 3");
  op.unify(boxes[0], scores[0], "batch");
  const Dim per_class = op.unify(boxes[1], scores[2], "boxes");
  const std::optional<Dim> kept = kept_per_class(op);
  const Dim upper = scores[0] * scores[1] * (kept ? min(per_class, *kept) : per_class);
  const Dim selected =
      upper == Dim(0) ? Dim(0) : op.fresh("selected_boxes", "boxes that non-maximum suppression keeps", upper);
  op.set_output(0, ElementType::Int64, {selected, Dim(3)});
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
constexpr OpRule kVisionRules[] = {
    // op                 infer                      cost                      fold     cost in words
    {"ImageDecoder",      infer_image_decoder,       cost_image_decoder,       nullptr, "not known: depends on the image", kOther.with(Gradient::NoInput)},
    {"NonMaxSuppression", infer_non_max_suppression, cost_non_max_suppression, nullptr, "1 comparison per score with a threshold; 7 per box; 13 per selected box and box of its image; no sorting", kSearch},
};
// clang-format on
static_assert(well_formed(kVisionRules));

}  // namespace

std::span<const OpRule> vision_rules() { return kVisionRules; }

}  // namespace pagoda::inline core::ops

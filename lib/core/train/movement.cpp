// Backward of operators that move elements: gradients move back, and what was copied more than once is summed.
#include "ops/shape_math.h"
#include "pagoda/base/cat.h"
#include "train/backward_rule.h"

namespace pagoda::inline core::train_rules {
namespace {

Work forward_work(const Backward& b) {
  return {.arith = b.forward.arith, .special = b.forward.special, .comparisons = b.forward.comparisons};
}

}  // namespace

// A permutation, a selection, or the arriving gradient among zeros: reads it, writes the input's.
void move(Backward& b) { b.add(0); }

void expand(Backward& b) {
  if (b.wants(0)) b.add(0).work.arith = summed(b.op, 0);
}

// Each input's gradient is its part of the arriving one.
void concat(Backward& b) {
  for (int i = 0; i < b.op.input_count(); ++i)
    if (b.wants(i)) b.add(i).arriving_bytes = b.op.input_bytes(i);
}

// The part of the arriving gradient that is not padding; if padding copies elements, all of it, summed.
void pad(Backward& b) {
  if (!b.wants(0)) return;
  const std::string_view mode = b.op.attribute("mode", std::string_view("constant"));
  Gradient& dx = b.add(0);
  if (mode == "constant") {
    dx.arriving_bytes = byte_size(min(b.op.elements(0), b.op.output_elements(0)), b.op.element(0));
  } else {
    dx.work.arith = summed(b.op, 0);
  }
}

// Each picked element's gradient is added where it came from; the gradient is dense.
void gather(Backward& b) {
  if (b.wants(0)) b.add(0, {{Source::Input, 1}}).work.arith = b.op.output_elements(0);
}

// The data's gradient is kept except where updates overwrote the data (kept everywhere if updates are added); that of
// the updates is picked from where they were written.
void scatter(Backward& b) {
  const std::string_view reduction = b.op.attribute("reduction", std::string_view("none"));
  if (reduction != "none" && reduction != "add")
    b.op.unknown(cat("the gradient of reduction ", reduction, " is not counted"));
  const int updates = b.op.node().op_type == "TensorScatter" ? 1 : 2;
  const Read indices{Source::Input, 3 - updates};
  const bool has_indices = b.op.has_input(indices.index);
  Gradient& data = b.add(0);
  if (reduction == "add") {
    data.is_renamed = !b.is_parameter(0);
  } else if (has_indices) {
    data.reads.push_back(indices);
  }
  if (!b.wants(updates)) return;
  Gradient& update = b.add(updates);
  if (has_indices) update.reads.push_back(indices);
  update.arriving_bytes = b.op.input_bytes(updates);
}

void top_k(Backward& b) { b.add(0, {indices(b)}); }

// Every tap of forward adds its weighted gradient: a product and an addition; without weights (nearest) an addition.
// If the filter is applied axis by axis, each pass is the transpose of forward's: as many operations.
void resize(Backward& b) {
  if (!b.wants(0)) return;
  const OpContext& op = b.op;
  const ops::Interpolation mode = ops::interpolation(op, "nearest");
  Gradient& dx = b.add(0);
  if (mode == ops::Interpolation::Nearest) {
    dx.work.arith = op.output_elements(0);
    return;
  }
  dx.work = forward_work(b);
  if (op.attribute("antialias", std::int64_t{0}) == 0) dx.work.arith += op.output_elements(0);  // taps, not taps − 1
}

// The transposed rotation: as many operations. The tables are not parameters.
void rotary(Backward& b) {
  const int tables = b.op.node().domain == "com.microsoft" ? 2 : 1;
  b.add(0, {{Source::Input, tables}, {Source::Input, tables + 1}}, {.arith = b.forward.arith});
}

// The gradient of the two values (off, on): n additions, of each arriving element to the value that it came from.
void one_hot(Backward& b) {
  if (b.wants(2)) b.add(2, {{Source::Input, 0}}).work.arith = b.op.output_elements(0);
}

// A linear map that is its own transpose but for signs (DFT): as many operations.
void linear_transform(Backward& b) { b.add(0).work = forward_work(b); }

}  // namespace pagoda::inline core::train_rules

// Backward of reductions and pools: each reduced element gets back the gradient of its result. n inputs were reduced to
// m results.
#include "ops/shape_math.h"
#include "train/backward_rule.h"

namespace pagoda::inline core::train_rules {
namespace {

// Work per input element and per result.
void spread(Backward& b, const Work& element, const Work& result, std::vector<Read> reads = {}) {
  if (!b.wants(0)) return;
  b.add(0, std::move(reads), element * b.op.elements(0) + result * b.op.output_elements(0));
}

Dim window_size(const OpContext& op) {
  return element_count(ops::window_attributes(op, op.rank(0) - 2, nullptr).kernel);
}

// x·|x|^(p−2)·(dy/y^(p−1)): for p = 2 a division per result and a product per use; for p = 1 a sign and a product.
void lp(Backward& b, const Dim& uses, const Dim& joined) {
  const double p = ops::norm_order(b.op);
  if (p != 1 && p != 2) b.op.unknown("the gradient of a norm of that order is not counted");
  const Work use = p == 2 ? ops_each(1) : ops_each(2, 0, 1);
  b.add(0, p == 2 ? std::vector<Read>{kX, kY} : std::vector<Read>{kX},
        use * uses + Work{.arith = joined + ops::when(p == 2, b.op.output_elements(0))});
}

}  // namespace

void reduce_sum(Backward& b) { spread(b, {}, {}); }
void reduce_mean(Backward& b) { spread(b, {}, ops_each(1)); }
// The gradient goes to the elements that equal the result.
void reduce_extreme(Backward& b) { spread(b, ops_each(1, 0, 1), {}, {kX, kY}); }
// (dy·y)/x.
void reduce_prod(Backward& b) { spread(b, ops_each(1), ops_each(1), {kX, kY}); }
// (2·dy)·x.
void reduce_sum_square(Backward& b) { spread(b, ops_each(1), ops_each(1), {kX}); }
// dy·sign(x).
void reduce_l1(Backward& b) { spread(b, ops_each(2, 0, 1), {}, {kX}); }
// (dy/y)·x.
void reduce_l2(Backward& b) { spread(b, ops_each(1), ops_each(1), {kX, kY}); }
// dy·exp(−y).
void reduce_log_sum(Backward& b) { spread(b, {}, ops_each(2, 1), {kY}); }
// dy·exp(x − y).
void reduce_log_sum_exp(Backward& b) { spread(b, ops_each(2, 1), {}, {kX, kY}); }

// The running sum from the other end: as many additions.
void cum_sum(Backward& b) { b.add(0).work.arith = b.forward.arith; }

// --- pools ---

Read indices(Backward& b) {
  if (b.op.has_output(1)) return {Source::Output, 1};
  return b.keep("indices", byte_size(b.op.output_elements(0), ElementType::Int64));
}

// Each result's gradient is added where its maximum was.
void max_pool(Backward& b) {
  if (b.wants(0)) b.add(0, {indices(b)}, {.arith = b.op.output_elements(0)});
}

void global_max_pool(Backward& b) {
  if (b.wants(0)) b.add(0, {indices(b)});
}

// dy/k, added to each of the k elements of its window.
void average_pool(Backward& b) {
  if (b.wants(0)) b.add(0).work.arith = b.op.output_elements(0) * (window_size(b.op) + 1);
}

void lp_pool(Backward& b) {
  const Dim uses = b.op.output_elements(0) * window_size(b.op);
  lp(b, uses, uses);
}

void global_lp_pool(Backward& b) { lp(b, b.op.elements(0), 0); }

// Picks the gradients from where the values were placed.
void max_unpool(Backward& b) {
  Gradient& dx = b.add(0, {{Source::Input, 1}});
  if (b.wants(0)) dx.arriving_bytes = byte_size(b.op.elements(0), b.op.element(0));
}

// Each bilinear sample of forward adds its gradient to 4 places: 4 products and 4 additions; a mean divides once.
void roi_align(Backward& b) {
  const OpContext& op = b.op;
  const std::int64_t ratio = op.attribute("sampling_ratio", std::int64_t{0});
  if (ratio <= 0) op.unknown("the number of samples depends on the regions, which are data");
  if (op.attribute("mode", std::string_view("avg")) != "avg")
    op.unknown("the gradient of a maximum of samples is not counted");
  Gradient& dx = b.add(0, {{Source::Input, 1}, {Source::Input, 2}});
  if (b.wants(0)) dx.work.arith = op.output_elements(0) * (8 * ratio * ratio + 1);
}

}  // namespace pagoda::inline core::train_rules

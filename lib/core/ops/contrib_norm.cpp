// com.microsoft: normalizations with neighbouring operators fused in: residual sums, embeddings, gates, activations.
#include "ops/attention_work.h"
#include "ops/images.h"

namespace pagoda::inline core::ops {
namespace {

// --- residual + norm over the last axis ---

// skip may be broadcast along leading axes. Statistics, if outputs, are a float per row; the sum is the fourth output.
void infer_skip_norm(OpContext& op) {
  op.set_output(0, op.input(0));
  op.set_output(3, op.input(0));
  if (!op.has_shape(0)) return;
  if (op.shape(0).empty()) op.fail("input 0 is a scalar");
  const Dim& hidden = dim_of(op, 0, -1);
  if (op.has_shape(2) && op.rank(2) == 1) op.unify(dim_of(op, 2, 0), hidden, "hidden size and gamma");
  if (op.has_shape(1) && op.rank(1) > 0) op.unify(dim_of(op, 1, -1), hidden, "hidden size of input and skip");
  Shape statistics = op.shape(0);
  statistics.back() = 1;
  for (const int output : {1, 2}) op.set_output(output, ElementType::Float32, statistics);
}

// Sum with the residual and a bias, moments (4), normalise, gamma, beta; per row two divisions, ε, rsqrt.
OpCost cost_skip_layer_norm(const OpContext& op) {
  const int more = 2 + (op.has_input(3) ? 1 : 0) + (op.has_input(4) ? 1 : 0);
  const Dim elements = op.elements(0);
  return op.streamed() + layer_norm_work(elements, row_count(op.shape(0))) + Work{.arith = more} * elements;
}

// Sum with the residual and a bias, square, add, normalise, gamma; per row a division, ε, rsqrt.
OpCost cost_skip_rms_norm(const OpContext& op) {
  const Dim elements = op.elements(0);
  return op.streamed() + rms_norm_work(elements, row_count(op.shape(0))) +
         Work{.arith = op.has_input(3) ? 3 : 2} * elements;
}

// --- embeddings + layer norm ---

// input_ids [B, S], tables of words (2), positions (3), segments (4), all [rows, H] → [B, S, H], mask lengths [B].
template <int Typed>
void infer_embed(OpContext& op) {
  const ElementType element = op.element(Typed);
  set_element(op, 0, element);
  expect_rank(op, {0, 2}, 2);
  const Shape& ids = op.shape(0);
  const Dim& hidden = dim_of(op, 2, 1);
  for (const int other : {3, 4, 5, 6}) expect_dim(op, other, -1, hidden, "hidden sizes of the tables");
  for (const int output : {0, 2}) op.set_output(output, element, {ids[0], ids[1], hidden});
  op.set_output(1, ElementType::Int32, {ids[0]});
}

// Rows are picked from the tables, at most all of them; without position ids, one row is read per position. Turning a
// stored element into a real number takes `Dequantize` operations. `Positions` is −1 where the operator has no ids.
template <int Positions, int Dequantize>
OpCost cost_embed(const OpContext& op) {
  OpCost cost = in_precision(op.output(0).element, op.streamed({0, 1, 5, 6, 7, Positions}));
  const Shape& ids = op.shape(0);
  const Dim tokens = ids[0] * ids[1];
  const Dim hidden = dim_of(op, 2, 1);
  const Dim elements = tokens * hidden;
  Dim gathered = 0;
  for (const int table : {2, 3, 4}) {
    if (!op.has_input(table)) continue;
    const bool by_position = table == 3 && !op.has_input(Positions);
    const Dim rows = by_position ? ids[1] : table == 3 ? op.elements(Positions) : tokens;
    cost.read(table, byte_size(min(op.elements(table), rows * hidden), op.element(table)));
    gathered += elements;
  }
  return std::move(cost) + layer_norm_work(elements, tokens) +
         Work{.arith = elements + gathered + Dequantize * (gathered + 2 * hidden)};
}

OpCost cost_quantized_embed(const OpContext& op) {
  OpCost cost = cost_embed<-1, 2>(op);
  for (int i = 8; i < op.input_count(); ++i) cost.read(i, op.input_bytes(i));
  return cost;
}

// --- GroupNorm, SkipGroupNorm ---

void infer_group_norm(OpContext& op) {
  const std::int64_t groups = positive_attribute(op, "groups");
  if (op.has_shape(0)) {
    const Image image = image_of(op, 0, layout_of(op, true));
    if (const auto channels = image.channels.value64(); channels && *channels % groups != 0)
      op.fail(cat(*channels, " channels do not divide into ", groups, " groups"));
    expect_dim(op, 1, 0, image.channels, "channels and gamma");
  }
  for (const int output : {0, 1}) op.set_output(output, op.input(0));
}

// SiLU follows if the attribute activation requests it.
OpCost cost_group_norm(const OpContext& op) {
  const Image image = image_of(op, 0, layout_of(op, true));
  const Dim statistics = image.batch * positive_attribute(op, "groups");
  const bool has_silu = op.flag("activation");
  return op.streamed() + channel_norm_work(op.elements(0), statistics, image.batch * image.channels) +
         (has_silu ? silu_work() : Work()) * op.elements(0);
}

OpCost cost_skip_group_norm(const OpContext& op) {
  return cost_group_norm(op) + Work{.arith = (op.has_input(4) ? 2 : 1) * op.elements(0)};
}

// --- RMS norms in parts, computed in float32 whatever the tensors' type ---

// A statistic for each last axis of […, C, H], or for each H of […, C·H] in num_branches parts.
OpCost cost_branchwise_norm(const OpContext& op) {
  return in_precision(ElementType::Float32, op.streamed()) + Work{.arith = when(op.has_input(1), op.elements(0))} +
         rms_norm_work(op.elements(0),
                       row_count(op.shape(0)) * std::max<std::int64_t>(op.attribute("num_branches", 0), 1));
}

void infer_gated_norm(OpContext& op) {
  if (op.has_shape(0) && op.has_shape(1)) divided(op, dim_of(op, 0, -1), op.elements(1), "last axis and scale");
  op.set_output(0, op.input(0));
}

// RMS norm, scale, gate activation, and the product with it.
OpCost cost_gated_norm(const OpContext& op) {
  const Dim elements = op.elements(0);
  const Dim rows = row_count(op.shape(0)) * divided(op, dim_of(op, 0, -1), op.elements(1), "last axis and scale");
  const std::string_view activation = op.attribute("activation", "silu");
  return in_precision(ElementType::Float32, op.streamed()) + Work{.arith = 2 * elements} +
         rms_norm_work(elements, rows) + activation_work(op, activation) * elements;
}

// --- RMSNormRotary: X [B, S, heads, stride], of whose last axis a slice is normalised and rotated ---

Dim normalized_width(const OpContext& op) {
  const std::int64_t width = op.attribute("input_width", 0);
  return width > 0 ? Dim(width) : dim_of(op, 0, -1);
}

void infer_norm_rotary(OpContext& op) {
  const bool is_half = op.flag("output_fp16");
  const ElementType element = is_half ? ElementType::Float16 : ElementType::Bfloat16;
  set_element(op, 0, element);
  set_element(op, 1, ElementType::Float32);
  const Shape& data = shape_of(op, 0, 4);
  const Dim width = normalized_width(op);
  expect_dim(op, 1, 0, width, "normalised width and scale");
  const bool is_flat = op.flag("flatten_batch");
  op.set_output(0, element, {is_flat ? Dim(1) : data[0], is_flat ? data[0] * data[1] : data[1], data[2] * width});
  op.set_output(1, ElementType::Float32, {data[0], data[1], data[2], width});
}

OpCost cost_norm_rotary(const OpContext& op) {
  const Shape& data = shape_of(op, 0, 4);
  const Dim tokens = data[0] * data[1];
  const Dim heads = tokens * data[2];
  const Dim elements = heads * normalized_width(op);
  OpCost cost = in_precision(ElementType::Float32, op.streamed({1, 2}));
  cost.read(0, byte_size(elements, op.element(0)));
  read_rotary_tables(cost, op, 3, tokens);
  return std::move(cost) + scaled_rms_norm_work(elements, heads) +
         rotary_work(heads * positive_attribute(op, "rotary_embedding_dim"));
}

// clang-format off
constexpr OpRule kContribNormRules[] = {
    // op                        infer              cost                  fold     cost in words
    {"BranchwiseRMSNorm",        infer_same,        cost_branchwise_norm, nullptr, "square, add, normalise, scale per element; div, ε, rsqrt per branch", kNorm.with(Gradient::Unmodelled)},
    {"EmbedLayerNormalization",  infer_embed<2>,    cost_embed<8, 0>,     nullptr, "sums of rows, layer norm (7) per element; 3 and rsqrt per token; reads the rows it picks", kNorm.with(Gradient::Unmodelled).reads({{}, {}, WeightUse::Embedding, WeightUse::Embedding, WeightUse::Embedding, WeightUse::Factor, WeightUse::Additive})},
    {"GatedRMSNorm",             infer_gated_norm,  cost_gated_norm,      nullptr, "RMS norm (3), scale, gate activation, product per element; div, ε, rsqrt per row", kNorm.with(Gradient::Unmodelled)},
    {"GroupNorm",                infer_group_norm,  cost_group_norm,      nullptr, "moments 4, mul, add per element; 3 and rsqrt per group; 3 per image and channel; SiLU", kNorm.with(Gradient::Unmodelled).with(RowAxes::ChannelGroup)},
    {"QEmbedLayerNormalization", infer_embed<8>,    cost_quantized_embed, nullptr, "as EmbedLayerNormalization; sub and mul per element picked and parameter", kNorm.with(Gradient::Unmodelled)},
    {"RMSNormRotary",            infer_norm_rotary, cost_norm_rotary,     nullptr, "RMS norm with scale (4) per element of the slice; div, ε, rsqrt per head; 3 per rotated element", kNorm.with(Gradient::Unmodelled)},
    {"SkipGroupNorm",            infer_group_norm,  cost_skip_group_norm, nullptr, "sum, bias, then as GroupNorm", kNorm.with(Gradient::Unmodelled).with(RowAxes::ChannelGroup)},
    {"SkipLayerNormalization",   infer_skip_norm,   cost_skip_layer_norm, nullptr, "sum, bias, moments 4, normalise, gamma, beta per element; 3 and rsqrt per row", kNorm.with(RowAxes::Last).reads({{}, {}, WeightUse::Factor, WeightUse::Additive, WeightUse::Additive})},
    {"SkipSimplifiedLayerNormalization", infer_skip_norm, cost_skip_rms_norm, nullptr, "sum, bias, square, add, normalise, gamma per element; div, ε, rsqrt per row", kNorm.with(RowAxes::Last).reads({{}, {}, WeightUse::Factor, WeightUse::Additive})},
};
// clang-format on
static_assert(well_formed(kContribNormRules));

}  // namespace

std::span<const OpRule> contrib_norm_rules() { return kContribNormRules; }

}  // namespace pagoda::inline core::ops

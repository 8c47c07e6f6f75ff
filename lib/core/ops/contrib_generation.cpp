// com.microsoft: text generation. The searches contain whole decoders and run them until the sequences end, which
// depends on the data: they have output shapes but no cost.
#include "ops/nn_work.h"

namespace pagoda::inline core::ops {
namespace {

OpCost cost_search(const OpContext& op) {
  op.unknown("its decoder runs until all sequences have ended, which the data decide");
}

// The vocabulary size: an attribute, or a fresh symbol without one.
Dim vocabulary(OpContext& op) {
  const std::int64_t size = op.attribute("vocab_size", -1);
  return size > 0 ? Dim(size) : op.fresh("vocab_size", "the width of the decoder's logits");
}

// Audio encoders take features instead of ids; the batch is the first axis in either case.
const Dim& batch_of(const OpContext& op) {
  if (op.shape(0).empty()) op.fail("the input is a scalar");
  return dim_of(op, 0, 0);
}

// input_ids, max_length (1), …, num_beams (3), num_return_sequences (4).
void infer_beam_search(OpContext& op) {
  const Dim& batch = batch_of(op);
  const Dim longest = size_argument(op, 1, "max_length");
  const Dim kept = size_argument(op, 4, "num_return_sequences");
  op.set_output(0, ElementType::Int32, {batch, kept, longest});
  const ElementType score = op.has_input(5) ? op.element(5) : ElementType::Float32;
  op.set_output(1, score, {batch, kept});
  if (op.has_output(2))
    op.set_output(2, score, {longest - dim_of(op, 0, -1), batch, size_argument(op, 3, "num_beams"), vocabulary(op)});
}

void infer_whisper(OpContext& op) {
  infer_beam_search(op);
  const Dim batch = batch_of(op);
  if (op.has_output(3)) {
    const Dim kept = size_argument(op, 4, "num_return_sequences");
    const Dim heads =
        op.has_shape(12) ? dim_of(op, 12, 0) : op.fresh("cross_heads", "heads of all layers of the decoder");
    const Dim tokens = op.fresh("decoded_tokens", "tokens until all sequences have ended");
    op.set_output(3, ElementType::Float32,
                  {batch, kept, heads, tokens, op.fresh("frames", "positions of the encoder's output")});
  }
  op.set_output(4, op.has_input(5) ? op.element(5) : ElementType::Float32, {batch});
}

// Greedy search and sampling: input_ids [B, S], max_length → [B, max_length].
void infer_greedy(OpContext& op) {
  const Dim batch = batch_of(op);
  op.set_output(0, ElementType::Int32, {batch, size_argument(op, 1, "max_length")});
  if (op.has_output(1)) op.set_output(1, ElementType::Float32, {batch, vocabulary(op)});
}

// --- NGramRepeatBlock: input_ids [B, S], scores [B, V] ---

void infer_repeat_block(OpContext& op) {
  positive_attribute(op, "ngram_size");
  expect_rank(op, {0, 1}, 2);
  op.set_output(0, op.input(1));
}

// Every n-gram of a row is compared with its last n − 1 tokens; the scores are copied.
OpCost cost_repeat_block(const OpContext& op) {
  const std::int64_t n = positive_attribute(op, "ngram_size");
  const Dim grams = dim_of(op, 0, 0) * max(dim_of(op, 0, 1) - n + 1, 0);
  return in_precision(op.element(1), op.streamed()) + compared(n - 1) * grams;
}

// --- BifurcationDetector ---

void infer_bifurcation(OpContext& op) {
  expect_rank(op, 1, 1);
  const Dim& current = dim_of(op, 1, 0);
  Dim tokens = current;
  if (op.has_input(3))
    tokens = op.fresh("merged_tokens", "predicted tokens that are accepted", current + dim_of(op, 3, 0));
  op.set_output(0, op.element(0), {tokens});
  op.set_output(1, op.element(0), {});
}

OpCost cost_bifurcation(const OpContext& op) { op.unknown("how many tokens are compared the data decide"); }

// clang-format off
constexpr OpRule kContribGenerationRules[] = {
    // op                   infer               cost               fold     cost in words
    {"BeamSearch",          infer_beam_search,  cost_search,       nullptr, "not known: runs its decoder until the data end it", kSearch.with(Gradient::Unmodelled)},
    {"BifurcationDetector", infer_bifurcation,  cost_bifurcation,  nullptr, "not known: comparisons end where the data differ", kSearch.with(Gradient::Unmodelled)},
    {"GreedySearch",        infer_greedy,       cost_search,       nullptr, "not known: runs its decoder until the data end it", kSearch.with(Gradient::Unmodelled)},
    {"NGramRepeatBlock",    infer_repeat_block, cost_repeat_block, nullptr, "n − 1 comparisons per n-gram; copies the scores", kSearch.with(Gradient::Unmodelled)},
    {"Sampling",            infer_greedy,       cost_search,       nullptr, "not known: runs its decoder until the data end it", kSearch.with(Gradient::Unmodelled)},
    {"WhisperBeamSearch",   infer_whisper,      cost_search,       nullptr, "not known: runs its decoder until the data end it", kSearch.with(Gradient::Unmodelled)},
};
// clang-format on
static_assert(well_formed(kContribGenerationRules));

}  // namespace

std::span<const OpRule> contrib_generation_rules() { return kContribGenerationRules; }

}  // namespace pagoda::inline core::ops

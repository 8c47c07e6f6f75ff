// Operators on strings. They run on the host; strings have no fixed width, so their bytes are not counted, and work
// on characters is not floating-point work: only work on numbers counts.
#include "ops/rule_parts.h"

namespace pagoda::inline core::ops {
namespace {

void infer_string_concat(OpContext& op) {
  for (const int i : {0, 1})
    if (op.element(i) != ElementType::String && op.element(i) != ElementType::Undefined)
      op.fail(cat("input ", i, " is ", to_string(op.element(i)), ", expected string"));
  TensorType type{.element = ElementType::String, .shape = std::nullopt};
  if (op.has_shape(0) && op.has_shape(1)) type.shape = op.broadcast(op.shape(0), op.shape(1));
  op.set_output(0, std::move(type));
}

// [C] or [1, C]; stop words are removed, and one empty string remains if all words are.
void infer_string_normalizer(OpContext& op) {
  op.set_output(0, op.input(0));
  if (!op.has_shape(0)) return;
  Shape shape = op.shape(0);
  if (shape.empty() || shape.size() > 2) op.fail(cat("the input has rank ", shape.size(), ", expected 1 or 2"));
  if (list_length(op, "stopwords") == 0) return;
  shape.back() = op.fresh("words", "the number of words that are not stop words", shape.back());
  op.set_output(0, ElementType::String, std::move(shape));
}

// The substrings of each string, padded to the longest, and how many each has.
void infer_string_split(OpContext& op) {
  set_element(op, 0, ElementType::String);
  set_shape_of_first(op, ElementType::Int64, 1);
  if (!op.has_shape(0)) return;
  Shape shape = op.shape(0);
  std::optional<Dim> most;
  if (op.has_attribute("maxsplit")) most = Dim(op.attribute("maxsplit", 0)) + 1;
  shape.push_back(op.fresh("substrings", "the longest split of a string", most));
  op.set_output(0, ElementType::String, std::move(shape));
}

// [C] → [features], [N, C] → [N, features]; ngram_indexes names the feature of each n-gram.
Shape tf_idf_shape(OpContext& op) {
  const auto indexes = op.integer_list("ngram_indexes");
  if (!indexes || indexes->empty()) op.fail("attribute ngram_indexes is missing");
  Shape shape = op.shape(0);
  if (shape.size() > 2) op.fail(cat("the input has rank ", shape.size(), ", expected 2 at most"));
  const Dim features = Dim(*std::max_element(indexes->begin(), indexes->end())) + 1;
  if (shape.empty()) shape.push_back(features);
  shape.back() = features;
  return shape;
}

// IDF and TFIDF scale every feature by its weight; the number of n-grams found depends on the data.
OpCost cost_tf_idf(const OpContext& op) {
  const bool scales = op.attribute("mode", "TF") != "TF";
  return in_precision(ElementType::Float32, scales ? cost_each<1>(op) : op.streamed());
}

// clang-format off
constexpr OpRule kTextRules[] = {
    // op                infer                    cost         fold     cost in words
    {"RegexFullMatch",   infer_shape_of_first<ElementType::Bool>, cost_move,   nullptr, "no arithmetic; writes the answers", kText},
    {"StringConcat",     infer_string_concat,     cost_host,   nullptr, "nothing: characters on the host", kText},
    {"StringNormalizer", infer_string_normalizer, cost_host,   nullptr, "nothing: characters on the host", kText},
    {"StringSplit",      infer_string_split,      cost_move,   nullptr, "no arithmetic; writes the counts", kText},
    {"TfIdfVectorizer",  shaped_as<tf_idf_shape, ElementType::Float32>, cost_tf_idf, nullptr, "1 mul / feature, except in mode TF", kText},
};
// clang-format on
static_assert(well_formed(kTextRules));

}  // namespace

std::span<const OpRule> text_rules() { return kTextRules; }

}  // namespace pagoda::inline core::ops

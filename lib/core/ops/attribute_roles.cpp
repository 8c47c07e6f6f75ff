#include "ops/attribute_roles.h"

#include <algorithm>
#include <array>

#include "ops/op_rule.h"

namespace pagoda::inline core::ops {
namespace {

using enum AttributeRole;

struct Row {
  std::string_view domain, op_type;
  std::array<std::string_view, 9> attributes;
  AttributeRole role;
};

constexpr std::string_view kMl = "ai.onnx.ml", kMs = "com.microsoft";

// The exceptions to the rule below.
// clang-format off
constexpr Row kRows[] = {
    // domain, op_type              attributes                                                   role
    // The way through a tree decides its work; the tests and results are parameters.
    {kMl, "TreeEnsemble",           {"tree_roots", "nodes_truenodeids", "nodes_falsenodeids", "nodes_trueleafs", "nodes_falseleafs"}, Structure},
    {kMl, "TreeEnsembleClassifier", {"nodes_treeids", "nodes_nodeids", "nodes_truenodeids", "nodes_falsenodeids", "nodes_modes", "class_treeids", "class_nodeids"}, Structure},
    {kMl, "TreeEnsembleRegressor",  {"nodes_treeids", "nodes_nodeids", "nodes_truenodeids", "nodes_falsenodeids", "nodes_modes", "target_treeids", "target_nodeids"}, Structure},
    {kMl, "SVMClassifier",          {"vectors_per_class"},                                       Structure},
    {kMl, "FeatureVectorizer",      {"inputdimensions"},                                         Structure},
    {kMl, "Binarizer",              {"threshold"},                                               Parameter},
    {kMl, "CategoryMapper",         {"default_int64", "default_string"},                         Parameter},
    {kMl, "Imputer",                {"replaced_value_float", "replaced_value_int64"},            Parameter},
    {kMl, "LabelEncoder",           {"default_float", "default_int64", "default_string"},        Parameter},
    {"",  "TfIdfVectorizer",        {"ngram_indexes"},                                           Indices},
    {"",  "TfIdfVectorizer",        {"pool_int64s", "ngram_counts"},                             Parameter},
    {"",  "GRU",                    {"activations", "activation_alpha", "activation_beta"},      Structure},
    {"",  "LSTM",                   {"activations", "activation_alpha", "activation_beta"},      Structure},
    {"",  "RNN",                    {"activations", "activation_alpha", "activation_beta"},      Structure},
    {"",  "Upsample",               {"scales"},                                                  Structure},
    {"",  "Einsum",                 {"equation"},                                                Structure},
    {kMs, "DynamicQuantizeLSTM",    {"activations", "activation_alpha", "activation_beta"},      Structure},
    {kMs, "FusedConv",              {"activation_params"},                                       Structure},
    {"com.microsoft.nchwc", "Conv", {"activation_params"},                                       Structure},
    {"com.ms.internal.nhwc", "Conv", {"activation_params"},                                      Structure},
    {kMs, "NhwcFusedConv",          {"activation_params"},                                       Structure},
    // What a provider compiled, and where it lies.
    {kMs, "EPContext",              {"ep_cache_context", "onnx_model_filename", "notes"},        Parameter},
};
// clang-format on

// Tokenisers hold their vocabularies and models in texts of any length.
constexpr std::string_view kTokenisers[] = {"ai.onnx.contrib", "com.microsoft.extensions"};
// Modes are shorter than this, and so are the axes and sizes of an operator without a rule.
constexpr std::uint64_t kLongText = 64, kLongList = 16;

}  // namespace

AttributeRole attribute_role(std::string_view domain, std::string_view op_type, std::string_view attribute,
                             const AttributeShape& shape) {
  for (const Row& row : kRows)
    if (row.domain == domain && row.op_type == op_type && !attribute.empty() &&
        std::ranges::find(row.attributes, attribute) != row.attributes.end())
      return row.role;
  if (shape.is_list_of_reals || shape.is_list_of_texts) return Parameter;
  if (shape.integers > 0) {
    const bool are_sizes = find_rule(domain, op_type) != nullptr ? domain != kMl : shape.integers <= kLongList;
    return are_sizes ? Structure : Parameter;
  }
  const bool is_tokeniser = std::ranges::find(kTokenisers, domain) != std::end(kTokenisers);
  return shape.text_bytes > (is_tokeniser ? 0 : kLongText) ? Parameter : Structure;
}

}  // namespace pagoda::inline core::ops

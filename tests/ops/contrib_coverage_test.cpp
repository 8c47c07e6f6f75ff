// Checks that every operator that ONNX Runtime 1.31.1 registers outside ai.onnx (get_all_operator_schema), and every
// training operator of ONNX 1.23, has a rule.
#include <doctest/doctest.h>

#include <string>

#include "ops/op_rule.h"

namespace pagoda::test {
namespace {

// clang-format off
constexpr std::string_view kMl[] = {
    "ArrayFeatureExtractor", "Binarizer", "CastMap", "CategoryMapper", "DictVectorizer", "FeatureVectorizer",
    "Imputer", "LabelEncoder", "LinearClassifier", "LinearRegressor", "Normalizer", "OneHotEncoder", "SVMClassifier",
    "SVMRegressor", "Scaler", "TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor", "ZipMap",
};

constexpr std::string_view kTraining[] = {
    "Adagrad", "Adam", "Gradient", "Momentum",
};

constexpr std::string_view kMicrosoft[] = {
    "Attention", "AttnLSTM", "BeamSearch", "BiasAdd", "BiasDropout", "BiasGelu", "BiasSoftmax", "BiasSplitGelu",
    "BifurcationDetector", "BitmaskBiasDropout", "BitmaskDropout", "BranchwiseRMSNorm", "CDist", "CausalConvWithState",
    "ComplexMul", "ComplexMulConj", "ConvTransposeWithDynamicPads", "CropAndResize", "DecoderAttention",
    "DecoderMaskedMultiHeadAttention", "DecoderMaskedSelfAttention", "DequantizeBFP", "DequantizeLinear",
    "DequantizeWithOrder", "DynamicQuantizeLSTM", "DynamicQuantizeMatMul", "DynamicSparseAttention",
    "DynamicTimeWarping", "EPContext", "EmbedLayerNormalization", "EngramGate", "ExpandDims", "FastGelu", "FusedConv",
    "FusedGemm", "FusedMatMul", "FusedMatMulActivation", "GatedAdd", "GatedDeltaNet", "GatedRMSNorm",
    "GatedRelativePositionBias", "GatherBlockQuantized", "GatherND", "Gelu", "GemmFastGelu", "GemmFloat8",
    "GemmaRotaryEmbedding", "GreedySearch", "GridSample", "GroupNorm", "GroupQueryAttention", "HyperConnectionPostMix",
    "HyperConnectionPreMix", "Inverse", "Irfft", "IsAllFinite", "LinearAttention", "LinearAttentionGate",
    "LongformerAttention", "MRotaryEmbedding", "MatMulBlockQuantizedFp4Weight", "MatMulBlockQuantizedFp8Weight",
    "MatMulBnb4", "MatMulFpQ4", "MatMulInteger16", "MatMulIntegerToFloat", "MatMulNBits", "MatMulNBitsMlp",
    "MatMulNBitsQkv", "MaxpoolWithMask", "MoE", "MulInteger", "MultiHeadAttention", "MurmurHash3", "NGramHashMapping",
    "NGramRepeatBlock", "NhwcConv", "NhwcFusedConv", "NhwcMaxPool", "PackedAttention", "PackedMultiHeadAttention",
    "PackedSparseAttentionIndexer", "Pad", "PagedAttention", "QAttention", "QEmbedLayerNormalization", "QGemm",
    "QLinearAdd", "QLinearAveragePool", "QLinearConcat", "QLinearConv", "QLinearGlobalAveragePool", "QLinearLeakyRelu",
    "QLinearMul", "QLinearReduceMean", "QLinearSigmoid", "QLinearSoftmax", "QLinearWhere", "QMoE", "QOrderedAttention",
    "QOrderedGelu", "QOrderedLayerNormalization", "QOrderedLongformerAttention", "QOrderedMatMul", "QuantizeBFP",
    "QuantizeLinear", "QuantizeWithOrder", "QuickGelu", "Range", "ReduceSumInteger", "RelativePositionBias",
    "RemovePadding", "RestorePadding", "Rfft", "RotaryEmbedding", "SampleOp", "Sampling", "ScaledSiLU",
    "SkipGroupNorm", "SkipLayerNormalization", "SkipSimplifiedLayerNormalization", "Snpe", "SparseAttention",
    "SparseAttentionIndexer", "SparsePagedAttention", "SparseToDenseMatMul", "Tokenizer", "TorchEmbedding",
    "TransposeMatMul", "Trilu", "UnfoldTensor", "Unique", "VarlenCausalConvWithState", "VarlenNGramHashMapping",
    "WhisperBeamSearch", "WordConvEmbedding",
};

constexpr std::string_view kNchwc[] = {
    "AveragePool", "Conv", "GlobalAveragePool", "GlobalMaxPool", "MaxPool", "ReorderInput", "ReorderOutput",
    "Upsample",
};

constexpr std::string_view kNhwc[] = {
    "AveragePool", "BatchNormalization", "Conv", "ConvTranspose", "DepthToSpace", "GlobalAveragePool", "GlobalLpPool",
    "GlobalMaxPool", "GridSample", "InstanceNormalization", "LRN", "LpPool", "MaxPool", "MaxUnpool",
    "QLinearAveragePool", "QLinearConv", "QLinearConvTranspose", "Resize", "SpaceToDepth",
};
// clang-format on

void check_rules(std::string_view domain, std::span<const std::string_view> names) {
  for (const std::string_view name : names)
    CHECK_MESSAGE(ops::find_rule(domain, name) != nullptr, "no rule for ", std::string(domain), ".", std::string(name));
}

}  // namespace

TEST_CASE("every operator of ONNX Runtime's own domains has a rule") {
  check_rules("ai.onnx.ml", kMl);
  check_rules("ai.onnx.preview.training", kTraining);
  check_rules("com.microsoft", kMicrosoft);
  check_rules("com.microsoft.nchwc", kNchwc);
  check_rules("com.ms.internal.nhwc", kNhwc);
}

}  // namespace pagoda::test

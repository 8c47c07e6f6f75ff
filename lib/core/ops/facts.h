// The facts that most operators of a kind share. Gradients are modelled unless a row or preset states otherwise.
#pragma once

#include "pagoda/core/op_facts.h"

namespace pagoda::inline core::ops {

constexpr OpFacts facts_of_kind(OpKind kind, BatchAxis batch = BatchAxis::Lost, Gradient gradient = Gradient::Rule) {
  OpFacts facts;
  facts.kind = kind;
  facts.batch = batch;
  facts.gradient = gradient;
  return facts;
}

inline constexpr OpFacts kConvolution = facts_of_kind(OpKind::Product).with(ProductForm::Convolution);
inline constexpr OpFacts kMatrixProduct = facts_of_kind(OpKind::Product).with(ProductForm::Matrix);
inline constexpr OpFacts kMatrixProducts = facts_of_kind(OpKind::Product, BatchAxis::First).with(ProductForm::Matrices);
inline constexpr OpFacts kOtherProduct = facts_of_kind(OpKind::Product).with(Gradient::Unmodelled);

inline constexpr OpFacts kPointwise = facts_of_kind(OpKind::Pointwise, BatchAxis::Same);
inline constexpr OpFacts kAddition = kPointwise.with(Epilogue::Add);
inline constexpr OpFacts kMultiplication = kPointwise.with(Epilogue::Multiply);
inline constexpr OpFacts kTruth = kPointwise.with(Gradient::Truth);
inline constexpr OpFacts kBitwise = kPointwise.with(Gradient::Bits);
inline constexpr OpFacts kSteps = kPointwise.with(Gradient::Constant);

inline constexpr OpFacts kReduction = facts_of_kind(OpKind::Reduction);
inline constexpr OpFacts kNorm = facts_of_kind(OpKind::Norm, BatchAxis::First);
inline constexpr OpFacts kTranspose = facts_of_kind(OpKind::Transpose, BatchAxis::Permuted).with(Numbers::Rearranged);
inline constexpr OpFacts kExpand =
    facts_of_kind(OpKind::Expand).with(Numbers::Rearranged).with(Placement::Materialises);
inline constexpr OpFacts kQuantize =
    facts_of_kind(OpKind::Quantize, BatchAxis::First, Gradient::Integers).with(Numbers::Same);
inline constexpr OpFacts kDequantize = facts_of_kind(OpKind::Dequantize, BatchAxis::First, Gradient::Integers)
                                           .with(Numbers::Same)
                                           .with(Placement::NeverFolded);

inline constexpr OpFacts kView = facts_of_kind(OpKind::View).with(Numbers::Rearranged);
inline constexpr OpFacts kLayout = facts_of_kind(OpKind::Layout);
inline constexpr OpFacts kGathering = facts_of_kind(OpKind::Gather);
inline constexpr OpFacts kAttention = facts_of_kind(OpKind::Attention).with(Gradient::Unmodelled);
inline constexpr OpFacts kPooling = facts_of_kind(OpKind::Pool);
inline constexpr OpFacts kRecurrence = facts_of_kind(OpKind::Recurrent, BatchAxis::Sequence);
inline constexpr OpFacts kSignal = facts_of_kind(OpKind::Signal).with(Gradient::Unmodelled);
inline constexpr OpFacts kGenerated = facts_of_kind(OpKind::Generate).with(Gradient::NoInput);
inline constexpr OpFacts kRandom = kGenerated.with(Placement::NeverFolded);
inline constexpr OpFacts kSearch = facts_of_kind(OpKind::Search).with(Gradient::Index);
inline constexpr OpFacts kSequence = facts_of_kind(OpKind::Sequence).with(Gradient::Unmodelled);
inline constexpr OpFacts kText = facts_of_kind(OpKind::Text).with(Gradient::Text);
inline constexpr OpFacts kLearner = facts_of_kind(OpKind::Learner).with(Gradient::Unmodelled);
inline constexpr OpFacts kTrainer = facts_of_kind(OpKind::Training).with(Gradient::NoInput);
inline constexpr OpFacts kOther = facts_of_kind(OpKind::Other);

}  // namespace pagoda::inline core::ops

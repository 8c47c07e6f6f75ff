// The tables of all families, for the registry.
#pragma once

#include "ops/op_rule.h"

namespace pagoda::inline core::ops {

std::span<const OpRule> aten_rules();
std::span<const OpRule> attention_rules();
std::span<const OpRule> contrib_attention_rules();
std::span<const OpRule> contrib_cache_attention_rules();
std::span<const OpRule> contrib_conv_rules();
std::span<const OpRule> contrib_elementwise_rules();
std::span<const OpRule> contrib_generation_rules();
std::span<const OpRule> contrib_matmul_rules();
std::span<const OpRule> contrib_misc_rules();
std::span<const OpRule> contrib_moe_rules();
std::span<const OpRule> contrib_norm_rules();
std::span<const OpRule> contrib_packed_attention_rules();
std::span<const OpRule> contrib_qlinear_rules();
std::span<const OpRule> contrib_quantize_rules();
std::span<const OpRule> contrib_speculative_rules();
std::span<const OpRule> contrib_state_rules();
std::span<const OpRule> conv_rules();
std::span<const OpRule> einsum_rules();
std::span<const OpRule> elementwise_rules();
std::span<const OpRule> gather_rules();
std::span<const OpRule> generate_rules();
std::span<const OpRule> internal_nhwc_rules();
std::span<const OpRule> layout_rules();
std::span<const OpRule> loss_rules();
std::span<const OpRule> matmul_rules();
std::span<const OpRule> ml_rules();
std::span<const OpRule> nchwc_rules();
std::span<const OpRule> norm_rules();
std::span<const OpRule> pool_rules();
std::span<const OpRule> preview_rules();
std::span<const OpRule> quantize_rules();
std::span<const OpRule> recurrent_rules();
std::span<const OpRule> reduce_rules();
std::span<const OpRule> reshape_rules();
std::span<const OpRule> resize_rules();
std::span<const OpRule> sequence_rules();
std::span<const OpRule> signal_rules();
std::span<const OpRule> slice_rules();
std::span<const OpRule> tensorrt_rules();
std::span<const OpRule> text_rules();
std::span<const OpRule> training_rules();
std::span<const OpRule> unary_rules();
std::span<const OpRule> vision_rules();
std::span<const OpRule> withdrawn_rules();

}  // namespace pagoda::inline core::ops

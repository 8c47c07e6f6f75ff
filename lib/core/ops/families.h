// The tables of all families, for the registry.
#pragma once

#include "ops/op_rule.h"

namespace pagoda::inline core::ops {

using Rules = std::span<const OpRule>();  // a function that returns a table

Rules aten_rules, attention_rules, contrib_attention_rules, contrib_cache_attention_rules, contrib_conv_rules,
    contrib_elementwise_rules, contrib_generation_rules, contrib_matmul_rules, contrib_misc_rules, contrib_moe_rules,
    contrib_norm_rules, contrib_packed_attention_rules, contrib_qlinear_rules, contrib_quantize_rules,
    contrib_speculative_rules, contrib_state_rules, conv_rules, einsum_rules, elementwise_rules, gather_rules,
    generate_rules, internal_nhwc_rules, layout_rules, loss_rules, matmul_rules, ml_rules, nchwc_rules, norm_rules,
    pool_rules, preview_rules, quantize_rules, recurrent_rules, reduce_rules, reshape_rules, resize_rules,
    sequence_rules, signal_rules, slice_rules, tensorrt_rules, text_rules, training_rules, unary_rules, vision_rules,
    withdrawn_rules;

}  // namespace pagoda::inline core::ops

"""Single-op models of com.microsoft, written one by one: their inputs depend on each other too closely to
be drawn at random. See onnx_cases.py."""

import numpy as np
from onnx import TensorProto

from onnx_cases import Fixed as Argument

CASES = []  # op, inputs, attributes, outputs, domain, opset, output types

f32, f16, i32, i64, u8, i8 = np.float32, np.float16, np.int32, np.int64, np.uint8, np.int8
rng = np.random.default_rng(0)


def Fixed(value, dtype=None):
    """An initializer."""
    return Argument(value, dtype)


def R(*shape, d=f32):
    """Real numbers."""
    return rng.standard_normal(shape).astype(d)


def Q(*shape, d=u8):
    """Small integers."""
    return rng.integers(0, 100, shape).astype(d)


def case(op, inputs, attributes=None, outputs=1, domain="com.microsoft", opset=None, types=None):
    CASES.append(
        (op, inputs, attributes or {}, outputs, domain, opset or (1 if domain == "com.microsoft" else 5), types)
    )


B, S, N, D = 2, 5, 2, 8
H = N * D
# attention
case("Attention", [R(B, S, 12), R(12, 3 * H), R(3 * H)], dict(num_heads=N))
case("Attention", [R(B, S, 12), R(12, 3 * H), R(3 * H), None, R(2, B, N, 3, D)], dict(num_heads=N, unidirectional=1), 2)
case("Attention", [R(B, S, 12), R(12, 16 + 16 + 8), R(40)], dict(num_heads=N, qkv_hidden_sizes=[16, 16, 8]))
case("Attention", [R(B, S, 12), R(12, 3 * H), R(3 * H), np.ones((B, S), i32)], dict(num_heads=N), 2)
case("Attention", [R(B, S, 12), R(12, 3 * H), R(3 * H), np.ones((B,), i32)], dict(num_heads=N), 1)
case("MultiHeadAttention", [R(B, S, H), R(B, 7, H), R(B, 7, H)], dict(num_heads=N))
case("MultiHeadAttention", [R(B, S, H), R(B, 7, H), R(B, 7, 24)], dict(num_heads=N))
case("MultiHeadAttention", [R(B, S, H), R(B, N, 7, D), R(B, N, 7, D)], dict(num_heads=N))
case(
    "MultiHeadAttention",
    [R(B, S, H), R(B, S, H), R(B, S, H), None, None, None, R(B, N, 3, D), R(B, N, 3, D)],
    dict(num_heads=N, unidirectional=1),
    3,
)
case("MultiHeadAttention", [R(B, S, H), R(B, S, H), R(B, S, H), R(3 * H)], dict(num_heads=N), 3)
case(
    "MultiHeadAttention",
    [R(B, S, H), R(B, S, H), R(B, S, H), None, None, None, R(B, N, 3, D), R(B, N, 3, D)],
    dict(num_heads=N),
    4,
    types={3: TensorProto.FLOAT},
)
case(
    "DecoderMaskedMultiHeadAttention",
    [R(B, 1, H), R(B, 1, H), R(B, 1, H), None, None, R(B, N, 16, D), R(B, N, 16, D), Fixed([3], i32)],
    dict(num_heads=N, past_present_share_buffer=1),
    3,
)
case("DecoderMaskedMultiHeadAttention", [R(B, 1, H), R(B, N, 7, D), R(B, N, 7, D)], dict(num_heads=N), 1)
case(
    "DecoderMaskedMultiHeadAttention",
    [R(B, 1, H), R(B, N, 7, D), R(B, N, 7, D)],
    dict(num_heads=N, output_qk=1),
    [0, 3],
    types={3: TensorProto.FLOAT},
)
K = 1
D2 = 16
H2 = N * D2
case(
    "GroupQueryAttention",
    [R(B, S, H2), R(B, S, D2), R(B, S, D2), R(B, K, 0, D2), R(B, K, 0, D2), Fixed([S - 1] * B, i32), Fixed(S, i32)],
    dict(num_heads=N, kv_num_heads=K),
    3,
)
case(
    "GroupQueryAttention",
    [R(B, 1, H2), R(B, 1, D2), R(B, 1, D2), R(B, K, 9, D2), R(B, K, 9, D2), Fixed([9] * B, i32), Fixed(10, i32)],
    dict(num_heads=N, kv_num_heads=K, local_window_size=4),
    3,
)
case(
    "GroupQueryAttention",
    [R(B, 1, H2), R(B, 1, D2), R(B, 1, D2), R(B, K, 64, D2), R(B, K, 64, D2), Fixed([9] * B, i32), Fixed(10, i32)],
    dict(num_heads=N, kv_num_heads=K),
    3,
)
case(
    "GroupQueryAttention",
    [
        R(B, S, (N + 2 * K) * D2),
        None,
        None,
        R(B, K, 0, D2),
        R(B, K, 0, D2),
        Fixed([S - 1] * B, i32),
        Fixed(S, i32),
        R(64, 8),
        R(64, 8),
    ],
    dict(num_heads=N, kv_num_heads=K, do_rotary=1),
    3,
)
case(
    "GroupQueryAttention",
    [R(B, S, H2), R(B, S, D2), R(B, S, D2), R(B, K, 0, D2), R(B, K, 0, D2), Fixed([S - 1] * B, i32), Fixed(S, i32)],
    dict(num_heads=N, kv_num_heads=K, qk_output=1),
    4,
)
case(
    "GroupQueryAttention",
    [R(B, S, H2), R(B, S, D2), R(B, S, D2), None, None, Fixed([S - 1] * B, i32), Fixed(S, i32)],
    dict(num_heads=N, kv_num_heads=K),
    3,
)
case(
    "GroupQueryAttention",
    [R(1, 3, H2), R(1, 3, D2), R(1, 3, D2), R(1, K, 9, D2), R(1, K, 9, D2), Fixed([11], i32), Fixed(12, i32)],
    dict(num_heads=N, kv_num_heads=K),
    3,
)
nb = 4
row = np.array([[0, 1, 3, 5, 7]], i32)
col = np.array([[0, 0, 1, 1, 2, 2, 3]], i32)
case(
    "QAttention",
    [Q(B, S, 12), Q(12, 3 * H, d=i8), R(3 * H), Fixed(0.1, f32), Fixed(0.1, f32), None, Fixed(3, u8), Fixed(0, i8)],
    dict(num_heads=N),
)
case(
    "QAttention",
    [
        Q(B, S, 12),
        Q(12, 3 * H, d=i8),
        R(3 * H),
        Fixed(0.1, f32),
        Fixed(0.1, f32),
        None,
        Fixed(3, u8),
        Fixed(0, i8),
        R(2, B, N, 3, D),
    ],
    dict(num_heads=N, unidirectional=1),
    2,
)
# norm
case("SkipLayerNormalization", [R(B, S, H), R(B, S, H), R(H), R(H), R(H)], {}, [0, 3])
case("SkipLayerNormalization", [R(B, S, H), R(S, H), R(H)])
case("SkipSimplifiedLayerNormalization", [R(B, S, H), R(B, S, H), R(H), R(H)], {}, [0, 3])
case("SkipSimplifiedLayerNormalization", [R(S, H), R(S, H), R(H)], {}, [0, 3])
case(
    "EmbedLayerNormalization",
    [Q(B, S, d=i32), Q(B, S, d=i32) % 2, R(100, H), R(16, H), R(2, H), R(H), R(H), np.ones((B, S), i32)],
    {},
    2,
)
case("EmbedLayerNormalization", [Q(B, S, d=i32), None, R(100, H), R(16, H), None, R(H), R(H)], {}, 3)
case(
    "QEmbedLayerNormalization",
    [Q(B, S, d=i32), Q(B, S, d=i32) % 2, Q(100, H), Q(16, H), Q(2, H), Q(H), Q(H), np.ones((B, S), i32)]
    + [Fixed(0.1, f32)] * 5
    + [Fixed(1, u8)] * 5,
    {},
    2,
)
case("BranchwiseRMSNorm", [R(B, S, 3, H), R(3, H)])
case("BranchwiseRMSNorm", [R(B, S, 3 * H), R(3 * H)], dict(num_branches=3))
case("GatedRMSNorm", [R(B, S, 3 * H), R(H), R(B, S, 3 * H)])
# elementwise
case("BiasGelu", [R(B, S, H), R(H)])
case("FastGelu", [R(B, S, H), R(H)])
case("FastGelu", [R(B, S, H)])
case("Gelu", [R(B, S, H)])
case("QuickGelu", [R(B, S, H)])
case("GatedAdd", [R(B, S, H), R(B, S, H), R(B, S, 1)])
case("ScaledSiLU", [R(B, S, H)])
case("SampleOp", [R(B, S)])
case("EngramGate", [R(B, S, 3, H), R(B, S, 3, H), R(B, S, H), R(3, H), R(3, H), R(3, H)], {}, 2)
case("HyperConnectionPreMix", [R(B, S, 3, H), R(B, S, 3)])
case("HyperConnectionPreMix", [R(B, S, 3 * H), R(B, S, 3)], dict(num_branches=3))
case("HyperConnectionPostMix", [R(B, S, 3, H), R(B, S, H), R(B, S, 3), R(B, S, 3, 3)])
case("HyperConnectionPostMix", [R(B, S, 3 * H), R(B, S, H), R(B, S, 3)], dict(num_branches=3))
case("LinearAttentionGate", [R(B, S, N), R(N), R(N), R(B, S, N)], {}, 2)
case("RotaryEmbedding", [R(B, S, H2), np.arange(B * S, dtype=i64).reshape(B, S) % S, R(20, 8), R(20, 8)])
case("RotaryEmbedding", [R(B, N, S, D2), np.zeros((1,), i64), R(20, 8), R(20, 8)])
case(
    "RotaryEmbedding", [R(B, S, H2), np.zeros((1,), i64), R(20, 4), R(20, 4)], dict(num_heads=N, rotary_embedding_dim=8)
)
case(
    "MRotaryEmbedding",
    [R(B, S, H2), np.zeros((3, B, S), i64), R(20, 8), R(20, 8)],
    dict(mrope_section=[4, 2, 2], num_heads=N),
)
# matmul
case("FusedMatMul", [R(3, 4, 5), R(5, 6)], dict(alpha=0.5))
case("FusedMatMul", [R(3, 5, 4), R(3, 6, 5)], dict(transA=1, transB=1))
case("FusedMatMul", [R(4, 3, 5), R(3, 5, 6)], dict(transBatchA=1))
case("FusedMatMul", [R(5, 3, 4), R(5, 3, 6)], dict(transBatchA=1, transBatchB=1, transA=1))
case("FusedMatMul", [R(5), R(5, 6)])
case("FusedMatMul", [R(3, 4, 5), R(5)])
case("TransposeMatMul", [R(3, 5, 4), R(5, 6)], dict(transA=1))
case("FusedMatMul", [R(4, 2, 3, 5), R(2, 3, 5, 6)], dict(transBatchA=1))
case("FusedGemm", [R(3, 4), R(4, 5), R(5)], dict(activation="Relu"))
case("FusedGemm", [R(4, 3), R(5, 4)], dict(activation="LeakyRelu", activation_alpha=0.1, transA=1, transB=1))
case("MatMulNBits", [R(B, S, 64), Fixed(Q(32, 2, 16)), Fixed(R(32, 2))], dict(K=64, N=32, bits=4, block_size=32))
case(
    "MatMulNBits",
    [R(B, S, 64), Fixed(Q(32, 2, 16)), Fixed(R(32 * 2)), Fixed(Q(32 * 1)), None, Fixed(R(32))],
    dict(K=64, N=32, bits=4, block_size=32),
)
case("MatMulNBits", [R(B, S, 40), Fixed(Q(32, 2, 32)), Fixed(R(32, 2))], dict(K=40, N=32, bits=8, block_size=32))
case(
    "MatMulBnb4",
    [R(B, S, 64), Fixed(Q(32 * 64 // 2)), Fixed(R(32 * 64 // 16))],
    dict(K=64, N=32, block_size=16, quant_type=1),
)
case("Inverse", [R(B, 3, 4, 4)])
case("MatMulInteger16", [Q(3, 4, d=np.int16), Q(4, 5, d=np.int16)])
case("MatMulIntegerToFloat", [Q(B, 3, 4), Q(4, 5), Fixed(0.1, f32), Fixed(0.1, f32), Fixed(1, u8), Fixed(1, u8), R(5)])
case("DynamicQuantizeMatMul", [R(B, 3, 4), Fixed(Q(4, 5)), Fixed(0.1, f32), Fixed(1, u8), R(5)])
case(
    "QGemm",
    [
        Q(3, 4),
        Fixed(0.1, f32),
        Fixed(1, u8),
        Fixed(Q(4, 5)),
        Fixed(0.1, f32),
        Fixed(1, u8),
        Q(5, d=i32),
        Fixed(0.1, f32),
        Fixed(1, u8),
    ],
)
case(
    "QGemm",
    [Q(3, 4), Fixed(0.1, f32), Fixed(1, u8), Fixed(Q(5, 4)), Fixed([0.1] * 5, f32), Fixed([1] * 5, u8)],
    dict(transB=1),
)
# qlinear
sc = lambda: Fixed(0.1, f32)
zp = lambda: Fixed(1, u8)
case("QLinearAdd", [Q(B, 1, 4), sc(), zp(), Q(3, 4), sc(), zp(), sc(), zp()])
case("QLinearMul", [Q(B, 3, 4), sc(), zp(), Q(4), sc(), zp(), sc(), zp()])
case("QLinearWhere", [rng.random((3, 4)) > 0.5, Q(B, 1, 4), sc(), zp(), Q(1), sc(), zp(), sc(), zp()])
case("QLinearConcat", [sc(), zp(), Q(2, 3), sc(), zp(), Q(2, 4), sc(), zp()], dict(axis=1))
case("QLinearLeakyRelu", [Q(3, 4), sc(), zp(), sc(), zp()])
case("QLinearSigmoid", [Q(3, 4), sc(), zp(), sc(), zp()])
case("QLinearSoftmax", [Q(3, 4), sc(), zp(), sc(), zp()], dict(opset=13))
case(
    "QLinearAveragePool",
    [Q(1, 3, 8, 8), sc(), zp(), sc(), zp()],
    dict(kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
)
case(
    "QLinearAveragePool",
    [Q(1, 8, 8, 3), sc(), zp(), sc(), zp()],
    dict(kernel_shape=[3, 3], channels_last=1, pads=[1, 1, 1, 1]),
)
case("QLinearGlobalAveragePool", [Q(2, 3, 8, 8), sc(), zp(), sc(), zp()])
case("QLinearGlobalAveragePool", [Q(2, 8, 8, 3), sc(), zp(), sc(), zp()], dict(channels_last=1))
case(
    "QLinearConv",
    [Q(1, 3, 8, 8), sc(), zp(), Fixed(Q(4, 3, 3, 3)), sc(), zp(), sc(), zp(), Fixed(Q(4, d=i32))],
    dict(pads=[1, 1, 1, 1]),
)
case(
    "QLinearConv",
    [Q(1, 8, 8, 4), sc(), zp(), Fixed(Q(6, 2, 3, 3)), sc(), zp(), sc(), zp()],
    dict(channels_last=1, group=2, strides=[2, 2]),
)
case("QuantizeLinear", [R(3, 4), sc(), Fixed(1, np.int16)])
case("QuantizeLinear", [R(3, 4), Fixed([0.1] * 4, f32), Fixed([1] * 4, u8)], dict(axis=1))
case("DequantizeLinear", [Q(3, 4), sc(), zp()])
case("DequantizeLinear", [Q(3, 4, d=np.uint16), sc(), Fixed(1, np.uint16)])
case(
    "DynamicQuantizeLSTM",
    [
        R(5, 2, 3),
        Fixed(Q(1, 3, 16)),
        Fixed(Q(1, 4, 16)),
        R(1, 32),
        None,
        None,
        None,
        None,
        Fixed([0.1], f32),
        Fixed([1], u8),
        Fixed([0.1], f32),
        Fixed([1], u8),
    ],
    dict(hidden_size=4),
    3,
)
case(
    "DynamicQuantizeLSTM",
    [
        R(5, 2, 3),
        Fixed(Q(2, 3, 16)),
        Fixed(Q(2, 4, 16)),
        R(2, 32),
        None,
        None,
        None,
        None,
        Fixed([0.1] * 2, f32),
        Fixed([1] * 2, u8),
        Fixed([0.1] * 2, f32),
        Fixed([1] * 2, u8),
    ],
    dict(hidden_size=4, direction="bidirectional"),
    3,
)
case(
    "AttnLSTM",
    [
        R(5, 2, 3),
        R(1, 16, 3 + 6),
        R(1, 16, 4),
        R(1, 32),
        None,
        None,
        None,
        None,
        R(1, 4, 7),
        R(1, 6, 7),
        R(1, 7),
        R(2, 9, 6),
        np.array([9, 8], i32),
    ],
    dict(hidden_size=4),
    3,
)
# conv
case("FusedConv", [R(1, 3, 8, 8), R(4, 3, 3, 3), R(4)], dict(activation="Relu", strides=[2, 2]))
case("FusedConv", [R(1, 3, 8, 8), R(4, 3, 3, 3), R(4), R(1, 4, 6, 6)], dict(activation="Relu"))
case("NhwcMaxPool", [Q(1, 8, 8, 3)], dict(kernel_shape=[3, 3], strides=[2, 2]))
case("MaxpoolWithMask", [R(1, 3, 8, 8), Q(1, 3, 8, 8, d=i32)], dict(kernel_shape=[3, 3], strides=[2, 2]))
case(
    "ConvTransposeWithDynamicPads",
    [R(1, 3, 8, 8), R(3, 4, 3, 3), Fixed([1, 1, 1, 1], i64)],
    dict(strides=[2, 2], output_padding=[1, 1]),
)
# state
case("CausalConvWithState", [R(B, 6, S), R(6, 1, 4), R(6), R(B, 6, 3)], dict(activation="silu"), 2)
case("CausalConvWithState", [R(B, S, 6), R(6, 1, 4), R(6)], dict(channels_last=1, dilation=2), 2)
case("CausalConvWithState", [R(B, S, 2, 3), R(6, 1, 4), R(6)], dict(channels_last=1), 2)
case(
    "LinearAttention",
    [R(B, S, N * D), R(B, S, N * D), R(B, S, N * 4), R(B, N, D, 4), -np.abs(R(B, S, N)), np.abs(R(B, S, N))],
    dict(q_num_heads=N, kv_num_heads=N),
    2,
)
case(
    "LinearAttention",
    [R(B, S, 2 * D), R(B, S, 4 * D), R(B, S, 4 * 4)],
    dict(q_num_heads=2, kv_num_heads=4, update_rule="linear"),
    2,
)
case(
    "LinearAttention",
    [R(B, S, 4 * D), R(B, S, 2 * D), R(B, S, 2 * 4)],
    dict(q_num_heads=4, kv_num_heads=2, update_rule="linear"),
    2,
)
case(
    "NGramHashMapping",
    [Q(B, S, d=i64), np.array([3, 5, 7], i64), np.full((6,), 97, i64)],
    dict(max_ngram_size=3, n_head_per_ngram=3, pad_id=0),
    2,
)
case(
    "VarlenNGramHashMapping",
    [Q(10, d=i64), np.array([3, 5, 7], i64), np.full((6,), 97, i64), Fixed([0, 4, 10], i32)],
    dict(max_ngram_size=3, n_head_per_ngram=3, pad_id=0),
    2,
)
case(
    "VarlenNGramHashMapping",
    [
        Q(10, d=i64),
        np.array([3, 5, 7], i64),
        np.full((6,), 97, i64),
        Fixed([0, 4, 10], i32),
        None,
        None,
        None,
        Q(10, d=i32),
        None,
        Fixed([1, 2], i32),
    ],
    dict(max_ngram_size=3, n_head_per_ngram=3, pad_id=0, state_update_capacity=2),
    4,
)
# moe
case("MoE", [R(B * S, H), R(B * S, 4), R(4, 32, H), R(4, 32), R(4, H, 32), R(4, H)], dict(k=2, activation_type="relu"))
case(
    "MoE",
    [R(B, S, H), R(B * S, 4), R(4, 64, H), None, R(4, H, 32)],
    dict(k=2, activation_type="swiglu", swiglu_fusion=1),
)
case(
    "QMoE",
    [R(B * S, 32), R(B * S, 4), Fixed(Q(4, 64, 16)), Fixed(R(4, 64)), None, Fixed(Q(4, 32, 32)), Fixed(R(4, 32))],
    dict(k=2, activation_type="relu"),
)
case(
    "QMoE",
    [R(B * S, 32), R(B * S, 4), Fixed(Q(4, 128, 16)), Fixed(R(4, 128)), None, Fixed(Q(4, 32, 32)), Fixed(R(4, 32))],
    dict(k=2, activation_type="swiglu", swiglu_fusion=1),
)
# misc
case("CDist", [R(3, 4), R(5, 4)], dict(metric="euclidean"))
case("CropAndResize", [R(2, 3, 8, 8), np.abs(R(4, 4)), np.zeros((4,), i32), Fixed([5, 6], i32)])
case("DynamicTimeWarping", [R(4, 6)])
case("ExpandDims", [R(3, 4), Fixed(1, i32)])
case("ExpandDims", [R(3, 4), Fixed(-1, i32)])
case(
    "GatherBlockQuantized",
    [Fixed(Q(10, 16)), Q(B, S, d=i64) % 10, Fixed(R(10, 1))],
    dict(block_size=32, bits=4, quantize_axis=1),
)
case(
    "GatherBlockQuantized",
    [Fixed(Q(10, 32)), Q(B, S, d=i64) % 10, Fixed(R(10, 1))],
    dict(block_size=32, bits=8, quantize_axis=1),
)
case(
    "GatherBlockQuantized",
    [Fixed(Q(10, 16)), Q(B, S, d=i64) % 10, Fixed(R(10, 2)), Fixed(Q(10, 1))],
    dict(block_size=16, bits=4, quantize_axis=1),
)
case("GatherND", [R(3, 4, 5), Fixed([[0, 1], [1, 2]], i64)])
case("GridSample", [R(1, 3, 4, 5), R(1, 6, 7, 2)])
case("MurmurHash3", [Q(3, 4, d=i32)])
case("MurmurHash3", [Q(3, 4, d=i64)], dict(positive=0))
case("Pad", [R(3, 4), Fixed([1, 0, 2, 1], i64)])
case("Pad", [R(3, 4), Fixed([[1, 0, 2, -1]], i64)])
case("Range", [Fixed(1, i64), Fixed(7, i64)])
case("Range", [Fixed(1, f32), Fixed(7, f32), Fixed(0.7, f32)])
case("Range", [Fixed([1], i32), Fixed([7], i32)])
case("Range", [Fixed(1.5, f32), Fixed(7, f32)])
case("Trilu", [R(3, 4)])
case("Trilu", [R(2, 3, 4), Fixed(1, i64)], dict(upper=0))
case("UnfoldTensor", [R(3, 10)], dict(size=4, step=2))
case("UnfoldTensor", [R(3, 10)], dict(dim=0, size=2))
case(
    "Tokenizer", [np.array(["a b c", "d e"], dtype=object)], dict(mark=1, pad_value="#", separators=[" "], mincharnum=1)
)
case("WordConvEmbedding", [Q(4, 10, d=i32) % 20 + 1, R(6, 1, 3, 5), R(6), R(30, 5)], {})
case("NGramRepeatBlock", [Q(B, 10, d=i64), R(B, 100)], dict(ngram_size=3))
case("BifurcationDetector", [Q(10, d=i64), Q(4, d=i64), Fixed(0, i64), Q(11, d=i64)], {}, 2)
case("WordConvEmbedding", [Q(3, 6, 2, d=i32) % 20 + 1, R(6, 1, 3, 5), R(6), R(30, 5)], {})

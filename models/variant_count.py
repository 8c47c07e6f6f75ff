"""The second opinion on fused and quantised variants: onnx_count.py, with the operators that deployment tools write.

As there, shapes come from a run of ONNX Runtime and each operator's count is written out once from its definition
(ContribOperators.md of ONNX Runtime; Operators.md of ONNX).
"""
from __future__ import annotations

import math
from pathlib import Path

import onnx

import onnx_count
from onnx_count import attribute, ort, true_values

__all__ = ["contraction_macs", "ort", "true_values"]


def contraction_macs(path: Path, values: dict[str, list]) -> tuple[int, dict[str, int]]:
    """Total multiply-accumulates of the contractions, and the same by operator type."""
    graph = onnx.load(str(path), load_external_data=False).graph
    by_type: dict[str, int] = {}
    for node in graph.node:
        onnx_count.refuse_hidden_contractions(node)
        table = CONTRIB if node.domain == "com.microsoft" else STANDARD
        if node.op_type in table:
            macs = table[node.op_type](node, onnx_count.Shapes(node, values))
            by_type[node.op_type] = by_type.get(node.op_type, 0) + macs
    return sum(by_type.values()), dict(sorted(by_type.items()))


def qlinear_conv(node, shapes):         # X, its scale and zero point, then W
    return math.prod(shapes.outputs[0]) * math.prod(shapes.inputs[3][1:])


def q_gemm(node, shapes):               # A, its scale and zero point, then B
    a = shapes.inputs[0]
    return math.prod(shapes.outputs[0]) * (a[0] if attribute(node, "transA", 0) else a[1])


def n_bits(node, shapes):
    return math.prod(shapes.outputs[0]) * attribute(node, "K", None)


def attention(node, shapes):            # projections of [batch, sequence, hidden] by [hidden, 3 * hidden], then QK', PV
    batch, sequence, hidden = shapes.inputs[0]
    past = shapes.inputs[8 if node.op_type == "QAttention" else 4] if len(shapes.inputs) > 4 else None
    past = past[3] if past and len(past) == 5 else 0
    width = shapes.inputs[1][1]
    pairs = batch * sequence * (sequence + past)
    if attribute(node, "unidirectional", 0):
        pairs = batch * sum(past + i for i in range(1, sequence + 1))
    assert width == 3 * hidden
    return batch * sequence * hidden * width + 2 * pairs * hidden


def grouped_attention(node, shapes):    # causal: query i of s sees the keys before it and itself
    batch, sequence, _ = shapes.inputs[0]
    _, _, past, size = shapes.inputs[3]
    visible = sum(past + i for i in range(1, sequence + 1))
    return batch * attribute(node, "num_heads", None) * visible * 2 * size


def quantized_lstm(node, shapes):       # W: [directions, input, 4 * hidden], R: [directions, hidden, 4 * hidden]
    x, w, r = shapes.inputs[:3]
    return x[0] * x[1] * (math.prod(w) + math.prod(r))


STANDARD = onnx_count.MACS | {"ConvInteger": onnx_count.conv, "MatMulInteger": onnx_count.matmul,
                              "QLinearConv": qlinear_conv}
CONTRIB = {"Attention": attention, "QAttention": attention, "GroupQueryAttention": grouped_attention,
           "MatMulNBits": n_bits, "QGemm": q_gemm, "DynamicQuantizeLSTM": quantized_lstm}

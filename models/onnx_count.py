"""The second opinion on an exported model: ONNX Runtime runs it, and the true shapes say what was multiplied.

    true_values(path, feeds)       {value name: [dtype, [dims]]} for every value of the main graph
    contraction_macs(path, values) multiply-accumulates of its contractions, from those shapes

Nothing here shares code or formulas with the estimator: shapes come from execution, and each operator's count is
written out once from its definition in the ONNX specification. Subgraphs (If, Loop, Scan) are not looked into; a
contraction inside one is an error, not a zero.
"""
from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort

# ONNX Runtime's spelling of a tensor type -> ours
DTYPES = {"float": "float32", "double": "float64"}


def true_values(path: Path, feeds: dict[str, np.ndarray]) -> dict[str, list]:
    """Runs the model and records dtype and dims of every graph input, initializer and main-graph value.

    Values are not fetched: each gets a Shape node, and only the shapes leave the session, so memory stays that of
    an ordinary run. What is no tensor (a sequence, an optional) has dims None.
    """
    proto = onnx.load(str(path))
    names = [name for node in proto.graph.node for name in node.output if name]
    types = value_types(proto, names)
    tensors = [name for name in names if types[name].startswith("tensor(")]

    del proto.graph.output[:]
    for name in tensors:
        proto.graph.node.append(onnx.helper.make_node("Shape", [name], [f"shape of {name}"]))
        proto.graph.output.append(onnx.ValueInfoProto(name=f"shape of {name}"))
    session = open_session(proto)
    shapes = session.run(None, feeds)

    values = {name: [value.dtype.name, list(value.shape)] for name, value in feeds.items()}
    for tensor in proto.graph.initializer:
        dtype = onnx.TensorProto.DataType.Name(tensor.data_type).lower()
        values[tensor.name] = [DTYPES.get(dtype, dtype), list(tensor.dims)]
    for name, shape in zip(tensors, shapes):
        dtype = types[name].removeprefix("tensor(").removesuffix(")")
        values[name] = [DTYPES.get(dtype, dtype), [int(n) for n in shape]]
    for name in set(names) - set(tensors):
        values[name] = [types[name], None]
    return values


def value_types(proto: onnx.ModelProto, names: list[str]) -> dict[str, str]:
    """The type ONNX Runtime gives each value, learned by declaring all of them outputs."""
    exposed = onnx.ModelProto()
    exposed.CopyFrom(proto)
    del exposed.graph.output[:]
    exposed.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return {output.name: output.type for output in open_session(exposed).get_outputs()}


def open_session(proto: onnx.ModelProto) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    options.intra_op_num_threads = 2
    return ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


def contraction_macs(path: Path, values: dict[str, list]) -> tuple[int, dict[str, int]]:
    """Total multiply-accumulates of the contractions, and the same by operator type."""
    graph = onnx.load(str(path), load_external_data=False).graph
    by_type: dict[str, int] = {}
    for node in graph.node:
        refuse_hidden_contractions(node)
        if node.domain in ("", "ai.onnx") and node.op_type in MACS:
            by_type[node.op_type] = by_type.get(node.op_type, 0) + MACS[node.op_type](node, Shapes(node, values))
    return sum(by_type.values()), dict(sorted(by_type.items()))


def refuse_hidden_contractions(node: onnx.NodeProto) -> None:
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            for inner in graph.node:
                if inner.op_type in MACS:
                    raise ValueError(f"{node.op_type} {node.name}: holds a {inner.op_type}, which is not counted")
                refuse_hidden_contractions(inner)


class Shapes:
    """Dims of a node's inputs and outputs by position."""

    def __init__(self, node: onnx.NodeProto, values: dict[str, list]):
        self.inputs = [values[name][1] if name else None for name in node.input]
        self.outputs = [values[name][1] if name else None for name in node.output]


def attribute(node: onnx.NodeProto, name: str, default):
    for entry in node.attribute:
        if entry.name == name:
            return onnx.helper.get_attribute_value(entry)
    return default


def conv(node, shapes):                 # each output element sums over (input channels / group) * kernel
    weight = shapes.inputs[1]
    return math.prod(shapes.outputs[0]) * math.prod(weight[1:])


def conv_transpose(node, shapes):       # each input element meets (output channels / group) * kernel weights
    weight = shapes.inputs[1]
    return math.prod(shapes.inputs[0]) * math.prod(weight[1:])


def matmul(node, shapes):               # each output element sums over A's last dim
    return math.prod(shapes.outputs[0]) * shapes.inputs[0][-1]


def gemm(node, shapes):
    a = shapes.inputs[0]
    return math.prod(shapes.outputs[0]) * (a[0] if attribute(node, "transA", 0) else a[1])


def einsum(node, shapes):               # two operands: one product per point of the joint index space
    terms, _ = attribute(node, "equation", b"").decode().replace(" ", "").split("->")
    sizes = {}
    for letters, dims in zip(terms.split(","), shapes.inputs):
        if "." in letters or len(letters) != len(dims) or len(shapes.inputs) != 2:
            raise ValueError(f"Einsum {terms} is not counted")
        sizes |= dict(zip(letters, dims))
    return math.prod(sizes.values())


def recurrent(gates):
    def count(node, shapes):            # W: [directions, gates*hidden, input], R: [directions, gates*hidden, hidden]
        x, w, r = shapes.inputs[:3]
        assert w[1] % gates == 0
        return x[0] * x[1] * (math.prod(w) + math.prod(r))
    return count


def attention(node, shapes):            # softmax(Q K^T) V; Q may be [batch, sequence, heads*size]
    q, k, v = shapes.inputs[:3]
    if len(q) == 3:
        q_heads, kv_heads = attribute(node, "q_num_heads", 0), attribute(node, "kv_num_heads", 0)
        q, k, v = ([t[0], heads, t[1], t[2] // heads] for t, heads in ((q, q_heads), (k, kv_heads), (v, kv_heads)))
    past = shapes.inputs[4][2] if len(shapes.inputs) > 4 and shapes.inputs[4] else 0
    return q[0] * q[1] * q[2] * (k[2] + past) * (q[3] + v[3])


MACS = {"Conv": conv, "ConvTranspose": conv_transpose, "MatMul": matmul, "Gemm": gemm, "Einsum": einsum,
        "LSTM": recurrent(4), "GRU": recurrent(3), "RNN": recurrent(1), "Attention": attention}

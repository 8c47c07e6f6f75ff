#!/usr/bin/env python3
"""Writes the networks of TensorRT's demo/BERT beside this file, without weights: BERT base and large with the head for
question answering, sizes of batch and sequence left free.

    venv/bin/pip install onnx && venv/bin/python data/calibration/tensorrt/make_models.py
"""
import pathlib

from onnx import TensorProto, helper, save

HERE = pathlib.Path(__file__).resolve().parent


class Builder:
    def __init__(self):
        self.nodes, self.stored = [], []

    def weight(self, name, *shape):
        self.stored.append(TensorProto(name=name, dims=shape, data_type=TensorProto.FLOAT))
        return name

    def integers(self, name, values):
        self.stored.append(helper.make_tensor(name, TensorProto.INT64, [len(values)], values))
        return name

    def scalar(self, name, value):
        self.stored.append(helper.make_tensor(name, TensorProto.FLOAT, [], [value]))
        return name

    def add(self, op, inputs, name, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def linear(self, x, name, rows, columns):
        product = self.add("MatMul", [x, self.weight(name + ".weight", rows, columns)], name + ".product")
        return self.add("Add", [product, self.weight(name + ".bias", columns)], name)

    def norm(self, x, name, size):
        return self.add("LayerNormalization", [x, self.weight(name + ".scale", size), self.weight(name + ".shift", size)],
                        name, axis=-1)


def bert(layers, hidden, heads):
    b = Builder()
    split, join = b.integers("split", [0, 0, heads, hidden // heads]), b.integers("join", [0, 0, hidden])
    scale = b.scalar("scale", (hidden // heads) ** -0.5)
    words = b.add("Gather", [b.weight("words", 30522, hidden), "input_ids"], "word")
    segments = b.add("Gather", [b.weight("segments", 2, hidden), "segment_ids"], "segment")
    places = b.add("Gather", [b.weight("positions", 512, hidden), "position_ids"], "position")
    x = b.add("Add", [b.add("Add", [words, segments], "word_segment"), places], "embedded")
    x = b.norm(x, "embedding", hidden)
    for i in range(layers):
        p = f"layer{i}."

        def head(which, perm):
            y = b.add("Reshape", [b.linear(x, p + which, hidden, hidden), split], p + which + ".heads")
            return b.add("Transpose", [y], p + which + ".turned", perm=perm)

        scores = b.add("MatMul", [head("query", [0, 2, 1, 3]), head("key", [0, 2, 3, 1])], p + "scores")
        masked = b.add("Add", [b.add("Mul", [scores, scale], p + "scaled"), "mask"], p + "masked")
        weights = b.add("Softmax", [masked], p + "probabilities", axis=-1)
        context = b.add("MatMul", [weights, head("value", [0, 2, 1, 3])], p + "context")
        context = b.add("Transpose", [context], p + "context.turned", perm=[0, 2, 1, 3])
        context = b.add("Reshape", [context, join], p + "context.joined")
        y = b.add("Add", [b.linear(context, p + "output", hidden, hidden), x], p + "attended")
        x = b.norm(y, p + "norm1", hidden)
        y = b.add("Gelu", [b.linear(x, p + "up", hidden, 4 * hidden)], p + "gelu", approximate="tanh")
        y = b.add("Add", [b.linear(y, p + "down", 4 * hidden, hidden), x], p + "fed")
        x = b.norm(y, p + "norm2", hidden)
    logits = b.linear(x, "logits", hidden, 2)
    ids = [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "sequence"])
           for n in ("input_ids", "segment_ids", "position_ids")]
    mask = helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["batch", 1, 1, "sequence"])
    out = helper.make_tensor_value_info(logits, TensorProto.FLOAT, ["batch", "sequence", 2])
    graph = helper.make_graph(b.nodes, "bert", ids + [mask], [out], b.stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


save(bert(12, 768, 12), HERE / "bert_base_squad.onnx")
save(bert(24, 1024, 16), HERE / "bert_large_squad.onnx")

#!/usr/bin/env python3
"""Small models of the kinds whose profiles the importers are tested on, with random weights.

    pip install torch onnx onnxscript onnxruntime
    small_models.py FOLDER

torch.onnx writes the residual network, the transformer block and the LSTM, each by both of its exporters, and the first
in float16, too. The 8-bit networks are the residual one and a chain after onnxruntime's quantize_static. If and Loop
are written by hand.
"""
import argparse
import os

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


def torch_modules():
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(channels)
            self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(channels)
            self.relu = nn.ReLU()

        def forward(self, x):
            return self.relu(self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x))))) + x)

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem, self.pool = nn.Conv2d(3, 16, 3, padding=1), nn.MaxPool2d(2)
            self.body = nn.Sequential(Block(16), Block(16))
            self.average, self.head = nn.AdaptiveAvgPool2d(1), nn.Linear(16, 10)

        def forward(self, x):
            return self.head(torch.flatten(self.average(self.body(self.pool(self.stem(x)))), 1))

    class Transformer(nn.Module):
        """A BERT layer: tokens, heads of attention by hand, the error-function GELU."""

        def __init__(self, width=64, heads=4, vocabulary=100):
            super().__init__()
            self.heads = heads
            self.embedding, self.norm = nn.Embedding(vocabulary, width), nn.LayerNorm(width)
            self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
            self.out, self.norm1 = nn.Linear(width, width), nn.LayerNorm(width)
            self.up, self.gelu, self.down = nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
            self.norm2 = nn.LayerNorm(width)

        def forward(self, tokens):
            x = self.norm(self.embedding(tokens))
            def split(y):
                return y.view(y.shape[0], y.shape[1], self.heads, -1).transpose(1, 2)
            q, k, v = split(self.query(x)), split(self.key(x)), split(self.value(x))
            weights = torch.softmax(q @ k.transpose(-1, -2) / (q.shape[-1] ** 0.5), -1)
            mixed = (weights @ v).transpose(1, 2).reshape(x.shape)
            x = self.norm1(x + self.out(mixed))
            return self.norm2(x + self.down(self.gelu(self.up(x))))

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = nn.LSTM(16, 32, 2, batch_first=True, bidirectional=True), nn.Linear(64, 5)

        def forward(self, x):
            return self.head(self.lstm(x)[0][:, -1])

    class Chain(nn.Sequential):
        """Three convolutions in a row: once quantised, each reads the other's 8-bit output."""

        def __init__(self):
            super().__init__(nn.Conv2d(3, 16, 1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 8, 1))

    torch.manual_seed(0)
    return {"residual": (Residual().eval(), torch.rand(1, 3, 32, 32)),
            "transformer": (Transformer().eval(), torch.arange(16).reshape(1, 16)),
            "recurrent": (Recurrent().eval(), torch.rand(1, 8, 16)),
            "chain": (Chain().eval(), torch.rand(1, 3, 32, 32))}


def export(folder):
    import torch
    for name, (module, example) in torch_modules().items():
        for parameter in (*module.parameters(), *module.buffers()):  # the exporter merges equal initializers
            if parameter.dtype.is_floating_point:
                parameter.data += 0.1 * torch.rand_like(parameter)
        for dynamo in (False, True):
            path = os.path.join(folder, name + ("_dynamo" if dynamo else "") + ".onnx")
            options = {} if not dynamo else {"external_data": False}
            torch.onnx.export(module, (example,), path, dynamo=dynamo, opset_version=18 if dynamo else 17,
                              input_names=["x"], output_names=["y"], **options)
        if name == "residual":
            torch.onnx.export(module.half(), (example.half(),), os.path.join(folder, name + "_fp16.onnx"), dynamo=False,
                              opset_version=17, input_names=["x"], output_names=["y"])


def quantize(folder):
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static

    class Images(CalibrationDataReader):
        def __init__(self):
            self.left = [{"x": numpy.random.default_rng(i).random((1, 3, 32, 32), numpy.float32)} for i in range(4)]

        def get_next(self):
            return self.left.pop() if self.left else None

    for name in ("chain", "residual"):
        quantize_static(os.path.join(folder, name + ".onnx"), os.path.join(folder, name + "_int8.onnx"), Images(),
                        quant_format=QuantFormat.QDQ, per_channel=True)


def control(folder):
    """An If whose branches do different products, and a Loop of three trips over one more."""
    random = numpy.random.default_rng(0)
    def weight(name, *shape):
        return numpy_helper.from_array(random.random(shape, numpy.float32) / shape[0], name)
    def value(name, *shape, kind=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, kind, list(shape))
    node = helper.make_node
    wide = helper.make_graph([node("MatMul", ["h", "w_wide"], ["wide0"], "wide/MatMul"),
                              node("Relu", ["wide0"], ["wide1"], "wide/Relu"),
                              node("MatMul", ["wide1", "w_back"], ["wide2"], "wide/MatMul_1")],
                             "wide", [], [value("wide2", 8, 32)], [weight("w_wide", 32, 64), weight("w_back", 64, 32)])
    narrow = helper.make_graph([node("Tanh", ["h"], ["narrow0"], "narrow/Tanh")], "narrow", [], [value("narrow0", 8, 32)])
    step = helper.make_graph([node("Identity", ["go"], ["go_on"], "step/Identity"),
                              node("MatMul", ["state", "w_step"], ["step0"], "step/MatMul"),
                              node("Sigmoid", ["step0"], ["next"], "step/Sigmoid")], "step",
                             [value("trip", kind=TensorProto.INT64), value("go", kind=TensorProto.BOOL), value("state", 8, 32)],
                             [value("go_on", kind=TensorProto.BOOL), value("next", 8, 32)], [weight("w_step", 32, 32)])
    graph = helper.make_graph(
        [node("MatMul", ["x", "w"], ["h"], "in/MatMul"), node("ReduceSum", ["x"], ["sum"], "in/ReduceSum", keepdims=0),
         node("Greater", ["sum", "zero"], ["is_wide"], "in/Greater"),
         node("If", ["is_wide"], ["chosen"], "choice/If", then_branch=wide, else_branch=narrow),
         node("Loop", ["trips", "", "chosen"], ["turned"], "turn/Loop", body=step),
         node("Softmax", ["turned"], ["y"], "out/Softmax")],
        "control", [value("x", 8, 16)], [value("y", 8, 32)],
        [weight("w", 16, 32), numpy_helper.from_array(numpy.array(3), "trips"),
         numpy_helper.from_array(numpy.array(0, numpy.float32), "zero")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, os.path.join(folder, "control.onnx"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--only", choices=["export", "quantize", "control"], nargs="*",
                        default=["export", "control", "quantize"])
    arguments = parser.parse_args()
    os.makedirs(arguments.folder, exist_ok=True)
    for part in arguments.only:
        {"export": export, "quantize": quantize, "control": control}[part](arguments.folder)


if __name__ == "__main__":
    main()

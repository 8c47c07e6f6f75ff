#!/usr/bin/env python3
"""Writes the probes of pagoda-calibrate --here: small graphs whose kernels cover sizes that networks have.

    pip install onnx
    python models/probes.py --skeleton build/dev/tools/onnx-skeleton      # writes models/probes

A fit to networks alone says little about sizes between theirs: products of 4 to 32 rows, windows of 5 and 7, groups of
few channels, rows of 16 elements. Each probe is a chain or a bundle of short branches, so that a kernel reads what the
one before it has just written, as in a network.
"""
from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
# Channels and positions on a side: the stages of networks for images of 224 × 224.
STAGES = [(16, 112), (24, 56), (64, 56), (40, 28), (128, 28), (112, 14), (256, 14), (160, 7), (512, 7)]
# Tokens, width, heads.
SEQUENCES = [(1, 768, 12), (4, 512, 8), (12, 768, 12), (20, 256, 8), (49, 512, 16), (100, 192, 4), (196, 384, 6), (400, 128, 4),
             (1024, 96, 3)]


class Graph:
    """Nodes in order; every value is float32 and named after its place."""

    def __init__(self) -> None:
        self.nodes: list = []
        self.weights: list = []
        self.inputs: list = []
        self.outputs: list[tuple[str, tuple[int, ...] | None]] = []
        self.generator = numpy.random.default_rng(1)

    def input(self, *shape: int) -> str:
        name = f"input_{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def weight(self, *shape: int, array: numpy.ndarray | None = None) -> str:
        name = f"weight_{len(self.weights)}"
        if array is None:
            array = self.generator.standard_normal(shape).astype(numpy.float32) / 16
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def node(self, op: str, *inputs: str, outputs: int = 1, domain: str = "", **attributes):
        names = [f"value_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=f"node_{len(self.nodes)}", domain=domain,
                                           **attributes))
        return names[0] if outputs == 1 else names

    def end(self, *values: str, shape: tuple[int, ...] | None = None) -> None:
        """Outputs; a shape is needed where onnx knows no rule for the operator."""
        self.outputs.extend((value, shape) for value in values)

    def conv(self, x: str, channels: int, filters: int, window: int | tuple[int, int] = 1, stride: int = 1, groups: int = 1,
             activation: str = "Relu") -> str:
        height, width = (window, window) if isinstance(window, int) else window
        weight = self.weight(filters, channels // groups, height, width)
        pads = [0, 0] if stride == height > 1 else [height // 2, width // 2]  # patches do not overlap
        x = self.node("Conv", x, weight, self.weight(filters), strides=[stride, stride], group=groups, pads=2 * pads)
        return self.node(activation, x) if activation else x

    def linear(self, x: str, width: int, filters: int) -> str:
        return self.node("Add", self.node("MatMul", x, self.weight(width, filters)), self.weight(filters))

    def layer_norm(self, x: str, width: int) -> str:
        return self.node("LayerNormalization", x, self.weight(width), self.weight(width))

    def transpose(self, x: str, *perm: int) -> str:
        return self.node("Transpose", x, perm=perm)

    def reshape(self, x: str, *shape: int) -> str:
        return self.node("Reshape", x, self.weight(array=numpy.array(shape, numpy.int64)))

    def model(self) -> onnx.ModelProto:
        outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in self.outputs]
        graph = helper.make_graph(self.nodes, "probe", self.inputs, outputs, self.weights)
        opsets = [helper.make_opsetid("", OPSET)]
        if any(node.domain for node in self.nodes):
            opsets.append(helper.make_opsetid("com.microsoft", 1))
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
        onnx.checker.check_model(model)
        return model


def image(channels: int, side: int) -> Graph:
    """Convolutions of every class and what stands between them, at one stage."""
    g = Graph()
    picture = g.input(1, 3, 4 * side, 4 * side)
    if side <= 14:
        more = 4 * side * 15 // 14  # a ratio such as that of images of 240 and 224
        sizes = g.weight(array=numpy.array([1, 3, more, more], numpy.int64))
        g.end(g.node("Resize", picture, "", "", sizes, mode="cubic"))
    x = g.conv(picture, 3, channels, 4, 4)
    x = g.conv(x, channels, channels)
    x = g.conv(x, channels, channels, 3)
    wide = g.conv(x, channels, 4 * channels)
    x = g.conv(wide, 4 * channels, channels)
    for window, stride in ((3, 1), (5, 1), (7, 1)):
        x = g.conv(x, channels, channels, window, stride, groups=channels)
    x = g.conv(x, channels, channels, (1, 5))
    expanded = g.conv(x, channels, 2 * channels, activation="HardSwish")
    small = g.conv(expanded, 2 * channels, 2 * channels, 3, 2, groups=2 * channels)
    # Squeeze and excitation.
    gate = g.node("GlobalAveragePool", small)
    gate = g.conv(gate, 2 * channels, max(channels // 2, 8))
    gate = g.node("Sigmoid", g.conv(gate, max(channels // 2, 8), 2 * channels, activation=""))
    small = g.conv(g.node("Mul", small, gate), 2 * channels, channels, activation="")
    g.end(small)
    down = g.conv(x, channels, 2 * channels, 3, 2)
    few = g.conv(x, channels, channels, 3, groups=max(channels // 8, 1))
    full = channels % 32 == 0
    many = g.conv(few, channels, channels, 3, groups=channels // 32 if full else 1)
    joined = g.node("Concat", many, x, axis=1)
    pooled = g.node("MaxPool", joined, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    pooled = g.node("AveragePool", g.node("Add", down, pooled), kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    silu = g.conv(pooled, 2 * channels, channels, activation="")
    silu = g.node("Mul", silu, g.node("Sigmoid", silu))
    scales = g.weight(array=numpy.array([1, 1, 2, 2], numpy.float32))
    large = g.node("Resize", silu, "", scales, mode="nearest")
    smooth = g.node("Resize", silu, "", scales, mode="linear")
    norm = [g.weight(channels) for _ in range(3)] + [g.weight(array=numpy.ones(channels, numpy.float32))]
    normed = g.node("Relu", g.node("BatchNormalization", g.conv(large, channels, channels, 3), *norm))
    g.end(g.conv(normed, channels, channels), smooth)
    left, right = g.node("Split", x, outputs=2, axis=1)
    # Operators that no layout of blocks has.
    shuffled = g.reshape(g.node("Concat", right, left, axis=1), 1, 2, channels // 2, side, side)
    shuffled = g.reshape(g.transpose(shuffled, 0, 2, 1, 3, 4), 1, channels, side, side)
    g.end(g.conv(shuffled, channels, channels), g.node("GlobalAveragePool", shuffled))
    return g


def sequence(tokens: int, width: int, heads: int) -> Graph:
    """A transformer's block and the forms of its parts, at one length."""
    g = Graph()
    size = width // heads
    x = g.input(1, tokens, width)
    y = g.layer_norm(x, width)
    joint = g.transpose(g.reshape(g.linear(y, width, 3 * width), 1, tokens, 3, heads, size), 2, 0, 3, 1, 4)
    query, key, value = (g.node("Squeeze", part, g.weight(array=numpy.array([0], numpy.int64)))
                         for part in g.node("Split", joint, outputs=3, axis=0))
    scores = g.node("MatMul", query, g.transpose(key, 0, 1, 3, 2))
    scores = g.node("Add", g.node("Mul", scores, g.weight(array=numpy.float32(size ** -0.5))), g.weight(1, 1, 1, tokens))
    mixed = g.node("MatMul", g.node("Softmax", scores, axis=-1), value)
    mixed = g.reshape(g.transpose(mixed, 0, 2, 1, 3), 1, tokens, width)
    x = g.node("Add", x, g.linear(mixed, width, width))
    y = g.linear(g.layer_norm(x, width), width, 4 * width)
    half = g.weight(array=numpy.float32(0.5))
    one = g.weight(array=numpy.float32(1))
    erf = g.node("Erf", g.node("Div", y, g.weight(array=numpy.float32(2 ** 0.5))))
    y = g.node("Mul", g.node("Mul", y, g.node("Add", erf, one)), half)
    x = g.node("Add", x, g.linear(y, 4 * width, width))
    x = g.layer_norm(x, width)
    # Gates, norms over the root of squares, rotations of halves, convolutions along the sequence.
    gate = g.linear(x, width, width)
    gate = g.node("Mul", g.node("Mul", gate, g.node("Sigmoid", gate)), g.linear(x, width, width))
    mean = g.node("ReduceMean", g.node("Mul", gate, gate), axes=[-1])
    gate = g.node("Mul", gate, g.node("Reciprocal", g.node("Sqrt", g.node("Add", mean, half))))
    left, right = g.node("Split", gate, outputs=2, axis=2)
    turned = g.node("Concat", g.node("Neg", right), left, axis=2)
    turned = g.node("Add", g.node("Mul", turned, g.weight(tokens, width)), gate)
    mixed = g.transpose(turned, 0, 2, 1)
    mixed = g.node("Conv", mixed, g.weight(width, width // heads, 3), g.weight(width), pads=[1, 1], group=heads)
    g.end(g.node("Tanh", g.transpose(mixed, 0, 2, 1)))
    cut = g.node("Slice", x, *(g.weight(array=numpy.array([i], numpy.int64)) for i in (0, tokens, 2, 1)))
    g.end(g.node("Softmax", cut, axis=1), g.node("ReduceMean", x, axes=[1]))
    windows = g.reshape(turned, tokens, heads, size // 4, 4)
    g.end(g.transpose(windows, 2, 1, 3, 0), g.transpose(windows, 0, 2, 1, 3))
    return g


def integers() -> Graph:
    """Integer products in the forms that quantisers write, with operands in uint8, and what runs between them."""
    g = Graph()
    scale, zero = g.weight(array=numpy.float32(0.05)), g.weight(array=numpy.uint8(128))
    narrow, none = g.weight(array=numpy.float32(0.01)), g.weight(array=numpy.int8(0))
    product = g.weight(array=numpy.float32(0.05) * numpy.float32(0.01))  # a bias of any other scale stays float32

    def pair(x: str) -> str:
        return g.node("DequantizeLinear", g.node("QuantizeLinear", x, scale, zero), scale, zero)

    def stored(*shape: int) -> str:
        array = g.generator.integers(-100, 100, shape).astype(numpy.int8)
        return g.node("DequantizeLinear", g.weight(array=array), narrow, none)

    for channels, side in STAGES[2:]:
        if channels % 16:
            continue
        x = pair(g.input(1, channels, side, side))
        for filters, window in ((channels, 3), (4 * channels, 1), (channels, 1)):
            before = channels if window == 3 or filters != channels else 4 * channels
            bias = g.node("DequantizeLinear", g.weight(array=numpy.ones(filters, numpy.int32)), product)
            x = g.node("Conv", x, stored(filters, before, window, window), bias, pads=[window // 2] * 4)
            x = pair(x)
        bias = g.node("DequantizeLinear", g.weight(array=numpy.ones(channels, numpy.int32)), product)
        for window, stride in ((3, 1), (5, 1), (3, 2)):
            deep = g.node("Conv", x, stored(channels, 1, window, window), bias, pads=[window // 2] * 4, group=channels,
                          strides=[stride, stride])
            g.end(pair(deep))
        # Squeeze and excitation, a sum, a join, a pool.
        gate = pair(g.node("Sigmoid", pair(g.node("GlobalAveragePool", x))))
        scaled = pair(g.node("Mul", x, gate))
        gate = pair(g.node("Sigmoid", x))
        scaled = pair(g.node("Add", scaled, pair(g.node("Mul", x, gate))))
        g.end(pair(g.node("AveragePool", pair(g.node("Concat", scaled, x, axis=1)), kernel_shape=[2, 2], strides=[2, 2])))
    for rows, width, filters in ((1, 768, 768), (8, 512, 2048), (32, 768, 3072), (128, 768, 3072), (128, 3072, 768),
                                 (384, 256, 1024)):
        x = g.input(1, rows, width)
        g.end(pair(g.node("MatMul", pair(x), stored(width, filters))))
        # As ONNX Runtime's dynamic quantisation writes it.
        for sign, zero_point in ((numpy.int8, none), (numpy.uint8, zero)):
            whole, factor, zero_of = g.node("DynamicQuantizeLinear", g.input(1, rows, width), outputs=3)
            weight = g.weight(array=g.generator.integers(0, 100, (width, filters)).astype(sign))
            y = g.node("Cast", g.node("MatMulInteger", whole, weight, zero_of, zero_point), to=TensorProto.FLOAT)
            g.end(g.node("Mul", y, g.node("Mul", factor, narrow)))
        # Weights of four bits in blocks, as exporters for ONNX Runtime GenAI write them for a CPU.
        packed = g.weight(array=g.generator.integers(0, 255, (filters, width // 32, 16)).astype(numpy.uint8))
        scales = g.weight(array=numpy.full(filters * width // 32, 0.01, numpy.float32))
        g.end(g.node("MatMulNBits", x, packed, scales, domain="com.microsoft", K=width, N=filters, bits=4, block_size=32,
                     accuracy_level=4), shape=(1, rows, filters))
    return g


def unaligned() -> Graph:
    """Depthwise convolutions whose channels fill no block: ONNX Runtime leaves them in plain layout."""
    g = Graph()
    for channels, side in ((30, 56), (54, 28), (90, 14), (150, 7)):
        x = g.input(1, channels, side, side)
        for window, stride in ((3, 1), (5, 1), (3, 2)):
            x = g.conv(g.conv(x, channels, channels), channels, channels, window, stride, groups=channels, activation="")
        g.end(x)
    return g


def symmetric() -> Graph:
    """A residual network of Q/DQ pairs without zero points, as TensorRT takes them; ONNX Runtime's quantiser has them."""
    g = Graph()
    none = g.weight(array=numpy.int8(0))
    scale, narrow = g.weight(array=numpy.float32(0.05)), g.weight(array=numpy.float32(0.01))

    def pair(x: str) -> str:
        return g.node("DequantizeLinear", g.node("QuantizeLinear", x, scale, none), scale, none)

    def conv(x: str, channels: int, filters: int, window: int, stride: int = 1) -> str:
        array = g.generator.integers(-100, 100, (filters, channels, window, window)).astype(numpy.int8)
        weight = g.node("DequantizeLinear", g.weight(array=array), narrow, none)
        return g.node("Conv", pair(x), weight, g.weight(filters), pads=[window // 2] * 4, strides=[stride, stride])

    x = g.node("Relu", conv(g.input(8, 3, 224, 224), 3, 64, 7, 2))
    x = g.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    channels = 64
    for filters, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        for step in (stride, 1):
            y = g.node("Relu", conv(x, channels, filters, 3, step))
            y = conv(y, filters, filters, 3)
            shortcut = x if channels == filters else conv(x, channels, filters, 1, step)
            x, channels = g.node("Relu", g.node("Add", y, pair(shortcut))), filters
    x = g.node("Flatten", g.node("GlobalAveragePool", pair(x)))
    array = g.generator.integers(-100, 100, (512, 1000)).astype(numpy.int8)
    g.end(g.node("MatMul", pair(x), g.node("DequantizeLinear", g.weight(array=array), narrow, none)))
    return g


def recurrent() -> Graph:
    g = Graph()
    for op, gates, steps, batch, width, hidden in (("LSTM", 4, 20, 1, 128, 256), ("GRU", 3, 40, 4, 64, 128),
                                                   ("LSTM", 4, 8, 16, 256, 512), ("GRU", 3, 30, 1, 256, 384)):
        x = g.reshape(g.input(1, steps * batch * width), steps, batch, width)  # the study runs files of batch 1
        y, _ = g.node(op, x, g.weight(1, gates * hidden, width), g.weight(1, gates * hidden, hidden),
                      g.weight(1, 2 * gates * hidden), outputs=2, hidden_size=hidden)
        g.end(y)
    return g


def probes() -> dict[str, Graph]:
    made = {f"image_{channels}_{side}": image(channels, side) for channels, side in STAGES}
    made |= {f"sequence_{tokens}_{width}": sequence(tokens, width, heads) for tokens, width, heads in SEQUENCES}
    return made | {"integers": integers(), "recurrent": recurrent(), "symmetric": symmetric(), "unaligned": unaligned()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skeleton", type=Path, required=True, help="the program onnx-skeleton")
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parent / "probes")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, graph in probes().items():
            file = Path(folder) / f"{name}.onnx"
            onnx.save(graph.model(), file)
            subprocess.run([arguments.skeleton, file, "-o", arguments.output / f"{name}.onnx"], check=True)


if __name__ == "__main__":
    main()

"""ONNX operators in PyTorch: element-wise, layout, indexing, reductions. torch_nn_ops.py has the rest.

Each entry of OPS takes a Call and returns a tensor, or a tuple of them. Shapes, axes and other arguments are read on
the host; everything else stays on the device that it is on.
"""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F


class Call:
    """One node as an operator sees it: inputs (None where absent), attributes, opset, number of outputs."""

    def __init__(self, op_type, inputs, attributes, opset, outputs, float_type, device):
        self.op_type, self.inputs, self.attributes, self.opset = op_type, inputs, attributes, opset
        self.outputs = outputs  # how many are used
        self.float_type = float_type  # what float32 of the file is computed in
        self.device = device

    def __getitem__(self, index):
        return self.inputs[index] if index < len(self.inputs) else None

    def attr(self, name, default=None):
        return self.attributes.get(name, default)

    def ints(self, index, attribute=None, default=None):
        """A list of integers: an input, else an attribute, else the default."""
        if self[index] is not None:
            return [int(value) for value in self[index].reshape(-1).tolist()]
        value = self.attr(attribute, default) if attribute else default
        return list(value) if isinstance(value, (list, tuple)) else value

    def scalar(self, index, default=None):
        return self[index].reshape(-1)[0].item() if self[index] is not None else default

    def but(self, inputs=None, **attributes):
        """The same node with other inputs, or with these attributes."""
        inputs, attributes = self.inputs if inputs is None else inputs, {**self.attributes, **attributes}
        return Call(self.op_type, inputs, attributes, self.opset, self.outputs, self.float_type, self.device)


# ONNX element types -> torch; narrower than a byte ones are kept in int8 and uint8.
TYPES = {
    1: torch.float32, 2: torch.uint8, 3: torch.int8, 4: torch.uint16, 5: torch.int16, 6: torch.int32, 7: torch.int64,
    9: torch.bool, 10: torch.float16, 11: torch.float64, 12: torch.uint32, 13: torch.uint64, 16: torch.bfloat16,
    17: torch.float8_e4m3fn, 18: torch.float8_e4m3fnuz, 19: torch.float8_e5m2, 20: torch.float8_e5m2fnuz,
    21: torch.uint8, 22: torch.int8,
}  # fmt: skip


def is_float(x):
    return x.dtype.is_floating_point


def divide(a, b):
    return a / b if is_float(a) else torch.div(a, b, rounding_mode="trunc")


def power(c):
    return torch.pow(c[0].double() if not is_float(c[0]) and is_float(c[1]) else c[0], c[1]).to(c[0].dtype)


def many(function):
    def run(c):
        result = c[0]
        for other in c.inputs[1:]:
            result = function(result, other)
        return result

    return run


def unary(function):
    return lambda c: function(c[0])


def binary(function):
    return lambda c: function(c[0], c[1])


def in_float(function):
    """For functions that PyTorch lacks in half precision on some devices."""
    return lambda c: function(c[0].float()).to(c[0].dtype)


def clip(c):
    low = c[1] if c[1] is not None else c.attr("min")
    high = c[2] if c[2] is not None else c.attr("max")
    as_number = lambda x: x.item() if isinstance(x, torch.Tensor) else x
    if low is None and high is None:
        return c[0]
    return torch.clamp(c[0], as_number(low), as_number(high))


def cast_to(c, element):
    if element not in TYPES:
        raise NotImplementedError(f"element type {element}")
    x, target = c[0], c.float_type if element == 1 else TYPES[element]
    if element in (17, 18, 19, 20):
        if not c.attr("saturate", 1):
            raise NotImplementedError("saturate=0")
        limit = torch.finfo(target).max
        return x.float().clamp(-limit, limit).to(target)
    if element in (21, 22):  # wraps into four bits
        x = x.to(torch.int64) & 15
        return torch.where((x > 7), x - 16, x).to(torch.int8) if element == 22 else x.to(torch.uint8)
    return x.to(target)


def cast_like(c):
    if getattr(c[1], "is_narrow", False):
        raise NotImplementedError("types of four bits and less")
    elements = {dtype: element for element, dtype in TYPES.items() if element < 21}
    return c[0].to(c[1].dtype) if c[1].dtype == c.float_type else cast_to(c, elements[c[1].dtype])


def selu(c):
    alpha, gamma = c.attr("alpha", 1.6732632423543772), c.attr("gamma", 1.0507009873554805)
    return gamma * torch.where(c[0] > 0, c[0], alpha * (torch.exp(c[0]) - 1))


# Softmax flattened everything from the axis on until opset 13.
def softmax(function):
    def run(c):
        if c.opset >= 13:
            return function(c[0], dim=c.attr("axis", -1))
        axis = c.attr("axis", 1) % max(1, c[0].dim())
        rows = math.prod(c[0].shape[:axis])
        return function(c[0].reshape(rows, -1), dim=1).reshape(c[0].shape)

    return run


# Layout ---------------------------------------------------------------------------------------------------------------


def reshape(c):
    shape = c.ints(1, "shape")
    if not c.attr("allowzero", 0):
        shape = [c[0].shape[i] if size == 0 else size for i, size in enumerate(shape)]
    return c[0].reshape(shape)


def flatten(c):
    axis = c.attr("axis", 1)
    axis += c[0].dim() if axis < 0 else 0
    return c[0].reshape(math.prod(c[0].shape[:axis]), -1)


def transpose(c):
    return c[0].permute(c.attr("perm", list(reversed(range(c[0].dim())))))


def squeeze(c):
    axes = c.ints(1, "axes")
    if axes is None:
        return c[0].squeeze()
    axes = {axis % c[0].dim() for axis in axes}
    return c[0].reshape([size for i, size in enumerate(c[0].shape) if i not in axes])


def unsqueeze(c):
    axes = c.ints(1, "axes")
    rank = c[0].dim() + len(axes)
    axes = {axis % rank for axis in axes}
    sizes = iter(c[0].shape)
    return c[0].reshape([1 if i in axes else next(sizes) for i in range(rank)])


def expand(c):
    return c[0].expand(torch.broadcast_shapes(c[0].shape, c.ints(1))).contiguous()


def split(c):
    axis = c.attr("axis", 0)
    sizes = c.ints(1, "split")
    if sizes is None:
        count = c.attr("num_outputs", c.outputs)
        size = -(-c[0].shape[axis] // count)
        sizes = [size] * (count - 1) + [c[0].shape[axis] - size * (count - 1)]
    return tuple(part.contiguous() for part in torch.split(c[0], sizes, dim=axis))


def slice_(c):
    x = c[0]
    starts, ends = c.ints(1, "starts"), c.ints(2, "ends")
    axes = c.ints(3, "axes") or list(range(len(starts)))
    steps = c.ints(4) or [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps):
        first, last, stride = slice(start, end, step).indices(x.shape[axis])
        if step > 0:
            index = [slice(None)] * (axis % x.dim()) + [slice(first, max(first, last), stride)]
            x = x[tuple(index)]
        else:
            x = x.index_select(axis, torch.arange(first, last, stride, device=x.device))
    return x.contiguous()


def pad(c):
    amounts = c.ints(1, "pads")
    axes = c.ints(3) or list(range(c[0].dim()))
    mode = c.attr("mode", "constant")
    before, after = [0] * c[0].dim(), [0] * c[0].dim()
    for i, axis in enumerate(axes):
        before[axis], after[axis] = amounts[i], amounts[i + len(axes)]
    if mode == "constant":
        value = c.scalar(2, c.attr("value", 0))
        flat = [amount for axis in reversed(range(c[0].dim())) for amount in (before[axis], after[axis])]
        x = c[0].to(torch.uint8) if c[0].dtype == torch.bool else c[0]
        return F.pad(x, flat, value=value).to(c[0].dtype)
    x = c[0]
    for axis, (low, high) in enumerate(zip(before, after)):  # reflect, edge and wrap pick existing elements
        if low == 0 and high == 0:
            continue
        size = x.shape[axis]
        index = np.pad(np.arange(size), (max(low, 0), max(high, 0)), mode=mode)
        index = index[max(-low, 0) : len(index) - max(-high, 0)]
        x = x.index_select(axis, torch.as_tensor(index.copy(), device=x.device))
    return x


def depth_to_space(c):
    n, channels, h, w = c[0].shape
    b = c.attr("blocksize")
    if c.attr("mode", "DCR") == "DCR":
        x = c[0].reshape(n, b, b, channels // (b * b), h, w).permute(0, 3, 4, 1, 5, 2)
    else:
        x = c[0].reshape(n, channels // (b * b), b, b, h, w).permute(0, 1, 4, 2, 5, 3)
    return x.reshape(n, channels // (b * b), h * b, w * b)


def space_to_depth(c):
    n, channels, h, w = c[0].shape
    b = c.attr("blocksize")
    blocks = c[0].reshape(n, channels, h // b, b, w // b, b)
    x = blocks.permute(0, 1, 3, 5, 2, 4) if c.attr("mode", "DCR") == "CRD" else blocks.permute(0, 3, 5, 1, 2, 4)
    return x.reshape(n, channels * b * b, h // b, w // b)


def shape(c):
    sizes = list(c[0].shape)[slice(c.attr("start", 0), c.attr("end", None))]
    return torch.tensor(sizes, dtype=torch.int64)


def constant_of_shape(c):
    value = c.attr("value")
    sizes = c.ints(0)
    if value is None:
        return torch.zeros(sizes, dtype=c.float_type, device=c.device)
    on = "cpu" if not is_float(value) and len(sizes) <= 1 else c.device  # shapes stay on the host
    return torch.full(sizes, value.reshape(-1)[0].item(), dtype=value.dtype, device=on)


def range_(c):
    start, limit, delta = (c.scalar(i) for i in range(3))
    count = max(0, math.ceil((limit - start) / delta))
    steps = torch.arange(count, device=c[0].device)
    return (start + steps * delta).to(c[0].dtype)


def one_hot(c):
    depth, axis = int(c.scalar(1)), c.attr("axis", -1)
    index = c[0].long()
    index = torch.where(index < 0, index + depth, index)
    inside = (index >= 0) & (index < depth)
    hot = F.one_hot(torch.where(inside, index, 0), depth).bool() & inside.unsqueeze(-1)
    return torch.where(hot, c[2][1], c[2][0]).movedim(-1, axis)


# Indexing -------------------------------------------------------------------------------------------------------------


def wrapped(index, size):
    index = index.long()
    return torch.where(index < 0, index + size, index)


def gather(c):
    axis = c.attr("axis", 0) % c[0].dim()
    index = wrapped(c[1], c[0].shape[axis])
    picked = c[0].index_select(axis, index.reshape(-1))
    return picked.reshape(c[0].shape[:axis] + index.shape + c[0].shape[axis + 1 :])


def gather_elements(c):
    axis = c.attr("axis", 0)
    return torch.gather(c[0], axis, wrapped(c[1], c[0].shape[axis]))


def flat_index(index, sizes):
    """Index tuples in the last axis -> places in the flattened leading axes."""
    flat = torch.zeros(index.shape[:-1], dtype=torch.int64, device=index.device)
    for i in range(index.shape[-1]):
        flat = flat * sizes[i] + wrapped(index[..., i], sizes[i])
    return flat


def gather_nd(c):
    data, index, batch = c[0], c[1].long(), c.attr("batch_dims", 0)
    depth = index.shape[-1]
    rest = data.shape[batch + depth :]
    batches = math.prod(data.shape[:batch])
    flat = flat_index(index, data.shape[batch : batch + depth]).reshape(batches, -1)
    rows = data.reshape(batches, math.prod(data.shape[batch : batch + depth]), -1)
    picked = torch.gather(rows, 1, flat.unsqueeze(-1).expand(-1, -1, rows.shape[-1]))
    return picked.reshape(index.shape[:-1] + rest)


def scatter_nd(c):
    index, depth = c[1].long(), c[1].shape[-1]
    out = c[0].clone().reshape((math.prod(c[0].shape[:depth]),) + c[0].shape[depth:])
    flat = flat_index(index, c[0].shape[:depth]).reshape(-1)
    updates = c[2].reshape((flat.numel(),) + out.shape[1:])
    how = c.attr("reduction", "none")
    if how == "none":
        out[flat] = updates
    elif how == "add":
        out.index_add_(0, flat, updates)
    else:
        out.index_reduce_(0, flat, updates, {"mul": "prod", "max": "amax", "min": "amin"}[how])
    return out.reshape(c[0].shape)


def scatter_elements(c):
    axis = c.attr("axis", 0)
    index = wrapped(c[1], c[0].shape[axis])
    how = c.attr("reduction", "none")
    if how == "none":
        return c[0].scatter(axis, index, c[2])
    return c[0].scatter_reduce(axis, index, c[2], {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}[how])


def nonzero(c):
    x = c[0].reshape(1) if c[0].dim() == 0 else c[0]
    return torch.nonzero(x).t().contiguous()


def top_k(c):
    k = c.ints(1, "k")
    k, axis = k if isinstance(k, int) else k[0], c.attr("axis", -1)
    # Of equal values the first; torch.topk picks any.
    values, index = torch.sort(c[0], dim=axis, descending=bool(c.attr("largest", 1)), stable=True)
    return values.narrow(axis, 0, k).contiguous(), index.narrow(axis, 0, k).contiguous()


def dropout(c):
    if c[2] is not None and bool(c[2]) and c.scalar(1, 0.5) > 0:
        raise NotImplementedError("training_mode=1")
    return (c[0], torch.ones_like(c[0], dtype=torch.bool))


# Reductions -----------------------------------------------------------------------------------------------------------


def reduction(function):
    def run(c):
        axes = c.ints(1, "axes")
        if not axes and c.attr("noop_with_empty_axes", 0):
            return function(c[0], [], True) if c.op_type in ("ReduceSumSquare",) else c[0]
        axes = sorted({axis % c[0].dim() for axis in axes}) if axes else list(range(c[0].dim()))
        keep = bool(c.attr("keepdims", 1))
        return function(c[0], axes, keep).to(c[0].dtype) if axes else c[0]

    return run


def product(x, axes, keep):
    for axis in reversed(axes):
        x = torch.prod(x, dim=axis, keepdim=keep)
    return x


def arg(function):
    def run(c):
        axis = c.attr("axis", 0)
        if c.attr("select_last_index", 0):
            index = c[0].shape[axis] - 1 - function(c[0].flip(axis), axis, True)
        else:
            index = function(c[0], axis, True)
        return index if c.attr("keepdims", 1) else index.squeeze(axis)

    return run


def cumulative_sum(c):
    axis = int(c.scalar(1))
    x = c[0].flip(axis) if c.attr("reverse", 0) else c[0]
    total = torch.cumsum(x, axis).to(x.dtype)
    total = total - x if c.attr("exclusive", 0) else total
    return total.flip(axis) if c.attr("reverse", 0) else total


def mean(x, axes, keep):
    if is_float(x):
        return x.mean(axes, keep)
    return torch.div(x.sum(axes, keep), math.prod(x.shape[a] for a in axes), rounding_mode="trunc")


OPS = {
    # element-wise
    "Abs": unary(torch.abs), "Acos": unary(torch.acos), "Acosh": unary(torch.acosh), "Asin": unary(torch.asin),
    "Asinh": unary(torch.asinh), "Atan": unary(torch.atan), "Atanh": unary(torch.atanh), "Ceil": unary(torch.ceil),
    "Cos": unary(torch.cos), "Cosh": unary(torch.cosh), "Erf": unary(torch.erf), "Exp": unary(torch.exp),
    "Floor": unary(torch.floor), "Identity": unary(lambda x: x), "IsNaN": unary(torch.isnan), "Log": unary(torch.log),
    "Mish": unary(F.mish), "Neg": unary(torch.neg), "Not": unary(torch.logical_not),
    "Reciprocal": unary(torch.reciprocal), "Relu": unary(torch.relu), "Round": unary(torch.round),
    "Sigmoid": unary(torch.sigmoid), "Sign": unary(torch.sign), "Sin": unary(torch.sin), "Sinh": unary(torch.sinh),
    "Softplus": unary(F.softplus), "Softsign": unary(F.softsign), "Sqrt": unary(torch.sqrt), "Tan": unary(torch.tan),
    "Tanh": unary(torch.tanh), "Gelu": lambda c: F.gelu(c[0], approximate=c.attr("approximate", "none")), "Selu": selu,
    "HardSigmoid": lambda c: torch.clamp(c[0] * c.attr("alpha", 0.2) + c.attr("beta", 0.5), 0, 1), "Clip": clip,
    "PRelu": lambda c: torch.where(c[0] >= 0, c[0], c[0] * c[1]),
    "HardSwish": unary(F.hardswish), "Elu": lambda c: F.elu(c[0], c.attr("alpha", 1.0)),
    "Celu": lambda c: F.celu(c[0], c.attr("alpha", 1.0)), "LeakyRelu": lambda c: F.leaky_relu(c[0], c.attr("alpha", 0.01)),
    "Swish": lambda c: c[0] * torch.sigmoid(c.attr("alpha", 1.0) * c[0]),
    "ThresholdedRelu": lambda c: torch.where(c[0] > c.attr("alpha", 1.0), c[0], torch.zeros_like(c[0])),
    "IsInf": lambda c: (torch.isposinf(c[0]) if c.attr("detect_positive", 1) else torch.zeros_like(c[0], dtype=torch.bool))
    | (torch.isneginf(c[0]) if c.attr("detect_negative", 1) else torch.zeros_like(c[0], dtype=torch.bool)),
    "Add": binary(torch.add), "Sub": binary(torch.sub), "Mul": binary(torch.mul), "Div": binary(divide), "Pow": power,
    "Mod": lambda c: (torch.fmod if c.attr("fmod", 0) else torch.remainder)(c[0], c[1]),
    "And": binary(torch.logical_and), "Or": binary(torch.logical_or), "Xor": binary(torch.logical_xor),
    "Equal": binary(torch.eq), "Greater": binary(torch.gt), "GreaterOrEqual": binary(torch.ge), "Less": binary(torch.lt),
    "LessOrEqual": binary(torch.le), "Max": many(torch.maximum), "Min": many(torch.minimum), "Sum": many(torch.add),
    "Mean": lambda c: many(torch.add)(c) / len(c.inputs), "Where": lambda c: torch.where(c[0], c[1], c[2]),
    "BitwiseAnd": binary(torch.bitwise_and), "BitwiseOr": binary(torch.bitwise_or), "BitwiseNot": unary(torch.bitwise_not),
    "BitwiseXor": binary(torch.bitwise_xor), "Cast": lambda c: cast_to(c, c.attr("to")),
    "CastLike": cast_like, "Softmax": softmax(torch.softmax), "LogSoftmax": softmax(torch.log_softmax),
    # layout
    "Reshape": reshape, "Flatten": flatten, "Transpose": transpose, "Squeeze": squeeze, "Unsqueeze": unsqueeze,
    "Expand": expand, "Split": split, "Slice": slice_, "Pad": pad, "Shape": shape, "Range": range_,
    "Trilu": lambda c: (torch.triu if c.attr("upper", 1) else torch.tril)(c[0], c.scalar(1, 0)),
    "Concat": lambda c: torch.cat(c.inputs, dim=c.attr("axis")), "Tile": lambda c: c[0].repeat(c.ints(1)),
    "Size": lambda c: torch.tensor(c[0].numel()), "ConstantOfShape": constant_of_shape, "OneHot": one_hot,
    "DepthToSpace": depth_to_space, "SpaceToDepth": space_to_depth, "Dropout": dropout,
    # indexing
    "Gather": gather, "GatherElements": gather_elements, "GatherND": gather_nd, "ScatterND": scatter_nd,
    "ScatterElements": scatter_elements, "NonZero": nonzero, "TopK": top_k,
    # reductions
    "ReduceMean": reduction(mean), "ReduceSum": reduction(lambda x, axes, keep: x.sum(axes, keep)),
    "ReduceMax": reduction(lambda x, axes, keep: torch.amax(x, axes, keep)),
    "ReduceMin": reduction(lambda x, axes, keep: torch.amin(x, axes, keep)), "ReduceProd": reduction(product),
    "ReduceL1": reduction(lambda x, axes, keep: x.abs().sum(axes, keep)),
    "ReduceL2": reduction(lambda x, axes, keep: (x * x).sum(axes, keep).sqrt()),
    "ReduceSumSquare": reduction(lambda x, axes, keep: (x * x).sum(axes, keep) if axes else x * x),
    "ReduceLogSum": reduction(lambda x, axes, keep: x.sum(axes, keep).log()),
    "ReduceLogSumExp": reduction(lambda x, axes, keep: torch.logsumexp(x, axes, keep)),
    "ArgMax": arg(torch.argmax), "ArgMin": arg(torch.argmin), "CumSum": cumulative_sum,
}  # fmt: skip

"""Samples of single-op models of ai.onnx: attributes, ranks and shapes drawn at random from what an operator allows.

A sampler is a function of (random source, opset) that returns (op, inputs, attributes, number of outputs), or None
if the opset lacks the operator. An input is an array, Fixed(array) for a shape argument, or None if omitted.
make_goldens.py runs every sample with ONNX Runtime and drops those that it refuses.
"""
import numpy as np

F32, I64, U8 = np.float32, np.int64, np.uint8
SAMPLERS = []


class Fixed:
    """An initializer."""

    def __init__(self, value, dtype=I64):
        self.array = np.asarray(value, dtype=dtype)


class Source:
    """Random shapes and tensors from a seeded generator."""

    def __init__(self, seed):
        self.g = np.random.default_rng(seed)

    def int(self, low, high):  # both included
        return int(self.g.integers(low, high + 1))

    def chance(self, p):
        return self.g.random() < p

    def pick(self, options):
        return options[self.int(0, len(options) - 1)]

    def dims(self, low=0, high=4, size=5):
        return [self.int(1, size) for _ in range(self.int(low, high))]

    def real(self, *shape):
        return (self.g.random(shape) + 0.1).astype(F32)

    def ints(self, shape, low=0, high=4, dtype=I64):
        return self.g.integers(low, high + 1, shape).astype(dtype)

    def subset(self, rank, count=None):
        """Distinct axes, some counted from the end."""
        axes = self.g.permutation(rank)[: self.int(0, rank) if count is None else count].tolist()
        return [a - rank if self.chance(0.4) else a for a in axes]

    def broadcastable(self, count, rank=4):
        base = self.dims(0, rank)
        return [[1 if self.chance(0.3) else d for d in base[self.int(0, len(base)) if base else 0:]]
                for _ in range(count)]


def sampler(function):
    SAMPLERS.append(function)
    return function


def each(names, build):
    """One sampler for every name in `names`; build(source, opset) gives inputs, attributes and output count."""
    for name in names.split():
        def sample(r, opset, name=name):
            built = build(r, opset)
            return built and (name, *built)
        sample.__name__ = name
        SAMPLERS.append(sample)


each("Abs Acos Acosh Asin Asinh Atan Atanh Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish Identity "
     "IsInf IsNaN LeakyRelu Log Mish Neg Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Size Softplus Softsign "
     "Sqrt Swish Tan Tanh ThresholdedRelu", lambda r, o: ([r.real(*r.dims())], {}, 1))
each("Add Div Equal Greater GreaterOrEqual Less LessOrEqual Mul Pow Sub",
     lambda r, o: ([r.real(*s) for s in r.broadcastable(2)], {}, 1))
each("And Or Xor", lambda r, o: ([r.ints(s, 0, 1, np.bool_) for s in r.broadcastable(2)], {}, 1))
each("Not", lambda r, o: ([r.ints(r.dims(), 0, 1, np.bool_)], {}, 1))
each("BitwiseAnd BitwiseOr BitwiseXor", lambda r, o: ([r.ints(s, dtype=np.int32) for s in r.broadcastable(2)], {}, 1))
each("BitwiseNot", lambda r, o: ([r.ints(r.dims(), dtype=np.int32)], {}, 1))
each("BitShift", lambda r, o: ([r.ints(s, dtype=U8) for s in r.broadcastable(2)],
                               {"direction": r.pick(["LEFT", "RIGHT"])}, 1))
each("Mod", lambda r, o: ([r.ints(s, 1, 9) for s in r.broadcastable(2)], {}, 1))
each("Max Mean Min Sum", lambda r, o: ([r.real(*s) for s in r.broadcastable(r.int(1, 4))] if o >= 8
                                       else [r.real(2, 3)] * r.int(1, 3), {}, 1))
each("Where", lambda r, o: ([r.ints(s, 0, 1, np.bool_) if i == 0 else r.real(*s)
                             for i, s in enumerate(r.broadcastable(3))], {}, 1))
each("Cast", lambda r, o: ([r.real(*r.dims())], {"to": r.pick([1, 2, 3, 6, 7, 9, 10, 11])}, 1))
each("CastLike", lambda r, o: ([r.real(*r.dims()), r.ints([1])], {}, 1))
each("Det", lambda r, o: ([r.real(*r.dims(0, 2), *([r.int(1, 4)] * 2))], {}, 1))
each("Dropout", lambda r, o: ([r.real(*r.dims())], {}, r.int(1, 2)))
each("NonZero", lambda r, o: ([r.ints(r.dims(0, 3), 0, 1)], {}, 1))
each("GlobalAveragePool GlobalLpPool GlobalMaxPool", lambda r, o: ([r.real(2, 3, *r.dims(1, 3))], {}, 1))
each("InstanceNormalization", lambda r, o: ([r.real(2, 3, *r.dims(1, 3)), r.real(3), r.real(3)], {}, 1))
each("LRN", lambda r, o: ([r.real(1, 6, *r.dims(2, 2))], {"size": r.pick([1, 3, 5])}, 1))
each("MeanVarianceNormalization", lambda r, o: ([r.real(2, 3, 4, 5)], {"axes": r.subset(4, r.int(1, 3))}, 1))
each("BlackmanWindow HammingWindow HannWindow", lambda r, o: ([Fixed(r.int(1, 20))], {"periodic": r.int(0, 1)}, 1))
each("MelWeightMatrix", lambda r, o: ([Fixed(r.int(1, 8)), Fixed(r.pick([15, 16, 32])), Fixed(8000), Fixed(0.0, F32),
                                       Fixed(4000.0, F32)], {}, 1))
each("RandomNormal RandomUniform", lambda r, o: ([], {"shape": r.dims(1), "dtype": r.pick([1, 10, 11])}, 1))
each("Bernoulli EyeLike RandomNormalLike RandomUniformLike",
     lambda r, o: ([r.real(*r.dims(2, 2))], r.pick([{}, {"dtype": 11}]), 1))
each("Multinomial", lambda r, o: ([r.real(*r.dims(2, 2))], {"sample_size": r.int(1, 5), "dtype": r.pick([6, 7])}, 1))
each("DynamicQuantizeLinear", lambda r, o: ([r.real(*r.dims())], {}, 3))
each("SequenceConstruct", lambda r, o: ([r.real(2, 3)] * r.int(1, 3), {}, 1))
each("Optional", lambda r, o: ([r.real(*r.dims())], {}, 1))


@sampler
def clip(r, opset):
    x = r.real(*r.dims())
    if opset < 11:
        return "Clip", [x], {"min": 0.0, "max": 1.0}, 1
    return "Clip", [x, r.pick([None, np.array(0, F32)]), np.array(1, F32)], {}, 1


@sampler
def prelu(r, opset):
    shape = r.dims(1)
    return "PRelu", [r.real(*shape), r.real(*[r.pick([1, d]) for d in shape[r.int(0, len(shape) - 1):]])], {}, 1


def reduction(r, opset, name):
    shape = r.dims()
    axes, attributes = r.subset(len(shape)), {"keepdims": r.int(0, 1)}
    if opset >= 18 or (name == "ReduceSum" and opset >= 13):
        return [r.real(*shape), Fixed(axes)], {**attributes, "noop_with_empty_axes": r.int(0, 1)}, 1
    return [r.real(*shape)], {**attributes, "axes": [a % len(shape) for a in axes]} if axes else attributes, 1


for reduce_op in ("L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare").split():
    each("Reduce" + reduce_op, lambda r, o, op="Reduce" + reduce_op: reduction(r, o, op))


def arg_extreme(r, opset):
    shape = r.dims(1)
    return [r.real(*shape)], {"axis": r.int(0, len(shape) - 1), "keepdims": r.int(0, 1)}, 1


def along_axis(r, opset):
    shape = r.dims(1)
    return [r.real(*shape)], {"axis": r.int(-len(shape) if opset >= 11 else 0, len(shape) - 1)}, 1


each("ArgMax ArgMin", arg_extreme)
each("Hardmax LogSoftmax LpNormalization Softmax", along_axis)
each("Flatten", along_axis)


@sampler
def cumsum(r, opset):
    shape = r.dims(1)
    return "CumSum", [r.real(*shape), Fixed(r.int(-len(shape), len(shape) - 1))], {"exclusive": r.int(0, 1)}, 1


def factors(r):
    m, k, n = r.int(1, 5), r.int(1, 5), r.int(1, 5)
    batch = r.broadcastable(2, 2)
    a, b = batch[0] + [m, k], batch[1] + [k, n]
    return ([k] if r.chance(0.15) else a), ([k] if r.chance(0.15) else b)


each("MatMul", lambda r, o: ([r.real(*s) for s in factors(r)], {}, 1))
each("MatMulInteger", lambda r, o: ([r.ints(s, dtype=U8) for s in factors(r)], {}, 1))


@sampler
def qlinear_matmul(r, opset):
    a, b = factors(r)
    scale, zero = np.array(0.5, F32), np.array(3, U8)
    return "QLinearMatMul", [r.ints(a, dtype=U8), scale, zero, r.ints(b, dtype=U8), scale, zero, scale, zero], {}, 1


@sampler
def gemm(r, opset):
    m, k, n = r.int(1, 5), r.int(1, 5), r.int(1, 5)
    ta, tb = r.int(0, 1), r.int(0, 1)
    inputs = [r.real(*([k, m] if ta else [m, k])), r.real(*([n, k] if tb else [k, n]))]
    if opset < 11 or r.chance(0.7):
        inputs.append(r.real(*r.pick([[], [1], [n], [1, n], [m, 1], [m, n]])))
    return "Gemm", inputs, {"transA": ta, "transB": tb}, 1


@sampler
def einsum(r, opset):
    sizes = {letter: r.int(1, 5) for letter in "abcde"}
    terms = ["".join(r.g.permutation(list("abcde"))[: r.int(1, 3)]) for _ in range(r.int(1, 3))]
    letters = sorted(set("".join(terms)))
    result = "".join(r.g.permutation(letters)[: r.int(0, len(letters))])
    equation = ",".join(terms) + (f"->{result}" if r.chance(0.7) else "")
    return "Einsum", [r.real(*[sizes[x] for x in t]) for t in terms], {"equation": equation}, 1


@sampler
def transpose(r, opset):
    shape = r.dims(1)
    return "Transpose", [r.real(*shape)], r.pick([{}, {"perm": r.g.permutation(len(shape)).tolist()}]), 1


@sampler
def depth_to_space(r, opset):
    b = r.int(1, 3)
    return "DepthToSpace", [r.real(2, b * b * r.int(1, 3), *r.dims(2, 2))], {"blocksize": b}, 1


@sampler
def space_to_depth(r, opset):
    b = r.int(1, 3)
    return "SpaceToDepth", [r.real(2, 3, b * r.int(1, 3), b * r.int(1, 3))], {"blocksize": b}, 1


@sampler
def expand(r, opset):
    a, b = r.broadcastable(2)
    return "Expand", [r.real(*a), Fixed(b)], {}, 1


@sampler
def tile(r, opset):
    shape = r.dims(1)
    return "Tile", [r.real(*shape), Fixed([r.int(0, 3) for _ in shape])], {}, 1


@sampler
def concat(r, opset):
    shape = r.dims(1)
    axis = r.int(0, len(shape) - 1)
    parts = [shape[:axis] + [r.int(0, 4)] + shape[axis + 1:] for _ in range(r.int(1, 4))]
    return "Concat", [r.real(*p) for p in parts], {"axis": axis - len(shape) if opset >= 11 else axis}, 1


@sampler
def split(r, opset):
    shape, parts = r.dims(1), [r.int(0, 3) for _ in range(r.int(1, 4))]
    axis = r.int(0, len(shape) - 1)
    if r.chance(0.5):
        shape[axis] = sum(parts)
        if opset >= 13:
            return "Split", [r.real(*shape), Fixed(parts)], {"axis": axis}, len(parts)
        return "Split", [r.real(*shape)], {"axis": axis, "split": parts}, len(parts)
    shape[axis] = len(parts) * r.int(1, 3) + (r.int(0, 1) if opset >= 18 else 0)
    return "Split", [r.real(*shape)], {"axis": axis, **({"num_outputs": len(parts)} if opset >= 18 else {})}, len(parts)


@sampler
def slice_(r, opset):
    shape = r.dims(1, size=7)
    axes = r.subset(len(shape), r.int(1, len(shape)))
    bound = lambda: r.pick([r.int(-9, 9), r.int(-9, 9), r.int(-9, 9), 2**31 - 1, 2**63 - 1, -2**63 + 1])
    starts, ends = [bound() for _ in axes], [bound() for _ in axes]
    if opset < 10:
        return "Slice", [r.real(*shape)], {"starts": starts, "ends": ends, "axes": [a % len(shape) for a in axes]}, 1
    steps = [r.pick([1, 1, 2, 3, -1, -2, -3]) for _ in axes]
    return "Slice", [r.real(*shape), Fixed(starts), Fixed(ends), Fixed(axes), Fixed(steps)], {}, 1


@sampler
def pad(r, opset):
    shape, mode = [d + 1 for d in r.dims(1)], r.pick(["constant", "edge", "reflect"])
    low = -1 if mode == "constant" else 0
    pads = [r.int(low, 1) for _ in range(2 * len(shape))]
    if opset < 11:
        return "Pad", [r.real(*shape)], {"pads": pads, "mode": mode}, 1
    if opset >= 18 and r.chance(0.5):
        axes = r.subset(len(shape), r.int(1, len(shape)))
        return "Pad", [r.real(*shape), Fixed(pads[: 2 * len(axes)]), None, Fixed(axes)], {"mode": mode}, 1
    return "Pad", [r.real(*shape), Fixed(pads)], {"mode": mode}, 1


@sampler
def reshape(r, opset):
    shape, target = r.dims(1), [1] * r.int(1, 4)
    for d in shape:
        target[r.int(0, len(target) - 1)] *= d
    if r.chance(0.5):
        target[r.int(0, len(target) - 1)] = -1
    target = [0 if i < len(shape) and t == shape[i] and r.chance(0.5) else t for i, t in enumerate(target)]
    return "Reshape", [r.real(*shape), Fixed(target)], {}, 1


@sampler
def squeeze(r, opset):
    shape = [d for pair in ((1, s) if r.chance(0.5) else (s,) for s in r.dims(1)) for d in pair]
    axes = [i for i, d in enumerate(shape) if d == 1 and r.chance(0.7)]
    if not axes:
        return "Squeeze", [r.real(*shape)], {}, 1
    return ("Squeeze", [r.real(*shape), Fixed(axes)], {}, 1) if opset >= 13 else ("Squeeze", [r.real(*shape)], {"axes": axes}, 1)


@sampler
def unsqueeze(r, opset):
    shape, count = r.dims(0, 3), r.int(1, 2)
    axes = r.subset(len(shape) + count, count)
    if opset >= 13:
        return "Unsqueeze", [r.real(*shape), Fixed(axes)], {}, 1
    return "Unsqueeze", [r.real(*shape)], {"axes": sorted(a % (len(shape) + count) for a in axes)}, 1


@sampler
def shape_of(r, opset):
    return "Shape", [r.real(*r.dims())], {"start": r.int(-5, 5), "end": r.int(-5, 5)} if opset >= 15 else {}, 1


@sampler
def gather(r, opset):
    shape = r.dims(1)
    axis = r.int(0, len(shape) - 1)
    return "Gather", [r.real(*shape), r.ints(r.dims(0, 3), 0, shape[axis] - 1)], {"axis": axis}, 1


@sampler
def gather_elements(r, opset):
    shape = r.dims(1)
    axis = r.int(0, len(shape) - 1)
    picked = [r.int(1, 6) if i == axis else r.int(1, d) for i, d in enumerate(shape)]
    return "GatherElements", [r.real(*shape), r.ints(picked, 0, shape[axis] - 1)], {"axis": axis}, 1


@sampler
def gather_nd(r, opset):
    shape = r.dims(1)
    batch = r.int(0, len(shape) - 1) if opset >= 12 else 0
    index = shape[:batch] + r.dims(1, 2) + [r.int(1, len(shape) - batch)]
    return "GatherND", [r.real(*shape), r.ints(index, 0, 0)], {"batch_dims": batch} if batch else {}, 1


@sampler
def scatter_elements(r, opset):
    shape = r.dims(1)
    index = [r.int(1, d) for d in shape]
    return ("ScatterElements" if opset >= 11 else "Scatter"), [r.real(*shape), r.ints(index, 0, 0), r.real(*index)], {}, 1


@sampler
def scatter_nd(r, opset):
    shape, many = r.dims(1), r.dims(0, 2)
    depth = r.int(1, len(shape))
    return "ScatterND", [r.real(*shape), r.ints(many + [depth], 0, 0), r.real(*many, *shape[depth:])], {}, 1


@sampler
def one_hot(r, opset):
    shape = r.dims(1, 3)
    return "OneHot", [r.ints(shape), Fixed(r.pick([[4], 4])), r.real(2)], {"axis": r.int(-len(shape) - 1, len(shape))}, 1


@sampler
def top_k(r, opset):
    shape = r.dims(1)
    axis = r.int(0, len(shape) - 1)
    if opset < 10:
        return "TopK", [r.real(*shape)], {"axis": axis, "k": r.int(1, shape[axis])}, 2
    return "TopK", [r.real(*shape), Fixed([r.int(0, shape[axis])])], {"axis": axis}, 2


@sampler
def unique(r, opset):
    shape = r.dims(1, 3)
    return "Unique", [r.ints(shape)], r.pick([{}, {"axis": r.int(0, len(shape) - 1)}]), 4


@sampler
def range_(r, opset):
    if r.chance(0.5):
        return "Range", [Fixed(r.int(-5, 5)), Fixed(r.int(-5, 9)), Fixed(r.pick([1, 2, -1, -3]))], {}, 1
    return "Range", [Fixed(v, F32) for v in (r.int(-3, 3), r.int(-3, 6) + 0.5, r.pick([0.3, 1, -0.7]))], {}, 1


@sampler
def constant_of_shape(r, opset):
    return "ConstantOfShape", [Fixed(r.dims())], {}, 1


@sampler
def trilu(r, opset):
    return "Trilu", [r.real(*r.dims(2)), Fixed(r.int(-2, 2))], {"upper": r.int(0, 1)}, 1


@sampler
def reverse_sequence(r, opset):
    shape = r.dims(2)
    return "ReverseSequence", [r.real(*shape), np.ones(shape[1], I64)], {"batch_axis": 1, "time_axis": 0}, 1


@sampler
def compress(r, opset):
    shape = r.dims(1, 3)
    axis = r.int(0, len(shape) - 1)
    return "Compress", [r.real(*shape), Fixed(r.g.random(r.int(1, shape[axis])) > 0.4, np.bool_)], {"axis": axis}, 1


@sampler
def split_to_sequence(r, opset):
    shape = r.dims(1)
    return "SplitToSequence", [r.real(*shape)], {"axis": r.int(0, len(shape) - 1), "keepdims": r.int(0, 1)}, 1

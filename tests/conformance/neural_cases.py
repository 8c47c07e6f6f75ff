"""Samples of single-op models of ai.onnx: convolutions, pooling, normalization, recurrence, attention, resampling,
signals, losses and quantization. See onnx_cases.py."""
import numpy as np

from onnx_cases import F32, I64, U8, Fixed, each, sampler


def window(r):
    """(spatial rank, groups, input channels, output channels, spatial sizes, kernel, attributes)"""
    rank, group = r.pick([1, 2, 2, 3]), r.pick([1, 1, 2, 3])
    channels, filters = group * r.int(1, 3), group * r.int(1, 3)
    kernel = [r.int(1, 3) for _ in range(rank)]
    attributes = {"group": group}
    if r.chance(0.6):
        attributes["strides"] = [r.int(1, 3) for _ in range(rank)]
    if r.chance(0.5):
        attributes["kernel_shape"] = kernel
    style = r.pick(["pads", "pads", "auto", "none"])
    if style == "auto":
        attributes["auto_pad"] = r.pick(["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"])
    else:
        if style == "pads":
            attributes["pads"] = [r.int(0, 2) for _ in range(2 * rank)]
        if r.chance(0.4):
            attributes["dilations"] = [r.int(1, 2) for _ in range(rank)]
    return rank, group, channels, filters, [r.int(5, 11) for _ in range(rank)], kernel, attributes


@sampler
def conv(r, opset):
    _, group, channels, filters, sizes, kernel, attributes = window(r)
    inputs = [r.real(r.int(1, 2), channels, *sizes), r.real(filters, channels // group, *kernel)]
    return "Conv", inputs + ([r.real(filters)] if r.chance(0.5) else []), attributes, 1


@sampler
def conv_integer(r, opset):
    rank, group, channels, filters, sizes, kernel, attributes = window(r)
    data = [r.ints([1, channels, *sizes], dtype=U8), r.ints([filters, channels // group, *kernel], dtype=U8)]
    return "ConvInteger", data + ([np.array(1, U8)] if r.chance(0.5) else []), attributes, 1


@sampler
def qlinear_conv(r, opset):
    _, group, channels, filters, sizes, kernel, attributes = window(r)
    scale, zero = np.array(0.1, F32), np.array(1, U8)
    inputs = [r.ints([1, channels, *sizes], dtype=U8), scale, zero,
              r.ints([filters, channels // group, *kernel], dtype=U8), scale, zero, scale, zero]
    return "QLinearConv", inputs + ([r.ints([filters], dtype=np.int32)] if r.chance(0.5) else []), attributes, 1


@sampler
def conv_transpose(r, opset):
    rank, group, channels, filters, sizes, kernel, attributes = window(r)
    strides = attributes.get("strides", [1] * rank)
    if r.chance(0.3):
        attributes["output_padding"] = [r.int(0, 1) for _ in range(rank)]
    if r.chance(0.2):
        attributes["output_shape"] = [s * n + r.int(0, 1) for s, n in zip(strides, sizes)]
        attributes.pop("pads", None)
    return "ConvTranspose", [r.real(1, channels, *sizes), r.real(channels, filters // group, *kernel)], attributes, 1


@sampler
def deform_conv(r, opset):
    size, kernel, channels = r.int(4, 8), r.int(1, 3), r.int(1, 3)
    out = size + 2 - kernel + 1
    inputs = [r.real(1, channels, size, size), r.real(2, channels, kernel, kernel),
              r.real(1, 2 * kernel * kernel, out, out)]
    return "DeformConv", inputs, {"pads": [1] * 4, "kernel_shape": [kernel] * 2}, 1


def pool(r, opset, dilates_from, ceil_from):
    rank = r.pick([1, 2, 2, 3])
    attributes = {"kernel_shape": [r.int(1, 4) for _ in range(rank)]}
    if r.chance(0.7):
        attributes["strides"] = [r.int(1, 4) for _ in range(rank)]
    if opset >= ceil_from and r.chance(0.5):
        attributes["ceil_mode"] = 1
    if r.chance(0.3):
        attributes["auto_pad"] = r.pick(["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"])
    else:
        attributes["pads"] = [r.int(0, k - 1) for k in attributes["kernel_shape"] * 2]
        if opset >= dilates_from and r.chance(0.3):
            attributes["dilations"] = [r.int(1, 2) for _ in range(rank)]
    return [r.real(1, 2, *[r.int(7, 12) for _ in range(rank)])], attributes


each("AveragePool", lambda r, o: (*pool(r, o, 19, 10), 1))
each("LpPool", lambda r, o: (*pool(r, o, 18, 18), 1))
each("MaxPool", lambda r, o: (*pool(r, o, 10, 10), r.int(1, 2) if o >= 8 else 1))
each("MaxRoiPool", lambda r, o: ([r.real(1, 3, 8, 8), np.array([[0, 0, 0, 4, 4]] * r.int(1, 4), F32)],
                                 {"pooled_shape": [r.int(1, 4), r.int(1, 4)]}, 1))


@sampler
def max_unpool(r, opset):
    h, w, stride = r.int(1, 4), r.int(1, 4), r.int(1, 2)
    inputs = [r.real(1, 1, h, w), np.zeros((1, 1, h, w), I64)]
    if r.chance(0.4):
        inputs.append(Fixed([1, 1, 2 * h + 2, 2 * w + 2]))
    return "MaxUnpool", inputs, {"kernel_shape": [2, 2], "strides": [stride, 2]}, 1


@sampler
def roi_align(r, opset):
    rois = r.int(1, 4)
    return ("RoiAlign", [r.real(2, 3, 8, 8), np.array([[0, 0, 4, 4]] * rois, F32), np.zeros(rois, I64)],
            {"output_height": r.int(1, 4), "output_width": r.int(1, 4), "mode": r.pick(["avg", "max"]),
             "sampling_ratio": r.int(1, 3)}, 1)


@sampler
def batch_normalization(r, opset):
    channels = r.int(1, 4)
    trains = opset >= 14 and r.chance(0.4)
    inputs = [r.real(r.int(1, 3), channels, *r.dims(0, 3))] + [r.real(channels) for _ in range(4)]
    return "BatchNormalization", inputs, {"training_mode": 1} if trains else {}, 3 if trains else 1


def layer_normalization(r, opset, scales, outputs):
    shape = r.dims(1)
    axis = r.int(-len(shape), len(shape) - 1)
    return [r.real(*shape)] + [r.real(*shape[axis % len(shape):])] * scales, {"axis": axis}, outputs


each("LayerNormalization", lambda r, o: layer_normalization(r, o, r.int(1, 2), r.pick([1, 3])))
each("RMSNormalization", lambda r, o: layer_normalization(r, o, 1, 1))


@sampler
def group_normalization(r, opset):
    groups = r.int(1, 3)
    channels = groups * r.int(1, 3)
    scales = channels if opset >= 21 else groups
    return ("GroupNormalization", [r.real(2, channels, *r.dims(1, 3)), r.real(scales), r.real(scales)],
            {"num_groups": groups}, 1)


@sampler
def resize(r, opset):
    rank, count = r.pick([2, 3, 4, 4, 5]), r.int(1, 2)
    shape = [r.int(1, 9) for _ in range(rank)]
    factor = lambda: r.pick([0.5, 0.3, 1.0, 1.5, 2.0, 2.5, 0.75, 1 / 3, 0.6, 3.0, 7 / 3, 0.7])
    scales = [1.0] * (rank - count) + [factor() for _ in range(count)]
    attributes = {"mode": r.pick(["nearest", "linear"])}
    if opset == 10:
        return "Resize", [r.real(*shape), Fixed(scales, F32)], attributes, 1
    attributes["coordinate_transformation_mode"] = r.pick(["half_pixel", "asymmetric", "align_corners"])
    empty = None if opset >= 13 else Fixed(np.zeros(0), F32)
    axes = list(range(rank - count, rank)) if opset >= 18 and r.chance(0.5) else None
    if axes:
        attributes["axes"] = axes
    if r.chance(0.5):
        return "Resize", [r.real(*shape), empty, Fixed(scales[-count:] if axes else scales, F32)], attributes, 1
    target = shape[: rank - count] + [r.int(1, 12) for _ in range(count)]
    if axes:
        target = target[-count:]
        attributes["keep_aspect_ratio_policy"] = r.pick(["stretch", "not_larger", "not_smaller"])
    return "Resize", [r.real(*shape), empty, empty, Fixed(target)], attributes, 1


@sampler
def upsample(r, opset):
    x, scales = r.real(1, 2, r.int(1, 7), r.int(1, 7)), [1.0, 1.0, r.pick([1.0, 1.5, 2.0, 7 / 3]), r.pick([1.0, 2.0])]
    mode = r.pick(["nearest", "linear"])
    if opset > 9:
        return None
    return ("Upsample", [x, Fixed(scales, F32)], {"mode": mode}, 1) if opset == 9 else ("Upsample", [x], {"mode": mode, "scales": scales}, 1)


@sampler
def grid_sample(r, opset):
    if opset >= 20 and r.chance(0.3):
        return "GridSample", [r.real(2, 3, 4, 5, 6), r.real(2, 2, 3, 4, 3)], {}, 1
    return "GridSample", [r.real(2, 3, 4, 5), r.real(2, *r.dims(2, 2), 2)], {"align_corners": r.int(0, 1)}, 1


@sampler
def affine_grid(r, opset):
    if r.chance(0.5):
        return "AffineGrid", [r.real(2, 2, 3), Fixed([2, 3, r.int(1, 5), r.int(1, 5)])], {}, 1
    return "AffineGrid", [r.real(2, 3, 4), Fixed([2, 3, r.int(1, 5), r.int(1, 5), 4])], {}, 1


@sampler
def center_crop_pad(r, opset):
    shape = [r.int(1, 8) for _ in range(3)]
    axes = r.subset(3, r.int(1, 3))
    return "CenterCropPad", [r.real(*shape), Fixed([r.int(1, 9) for _ in axes])], {"axes": axes}, 1


@sampler
def col2im(r, opset):
    kernel, image, channels = [r.int(1, 3), r.int(1, 3)], [r.int(3, 6), r.int(3, 6)], r.int(1, 3)
    blocks = (image[0] - kernel[0] + 1) * (image[1] - kernel[1] + 1)
    return "Col2Im", [r.real(2, channels * kernel[0] * kernel[1], blocks), Fixed(image), Fixed(kernel)], {}, 1


@sampler
def non_max_suppression(r, opset):
    return "NonMaxSuppression", [r.real(1, 6, 4), r.real(1, 2, 6), Fixed([r.pick([0, 3, 10])])], {}, 1


@sampler
def quantize(r, opset):
    shape, axis = r.dims(3, 3), r.int(-3, 2)
    scales = [shape[axis]] if opset >= 13 and r.chance(0.5) else []
    attributes = {"axis": axis} if scales else {}
    return "QuantizeLinear", [r.real(*shape), r.real(*scales), np.zeros(scales, r.pick([U8, np.int8]))], attributes, 1


@sampler
def dequantize(r, opset):
    shape, axis = r.dims(3, 3), r.int(-3, 2)
    scales = [shape[axis]] if opset >= 13 and r.chance(0.5) else []
    dtype = r.pick([U8, np.int8, np.int32])
    return "DequantizeLinear", [r.ints(shape, dtype=dtype), r.real(*scales)], {"axis": axis} if scales else {}, 1


def recurrent(r, gates, states, outputs):
    direction = r.pick(["forward", "reverse", "bidirectional"])
    ways = 2 if direction == "bidirectional" else 1
    steps, batch, width, hidden = (r.int(1, 4) for _ in range(4))
    inputs = [r.real(steps, batch, width), r.real(ways, gates * hidden, width), r.real(ways, gates * hidden, hidden)]
    optional = [r.real(ways, 2 * gates * hidden), r.ints([batch], 1, steps, np.int32)]
    optional += [r.real(ways, batch, hidden) for _ in range(states)]
    inputs += [x if r.chance(0.5) else None for x in optional]
    return inputs, {"hidden_size": hidden, "direction": direction}, outputs


each("LSTM", lambda r, o: recurrent(r, 4, 2, 3))
each("GRU", lambda r, o: recurrent(r, 3, 1, 2))
each("RNN", lambda r, o: recurrent(r, 1, 1, 2))


@sampler
def attention(r, opset):
    batch, heads, queries, keys, width, value_width = (r.int(1, 4) for _ in range(6))
    width, query_heads = 2 * width, heads * r.int(1, 3)
    past = r.int(1, 3) if r.chance(0.5) else 0
    attributes = {"is_causal": r.int(0, 1)}
    if r.chance(0.5):
        attributes.update(q_num_heads=query_heads, kv_num_heads=heads)
        inputs = [r.real(batch, queries, query_heads * width), r.real(batch, keys, heads * width),
                  r.real(batch, keys, heads * value_width)]
    else:
        inputs = [r.real(batch, query_heads, queries, width), r.real(batch, heads, keys, width),
                  r.real(batch, heads, keys, value_width)]
    inputs.append(r.real(queries, keys + past) if r.chance(0.4) else None)
    if past:
        inputs += [r.real(batch, heads, past, width), r.real(batch, heads, past, value_width)]
    return "Attention", inputs, attributes, r.pick([3, 4]) if past else 1


@sampler
def rotary_embedding(r, opset):
    batch, heads, length, half = r.int(1, 3), r.int(1, 3), r.int(1, 4), r.int(1, 4)
    if r.chance(0.5):
        return "RotaryEmbedding", [r.real(batch, heads, length, 2 * half)] + [r.real(batch, length, half)] * 2, {}, 1
    return ("RotaryEmbedding", [r.real(batch, length, 2 * half * heads), r.real(9, half), r.real(9, half),
                                np.zeros((batch, length), I64)], {"num_heads": heads}, 1)


each("TensorScatter", lambda r, o: ([r.real(2, 3, 8, 4), r.real(2, 3, r.int(1, 8), 4), np.zeros(2, I64)], {}, 1))


@sampler
def dft(r, opset):
    complex_input = r.int(1, 2)
    inputs = [r.real(r.int(1, 3), r.int(2, 9), r.int(2, 9), complex_input), Fixed(r.int(2, 12)) if r.chance(0.4) else None]
    attributes = {"onesided": 1} if complex_input == 1 and r.chance(0.4) else {}
    if opset >= 20:
        inputs.append(Fixed(r.pick([1, 2, -2, -3])))
    else:
        attributes["axis"] = r.pick([1, 2])
    return "DFT", inputs, attributes, 1


@sampler
def stft(r, opset):
    frame = r.int(2, 16)
    inputs = [r.real(r.int(1, 2), frame + r.int(0, 40), 1), Fixed(r.int(1, 8)), None, Fixed(frame)]
    return "STFT", inputs, {"onesided": r.int(0, 1)}, 1


def loss(r, outputs):
    batch, classes, sizes = r.int(1, 3), r.int(2, 4), r.dims(0, 3, 3)
    inputs = [r.real(batch, classes, *sizes), np.zeros([batch, *sizes], I64)] + ([r.real(classes)] if r.chance(0.5) else [])
    return inputs, {"reduction": r.pick(["none", "sum", "mean"])}, outputs


each("NegativeLogLikelihoodLoss", lambda r, o: loss(r, 1))
each("SoftmaxCrossEntropyLoss", lambda r, o: loss(r, r.int(1, 2)))

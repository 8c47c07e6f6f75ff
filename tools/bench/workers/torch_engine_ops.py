"""Operators of quantised graphs, and of com.microsoft as ONNX Runtime's tools write them for BERT and language models.

Quantised products are computed in floating point on the dequantised values: the same numbers up to rounding, on any
device, but not the kernels of an integer engine.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from torch_nn_ops import OPS as NN_OPS
from torch_nn_ops import conv
from torch_ops import TYPES, is_float

LSTM = NN_OPS["LSTM"]
LIMITS = {torch.int8: (-128, 127), torch.uint8: (0, 255), torch.int16: (-32768, 32767), torch.uint16: (0, 65535)}


def along(parameter, x, axis, block=0):
    """A scale or zero point in the shape of x: one value, one an index of the axis, or one a block of it."""
    if parameter is None or parameter.numel() == 1 and parameter.dim() <= 1:
        return parameter.reshape(()) if parameter is not None else None
    if block:
        return parameter.repeat_interleave(block, axis).narrow(axis, 0, x.shape[axis])
    shape = [1] * x.dim()
    shape[axis] = -1
    return parameter.reshape(shape)


def quantised(x, scale, zero, dtype):
    if dtype.is_floating_point:  # float8: saturates, no zero point
        limit = torch.finfo(dtype).max
        return (x.float() / scale.float()).clamp(-limit, limit).to(dtype)
    low, high = LIMITS[dtype]
    offset = zero.float() if zero is not None else 0
    return (torch.round(x.float() / scale.float()) + offset).clamp(low, high).to(dtype)


def quantize_linear(c):
    axis, block = c.attr("axis", 1), c.attr("block_size", 0)
    dtype = c[2].dtype if c[2] is not None else TYPES[c.attr("output_dtype") or 2]
    if c.attr("output_dtype") in (21, 22) or getattr(c[2], "is_narrow", False):
        raise NotImplementedError("types of four bits and less")
    return quantised(c[0], along(c[1], c[0], axis, block), along(c[2], c[0], axis, block), dtype)


def dequantised(x, scale, zero):
    return (x.float() - (zero.float() if zero is not None else 0)) * scale.float()


def dequantize_linear(c):
    axis, block = c.attr("axis", 1), c.attr("block_size", 0)
    result = dequantised(c[0], along(c[1], c[0], axis, block), along(c[2], c[0], axis, block))
    return result.to(c[1].dtype if is_float(c[1]) else c.float_type)


def dynamic_quantize_linear(c):
    low, high = c[0].min().clamp(max=0), c[0].max().clamp(min=0)
    scale = (high - low) / 255
    scale = torch.where(scale == 0, torch.ones_like(scale), scale)
    zero = torch.round(-low / scale).clamp(0, 255).to(torch.uint8)
    return quantised(c[0], scale, zero, torch.uint8), scale, zero


def matmul_integer(c):
    # Exact in float64: products of 16 bits, sums of up to 2^37 of them.
    zero = 0 if c[2] is None else c[2].double().reshape(-1, 1) if c[2].numel() > 1 else c[2].double()
    a = c[0].double() - zero
    b = c[1].double() - (c[3].double() if c[3] is not None else 0)
    return torch.matmul(a, b).to(torch.int32)


def qlinear_conv(c):
    x = dequantised(c[0], c[1], c[2])
    w = dequantised(c[3], along(c[4], c[3], 0), along(c[5], c[3], 0))
    bias = c[8].float() * (c[1] * c[4]).float() if c[8] is not None else None
    y = conv(c.but([x, w, bias]))
    return quantised(y, c[6], c[7], c[7].dtype)


def qlinear_matmul(c):
    y = torch.matmul(dequantised(c[0], c[1], c[2]), dequantised(c[3], c[4], c[5]))
    return quantised(y, c[6], c[7], c[7].dtype)


def qlinear_binary(function):
    def run(c):
        y = function(dequantised(c[0], c[1], c[2]), dequantised(c[3], c[4], c[5]))
        return quantised(y, c[6], c[7], c[0].dtype)

    return run


def qlinear_global_average_pool(c):
    x = dequantised(c[0], c[1], c[2])
    axes = list(range(1, x.dim() - 1)) if c.attr("channels_last", 0) else list(range(2, x.dim()))
    return quantised(x.mean(axes, True), c[3], c[4], c[0].dtype)


def qgemm(c):
    a, b = dequantised(c[0], c[1], c[2]), c[3]
    axis = 0 if c.attr("transB", 0) else 1
    b = dequantised(b, along(c[4], b, axis), along(c[5], b, axis))
    a, b = (a.t() if c.attr("transA", 0) else a), (b.t() if c.attr("transB", 0) else b)
    y = c.attr("alpha", 1.0) * torch.matmul(a, b)
    if c[6] is not None:
        y = y + c[6].float() * c.attr("alpha", 1.0) * (c[1] * c[4]).float()
    return quantised(y, c[7], c[8], c[8].dtype) if c[7] is not None else y


# com.microsoft --------------------------------------------------------------------------------------------------------


def fast_gelu(c):
    return F.gelu(c[0] + c[1] if c[1] is not None else c[0], approximate="tanh")


def skip_layer_norm(c):
    x = c[0] + c[1]
    x = x + c[4] if c[4] is not None else x
    y = F.layer_norm(x, [x.shape[-1]], c[2], c[3], c.attr("epsilon", 1e-12))
    return (y, None, None, x)


def skip_simplified_layer_norm(c):
    x = c[0] + c[1]
    x = x + c[3] if c[3] is not None else x
    return (F.rms_norm(x, [x.shape[-1]], c[2], c.attr("epsilon", 1e-5)), None, None, x)


def embed_layer_norm(c):
    ids, segments, mask = c[0].long(), c[1], c[7]
    positions = c[8].long() if c[8] is not None else torch.arange(ids.shape[1], device=ids.device)
    x = c[2][ids] + c[3][positions]
    x = x + c[4][segments.long()] if segments is not None else x
    y = F.layer_norm(x, [x.shape[-1]], c[5], c[6], c.attr("epsilon", 1e-12))
    length = mask.sum(1) if mask is not None else ids.new_zeros(ids.shape[0])
    return (y, length.to(torch.int32), x)


def fused_attention(c):
    """com.microsoft.Attention: projection of query, key and value in one product, then attention."""
    if c[4] is not None:
        raise NotImplementedError("past keys and values")
    x, heads = c[0], c.attr("num_heads")
    projected = torch.matmul(x, c[1])
    projected = projected + c[2] if c[2] is not None else projected
    sizes = c.attr("qkv_hidden_sizes") or [projected.shape[-1] // 3] * 3
    q, k, v = (p.reshape(p.shape[0], p.shape[1], heads, -1).transpose(1, 2) for p in projected.split(sizes, -1))
    mask = None
    if c[3] is not None:
        visible = c[3]
        if visible.dim() == 1:  # how many of each sequence are valid
            visible = torch.arange(k.shape[2], device=x.device)[None, :] < visible[: x.shape[0], None]
        mask = visible.bool().reshape(visible.shape[0], *([1] * (4 - 1 - visible.dim() + 1)), *visible.shape[1:])
    if c[5] is not None:
        bias = c[5].to(q.dtype)
        mask = bias if mask is None else bias.masked_fill(~mask, torch.finfo(q.dtype).min)
    causal = bool(c.attr("unidirectional", 0))
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, scale=c.attr("scale"))
    return y.transpose(1, 2).reshape(x.shape[0], x.shape[1], -1)


def quantised_attention(c):
    """com.microsoft.QAttention: input, weight, bias, their scales, mask, zero points."""
    if c[8] is not None:
        raise NotImplementedError("past keys and values")
    w = dequantised(c[1], along(c[4], c[1], 1), along(c[7], c[1], 1))
    return fused_attention(c.but([dequantised(c[0], c[3], c[6]), w, c[2], c[5]]))


def quantised_embed_layer_norm(c):
    """com.microsoft.QEmbedLayerNormalization: scales from input 8, zero points from input 13."""
    tables = [dequantised(c[2 + i], c[8 + i], c[13 + i]) if c[2 + i] is not None else None for i in range(5)]
    return embed_layer_norm(c.but([c[0], c[1], *tables, c[7]]))[:2]


def dynamic_quantize_lstm(c):
    """com.microsoft.DynamicQuantizeLSTM: weights as [direction, input, gates], scales from input 8."""
    weights = [
        dequantised(c[1 + i], c[8 + 2 * i].reshape(c[1].shape[0], 1, -1), c[9 + 2 * i].reshape(c[1].shape[0], 1, -1))
        for i in range(2)
    ]
    w, r = (weight.transpose(1, 2).to(c[0].dtype) for weight in weights)
    return LSTM(c.but([c[0], w, r, *c.inputs[3:8]]))


def gather_block_quantized(c):
    """com.microsoft.GatherBlockQuantized, rows of a table whose last axis is quantised in blocks."""
    axis, block = c.attr("gather_axis", 0), c.attr("block_size", 128)
    if axis % c[0].dim() != 0 or c.attr("quantize_axis", 1) % c[0].dim() != c[0].dim() - 1 or c.attr("bits", 4) != 4:
        raise NotImplementedError("other axes and widths")
    index = c[1].long()
    rows, scales = c[0][index], c[2][index]
    is_packed = rows.dtype == torch.uint8 and not getattr(c[0], "is_narrow", False)
    rows = unpacked(rows) if is_packed else rows
    zero = 8 if is_packed else 0
    if c[3] is not None:
        zero = unpacked(c[3][index])[..., : scales.shape[-1]] if is_packed else c[3][index]
        zero = zero.repeat_interleave(block, -1)[..., : rows.shape[-1]].to(scales.dtype)
    return (rows.to(scales.dtype) - zero) * scales.repeat_interleave(block, -1)[..., : rows.shape[-1]]


def rotated(x, cos, sin, interleaved):
    if interleaved:
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)


def group_query_attention(c):
    """com.microsoft.GroupQueryAttention with keys and values appended to the past; lengths equal in the batch."""
    if c.attr("local_window_size", -1) > 0 or c.attr("softcap", 0.0):
        raise NotImplementedError("local windows and softcap")
    query, heads, kv = c[0], c.attr("num_heads"), c.attr("kv_num_heads")
    batch, length = query.shape[:2]
    if c[1] is None:
        size = query.shape[-1] // (heads + 2 * kv)
        q, k, v = query.split([heads * size, kv * size, kv * size], -1)
    else:
        q, k, v = query, c[1], c[2]
    split_heads = lambda x, count: x.reshape(batch, length, count, -1).transpose(1, 2)
    q, k, v = split_heads(q, heads), split_heads(k, kv), split_heads(v, kv)
    past = c[3].shape[2] if c[3] is not None else 0
    if c.attr("do_rotary", 0):
        at = torch.arange(past, past + length, device=q.device)
        cos, sin = c[7][at].to(q.dtype), c[8][at].to(q.dtype)
        q, k = (rotated(x, cos, sin, c.attr("rotary_interleaved", 0)) for x in (q, k))
    if past:
        k, v = torch.cat([c[3], k], 2), torch.cat([c[4], v], 2)
    wide_k, wide_v = (x.repeat_interleave(heads // kv, 1) for x in (k, v))
    visible = torch.ones(length, k.shape[2], dtype=torch.bool, device=q.device).tril(past)
    y = F.scaled_dot_product_attention(q, wide_k, wide_v, attn_mask=visible, scale=c.attr("scale") or None)
    return (y.transpose(1, 2).reshape(batch, length, -1), k, v)


def unpacked(packed):
    """Two numbers of four bits a byte, the lower half first."""
    return torch.stack((packed & 15, packed >> 4), -1).flatten(-2)


def matmul_nbits(c):
    n, k, block = c.attr("N"), c.attr("K"), c.attr("block_size")
    if c.attr("bits", 4) != 4:
        raise NotImplementedError(f"{c.attr('bits')} bits")
    blocks = -(-k // block)
    w = unpacked(c[1].reshape(n, blocks, -1)).to(c[0].dtype)
    if c[3] is None:
        zero = 8.0
    elif is_float(c[3]):
        zero = c[3].reshape(n, blocks, 1).to(c[0].dtype)
    else:
        zero = unpacked(c[3].reshape(n, -1))[:, :blocks].reshape(n, blocks, 1).to(c[0].dtype)
    w = ((w - zero) * c[2].reshape(n, blocks, 1).to(c[0].dtype)).reshape(n, -1)[:, :k]
    y = torch.matmul(c[0], w.t())
    return y + c[5] if c[5] is not None else y


OPS = {
    "QuantizeLinear": quantize_linear, "DequantizeLinear": dequantize_linear, "MatMulInteger": matmul_integer,
    "DynamicQuantizeLinear": dynamic_quantize_linear, "QLinearConv": qlinear_conv, "QLinearMatMul": qlinear_matmul,
    "SimplifiedLayerNormalization": lambda c: F.rms_norm(c[0], [c[0].shape[-1]], c[1], c.attr("epsilon", 1e-5)),
}  # fmt: skip
MICROSOFT = {
    "QuantizeLinear": quantize_linear, "DequantizeLinear": dequantize_linear, "QLinearAdd": qlinear_binary(torch.add),
    "QLinearMul": qlinear_binary(torch.mul), "QLinearGlobalAveragePool": qlinear_global_average_pool, "QGemm": qgemm,
    "BiasGelu": lambda c: F.gelu(c[0] + c[1]), "FastGelu": fast_gelu, "Gelu": lambda c: F.gelu(c[0]),
    "QuickGelu": lambda c: c[0] * torch.sigmoid(c.attr("alpha", 1.702) * c[0]),
    "FusedMatMul": lambda c: c.attr("alpha", 1.0) * torch.matmul(
        c[0].transpose(-1, -2) if c.attr("transA", 0) else c[0], c[1].transpose(-1, -2) if c.attr("transB", 0) else c[1]),
    "SkipLayerNormalization": skip_layer_norm, "SkipSimplifiedLayerNormalization": skip_simplified_layer_norm,
    "EmbedLayerNormalization": embed_layer_norm, "Attention": fused_attention,
    "QAttention": quantised_attention, "QEmbedLayerNormalization": quantised_embed_layer_norm,
    "DynamicQuantizeLSTM": dynamic_quantize_lstm, "GatherBlockQuantized": gather_block_quantized,
    "GroupQueryAttention": group_query_attention, "MatMulNBits": matmul_nbits,
}  # fmt: skip

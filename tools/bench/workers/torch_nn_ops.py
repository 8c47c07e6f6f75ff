"""ONNX operators in PyTorch: products, convolutions, pools, norms, attention, recurrent networks, resizing, detection."""

from __future__ import annotations

import itertools
import math

import torch
import torch.nn.functional as F

from torch_ops import binary, is_float


def gemm(c):
    a = c[0].t() if c.attr("transA", 0) else c[0]
    b = c[1].t() if c.attr("transB", 0) else c[1]
    alpha, beta = c.attr("alpha", 1.0), c.attr("beta", 1.0)
    if c[2] is None:
        return torch.matmul(a, b) * alpha if alpha != 1 else torch.matmul(a, b)
    return torch.addmm(c[2], a, b, beta=beta, alpha=alpha)  # one kernel with its bias, as PyTorch's Linear


# Convolutions and pools -----------------------------------------------------------------------------------------------


def window(c, kernel):
    """Strides, dilations, and padding before and after each spatial axis."""
    rank = len(kernel)
    strides, dilations = c.attr("strides", [1] * rank), c.attr("dilations", [1] * rank)
    mode = c.attr("auto_pad", "NOTSET")
    if mode in ("NOTSET", ""):
        pads = c.attr("pads", [0] * (2 * rank))
        return strides, dilations, pads[:rank], pads[rank:]
    if mode == "VALID":
        return strides, dilations, [0] * rank, [0] * rank
    before, after = [], []
    for i, size in enumerate(c[0].shape[2:]):
        total = max(0, (-(-size // strides[i]) - 1) * strides[i] + dilations[i] * (kernel[i] - 1) + 1 - size)
        low = total // 2 if mode == "SAME_UPPER" else total - total // 2
        before.append(low), after.append(total - low)
    return strides, dilations, before, after


def flat_pads(before, after):
    return [amount for pair in reversed(list(zip(before, after))) for amount in pair]


CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
CONV_TRANSPOSE = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def conv(c):
    x, kernel = c[0], list(c[1].shape[2:])
    strides, dilations, before, after = window(c, kernel)
    if before != after:
        x, before = F.pad(x, flat_pads(before, after)), [0] * len(kernel)
    return CONV[len(kernel)](x, c[1], c[2], strides, before, dilations, c.attr("group", 1))


def conv_transpose(c):
    rank = c[0].dim() - 2
    kernel, strides = list(c[1].shape[2:]), c.attr("strides", [1] * rank)
    dilations, extra = c.attr("dilations", [1] * rank), c.attr("output_padding", [0] * rank)
    full = [strides[i] * (c[0].shape[2 + i] - 1) + dilations[i] * (kernel[i] - 1) + 1 + extra[i] for i in range(rank)]
    wanted, mode = c.attr("output_shape"), c.attr("auto_pad", "NOTSET")
    if wanted is None and mode in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [c[0].shape[2 + i] * strides[i] for i in range(rank)]
    pads = c.attr("pads", [0] * (2 * rank))
    if wanted is not None:
        wanted, pads = wanted[-rank:], [0] * (2 * rank)
        for i in range(rank):
            total = full[i] - wanted[i]
            first = total // 2 if mode == "SAME_UPPER" else total - total // 2
            pads[i], pads[rank + i] = first, total - first
    # All of it, then what padding cuts off: PyTorch's own padding must be equal on both sides.
    kept = extra if all(e < max(s, d) for e, s, d in zip(extra, strides, dilations)) else 0
    y = CONV_TRANSPOSE[rank](c[0], c[1], c[2], strides, 0, kept, c.attr("group", 1), dilations)
    y = F.pad(y, flat_pads([0] * rank, [full[i] - y.shape[2 + i] for i in range(rank)]))
    return F.pad(y, flat_pads([-p for p in pads[:rank]], [-p for p in pads[rank:]])).contiguous()


def pooled(c, kernel):
    """Strides, dilations, padding, with what ceil_mode adds at the end, and that part alone."""
    strides, dilations, before, after = window(c, kernel)
    added = [0] * len(kernel)
    if c.attr("ceil_mode", 0):
        for i, size in enumerate(c[0].shape[2:]):
            reach = dilations[i] * (kernel[i] - 1) + 1
            count = -(-(size + before[i] + after[i] - reach) // strides[i]) + 1
            if (count - 1) * strides[i] >= size + before[i]:
                count -= 1  # a window that would begin beyond the input
            added[i] = max(0, (count - 1) * strides[i] + reach - size - before[i] - after[i])
    return strides, dilations, before, after, added


MAX_POOL = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
AVG_POOL = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}


def max_pool(c):
    if c.outputs > 1:
        raise NotImplementedError("the output of indices")
    kernel = c.attr("kernel_shape")
    strides, dilations, before, after, added = pooled(c, kernel)
    x, rank = c[0], len(kernel)
    if x.dtype in (torch.int8, torch.uint8):
        return max_pool(c.but([x.float(), *c.inputs[1:]])).to(x.dtype)
    after = [a + extra for a, extra in zip(after, added)]
    if before == after and all(2 * b <= k for b, k in zip(before, kernel)):
        return MAX_POOL[rank](x, kernel, strides, before, dilations)
    low = -math.inf if is_float(x) else torch.iinfo(x.dtype).min
    return MAX_POOL[rank](F.pad(x, flat_pads(before, after), value=low), kernel, strides, 0, dilations)


def average_pool(c):
    kernel = c.attr("kernel_shape")
    strides, dilations, before, after, added = pooled(c, kernel)
    x, rank, include = c[0], len(kernel), bool(c.attr("count_include_pad", 0))
    is_even = before == after and not any(added) and all(2 * b <= k for b, k in zip(before, kernel))
    if is_even and all(d == 1 for d in dilations):
        return AVG_POOL[rank](x, kernel, strides, before, False, include)
    # Sums over sums of ones: what ceil_mode adds never counts, padding where asked for.
    ones = F.pad(torch.ones_like(x[:1, :1]), flat_pads(before, after), value=1.0 if include else 0.0)
    weight = torch.ones([1, 1] + list(kernel), dtype=x.dtype, device=x.device)

    def sums(t):
        padded = F.pad(t, flat_pads([0] * rank, added))
        return CONV[rank](padded.reshape(-1, 1, *padded.shape[2:]), weight, None, strides, 0, dilations)

    total, count = sums(F.pad(x, flat_pads(before, after))), sums(ones)
    return (total / count).reshape(list(x.shape[:2]) + list(total.shape[2:]))


def lp_pool(c):
    p = c.attr("p", 2)
    kernel = c.attr("kernel_shape")
    mean = average_pool(c.but([c[0].abs() ** p, *c.inputs[1:]], count_include_pad=1))
    return (mean * math.prod(kernel)) ** (1 / p)


def spatial(x):
    return list(range(2, x.dim()))


# Norms ----------------------------------------------------------------------------------------------------------------


def batch_norm(c):
    if c.attr("training_mode", 0):
        raise NotImplementedError("training_mode=1")
    return F.batch_norm(c[0], c[3].to(c[0].dtype), c[4].to(c[0].dtype), c[1], c[2], False, 0.0, c.attr("epsilon", 1e-5))


def layer_norm(c):
    axis = c.attr("axis", -1) % c[0].dim()
    sizes, epsilon = list(c[0].shape[axis:]), c.attr("epsilon", 1e-5)
    full = lambda t: None if t is None else t.expand(sizes)
    y = F.layer_norm(c[0], sizes, full(c[1]), full(c[2]), epsilon)
    if c.outputs == 1:
        return y
    axes = list(range(axis, c[0].dim()))
    x = c[0].float()
    mean = x.mean(axes, True)
    return y, mean, torch.rsqrt(((x - mean) ** 2).mean(axes, True) + epsilon)


def rms_norm(c):
    axis = c.attr("axis", -1) % c[0].dim()
    return F.rms_norm(c[0], list(c[0].shape[axis:]), c[1].expand(list(c[0].shape[axis:])), c.attr("epsilon", 1e-5))


def lrn(c):
    size = c.attr("size")
    square = F.pad(c[0] ** 2, [0, 0] * (c[0].dim() - 2) + [(size - 1) // 2, size // 2])
    total = sum(square.narrow(1, i, c[0].shape[1]) for i in range(size))
    return c[0] / (c.attr("bias", 1.0) + c.attr("alpha", 1e-4) / size * total) ** c.attr("beta", 0.75)


# Attention ------------------------------------------------------------------------------------------------------------


ATTENTION = {
    "is_causal", "q_num_heads", "kv_num_heads", "scale", "softcap", "softmax_precision", "qk_matmul_output_mode"
}  # fmt: skip


def attention(c):
    """ONNX's Attention (opset 23), without the output of scores."""
    q, k, v, mask = c[0], c[1], c[2], c[3]
    if c.outputs > 3:
        raise NotImplementedError("the output of scores")
    other = set(c.attributes) - ATTENTION
    if c[6] is not None or other:
        raise NotImplementedError("lengths of keys, " + ", ".join(sorted(other)))
    was_flat = q.dim() == 3
    if was_flat:
        heads = lambda x, count: x.reshape(x.shape[0], x.shape[1], count, -1).transpose(1, 2)
        q = heads(q, c.attr("q_num_heads"))
        k, v = heads(k, c.attr("kv_num_heads")), heads(v, c.attr("kv_num_heads"))
    if c[4] is not None:
        k, v = torch.cat([c[4], k], 2), torch.cat([c[5], v], 2)
    present = (k, v)
    groups = q.shape[1] // k.shape[1]
    if groups > 1:
        k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    causal = bool(c.attr("is_causal", 0))
    softcap = c.attr("softcap", 0.0)
    if mask is not None and mask.shape[-1] < k.shape[2]:
        mask = F.pad(mask, (0, k.shape[2] - mask.shape[-1]), value=False if mask.dtype == torch.bool else -math.inf)
    if causal and c[4] is not None or causal and mask is not None:
        past = 0 if c[4] is None else c[4].shape[2]
        visible = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device).tril(past)
        hidden = torch.zeros(visible.shape, dtype=q.dtype, device=q.device).masked_fill(~visible, -math.inf)
        if mask is None:
            mask = hidden
        elif mask.dtype == torch.bool:
            mask = mask & visible
        else:
            mask = mask + hidden
        causal = False
    if mask is not None and mask.dtype != torch.bool:
        mask = mask.to(q.dtype)
    scale = c.attr("scale")
    if softcap:
        scores = torch.matmul(q * (scale or q.shape[-1] ** -0.5), k.transpose(-1, -2))
        if causal:
            scores = scores.masked_fill(
                ~torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril(), -math.inf
            )
        scores = softcap * torch.tanh(scores / softcap)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
        y = torch.matmul(torch.softmax(scores, -1), v)
    else:
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, scale=scale)
    if was_flat:
        y = y.transpose(1, 2).reshape(y.shape[0], y.shape[2], -1)
    return (y,) + present if c.outputs > 1 else y


# Recurrent ------------------------------------------------------------------------------------------------------------


def gate_order(w, count, order):
    blocks = w.chunk(count, 0)
    return torch.cat([blocks[i] for i in order])


def recurrent(kind, gates, order):
    """LSTM, GRU and RNN by PyTorch's own, gates in its order. Default activations only; sequence lengths must be equal."""

    def run(c):
        if c.attr("activations") and [a.lower() for a in c.attr("activations")] not in (
            DEFAULT_ACTIVATIONS[kind],
            DEFAULT_ACTIVATIONS[kind] * 2,
        ):
            raise NotImplementedError(f"activations {c.attr('activations')}")
        if kind == "LSTM" and c[7] is not None and bool(c[7].any()):
            raise NotImplementedError("peepholes")
        if kind == "GRU" and not c.attr("linear_before_reset", 0):
            return gru_by_steps(c)
        x, hidden, direction = c[0], c.attr("hidden_size"), c.attr("direction", "forward")
        layout = c.attr("layout", 0)
        if layout:
            x = x.transpose(0, 1)
        if c[4] is not None and bool((c[4] != x.shape[0]).any()):
            raise NotImplementedError("sequences of different lengths")
        directions = c[1].shape[0]
        if direction == "reverse":
            x = x.flip(0)
        start = [state_of(c, 5, layout, directions, x, hidden)]
        if kind == "LSTM":
            start.append(state_of(c, 6, layout, directions, x, hidden))
        weights = []
        for d in range(directions):
            bias = c[3][d] if c[3] is not None else torch.zeros(2 * gates * hidden, dtype=x.dtype, device=x.device)
            parts = [c[1][d], c[2][d], bias[: gates * hidden], bias[gates * hidden :]]
            weights += [gate_order(part, gates, order).contiguous() for part in parts]
        functions = {"LSTM": torch.lstm, "GRU": torch.gru, "RNN": torch.rnn_tanh}
        state = tuple(start) if kind == "LSTM" else start[0]
        result = functions[kind](x, state, weights, True, 1, 0.0, False, directions == 2, False)
        y = result[0].reshape(x.shape[0], x.shape[1], directions, hidden).transpose(1, 2)
        if direction == "reverse":
            y = y.flip(0)
        states = list(result[1:])
        if layout:
            y, states = y.permute(2, 0, 1, 3), [s.transpose(0, 1) for s in states]
        return (y, *states)

    return run


DEFAULT_ACTIVATIONS = {"LSTM": ["sigmoid", "tanh", "tanh"], "GRU": ["sigmoid", "tanh"], "RNN": ["tanh"]}


def state_of(c, index, layout, directions, x, hidden):
    if c[index] is None:
        return torch.zeros(directions, x.shape[1], hidden, dtype=x.dtype, device=x.device)
    return (c[index].transpose(0, 1) if layout else c[index]).contiguous()


def gru_by_steps(c):
    """linear_before_reset = 0: the reset gate is applied before the product, which PyTorch's own GRU does not do."""
    x, hidden, layout = c[0], c.attr("hidden_size"), c.attr("layout", 0)
    x = x.transpose(0, 1) if layout else x
    directions, outputs, lasts = c[1].shape[0], [], []
    start = state_of(c, 5, layout, directions, x, hidden)
    for d in range(directions):
        reverse = d == 1 or c.attr("direction", "forward") == "reverse"
        bias = c[3][d] if c[3] is not None else torch.zeros(6 * hidden, dtype=x.dtype, device=x.device)
        wz, wr, wh = c[1][d].chunk(3, 0)
        rz, rr, rh = c[2][d].chunk(3, 0)
        bwz, bwr, bwh, brz, brr, brh = bias.chunk(6)
        h, steps = start[d], []
        for t in range(x.shape[0] - 1, -1, -1) if reverse else range(x.shape[0]):
            z = torch.sigmoid(x[t] @ wz.t() + bwz + h @ rz.t() + brz)
            r = torch.sigmoid(x[t] @ wr.t() + bwr + h @ rr.t() + brr)
            n = torch.tanh(x[t] @ wh.t() + bwh + (r * h) @ rh.t() + brh)
            h = (1 - z) * n + z * h
            steps.append(h)
        outputs.append(torch.stack(steps[::-1] if reverse else steps))
        lasts.append(h)
    y, last = torch.stack(outputs, 1), torch.stack(lasts)
    return (y.permute(2, 0, 1, 3), last.transpose(0, 1)) if layout else (y, last)


# Resizing -------------------------------------------------------------------------------------------------------------


def resize_weights(size, out, scale, c, mode, roi):
    """For one axis: indices and weights of the inputs of each output, [out, taps] each."""
    how = c.attr("coordinate_transformation_mode", "half_pixel")
    at = torch.arange(out, dtype=torch.float64)
    if how == "asymmetric":
        x = at / scale
    elif how == "align_corners":
        x = at * (size - 1) / (scale * size - 1) if out > 1 else at * 0
    elif how == "pytorch_half_pixel":
        x = (at + 0.5) / scale - 0.5 if out > 1 else at * 0
    elif how == "half_pixel_symmetric":
        center = size / 2 * (1 - out / (scale * size))
        x = center + (at + 0.5) / scale - 0.5
    elif how == "tf_crop_and_resize":
        span = (roi[1] - roi[0]) * (size - 1)
        x = (
            roi[0] * (size - 1) + at * span / (scale * size - 1)
            if out > 1
            else at * 0 + (roi[0] + roi[1]) * (size - 1) / 2
        )
    else:
        x = (at + 0.5) / scale - 0.5
    if mode == "nearest":
        rounding = c.attr("nearest_mode", "round_prefer_floor")
        near = {
            "round_prefer_floor": torch.ceil(x - 0.5), "round_prefer_ceil": torch.floor(x + 0.5),
            "floor": torch.floor(x), "ceil": torch.ceil(x),
        }[rounding]  # fmt: skip
        return near.long().clamp(0, size - 1)[:, None], torch.ones(out, 1, dtype=torch.float64), x
    antialias = c.attr("antialias", 0) and scale < 1
    stretch = 1 / scale if antialias else 1.0
    reach = (1 if mode == "linear" else 2) * stretch
    base = torch.floor(x)
    taps = torch.arange(-math.ceil(reach) + 1, math.ceil(reach) + 1, dtype=torch.float64)
    if antialias:
        taps = torch.arange(-math.ceil(reach), math.ceil(reach) + 2, dtype=torch.float64)
    index = base[:, None] + taps[None, :]
    distance = (x[:, None] - index).abs() / stretch
    if mode == "linear":
        weight = (1 - distance).clamp(min=0)
    else:
        a = c.attr("cubic_coeff_a", -0.75)
        near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
        far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
        weight = torch.where(distance <= 1, near, torch.where(distance < 2, far, torch.zeros_like(distance)))
    if c.attr("exclude_outside", 0):
        weight = weight * ((index >= 0) & (index < size))
    weight = weight / weight.sum(1, keepdim=True)
    return index.long().clamp(0, size - 1), weight, x


def resize(c):
    x, mode = c[0], c.attr("mode", "nearest")
    roi_in, scales, sizes = (c[1], c[2], c[3]) if c.opset >= 11 else (None, c[1], None)
    if c.op_type == "Upsample":
        roi_in, scales, sizes = None, c[1] if c[1] is not None else torch.tensor(c.attr("scales")), None
    axes = [axis % x.dim() for axis in c.attr("axes", list(range(x.dim())))]
    asymmetric = c.opset < 11 or c.op_type == "Upsample"
    call = c.but(coordinate_transformation_mode="asymmetric", nearest_mode="floor") if asymmetric else c
    if sizes is not None and sizes.numel():
        wanted = [int(size) for size in sizes.tolist()]
        factors = [wanted[i] / x.shape[axis] for i, axis in enumerate(axes)]
        policy = c.attr("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            factor = min(factors) if policy == "not_larger" else max(factors)
            factors = [factor] * len(axes)
            wanted = [int(math.floor(x.shape[axis] * factor + 0.5)) for axis in axes]
    else:
        factors = [float(factor) for factor in scales.tolist()]
        wanted = [int(math.floor(x.shape[axis] * factor)) for axis, factor in zip(axes, factors)]
    roi = roi_in.tolist() if roi_in is not None and roi_in.numel() else [0.0] * len(axes) + [1.0] * len(axes)
    # What PyTorch does in one kernel.
    how = call.attr("coordinate_transformation_mode", "half_pixel")
    if axes == [0, 1, 2, 3] and wanted[:2] == list(x.shape[:2]) and not c.attr("antialias", 0) and is_float(x):
        exact = all(abs(f * x.shape[a] - w) < 1e-6 for f, a, w in zip(factors, axes, wanted))
        if mode == "nearest" and how == "asymmetric" and call.attr("nearest_mode", "") == "floor" and exact:
            return F.interpolate(x, size=wanted[2:], mode="nearest")
        if how == "pytorch_half_pixel" and 1 in wanted:
            exact = False  # one output lies at the first input, which PyTorch has given up
        if mode == "linear" and exact and how in ("align_corners", "pytorch_half_pixel", "half_pixel"):
            return F.interpolate(x, size=wanted[2:], mode="bilinear", align_corners=how == "align_corners")
    y = x
    outside = torch.zeros((), dtype=torch.bool)
    for i, axis in enumerate(axes):
        if wanted[i] == x.shape[axis] and factors[i] == 1 and how != "tf_crop_and_resize":
            continue
        index, weight, at = resize_weights(
            x.shape[axis], wanted[i], factors[i], call, mode, (roi[i], roi[i + len(axes)])
        )
        picked = [y.index_select(axis, index[:, t].to(y.device)) for t in range(index.shape[1])]
        view = [1] * y.dim()
        view[axis] = -1
        if index.shape[1] == 1:
            y = picked[0]
        else:
            weight = weight.to(y.device, torch.float32)
            y = sum(p.float() * weight[:, t].reshape(view) for t, p in enumerate(picked))
        if how == "tf_crop_and_resize":
            outside = outside | ((at < 0) | (at > x.shape[axis] - 1)).reshape(view)
    if how == "tf_crop_and_resize":
        y = torch.where(outside.to(y.device), torch.tensor(call.attr("extrapolation_value", 0.0), device=y.device), y)
    if not is_float(x) and is_float(y):
        low, high = (torch.iinfo(x.dtype).min, torch.iinfo(x.dtype).max)
        return torch.round(y).clamp(low, high).to(x.dtype)
    return y.to(x.dtype)


# Detection ------------------------------------------------------------------------------------------------------------


def non_max_suppression(c):
    boxes, scores = c[0].float().cpu(), c[1].float().cpu()
    most = int(c.scalar(2, 0))
    overlap, threshold = float(c.scalar(3, 0.0)), c.scalar(4)
    if c.attr("center_point_box", 0):
        center, half = boxes[..., :2], boxes[..., 2:] / 2
        boxes = torch.cat([center - half, center + half], -1)
    low = torch.minimum(boxes[..., :2], boxes[..., 2:])
    high = torch.maximum(boxes[..., :2], boxes[..., 2:])
    area = (high - low).prod(-1)
    kept = []
    for batch, cls in itertools.product(range(scores.shape[0]), range(scores.shape[1])):
        score = scores[batch, cls]
        order = torch.argsort(score, descending=True, stable=True)
        if threshold is not None:
            order = order[score[order] > threshold]
        chosen = []
        while order.numel() and len(chosen) < most:
            best = int(order[0])
            chosen.append(best)
            rest = order[1:]
            size = (
                torch.minimum(high[batch, best], high[batch, rest]) - torch.maximum(low[batch, best], low[batch, rest])
            ).clamp(min=0)
            both = size.prod(-1)
            union = area[batch, best] + area[batch, rest] - both
            order = rest[~((both > 0) & (both / union > overlap))]
        kept += [(batch, cls, box) for box in chosen]
    return torch.tensor(kept, dtype=torch.int64).reshape(-1, 3).to(c[0].device)


def roi_align(c):
    x, rois, batch = c[0], c[1], c[2].long()
    height, width = c.attr("output_height", 1), c.attr("output_width", 1)
    ratio, scale = c.attr("sampling_ratio", 0), c.attr("spatial_scale", 1.0)
    shift = 0.5 if c.opset >= 16 and c.attr("coordinate_transformation_mode", "half_pixel") == "half_pixel" else 0.0
    mode = c.attr("mode", "avg")
    results = []
    for i in range(rois.shape[0]):
        x0, y0, x1, y1 = (rois[i] * scale - shift).tolist()
        w, h = (x1 - x0, y1 - y0) if shift else (max(x1 - x0, 1.0), max(y1 - y0, 1.0))
        bin_h, bin_w = h / height, w / width
        grid_h = ratio if ratio > 0 else max(1, math.ceil(bin_h))
        grid_w = ratio if ratio > 0 else max(1, math.ceil(bin_w))
        place = (
            lambda start, size, bins, grid: start + size * (torch.arange(bins * grid, dtype=torch.float64) + 0.5) / grid
        )
        ys, xs = place(y0, bin_h, height, grid_h), place(x0, bin_w, width, grid_w)
        taps = []
        for at, limit in ((ys, x.shape[2]), (xs, x.shape[3])):
            outside = (at < -1) | (at > limit)
            at = at.clamp(min=0)
            low = at.floor().long().clamp(max=limit - 1)
            high = (low + 1).clamp(max=limit - 1)
            part = torch.where(low >= limit - 1, torch.zeros_like(at), at - low)
            alive = (~outside).to(torch.float64)
            ends = (low, (1 - part) * alive), (high, part * alive)
            taps.append([(t.to(x.device), f.to(x.device, x.dtype)) for t, f in ends])
        image, samples = x[batch[i]], []
        for (iy, fy), (ix, fx) in itertools.product(*taps):
            samples.append(image.index_select(1, iy).index_select(2, ix) * fy[:, None] * fx[None, :])
        if mode == "max":
            full = torch.stack(samples).amax(0).reshape(-1, height, grid_h, width, grid_w)
            results.append(full.amax((2, 4)))
        else:
            results.append(sum(samples).reshape(-1, height, grid_h, width, grid_w).mean((2, 4)))
    if not results:
        return x.new_zeros((0, x.shape[1], height, width))
    return torch.stack(results)


OPS = {
    "MatMul": binary(torch.matmul), "Gemm": gemm, "Einsum": lambda c: torch.einsum(c.attr("equation"), *c.inputs),
    "Conv": conv, "ConvTranspose": conv_transpose,
    "MaxPool": max_pool, "AveragePool": average_pool, "LpPool": lp_pool,
    "GlobalAveragePool": lambda c: c[0].mean(spatial(c[0]), True), "GlobalMaxPool": lambda c: c[0].amax(spatial(c[0]), True),
    "BatchNormalization": batch_norm, "LayerNormalization": layer_norm, "RMSNormalization": rms_norm,
    "InstanceNormalization": lambda c: F.instance_norm(c[0], None, None, c[1], c[2], eps=c.attr("epsilon", 1e-5)),
    "GroupNormalization": lambda c: F.group_norm(c[0], c.attr("num_groups"), c[1], c[2], c.attr("epsilon", 1e-5)),
    "LpNormalization": lambda c: F.normalize(c[0], p=c.attr("p", 2), dim=c.attr("axis", -1), eps=1e-30), "LRN": lrn,
    "Attention": attention, "LSTM": recurrent("LSTM", 4, (0, 2, 3, 1)),  # i o f c -> i f g o
    "GRU": recurrent("GRU", 3, (1, 0, 2)),  # z r h -> r z n
    "RNN": recurrent("RNN", 1, (0,)), "Resize": resize, "Upsample": resize,
    "NonMaxSuppression": non_max_suppression, "RoiAlign": roi_align,
}  # fmt: skip

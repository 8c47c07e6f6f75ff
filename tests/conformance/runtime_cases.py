"""Single-op models of operators that only ONNX Runtime defines, other than com.microsoft's: operators that ONNX
withdrew, and the blocked layout of its convolutions. See contrib_cases.py."""
import numpy as np

from contrib_cases import Fixed, Q, R, case, i64

case("Affine", [R(3, 4)], domain="", opset=9)
for op in ("Affine", "ParametricSoftplus", "ScaledTanh"):
    case(op, [R(3, 4)], dict(alpha=2.0, beta=0.5), domain="", opset=9)
case("Scale", [R(2, 3, 4)], dict(scale=0.5), domain="", opset=9)
case("ImageScaler", [R(2, 3, 4, 5)], dict(scale=0.5, bias=[0.1, 0.2, 0.3]), domain="", opset=9)
case("Crop", [R(2, 3, 8, 10)], dict(border=[1, 2, 3, 4]), domain="", opset=9)
case("Crop", [R(2, 3, 8, 10)], dict(border=[1, 2, 0, 0], scale=[4, 5]), domain="", opset=9)
case("DynamicSlice", [R(5, 6, 7), Fixed([1, 0], i64), Fixed([3, 4], i64)], domain="", opset=9)
case("DynamicSlice", [R(5, 6, 7), Fixed([-3, 1], i64), Fixed([100, -1], i64), Fixed([2, 0], i64)], domain="", opset=9)
case("SimplifiedLayerNormalization", [R(2, 3, 8), R(8)], domain="", opset=14)
case("SimplifiedLayerNormalization", [R(2, 3, 8), R(8)], dict(axis=-1, stash_type=1), 2, domain="", opset=14)
case("Unique", [Q(9) % 3 * np.float32(1)], {}, 3)

# Channels in blocks of 8 or 16, depending on the processor: 32 channels are whole blocks of both.
NCHWC = dict(domain="com.microsoft.nchwc", opset=1)
case("ReorderInput", [R(2, 32, 6, 7)], **NCHWC)
case("ReorderInput", [R(2, 6, 7, 32)], dict(channels_last=1), **NCHWC)
case("ReorderOutput", [R(2, 32, 6, 7)], dict(channels=32), **NCHWC)
case("ReorderOutput", [R(2, 32, 6, 7)], dict(channels=30), **NCHWC)
case("ReorderOutput", [R(2, 32, 6, 7)], dict(channels=30, channels_last=1), **NCHWC)
case("Conv", [R(2, 32, 6, 7), Fixed(R(64, 32, 3, 3)), Fixed(R(64))], dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1]), **NCHWC)
case("Conv", [R(2, 32, 9, 7), Fixed(R(32, 32, 3, 3))], dict(kernel_shape=[3, 3], strides=[2, 2], activation="Relu"), **NCHWC)
case("Conv", [R(2, 32, 9, 7), Fixed(R(32, 1, 3, 3))], dict(kernel_shape=[3, 3], group=32, auto_pad="SAME_UPPER"), **NCHWC)
case("MaxPool", [R(2, 32, 9, 7)], dict(kernel_shape=[3, 3], strides=[2, 2]), **NCHWC)
case("MaxPool", [R(2, 32, 9, 8)], dict(kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1), **NCHWC)
case("AveragePool", [R(2, 32, 9, 7)], dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1), **NCHWC)
case("GlobalMaxPool", [R(2, 32, 9, 7)], **NCHWC)
case("GlobalAveragePool", [R(2, 32, 9, 7)], **NCHWC)
case("Upsample", [R(1, 32, 4, 5)], dict(scales=[1, 1, 2, 3]), **NCHWC)

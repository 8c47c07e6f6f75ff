"""Weights of an ONNX file as tensors; random ones, by what uses them, in the place of those that a skeleton lacks."""

from __future__ import annotations

import os
import zlib

import numpy as np
import onnx
import torch

import torch_ops
from run_record import Unusable


def to_torch(array):
    """A NumPy array, with the narrow types that NumPy has by extension, as a tensor."""
    name = array.dtype.name
    array = array.copy(order="C")  # ascontiguousarray would make a scalar a vector
    if name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    if name.startswith("float8"):
        return torch.from_numpy(array.view(np.uint8)).view(getattr(torch, name))
    if name in ("int4", "uint4", "int2", "uint2"):
        x = torch.from_numpy(array.astype(np.int8 if name[0] == "i" else np.uint8))
        x.is_narrow = True  # so that what writes this type can say that it cannot
        return x
    if name.startswith("float4"):
        raise Unusable("tensors of float4 cannot be run")
    if array.dtype == object:
        raise Unusable("tensors of strings cannot be run")
    return torch.from_numpy(array)


def fan_in(op_type, place, dims, attributes):
    if op_type == "Conv":
        return int(np.prod(dims[1:]))
    if op_type == "Gemm":
        return dims[1] if attributes.get("transB", 0) else dims[0]
    if op_type in ("MatMul", "FusedMatMul", "Attention") and len(dims) > 1:
        return dims[-2]
    return dims[-1]


POSITIVE = {("BatchNormalization", 4), ("Sqrt", 0), ("Div", 1), ("Log", 0), ("Reciprocal", 0), ("Pow", 0)}
FACTORS = {
    ("BatchNormalization", 1), ("LayerNormalization", 1), ("InstanceNormalization", 1), ("RMSNormalization", 1),
    ("GroupNormalization", 1), ("SkipLayerNormalization", 2), ("SimplifiedLayerNormalization", 1), ("Mul", 0), ("Mul", 1),
    ("SkipSimplifiedLayerNormalization", 2), ("EmbedLayerNormalization", 5),
}  # fmt: skip
SCALES = {("DequantizeLinear", 1), ("QuantizeLinear", 1), ("QLinearConv", 4), ("QGemm", 4), ("MatMulNBits", 2)}
PRODUCTS = {"Conv", "ConvTranspose", "Gemm", "MatMul", "FusedMatMul", "LSTM", "GRU", "RNN", "Attention"}
SEEN_THROUGH = {"Transpose", "Cast", "Identity", "Reshape", "Unsqueeze", "Squeeze"}


def random_weight(tensor, users, seed):
    """Numbers for a weight that the file lacks, by what first uses it; the same for the same name and seed."""
    dims = tuple(tensor.dims)
    dtype = torch_ops.TYPES.get(tensor.data_type)
    if dtype is None:
        raise Unusable(f'weight "{tensor.name}": element type {tensor.data_type} cannot be made up')
    generator = torch.Generator().manual_seed((seed * 1000003 + zlib.crc32(tensor.name.encode())) % (1 << 62))
    if not dtype.is_floating_point:
        if dtype in (torch.int8, torch.uint8):
            low, high = {3: (-127, 128), 2: (0, 256), 21: (0, 16), 22: (-8, 8)}.get(tensor.data_type, (0, 1))
            return torch.randint(low, high, dims, generator=generator, dtype=torch.int64).to(dtype)
        return torch.zeros(dims, dtype=dtype)  # tables of indices: 0 is one everywhere
    name = tensor.name
    for _ in range(4):
        used = users.get(name, [])
        if len(used) != 1 or used[0][0] not in SEEN_THROUGH:
            break
        name = used[0][3]
    kinds = [(op_type, place) for op_type, place, _, _ in users.get(name, [])]
    uniform = lambda low, high: torch.rand(dims, generator=generator) * (high - low) + low
    if any(kind in SCALES for kind in kinds):
        return uniform(0.0008, 0.0012).to(dtype)
    if any(kind in POSITIVE for kind in kinds):
        return uniform(0.5, 1.5).to(dtype)
    if any(kind in FACTORS for kind in kinds):
        return uniform(0.9, 1.1).to(dtype)
    for op_type, place, attributes, _ in users.get(name, []):
        if op_type in PRODUCTS and place > 0 and len(dims) > 1:
            return (torch.randn(dims, generator=generator) / fan_in(op_type, place, dims, attributes) ** 0.5).to(dtype)
    return (torch.randn(dims, generator=generator) * 0.05).to(dtype)


class Weights:
    """Reads tensors of one file. `made_up` counts those whose data are in no file."""

    def __init__(self, path, users, seed, dtype):
        self.folder, self.users, self.seed = os.path.dirname(os.path.abspath(path)), users, seed
        self.dtype = dtype  # what float32 becomes; None: stays
        self.made_up = 0

    def tensor(self, tensor):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            location = {entry.key: entry.value for entry in tensor.external_data}.get("location", "")
            if not os.path.isfile(os.path.join(self.folder, location)):
                self.made_up += 1
                return self._retyped(random_weight(tensor, self.users, self.seed))
            onnx.external_data_helper.load_external_data_for_tensor(tensor, self.folder)
        return self._retyped(to_torch(onnx.numpy_helper.to_array(tensor)))

    def _retyped(self, x):
        if self.dtype is None or x.dtype != torch.float32:
            return x
        limit = torch.finfo(self.dtype).max  # masks of -3.4e38 would become infinite in half precision
        return x.clamp(-limit, limit).to(self.dtype)

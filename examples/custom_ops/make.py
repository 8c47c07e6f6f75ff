#!/usr/bin/env python3
"""Writes deformable.onnx: a cross-attention of Deformable DETR's decoder as mmdeploy exports it, with sampling in an
operator of its own (mmdeploy 1.3, mmcv::MMCVMultiScaleDeformableAttention)."""
import pathlib

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

QUERIES, HEADS, DEPTH, LEVELS, POINTS, KEYS = 300, 8, 32, 4, 4, 13294  # KEYS: of an image of 800 x 1,066
WIDTH = HEADS * DEPTH


def weight(name, *shape):
    """A skeleton of a weight: its shape, and data elsewhere."""
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="<in the model>")
    return tensor


def integers(name, *values):
    return numpy_helper.from_array(numpy.array(values, numpy.int64), name)


def main():
    nodes = [
        helper.make_node("MatMul", ["memory", "w_value"], ["value_flat"], "value_proj"),
        helper.make_node("Reshape", ["value_flat", "value_shape"], ["value"], "split_heads"),
        helper.make_node("MatMul", ["query", "w_offsets"], ["offsets_flat"], "sampling_offsets"),
        helper.make_node("Reshape", ["offsets_flat", "offsets_shape"], ["locations"], "split_offsets"),
        helper.make_node("MatMul", ["query", "w_weights"], ["weights_flat"], "attention_weights"),
        helper.make_node("Softmax", ["weights_flat"], ["weights_soft"], "softmax", axis=-1),
        helper.make_node("Reshape", ["weights_soft", "weights_shape"], ["weights"], "split_weights"),
        helper.make_node("MMCVMultiScaleDeformableAttention",
                         ["value", "level_sizes", "level_starts", "locations", "weights"], ["sampled"], "sample",
                         domain="mmdeploy", im2col_step=64),
        helper.make_node("MatMul", ["sampled", "w_out"], ["out"], "output_proj"),
    ]
    sizes = [(100, 100), (50, 50), (25, 25), (13, 13)]
    starts = [sum(a * b for a, b in sizes[:i]) for i in range(LEVELS)]
    assert starts[-1] + 13 * 13 == KEYS
    graph = helper.make_graph(
        nodes, "deformable_cross_attention",
        [helper.make_tensor_value_info("memory", TensorProto.FLOAT, ["batch", KEYS, WIDTH]),
         helper.make_tensor_value_info("query", TensorProto.FLOAT, ["batch", QUERIES, WIDTH])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)],
        [weight("w_value", WIDTH, WIDTH), weight("w_offsets", WIDTH, HEADS * LEVELS * POINTS * 2),
         weight("w_weights", WIDTH, HEADS * LEVELS * POINTS), weight("w_out", WIDTH, WIDTH),
         integers("value_shape", 0, KEYS, HEADS, DEPTH), integers("offsets_shape", 0, QUERIES, HEADS, LEVELS, POINTS, 2),
         integers("weights_shape", 0, QUERIES, HEADS, LEVELS, POINTS),
         numpy_helper.from_array(numpy.array(sizes, numpy.int64), "level_sizes"), integers("level_starts", *starts)])
    model = helper.make_model(graph, producer_name="examples/custom_ops/make.py", ir_version=8,
                              opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("mmdeploy", 1)])
    onnx.save(model, pathlib.Path(__file__).with_name("deformable.onnx"))


if __name__ == "__main__":
    main()

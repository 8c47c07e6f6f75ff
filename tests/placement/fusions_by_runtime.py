#!/usr/bin/env python3
"""Asks ONNX Runtime about the graphs of unfused_test.cpp: it fuses each base, and none of the broken ones.

    python fusions_by_runtime.py            # needs onnx, numpy and onnxruntime
"""
import os, pathlib, re, sys, tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

TYPES = {"f32": TensorProto.FLOAT, "f64": TensorProto.DOUBLE, "i64": TensorProto.INT64, "u8": TensorProto.UINT8,
         "i8": TensorProto.INT8, "bool": TensorProto.BOOL}
# What stands for each pattern in the optimised graph; a pattern with a minus leaves none of the operator.
NODES = {"ConvActivation": "FusedConv", "GemmActivation": "FusedGemm", "ConvBatchNormalization": "-BatchNormalization",
         "MatMulAdd": "Gemm", "LayerNorm": "LayerNormalization", "SimplifiedLayerNorm": "SimplifiedLayerNormalization",
         "SkipLayerNorm": "SkipLayerNormalization", "MatMulScale": "FusedMatMul", "MatMulTranspose": "FusedMatMul"}


def dims(text):
    return [int(each) if each.strip("-").isdigit() else each for each in text.split(",") if each]


def model_of(text):
    head, body = text.split(" -> ")
    opset, values = re.fullmatch(r"opset=(\d+): (.*)", head).groups()
    body, _, outputs = body.partition(" => ")
    inputs, stored, nodes = [], [], []
    random = np.random.default_rng(0)
    for name, type_, shape, data in re.findall(r"(\w+):(\w+)(\[[^\]]*\])?(?:=(const|\[[^\]]*\]|[^,\s]+))?(?:, |$)", values):
        code = TYPES[type_]
        if not data:
            inputs.append(helper.make_tensor_value_info(name, code, dims(shape.strip("[]"))))
            continue
        array = random.random(dims(shape.strip("[]"))) + 0.1 if data == "const" else np.array(eval(data))
        stored.append(numpy_helper.from_array(array.astype(helper.tensor_dtype_to_np_dtype(code)), name))
    for node in body.split("; "):
        if not node:
            continue
        result, op, reads, attributes = re.fullmatch(r"(\w+) = (\w+)\(([^)]*)\)(?: \{(.*)\})?", node).groups()
        pairs = dict(re.findall(r"(\w+)=(\[[^\]]*\]|\d+|-\d+)", attributes or ""))
        nodes.append(helper.make_node(op, reads.split(", "), [result], **{k: eval(v) for k, v in pairs.items()}))
    read = {name for node in nodes for name in node.input}
    outputs = outputs.split(", ") if outputs else [node.output[0] for node in nodes if node.output[0] not in read]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_empty_tensor_value_info(each) for each in outputs], stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", int(opset))], ir_version=8)
    model = onnx.shape_inference.infer_shapes(model)
    known = {value.name: value for value in model.graph.value_info}
    for output in model.graph.output:
        output.CopyFrom(known[output.name])
    return model


def operators(model):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    with tempfile.TemporaryDirectory() as folder:
        options.optimized_model_filepath = os.path.join(folder, "m.onnx")
        ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return [node.op_type for node in onnx.load(options.optimized_model_filepath).graph.node]


def main():
    source = (pathlib.Path(__file__).parent / "unfused_test.cpp").read_text()
    rows = [re.findall(r'"((?:[^"\\]|\\.)*)"', line) for line in source.splitlines() if line.startswith('    {"')]
    bases = {row[0]: row for row in rows if len(row) == 3}
    wrong = []
    fused = lambda pattern, found: (NODES[pattern][1:] not in found if NODES.get(pattern, "").startswith("-")
                                    else NODES.get(pattern, pattern) in found)
    for name, pattern, text in bases.values():
        if not fused(pattern, operators(model_of(text))):
            wrong.append(f"{name} is not fused")
    broken = [row for row in rows if len(row) == 5]
    for what, base, old, new, condition in broken:
        text = bases[base][2].replace(old, new) if old else bases[base][2] + new
        try:
            found = operators(model_of(text))
        except Exception as error:
            wrong.append(f"{base}, {what}: {error}")
            continue
        if fused(bases[base][1], found):
            wrong.append(f"{base}, {what}: fused all the same: {found}")
    print("\n".join(wrong), f"\nonnxruntime {ort.__version__}: {len(bases)} bases and {len(broken)} broken graphs, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

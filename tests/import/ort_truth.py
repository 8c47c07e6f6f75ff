#!/usr/bin/env python3
"""Tells which nodes of a model each kernel of ONNX Runtime did, from the graph that ran.

    profile_ort.py model.onnx -o profile.json --optimized optimised.onnx
    ort_truth.py model.onnx optimised.onnx
    ort_truth.py --rows data/ort MODELS OPTIMISED > data/ort/joins.json

A kernel did every node of the file between what it reads and what it writes. Both graphs spell most tensors alike; a
tensor that only the runtime knows is found by its node's name, by what reads it, or past the layout changes behind it.
Prints JSON: for each kernel the names of its nodes; an empty list for one that the runtime added.
"""
import json
import os
import re
import sys

import onnx

# Kernels whose part of a dropped node is a matter of taste: a transpose that became the axis of a Gather; the quantize
# and dequantize that the runtime drops around a Flatten.
UNDECIDED = {"recurrent": ["/Gather"], "recurrent_dynamo": ["node_select"],
             "residual_int8": ["/Flatten", "/average/GlobalAveragePool", "/head/Gemm"]}
ADDED = {"Transpose", "Reshape", "ReorderOutput", "ReorderInput", "Squeeze", "Unsqueeze", "Cast"}


def plain(name):
    return re.sub(r"(_token_\d+|/duplicated|_nchwc)+$", "", name).removeprefix("InsertedPrecisionFreeCast_")


def end_of_convolution(node, original):
    """A blocked convolution keeps its own name where it also adds a shortcut and applies an activation."""
    tensor = plain(node.name)
    steps = ["Add"] if len(node.input) > 3 else []
    steps += [a.s.decode() for a in node.attribute if a.name == "activation"]
    for step in steps:
        reader = next((n for n in original.node if tensor in n.input and n.op_type == step), None)
        if reader:
            tensor = reader.output[0]
    return tensor


def truth_of(original, optimised):
    producer = {output: node for node in original.node for output in node.output if output}
    by_name = {node.name: node for node in original.node}
    stored = {tensor.name for tensor in original.initializer}
    fixed = set(stored)
    for node in original.node:  # what the runtime folds
        if node.op_type == "Constant" or all(name in fixed for name in node.input if name):
            if not any(attribute.type == onnx.AttributeProto.GRAPH for attribute in node.attribute):
                fixed.update(node.output)
    same = {tensor: tensor for tensor in producer}
    same.update({tensor.name: tensor.name for tensor in original.input})
    for node in optimised.node:
        if node.name.endswith("_nchwc") and node.output[0] not in same:
            same[node.output[0]] = end_of_convolution(node, original)
        # A blocked node that is one of the file's, or a fused one named after its last node.
        last = by_name.get(re.sub(r"/\w+Fusion/?$", "", plain(node.name)))
        if last and node.output[0] not in same and len(last.output) == 1 and node.op_type in (last.op_type, "QuickGelu"):
            same[node.output[0]] = last.output[0]
        # A copy for another reader, or in float32 because the runtime has no such kernel for float16.
        for output in node.output:
            if output.endswith("/duplicated") or output.startswith("InsertedPrecisionFreeCast_"):
                same[output] = plain(output)
    for _ in range(4):
        for node in optimised.node:
            # A tensor that only the runtime knows is what its reader reads in the file.
            reader = by_name.get(plain(node.name))
            if reader and node.input and node.input[0] not in same:
                found = reader.input[0]
                if node.op_type != reader.op_type and found in producer and producer[found].op_type == "DequantizeLinear":
                    found = producer[found].input[0]
                same[node.input[0]] = found
            # What only changes the layout writes the tensor that it reads.
            if node.op_type in ADDED and not reader and node.output[0] not in by_name:
                if node.output[0] in same:
                    same.setdefault(node.input[0], same[node.output[0]])
                elif node.input[0] in same:
                    same[node.output[0]] = same[node.input[0]]
    whole = {same[name] for node in optimised.node for name in node.output if name in same}

    truth = {}
    for node in optimised.node:
        reads = {same.get(name, name) for name in node.input}
        found, todo = [], [same[name] for name in node.output if name in same]
        if node.op_type in ADDED and todo and same.get(node.input[0]) == todo[0]:
            todo = []
        roots = set(todo)
        while todo:
            tensor = todo.pop()
            if tensor not in producer or tensor in fixed - roots or (tensor in (reads | whole) - roots):
                continue
            made = producer[tensor]
            if made.name not in found:
                found.append(made.name)
                todo += list(made.input)
        order = [n.name for n in original.node]
        truth[node.name] = sorted(found, key=order.index)
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH and node.name in by_name:
                twin = next(a for a in by_name[node.name].attribute if a.name == attribute.name)
                truth.update(truth_of(twin.g, attribute.g))
    return truth


def main():
    """With two graphs: the truth. With --rows FOLDER: a row for each MODEL.VERSION.LEVEL.json that lies there."""
    if sys.argv[1] != "--rows":
        graphs = [onnx.load(path, load_external_data=False).graph for path in sys.argv[1:3]]
        print(json.dumps(truth_of(*graphs), indent=1))
        return
    folder, models, optimised = sys.argv[2:5]
    lines = []
    for name in sorted(os.listdir(folder)):
        if not re.fullmatch(r"\w+\.[\d.]+\.(all|disable)\.json", name):
            continue
        model = name.split(".")[0] + ".onnx"
        truth = truth_of(onnx.load(os.path.join(models, model)).graph,
                         onnx.load(os.path.join(optimised, name[:-5] + ".onnx")).graph)
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            ran = {event["name"][:-12] for event in json.load(file) if event["name"].endswith("_kernel_time")}
        undecided = UNDECIDED.get(model[:-5], [])
        row = {"profile": name, "model": model, "kernels": len(ran), "added": sorted(k for k in ran if not truth[k]),
               "others": {k: truth[k] for k in sorted(ran) if truth[k] and truth[k] != [k] and k not in undecided},
               "undecided": [k for k in undecided if k in ran and truth[k] != [k]]}
        lines.append(json.dumps(row, separators=(",", ":")))
    print("[\n" + ",\n".join(lines) + "\n]")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes the goldens of the conformance suite: operators' true output types, determined by other software.

    python3 tests/conformance/make_goldens.py [backend] [onnx] [contrib]      (without a name, all three)

Needs: pip install onnx onnxruntime ml_dtypes. ctest needs none of them. See README.md for the format.
"""
import glob
import os
import sys

import numpy as np
import onnx
import onnx.backend.test.case.node
from onnx import numpy_helper

import model_text
import ort_run
from model_text import data, type_text

HERE = os.path.dirname(os.path.abspath(__file__))

# Inputs, by position, whose values determine an output's shape: exporters write them as initializers.
SHAPE_ARGUMENTS = {
    "AffineGrid": [1], "BlackmanWindow": [0], "CenterCropPad": [1], "Col2Im": [1, 2], "Compress": [1], "CumProd": [1], "CumSum": [1],
    "ConstantOfShape": [0], "CropAndResize": [3], "DFT": [1, 2], "Expand": [1], "ExpandDims": [1], "Fill": [0],
    "HammingWindow": [0], "HannWindow": [0], "If": [0], "Loop": [0, 1], "MaxUnpool": [2], "MelWeightMatrix": range(5),
    "NonMaxSuppression": [2, 3, 4], "OneHot": [1], "Pad": [1, 3], "Range": [0, 1, 2], "Reshape": [1],
    "Resize": [1, 2, 3], "STFT": [1, 3], "SequenceAt": [1], "SequenceErase": [1], "SequenceInsert": [2],
    "Slice": [1, 2, 3, 4], "Split": [1], "SplitToSequence": [1], "Squeeze": [1], "Tile": [1, 2], "TopK": [1],
    "Trilu": [1], "Unsqueeze": [1], "Upsample": [1], "ConvTransposeWithDynamicPads": [2],
    "ReduceL1": [1], "ReduceL2": [1], "ReduceLogSum": [1], "ReduceLogSumExp": [1], "ReduceMax": [1],
    "ReduceMean": [1], "ReduceMin": [1], "ReduceProd": [1], "ReduceSum": [1], "ReduceSumSquare": [1],
}

# Sizes that only the data decide, even when shape arguments are known: output → axes (None: any).
DATA_DECIDES = {
    "NonZero": {0: [1]}, "Unique": {0: None, 1: None, 2: None, 3: None}, "NonMaxSuppression": {0: [0]},
    "StringSplit": {0: [-1]}, "ImageDecoder": {0: [0, 1, 2]}, "StringNormalizer": {0: None},
    "OptionalGetElement": {0: None}, "Tokenizer": {0: [-1]},
    "BifurcationDetector": {0: [0]}, "DynamicTimeWarping": {0: [1]},
}


def open_type(text, axes):
    """`text` with `?` at the axes."""
    if "[" not in text or "(" in text:
        return text
    head, dims = text[:-1].split("[")
    dims = dims.split(",") if dims else []
    for axis in range(len(dims)) if axes is None else axes:
        if -len(dims) <= axis < len(dims):
            dims[axis] = "?"
    return f"{head}[{','.join(dims)}]"


def argument_names(model, like=None):
    """Graph inputs that a node uses as shape arguments. `like`: the case of which the model is an expansion."""
    names, inputs = set(), [i.name for i in model.graph.input]
    for node in model.graph.node:
        positions = SHAPE_ARGUMENTS.get(node.op_type, [])
        names.update(node.input[p] for p in positions if p < len(node.input) and node.input[p] in inputs)
    if like is not None and len(like.graph.node) == 1 and len(like.graph.input) == len(inputs):
        wanted = argument_names(like)
        names.update(name for name, of in zip(inputs, like.graph.input) if of.name in wanted)
    return names


def line(name, model, feeds, results, arguments):
    """One golden. `feeds` and `results`: name → (Data, TypeProto)."""
    arguments = {a for a in arguments if isinstance(feeds.get(a, [None])[0], model_text.Data)
                 and "=const" not in model_text.elements_text(feeds[a][0].element, feeds[a][0].shape, feeds[a][0].array)}
    writer = model_text.Writer(model)
    graph = writer.write({k: v for k, (v, _) in feeds.items()}, arguments)
    decided = {}
    for node in model.graph.node:
        for position, axes in DATA_DECIDES.get(node.op_type, {}).items():
            if position < len(node.output):
                decided[node.output[position]] = axes
    expected, opened = [], []
    for output, (value, proto) in results.items():
        text = type_text(value, proto)
        if text is None:
            continue
        expected.append(f"{writer.name(output)}:{text}")
        if output in decided and open_type(text, decided[output]) != text:
            opened.append(f"{writer.name(output)}:{open_type(text, decided[output])}")
    return "\t".join([name, ",".join(sorted(map(writer.name, arguments))), "; ".join(expected), "; ".join(opened), graph])


def backend_cases():
    """name, model, inputs, outputs of ONNX's backend tests: the node cases and those stored in the package."""
    for case in onnx.backend.test.case.node.collect_testcases(None):
        inputs, outputs = case.data_sets[0]
        yield case.name, case.model, inputs, outputs
    root = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")
    for path in sorted(glob.glob(f"{root}/*/*/model.onnx")):
        folder = os.path.dirname(path)
        if os.path.basename(os.path.dirname(folder)) == "node":
            continue
        model = onnx.load(path)
        read = lambda kind, entries: [read_stored(f"{folder}/test_data_set_0/{kind}_{i}.pb", entry.type)
                                      for i, entry in enumerate(entries)
                                      if os.path.exists(f"{folder}/test_data_set_0/{kind}_{i}.pb")]
        fed = [i for i in model.graph.input if os.path.exists(f"{folder}/test_data_set_0/input_0.pb")]
        yield os.path.basename(folder), model, read("input", fed), read("output", model.graph.output)
    for path in sorted(glob.glob(f"{root}/light/*.onnx")):
        model = onnx.load(path)
        initializers = {t.name for t in model.graph.initializer}
        inputs = [np.zeros([d.dim_value for d in i.type.tensor_type.shape.dim], np.float32)
                  for i in model.graph.input if i.name not in initializers]
        yield os.path.basename(path)[:-5], model, inputs, [read_stored(path[:-5] + "_output_0.pb", model.graph.output[0].type)]


def read_stored(path, declared):
    kind = declared.WhichOneof("value")
    proto = {"sequence_type": onnx.SequenceProto, "optional_type": onnx.OptionalProto}.get(kind, onnx.TensorProto)()
    with open(path, "rb") as stored:
        proto.ParseFromString(stored.read())
    if kind == "sequence_type":
        return numpy_helper.to_list(proto)
    return numpy_helper.to_optional(proto) if kind == "optional_type" else proto


def backend():
    lines, models = [], {}
    for name, model, inputs, outputs in backend_cases():
        models[name] = model
        like = models.get(name.split("_expanded")[0]) if "_expanded" in name else None
        initializers = {t.name for t in model.graph.initializer}
        entries = [i for i in model.graph.input if i.name not in initializers]
        if len(inputs) == len(model.graph.input):
            entries = list(model.graph.input)
        feeds = {e.name: (data(v, e.type), e.type) for e, v in zip(entries, inputs)}
        results = {e.name: (data(v, e.type), e.type) for e, v in zip(model.graph.output, outputs)}
        lines.append(line(name, model, feeds, results, argument_names(model, like)))
    return lines


def sampled(samples):
    """Lines of (name, case) pairs, numbered, without duplicates."""
    lines, seen, numbers = [], set(), {}
    for name, case in samples:
        text = line(name, *case)
        if text in seen:
            continue
        seen.add(text)
        numbers[name] = numbers.get(name, 0) + 1
        lines.append(text.replace(name, f"{name}-{numbers[name]}", 1))
    return lines


def main():
    parts = {"backend": backend, "onnx": lambda: sampled(ort_run.onnx_samples()),
             "contrib": lambda: sampled(ort_run.contrib_samples())}
    for part in sys.argv[1:] or parts:
        lines = parts[part]()
        with open(f"{HERE}/{part}.golden", "w", encoding="utf-8") as file:
            file.write("# name\tshape arguments\toutputs\tsizes that the data decide\tgraph\n")
            file.writelines(f"{entry}\n" for entry in lines)
        print(f"{part}: {len(lines)} cases")


if __name__ == "__main__":
    main()

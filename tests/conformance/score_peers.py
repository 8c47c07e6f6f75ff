#!/usr/bin/env python3
"""Scores other tools' inference on ONNX's backend cases: the peers' columns in the README's coverage table.

    python3 tests/conformance/score_peers.py [shape_inference] [symbolic_shape_infer] [onnx_tool]

Needs: pip install onnx onnxruntime onnx-tool ml_dtypes. Prints for how many operators of data/ops.csv each tool has a
function (by domain and name, where it distinguishes domains), and how many cases agree. Cases are set up as in
conformance_test: shape arguments are initializers, declared output shapes are removed. A case agrees if every output
tensor has its true element type and sizes; a size that the data decide may be open. onnx-tool also gets the true
inputs, since it infers from them, and its element types are ignored.
"""
import contextlib
import io
import os
import signal
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import make_goldens
from model_text import Data, data, tensor_text, type_text

SECONDS = 20  # per case


def asked(model, inputs, like):
    """The model as the suite sets it up, and its remaining inputs as arrays. `like`: the case that it expands."""
    arguments, feeds = make_goldens.argument_names(model, like), {}
    model = onnx.ModelProto.FromString(model.SerializeToString())
    initializers = {t.name for t in model.graph.initializer}
    entries = [i for i in model.graph.input if i.name not in initializers or len(inputs) == len(model.graph.input)]
    for entry, value in zip(entries, inputs):
        found = data(value, entry.type)
        if isinstance(found, Data) and found.array is not None:
            if entry.name in arguments:
                tensor = value if isinstance(value, TensorProto) else numpy_helper.from_array(np.asarray(found.array))
                tensor.name = entry.name
                model.graph.initializer.append(tensor)
                model.graph.input.remove(entry)
            else:
                feeds[entry.name] = np.asarray(found.array)
    del model.graph.value_info[:]
    for output in model.graph.output:
        if output.type.WhichOneof("value") == "tensor_type":
            output.type.tensor_type.ClearField("shape")
    return model, feeds


def declared(model):
    """Outputs of an inferred model: name → text, with `?` for open sizes."""
    result = {}
    for output in model.graph.output:
        tensor = output.type.tensor_type
        if output.type.WhichOneof("value") == "tensor_type" and tensor.elem_type:
            shape = [d.dim_value if d.HasField("dim_value") else "?" for d in tensor.shape.dim]
            result[output.name] = tensor_text(tensor.elem_type, shape if tensor.HasField("shape") else None)
    return result


def shape_inference(model, feeds):
    return declared(onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True))


def symbolic_shape_infer(model, feeds):
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference
    return declared(SymbolicShapeInference.infer_shapes(model, int_max=2**31 - 1, auto_merge=True))


def onnx_tool(model, feeds):
    import onnx_tool as tool
    graph = tool.Model(model, {"verbose": False}).graph
    graph.shape_infer(feeds)
    result = {}
    for output in model.graph.output:
        tensor = graph.tensormap[output.name]
        result[output.name] = tensor_text(output.type.tensor_type.elem_type, [int(n) for n in tensor.get_shape()])
    return result


def expected(model, outputs):
    """Output tensors: name → true types, and, if the data decide a size, also the type with `?` for it."""
    decided = {node.output[position]: axes for node in model.graph.node
               for position, axes in make_goldens.DATA_DECIDES.get(node.op_type, {}).items() if position < len(node.output)}
    result = {}
    for entry, value in zip(model.graph.output, outputs):
        text = type_text(data(value, entry.type), entry.type)
        if text is not None and "(" not in text:
            result[entry.name] = text, make_goldens.open_type(text, decided[entry.name]) if entry.name in decided else text
    return result


def agrees(got, truth, may_be_open):
    if got == truth:
        return True
    if got is None or "[" not in got or got.split("[")[0] != truth.split("[")[0]:
        return False
    found, sizes, marks = ([*text[:-1].split("[")[1].split(",")] for text in (got, truth, may_be_open))
    return len(found) == len(sizes) and all(f == s or (f == "?" and m == "?") for f, s, m in zip(found, sizes, marks))


def known_operators():
    """Peer → operators of data/ops.csv, as (domain, name), for which it has a function."""
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference
    from onnx_tool.node import NODE_REGISTRY
    with open(os.path.join(make_goldens.HERE, "../../data/ops.csv"), encoding="utf-8") as file:
        listed = {tuple(line.split(",")[:2]) for line in file.readlines()[2:]}
    own = {(s.domain or "ai.onnx", s.name) for s in onnx.defs.get_all_schemas()
           if s.has_type_and_shape_inference_function or s.has_function or s.has_context_dependent_function}
    dispatched = SymbolicShapeInference(2**31 - 1, True, 0, 0).dispatcher_
    by_name = lambda names: {op for op in listed if op[1] in names}
    return listed, {"shape_inference": listed & own, "symbolic_shape_infer": listed & own | by_name(dispatched),
                    "onnx_tool": by_name({name.removesuffix("Node") for name in NODE_REGISTRY._obj_map})}


def stop(*_):
    raise TimeoutError


def main():
    signal.signal(signal.SIGALRM, stop)
    peers = {peer.__name__: peer for peer in (shape_inference, symbolic_shape_infer, onnx_tool)}
    names = sys.argv[1:] or list(peers)
    right, failed, models = dict.fromkeys(names, 0), dict.fromkeys(names, 0), {}
    for case, model, inputs, outputs in make_goldens.backend_cases():
        truth = expected(model, outputs)
        models[case] = model
        question, feeds = asked(model, inputs, models.get(case.split("_expanded")[0]) if "_expanded" in case else None)
        for name in names:
            copy = onnx.ModelProto.FromString(question.SerializeToString())
            signal.alarm(SECONDS)
            try:
                with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                    got = peers[name](copy, feeds)
            except (Exception, SystemExit):
                failed[name] += 1
                continue
            finally:
                signal.alarm(0)
            right[name] += all(agrees(got.get(output), *texts) for output, texts in truth.items())
    listed, known = known_operators()
    for name in names:
        print(f"{name}: {len(known[name])} of {len(listed)} operators")
        print(f"{name}: {right[name]} of {len(models)} cases, {100 * right[name] / len(models):.1f} %; "
              f"{failed[name]} end in an error")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:   # symbolic_shape_infer writes files to the current folder
        os.chdir(folder)
        main()

"""Single-op models run by ONNX Runtime on the CPU: the types of their outputs."""
import re

import numpy as np
import onnxruntime
from onnx import TensorProto, defs, helper, numpy_helper

import contrib_cases
import ml_cases  # adds to contrib_cases.CASES
import model_text
import neural_cases  # adds to onnx_cases.SAMPLERS
import onnx_cases
import runtime_cases  # adds to contrib_cases.CASES

# Runtimes lag behind the standard: this is the newest opset that the installed one supports.
NEWEST_OPSET = 24
SAMPLES = 5  # per version of each operator
TYPES = {"tensor(float)": 1, "tensor(uint8)": 2, "tensor(int8)": 3, "tensor(uint16)": 4, "tensor(int16)": 5,
         "tensor(int32)": 6, "tensor(int64)": 7, "tensor(string)": 8, "tensor(bool)": 9, "tensor(float16)": 10,
         "tensor(double)": 11, "tensor(uint32)": 12, "tensor(uint64)": 13}
NUMPY = {name: helper.tensor_dtype_to_np_dtype(number) for name, number in TYPES.items() if number != 8}

onnxruntime.set_default_logger_severity(4)
options = onnxruntime.SessionOptions()
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
options.intra_op_num_threads = 1


def run(op, inputs, attributes, outputs, opsets, output_types=None):
    """(model, feeds, results, names of initializers) for make_goldens.line, or None if the runtime refuses.

    `inputs`: arrays, Fixed, None. `outputs`: a number, or the positions wanted. `output_types`: position → type, for
    types that the runtime does not report.
    """
    names, entries, initializers, feeds, fed = [], [], [], {}, {}
    inputs = list(inputs)
    while inputs and inputs[-1] is None:
        inputs.pop()
    for i, value in enumerate(inputs):
        names.append("" if value is None else f"x{i}")
        if value is None:
            continue
        is_fixed = isinstance(value, onnx_cases.Fixed)
        array = np.asarray(value.array if is_fixed else value)
        element = TensorProto.STRING if array.dtype == object else helper.np_dtype_to_tensor_dtype(array.dtype)
        entry = helper.make_tensor_value_info(names[-1], element, array.shape)
        if is_fixed:
            initializers.append(numpy_helper.from_array(array, names[-1]))
        else:
            fed[names[-1]] = array
        feeds[names[-1]] = (model_text.data(array, entry.type), entry.type)
        entries.append(entry)
    wanted = range(outputs) if isinstance(outputs, int) else outputs
    results = [f"y{i}" if i in wanted else "" for i in range(max(wanted) + 1)]
    node = helper.make_node(op, names, results, domain=next((d for d in opsets if d), ""), **attributes)
    declared = [helper.make_tensor_value_info(n, (output_types or {})[int(n[1:])], None)
                if output_types and int(n[1:]) in output_types else helper.make_empty_tensor_value_info(n)
                for n in results if n]
    graph = helper.make_graph([node], "g", [e for e in entries if e.name in fed], declared, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(d, v) for d, v in opsets.items()], ir_version=10)
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        values = session.run(None, fed)
    except Exception:
        return None
    found = {}
    for output, value in zip(session.get_outputs(), values):
        if output.type in TYPES:
            found[output.name] = (model_text.Data(TYPES[output.type], np.shape(value)), None)
        elif maps := re.fullmatch(r"seq\(map\((\w+),(tensor\(\w+\))\)\)", output.type):
            key, held = TYPES[f"tensor({maps[1]})"], helper.make_tensor_type_proto(TYPES[maps[2]], None)
            found[output.name] = (None, helper.make_sequence_type_proto(helper.make_map_type_proto(key, held)))
    # Written with all inputs listed, so that shape arguments can also be fed.
    del model.graph.input[:], model.graph.initializer[:]
    model.graph.input.extend(entries)
    return (model, feeds, found, {t.name for t in initializers}) if found else None


def variants(op, opset, inputs):
    """The inputs with other element types, where the schema allows them for inputs of the same type as input 0."""
    try:
        schema = defs.get_schema(op, opset, "")
    except defs.SchemaError:
        return
    if not schema.inputs or not inputs:
        return
    constrained = schema.inputs[0].type_str
    allowed = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}.get(constrained, [])
    for name in sorted(allowed):
        if name not in NUMPY:
            continue
        formal = lambda i: schema.inputs[min(i, len(schema.inputs) - 1)].type_str
        yield [np.asarray(x).astype(NUMPY[name]) if isinstance(x, np.ndarray) and formal(i) == constrained else x
               for i, x in enumerate(inputs)]


def onnx_samples(samples=SAMPLES, seed=0, all_types=False):
    """(name, case) of samples of every operator at each of its versions, and for each type that input 0 may have.

    `samples`: per version. `all_types`: every sample in all types, not only the first.
    """
    versions = {}
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == "":
            versions.setdefault(schema.name, set()).add(schema.since_version)
    for index, sampler in enumerate(onnx_cases.SAMPLERS):
        source = onnx_cases.Source(index if seed == 0 else [seed, index])
        probe = next(filter(None, (sampler(onnx_cases.Source(index), o) for o in (NEWEST_OPSET, 9))))[0]
        for opset in sorted({max(v, 7) for v in versions[probe] | versions.get("Scatter" if probe == "ScatterElements" else probe, set())}):
            if opset > NEWEST_OPSET:
                continue
            kept = 0
            for _ in range(6 * samples):
                sample = sampler(source, opset)
                if sample is None or kept == samples:
                    break
                op, inputs, attributes, outputs = sample
                case = run(op, inputs, attributes, outputs, {"": opset})
                if case is None:
                    continue
                kept += 1
                yield f"{op}-{opset}", case
                if kept == 1 or all_types:
                    for other in variants(op, opset, inputs):
                        case = run(op, other, attributes, outputs, {"": opset})
                        if case is not None:
                            yield f"{op}-{opset}", case


def contrib_samples():
    """(name, case) of the hand-written models, for domains where only one version of each operator matters."""
    for op, inputs, attributes, outputs, domain, opset, types in contrib_cases.CASES:
        case = run(op, inputs, attributes, outputs, {"": 20, domain: opset}, types)
        if case is None:
            print(f"not run by this runtime: {domain}.{op}")
        else:
            yield f"{op}-{opset}", case

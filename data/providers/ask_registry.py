#!/usr/bin/env python3
"""Writes the kernels of a provider of ONNX Runtime into its file here, as the installed runtime prints them.

    python ask_registry.py cuda        # in an environment with onnx and the onnxruntime that has the provider

Kernels, operator versions, type constraints and the release change; everything that a person states stays: the operands
that a kernel keeps in host memory, the conditions, the source. A release of the runtime is then one command and a diff.
WebGPU does not print its kernels: ask_webgpu.py learns them, and the operands in host memory, by single operators.
Operators: `versions` lists each version with the constraints of its inputs and outputs, a star after the last one where
it repeats. Kernels: first version, last version (null: no end), types by constraint.
"""
import json
import pathlib
import re
import sys
import textwrap

NAMES = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider", "webgpu": "WebGpuExecutionProvider"}
LEARNED = {"webgpu"}
SHORT = {"float": "float32", "double": "float64"}
OPEN = 2**31 - 1


def short(type_name):
    """tensor(float) is float32, seq(tensor(float)) is seq(float32)."""
    inner = re.fullmatch(r"tensor\((\w+)\)", type_name)
    if inner:
        return SHORT.get(inner[1], inner[1])
    inner = re.fullmatch(r"seq\(tensor\((\w+)\)\)", type_name)
    return f"seq({SHORT.get(inner[1], inner[1])})" if inner else None


def versions_of(schemas):
    """The versions of an operator, with the constraints of their operands."""
    rows = []
    for schema in sorted(schemas, key=lambda each: each.since_version):
        def names(operands):
            listed = [operand.typeStr if hasattr(operand, "typeStr") else operand.type_str for operand in operands]
            variadic = operands and str(operands[-1].option).endswith("Variadic")
            return " ".join(listed) + ("*" if variadic else "")
        rows.append([schema.since_version, names(schema.inputs), names(schema.outputs)])
    return rows


def printed(runtime, provider):
    """The kernels of a provider that prints them, by operator: first version, last version, types by constraint."""
    kernels = {}
    for kernel in runtime.get_all_opkernel_def():
        if kernel.provider == provider and kernel.domain != "com.ms.internal.nhwc":
            first, last = kernel.version_range
            kernels.setdefault(key_of(kernel.domain, kernel.op_name), []).append(
                [first, None if last == OPEN else last, kernel.type_constraints])
    return kernels


def key_of(domain, name):
    return name if domain in ("", "ai.onnx") else f"{domain}.{name}"


def line_of(name, versions, kernels):
    """An operator's line of the file: its versions and its kernels in the notation that the schema describes."""
    row = {"versions": "; ".join(" ".join(filter(None, (str(since), inputs, ">", outputs)))
                                 for since, inputs, outputs in versions),
           "kernels": "; ".join(f"{first}-{last or ''}" + "".join(
               f"{',' if i else ''} {constraint}: {listed}" for i, (constraint, listed) in enumerate(types.items()))
               for first, last, types in kernels)}
    return f"  {json.dumps(name)}: {json.dumps(row, separators=(',', ':'))}"


def main(identifier):
    import onnx
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as runtime

    path = pathlib.Path(__file__).with_name(identifier + ".json")
    provider = NAMES[identifier.split("-")[0]]
    text = path.read_text()
    schemas = {}
    for schema in list(onnx.defs.get_all_schemas_with_history()) + list(runtime.get_all_operator_schema()):
        if schema.domain != "com.ms.internal.nhwc":
            schemas.setdefault(key_of(schema.domain, schema.name), {})[schema.since_version] = schema
    if identifier in LEARNED:
        import ask_webgpu
        kernels, hosts, errors = ask_webgpu.learn(schemas, provider)
        for side, host in zip(("host_inputs", "host_outputs"), hosts):
            items = [f'"{key}": {places}'.replace(" ", "\0") for key, places in host.items()]  # lines break between
            listed = textwrap.indent(textwrap.fill(", ".join(items), 118), "  ").replace("\0", " ")
            text = re.sub(rf'"{side}": \{{.*?\}}', lambda _: f'"{side}": {{\n{listed}\n }}', text, flags=re.DOTALL)
        for operator, error in errors.items():
            print(f"not asked: {operator}: {error}", file=sys.stderr)
    else:
        kernels = printed(runtime, provider)
    for rows in kernels.values():
        for row in rows:
            row[2] = {name: sorted(filter(None, map(short, listed))) for name, listed in row[2].items()}
    lines = []
    for name in sorted(kernels):
        merged = {}  # kernels that differ in one constraint's types are one
        for first, last, types in kernels[name]:
            if len(types) <= 1:
                joined = merged.setdefault((first, last or 0, tuple(types)), [first, last, {}])[2]
                for constraint, listed in types.items():
                    joined[constraint] = sorted(set(joined.get(constraint, [])) | set(listed))
            else:
                merged[(first, last or 0, json.dumps(types, sort_keys=True))] = [first, last, types]
        rows = [[first, last, {c: " ".join(t) for c, t in types.items()}] for first, last, types in merged.values()]
        lines.append(line_of(name, versions_of(schemas[name].values()),
                             sorted(rows, key=lambda row: (row[0], json.dumps(row[2])))))
    # What a person wrote keeps its lines.
    written = re.sub(r',\n "operators": \{.*', "\n}\n", text, flags=re.DOTALL).rstrip().removesuffix("}").rstrip()
    written = re.sub(r'"version": "[^"]*"', f'"version": "{onnxruntime.__version__}"', written, count=1)
    path.write_text(written + ',\n "operators": {\n' + ",\n".join(lines) + "\n }\n}\n")
    print(f"{path.name}: {len(kernels)} operators of onnxruntime {onnxruntime.__version__}")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].split("-")[0] not in NAMES:
        sys.exit(f"usage: python ask_registry.py {'|'.join(NAMES)}, or of a further release with a file here: cuda-1.23")
    main(sys.argv[1])

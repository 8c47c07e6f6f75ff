#!/usr/bin/env python3
"""Writes the kernels of a provider of ONNX Runtime into its file here, as the installed runtime prints them.

    python ask_registry.py cuda        # in an environment with onnx and the onnxruntime that has the provider

Kernels, operator versions, type constraints and the release change; everything that a person states stays: the operands
that a kernel keeps in host memory, the conditions, the source. A release of the runtime is then one command and a diff.
Operators: `versions` lists each version with the constraints of its inputs and outputs, a star after the last one where
it repeats. Kernels: first version, last version (null: no end), types by constraint.
"""
import json
import pathlib
import re
import sys

NAMES = {"cuda": "CUDAExecutionProvider"}
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


def main(identifier):
    import onnx
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as runtime

    path = pathlib.Path(__file__).with_name(identifier + ".json")
    text = path.read_text()
    kernels = {}
    for kernel in runtime.get_all_opkernel_def():
        if kernel.provider != NAMES[identifier] or kernel.domain == "com.ms.internal.nhwc":
            continue
        first, last = kernel.version_range
        types = {name: sorted(filter(None, map(short, listed))) for name, listed in kernel.type_constraints.items()}
        key = kernel.op_name if kernel.domain in ("", "ai.onnx") else f"{kernel.domain}.{kernel.op_name}"
        kernels.setdefault(key, []).append([first, None if last == OPEN else last, types])
    schemas = {}
    for schema in list(onnx.defs.get_all_schemas_with_history()) + list(runtime.get_all_operator_schema()):
        key = schema.name if schema.domain in ("", "ai.onnx") else f"{schema.domain}.{schema.name}"
        schemas.setdefault(key, {})[schema.since_version] = schema
    operators = {}
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
        operators[name] = {"versions": versions_of(schemas[name].values()),
                           "kernels": sorted(rows, key=lambda row: (row[0], json.dumps(row[2])))}
    lines = [f"  {json.dumps(name)}: {json.dumps(row, separators=(',', ':'))}" for name, row in operators.items()]
    # What a person wrote keeps its lines.
    written = re.sub(r',\n "operators": \{.*', "\n}\n", text, flags=re.DOTALL).rstrip().removesuffix("}").rstrip()
    written = re.sub(r'"version": "[^"]*"', f'"version": "{onnxruntime.__version__}"', written, count=1)
    path.write_text(written + ',\n "operators": {\n' + ",\n".join(lines) + "\n }\n}\n")
    print(f"{path.name}: {len(kernels)} operators of onnxruntime {onnxruntime.__version__}")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in NAMES:
        sys.exit(f"usage: python ask_registry.py {'|'.join(NAMES)}")
    main(sys.argv[1])

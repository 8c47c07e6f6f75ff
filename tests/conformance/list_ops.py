#!/usr/bin/env python3
"""Writes data/ops.csv: every operator that the installed onnx and onnxruntime define.

    python3 tests/conformance/list_ops.py > data/ops.csv

Needs: pip install onnx onnxruntime. conformance_test fails on a listed operator without a rule, so after a new release
of either package, this script and one run of ctest show what is missing.
"""
import collections
import csv
import sys

import onnx
import onnxruntime
from onnx import defs
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

# Element types by the names that Pagoda prints; a group stands for all of its types.
NAMES = {"float": "float32", "double": "float64"}
GROUPS = {
    "float16-64": ["float16", "float32", "float64"],
    "int8-64": ["int8", "int16", "int32", "int64"],
    "uint8-64": ["uint8", "uint16", "uint32", "uint64"],
    "float8": ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"],
    "int4": ["int4", "uint4"],
    "int2": ["int2", "uint2"],
    "complex": ["complex64", "complex128"],
}
# Constraints that allow more than this are "any": the remaining formats came with later opsets.
ANY = {*GROUPS["float16-64"], *GROUPS["int8-64"], *GROUPS["uint8-64"], *GROUPS["complex"], "bool", "string"}


def names_of(elements):
    """ "float16-64 bfloat16" for a set of element types."""
    if ANY <= elements:
        return "any"
    words = []
    for group, types in GROUPS.items():
        if set(types) <= elements:
            words.append(group)
            elements = elements - set(types)
    return " ".join(words + sorted(elements))


def listed(elements, wrapper):
    return ", ".join(sorted(elements)) if wrapper.endswith("map(") else names_of(elements)


def element(text):
    return NAMES.get(text, text)


def described(types):
    """ "float16-64 bfloat16" for tensors of these types; "seq(any)" for sequences of any tensor."""
    held = collections.defaultdict(set)
    for text in types:
        wrapper = ""
        while not text.startswith(("tensor(", "map(", "sparse_tensor(")) and "(" in text:
            outer, text = text.split("(", 1)
            wrapper, text = f"{wrapper}{outer}(", text[:-1]
        if text.startswith("map("):
            key, value = text[4:-1].replace("tensor(", "").replace(")", "").split(",")
            held[wrapper + "map("].add(f"{element(key.strip())} to {element(value.strip())}")
        elif text.startswith("sparse_tensor("):
            held[wrapper + "sparse("].add(element(text[len("sparse_tensor("):-1]))
        else:
            held[wrapper].add(element(text.removeprefix("tensor(").removesuffix(")")))
    return " ".join(f"{wrapper}{listed(elements, wrapper)}{')' * wrapper.count('(')}" for wrapper, elements in held.items())


def types_of(schema):
    """ "X W B?: T -> Y: T; T = float16-64 bfloat16" of a schema: names of the standard, ? optional, * repeated."""
    onnx_own = isinstance(schema, defs.OpSchema)

    def side(parameters):
        groups = []
        for p in parameters:
            kind = (p.type_str if onnx_own else p.typeStr).replace("tensor(", "").replace(")", "")
            mark = {"Optional": "?", "Variadic": "*"}.get(str(p.option).split(".")[-1], "")
            kind = element(kind)
            if groups and groups[-1][1] == kind:
                groups[-1][0].append(p.name + mark)
            else:
                groups.append(([p.name + mark], kind))
        return ", ".join(f"{' '.join(names)}: {kind}" for names, kind in groups)

    used = {p.type_str if onnx_own else p.typeStr for p in [*schema.inputs, *schema.outputs]}
    names = collections.defaultdict(list)
    for constraint in schema.type_constraints:
        if constraint.type_param_str in used:
            names[described(constraint.allowed_type_strs)].append(constraint.type_param_str)
    where = [f"{', '.join(parameters)} = {types}" for types, parameters in names.items()]
    return "; ".join([f"{side(schema.inputs)} -> {side(schema.outputs)}".strip(), *where])


# ONNX Runtime adds com.microsoft; com.microsoft.nchwc and com.ms.internal.nhwc, which its layout transformations leave
# in saved models; and, in ONNX's own domain, experiments that ONNX withdrew before 1.3, TensorRT plugins and copies.
onnx_schemas = list(defs.get_all_schemas_with_history())
onnx_ops = {(s.domain, s.name) for s in onnx_schemas}
schemas = onnx_schemas + list(get_all_operator_schema())

versions = collections.defaultdict(dict)
newest = {}
for schema in schemas:
    key = schema.domain, schema.name
    deprecated = versions[key].get(schema.since_version, False)
    versions[key][schema.since_version] = deprecated or schema.deprecated
    # A deprecated version states no types.
    if not schema.deprecated and (key not in newest or newest[key].since_version < schema.since_version):
        newest[key] = schema

print(f"# onnx {onnx.__version__}, onnxruntime {onnxruntime.__version__}")
rows = csv.writer(sys.stdout, lineterminator="\n")
rows.writerow(["domain", "op", "since_versions", "deprecated_since", "defined_by", "types"])
for (domain, op), since in sorted(versions.items()):
    deprecated = min((v for v, is_deprecated in since.items() if is_deprecated), default="")
    source = "onnx" if (domain, op) in onnx_ops else "onnxruntime"
    types = types_of(newest[domain, op]) if (domain, op) in newest else ""
    rows.writerow([domain or "ai.onnx", op, " ".join(map(str, sorted(since))), deprecated, source, types])

#!/usr/bin/env python3
"""Writes the kernels of a provider of ONNX Runtime into its file here, as the runtime's OperatorKernels.md lists them.

    python read_operator_kernels.py OperatorKernels.md directml [RELEASE]     # in an environment with onnx and onnxruntime

For providers that have no Linux build, so that ask_registry.py cannot ask them. The document (docs/ of the runtime) has
a table for each provider: operator, operands, versions, types by constraint. Which version of an operator has which
operands comes from onnx and onnxruntime; an operator that neither knows is left out and named on stderr. Everything that
a person wrote in the file stays; RELEASE, if given, becomes its version.
"""
import json
import pathlib
import re
import sys

from ask_registry import line_of, short, versions_of

NAMES = {"directml": "DmlExecutionProvider"}


def rows_of(document, provider):
    """Operator, first version, last version or None, types by constraint: in the order of the document."""
    section = document.partition(f"## Operators implemented by {provider}\n")[2].partition("\n## Operators")[0]
    domain = operator = ""
    for line in section.splitlines():
        if heading := re.match(r"\|\*\*Operator Domain:\*\* \*([\w.]+)\*\|", line):
            domain = "" if heading[1] == "ai.onnx" else heading[1] + "."
        row = re.fullmatch(r"\|(\w*)\|[^|]*\|(?:(\d+)(\+?)|\[(\d+), (\d+)\])\|(.*)\|", line)
        if not row:
            continue
        name, version, is_open, first, last, text = row.groups()
        operator = domain + name if name else operator
        first, last = (version, None if is_open else version) if version else (first, last)
        types = {}
        for constraint, listed in re.findall(r"\*\*(\w+)\*\* = (.*?)(?=<br/>|$)", text):
            names = sorted(filter(None, map(short, listed.split(", "))))  # optional(…) has no short name
            types[constraint] = " ".join(names)
        yield operator, int(first), int(last) if last else None, types


def schemas():
    """Versions of each operator that onnx or onnxruntime knows."""
    import onnx
    from onnxruntime.capi import onnxruntime_pybind11_state as runtime

    known = {}
    for schema in list(onnx.defs.get_all_schemas_with_history()) + list(runtime.get_all_operator_schema()):
        key = schema.name if schema.domain in ("", "ai.onnx") else f"{schema.domain}.{schema.name}"
        known.setdefault(key, {})[schema.since_version] = schema
    return known


def main(document, identifier, release=None):
    path = pathlib.Path(__file__).with_name(identifier + ".json")
    kernels = {}
    for operator, *kernel in rows_of(pathlib.Path(document).read_text(), NAMES[identifier]):
        kernels.setdefault(operator, []).append(kernel)
    if not kernels:
        sys.exit(f"{document}: no kernels of {NAMES[identifier]} found; expected the runtime's docs/OperatorKernels.md")
    known = schemas()
    lines = []
    for name in sorted(kernels):
        if name not in known:
            print(f"left out, not an operator of onnx or onnxruntime: {name}", file=sys.stderr)
            continue
        lines.append(line_of(name, versions_of(known[name].values()),
                             sorted(kernels[name], key=lambda kernel: (kernel[0], json.dumps(kernel[2])))))
    # What a person wrote keeps its lines.
    written = re.sub(r',\n "operators": \{.*', "\n}\n", path.read_text(), flags=re.DOTALL)
    written = written.rstrip().removesuffix("}").rstrip()
    if release:
        written = re.sub(r'"version": "[^"]*"', f'"version": "{release}"', written, count=1)
    path.write_text(written + ',\n "operators": {\n' + ",\n".join(lines) + "\n }\n}\n")
    print(f"{path.name}: {len(lines)} operators of {NAMES[identifier]}")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[2] not in NAMES:
        sys.exit(f"usage: python read_operator_kernels.py OperatorKernels.md {'|'.join(NAMES)} [RELEASE]")
    main(*sys.argv[1:])

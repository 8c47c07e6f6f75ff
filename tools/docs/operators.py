#!/usr/bin/env python3
"""Writes docs/operators.md, the reference of every operator's row, from onnx-estimate --list-ops.

    tools/docs/operators.py [ONNX-ESTIMATE] > docs/operators.md
"""
import json
import subprocess
import sys

DOMAINS = {
    "ai.onnx": "the standard's operators",
    "ai.onnx.ml": "classical machine learning",
    "ai.onnx.preview.training": "optimizers and gradients",
    "ai.onnx.training": "optimizers and gradients",
    "com.microsoft": "ONNX Runtime's operators: what its optimizers, quantisers and model builders write",
    "com.microsoft.nchwc": "convolutions in blocks of channels, as ONNX Runtime's CPU optimizer writes them",
    "com.ms.internal.nhwc": "operators with channels last, as ONNX Runtime's layout optimizer writes them",
    "finn.custom_op.general": "as qonnx.custom_op.general, in files of FINN",
    "onnx.brevitas": "as qonnx.custom_op.general, in files of Brevitas",
    "qonnx.custom_op.general": "quantisation to any number of bits; values stay floats, and count as stored",
    "trt": "conversions to 8 and 4 bits, as NVIDIA's Model Optimizer writes them for TensorRT",
}
HEAD = """# Operators

Every operator that has a row, with the opsets that define it, its work in words and its types, as `onnx-estimate --list-ops --format json` prints it. An
element is one of the output unless the text says otherwise. [Counting](counting.md) says what a MAC, an arithmetic operation and a special function are. Bytes follow from types and sizes.
*Value* marks operators whose small integer results are computed, because sizes may depend on them. Types are those of the newest version that states them, by
ONNX's names: `?` marks what may be left out, `*` any number. `float16-64` is float16, float32 and float64, `int8-64` and `uint8-64` are the four integers of
8 to 64 bits, `float8` the four formats with a mantissa, `any` every type of the standard.
"""


def escape(text):
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;").replace("->", "→")


def reference(listing):
    domains = {}
    for row in listing["operators"]:
        domains.setdefault(row["domain"], []).append(row)
    parts = [HEAD]
    for domain, rows in domains.items():
        note = DOMAINS.get(domain)
        parts.append(f"## {domain}\n{len(rows)} operator{'s' * (len(rows) != 1)}" + (f": {note}.\n" if note else ".\n"))
        parts.append("| operator | opsets | value | work | types |\n|---|---|---|---|---|\n" + "\n".join(
            f"| {row['op_type']} | {row['opsets']} | {'yes' if row['folds'] else ''} | {escape(row['work'])} | {escape(row['types'])} |"
            for row in rows) + "\n")
    return "\n".join(parts)


def main():
    tool = sys.argv[1] if len(sys.argv) > 1 else "onnx-estimate"
    listing = subprocess.run([tool, "--list-ops", "--format", "json"], check=True, capture_output=True, text=True).stdout
    sys.stdout.write(reference(json.loads(listing)))


if __name__ == "__main__":
    main()

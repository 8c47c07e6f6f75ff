#!/usr/bin/env python3
"""Compares an export at one size, analysed at another size, with the export at that other size.

    python tests/resize/compare.py export -o DIR [--only NAME…]
    python tests/resize/compare.py compare DIR --estimate build/dev/tools/onnx-estimate [--only NAME…] [--verbose]

`export` writes DIR/NAME.EXPORTER.HEIGHTxWIDTH.onnx without weights, by both exporters of PyTorch, at the three sizes of
the network's row. `compare` analyses every file at the two other sizes of its row and compares the totals (multiply-
accumulates, arithmetic, special functions, bytes) and the shape of every computed tensor with the file exported at that
size; different parameters are counted separately. An answer is equal, refused (with the node that fixes the size) or
wrong; one wrong answer makes the exit code 1.
`export` needs torch, torchvision, timm, transformers, onnx and onnxscript; `compare` needs Python alone. README.md has
the figures and versions, networks.py the table.
"""
from __future__ import annotations

import argparse
import collections
import json
import subprocess
import sys
import time
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from networks import ROWS, Inputs, Row, Size

EXPORTERS = ("torchscript", "dynamo")
OPSET = 18


# ---------------------------------------------------------------------------------------------------------------
# Exports
# ---------------------------------------------------------------------------------------------------------------

def strip(proto, least: int = 1024) -> None:
    """Removes all but sizes and small values, which the estimator reads."""
    def strip_tensor(tensor) -> None:
        count = 1
        for size in tensor.dims:
            count *= size
        if count < least:
            return
        for name in ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
            tensor.ClearField(name)
        tensor.data_location = 1
        del tensor.external_data[:]
        entry = tensor.external_data.add()
        entry.key, entry.value = "location", "<left out>"

    def strip_graph(graph) -> None:
        for tensor in graph.initializer:
            strip_tensor(tensor)
        del graph.value_info[:]
        for node in graph.node:
            kept = [entry for entry in node.metadata_props if not entry.key.startswith("pkg.")]
            del node.metadata_props[:]
            node.metadata_props.extend(kept)
            node.doc_string = ""
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    strip_tensor(attribute.t)
                if attribute.HasField("g"):
                    strip_graph(attribute.g)

    strip_graph(proto.graph)
    del proto.graph.metadata_props[:]
    del proto.metadata_props[:]
    for function in proto.functions:
        del function.value_info[:]
        for node in function.node:
            del node.metadata_props[:]
            node.doc_string = ""


def export(row: Row, exporter: str, size: Size, folder: Path) -> None:
    import onnx
    import torch
    path = folder / f"{row.name}.{exporter}.{size[0]}x{size[1]}.onnx"
    if path.exists():
        return
    model = row.build(size).eval()
    inputs = row.inputs(size)
    names = list(inputs)
    values = tuple(torch.ones(shape, dtype=getattr(torch, element)) for element, shape in inputs.values())
    whole = path.with_suffix(".whole")
    if exporter == "dynamo":
        program = torch.onnx.export(model, values, dynamo=True, verbose=False, opset_version=OPSET, input_names=names)
        program.save(str(whole), external_data=False)
    else:
        torch.onnx.export(model, values, str(whole), dynamo=False, opset_version=OPSET, input_names=names)
    proto = onnx.load(str(whole))
    whole.unlink()
    strip(proto)
    onnx.save(proto, str(path))


def run_exports(rows: list[Row], exporters: list[str], folder: Path) -> int:
    import torch
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    for row in rows:
        for exporter in exporters:
            start = time.time()
            try:
                for size in row.sizes:
                    export(row, exporter, size, folder)
                print(f"{row.name} {exporter}: {time.time() - start:.0f} s", flush=True)
            except Exception as error:
                text = (traceback.format_exc().strip().splitlines() or [""])[-1]
                print(f"{row.name} {exporter}: not exported: {type(error).__name__} {text[:300]}", flush=True)
    return 0


# ---------------------------------------------------------------------------------------------------------------
# Comparison
# ---------------------------------------------------------------------------------------------------------------

def estimate(tool: Path, model: Path, inputs: Inputs) -> tuple[dict | None, str]:
    """The tool's answer, with the shapes of `inputs` asked for, and what it says on stderr."""
    command = [str(tool), str(model), "--format", "json"]
    for name, (_, shape) in inputs.items():
        command += ["--input", f"{name}={'x'.join(map(str, shape))}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip()
    return json.loads(done.stdout), done.stderr.strip()


TOTALS = ("macs", "arith", "special", "flops", "bytes_read", "bytes_written")


def worked(document: dict) -> list[tuple]:
    """Nodes that do work, each with the types and shapes of its outputs."""
    return [(node["op_type"], tuple((out["type"], tuple(out["shape"])) for out in node["outputs"]))
            for node in document["nodes"] if node.get("mark") not in ("folded", "host")]


def difference(asked: dict, exported: dict) -> str:
    """The differences between the two answers; empty if they agree."""
    texts = [f"{name} {asked['totals'][name]} for {exported['totals'][name]}" for name in TOTALS
             if asked["totals"][name] != exported["totals"][name]]
    left, right = worked(asked), worked(exported)
    if [kind for kind, _ in left] == [kind for kind, _ in right]:
        for a, b, node in zip(left, right, [n for n in asked["nodes"] if n.get("mark") not in ("folded", "host")]):
            if a != b:
                texts.append(f"{node['name']} ({a[0]}) {[s for _, s in a[1]]} for {[s for _, s in b[1]]}")
                break
    else:
        extra = collections.Counter(kind for kind, _ in left)
        extra.subtract(collections.Counter(kind for kind, _ in right))
        texts.append(f"operators differ: { {k: v for k, v in extra.items() if v} }")
    return "; ".join(texts)


def compare(rows: list[Row], folder: Path, tool: Path, verbose: bool) -> int:
    tasks = [(row, exporter, a, b) for row in rows for exporter in EXPORTERS for a in row.sizes for b in row.sizes
             if a != b and all((folder / f"{row.name}.{exporter}.{s[0]}x{s[1]}.onnx").exists() for s in (a, b))]

    def answer(task):
        row, exporter, a, b = task
        file = lambda size: folder / f"{row.name}.{exporter}.{size[0]}x{size[1]}.onnx"
        asked, message = estimate(tool, file(a), row.inputs(b))
        if asked is None:
            return "refused", message
        exported, problem = estimate(tool, file(b), {})
        if exported is None:
            return "wrong", problem
        found = difference(asked, exported)
        if found:
            return "wrong", found
        params = [document["totals"]["params"] for document in (asked, exported)]
        return ("equal", "") if params[0] == params[1] else ("equal but params", f"{params[0]} for {params[1]}")

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(answer, tasks))
    by_row = collections.defaultdict(collections.Counter)
    messages = {}
    total = collections.Counter()
    for (row, exporter, a, b), (verdict, message) in zip(tasks, answers):
        by_row[row.name, exporter][verdict] += 1
        total[verdict] += 1
        if verdict != "equal" and (verbose or (row.name, exporter, verdict) not in messages):
            messages[row.name, exporter, verdict] = message
            print(f"{row.name} {exporter} {a[0]}x{a[1]} asked at {b[0]}x{b[1]}: {verdict}: {message[:600]}", flush=True)
    print()
    for (name, exporter), counts in by_row.items():
        print(f"{name:24} {exporter:12} " + "  ".join(f"{n} {v}" for v, n in sorted(counts.items())))
    print(f"\n{len(by_row)} models, {len(tasks)} requests: " + ", ".join(f"{n} {v}" for v, n in sorted(total.items())))
    return 1 if total["wrong"] else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("export", "compare"))
    parser.add_argument("folder", type=Path, nargs="?", metavar="DIR")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR")
    parser.add_argument("--estimate", type=Path, default=Path("build/dev/tools/onnx-estimate"))
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--exporter", choices=EXPORTERS)
    parser.add_argument("--verbose", action="store_true", help="every request that is not equal")
    arguments = parser.parse_args()
    rows = [row for row in ROWS if arguments.only is None or row.name in arguments.only]
    folder = arguments.output or arguments.folder
    if folder is None:
        parser.error("which folder?")
    if arguments.action == "export":
        return run_exports(rows, [arguments.exporter] if arguments.exporter else list(EXPORTERS), folder)
    return compare(rows, folder, arguments.estimate, arguments.verbose)


if __name__ == "__main__":
    sys.exit(main())

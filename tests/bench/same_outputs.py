#!/usr/bin/env python3
"""Compares what two builds print, byte for byte: same_outputs.py BEFORE AFTER [--models PATTERN] [--show N] [--only TEXT].

BEFORE and AFTER are the folders of built tools (build/release/tools). Every bundled model is analysed by both builds with
each command of COMMANDS: estimates in every format, predictions, pages, training steps, sweeps, comparisons. A difference
is printed as the command and its first differing lines; the last line counts outputs and differences. Exit code 1: some
outputs differ.
"""
import argparse
import concurrent.futures
import fnmatch
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[2]
SERVING = ["--engine", "llm-serving"]
# Arguments of onnx-estimate after the model. OUT.ext is a file that both builds write.
COMMANDS = [
    [],
    ["--format", "json"],
    ["--by", "node", "--format", "csv"],
    ["--by", "node", "--top", "8", "--device", "rtx-3090", "--predict"],
    ["--by", "type", "--format", "markdown"],
    ["--by", "type", "--format", "csv", "--device", "h200"],
    ["--by", "group", "--traffic", "fused", "--device", "h200"],
    ["--by", "group", "--traffic", "fused", "--device", "l4", "--predict", "--engine", "tensorrt", "--format", "csv"],
    ["--device", "h200", "--traffic", "fused", "--precision", "fp16", "--format", "json"],
    ["--device", "h200", "--traffic", "resident", "--batch", "4", "--format", "json"],
    ["--device", "rtx-3090", "--predict", "--batch", "2", "--format", "json"],
    ["--device", "t4", "--predict", "--engine", "tensorrt", "--precision", "int8", "--format", "json"],
    ["--device", "h100-sxm", "--what-if", "fp32,tf32,fp16,int8", "--predict", "--engine", "tensorrt", "--format", "json"],
    ["--device", "h200,l4,t4,rtx-4090", "--what-if", "fp16,fp32"],
    ["--device", "h200,l4", "--format", "csv"],
    ["--training", "--optimizer", "adam", "--device", "h200", "--by", "node", "--format", "csv"],
    ["--training", "--recompute", "sqrt", "--format", "json"],
    ["--sweep", "batch=1,2,8", "--device", "rtx-3090", "--predict", "--format", "csv"],
    ["--sweep", "batch=1,2,8", "--device", "h200", "--format", "json"],
    ["--memory", "--in-place", "--format", "json"],
    ["--memory-timeline", "OUT.csv"],
    ["--symbolic", "--by", "node", "--format", "csv"],
    ["--count", "pagoda", "--format", "json"],
    ["--count", "hardware", "--traffic", "fused"],
    ["--profile-structure", "json"],
    ["--device", "h200", "--format", "netron"],
    ["--device", "h200", "--format", "model-explorer", "--metric", "bytes"],
    ["--device", "h200", "--traffic", "fused", "-o", "OUT.html"],
    ["--device", "l4", "--precision", "int8", "-o", "OUT.svg"],
    ["--phase", "decode", "--past", "1024", "--device", "h200", "--format", "json"],
    ["--phase", "decode", "--past", "512", "--device", "h100-sxm", "--predict", *SERVING, "--tensor-parallel", "1,2",
     "--format", "json"],
    ["--phase", "decode", "--past", "512", "--device", "h100-sxm,h200", "--prompt", "512", "--predict", *SERVING],
    ["--compare", "models/skeletons/resnet50.onnx", "--format", "json"],
    ["--compare", "models/skeletons/bert_base.onnx", "--device", "h200", "--traffic", "fused"],
    ["--then", "models/skeletons/resnet50.onnx:2", "--device", "h200"],
    ["--annotate", "OUT.onnx", "--device", "h200", "--predict", "--engine", "tensorrt"],
    ["--max-flops", "1GFLOP", "--max-memory", "device", "--max-seconds", "1ms", "--device", "t4"],
]
# Of roofline-plot, with the estimate of a model.
DRAWINGS = [["-o", "OUT.html"], ["-o", "OUT.svg"], ["-o", "OUT.csv"], ["-o", "OUT.json"], ["-o", "-"],
            ["--energy", "-o", "OUT.svg"]]


def outputs(tools, tool, arguments, folder):
    """{stream or file name: bytes} of one run; the folder's own path is written as OUT."""
    files = {}
    for place, argument in enumerate(arguments):
        if argument.startswith("OUT."):
            files[argument] = os.path.join(folder, argument)
            arguments = [*arguments[:place], files[argument], *arguments[place + 1:]]
    done = subprocess.run([str(tools / tool), *arguments], cwd=ROOT, capture_output=True)
    found = {"stdout": done.stdout, "stderr": done.stderr, "exit code": str(done.returncode).encode()}
    for name, path in files.items():
        found[name] = pathlib.Path(path).read_bytes() if os.path.exists(path) else b""
    return {name: text.replace(folder.encode(), b"OUT") for name, text in found.items()}


def lines(text):
    """Long lines of pages and JSON are cut where a reader would break them."""
    return re.sub(r"([,;}>])", r"\1\n", text.decode(errors="replace")).splitlines()


def differences(old, new):
    """Lines that only one of them has, marked - and +. A diff is too slow for a page's 100,000 lines."""
    in_old, in_new = set(old), set(new)
    return [f"-{line}" for line in old if line not in in_new] + [f"+{line}" for line in new if line not in in_old]


def compare(before, after, tool, arguments):
    with tempfile.TemporaryDirectory() as folder:
        old = outputs(before, tool, arguments, folder)
    with tempfile.TemporaryDirectory() as folder:
        new = outputs(after, tool, arguments, folder)
    return [(name, old[name], new[name]) for name in old if old[name] != new[name]]


def jobs(models, before, folder):
    for model in models:
        path = model.relative_to(ROOT).as_posix()
        for arguments in COMMANDS:
            yield "onnx-estimate", [path, *arguments]
        estimate = os.path.join(folder, model.stem + ".json")
        made = subprocess.run([str(before / "onnx-estimate"), path, "--device", "h200", "--traffic", "fused", "-o", estimate],
                              cwd=ROOT, capture_output=True)
        if made.returncode == 0:
            for arguments in DRAWINGS:
                yield "roofline-plot", ["--device", "h200", "--estimate", estimate, *arguments]
    for listing in ("--list-devices", "--list-ops", "--list-engines"):
        for form in ([], ["--format", "json"]):
            yield "onnx-estimate", [listing, *form]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path)
    parser.add_argument("--models", default="*", help="of models/skeletons and models/probes, as a pattern")
    parser.add_argument("--only", default="", help="commands that contain this text")
    parser.add_argument("--show", type=int, default=6, help="lines shown of a difference")
    options = parser.parse_args()
    before, after = options.before.resolve(), options.after.resolve()
    models = [path for folder in ("skeletons", "probes") for path in sorted((ROOT / "models" / folder).glob("*.onnx"))
              if fnmatch.fnmatch(path.stem, options.models)]
    if not models:
        sys.exit(f"--models {options.models}: no bundled model has such a name")
    compared = differing = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        todo = [job for job in jobs(models, before, folder) if options.only in " ".join(job[1])]
        for (tool, arguments), found in zip(todo, pool.map(lambda job: compare(before, after, *job), todo)):
            compared += 1
            differing += bool(found)
            for name, old, new in found:
                print(f"{tool} {' '.join(arguments)}: {name} differs")
                shown = differences(lines(old), lines(new))
                print("\n".join("    " + line[:160] for line in shown[:options.show]))
    print(f"{compared} outputs of {len(models)} models compared, {differing} differ")
    return differing > 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Runs fuzz targets one after the other and appends a line per target to a log.

    cmake --workflow --preset fuzz
    python3 tests/fuzz/run.py build/fuzz/tests/fuzz --runs 1000000 [--log tests/fuzz/log.csv] [target ...]

Seeds are the sample models, every conformance case and the small models of the model set; for readers of text, the
repository's own files of that kind. New inputs found in a run stay in BUILD/corpus-TARGET, failing inputs in
BUILD/found-TARGET. Exit code 1 if a target fails.
"""
from __future__ import annotations

import argparse
import csv
import os
import re
import subprocess
import sys
import time
from pathlib import Path

# Freed memory is kept for a while to find uses after the end; of less, more runs fit, and peaks are the readers'.
SANITIZER = "quarantine_size_mb=4:malloc_context_size=3:thread_local_quarantine_size_kb=64"

# Words of each syntax, which a mutation takes as a whole.
WORDS = {
    "formula": ["floor_div(", "ceil_div(", "min(", "max(", "Mod(", "floor(", "//", "**", "%", ", ", " + ", " - ", "*"],
    "json": ["true", "false", "null", "\\u00e9", "\\ud83d\\ude00", "[]", "{}", "\":", "1e308", "-0", "1e-400"],
    "csv": ["\"\"", ",", "\r\n", "\xef\xbb\xbf", "1,234", "-1e5"],
    "sizes": ["batch=", "..", "1x3x224x224", "GiB", "MB", "true", "1e9"],
    "study": ["[measure]", "[limits]", "[models.", "model = ", "backend = ", "'torch'", "seconds = ", "\"\"\"", "#"],
}

SOURCE = Path(__file__).resolve().parents[2]
FIELDS = ["commit", "target", "executions", "seconds", "crashes", "slowest_seconds", "peak_mib", "corpus"]
LARGEST_MODEL = 16384

# Longest input in bytes, and the seeds: files by the prefix put before each, and texts.
JSON = ["{}", '{"a": [1, -2.5e3, "\\u00e9\\n", true, null], "b": {"c": {}}}', "[[[]], 1e400]"]
TARGETS: dict[str, tuple[int, list[tuple[str, str]], list[str]]] = {
    "formula": (96, [], ["past + seq", "((n//80) - 3)//2 + 1", "floor_div(a + 3, 4)*max(b, 2*c) - min(a, 7)", "a**3 % b",
                         "Max(0, ceil_div(a, b))", "-(a - -b)/3", "340282366920938463463374607431768211455*a"]),
    "sizes": (96, [], ["dbatch=8\niinput=1x3x224x224\nsbatch=1,2,4..1024", "aboxes=100\nsn=1..9,100..200\nidone=true",
                       "d=3\nda==1\nmax=1.5GiB", "1e12\nsseq=128,256..4096"]),
    "csv": (256, [("", "tests/import/data/*.csv"), ("", "data/measured/orin-agx/*.csv")], ['a,"b ""c"", d"\r\n1,"2\n3"\n']),
    "json": (256, [], JSON),
    "energy": (512, [], ["flops,bytes,seconds,joules\n1e12,2e9,0.5,30\n2e12,1e9,0.5,40\n"]),
    "documents": (4096, [("d", "data/devices/*.json"), ("k", "data/calibration/*.json"),
                         ("s", "data/calibration/serving/*.json"), ("t", "data/calibration/tensorrt/*.json"),
                         ("m", "data/measured/*.json"), ("M", "data/metrics/*.json")],
                  ['e{"schema": "pagoda.estimate/1", "tool": "t", "model": {"path": "m.onnx", "opsets": {"ai.onnx": 17}},'
                   ' "bindings": {"batch": null}, "totals": {"macs": 1, "flops": 2}, "nodes": [{"index": 0, "name": "a",'
                   ' "op_type": "Relu", "inputs": ["x"], "outputs": [{"name": "y", "type": "float32", "shape": [1, "n"]}],'
                   ' "macs": 0, "mark": "compute"}], "diagnostics": []}',
                   'r{"schema": "pagoda.result/1", "key": "0", "status": "done", "config": {"model": "m", "batch": 1}}',
                   'x{"model": "m", "backend": "torch", "device": "cpu", "batch": 1}']),
    "study": (512, [], ["name = 's'\nmodel = ['resnet18', 'a.onnx']\nbackend = 'torch'\ndevice = ['cpu', 'cuda:1']\n"
                        "batch = [1, 2, 4]\n[measure]\nseconds = 1.5\n[limits]\nmemory = '8GiB'\n[models.a]\nonnx = 'a.onnx'\n"]),
    "record": (512, [], [
        "pagoda.record\t1\nprocess\t12\tpython3 model.py\ndevice\t1\tGH100\tNVIDIA H200\ngroup\t1\t0\ta.sum\tb.sum\n"
        "peak\t1\ta.sum.peak_sustained\t1000\nlaunch\t1\t0\t0\t1\tgemm\tn\tn\tgrid 8x1x1\t1000\t64\nend\t3\n"]),
    "ort": (2048, [("", "tests/import/data/ort_*.json")], [
        '[{"cat":"Session","ts":1,"dur":9,"name":"model_run","args":{}},{"cat":"Node","ts":2,"dur":3,"name":'
        '"/a/Conv_kernel_time","args":{"op_name":"Conv","provider":"CPUExecutionProvider"}}]']),
    "tensorrt": (2048, [("", "tests/import/data/tensorrt_*.json")], []),
    "ncu": (2048, [("", "tests/import/data/ncu_*.csv")], []),
    "kineto": (2048, [("", "tests/import/data/*kineto*.json"), ("", "tests/import/data/torch_cpu.json")], []),
    "jetson": (512, [("", "tests/import/data/jetson.csv"), ("", "data/measured/orin-agx/*.csv")], []),
    "rocprof": (2048, [("", "tests/import/data/rocprof*.csv")], []),
    "nsys": (1024, [("", "tests/import/data/nsys*.csv")], []),
    "load": (4096, [], []),
    "analyze": (4096, [], []),
}


def seeds(build: Path, target: str) -> Path:
    """The folder with a target's seeds, made if it is missing."""
    models = target in ("load", "analyze")
    folder = build / ("seeds-models" if models else f"seeds-{target}")
    if folder.exists():
        return folder
    folder.mkdir(parents=True)
    if models:
        subprocess.run([build / "make_seeds", folder, SOURCE], check=True)
        for path in sorted((SOURCE / "models/skeletons").glob("*.onnx")):
            if path.stat().st_size <= LARGEST_MODEL:
                (folder / path.name).write_bytes(path.read_bytes())
    _, files, texts = TARGETS[target]
    for prefix, pattern in files:
        for path in sorted(SOURCE.glob(pattern)):
            (folder / path.name).write_bytes(prefix.encode() + path.read_bytes())
    for index, text in enumerate(texts):
        (folder / f"text{index}").write_text(text)
    return folder


def dictionary(build: Path, target: str) -> list[str]:
    if target not in WORDS:
        return []
    path = build / f"words-{target}"
    escaped = ("".join(f"\\x{b:02x}" for b in word.encode("latin-1")) for word in WORDS[target])
    path.write_text("".join(f'"{word}"\n' for word in escaped))
    return [f"-dict={path}"]


def fuzz(build: Path, target: str, options: argparse.Namespace, commit: str) -> dict[str, object]:
    corpus, found = build / f"corpus-{target}", build / f"found-{target}"
    corpus.mkdir(exist_ok=True)
    found.mkdir(exist_ok=True)
    before = set(found.iterdir())
    command = [build / f"fuzz_{target}", f"-runs={options.runs}", f"-max_total_time={options.seconds}",
               f"-max_len={TARGETS[target][0]}", "-timeout=20", "-rss_limit_mb=1024", "-print_final_stats=1", "-reload=0",
               f"-artifact_prefix={found}/", *dictionary(build, target), corpus, seeds(build, target)]
    begin = time.monotonic()
    run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
                         env={**os.environ, "ASAN_OPTIONS": SANITIZER})
    seconds = time.monotonic() - begin
    new = set(found.iterdir()) - before
    if run.returncode != 0:
        print(run.stderr[-4000:], file=sys.stderr)

    def stated(pattern: str) -> str:
        matches = re.findall(pattern, run.stderr)
        return matches[-1] if matches else ""

    return {"commit": commit, "target": target, "seconds": round(seconds), "crashes": len(new),
            "executions": stated(r"number_of_executed_units:\s*(\d+)") or stated(r"#(\d+)\s"),
            "slowest_seconds": stated(r"slowest input: (\S+) s"), "peak_mib": stated(r"peak_rss_mb:\s*(\d+)"),
            "corpus": len(list(corpus.iterdir()))}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("targets", nargs="*", metavar="target", help=f"of {', '.join(TARGETS)} (default: all)")
    parser.add_argument("--runs", type=int, default=1_000_000, help="executions of each (default: 1000000)")
    parser.add_argument("--seconds", type=int, default=0, help="at most, for each (default: no limit)")
    parser.add_argument("--log", type=Path, help="CSV to append to")
    options = parser.parse_args()
    if unknown := set(options.targets) - set(TARGETS):
        parser.error(f"no target: {', '.join(sorted(unknown))}; targets are {', '.join(TARGETS)}")
    commit = subprocess.run(["git", "-C", SOURCE, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    failed = False
    for target in options.targets or TARGETS:
        row = fuzz(options.build.resolve(), target, options, commit)
        failed = failed or row["crashes"] != 0
        print(", ".join(f"{name} {row[name]}" for name in FIELDS[1:]), flush=True)
        if options.log:
            is_new = not options.log.exists()
            with options.log.open("a", newline="") as file:
                writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
                if is_new:
                    writer.writeheader()
                writer.writerow(row)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

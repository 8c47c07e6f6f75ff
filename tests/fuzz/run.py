#!/usr/bin/env python3
"""Runs fuzz targets one after the other, and keeps a log with a line per target and commit.

    cmake --workflow --preset fuzz
    python3 tests/fuzz/run.py build/fuzz/tests/fuzz --runs 1000000 [--log tests/fuzz/log.csv] [target ...]
    python3 tests/fuzz/run.py build/fuzz/tests/fuzz --large --seconds 60            # the seeds as they are, a short run
    python3 tests/fuzz/run.py --totals tests/fuzz/log.csv                           # executions of each target so far

Seeds are the sample models, every conformance case and the small models of the model set; for readers of text, the
repository's own files of that kind, shortened to what each reader takes in a tenth of a millisecond. New inputs found
in a run stay in BUILD/corpus-TARGET, failing inputs in BUILD/found-TARGET. Exit code 1 if a target fails.
"""
from __future__ import annotations

import argparse
import csv
import json
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

# Freed memory is kept for a while to find uses after the end; of less, more runs fit, and peaks are the readers'. Stacks
# of allocations are not kept: replaying a finding shows them.
SANITIZER = "quarantine_size_mb=4:malloc_context_size=1:thread_local_quarantine_size_kb=64:max_malloc_fill_size=0"

# Leaks are looked for once, when the process ends: a search takes longer than a thousand inputs. Weighing the corpus by
# entropy took three fifths of a run of models. Without counts of how often an edge was taken, the corpus has fewer
# inputs, and a run of the same length meets more edges.
LIBFUZZER = ["-timeout=20", "-rss_limit_mb=1024", "-print_final_stats=1", "-print_funcs=0", "-reload=0",
             "-detect_leaks=0", "-entropic=0", "-use_counters=0"]

# Words of each syntax, which a mutation takes as a whole.
WORDS = {
    "formula": ["floor_div(", "ceil_div(", "min(", "max(", "Mod(", "floor(", "//", "**", "%", ", ", " + ", " - ", "*"],
    "json": ["true", "false", "null", "\\u00e9", "\\ud83d\\ude00", "[]", "{}", "\":", "1e308", "-0", "1e-400"],
    "csv": ["\"\"", ",", "\r\n", "\xef\xbb\xbf", "1,234", "-1e5"],
    "sizes": ["batch=", "..", "1x3x224x224", "GiB", "MB", "true", "1e9"],
    "study": ["[measure]", "[limits]", "[models.", "model = ", "backend = ", "'torch'", "seconds = ", "\"\"\"", "#"],
}

SOURCE = Path(__file__).resolve().parents[2]
FIELDS = ["commit", "target", "executions", "seconds", "processor_seconds", "crashes", "slowest_seconds", "peak_mib", "corpus"]
LARGEST = 16384  # seed of a --large run
AIM = 10_000_000

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
    "documents": (1024, [("d", "data/devices/*.json"), ("k", "data/calibration/*.json"),
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
    "ort": (1024, [("", "tests/import/data/ort_*.json")], [
        '[{"cat":"Session","ts":1,"dur":9,"name":"model_run","args":{}},{"cat":"Node","ts":2,"dur":3,"name":'
        '"/a/Conv_kernel_time","args":{"op_name":"Conv","provider":"CPUExecutionProvider"}}]']),
    "tensorrt": (1024, [("", "tests/import/data/tensorrt_*.json")], []),
    "ncu": (512, [("", "tests/import/data/ncu_*.csv")], [
        '"ID","Kernel Name","Block Size","CC","gpu__time_duration.sum","dram__bytes_read.sum","dram__bytes_write.sum"\n'
        '"","","","","us","Kbyte","byte"\n"0","axpy(double *)","(256, 1, 1)","9.0","4,000","1,024.5","n/a"\n',
        '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n'
        '"0","axpy(double *)","gpu__time_duration.sum","nsecond","4,000"\n']),
    "kineto": (1024, [("", "tests/import/data/*kineto*.json"), ("", "tests/import/data/torch_cpu.json")], []),
    "jetson": (512, [("", "tests/import/data/jetson.csv"), ("", "data/measured/orin-agx/*.csv")], []),
    "rocprof": (512, [("", "tests/import/data/rocprof*.csv")], [
        '"Dispatch_Id","Agent_Id","Kernel_Name","Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"\n'
        '1,"Agent 4","Cijk_Ailk","SQ_INSTS_VALU_MFMA_MOPS_F16",4096.000000,1000000,1010000\n',
        '"Kind","Agent_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
        '"KERNEL_DISPATCH","Agent 4","conv1",1,1000000,1010000\n']),
    "nsys": (512, [("", "tests/import/data/nsys*.csv")], []),
    "load": (1024, [], []),
    "skeleton": (1024, [], []),
    "analyze": (512, [], []),
}
MODELS = ("load", "skeleton", "analyze")


def shortened(text: str, most: int) -> str | None:
    """A JSON or CSV text within `most` bytes: lists keep their first entries, texts their first characters, tables their
    first lines. None if it stays longer."""
    def cut(value, entries: int, characters: int):
        if isinstance(value, dict):
            return {name: cut(each, entries, characters) for name, each in value.items()}
        if isinstance(value, list):
            return [cut(each, entries, characters) for each in value[:entries]]
        return value[:characters] if isinstance(value, str) else value

    if text.lstrip()[:1] not in ("{", "["):
        return text[:text.rfind("\n", 0, most + 1) + 1] or None if len(text) > most else text
    for entries, characters in ((100, 1000), (8, 80), (3, 60), (2, 40), (1, 20), (1, 8)):
        short = json.dumps(cut(json.loads(text), entries, characters), separators=(",", ":"))
        if len(short.encode()) <= most:
            return short
    return None


def seeds(build: Path, target: str, most: int) -> Path:
    """The folder with a target's seeds of at most so many bytes, made if it is missing."""
    models = target in MODELS
    folder = build / (f"seeds-models-{most}" if models else f"seeds-{target}-{most}")
    if folder.exists():
        return folder
    folder.mkdir(parents=True)
    if models:
        every = build / "seeds-models"
        subprocess.run([build / "make_seeds", every, SOURCE], check=True)
        for path in sorted([*every.iterdir(), *(SOURCE / "models/skeletons").glob("*.onnx")]):
            if path.stat().st_size <= most:
                (folder / path.name).write_bytes(path.read_bytes())
    _, files, texts = TARGETS[target]
    for prefix, pattern in files:
        for path in sorted(SOURCE.glob(pattern)):
            if short := shortened(path.read_text(), most - len(prefix)):
                (folder / path.name).write_text(prefix + short, newline="")
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


def processor_seconds() -> float:
    """Of all children that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fuzz(build: Path, target: str, options: argparse.Namespace, commit: str) -> dict[str, object]:
    corpus, found = build / f"corpus-{target}", build / f"found-{target}"
    corpus.mkdir(exist_ok=True)
    found.mkdir(exist_ok=True)
    before = set(found.iterdir())
    most = LARGEST if options.large else TARGETS[target][0]
    command = [build / f"fuzz_{target}", f"-runs={options.runs}", f"-max_total_time={options.seconds}",
               f"-max_len={most}", *LIBFUZZER, f"-artifact_prefix={found}/", *dictionary(build, target), corpus,
               seeds(build, target, most)]
    begin, used = time.monotonic(), processor_seconds()
    run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace",
                         env={**os.environ, "ASAN_OPTIONS": SANITIZER})
    seconds = time.monotonic() - begin
    new = {path for path in set(found.iterdir()) - before if not path.name.startswith("slow-unit-")}
    if run.returncode != 0:
        print(run.stderr[-4000:], file=sys.stderr)

    def stated(pattern: str) -> str:
        matches = re.findall(pattern, run.stderr)
        return matches[-1] if matches else ""

    return {"commit": commit, "target": target, "seconds": round(seconds), "crashes": len(new),
            "processor_seconds": round(processor_seconds() - used),
            "executions": stated(r"number_of_executed_units:\s*(\d+)") or stated(r"#(\d+)\s"),
            "slowest_seconds": stated(r"slowest input: (\S+) s"), "peak_mib": stated(r"peak_rss_mb:\s*(\d+)"),
            "corpus": len(list(corpus.iterdir()))}


def read_log(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def log(path: Path, row: dict[str, object]) -> None:
    """Adds the row, to that of the same commit and target if there is one."""
    rows = read_log(path)
    new = {name: str(value) for name, value in row.items()}
    for before in rows:
        if (before["commit"], before["target"]) != (new["commit"], new["target"]):
            continue
        for name in ("executions", "seconds", "processor_seconds", "crashes"):
            before[name] = str(int(before[name] or 0) + int(new[name] or 0))
        for name in ("slowest_seconds", "peak_mib"):
            before[name] = max(before[name], new[name], key=lambda text: float(text or 0))
        before["corpus"] = new["corpus"]
        break
    else:
        rows.append(new)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def print_totals(path: Path) -> None:
    rows = read_log(path)
    print("target        executions  of the aim  crashes  slowest s  largest MiB")
    for target in TARGETS:
        of = [row for row in rows if row["target"] == target]
        executions, crashes = (sum(int(row[name] or 0) for row in of) for name in ("executions", "crashes"))
        slowest, peak = (max((float(row[name] or 0) for row in of), default=0) for name in ("slowest_seconds", "peak_mib"))
        print(f"{target:12} {executions:11} {executions / AIM:10.1%} {crashes:8} {slowest:10.3f} {peak:12.0f}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, nargs="?")
    parser.add_argument("targets", nargs="*", metavar="target", help=f"of {', '.join(TARGETS)} (default: all)")
    parser.add_argument("--runs", type=int, default=1_000_000, help="executions of each (default: 1000000)")
    parser.add_argument("--seconds", type=int, default=0, help="at most, for each (default: no limit)")
    parser.add_argument("--large", action="store_true", help=f"inputs of up to {LARGEST} bytes, and the seeds as they are")
    parser.add_argument("--log", type=Path, help="CSV to add to")
    parser.add_argument("--totals", type=Path, metavar="LOG", help="print the executions of each target, and end")
    options = parser.parse_args()
    if options.totals:
        print_totals(options.totals)
        return 0
    if options.build is None:
        parser.error("the folder of the fuzz targets is missing, such as build/fuzz/tests/fuzz")
    if unknown := set(options.targets) - set(TARGETS):
        parser.error(f"no target: {', '.join(sorted(unknown))}; targets are {', '.join(TARGETS)}")
    commit = subprocess.run(["git", "-C", SOURCE, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    failed = False
    for target in options.targets or TARGETS:
        row = fuzz(options.build.resolve(), target, options, commit)
        failed = failed or row["crashes"] != 0
        print(", ".join(f"{name} {row[name]}" for name in FIELDS[1:]), flush=True)
        if options.log:
            log(options.log, row)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The overhead of pagoda-bench beyond the worker: per run of a model, and per experiment.

    cmake --preset bench && cmake --build --preset bench
    python3 tests/bench/runner_overhead.py --build build/bench [--rounds 5]

The worker is the tests' fake one, which answers at once and reports the run times that it was given, so that all
elapsed time belongs to the runner, the pipe and the fake. Costs are slopes: of wall time over the number of runs in
an experiment, and over the number of experiments in a study, so they exclude the start of the tool. The time of the
fake alone, driven by this script with the same requests, is subtracted from an experiment. Studies alternate; medians
are reported.
"""
from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path


def study_seconds(bench: str, worker: str, folder: Path, experiments: int, runs: int, latency: float) -> float:
    """Wall seconds of a study of `experiments` with exactly `runs` measured runs each."""
    study = folder / "study.toml"
    study.write_text(f"""
backend = "fake"
batch = {list(range(1, experiments + 1))}
[options]
latency = {latency!r}
[backends.fake]
command = ["{worker}"]
[measure]
budget_seconds = 1e9
half_width = 1e-12
warmup_seconds = 0
min_iterations = {runs}
max_iterations = {runs}
""")
    begin = time.perf_counter()
    subprocess.run([bench, "run", str(study), "-o", str(folder / "out"), "--no-resume"], check=True,
                   stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - begin
    records = [json.loads(line) for line in (folder / "out/results.jsonl").read_text().splitlines()]
    counts = {(r["status"], r["latency"]["n"]) for r in records}
    if len(records) != experiments or counts != {("ok", runs)}:
        raise SystemExit(f"expected {experiments} records of {runs} runs, found {len(records)} of {counts}")
    (folder / "out/results.jsonl").unlink()
    return seconds


def worker_seconds(worker: str) -> float:
    """Start to end of the fake alone, with the requests that the runner sends in an experiment of ten runs."""
    requests = [{"op": "prepare", "protocol": 1, "config": {"batch": 1, "latency": 0.001}, "folder": "."},
                {"op": "run", "iterations": 1}, {"op": "run", "iterations": 10}, {"op": "memory"}, {"op": "quit"}]
    text = "".join(json.dumps(request) + "\n" for request in requests)
    begin = time.perf_counter()
    subprocess.run([worker], input=text, text=True, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    bench = str((options.build / "tools/bench/pagoda-bench").resolve())
    worker = str((options.build / "tests/fake_worker").resolve())

    def slope(a: tuple[int, int, float], b: tuple[int, int, float], steps: int) -> float:
        with tempfile.TemporaryDirectory() as folder:
            study_seconds(bench, worker, Path(folder), *a)
            pairs = [(study_seconds(bench, worker, Path(folder), *a), study_seconds(bench, worker, Path(folder), *b))
                     for _ in range(options.rounds)]
        return statistics.median(second - first for first, second in pairs) / steps

    print("| overhead of | seconds | bar |\n|---|---|---|")
    for name, latency in (("1 ms, many a request", 1e-3), ("10 s, one a request", 10.0)):
        each = slope((1, 100, latency), (1, 4100, latency), 4000)
        print(f"| a run that takes {name} | {each * 1e6:.1f} µs | < 1 ms |", flush=True)
    each = slope((10, 10, 1e-3), (110, 10, 1e-3), 100)
    alone = statistics.median(worker_seconds(worker) for _ in range(10 * options.rounds))
    print(f"| an experiment, beyond its worker ({alone * 1e3:.1f} ms) | {(each - alone) * 1e3:.1f} ms | < 100 ms |")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Compares whole-process time and peak memory of onnx-estimate with named peers, as ratios from one run.

    cmake --preset bench && cmake --build --preset bench
    python3 tests/bench/run.py --build build/bench [--work DIR] [--runs 7]

Peers: protobuf's full parse of the same file (built here), and onnx-tool if this Python has it. Each pair runs
alternately, A B A B, so that a machine whose speed drifts favours neither; medians are compared. Models are
made here: ResNet-50 and Swin-T filled with random weights, a 1.8 GB chain of layers with its weights inside
the file and one with them outside, and chains of 1,000 to 100,000 nodes.
"""
from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def run(command: list[str]) -> tuple[float, float]:
    """Wall seconds and peak resident MiB of one run."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    if status != 0:
        raise SystemExit(f"failed: {' '.join(command)}")
    return seconds, usage.ru_maxrss / 1024


def compare(label: str, ours: list[str], peer: list[str], peer_name: str, runs: int) -> None:
    run(ours), run(peer)
    pairs = [(run(ours), run(peer)) for _ in range(runs)]
    ratio = statistics.median(a[0] / b[0] for a, b in pairs)
    a, b = (statistics.median(p[i][0] for p in pairs) for i in (0, 1))
    memory_a, memory_b = (max(p[i][1] for p in pairs) for i in (0, 1))
    print(f"| {label} | {a * 1e3:.1f} ms, {memory_a:.0f} MiB | {peer_name}: {b * 1e3:.1f} ms, {memory_b:.0f} MiB | {ratio:.3f} |",
          flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--work", type=Path, help="where models are made; about 6 GB (default: a temporary folder)")
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()

    estimate = str(options.build / "tools/onnx-estimate")
    skeleton = str(options.build / "tools/onnx-skeleton")
    parse = str(options.build / "tests/bench/parse_with_protobuf")
    generate = str(options.build / "tests/bench/generate_graph")
    skeletons = Path(__file__).resolve().parents[2] / "models/skeletons"

    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)

        def made(name: str, command: list[str]) -> str:
            path = work / name
            if not path.exists():
                subprocess.run([part.replace("OUT", str(path)) for part in command], check=True, stdout=subprocess.DEVNULL)
            return str(path)

        filled = {name: made(f"{name}.onnx", [skeleton, "--fill", str(skeletons / f"{name}.onnx"), "-o", "OUT"])
                  for name in ("resnet50", "swin_t")}
        big = made("big.onnx", [generate, "7", "8192", "OUT"])                  # 1.88 GB inside the file
        external = made("external.onnx", [generate, "7", "8192", "OUT", "--external"])
        big_skeleton = made("big_skeleton.onnx", [skeleton, big, "-o", "OUT"])

        print("| model | onnx-estimate | peer | time ratio |\n|---|---|---|---|")
        for name, path in [*filled.items(), ("1.9 GB inside", big)]:
            compare(name, [estimate, path], [parse, path], "protobuf full parse", options.runs)
        compare("1.9 GB inside", [estimate, big], [estimate, big_skeleton], "its own skeleton", options.runs)
        compare("1.9 GB external", [estimate, external], [estimate, big_skeleton], "its own skeleton", options.runs)
        chains = {nodes: made(f"chain_{nodes}.onnx", [generate, str(nodes // 2), "4", "OUT"])
                  for nodes in (1_000, 10_000, 100_000)}
        compare("100,000 nodes", [estimate, chains[100_000]], [parse, chains[100_000]], "protobuf full parse", options.runs)
        compare("swin_t to JSON", [estimate, filled["swin_t"], "--format", "json"], [parse, filled["swin_t"]],
                "protobuf full parse", options.runs)
        dynamic = str(skeletons / "resnet50_dynamic.onnx")
        on_device = [estimate, dynamic, "--device", "h200"]
        compare("resnet50, 1,000 batches", [*on_device, "--sweep", "batch=1..1000"], on_device, "one batch", options.runs)
        swin = str(skeletons / "swin_t.onnx")
        compare("swin_t, memory plan", [estimate, swin, "--memory"], [estimate, swin], "without it", options.runs)
        try:
            import onnx_tool  # noqa: F401
            for name, path in filled.items():
                compare(name, [estimate, path], [sys.executable, "-m", "onnx_tool", "-i", path], "onnx-tool", options.runs)
        except ImportError:
            print("(onnx-tool: not installed for this Python; pip install onnx-tool)")

        print("\n| nodes | onnx-estimate | µs a node |\n|---|---|---|")
        empty = statistics.median(run([estimate, "--version"])[0] for _ in range(options.runs))
        for nodes, path in chains.items():
            run([estimate, path])
            seconds = statistics.median(run([estimate, path])[0] for _ in range(options.runs))
            print(f"| {nodes} | {seconds * 1e3:.1f} ms | {(seconds - empty) / nodes * 1e6:.2f} |")

        # Processor time of each step, in one process that has loaded the model.
        steps = {name: dict(line.split("\t") for line in subprocess.run(
                     [options.build / "tests/bench/steps", path, str(options.runs)], check=True, capture_output=True,
                     text=True).stdout.splitlines())
                 for name, path in (("chain of 100,000 nodes", chains[100_000]), ("swin_t", filled["swin_t"]),
                                    ("bert_base, free sizes", str(skeletons / "bert_base.onnx")),
                                    ("llama_past_dynamo, free sizes", str(skeletons / "llama_past_dynamo.onnx")))}
        names = list(next(iter(steps.values())))
        print(f"\n| ns a node | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
        for name, row in steps.items():
            print(f"| {name} | {' | '.join(row[step] for step in names)} |")


if __name__ == "__main__":
    main()

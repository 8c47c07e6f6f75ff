#!/usr/bin/env python3
"""What an analysis costs from Python, as a ratio to C++: the same 100 analyses of the same file, each from the path to the
totals, in whole processes that run alternately. Then the first answer of a fresh process.

    cmake --preset bench && cmake --build --preset bench --target analyses onnx-estimate
    python3 tests/bench/python_cost.py --build build/bench [--wheel WHEEL | --python PYTHON] [--runs 21] [MODEL…]

In process: what the loop took by its own clock. Whole process: with starting, Python's import and ending. Medians of the
ratios of pairs. Without --python, pip installs these sources or WHEEL into a fresh environment, and its very first answers
are timed.
"""
from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LOOP = """
import sys, time
import pagoda
path, count = sys.argv[1], int(sys.argv[2])
begin = time.perf_counter()
for _ in range(count):
    if pagoda.analyze(path).totals.flops is None:
        sys.exit(1)
print(f"{time.perf_counter() - begin:.9f}")
"""
ANSWER = "import sys, pagoda; print(pagoda.analyze(sys.argv[1], device='h200'))"
COUNT = "100"
ROOT = Path(__file__).resolve().parents[2]
SKELETONS = ROOT / "models/skeletons"


def run(command: list[str]) -> tuple[float, str]:
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = time.perf_counter() - begin
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(command)}\n{done.stderr}")
    return seconds, done.stdout


def fresh_python(folder: Path, given: str) -> str:
    """The Python of a new environment with pagoda, whose first runs are reported."""
    run([sys.executable, "-m", "venv", str(folder)])
    python, tool, model = str(folder / "bin/python"), str(folder / "bin/onnx-estimate"), str(SKELETONS / "resnet50.onnx")
    print("| a fresh environment | seconds |\n|---|---|")
    for name, command in ((f"pip install {Path(given).name or '.'}", [str(folder / "bin/pip"), "install", "-q", "--disable-pip-version-check", given]),
                          ("onnx-estimate resnet50.onnx --device h200", [tool, model, "--device", "h200"]),
                          ("import pagoda, analyze, print", [python, "-c", ANSWER, model])):
        print(f"| {name} | {run(command)[0]:.2f} |", flush=True)
    print()
    return python


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--python", help="one that has pagoda installed")
    parser.add_argument("--wheel", default=str(ROOT), help="what pip installs into a fresh environment; these sources by default")
    parser.add_argument("--runs", type=int, default=21)
    parser.add_argument("models", nargs="*", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        report(options, options.python or fresh_python(Path(name), options.wheel))


def report(options: argparse.Namespace, interpreter: str) -> None:
    print(f"| {COUNT} analyses | C++ | Python | ratio in process | ratio of processes |\n|---|---|---|---|---|")
    for model in options.models or [SKELETONS / "resnet50.onnx", SKELETONS / "swin_t.onnx"]:
        native = [str(options.build / "tests/bench/analyses"), str(model), COUNT]
        python = [interpreter, "-c", LOOP, str(model), COUNT]
        run(native), run(python)
        pairs = [(run(native), run(python)) for _ in range(options.runs)]
        inside = [(float(a[1]), float(b[1])) for a, b in pairs]
        ratios = [statistics.median(b / a for a, b in inside), statistics.median(b[0] / a[0] for a, b in pairs)]
        cells = [f"{statistics.median(side) * 1e3:.1f} ms" for side in zip(*inside)]
        print(f"| {model.stem} | {' | '.join(cells)} | {' | '.join(f'{ratio:.3f}' for ratio in ratios)} |", flush=True)

    print("\n| a model's first answer | median | slowest |\n|---|---|---|")
    model = str(SKELETONS / "resnet50.onnx")
    for name, command in (("import pagoda, analyze, print", [interpreter, "-c", ANSWER, model]),
                          ("onnx-estimate of the wheel", [str(Path(interpreter).with_name("onnx-estimate")), model, "--device", "h200"]),
                          ("onnx-estimate of the build", [str(options.build / "tools/onnx-estimate"), model, "--device", "h200"])):
        seconds = [run(command)[0] for _ in range(options.runs)]
        print(f"| {name} | {statistics.median(seconds) * 1e3:.0f} ms | {max(seconds) * 1e3:.0f} ms |", flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Compares predictions for ONNX Runtime on this CPU with runs of networks that pagoda-calibrate --here leaves out.

    pip install onnxruntime
    pagoda-calibrate --here onnxruntime-cpu -o here.json
    python3 tests/bench/engine_cpu.py here.json --build build/dev -o out      # about two minutes; can be resumed
    python3 tests/bench/engine_cpu.py here.json -o out --model exports/*.onnx # your own networks, with sizes as in the file

Prints measured and predicted time of each, and the mean and median of |predicted / measured - 1|. The networks differ
from the study's in export, size or network; their families occur in the study. Where a calibration was measured with its
processors on one cache and on different ones, each network is also judged by the time of the placement it ran in.
"""
from __future__ import annotations

import argparse
import json
import statistics
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Skeleton, batch, sequence.
RUNS = [
    ("bert_base", 8, 64),
    ("bert_base_sdpa", 1, 128),
    ("bert_large", None, None),
    ("convnext_tiny_dynamo", None, None),
    ("densenet121_dynamic", 4, None),
    ("efficientnet_b0_dynamo", None, None),
    ("gpt2", 1, 256),
    ("llama", 1, 32),
    ("mobilenet_v3_large_dynamo", None, None),
    ("resnet152", None, None),
    ("resnet50_dynamo", None, None),
    ("swin_t_dynamic", 4, None),
    ("t5_encoder", 1, 64),
    ("unet", 1, None),
    ("vit_b_16", None, None),
    ("vit_b_16_dynamic", 4, None),
    ("yolov8n_dynamo", None, None),
]


def measured(build: Path, folder: Path, model: Path, batch: int | None, sequence: int | None) -> dict:
    """The record of one run, made if it is missing."""
    name = model.stem
    sizes = [f"--batch={batch}"] if batch else []
    sizes += ["--set", f"sequence={sequence}"] if sequence else []
    run = folder / "-".join(str(part) for part in (name, batch, sequence) if part)
    subprocess.run([build / "tools/bench/pagoda-bench", "run", model, "--backend", "ort", *sizes, "--budget=2", "-o",
                    run], check=True, stdout=subprocess.DEVNULL)
    record = json.loads((run / "results.jsonl").read_text().splitlines()[-1])
    if record["status"] != "ok":
        raise SystemExit(f"{name}: {record['reason']}")
    return record


def estimate(build: Path, calibration: Path | str, model: Path, inputs: list[dict], *more: str) -> dict:
    """The estimate with predicted times, for inputs of these shapes."""
    sizes = [f"--input={each['name']}=" + "x".join(map(str, each["shape"])) for each in inputs if each["shape"]]
    text = subprocess.run([build / "tools/onnx-estimate", model, *sizes, "--predict", "--engine", "onnxruntime-cpu",
                           "--calibration", calibration, "--format", "json", *more],
                          check=True, capture_output=True, text=True).stdout
    return json.loads(text)


def is_apart(record: dict) -> bool | None:
    """Whether a run's processors had different caches; None where it moved or does not say. The limit is of results.cpp."""
    apart = {seconds > 65e-9 for seconds in record["interference"].get("handoff_seconds", [])}
    return apart.pop() if len(apart) == 1 else None


def summary(errors: list[float]) -> str:
    return (f"{len(errors)} runs: mean error {100 * statistics.mean(errors):.1f} %, "
            f"median {100 * statistics.median(errors):.1f} %")


def predicted(build: Path, calibration: Path | str, model: Path, inputs: list[dict]) -> dict:
    return estimate(build, calibration, model, inputs)["roofline"]["predicted"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("calibration")
    parser.add_argument("--build", type=Path, default=Path("build/dev"))
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder of the runs")
    parser.add_argument("--model", type=Path, nargs="+", help="judge these files instead")
    arguments = parser.parse_args()
    runs = [(ROOT / "models" / "skeletons" / f"{name}.onnx", *sizes) for name, *sizes in RUNS]
    if arguments.model:
        runs = [(model, None, None) for model in arguments.model]
    errors, placed = [], {False: [], True: []}
    print(f"{'network':28}{'batch':>6}{'sequence':>9}{'caches':>8}{'measured':>12}{'predicted':>12}{'error':>9}{'other':>12}")
    for model, batch, sequence in runs:
        record = measured(arguments.build, arguments.output, model, batch, sequence)
        seconds = record["latency"]["p50"]
        prediction = predicted(arguments.build, arguments.calibration, model, record["inputs"])
        time, other, apart = prediction["seconds"], prediction.get("other_placement"), is_apart(record)
        errors.append(abs(time / seconds - 1))
        if other and apart is not None:
            placed[apart].append(abs((other["seconds"] if other["apart"] == apart else time) / seconds - 1))
        caches = {None: "", False: "one", True: "several"}[apart]
        print(f"{model.stem:28}{batch or '':>6}{sequence or '':>9}{caches:>8}{1e3 * seconds:>9.2f} ms{1e3 * time:>9.2f} ms"
              f"{100 * (time / seconds - 1):>+8.1f}%" + (f"{1e3 * other['seconds']:>9.2f} ms" if other else ""), flush=True)
    print(summary(errors))
    for apart, list_of in placed.items():
        if list_of:
            print(f"with processors on {'different caches' if apart else 'one cache'}, by the time predicted for that: "
                  f"{summary(list_of)}")


if __name__ == "__main__":
    main()

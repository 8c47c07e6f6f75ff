#!/usr/bin/env python3
"""Compares the memory that ONNX Runtime takes on this CPU with onnx-estimate's figures: the increase in a process's
peak resident set from loading a model and two runs.

    pip install onnxruntime onnx
    python3 tests/bench/engine_memory.py --build build/dev --csv memory.csv     # about two minutes

Each model is filled with random weights and runs in its own process. Other models: --models FILE.onnx …
"""
from __future__ import annotations

import argparse
import csv
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from engine_cpu import predicted

ROOT = Path(__file__).resolve().parents[2]
# Skeleton, batch, sequence.
RUNS = [
    ("alexnet", 1, None), ("bert_base", 1, 128), ("bert_base", 8, 64), ("bert_base_fused", 1, 128),
    ("bert_base_sdpa", 1, 128), ("bert_large", None, None), ("convnext_tiny", 1, None),
    ("convnext_tiny_dynamo", None, None), ("deeplabv3_resnet50_dynamic", 1, None), ("densenet121_dynamic", 1, None),
    ("densenet121_dynamic", 8, None), ("efficientnet_b0", 1, None),
    ("googlenet", 1, None), ("gpt2", 1, 64), ("gpt2", 1, 256),
    ("mobilenet_v3_large", 1, None), ("r3d_18", 1, None), ("resnet152", 1, None),
    ("resnet50_dynamic", 1, None), ("resnet50_dynamic", 8, None), ("resnet50_dynamo", None, None),
    ("swin_t_dynamic", 1, None), ("swin_t_dynamic", 4, None), ("t5_encoder", 1, 64), ("unet", 1, None),
    ("vgg16", 1, None), ("vit_b_16", None, None), ("vit_b_16_dynamic", 4, None), ("whisper_encoder", 1, None),
    ("yolov8n", None, None),
]

# Reads its inputs' names, types and shapes from standard input; prints the
# resident bytes before, and the maximum after.
CHILD = r"""
import json, sys
import numpy, onnxruntime
def status(key):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(key + ":"))
task = json.load(sys.stdin)
random = numpy.random.default_rng(0)
inputs = {each["name"]: random.integers(0, 2, each["shape"]).astype(each["type"]) if "int" in each["type"] or each["type"] == "bool"
          else random.standard_normal(each["shape"]).astype(each["type"]) for each in task["inputs"]}
small = onnxruntime.InferenceSession(task["small"], providers=["CPUExecutionProvider"])
del small
open("/proc/self/clear_refs", "w").write("5")
before = status("VmRSS")
session = onnxruntime.InferenceSession(task["model"], providers=["CPUExecutionProvider"])
load, loaded = status("VmHWM"), status("VmRSS")
for _ in range(2):
    session.run(None, inputs)
print(json.dumps({"load": load - before, "loaded": loaded - before, "peak": status("VmHWM") - before}))
"""




def inputs_of(model: Path, batch: int | None, sequence: int | None) -> list[dict]:
    import onnx
    graph = onnx.load(model, load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    inputs = []
    for each in graph.input:
        if each.name in weights:
            continue
        tensor = each.type.tensor_type
        shape = [dim.dim_value if dim.HasField("dim_value")
                 else sequence or 1 if "seq" in dim.dim_param.lower() or axis > 0
                 else batch or 1 for axis, dim in enumerate(tensor.shape.dim)]
        inputs.append({"name": each.name, "type": onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type).name,
                       "shape": shape})
    return inputs


def small_model(path: Path) -> None:
    """One node, so that what the engine loads once is loaded before anything is measured."""
    import onnx
    from onnx import TensorProto, helper
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "small", value[:1], value[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def measured(build: Path, model: Path, inputs: list[dict]) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        filled, small = Path(folder, "filled.onnx"), Path(folder, "small.onnx")
        subprocess.run([build / "tools/onnx-skeleton", "--fill", model, "-o", filled], check=True,
                       stdout=subprocess.DEVNULL)
        small_model(small)
        task = json.dumps({"model": str(filled), "small": str(small), "inputs": inputs})
        text = subprocess.run([sys.executable, "-c", CHILD], input=task, check=True, capture_output=True, text=True)
        return json.loads(text.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/dev"))
    parser.add_argument("--calibration", type=Path, default=ROOT / "tests/predict/data/here.json",
                        help="of onnxruntime-cpu; memory does not depend on it")
    parser.add_argument("--models", nargs="*", help="FILE[@BATCH] instead of the bundled ones")
    parser.add_argument("--csv", type=Path, help="write what was measured there")
    arguments = parser.parse_args()
    runs = [(ROOT / f"models/skeletons/{name}.onnx", batch, sequence) for name, batch, sequence in RUNS]
    if arguments.models:
        runs = [(Path(file), int(batch or 1), None) for file, _, batch in (m.rpartition("@") if m.rpartition("@")[2].isdigit()
                else (m, "", "1") for m in arguments.models)]
    rows, errors = [], []
    print(f"{'network':36}{'batch':>6}{'sequence':>9}{'measured':>12}{'predicted':>12}{'error':>9}")
    for model, batch, sequence in runs:
        inputs = inputs_of(model, batch, sequence)
        real = measured(arguments.build, model, inputs)
        stated = predicted(arguments.build, arguments.calibration, model, inputs)["memory"]
        errors.append(stated["bytes"] / real["peak"] - 1)
        rows.append({"network": model.stem, "batch": batch, "sequence": sequence, **real, "predicted": stated["bytes"]})
        print(f"{model.stem:36}{batch or '':>6}{sequence or '':>9}{1e-6 * real['peak']:>9.1f} MB"
              f"{1e-6 * stated['bytes']:>9.1f} MB{100 * errors[-1]:>+8.1f}%", flush=True)
    print(f"{len(errors)} runs: mean error {100 * statistics.mean(map(abs, errors)):.1f} %, "
          f"median {100 * statistics.median(map(abs, errors)):.1f} %")
    if arguments.csv:
        with arguments.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()

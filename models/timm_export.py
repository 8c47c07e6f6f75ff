#!/usr/bin/env python3
r"""Exports networks of pytorch-image-models as skeletons: the graphs that a published throughput table was measured on.

    python models/timm_export.py --table data/throughput/rtx-3090-amp-nchw.csv \
        --skeleton build/dev/tools/onnx-skeleton -o DIR
    python models/timm_export.py ... --only resnet50 vit_base_patch16_224

Writes DIR/<model>@<img_size>.onnx without weights, and one row a graph to DIR/runs-<table>.csv as pagoda-calibrate reads
it; the table's name is <device>-amp-<layout>.csv, `family` is the module of timm that defines the model. Graphs that are
there already are kept. The smallest model of every family comes first, so that a run that is cut short has them all.

Graphs are as PyTorch runs them eagerly: batch normalisation is not folded, constants are not folded, and the batch is a
free dim. data/throughput/README.md names the version of timm that the tables were measured with: later ones compute some
parts in other ways. Weights are zeros but for a mark that keeps them apart; no graph depends on them.
"""
from __future__ import annotations

import argparse
import collections
import csv
import io
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import torch

OPSET = 18
MAX_PARAMETERS_M = 370  # 1.5 GB of float32; above 2 GB the exporter would need external data


def zero(tensor: torch.Tensor, *_args, **_kwargs) -> torch.Tensor:
    return tensor.zero_() if not tensor.requires_grad else tensor.detach().zero_()


def skip_initialisation() -> None:
    """Random numbers for a hundred million weights take longer than the export."""
    for name in ("normal_", "uniform_", "erfinv_", "trunc_normal_"):
        setattr(torch.Tensor, name, zero)


def number(text: str | None) -> float:
    return float(text) if text else 0.0  # some rows of the tables state no size


def rows_of(table: Path) -> list[dict]:
    """Models in rounds over the families, smallest first; then their other image sizes."""
    from timm.models._registry import _model_to_module
    rows = list(csv.DictReader(line for line in table.open() if not line.startswith("#")))
    for row in rows:
        row["family"] = _model_to_module.get(row["model"], "")
    seen, first, later = set(), collections.defaultdict(list), []
    for row in sorted((r for r in rows if r["family"]), key=lambda r: number(r.get("gmacs"))):
        if row["model"] in seen:
            later.append(row)
        else:
            first[row["family"]].append(row)
            seen.add(row["model"])
    rounds = max(map(len, first.values()), default=0)
    return [group[i] for i in range(rounds) for group in first.values() if i < len(group)] + later


def export(row: dict, skeleton: str, output: Path) -> None:
    import timm
    size = int(row["img_size"])
    kwargs = {"pretrained": False}
    try:
        model = timm.create_model(row["model"], img_size=size, **kwargs)  # position embeddings of that size
    except TypeError:
        model = timm.create_model(row["model"], **kwargs)
    model.eval()
    with torch.no_grad():  # the exporter merges tensors that are equal
        for number_of_tensor, tensor in enumerate([*model.parameters(), *model.buffers()]):
            if tensor.is_floating_point() and tensor.numel() > 1:
                tensor.view(-1)[0] = number_of_tensor + 1
    with tempfile.NamedTemporaryFile(suffix=".onnx", dir=output.parent) as file:
        with torch.no_grad():
            torch.onnx.export(model, (torch.zeros(1, 3, size, size),), file.name, dynamo=False, opset_version=OPSET,
                              training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False,
                              input_names=["input"], output_names=["output"], dynamic_axes={"input": {0: "batch"}})
        subprocess.run([skeleton, file.name, "-o", str(output)], check=True)


class Late(Exception):
    pass


def late(*_):
    raise Late("over the time limit")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, required=True, help="CSV: model, img_size, batch, samples_per_sec")
    parser.add_argument("--skeleton", required=True, help="the program onnx-skeleton")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--only", nargs="*", help="these models alone")
    parser.add_argument("--timeout", type=int, default=60, help="seconds for one model (default 60)")
    parser.add_argument("--max-gmacs", type=float, default=200)
    parser.add_argument("--limit", type=int, help="stop after that many graphs")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    skip_initialisation()
    signal.signal(signal.SIGALRM, late)
    arguments.output.mkdir(parents=True, exist_ok=True)
    device, _, layout = arguments.table.stem.partition("-amp-")
    if layout not in ("nchw", "nhwc"):
        parser.error(f"{arguments.table.name}: expected <device>-amp-nchw.csv or <device>-amp-nhwc.csv")
    listing = arguments.output / f"runs-{arguments.table.name}"
    known = {r["model"] for r in csv.DictReader(listing.open())} if listing.exists() else set()
    done = 0
    for row in rows_of(arguments.table):
        if arguments.only and row["model"] not in arguments.only:
            continue
        if number(row.get("params_M")) > MAX_PARAMETERS_M or number(row.get("gmacs")) > arguments.max_gmacs:
            continue
        name = f"{row['model']}@{row['img_size']}.onnx"
        if name in known:
            continue
        started = time.time()
        captured = io.StringIO()
        try:
            signal.alarm(arguments.timeout)
            stdout, sys.stdout = sys.stdout, captured
            if not (arguments.output / name).exists():
                export(row, arguments.skeleton, arguments.output / name)
        except (Exception, Late) as error:  # one model must not end the run; it is named and left out
            sys.stdout = stdout
            print(f"skipped {name}: {type(error).__name__}: {str(error).splitlines()[0][:150] if str(error) else ''}",
                  flush=True)
            continue
        finally:
            signal.alarm(0)
            sys.stdout = stdout
        with listing.open("a", newline="") as file:
            writer = csv.writer(file)
            if file.tell() == 0:
                writer.writerow(["model", "family", "batch", "device", "layout", "seconds"])
            seconds = int(row["batch"]) / float(row["samples_per_sec"])
            writer.writerow([name, row["family"], row["batch"], device, layout, repr(seconds)])
        done += 1
        print(f"{done} {name} {row['family']} {time.time() - started:.1f} s", flush=True)
        if arguments.limit and done >= arguments.limit:
            break
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Compares what int8 saves under ONNX Runtime on this CPU with what --what-if fp32,int8 predicts for the float file.

    pip install onnx onnxruntime
    pagoda-calibrate --here onnxruntime-cpu -o here.json
    build/dev/tools/onnx-skeleton models/skeletons/resnet50.onnx --fill -o resnet50.onnx    # random weights
    python3 tests/bench/engine_int8.py here.json --build build/dev -o out resnet50.onnx     # or networks of your own

Each float file is quantised by onnxruntime.quantization as the prediction takes it to be: where most multiply-accumulates
are convolutions, Q/DQ pairs with uint8 activations and int8 weights, calibrated on random inputs; otherwise dynamically.
Prints both times as measured and predicted, and the ratios.
"""
from __future__ import annotations

import argparse
import logging
from pathlib import Path

import numpy
import onnx
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static

from engine_cpu import estimate, measured


class RandomInputs(CalibrationDataReader):
    """One batch of the shapes that the float run had."""

    def __init__(self, inputs: list[dict]) -> None:
        generator = numpy.random.default_rng(1)
        self.batches = iter([{each["name"]: generator.random(each["shape"], numpy.float32) for each in inputs}])

    def get_next(self):
        return next(self.batches, None)


def quantised(model: Path, folder: Path, inputs: list[dict], has_convolutions: bool) -> Path:
    """The int8 file, made if it is missing."""
    file = folder / f"{model.stem}_int8.onnx"
    if file.exists():
        return file
    if has_convolutions:
        quantize_static(model, file, RandomInputs(inputs), quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt8,
                        weight_type=QuantType.QInt8)
    else:
        quantize_dynamic(model, file, weight_type=QuantType.QInt8)
    return file


def is_convolutional(document: dict) -> bool:
    macs = [(node["op_type"], node["macs"] or 0) for node in document["nodes"]]
    return 2 * sum(each for op, each in macs if op == "Conv") > sum(each for _, each in macs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("calibration")
    parser.add_argument("--build", type=Path, default=Path("build/dev"))
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder of the runs and the int8 files")
    parser.add_argument("--sequence", type=int, help="length of sequences, where the file leaves it free")
    parser.add_argument("model", type=Path, nargs="+", help="float files with weights")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)  # the quantiser recommends preprocessing
    arguments.output.mkdir(parents=True, exist_ok=True)
    print(f"{'network':24}{'float32':>11}{'int8':>11}{'ratio':>8}{'predicted':>11}{'predicted':>11}{'ratio':>8}")
    for model in arguments.model:
        is_sequence = any(dim.dim_param == "sequence" for value in onnx.load(model, load_external_data=False).graph.input
                          for dim in value.type.tensor_type.shape.dim)
        sequence = arguments.sequence if is_sequence else None
        before = measured(arguments.build, arguments.output, model, None, sequence)
        document = estimate(arguments.build, arguments.calibration, model, before["inputs"])
        file = quantised(model, arguments.output, before["inputs"], is_convolutional(document))
        after = measured(arguments.build, arguments.output, file, None, sequence)
        forms = estimate(arguments.build, arguments.calibration, model, before["inputs"], "--what-if", "fp32,int8")["variants"]
        times = [before["latency"]["p50"], after["latency"]["p50"]]
        guesses = [form["predicted"]["seconds"] for form in forms]
        print(f"{model.stem:24}{1e3 * times[0]:>8.2f} ms{1e3 * times[1]:>8.2f} ms{times[1] / times[0]:>8.2f}"
              f"{1e3 * guesses[0]:>8.2f} ms{1e3 * guesses[1]:>8.2f} ms{guesses[1] / guesses[0]:>8.2f}", flush=True)


if __name__ == "__main__":
    main()

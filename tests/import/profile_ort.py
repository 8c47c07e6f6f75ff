#!/usr/bin/env python3
"""Runs an ONNX model in ONNX Runtime with its profiler on and writes the profile.

    pip install onnxruntime numpy
    onnx-skeleton --fill models/skeletons/resnet50.onnx -o resnet50.onnx
    profile_ort.py resnet50.onnx -o profile.json --level basic --runs 20
    onnx-estimate models/skeletons/resnet50.onnx --format json -o estimate.json
    pagoda-import profile.json --estimate estimate.json

--trim writes a file for a repository: only the last runs, without the event arguments that pagoda-import does not
read (memory statistics, thread statistics, shapes of inputs). Names, times and order are unchanged.

--optimized also writes the graph that ran, from which ort_truth.py tells which nodes each kernel did.
--version runs another release, which pip puts into --cache.
"""
import argparse
import json
import os
import subprocess
import sys

import numpy

LEVELS = ["disable", "basic", "extended", "all"]
TYPES = {
    "tensor(float)": numpy.float32, "tensor(float16)": numpy.float16, "tensor(double)": numpy.float64,
    "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32, "tensor(bool)": numpy.bool_,
    "tensor(uint8)": numpy.uint8, "tensor(int8)": numpy.int8,
}


def load_runtime(version, cache):
    """The module onnxruntime: the installed one, or a release of its own folder."""
    if version:
        folder = os.path.join(cache, version)
        if not os.path.isdir(folder):
            subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", folder,
                            "onnxruntime==" + version], check=True)
        sys.path.insert(0, folder)
    import onnxruntime
    return onnxruntime


def inputs_of(session, sizes):
    """Random floats; integers are ones, since they may be indices or masks. A dim without a size is 1."""
    generator = numpy.random.default_rng(0)
    inputs = {}
    for value in session.get_inputs():
        shape = [dim if isinstance(dim, int) else sizes.get(dim, 1) for dim in value.shape]
        kind = TYPES[value.type]
        if numpy.issubdtype(kind, numpy.floating):
            inputs[value.name] = generator.random(shape).astype(kind)
        else:
            inputs[value.name] = numpy.ones(shape, kind)
    return inputs


def trimmed(path, runs, keep):
    """The events of the last `runs` runs, one per line, with only the arguments `keep`."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)
    model_runs = sorted((e for e in events if e["name"] == "model_run"), key=lambda e: e["ts"])[-runs:]
    begin = model_runs[0]["ts"]
    end_of_first = begin + model_runs[0]["dur"]
    lines = []
    for event in sorted(events, key=lambda e: (e["ts"], -e["dur"])):
        if event["ts"] < begin:
            continue
        # The first run also keeps arguments that later runs repeat.
        keys = keep if event["ts"] <= end_of_first else ["op_name"]
        kept = {key: event[key] for key in ("cat", "ts", "dur", "name")}
        kept["args"] = {key: event["args"][key] for key in keys if key in event["args"]}
        lines.append(json.dumps(kept, separators=(",", ":")))
    return "[\n" + ",\n".join(lines) + "\n]\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--level", choices=LEVELS, default="all", help="of graph optimisation")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--threads", type=int, default=0, help="0: ONNX Runtime decides")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=V")
    parser.add_argument("--provider", default="CPUExecutionProvider")
    parser.add_argument("--trim", type=int, default=0, metavar="RUNS", help="keep the last RUNS runs, for a repository")
    parser.add_argument("--keep", default="op_name,provider,output_type_shape", metavar="ARGS",
                        help="arguments of events that --trim keeps")
    parser.add_argument("--optimized", metavar="ONNX", help="also write the graph that ran")
    parser.add_argument("--version", help="of ONNX Runtime; default: the installed one")
    parser.add_argument("--cache", default="/tmp/onnxruntime_releases", metavar="FOLDER")
    arguments = parser.parse_args()

    onnxruntime = load_runtime(arguments.version, arguments.cache)
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = arguments.output + ".raw"
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel,
                                               {"disable": "ORT_DISABLE_ALL"}.get(arguments.level)
                                               or "ORT_ENABLE_" + arguments.level.upper())
    options.log_severity_level = 3
    if arguments.optimized:
        options.optimized_model_filepath = arguments.optimized
    options.intra_op_num_threads = arguments.threads
    session = onnxruntime.InferenceSession(arguments.model, options, providers=[arguments.provider])
    sizes = {name: int(value) for name, value in (dim.split("=") for dim in arguments.dim)}
    inputs = inputs_of(session, sizes)
    for _ in range(arguments.runs):
        session.run(None, inputs)
    profile = session.end_profiling()
    if arguments.trim:
        text = trimmed(profile, arguments.trim, arguments.keep.split(","))
        os.remove(profile)
        with open(arguments.output, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        os.replace(profile, arguments.output)
    print(f"{arguments.output}: ONNX Runtime {onnxruntime.__version__}, {arguments.level}, {arguments.runs} runs")


if __name__ == "__main__":
    main()

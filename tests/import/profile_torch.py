#!/usr/bin/env python3
"""Profiles a small network with torch.profiler on the CPU and exports the same network to ONNX.

    pip install torch onnx
    profile_torch.py --trace torch_cpu.json --model torch_cpu.onnx
    onnx-skeleton torch_cpu.onnx -o tests/import/data/torch_cpu.onnx

Every module runs in a record_function range with its name, every run in a ProfilerStep range. --trim omits
event arguments that pagoda-import does not read.
"""
import argparse
import json

import torch
from torch.profiler import ProfilerActivity, profile, record_function, schedule


class Block(torch.nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = torch.nn.Conv2d(channels, channels, 3, padding=1)
        self.relu = torch.nn.ReLU()

    def forward(self, x):
        return self.relu(self.conv2(self.relu(self.conv1(x))) + x)


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = torch.nn.Conv2d(3, 32, 3, padding=1)
        self.pool = torch.nn.MaxPool2d(2)
        self.body = torch.nn.Sequential(Block(32), Block(32))
        self.head = torch.nn.Linear(32 * 16 * 16, 10)

    def forward(self, x):
        return self.head(torch.flatten(self.body(self.pool(self.stem(x))), 1))


def add_ranges(network):
    """Opens a range with the module's name around each module; returns the handles that remove the ranges."""
    handles = []
    for name, module in network.named_modules():
        if not name:
            continue
        open_ranges = []

        def before(_module, _inputs, name=name, open_ranges=open_ranges):
            open_ranges.append(record_function(name))
            open_ranges[-1].__enter__()

        def after(_module, _inputs, _output, open_ranges=open_ranges):
            open_ranges.pop().__exit__(None, None, None)

        handles += [module.register_forward_pre_hook(before), module.register_forward_hook(after)]
    return handles


def trimmed(path):
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    lines = []
    for event in trace.pop("traceEvents"):
        if "args" in event:
            event["args"] = {key: event["args"][key] for key in ("Input Dims", "correlation") if key in event["args"]}
        lines.append(json.dumps(event, separators=(",", ":")))
    head = json.dumps({key: trace[key] for key in ("schemaVersion", "deviceProperties", "record_shapes") if key in trace})
    return head[:-1] + ',\n"traceEvents": [\n' + ",\n".join(lines) + "\n]}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--trim", action="store_true")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    network, example = Network().eval(), torch.rand(1, 3, 32, 32)
    with torch.no_grad():
        torch.onnx.export(network, (example,), arguments.model, dynamo=False, opset_version=17)
        handles = add_ranges(network)
        network(example)
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True,
                     schedule=schedule(wait=0, warmup=1, active=arguments.runs),
                     on_trace_ready=lambda profiler: profiler.export_chrome_trace(arguments.trace)) as profiler:
            for _ in range(arguments.runs + 1):
                network(example)
                profiler.step()
        for handle in handles:
            handle.remove()
    if arguments.trim:
        text = trimmed(arguments.trace)
        with open(arguments.trace, "w", encoding="utf-8") as file:
            file.write(text)
    print(f"{arguments.trace}: torch {torch.__version__}, {arguments.runs} runs")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Profiles a small network with torch.profiler on the CPU and exports the same network to ONNX.

    pip install torch onnx
    profile_torch.py --trace torch_cpu.json --model torch_cpu.onnx
    onnx-skeleton torch_cpu.onnx -o tests/import/data/torch_cpu.onnx

Every module runs in a record_function range with its name, every run in a ProfilerStep range. --trim omits
event arguments that pagoda-import does not read. --ranges and --no-steps profile as people do who add no ranges or
no schedule: then torch itself says which module ran (with_modules, with_stack), or nothing does.
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


class Attention(torch.nn.Module):
    """A transformer block over the pixels of an image."""

    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.gelu, self.down = torch.nn.Linear(width, 64), torch.nn.GELU(), torch.nn.Linear(64, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        weights = torch.softmax(torch.matmul(q, k.transpose(-2, -1)) * 0.35, -1)
        x = x + self.out(torch.matmul(weights, v).transpose(1, 2).reshape(batch, length, width))
        return x + self.down(self.gelu(self.up(self.norm2(x))))


class Mixed(torch.nn.Module):
    """A convolution, a residual block, a transformer block and a classifier."""

    def __init__(self):
        super().__init__()
        self.stem, self.pool = torch.nn.Conv2d(3, 32, 3, padding=1), torch.nn.MaxPool2d(4)
        self.block, self.attention = Block(32), Attention()
        self.head = torch.nn.Linear(32, 10)

    def forward(self, x):
        x = self.block(self.pool(self.stem(x)))
        return self.head(self.attention(x.flatten(2).transpose(1, 2)).mean(1))


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


def export(network, example, path, exporter):
    if tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 5):
        torch.onnx.export(network, (example,), path, dynamo=exporter == "dynamo",
                          **({"external_data": False} if exporter == "dynamo" else {"opset_version": 17}))
    elif exporter == "dynamo":
        torch.onnx.dynamo_export(network, example).save(path)
    else:
        torch.onnx.export(network, (example,), path, opset_version=17)


def trimmed(path):
    """Only modules of the Python stack; shapes only of calls that no other call made."""
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    lines, end = [], {}
    events = trace.pop("traceEvents")
    for event in sorted(events, key=lambda e: (float(e.get("ts", 0)), -float(e.get("dur", 0)))):
        if event.get("cat") == "python_function" and not event["name"].startswith("nn.Module"):
            continue
        is_call = event.get("cat") == "cpu_op" and event["name"].startswith("aten::")
        is_inner = is_call and event["ts"] < end.get(event["tid"], 0)
        if is_call and not is_inner:
            end[event["tid"]] = event["ts"] + event["dur"]
        kept = ("correlation",) if is_inner else ("Input Dims", "correlation")
        args = {key: event["args"][key] for key in kept if key in event.get("args", {})}
        event.pop("args", None)
        if args:
            event["args"] = args
        lines.append(json.dumps(event, separators=(",", ":")))
    head = json.dumps({key: trace[key] for key in ("schemaVersion", "deviceProperties", "record_shapes") if key in trace})
    return head[:-1] + ',\n"traceEvents": [\n' + ",\n".join(lines) + "\n]}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", required=True)
    parser.add_argument("--model", help="also export to this file")
    parser.add_argument("--network", choices=["convolutions", "mixed"], default="convolutions")
    parser.add_argument("--exporter", choices=["torchscript", "dynamo"], default="torchscript")
    parser.add_argument("--ranges", choices=["own", "modules", "stack", "none"], default="own",
                        help="own: a range of record_function for each module (default); else torch's options")
    parser.add_argument("--form", choices=["eager", "jit", "compile"], default="eager", help="how the network runs")
    parser.add_argument("--no-steps", action="store_true", help="without a schedule")
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--trim", action="store_true")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    network, example = (Mixed if arguments.network == "mixed" else Network)().eval(), torch.rand(1, 3, 32, 32)
    options = {"activities": [ProfilerActivity.CPU], "record_shapes": True, "with_stack": arguments.ranges == "stack",
               "with_modules": arguments.ranges in ("modules", "stack")}
    if not arguments.no_steps:
        options["schedule"] = schedule(wait=0, warmup=1, active=arguments.runs)
        options["on_trace_ready"] = lambda profiler: profiler.export_chrome_trace(arguments.trace)
    with torch.no_grad():
        if arguments.model:
            export(network, example, arguments.model, arguments.exporter)
        handles = add_ranges(network) if arguments.ranges == "own" else []
        if arguments.form == "jit":
            network = torch.jit.trace(network, example)
        if arguments.form == "compile":
            network = torch.compile(network)
        for _ in range(2):
            network(example)
        with profile(**options) as profiler:
            for _ in range(arguments.runs + (0 if arguments.no_steps else 1)):
                network(example)
                if not arguments.no_steps:
                    profiler.step()
        if arguments.no_steps:
            profiler.export_chrome_trace(arguments.trace)
        for handle in handles:
            handle.remove()
    if arguments.trim:
        text = trimmed(arguments.trace)
        with open(arguments.trace, "w", encoding="utf-8") as file:
            file.write(text)
    print(f"{arguments.trace}: torch {torch.__version__}, {arguments.runs} runs")


if __name__ == "__main__":
    main()

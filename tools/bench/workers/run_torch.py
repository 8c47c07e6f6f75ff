#!/usr/bin/env python3
"""Runs an ONNX model operator by operator in PyTorch, one NVTX range a node: a workload whose kernels can be joined.

    pip install torch onnx nvtx
    run_torch.py models/skeletons/resnet50.onnx -o measured.json             # CPU: times node by node
    run_torch.py bert.onnx --batch 8 --dim sequence=128 --check              # against ONNX Runtime, same inputs
    pagoda-profile -o measured.json -- run_torch.py gpt2.onnx --device cuda  # counters; ranges of domain "pagoda"
    pagoda-import measured.json --estimate estimate.json                     # joined with what onnx-estimate says

Ranges are the nodes' names; a node without a name is called by its first output, by which the estimate finds it, too.
Weights that a skeleton lacks are random, seeded, and sized so that activations stay finite. Inputs are random and seeded:
token ids below 100, masks of ones. Dims that nothing sets are 1, as in the estimate.
Exit codes: 0 done · 1 unusable input (operators that are not implemented are all named) · 2 usage · 3 --check failed ·
4 no such device, or a package is missing.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import itertools
import os
import platform
import sys
import time
import zlib

import run_record as record
from run_record import Unusable

UNUSABLE, USAGE, CHECK_FAILED, NO_DEVICE = 1, 2, 3, 4


def say(text):
    print(f"run_torch.py: {text}", file=sys.stderr)


try:
    import numpy as np
    import onnx
    import torch

    import torch_engine_ops
    import torch_nn_ops
    import torch_ops
    from torch_weights import Weights
except ImportError as error:
    say(f"{error}; install what is missing with: pip install torch onnx numpy")
    sys.exit(NO_DEVICE)

OPS = {**torch_ops.OPS, **torch_nn_ops.OPS, **torch_engine_ops.OPS}
DOMAINS = {"": OPS, "ai.onnx": OPS, "com.microsoft": torch_engine_ops.MICROSOFT}
# Run by the executor itself.
OWN = {"Constant", "If"}

# Inputs that are arguments: read on the host, in the type of the file, and never moved.
ARGUMENTS = {
    "ConstantOfShape": {0}, "CumSum": {1}, "Dropout": {1, 2}, "Expand": {1}, "NonMaxSuppression": {2, 3, 4}, "OneHot": {1},
    "Pad": {1, 3},
    "Range": {0, 1, 2}, "Reshape": {1}, "Resize": {1, 2, 3}, "Slice": {1, 2, 3, 4}, "Split": {1}, "Squeeze": {1},
    "Tile": {1}, "TopK": {1}, "Trilu": {1}, "Unsqueeze": {1}, "Upsample": {1}, "Clip": {1, 2},
}  # fmt: skip
ARGUMENTS.update({name: {1} for name in OPS if name.startswith("Reduce")})

# Host tensors up to this size are arithmetic on shapes; it stays on the host until it meets a tensor of the device.
SMALL = 64


def attributes_of(node, tensor_of):
    values = {}
    for a in node.attribute:
        kind = onnx.AttributeProto
        if a.type == kind.TENSOR:
            values[a.name] = tensor_of(a.t)
        elif a.type == kind.STRING:
            values[a.name] = a.s.decode(errors="replace")
        elif a.type == kind.STRINGS:
            values[a.name] = [s.decode(errors="replace") for s in a.strings]
        elif a.type in (kind.INTS, kind.FLOATS):
            values[a.name] = list(a.ints if a.type == kind.INTS else a.floats)
        elif a.type in (kind.INT, kind.FLOAT):
            values[a.name] = onnx.helper.get_attribute_value(a)
    return values


def subgraphs(node):
    return [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]


def all_nodes(graph):
    for node in graph.node:
        yield node
        for inner in subgraphs(node):
            yield from all_nodes(inner)


# Ranges ---------------------------------------------------------------------------------------------------------------


def nvtx_ranges(how):
    """(push, pop, what) for ranges of domain "pagoda"; without a package for them, functions that do nothing."""
    if how in ("auto", "nvtx"):
        try:
            import nvtx

            return lambda name: nvtx.push_range(name, domain="pagoda"), lambda: nvtx.pop_range(domain="pagoda"), "nvtx"
        except ImportError:
            if how == "nvtx":
                raise Unusable("--nvtx nvtx: the package is missing; pip install nvtx") from None
    if how == "torch" or how == "auto" and torch.cuda.is_available():
        return torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop, "torch.cuda.nvtx"
    return (lambda name: None), (lambda: None), "none"


# Execution ------------------------------------------------------------------------------------------------------------


class Step:
    """One node, with its attributes as Python values and its branches as graphs."""

    def __init__(self, node, index, weights, numbers):
        self.label = record.node_label(node.name, node.output, index)
        self.kind = record.qualified(node.domain, node.op_type)
        self.op_type, self.domain = node.op_type, "" if node.domain == "ai.onnx" else node.domain
        self.inputs, self.outputs = list(node.input), list(node.output)
        self.attributes = attributes_of(node, weights.tensor)
        self.branches = {
            a.name: Branch(a.g, weights, numbers) for a in node.attribute if a.type == onnx.AttributeProto.GRAPH
        }

    def reads(self):
        yield from self.inputs
        for branch in self.branches.values():
            yield from branch.reads()


class Branch:
    """A graph: the model's, or one that an If may run."""

    def __init__(self, graph, weights, numbers):
        self.weights = {tensor.name: weights.tensor(tensor) for tensor in graph.initializer}
        self.steps = [Step(node, next(numbers), weights, numbers) for node in graph.node]
        self.outputs = [output.name for output in graph.output]

    def reads(self):
        for step in self.steps:
            yield from step.reads()
        yield from self.outputs

    def last_reads(self):
        """For each step, by its place, the values that nothing reads after it."""
        last = {name: place for place, step in enumerate(self.steps) for name in step.reads()}
        gone = collections.defaultdict(list)
        for name, place in last.items():
            if name and name not in self.outputs and name not in self.weights:
                gone[place].append(name)
        return gone


class Program:
    """The model with its weights on a device. run(inputs) gives its outputs and (step, seconds) of every execution."""

    def __init__(self, path, device="cpu", dtype=None, seed=0, ranges=(lambda name: None, lambda: None)):
        self.path, self.device = path, torch.device(device)
        self.push, self.pop = ranges
        try:
            model = onnx.load(path, load_external_data=False)
        except Exception as error:  # protobuf raises its own kinds
            raise Unusable(f"{path}: is no ONNX model that can be read ({error})") from None
        if model.functions:
            from onnx import inliner

            model = inliner.inline_local_functions(model)
        if not model.graph.node:
            raise Unusable(f"{path}: holds no node; expected an ONNX model")
        opsets = {o.domain: o.version for o in model.opset_import}
        self.opsets = {**opsets, "": opsets.get("", opsets.get("ai.onnx", 1))}
        self.float_type = dtype or torch.float32
        users, unknown = collections.defaultdict(list), collections.Counter()
        for node in all_nodes(model.graph):
            simple = attributes_of(node, lambda tensor: None)
            for place, name in enumerate(node.input):
                users[name].append((node.op_type, place, simple, node.output[0] if node.output else ""))
            table = DOMAINS.get(node.domain, {})
            if node.op_type not in table and not (table is OPS and node.op_type in OWN):
                unknown[record.qualified(node.domain, node.op_type)] += 1
        if unknown:
            raise Unusable(f"{path}: " + record.unknown_ops_message(unknown))
        weights = Weights(path, users, seed, dtype)
        self.graph = Branch(model.graph, weights, itertools.count())
        self.made_up = weights.made_up
        self.inputs = [value for value in model.graph.input if value.name not in self.graph.weights]
        self.last_reads = self.graph.last_reads()
        self.moved = {}

    # Arguments as they are, data where the node runs.
    def _inputs(self, step, values):
        found = [values[name] if name else None for name in step.inputs]
        if self.device.type == "cpu":
            return found
        arguments = ARGUMENTS.get(step.op_type, ()) if not step.domain else ()
        data = [x for place, x in enumerate(found) if x is not None and place not in arguments]
        if all(x.device.type == "cpu" and not (x.is_floating_point() and x.numel() > SMALL) for x in data):
            return found  # arithmetic on shapes
        for place, x in enumerate(found):
            if x is None or place in arguments or x.device.type != "cpu":
                continue
            name = step.inputs[place]
            if name not in self.graph.weights:
                found[place] = x.to(self.device)
                continue
            if name not in self.moved:
                self.moved[name] = x.to(self.device)
            found[place] = self.moved[name]
        return found

    def _execute(self, step, values, times):
        if not step.domain and step.op_type == "Constant":
            return (self._constant(step.attributes),)
        if not step.domain and step.op_type == "If":
            branch = step.branches["then_branch" if bool(values[step.inputs[0]].reshape(-1)[0]) else "else_branch"]
            inner = collections.ChainMap(dict(branch.weights), values)
            self._run(branch.steps, inner, times, {})
            return tuple(inner[name] for name in branch.outputs)
        used = max((place + 1 for place, name in enumerate(step.outputs) if name), default=0)
        call = torch_ops.Call(
            step.op_type, self._inputs(step, values), step.attributes, self.opsets.get(step.domain, 1), used,
            self.float_type, self.device,
        )  # fmt: skip
        result = DOMAINS[step.domain][step.op_type](call)
        result = result if isinstance(result, tuple) else (result,)
        for place, name in enumerate(step.outputs):
            if name and (place >= len(result) or result[place] is None):
                raise NotImplementedError(f"output {place}")
        return result

    def _constant(self, attributes):
        for name, value in attributes.items():
            if name == "value":
                return value
            if name in ("value_int", "value_ints"):
                return torch.tensor(value, dtype=torch.int64)
            if name in ("value_float", "value_floats"):
                return torch.tensor(value, dtype=self.float_type)
        raise NotImplementedError("a constant of this kind")

    def _run(self, steps, values, times, last_reads):
        for place, step in enumerate(steps):
            self.push(step.label)
            begin, first = self._now(), len(times)
            try:
                results = self._execute(step, values, times)
            except torch.cuda.OutOfMemoryError:
                raise Unusable(f'node "{step.label}": out of device memory; take a smaller --batch') from None
            except NotImplementedError as error:
                raise Unusable(f'node "{step.label}" ({step.kind}): not implemented: {error}') from error
            except (RuntimeError, IndexError, TypeError, ValueError, KeyError, AttributeError) as error:
                said = (str(error).splitlines() or [""])[0]
                raise Unusable(f'node "{step.label}" ({step.kind}): {type(error).__name__}: {said}') from error
            inner = times[first:]  # of a branch: the If's own time is what is left
            del times[first:]
            times.append((step, begin, self._now(), inner))
            self.pop()
            values.update((name, value) for name, value in zip(step.outputs, results) if name)
            for name in last_reads.get(place, ()):
                values.pop(name, None)

    def _now(self):
        if self.device.type != "cuda":
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    @torch.inference_mode()
    def run(self, inputs):
        values, times = {**self.graph.weights, **inputs}, []
        self._run(self.graph.steps, values, times, self.last_reads)
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return {name: values[name] for name in self.graph.outputs}, list(self._own_seconds(times))

    def _own_seconds(self, times):
        for step, begin, end, inner in times:
            of_inner = list(self._own_seconds(inner))
            whole = 1e-3 * begin.elapsed_time(end) if self.device.type == "cuda" else end - begin
            yield step, max(0.0, whole - sum(seconds for _, seconds in of_inner))
            yield from of_inner


# Inputs ---------------------------------------------------------------------------------------------------------------


def make_inputs(program, dims, batch, seed, shapes=None):
    """Seeded inputs, {name: tensor}, and the names of dims that nothing sets. `shapes` by name go before dims."""
    unset, inputs = set(), {}
    for value in program.inputs:
        tensor = value.type.tensor_type
        if not value.type.HasField("tensor_type"):
            raise Unusable(f'input "{value.name}": is no tensor; only tensors can be made up')
        sizes = [d.dim_value if d.HasField("dim_value") else d.dim_param or "?" for d in tensor.shape.dim]
        shape = (shapes or {}).get(value.name) or record.input_shape(sizes, dims, batch, unset)
        generator = torch.Generator().manual_seed(seed + zlib.crc32(value.name.encode()))
        dtype = torch_ops.TYPES.get(tensor.elem_type)
        if dtype is None:
            raise Unusable(f'input "{value.name}": element type {tensor.elem_type} cannot be made up')
        if dtype.is_floating_point:
            x = torch.randn(shape, generator=generator).to(dtype if dtype != torch.float32 else program.float_type)
        elif dtype == torch.bool or "mask" in value.name.lower():
            x = torch.ones(shape, dtype=dtype)
        elif "type" in value.name.lower():
            x = torch.zeros(shape, dtype=dtype)
        else:
            x = torch.randint(0, 100, shape, generator=generator).to(dtype)
        inputs[value.name] = x.to(program.device)
    return inputs, unset


# Comparison -----------------------------------------------------------------------------------------------------------


def reference_outputs(path, inputs):
    try:
        import onnxruntime
    except ImportError:
        raise Unusable("--check compares with ONNX Runtime, which is missing; pip install onnxruntime") from None
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # As the file says: optimised quantised products saturate on CPUs without 8-bit dot products.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        feeds = {name: x.cpu().numpy() for name, x in inputs.items()}
        return dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds)))
    except Exception as error:  # ONNX Runtime raises kinds of its own
        raise Unusable(f"--check: ONNX Runtime cannot run it: {str(error).splitlines()[0]}") from None


def relative_errors(ours, reference):
    """For each output max |ours - reference| / max |reference|; infinite where shapes or non-finite numbers differ."""
    errors = {}
    for name, expected in reference.items():
        got = ours[name].detach().cpu().to(torch.float64).numpy()
        expected = np.asarray(expected).astype(np.float64)
        if got.shape != expected.shape or not (np.isfinite(got) == np.isfinite(expected)).all():
            errors[name] = float("inf")
            continue
        finite = np.isfinite(expected)
        largest = np.abs(expected[finite]).max() if finite.any() else 0.0
        gap = np.abs(got[finite] - expected[finite]).max() if finite.any() else 0.0
        errors[name] = float(gap / largest) if largest > 0 else float(gap)
    return errors


# Command line ---------------------------------------------------------------------------------------------------------


def arguments_of(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", metavar="MODEL")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, cuda:1 (default cpu)")
    parser.add_argument("--batch", type=int, help="size of the batch dim of every input")
    parser.add_argument("--dim", "--dims", dest="dims", action="append", default=[], metavar="NAME=SIZE[,…]")
    parser.add_argument("--dtype", choices=["float32", "float16", "bfloat16"], help="what float32 of the file runs in")
    parser.add_argument("--warmup", type=int, default=2, help="runs before those that count (default 2)")
    parser.add_argument("--repeat", type=int, default=5, help="runs that count (default 5)")
    parser.add_argument("--threads", type=int, help="of the CPU (default: PyTorch's choice)")
    parser.add_argument("--tf32", choices=["on", "off"], help="products of float32 in TF32 (default: PyTorch's choice)")
    parser.add_argument("--nvtx", choices=["auto", "nvtx", "torch", "none"], default="auto", help="who writes ranges")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--check", action="store_true", help="compare outputs with ONNX Runtime's")
    parser.add_argument(
        "--tolerance", type=float, help="of --check: max error over max value (default 1e-3, half precision 1e-2)"
    )
    parser.add_argument("--top", type=int, default=15, help="rows of the table (default 15)")
    parser.add_argument("--list-ops", action="store_true", help="print the operators that can be run")
    parser.add_argument("-o", "--output", help="file for pagoda.measured/1")
    arguments = parser.parse_args(argv)
    if not arguments.list_ops and not arguments.model:
        parser.error("MODEL is missing")
    if arguments.repeat < 1 or arguments.warmup < 0 or (arguments.batch is not None and arguments.batch < 1):
        parser.error("--repeat and --batch must be 1 or more, --warmup 0 or more")
    return arguments


def require_device(name):
    try:
        device = torch.device(name)
        if device.type == "cuda" and not torch.cuda.is_available():
            raise RuntimeError("PyTorch sees no CUDA device")
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        say(f"--device {name}: {str(error).splitlines()[0]}; pagoda-doctor says what is missing")
        sys.exit(NO_DEVICE)


def cpu_name():
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def header_of(arguments, program, what_ranges):
    cuda = program.device.type == "cuda"
    device = torch.cuda.get_device_name(program.device) if cuda else cpu_name()
    env = {
        "dtype": str(program.float_type).removeprefix("torch."),
        "ranges": what_ranges,
        "threads": torch.get_num_threads(),
        "weights made up": program.made_up,
        "model": os.path.basename(arguments.model),
    }
    if cuda:
        env["tf32 products"] = torch.backends.cuda.matmul.allow_tf32
        env["tf32 convolutions"] = torch.backends.cudnn.allow_tf32
    return {"tool": f"models/run_torch.py, PyTorch {torch.__version__}", "device": device, "env": env}


def run(arguments):
    push, pop, what_ranges = nvtx_ranges(arguments.nvtx)
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    if arguments.tf32:
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = arguments.tf32 == "on"
    dtype = getattr(torch, arguments.dtype) if arguments.dtype not in (None, "float32") else None
    dims = record.parse_dims(arguments.dims)
    program = Program(arguments.model, arguments.device, dtype, arguments.seed, (push, pop))
    inputs, unset = make_inputs(program, dims, arguments.batch, arguments.seed)
    if unset:
        say(f"dims that nothing sets are 1: {', '.join(sorted(unset))}; set them with --dim")
    if program.made_up:
        say(f"{program.made_up} weights are not in the file; random ones take their place")
    runs, seconds = [], []
    for number in range(arguments.warmup + arguments.repeat):
        push(f"run {number}")
        begin = time.perf_counter()
        outputs, times = program.run(inputs)
        end = time.perf_counter()
        pop()
        if number >= arguments.warmup:
            runs.append(times)
            seconds.append(end - begin)
    document = record.measured_document(
        runs,
        seconds,
        lambda step: (step.label, step.kind, ""),
        arguments.warmup,
        header_of(arguments, program, what_ranges),
    )
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as file:
            file.write(record.write_document(document))
    print(f"{1e3 * document['seconds']:.3f} ms a run, median of {arguments.repeat}")
    sys.stdout.write(record.time_table(document["kernels"], arguments.top))
    if not arguments.check:
        return 0
    if program.made_up:
        raise Unusable("--check needs the weights, and the file lacks some; fill it with onnx-skeleton --fill first")
    errors = relative_errors(outputs, reference_outputs(arguments.model, inputs))
    worst = max(errors.values())
    print(f"against ONNX Runtime: largest error over largest value {worst:.2e} in {len(errors)} outputs")
    is_half = any(x.dtype in (torch.float16, torch.bfloat16) for x in program.graph.weights.values())
    tolerance = arguments.tolerance or (1e-2 if is_half else 1e-3)
    return 0 if worst <= tolerance else CHECK_FAILED


def main(argv=None):
    arguments = arguments_of(argv)
    if arguments.list_ops:
        for domain, table in (("", OPS), ("com.microsoft", torch_engine_ops.MICROSOFT)):
            for name in sorted({*table, *(OWN if not domain else ())}):
                print(record.qualified(domain, name))
        return 0
    require_device(arguments.device)
    try:
        return run(arguments)
    except (Unusable, OSError) as error:
        say(error)
        return UNUSABLE


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main())

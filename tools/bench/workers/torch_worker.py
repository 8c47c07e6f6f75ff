#!/usr/bin/env python3
"""PyTorch: named models (torch_models.py) eager or compiled, inference or a training step; ONNX files operator by operator.

    pip install torch torchvision transformers timm     (openxla, lazy: torch_xla)

Reads of the config: model_name, device, dtype, mode, compile, optimizer, batch, sequence, input_size, threads, data, seed;
layers_by = "operators" gives the operators of a run on a CPU, by PyTorch's profiler, where it is asked for layers;
graphs = true writes the captured graphs, their breaks and guards to files, fresh_cache = true compiles anew, xla_flags are
XLA's (options of the backend).
compile: eager; inductor, aot_eager, cudagraphs and openxla by torch.compile; trace, one instance of torch.jit.trace; lazy, tensors
of torch_xla without torch.compile. With openxla and lazy the record has trace_seconds: a run until its graph is submitted.
compile_seconds is the first call of a compiled model, which compiles; the runner's first call comes after it. Inductor keeps
what it compiled in a folder (TORCHINDUCTOR_CACHE_DIR): the record says how many graphs came from there.
"""
import contextlib
import os
import platform
import statistics
import tempfile
import time

import torch_models
from worker import Unavailable, Worker, described, median_layers, progress, serve, timed

DTYPES = {"float32": "float32", "float16": "float16", "bfloat16": "bfloat16"}
LAYER_RUNS = 10
ROOT = "/"  # the model itself among its modules, which PyTorch gives no name


class OnnxModule:
    """A program of run_torch.py as a module: called with its inputs, it gives its outputs."""

    def __init__(self, program):
        self.program = program

    def __call__(self, **inputs):
        return self.program.run(inputs)[0]


class TorchWorker(Worker):
    program = None  # of an ONNX file

    def models(self):
        return torch_models.listed()

    def prepare(self, config, folder):
        # Read once, when the library is loaded.
        if config.get("xla_flags"):
            os.environ["XLA_FLAGS"] = str(config["xla_flags"])
        if config.get("fresh_cache"):
            self.cache = tempfile.TemporaryDirectory(prefix="pagoda-inductor-")  # removed when this process ends
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = self.cache.name
        progress("loading PyTorch")
        import torch

        progress("loading the model")
        self.torch, self.config, self.folder = torch, config, folder
        self.trace_seconds = []
        self.device = self.pick_device(config.get("device") or "cpu")
        if config.get("threads"):
            torch.set_num_threads(config["threads"])
        torch.manual_seed(config.get("seed") or 1)

        start = time.perf_counter()
        dtype = getattr(torch, DTYPES[config.get("dtype") or "float32"])
        self.trains = config.get("mode") == "training"
        if config.get("model_file"):
            items = self.load_onnx(dtype)
        else:
            items = self.load_named(dtype)
        self.optimizer = self.make_optimizer() if self.trains else None
        self.wait()  # XLA's transfers are pending until then, and would be compiled into the first run
        load_seconds = time.perf_counter() - start

        how = config.get("compile") or "eager"
        metadata = {} if self.program else {"parameters": sum(p.numel() for p in self.module.parameters())}
        if self.device.type == "cpu":
            metadata["threads"] = torch.get_num_threads()
        if config.get("graphs"):
            progress("capturing graphs")
            metadata.update(self.write_graphs())
        self.forward = self.compiled(how)
        compile_seconds = None
        if how != "eager":
            progress("compiling by " + how)
            start = time.perf_counter()
            held = self.once()  # noqa: F841, see run()
            self.wait()
            compile_seconds = time.perf_counter() - start
            metadata.update(self.cached())
        return {"items": items, "load_seconds": load_seconds, "compile_seconds": compile_seconds,
                "versions": self.versions(), "inputs": described(self.inputs), "metadata": metadata}

    def cached(self):
        """Of the graphs that Inductor was given, those that an earlier process had compiled, and the others."""
        found = self.torch._dynamo.utils.counters["inductor"] if self.config.get("compile") == "inductor" else {}
        hits, misses = found.get("fxgraph_cache_hit", 0), found.get("fxgraph_cache_miss", 0)
        return {"compile_cache_hits": hits, "compile_cache_misses": misses} if hits + misses else {}

    def facts(self):
        return {"trace_seconds": statistics.median(self.trace_seconds)} if self.trace_seconds else {}

    def load_named(self, dtype):
        config = self.config
        self.module, origin = torch_models.build(self.torch, config.get("model_name") or config.get("model"))
        inputs, items = torch_models.inputs_for(self.torch, self.module, origin, config)
        self.module = self.module.to(self.device, dtype).train(self.trains)
        self.inputs = {key: value.to(self.device, dtype if value.is_floating_point() else value.dtype) for key, value in inputs.items()}
        return items

    def load_onnx(self, dtype):
        """The graph as the file has it, an operator a call: what frameworks' graph compilers start from."""
        config = self.config
        if (config.get("compile") or "eager") != "eager":
            raise Unavailable("an ONNX file runs operator by operator in torch: compile = eager; name a model to compile it")
        import run_torch

        program = run_torch.Program(config["model_file"], self.device, dtype, config.get("seed") or 1)
        self.inputs, unset = run_torch.make_inputs(program, {}, None, config.get("seed") or 1, self.shapes)
        if unset:
            raise Unavailable(f"sizes of inputs are open: {', '.join(sorted(unset))}")
        self.module, self.program = OnnxModule(program), program
        return config.get("batch")

    def pick_device(self, text):
        torch, kind = self.torch, text.partition(":")[0]
        if kind == "cuda" and not torch.cuda.is_available():
            raise Unavailable("not available: this torch finds no CUDA device; install a driver and torch with CUDA, or choose device cpu")
        if kind == "mps" and not (getattr(torch.backends, "mps", None) and torch.backends.mps.is_available()):
            raise Unavailable("not available: this torch finds no Metal device")
        if (self.config.get("compile") or "") in ("openxla", "lazy"):
            os.environ.setdefault("PJRT_DEVICE", kind.upper())
            import torch_xla

            return torch_xla.device()
        return torch.device(text)

    def compiled(self, how):
        torch = self.torch
        if how in ("eager", "lazy"):
            return self.module
        if how == "trace":
            return self.traced()
        if how == "cudagraphs" and self.device.type != "cuda":
            raise Unavailable("cudagraphs needs device cuda")
        torch._dynamo.reset()
        return torch.compile(self.module, backend="openxla" if how == "openxla" else how)

    def traced(self):
        """One instance: what this input executes, without branches. Its inputs are places, not names."""
        if self.trains:
            raise Unavailable("torch.jit.trace has no training step here: choose mode = inference")
        torch = self.torch
        with torch.inference_mode():
            made = torch.jit.trace(self.module, example_kwarg_inputs=self.inputs, strict=False, check_trace=False)
        return torch.jit.freeze(made.eval())

    def make_optimizer(self):
        optim, name = self.torch.optim, self.config.get("optimizer") or "sgd"
        made = {"sgd": optim.SGD, "adam": optim.Adam, "adamw": optim.AdamW}[name]
        return made(self.module.parameters(), lr=1e-4)

    def without_gradients(self):
        """Tensors of inference_mode have no version counters, which torch_xla's views need."""
        return self.torch.no_grad() if self.device.type == "xla" else self.torch.inference_mode()

    def once(self):
        if not self.trains:
            with self.without_gradients():
                return self.forward(**self.inputs)
        # The loss of a step: a number that every output has a part in. Its cost is that of one pass over the outputs.
        loss = sum(t.float().mean() for t in floats_of(self.torch, self.forward(**self.inputs)))
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss

    def wait(self):
        kind = self.device.type
        if kind == "cuda":
            self.torch.cuda.synchronize(self.device)
        elif kind == "mps":
            self.torch.mps.synchronize()
        elif kind == "xla":
            import torch_xla
            import torch_xla.core.xla_model

            torch_xla.sync()  # submits; its own wait does not hold until a CPU has computed
            torch_xla.core.xla_model.wait_device_ops()

    def run(self, iterations):
        if self.device.type == "cuda":
            return self.run_by_events(iterations), "device events"

        is_lazy = self.device.type == "xla"

        def waited():
            start = time.perf_counter()
            held = self.once()  # noqa: F841: XLA computes only what somebody still holds when it is waited for
            if is_lazy:
                self.trace_seconds.append(time.perf_counter() - start)
            self.wait()

        return timed(waited, iterations), "steady"

    def run_by_events(self, iterations):
        """Between two events of the stream: neither the launch of the first kernel nor the host's wait are in it."""
        events = [(self.torch.cuda.Event(enable_timing=True), self.torch.cuda.Event(enable_timing=True)) for _ in range(iterations)]
        for begin, end in events:
            begin.record()
            self.once()
            end.record()
        self.wait()
        return [begin.elapsed_time(end) * 1e-3 for begin, end in events]

    def outputs(self):
        with self.without_gradients():
            values = floats_of(self.torch, self.forward(**self.inputs))
        return {f"output{i}": value.float().cpu().numpy() for i, value in enumerate(values)}

    def layers(self):
        """Modules by hooks, each without the modules that it calls: leaves, and those that compute something themselves (a
        residual's sum, attention's products). Of the module as written: a compiled one has no modules left to time."""
        if self.program:
            return self.operators()
        if self.config.get("layers_by") == "operators":
            return self.profiled_operators()
        torch, samples, kinds, open_calls, computing, hooks = self.torch, {}, {}, [], set(), []

        class Calls(torch.overrides.TorchFunctionMode):
            """Notes which modules call a function of torch themselves."""

            def __torch_function__(self, function, types, args=(), kwargs=None):
                if open_calls and function.__name__ != "__get__":  # attributes as shape
                    computing.add(open_calls[-1][0])
                return function(*args, **(kwargs or {}))

        def before(name):
            def hook(*_):
                entered = time.perf_counter()
                self.wait()
                open_calls.append([name, entered, time.perf_counter(), 0.0])
            return hook

        def after(*_):
            self.wait()
            end = time.perf_counter()
            name, entered, start, inner = open_calls.pop()
            seconds[name] = seconds.get(name, 0) + end - start - inner
            if open_calls:
                open_calls[-1][3] += time.perf_counter() - entered

        for name, module in self.module.named_modules():
            name = name or ROOT
            kinds[name] = type(module).__name__
            if next(module.children(), None) is None:
                computing.add(name)
            hooks += [module.register_forward_pre_hook(before(name)), module.register_forward_hook(after)]
        try:
            with self.without_gradients():
                with Calls():
                    seconds = {}
                    self.module(**self.inputs)
                for _ in range(LAYER_RUNS):
                    seconds = {}
                    self.module(**self.inputs)
                    for name, value in seconds.items():
                        samples.setdefault(name, []).append(value)
        finally:
            for hook in hooks:
                hook.remove()
        return [{"name": name, "op_type": kinds[name], "seconds": statistics.median(values), "facts": {"timed": "eager, by hooks"}}
                for name, values in samples.items() if name in computing]

    def operators(self):
        samples = {}
        for _ in range(LAYER_RUNS):
            for step, seconds in self.program.run(self.inputs)[1]:
                samples.setdefault((step.label, step.op_type), []).append(seconds)
        return median_layers(samples, {})

    def profiled_operators(self):
        """Each operator by the shape of its second operand, a convolution's weight: the time that it spends itself in a run,
        without those it calls."""
        torch = self.torch
        if self.device.type != "cpu":
            raise Unavailable("not available: operators of a run are timed on a CPU alone, where they wait for their work")
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profile:
            for _ in range(LAYER_RUNS):
                self.once()
        seconds, calls = {}, {}
        for event in profile.key_averages(group_by_input_shape=True):
            shapes = [shape for shape in event.input_shapes if shape]
            key = (event.key, "x".join(map(str, shapes[1])) if len(shapes) > 1 else "")
            seconds[key] = seconds.get(key, 0) + event.self_cpu_time_total * 1e-6 / LAYER_RUNS
            calls[key] = calls.get(key, 0) + event.count / LAYER_RUNS
        return [{"name": f"{kind} {second}".strip(), "op_type": kind, "seconds": value,
                 "facts": {"timed": "by the profiler", "calls": calls[kind, second], "second": second}}
                for (kind, second), value in seconds.items()]

    def write_graphs(self):
        """What torch.compile captures: a file a graph, the reasons of breaks, the guards. Returns their number."""
        torch = self.torch
        torch._dynamo.reset()
        with contextlib.nullcontext() if self.trains else self.without_gradients():  # as the module runs
            found = torch._dynamo.explain(self.module)(**self.inputs)
        os.makedirs(self.folder, exist_ok=True)
        stem = os.path.join(self.folder, "graphs-" + "-".join(str(self.config.get(k)) for k in ("model", "batch", "dtype") if self.config.get(k)).replace("/", "_"))
        for i, graph in enumerate(found.graphs):
            with open(f"{stem}-{i}.txt", "w", encoding="utf-8") as file:
                file.write(graph.print_readable(print_output=False))
        with open(f"{stem}-breaks.txt", "w", encoding="utf-8") as file:
            file.writelines(f"{reason.reason}\n" for reason in found.break_reasons)
        with open(f"{stem}-guards.txt", "w", encoding="utf-8") as file:
            file.writelines(f"{guard}\n" for guard in found.out_guards or [])
        torch._dynamo.reset()
        return {"graphs": found.graph_count, "graph_breaks": found.graph_break_count, "graph_files": os.path.basename(stem)}

    def device_peak_bytes(self):
        return self.torch.cuda.max_memory_allocated(self.device) if self.device.type == "cuda" else None

    def versions(self):
        import importlib.metadata

        found = {"python": platform.python_version()}
        for package in ("torch", "torchvision", "transformers", "triton", "torch_xla"):
            try:
                found[package] = importlib.metadata.version(package)
            except importlib.metadata.PackageNotFoundError:
                pass
        if self.torch.version.cuda and self.device.type == "cuda":
            found["cuda"] = self.torch.version.cuda
            found["cudnn"] = str(self.torch.backends.cudnn.version())
        return found


def floats_of(torch, value):
    """The floating-point tensors of whatever forward() returned, in order, each once."""
    found, seen = [], set()

    def visit(part):
        if isinstance(part, torch.Tensor):
            if part.is_floating_point() and id(part) not in seen:
                seen.add(id(part))
                found.append(part)
        elif isinstance(part, dict) or hasattr(part, "items"):
            for inner in part.values():
                visit(inner)
        elif isinstance(part, (list, tuple)):
            for inner in part:
                visit(inner)

    visit(value)
    return found


if __name__ == "__main__":
    serve(TorchWorker())

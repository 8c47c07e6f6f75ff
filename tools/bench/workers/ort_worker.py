#!/usr/bin/env python3
"""ONNX Runtime by its Python package: pip install onnxruntime, or onnxruntime-gpu for device cuda and tensorrt.

Reads of the config: model_file, data_folder, device, optimization, threads, dtype, data, seed. Shapes of inputs are the
runner's. On device tensorrt, dtype float16 lets TensorRT compute a float32 file in float16. Energy, host memory and
interference are the runner's.
"""
import json
import mmap
import os
import time

from worker import Unavailable, Worker, data_files, described, load_images, median_layers, serve, timed

PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider", "tensorrt": "TensorrtExecutionProvider"}
LEVELS = {"disable": "ORT_DISABLE_ALL", "basic": "ORT_ENABLE_BASIC", "extended": "ORT_ENABLE_EXTENDED", "all": "ORT_ENABLE_ALL"}
PROFILED_RUNS = 10, 40  # at least, at most
PROFILED_SECONDS = 1.5  # the first few runs with the profiler are slow, so that the median needs more of short ones


def thread_count():
    """Of this process; 0 where the system does not list them."""
    return len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 0


def load_tensorrt():
    """Loads the libraries where pip put them, which the loader does not search; returns their version, if it is known."""
    try:
        import tensorrt
    except ImportError:
        return {}  # the system's libraries
    return {"tensorrt": tensorrt.__version__}


def tensorrt_options(config, folder):
    """Of the provider. A file with Q/DQ pairs has integer products, which the builder refuses unless it is told to expect them."""
    with open(config["model_file"], "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        is_quantised = content.find(b"DequantizeLinear") >= 0
    return {"trt_fp16_enable": str(config.get("dtype") == "float16"), "trt_int8_enable": str(is_quantised),
            "trt_timing_cache_enable": "True", "trt_timing_cache_path": folder}  # so that a layer of a former model is not timed again


class OrtWorker(Worker):
    def prepare(self, config, folder):
        import onnxruntime

        import numpy

        self.ort, self.numpy, self.config, self.folder = onnxruntime, numpy, config, folder
        kind, _, index = (config.get("device") or "cpu").partition(":")
        provider = PROVIDERS[kind]
        if provider not in onnxruntime.get_available_providers():
            raise Unavailable(f"not available: this onnxruntime has no {provider}; install onnxruntime-gpu (pip install onnxruntime-gpu) and its driver")
        self.on_device = kind != "cpu"
        self.engine_types = ("float32", "float16") if kind == "tensorrt" else ()  # of an engine from a file in float32
        on_index = {"device_id": index or "0"}
        self.providers = [(provider, on_index) if self.on_device else provider]
        tensorrt = {}
        if kind == "tensorrt":
            tensorrt = load_tensorrt()
            self.providers = [(provider, on_index | tensorrt_options(config, folder)), (PROVIDERS["cuda"], on_index)]
        if self.on_device and hasattr(onnxruntime, "preload_dlls"):
            onnxruntime.preload_dlls()  # CUDA's and cuDNN's libraries where pip put them, which the loader does not search

        before, start = thread_count(), time.perf_counter()
        self.session = self.make_session(self.options())
        load_seconds = time.perf_counter() - start
        metadata = {"provider": provider}
        if before and not self.on_device:
            metadata["threads"] = thread_count() - before + 1  # the session's own, and the one that calls it
        if self.session.get_providers()[0] != provider:
            raise Unavailable(f"not available: {provider} could not be started; found {', '.join(self.session.get_providers())}"
                              + ("; install TensorRT 10 (pip install 'tensorrt<11')" if kind == "tensorrt" else ""))
        self.inputs = self.make_inputs()
        self.binding = self.bind() if self.on_device else None
        import platform

        return {"items": config.get("batch"), "load_seconds": load_seconds, "compile_seconds": None,
                "versions": {"onnxruntime": onnxruntime.__version__, "numpy": numpy.__version__, "python": platform.python_version(),
                             **tensorrt},
                "inputs": described(self.inputs), "metadata": metadata}

    def options(self, profile=""):
        options = self.ort.SessionOptions()
        options.graph_optimization_level = getattr(self.ort.GraphOptimizationLevel, LEVELS[self.config.get("optimization") or "all"])
        if self.config.get("threads"):
            options.intra_op_num_threads = self.config["threads"]
        options.log_severity_level = 3
        if profile:
            options.enable_profiling = True
            options.profile_file_prefix = profile
        return options

    def make_session(self, options):
        """Of the file; of its bytes where its external data lie in another folder, data_folder."""
        model, folder = self.config["model_file"], self.config.get("data_folder")
        if folder:
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
            with open(model, "rb") as file:
                model = file.read()
        return self.ort.InferenceSession(model, options, providers=self.providers)

    def make_inputs(self):
        numpy, config = self.numpy, self.config
        generator = numpy.random.default_rng(config.get("seed") or 1)
        archives, images = data_files(config["data"]) if config.get("data") else ([], [])
        stored = dict(numpy.load(archives[0])) if archives else {}
        types = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(double)": "float64", "tensor(bool)": "bool",
                 **{f"tensor({name})": name for name in ("int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64")}}
        inputs = {}
        for value in self.session.get_inputs():
            if value.type not in types:
                raise Unavailable(f"input {value.name} is of type {value.type}, which numpy has not")
            dtype = numpy.dtype(types[value.type])
            wanted = config.get("dtype")
            if wanted and dtype.kind == "f" and dtype.name != wanted and not (dtype.name == "float32" and wanted in self.engine_types):
                raise Unavailable(f"input {value.name} is {dtype.name} and the file computes in it; asked for {wanted}: convert the file")
            if value.name not in self.shapes:
                raise Unavailable(f"input {value.name}: its shape is not known; only tensors can be made up")
            shape = self.shapes[value.name]
            if value.name in stored:
                inputs[value.name] = stored[value.name].astype(dtype)
            elif images and len(shape) == 4 and shape[1] == 3:
                inputs[value.name] = load_images(images, shape[0], shape[2], shape[3]).astype(dtype)
            else:
                inputs[value.name] = synthetic(numpy, generator, value.name, dtype, shape)
        return inputs

    def bind(self):
        """Inputs and outputs that stay on the device: copies from the host are no part of the model."""
        binding = self.session.io_binding()
        index = int((self.config.get("device") or "").partition(":")[2] or 0)
        for name, array in self.inputs.items():
            binding.bind_ortvalue_input(name, self.ort.OrtValue.ortvalue_from_numpy(array, "cuda", index))
        for value in self.session.get_outputs():
            binding.bind_output(value.name, "cuda", index)
        return binding

    def once(self):
        if self.binding is None:
            return self.session.run(None, self.inputs)
        self.session.run_with_iobinding(self.binding)
        self.binding.synchronize_outputs()
        return None

    def run(self, iterations):
        return timed(self.once, iterations), "steady"

    def outputs(self):
        values = self.session.run(None, self.inputs)
        names = [value.name for value in self.session.get_outputs()]
        if not all(isinstance(value, self.numpy.ndarray) for value in values):
            raise Unavailable("an output is not a tensor")
        return dict(zip(names, values))

    def layers(self):
        """Nodes as ONNX Runtime ran them, by its profiler in a session of its own; the profile stays in the folder."""
        session = self.make_session(self.options(os.path.join(self.folder, "ort")))
        least, most = PROFILED_RUNS
        start, runs = time.perf_counter(), 0
        while runs < least or (runs < most and time.perf_counter() - start < PROFILED_SECONDS):
            session.run(None, self.inputs)
            runs += 1
        profile = session.end_profiling()
        with open(profile, encoding="utf-8") as file:
            events = json.load(file)
        samples, facts = {}, {}
        for event in events:
            name = event.get("name", "")
            if event.get("cat") != "Node" or not name.endswith("_kernel_time"):
                continue
            arguments = event.get("args", {})
            key = (name[: -len("_kernel_time")], arguments.get("op_name", ""))
            samples.setdefault(key, []).append(event["dur"] * 1e-6)
            facts[key] = {"provider": arguments.get("provider", ""), "profile": os.path.basename(profile)}
        return median_layers(samples, facts)


def synthetic(numpy, generator, name, dtype, shape):
    """Seeded: normal floats, ones for masks, zeros for types of tokens, positions in order, token ids below 100."""
    lower = name.lower()
    if dtype.kind == "f":
        return generator.standard_normal(shape).astype(dtype)
    if "mask" in lower or dtype.kind == "b":
        return numpy.ones(shape, dtype)
    if "type" in lower or "segment" in lower:
        return numpy.zeros(shape, dtype)
    if "position" in lower and shape:
        return numpy.broadcast_to(numpy.arange(shape[-1], dtype=dtype), shape).copy()
    return generator.integers(0, 100, shape).astype(dtype)


if __name__ == "__main__":
    serve(OrtWorker())

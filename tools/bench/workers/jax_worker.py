#!/usr/bin/env python3
"""JAX: models by name (jax_models.py) or a function of the user's, jitted. pip install jax

A name "module:factory" is a function: the module on PYTHONPATH, factory(config) returns (function, arguments). The function
is compiled for the arguments, which are placed on the device once. compile_seconds is lowering and compilation alone.
Reads of the config: model_name, device, dtype, batch, input_size, data, seed; xla_flags are XLA's (an option of the backend).
"""
import importlib
import os
import platform
import time

import jax_models
from worker import Unavailable, Worker, described, serve, timed


class JaxWorker(Worker):
    def models(self):
        return jax_models.listed()

    def prepare(self, config, folder):
        # Read once, when the library is loaded.
        if config.get("xla_flags"):
            os.environ["XLA_FLAGS"] = str(config["xla_flags"])
        import jax

        self.jax = jax
        kind, _, index = (config.get("device") or "cpu").partition(":")
        try:
            device = jax.devices({"cuda": "gpu"}.get(kind, kind))[int(index or 0)]
        except (RuntimeError, IndexError) as error:
            raise Unavailable(f"not available: this jax has no device {kind}:{index or 0}; install jax[cuda] or choose device cpu") from error
        self.device = device
        name = config.get("model_name") or config.get("model") or ""
        module, _, factory = name.partition(":")
        start = time.perf_counter()
        metadata = {"device_kind": device.device_kind}
        if factory:
            function, arguments = getattr(importlib.import_module(module), factory)(config)
        else:
            function, arguments, metadata["parameters"] = jax_models.build(config, name)
            arguments = self.in_dtype(arguments, config.get("dtype"))
        self.arguments = jax.device_put(arguments, device)
        load_seconds = time.perf_counter() - start
        start = time.perf_counter()
        self.compiled = jax.jit(function).lower(*self.arguments).compile()
        compile_seconds = time.perf_counter() - start
        return {"items": config.get("batch") or 1, "load_seconds": load_seconds, "compile_seconds": compile_seconds,
                "versions": {"jax": jax.__version__, "python": platform.python_version()},
                "inputs": self.described_inputs(factory), "metadata": metadata}

    def in_dtype(self, arguments, dtype):
        if dtype in (None, "float32"):
            return arguments
        return self.jax.tree_util.tree_map(lambda leaf: leaf.astype(dtype), arguments)

    def described_inputs(self, factory):
        """Of a function its arguments that are arrays; of a named model the images alone, without its parameters."""
        named = {f"argument{i}": value for i, value in enumerate(self.arguments)} if factory else {"images": self.arguments[1]}
        return described({name: value for name, value in named.items() if hasattr(value, "shape")})

    def once(self):
        return self.jax.block_until_ready(self.compiled(*self.arguments))

    def run(self, iterations):
        return timed(self.once, iterations), "steady"

    def outputs(self):
        import numpy

        leaves = self.jax.tree_util.tree_leaves(self.once())
        return {f"output{i}": numpy.asarray(leaf) for i, leaf in enumerate(leaves)}

    def device_peak_bytes(self):
        stats = self.device.memory_stats() or {}
        return stats.get("peak_bytes_in_use")


if __name__ == "__main__":
    serve(JaxWorker())

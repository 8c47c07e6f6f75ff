#!/usr/bin/env python3
"""JAX: a function of the user's, jitted. pip install jax

The model's name is "module:factory", the module on PYTHONPATH; factory(config) returns (function, arguments): the function
is compiled for the arguments, which are placed on the device once. compile_seconds is lowering and compilation alone.
"""
import importlib
import platform
import time

from worker import Unavailable, Worker, serve, timed


class JaxWorker(Worker):
    def prepare(self, config, folder):
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
        if not factory:
            raise Unavailable(f'found the name "{name}"; expected "module:factory", which returns (function, arguments)')
        start = time.perf_counter()
        function, arguments = getattr(importlib.import_module(module), factory)(config)
        self.arguments = jax.device_put(arguments, device)
        load_seconds = time.perf_counter() - start
        start = time.perf_counter()
        self.compiled = jax.jit(function).lower(*self.arguments).compile()
        compile_seconds = time.perf_counter() - start
        return {"items": config.get("batch") or 1, "load_seconds": load_seconds, "compile_seconds": compile_seconds,
                "versions": {"jax": jax.__version__, "python": platform.python_version()},
                "metadata": {"device_kind": device.device_kind}}

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

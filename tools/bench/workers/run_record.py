"""What run_torch.py needs besides PyTorch: sizes of dims, names of nodes, statistics, the measured file.

Standard library only, so that its tests run where no package is installed.
"""

from __future__ import annotations

import ast
import json
import statistics


class Unusable(Exception):
    """An input that cannot be used: the message says what was found and what helps."""


# Dims ------------------------------------------------------------------------------------------------------------------


def parse_dims(texts):
    """["batch=8", "past=4,sequence=1"] -> {"batch": 8, "past": 4, "sequence": 1}."""
    dims = {}
    for text in texts:
        for part in text.split(","):
            name, equals, value = part.partition("=")
            if not equals or not name.strip() or not value.strip().isdigit() or int(value) < 1:
                raise Unusable(f'--dim "{part}": expected NAME=SIZE with a size of 1 or more, as in --dim sequence=128')
            dims[name.strip()] = int(value)
    return dims


_OPERATORS = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Div: lambda a, b: a // b,  # exporters write floor divisions of sizes both ways
}


def dim_size(formula, dims, unset):
    """The size of a dim: a number, a name, or a formula of names such as "past + sequence".

    A name that nothing sets is 1, as in the estimate, and is added to `unset`.
    """
    if isinstance(formula, int):
        return formula
    if formula in dims:
        return dims[formula]

    def value(node):
        if isinstance(node, ast.Expression):
            return value(node.body)
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if isinstance(node, ast.Name):
            if node.id not in dims:
                unset.add(node.id)
            return dims.get(node.id, 1)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            right = value(node.right)
            if right == 0 and isinstance(node.op, (ast.Div, ast.FloorDiv)):
                raise Unusable(f'the dim "{formula}" divides by 0 with these sizes')
            return _OPERATORS[type(node.op)](value(node.left), right)
        raise SyntaxError

    try:
        size = value(ast.parse(formula, mode="eval"))
    except SyntaxError:  # a name that is no identifier: "batch-size" parses as a difference, "batch size" not at all
        unset.add(formula)
        return 1
    if size < 0:
        raise Unusable(f'the dim "{formula}" is {size} with these sizes; set its names with --dim')
    return size


def input_shape(dims_of_input, dims, batch, unset):
    """Sizes of an input. `batch` sets the first dim where it is fixed, and any dim whose name says that it is the batch."""
    shape = []
    for place, dim in enumerate(dims_of_input):
        is_batch = isinstance(dim, str) and (dim.lower() in ("n", "b") or dim.lower().startswith("batch"))
        if batch is not None and dim not in dims and (is_batch or (place == 0 and isinstance(dim, int))):
            shape.append(batch)
        else:
            shape.append(dim_size(dim, dims, unset))
    return shape


# Names -----------------------------------------------------------------------------------------------------------------


def node_label(name, outputs, index):
    """What a node's range is called: its name, else its first output, by which the estimate's rows are found, too."""
    return name or next((output for output in outputs if output), "") or f"#{index}"


def qualified(domain, op_type):
    return op_type if domain in ("", "ai.onnx") else f"{domain}.{op_type}"


def unknown_ops_message(counts):
    """{"Loop": 2, "com.acme.Op": 1} -> one line that names them all."""
    named = ", ".join(f"{name} ({count} nodes)" if count > 1 else name for name, count in sorted(counts.items()))
    return (
        f"{len(counts)} operator{'s' if len(counts) > 1 else ''} not implemented here: {named}; "
        "run the model with ONNX Runtime and import its profile with pagoda-import"
    )


# Times -----------------------------------------------------------------------------------------------------------------


def spread(samples):
    """min, max, mean and number of samples; None of a single one."""
    if len(samples) < 2:
        return None
    return {"min": min(samples), "max": max(samples), "mean": statistics.fmean(samples), "n": len(samples)}


def measured_document(runs, run_seconds, describe, warmup, header):
    """A pagoda.measured/1 of runs that are lists of (key, seconds), one a node in order.

    `describe(key)` gives name, op_type and detail; a node that a run executes several times is one kernel of several
    launches. Medians are over the runs that executed it; `header` adds tool, device, clocks, env and source's own keys.
    """
    launches = {}  # seconds of each, by key and run
    for number, run in enumerate(runs):
        for key, seconds in run:
            launches.setdefault(key, {}).setdefault(number, []).append(seconds)
    kernels = []
    for key, by_run in launches.items():
        name, op_type, detail = describe(key)
        samples = [sum(seconds) for seconds in by_run.values()]
        counts = list({len(seconds) for seconds in by_run.values()})
        kernel = {"name": name, "op_type": op_type, "node": name, "nvtx": None}
        if detail:
            kernel["detail"] = detail
        kernel.update(
            launches=counts[0] if len(counts) == 1 else None,
            seconds=statistics.median(samples),
            seconds_spread=spread(samples),
            flops=None,
            bytes=None,
            energy_joules=None,
        )
        kernels.append(kernel)
    document = {
        "schema": "pagoda.measured/1",
        "source": "torch",
        "tool": None,
        "device": None,
        "clocks": {},
        "env": {},
        "repeats": len(runs),
        "warmup": warmup,
        "seconds": statistics.median(run_seconds),
        "seconds_spread": spread(run_seconds),
        "kernels": kernels,
        "missing": [
            {"what": "flops", "why": "timed by clock; pagoda-profile counts operations"},
            {"what": "bytes", "why": "timed by clock; pagoda-profile counts bytes"},
            {"what": "energy", "why": "not measured node by node"},
        ],
        "notes": [],
    }
    document.update(header)
    return document


def write_document(document):
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def time_table(kernels, top):
    """The nodes with the most time, for people."""
    total = sum(kernel["seconds"] for kernel in kernels) or 1.0
    by_time = sorted(kernels, key=lambda kernel: -kernel["seconds"])
    lines = [f"{'ms':>10} {'%':>5}  {'op':<22} node"]
    for kernel in by_time[:top]:
        share = 100 * kernel["seconds"] / total
        lines.append(f"{1e3 * kernel['seconds']:10.4f} {share:5.1f}  {kernel['op_type']:<22} {kernel['name']}")
    if len(by_time) > top:
        lines.append(f"{len(by_time) - top} more")
    return "\n".join(lines) + "\n"

#!/usr/bin/env python3
"""Draws small graphs over the operators of all samplers and cases, runs them with ONNX Runtime and compares.

    python3 tests/conformance/random_graphs.py build/dev/tests/conformance_test [--seed 7] [--graphs 2000] [--keep FILE]

A graph has two to ten nodes. Each reads results of earlier nodes where their shapes fit; others are brought into shape
by a Reshape and a Gather. A size that is the length of an earlier result is read from it by Shape. ONNX's checker and
ONNX Runtime accept every graph that is kept. conformance_test compares the types of outputs, and checks the properties
that hold for every graph (PAGODA_CONFORMANCE_GRAPHS names the file of graphs). The same seed draws the same graphs.
Exit code: 0 if all agree.

Needs: pip install onnx onnxruntime ml_dtypes.
"""
import argparse
import collections
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

import contrib_cases
import make_goldens
import model_text
import onnx_cases
import ort_run

OPSETS = [9, 11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 22, 23, 24]
MOST_NODES = 10
# The blocked layout belongs to saved models of ONNX Runtime alone.
CASES = [case for case in contrib_cases.CASES if case[4] in ("com.microsoft", "ai.onnx.ml")]
RESULTS = set(ort_run.NUMPY.values())


class GraphSource(onnx_cases.Source):
    """Prefers the shapes of results that the graph already has."""

    def __init__(self, seed):
        super().__init__(seed)
        self.shapes = []

    def dims(self, low=0, high=4, size=5):
        fitting = [s for s in self.shapes if low <= len(s) <= high and 0 not in s and max(s, default=1) <= 64]
        return list(self.pick(fitting)) if fitting and self.chance(0.8) else super().dims(low, high, size)


class Drawing:
    """A graph that grows node by node; every result is computed as soon as its node is added."""

    def __init__(self, seed, opset):
        self.r = GraphSource(seed)
        self.opsets = {"": opset}
        self.nodes = []
        self.values = {}      # name → array, of inputs, constants and results
        self.results = []     # names, of nodes
        self.inputs, self.arguments, self.constants = [], [], []
        self.real = self.r.pick([np.float32] * 8 + [np.float16, np.float64])

    def name(self, kind):
        return f"{kind}{len(self.values)}"

    def sample(self):
        """(op, domain, inputs, attributes, number of outputs) of one operator, or None."""
        r = self.r
        r.shapes = [self.values[n].shape for n in self.results]
        if r.chance(0.15):
            op, inputs, attributes, outputs, domain, version, types = r.pick(CASES)
            if types or not isinstance(outputs, int):
                return None
            self.opsets.setdefault(domain, version)
            return op, domain, list(inputs), attributes, outputs
        sample = r.pick(onnx_cases.SAMPLERS)(r, self.opsets[""])
        return sample and (sample[0], "", list(sample[1]), sample[2], sample[3])

    def bridged(self, shape, dtype, nodes, added):
        """A result of the graph in another shape and type."""
        source = self.r.pick([n for n in self.results if self.values[n].size > 0])
        array = self.values[source]
        names = [f"{self.name('b')}_{i}" for i in range(5)]
        added[names[0]] = ("fixed", np.array([-1], np.int64))
        added[names[1]] = ("input", self.r.ints(shape, 0, array.size - 1))
        nodes.append(helper.make_node("Reshape", [source, names[0]], [names[2]]))
        nodes.append(helper.make_node("Gather", [names[2], names[1]], [names[3]]))
        if array.dtype == dtype:
            return names[3]
        nodes.append(helper.make_node("Cast", [names[3]], [names[4]], to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype))))
        return names[4]

    def grow(self):
        """Adds one operator, with what brings earlier results to it; False if the runtime refuses it."""
        r, sample = self.r, self.sample()
        if sample is None or sample[0] in make_goldens.DATA_DECIDES:
            return False
        op, domain, inputs, attributes, outputs = sample
        while inputs and inputs[-1] is None:
            inputs.pop()
        nodes, added, names, is_joined = [], {}, [], not self.results
        for i, value in enumerate(inputs):
            if value is None:
                names.append("")
                continue
            is_fixed = isinstance(value, onnx_cases.Fixed)
            array = np.asarray(value.array if is_fixed else value)
            if is_fixed:
                fitting = [n for n in self.results if array.dtype == np.int64 and array.ndim == 1
                           and list(self.values[n].shape) == array.tolist()]
                if fitting and self.opsets[""] >= 1 and r.chance(0.6):
                    names.append(f"{self.name('s')}_{i}")
                    nodes.append(helper.make_node("Shape", [r.pick(fitting)], [names[-1]]))
                    is_joined = True
                    continue
            if array.dtype == np.float32 and not is_fixed and domain == "":
                array = array.astype(self.real)
            is_real = array.dtype.kind == "f" and not is_fixed
            fitting = [n for n in self.results if self.values[n].dtype == array.dtype and self.values[n].shape == array.shape]
            if is_real and fitting and r.chance(0.9):
                names.append(r.pick(fitting[-3:]))
                is_joined = True
            elif is_real and not is_joined and array.size > 0 and any(self.values[n].size for n in self.results):
                names.append(self.bridged(array.shape, array.dtype, nodes, added))
                is_joined = True
            else:
                names.append(f"{self.name('x')}_{i}")
                is_constant = not is_fixed and self.nodes and is_real and r.chance(0.6)
                added[names[-1]] = ("fixed" if is_fixed else "constant" if is_constant else "input", array)
        if not is_joined or len(self.nodes) + len(nodes) >= MOST_NODES:
            return False
        made = [f"{self.name('y')}_{i}" for i in range(outputs)]
        nodes.append(helper.make_node(op, names, made, domain=domain, **attributes))
        known = {**{n: self.values[n] for node in nodes for n in node.input if n in self.values},
                 **{n: array for n, (_, array) in added.items()}}
        between = [o for node in nodes for o in node.output]
        found = self.run(nodes, known, between)
        if found is None or any(not isinstance(v, np.ndarray) or v.dtype not in RESULTS or v.size > 100_000 for v in found):
            return False
        self.nodes += nodes
        self.values.update(known)
        self.values.update(zip(between, found))
        self.results += [n for n in between if self.values[n].dtype.kind == "f"]
        for n, (kind, _) in added.items():
            {"fixed": self.arguments, "constant": self.constants, "input": self.inputs}[kind].append(n)
        return True

    def model(self, nodes, fed, outputs, constants=()):
        entries = [helper.make_tensor_value_info(n, self.element(n, a), a.shape) for n, a in fed.items()]
        graph = helper.make_graph(nodes, "g", entries, [helper.make_empty_tensor_value_info(n) for n in outputs],
                                  [numpy_helper.from_array(self.values[n], n) for n in constants])
        used = {node.domain for node in nodes} | {""}
        return helper.make_model(graph, ir_version=10, opset_imports=[
            helper.make_opsetid(d, v) for d, v in self.opsets.items() if d in used])

    @staticmethod
    def element(name, array):
        return onnx.TensorProto.STRING if array.dtype == object else helper.np_dtype_to_tensor_dtype(array.dtype)

    def run(self, nodes, fed, outputs):
        # Shape arguments have to be constants for some kernels.
        fixed = [numpy_helper.from_array(a, n) for n, a in fed.items() if a.dtype.kind in "iub" and a.ndim <= 1]
        inputs = {n: a for n, a in fed.items() if n not in {t.name for t in fixed}}
        model = self.model(nodes, inputs, outputs)
        model.graph.initializer.extend(fixed)
        try:
            session = onnxruntime.InferenceSession(model.SerializeToString(), ort_run.options, providers=["CPUExecutionProvider"])
            return session.run(None, inputs)
        except Exception:
            return None

    def finished(self):
        """(model, feeds, results, names of shape arguments) for make_goldens.line, or None."""
        read = {n for node in self.nodes for n in node.input}
        outputs = [n for node in self.nodes for n in node.output if n and n not in read]
        if not outputs:
            return None
        fed = {n: self.values[n] for n in self.inputs + self.arguments}
        model = self.model(self.nodes, fed, outputs, self.constants)
        # Every input is listed as one, so that shape arguments can also be fed; the runtime gets them as constants.
        run = onnx.ModelProto()
        run.CopyFrom(model)
        run.graph.initializer.extend(numpy_helper.from_array(self.values[n], n) for n in self.arguments)
        del run.graph.output[:]
        run.graph.output.extend(
            helper.make_tensor_value_info(n, self.element(n, self.values[n]), self.values[n].shape) for n in outputs)
        try:
            onnx.checker.check_model(run)
            session = onnxruntime.InferenceSession(run.SerializeToString(), ort_run.options, providers=["CPUExecutionProvider"])
            found = session.run(None, {n: self.values[n] for n in self.inputs})
        except Exception:
            return None
        types = {o.name: o.type for o in session.get_outputs()}
        entries = {e.name: e.type for e in model.graph.input}
        feeds = {n: (model_text.data(a, entries[n]), entries[n]) for n, a in fed.items()}
        results = {n: (model_text.Data(ort_run.TYPES[types[n]], np.shape(v)), None) for n, v in zip(outputs, found)}
        return model, feeds, results, set(self.arguments)


def graphs(count, seed):
    """(name, case) of `count` graphs."""
    kept = 0
    for index in range(20 * count):
        if kept == count:
            return
        source = onnx_cases.Source([seed, index])
        drawing = Drawing([seed, index, 1], source.pick(OPSETS))
        wanted = source.int(2, MOST_NODES)
        for _ in range(6 * MOST_NODES):
            if len(drawing.nodes) >= wanted:
                break
            drawing.grow()
        case = drawing.finished() if len(drawing.nodes) >= 2 else None
        if case is not None:
            kept += 1
            yield "graph", case


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("conformance_test")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--graphs", type=int, default=2000)
    parser.add_argument("--keep", metavar="FILE", help="write the graphs there, too")
    given = parser.parse_args()
    lines, operators = [], collections.Counter()
    for name, case in graphs(given.graphs, given.seed):
        operators.update(node.op_type for node in case[0].graph.node)
        lines.append((name, case))
    lines = make_goldens.sampled(lines)
    print(f"seed {given.seed}: {len(lines)} graphs of {sum(operators.values())} nodes, {len(operators)} operators", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = given.keep or os.path.join(folder, "graphs.golden")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{entry}\n" for entry in lines)
        test = [given.conformance_test, "--test-case=*graph*"]
        return subprocess.run(test, env={**os.environ, "PAGODA_CONFORMANCE_GRAPHS": os.path.abspath(path)}).returncode


if __name__ == "__main__":
    sys.exit(main())

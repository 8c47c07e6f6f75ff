#!/usr/bin/env python3
"""models/run_torch.py itself: operators against ONNX's own cases, graphs, ranges, exit codes, and the join.

Exit 77, skipped, without torch and onnx. PAGODA_TOOLS names the folder of onnx-estimate and pagoda-import.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/bench/workers"))
try:
    import numpy as np
    import onnx
    import torch
    from onnx import TensorProto, helper
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import run_torch  # noqa: E402
import torch_weights  # noqa: E402
from run_record import Unusable  # noqa: E402

warnings.filterwarnings("ignore")

# Cases of ONNX's suite that are left out, with reasons.
LEFT_OUT = ("bf16", "fp16", "FLOAT16", "BFLOAT16")  # in half precision, sums in a different order round differently
LEFT_OUT += (
    "FLOAT4",
    "float4",
    "UINT2",
    "INT2",
    "uint2",
    "int2",
    "equal_string",
    "empty_set",
)  # types that PyTorch lacks, and empty inputs


def tensor(value):
    value = onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)
    return torch_weights.to_torch(value)


def as_float(x):
    x = tensor(x) if not isinstance(x, torch.Tensor) else x
    return x.to(torch.float64).numpy()


def save(folder, graph, opset=17, **arguments):
    path = os.path.join(folder, "model.onnx")
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.acme", 1)]
    onnx.save(helper.make_model(graph, opset_imports=imports, **arguments), path)
    return path


def value(name, dims, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, dims)


class Operators(unittest.TestCase):
    def test_cases_of_the_onnx_suite(self):
        from onnx.backend.test.case.node import collect_testcases

        passed, failed, names = 0, [], set()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "case.onnx")
            for case in collect_testcases(None):
                if case.name in names or any(part in case.name for part in LEFT_OUT):
                    continue
                names.add(case.name)
                try:
                    onnx.save(case.model, path)
                    program = run_torch.Program(path)
                    for inputs, outputs in case.data_sets:
                        feeds = {v.name: tensor(x) for v, x in zip(case.model.graph.input, inputs)}
                        got, _ = program.run(feeds)
                        for declared, expected in zip(case.model.graph.output, outputs):
                            expected = as_float(expected)
                            self.assertEqual(got[declared.name].shape, expected.shape, case.name)
                            np.testing.assert_allclose(
                                as_float(got[declared.name]),
                                expected,
                                rtol=max(case.rtol, 1e-3),
                                atol=max(case.atol, 1e-5),
                            )
                    passed += 1
                except Unusable as error:
                    if (
                        "not implemented" not in str(error)
                        and "strings" not in str(error)
                        and "float4" not in str(error)
                    ):
                        failed.append(f"{case.name}: {error}")
                except (TypeError, AttributeError) as error:
                    if "seq" not in case.name and "optional" not in case.name:  # inputs that are not tensors
                        failed.append(f"{case.name}: {error!r}")
                except AssertionError as error:
                    failed.append(f"{case.name}: {str(error)[:200]}")
        self.assertEqual(failed, [])
        self.assertGreater(passed, 900)


class Graphs(unittest.TestCase):
    def test_a_branch_sees_values_around_it_and_its_nodes_have_ranges(self):
        then = helper.make_graph(
            [helper.make_node("Add", ["x", "w"], ["t"], name="then_add")], "then", [], [value("t", None)]
        )
        other = helper.make_graph(
            [helper.make_node("Sub", ["x", "w"], ["e"], name="else_sub")], "else", [], [value("e", None)]
        )
        nodes = [
            helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
            helper.make_node("Greater", ["s", "zero"], ["c"], name="compare"),
            helper.make_node("If", ["c"], ["y"], name="choice", then_branch=then, else_branch=other),
        ]
        weights = [
            onnx.numpy_helper.from_array(np.float32([10, 20]), "w"),
            onnx.numpy_helper.from_array(np.float32(0), "zero"),
        ]
        open_ranges, seen = [], []

        def push(name):
            open_ranges.append(name)
            seen.append("/".join(open_ranges))

        with tempfile.TemporaryDirectory() as folder:
            path = save(folder, helper.make_graph(nodes, "g", [value("x", [2])], [value("y", [2])], weights))
            program = run_torch.Program(path, ranges=(push, open_ranges.pop))
            for x, y in (([1.0, 1.0], [11.0, 21.0]), ([-1.0, -1.0], [-11.0, -21.0])):
                got, times = program.run({"x": torch.tensor(x)})
                self.assertEqual(got["y"].tolist(), y)
                self.assertEqual(len(times), 4)
        self.assertEqual(seen[:4], ["s", "compare", "choice", "choice/then_add"])  # the first node has no name
        self.assertEqual(seen[7], "choice/else_sub")
        self.assertEqual(open_ranges, [])

    def test_operators_that_are_not_known_are_all_named_before_anything_runs(self):
        nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Swirl", ["a"], ["b"], domain="com.acme")]
        nodes += [helper.make_node("StringNormalizer", ["b"], ["y"])]
        with tempfile.TemporaryDirectory() as folder:
            path = save(folder, helper.make_graph(nodes, "g", [value("x", [2])], [value("y", [2])]))
            result = cli([path])
        self.assertEqual(result.returncode, 1)
        self.assertIn("2 operators not implemented here: StringNormalizer, com.acme.Swirl", result.stderr)

    def test_a_node_that_fails_is_named(self):
        nodes = [helper.make_node("MatMul", ["x", "x"], ["y"], name="product")]
        with tempfile.TemporaryDirectory() as folder:
            path = save(folder, helper.make_graph(nodes, "g", [value("x", [2, 3])], [value("y", None)]))
            result = cli([path])
        self.assertEqual(result.returncode, 1)
        self.assertIn('node "product" (MatMul)', result.stderr)

    def test_made_up_weights_are_the_same_each_time_and_keep_activations_finite(self):
        path = str(ROOT / "models/skeletons/resnet50.onnx")
        first, second, other = (run_torch.Program(path, seed=seed) for seed in (0, 0, 1))
        self.assertGreater(first.made_up, 50)
        name = next(name for name, x in first.graph.weights.items() if x.dim() == 4)
        self.assertTrue(torch.equal(first.graph.weights[name], second.graph.weights[name]))
        self.assertFalse(torch.equal(first.graph.weights[name], other.graph.weights[name]))
        inputs, unset = run_torch.make_inputs(first, {}, None, 0)
        self.assertEqual(unset, set())
        (output,) = first.run(inputs)[0].values()
        self.assertTrue(bool(torch.isfinite(output).all()))
        self.assertGreater(float(output.std()), 0)

    def test_on_a_device_data_go_there_and_arithmetic_on_shapes_stays_on_the_host(self):
        # PyTorch's meta device stores no values: an operator with inputs on two devices fails there as on a GPU, and so
        # does anything that would wait for the device to read a shape or an argument.
        dims = {"batch": 1, "sequence": 16, "past": 8, "s53": 24}
        for name in (
            "resnet50",
            "bert_base",
            "gpt2_past",
            "llama_past_dynamo",
            "swin_t",
            "vit_b_16_dynamic",
            "yolov8n",
            "recurrent",
        ):
            program = run_torch.Program(str(ROOT / f"models/skeletons/{name}.onnx"), device="meta")
            inputs, _ = run_torch.make_inputs(program, dims, None, 0)
            for output in program.run(inputs)[0].values():
                self.assertEqual(output.device.type, "meta", name)

    def test_another_type_reaches_all_of_the_graph(self):
        program = run_torch.Program(str(ROOT / "models/skeletons/bert_base.onnx"), dtype=torch.bfloat16)
        inputs, _ = run_torch.make_inputs(program, {"sequence": 4}, 1, 0)
        (output,) = program.run(inputs)[0].values()
        self.assertEqual(output.dtype, torch.bfloat16)
        self.assertTrue(bool(torch.isfinite(output.float()).all()))


def cli(arguments):
    command = [sys.executable, str(ROOT / "models/run_torch.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


class CommandLine(unittest.TestCase):
    def test_exit_codes(self):
        self.assertEqual(cli([]).returncode, 2)
        self.assertEqual(cli(["/no/such/model.onnx"]).returncode, 1)
        self.assertEqual(cli([str(ROOT / "models/skeletons/fcn.onnx"), "--dim", "batch"]).returncode, 1)
        self.assertEqual(cli([str(ROOT / "models/skeletons/fcn.onnx"), "--check"]).returncode, 1)  # no weights
        if not torch.cuda.is_available():
            result = cli([str(ROOT / "models/skeletons/fcn.onnx"), "--device", "cuda"])
            self.assertEqual(result.returncode, 4)
            self.assertIn("pagoda-doctor", result.stderr)

    @unittest.skipUnless(os.environ.get("PAGODA_TOOLS"), "PAGODA_TOOLS is not set")
    def test_every_node_of_resnet50_joins_its_estimate(self):
        tools = pathlib.Path(os.environ["PAGODA_TOOLS"])
        model = str(ROOT / "models/skeletons/resnet50.onnx")
        with tempfile.TemporaryDirectory() as folder:
            at = lambda name: os.path.join(folder, name)
            self.assertEqual(cli([model, "--warmup", "0", "--repeat", "1", "-o", at("m.json")]).returncode, 0)
            subprocess.run([tools / "onnx-estimate", model, "-o", at("e.json")], check=True, capture_output=True)
            command = [tools / "pagoda-import", at("m.json"), "--estimate", at("e.json"), "-o", at("j.json")]
            subprocess.run(command, check=True, capture_output=True)
            joined = json.loads(pathlib.Path(at("j.json")).read_text(encoding="utf-8"))
        self.assertEqual(joined["join"]["share"], 1)
        self.assertEqual(joined["join"]["silent_nodes"], [])
        self.assertEqual({kernel["joined"]["rule"] for kernel in joined["kernels"]}, {"name"})


class Ranges(unittest.TestCase):
    def test_a_profiler_sees_a_range_of_the_domain_for_every_node(self):
        tools = pathlib.Path(os.environ.get("PAGODA_TOOLS", "/nonexistent")) / "profile"
        if not (tools / "libpagoda_inject.so").exists() or not (tools / "pagoda-profile").exists():
            self.skipTest("pagoda-profile and its library are not built")
        try:
            import nvtx  # noqa: F401
        except ImportError:
            self.skipTest("the package nvtx is missing")
        model = ROOT / "models/skeletons/resnet50.onnx"
        workload = [sys.executable, str(ROOT / "models/run_torch.py"), str(model), "--warmup", "1", "--repeat", "2"]
        result = subprocess.run(
            [str(tools / "pagoda-profile"), "--list-ranges", "--", *workload],
            capture_output=True,
            text=True,
            timeout=300,
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        seen = dict(line.split(None, 1)[::-1] for line in result.stdout.splitlines() if "pagoda@" in line)
        nodes = {f"pagoda@{node.name}" for node in onnx.load(model, load_external_data=False).graph.node}
        self.assertEqual({name for name in seen if not name.startswith("pagoda@run ")}, nodes)
        self.assertEqual({seen[name] for name in nodes}, {"3"})
        self.assertEqual(sum(name.startswith("pagoda@run ") for name in seen), 3)


if __name__ == "__main__":
    unittest.main()

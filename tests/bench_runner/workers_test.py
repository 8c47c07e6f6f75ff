#!/usr/bin/env python3
"""The Python workers without their frameworks: the protocol, and their messages when something is missing.

    workers_test.py FOLDER_OF_WORKERS
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(sys.argv.pop(1))

PROBE = """
import sys
sys.path.insert(0, {folder!r})
from worker import Unavailable, Worker, progress, serve
class Probe(Worker):
    def prepare(self, config, folder):
        print("chatter of a framework")
        if config.get("says"): progress(config["says"])
        if config.get("fail") == "memory": raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
        if config.get("fail") == "module": import no_such_module_anywhere
        if config.get("fail") == "value": raise ValueError("a bad value")
        return {{"items": config["batch"], "load_seconds": 0.5, "compile_seconds": None}}
    def run(self, iterations):
        return [0.25] * iterations, "made up"
serve(Probe())
"""


def converse(command, *requests, cwd=None):
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=60, cwd=cwd)
    return [json.loads(line) for line in done.stdout.splitlines()], done


def prepare(**config):
    return {"op": "prepare", "protocol": 1, "config": config, "folder": "."}


class Conversation(unittest.TestCase):
    def probe(self, *requests):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "probe.py"
            path.write_text(PROBE.format(folder=str(FOLDER)))
            return converse([sys.executable, str(path)], *requests)

    def test_answers_in_order_and_keeps_chatter_out(self):
        answers, done = self.probe(prepare(batch=3), {"op": "run", "iterations": 2}, {"op": "memory"}, {"op": "quit"})
        self.assertEqual(answers[0], {"event": "ready", "items": 3, "load_seconds": 0.5, "compile_seconds": None})
        self.assertEqual(answers[1], {"event": "times", "seconds": [0.25, 0.25], "clock": "made up"})
        self.assertEqual(answers[2], {"event": "memory", "device_peak_bytes": None})
        self.assertEqual(done.returncode, 0)
        self.assertIn("chatter", done.stderr)

    def test_an_optional_request_that_cannot_be_met_is_no_end(self):
        answers, _ = self.probe(prepare(batch=1), {"op": "layers"}, {"op": "fly"}, {"op": "run", "iterations": 1}, {"op": "quit"})
        self.assertEqual([a["event"] for a in answers], ["ready", "unsupported", "unsupported", "times"])

    def test_errors_are_named_for_what_they_are(self):
        for fail, event, kind, message in (("memory", "error", "out_of_memory", "out of memory"), ("value", "error", "failed", "a bad value"),
                                           ("module", "unavailable", None, "install no_such_module_anywhere")):
            with self.subTest(fail):
                answers, done = self.probe(prepare(batch=1, fail=fail), {"op": "run", "iterations": 1})
                self.assertEqual(len(answers), 1)
                self.assertEqual((answers[0]["event"], answers[0].get("kind")), (event, kind))
                self.assertIn(message, answers[0]["message"])
                self.assertNotEqual(done.returncode, 0)


    def test_what_takes_its_time_is_said_before_the_answer(self):
        answers, _ = self.probe(prepare(batch=1, says="compiling"), {"op": "quit"})
        self.assertEqual(answers[0], {"event": "progress", "message": "compiling"})
        self.assertEqual(answers[1]["event"], "ready")


class Frameworks(unittest.TestCase):
    """-S hides installed packages, as on a machine without the framework."""

    def test_a_missing_framework_says_what_to_install(self):
        for name, missing in (("ort", "onnxruntime"), ("torch", "torch"), ("jax", "jax")):
            with self.subTest(name):
                answers, _ = converse([sys.executable, "-S", str(FOLDER / f"{name}_worker.py")], prepare(model="x", model_name="m:f", batch=1))
                answers = [answer for answer in answers if answer["event"] != "progress"]
                self.assertEqual(answers, [{"event": "unavailable", "message": f"not available: install {missing} (pip install {missing})"}])

    def test_tensorrt_is_told_of_half_precision_and_of_integers(self):
        sys.path.insert(0, str(FOLDER))
        import ort_worker

        with tempfile.TemporaryDirectory() as folder:
            for content, dtype, half, integers in ((b"MatMul", None, "False", "False"), (b"MatMul", "float16", "True", "False"),
                                                   (b"..DequantizeLinear..", "float16", "True", "True")):
                file = pathlib.Path(folder) / "model.onnx"
                file.write_bytes(content)
                options = ort_worker.tensorrt_options({"model_file": str(file), "dtype": dtype}, folder)
                self.assertEqual((options["trt_fp16_enable"], options["trt_int8_enable"]), (half, integers))
                self.assertEqual(options["trt_timing_cache_path"], folder)

    def test_data_folders_are_checked(self):
        sys.path.insert(0, str(FOLDER))
        import worker

        with tempfile.TemporaryDirectory() as folder:
            with self.assertRaisesRegex(worker.Unavailable, "neither .npz archives nor images"):
                worker.data_files(folder)
            for name in ("b.png", "a.JPG", "x.npz", "notes.txt"):
                (pathlib.Path(folder) / name).touch()
            archives, images = worker.data_files(folder)
            self.assertEqual([p.name for p in archives], ["x.npz"])
            self.assertEqual([p.name for p in images], ["a.JPG", "b.png"])
        with tempfile.TemporaryDirectory() as folder:  # laid out like ImageNet
            for name in ("train/n1/z.JPEG", "val/n2/a.JPEG", "val/n2/b.JPEG", "val/n1/c.JPEG", "val/n1/notes.txt"):
                path = pathlib.Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
            self.assertEqual([p.name for p in worker.data_files(folder)[1]], ["c.JPEG", "a.JPEG", "b.JPEG"])
            self.assertEqual([p.name for p in worker.data_files(folder + "/val/n2")[1]], ["a.JPEG", "b.JPEG"])
        with tempfile.TemporaryDirectory() as folder:  # a class of that name
            for name in ("boat/a.png", "train/b.png", "train/c.png"):
                path = pathlib.Path(folder) / name
                path.parent.mkdir(exist_ok=True)
                path.touch()
            self.assertEqual([p.name for p in worker.data_files(folder)[1]], ["a.png", "b.png", "c.png"])
        with self.assertRaisesRegex(worker.Unavailable, "found no folder"):
            worker.data_files(folder)

    def test_an_image_size_is_a_side_or_height_and_width(self):
        sys.path.insert(0, str(FOLDER))
        import worker

        self.assertEqual(worker.image_size({"input_size": "224x320"}, 1), (224, 320))
        self.assertEqual(worker.image_size({"input_size": 64}, 1), (64, 64))
        self.assertEqual(worker.image_size({}, 299), (299, 299))

    def test_onnxruntime_runs_at_the_shapes_that_it_is_given(self):
        try:
            import numpy  # noqa: F401
            import onnxruntime  # noqa: F401
        except ModuleNotFoundError:
            self.skipTest("onnxruntime is not installed")
        def field(number, body):
            return bytes([number << 3 | 2, len(body)]) + body

        dims = field(1, field(2, b"rows")) + field(1, field(2, b"columns"))
        x, y = (field(1, name) + field(2, field(1, b"\x08\x01" + field(2, dims))) for name in (b"x", b"y"))
        graph = field(1, field(1, b"x") + field(2, b"y") + field(4, b"Relu")) + field(2, b"g") + field(11, x) + field(12, y)
        command = [sys.executable, str(FOLDER / "ort_worker.py")]
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "relu.onnx"
            model.write_bytes(b"\x08\x08" + field(7, graph) + field(8, b"\x10\x11"))
            asked = prepare(model="relu", model_file=str(model), batch=4)
            shape = [{"name": "x", "type": "float32", "shape": [4, 3]}]
            answers, done = converse(command, {**asked, "inputs": shape}, {"op": "run", "iterations": 2}, {"op": "quit"})
            self.assertEqual([answer["event"] for answer in answers], ["ready", "times"], done.stderr)
            self.assertEqual(answers[0]["inputs"], shape)
            answers, _ = converse(command, asked)  # open sizes are never made up
            self.assertEqual(answers[-1]["event"], "unavailable")
            self.assertIn("input x: its shape is not known", answers[-1]["message"])

    def test_operators_of_torch_have_the_shapes_of_their_weights(self):
        try:
            import torch  # noqa: F401
            import torchvision  # noqa: F401
        except ModuleNotFoundError:
            self.skipTest("torch or torchvision is not installed")
        config = {"model": "resnet18", "model_name": "resnet18", "device": "cpu", "batch": 1, "layers_by": "operators"}
        answers, done = converse([sys.executable, str(FOLDER / "torch_worker.py")], prepare(**config), {"op": "layers"}, {"op": "quit"})
        layers = {layer["name"]: layer for layer in answers[-1]["layers"]}
        stem = layers["aten::mkldnn_convolution 64x3x7x7"]
        self.assertEqual((stem["op_type"], stem["facts"]["second"], stem["facts"]["calls"]), ("aten::mkldnn_convolution", "64x3x7x7", 1))
        self.assertGreater(stem["seconds"], 0)
        self.assertEqual(layers["aten::mkldnn_convolution 64x64x3x3"]["facts"]["calls"], 4)  # two blocks of two

    def test_an_onnx_file_runs_operator_by_operator_in_torch(self):
        try:
            import onnx  # noqa: F401
            import torch  # noqa: F401
        except ModuleNotFoundError:
            self.skipTest("torch or onnx is not installed")
        model = pathlib.Path(__file__).resolve().parents[2] / "models/skeletons/linear_64_128.onnx"
        shape = [{"name": "input", "type": "float32", "shape": [1, 64]}]
        ready = {**prepare(model="linear", model_file=str(model), device="cpu", batch=1), "inputs": shape}
        requests = ready, {"op": "run", "iterations": 2}, {"op": "quit"}
        answers, done = converse([sys.executable, str(FOLDER / "torch_worker.py")], *requests)
        self.assertEqual([a["event"] for a in answers][-2:], ["ready", "times"], done.stderr)
        self.assertEqual(len(answers[-1]["seconds"]), 2)

    def test_named_models_of_jax_have_as_many_parameters_as_the_published_ones(self):
        sys.path.insert(0, str(FOLDER))
        import jax_models
        import worker

        try:
            import jax
        except ModuleNotFoundError:
            self.skipTest("jax is not installed")
        for name, parameters in (("resnet50", 25_557_032), ("vit_b_16", 86_567_656)):
            function, arguments, made = jax_models.build({"input_size": 224}, name)
            self.assertEqual(made, parameters)
            self.assertEqual(jax.eval_shape(function, *arguments).shape, (1, 1000))
        with self.assertRaisesRegex(worker.Unavailable, "expected one of resnet18"):
            jax_models.build({}, "resnet51")


if __name__ == "__main__":
    unittest.main()

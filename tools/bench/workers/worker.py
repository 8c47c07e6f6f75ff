"""What all workers in Python share: the conversation, inputs, outputs, errors. Standard library alone; numpy on demand.

A worker subclasses Worker and calls serve(). README.md beside this file has the protocol.
"""
from __future__ import annotations

import json
import os
import pathlib
import statistics
import sys
import time


class Unavailable(Exception):
    """Something is not installed, or cannot do what was asked; the message says what to install or change."""


class Worker:
    """prepare() must come first; `shapes` has those that the runner found for the inputs of an ONNX file, by name. Every method may raise; a missing module becomes "unavailable"."""

    shapes: dict = {}

    def prepare(self, config: dict, folder: str) -> dict:
        """Loads and compiles. Returns the members of "ready"."""
        raise NotImplementedError

    def run(self, iterations: int) -> tuple[list[float], str]:
        """Seconds of each run, and the clock's name."""
        raise NotImplementedError

    def outputs(self) -> dict:
        """Name → numpy array of one run."""
        raise Unavailable("this worker has no outputs to compare")

    def layers(self) -> list[dict]:
        raise Unavailable("this worker cannot time layers")

    def device_peak_bytes(self) -> int | None:
        return None

    def facts(self) -> dict:
        """What is only known after the runs: joins the record's metadata."""
        return {}

    def models(self) -> list[str]:
        """Names that prepare() takes, for --list-models; a line that begins with # explains the others."""
        raise Unavailable("this worker lists no models")


answers = None  # the stream of serve()

# What pip calls a module where the names differ.
PIP_NAMES = {"PIL": "pillow", "yaml": "pyyaml", "torch_xla": "torch_xla"}


def is_out_of_memory(error: BaseException) -> bool:
    words = (type(error).__name__ + " " + str(error)).lower()
    return isinstance(error, MemoryError) or any(
        sign in words for sign in ("outofmemory", "out of memory", "cudaerrormemoryallocation", "bad_alloc", "failed to allocate memory"))


def write_outputs(path: str, arrays: dict) -> dict:
    """The tensors one after another in one file, and where each lies. Types that JSON readers lack become float32."""
    import numpy

    tensors = []
    with open(path, "wb") as file:
        for name, array in arrays.items():
            if array.dtype.name in ("float16", "bfloat16"):
                array = array.astype(numpy.float32)
            data = numpy.ascontiguousarray(array).tobytes()
            tensors.append({"name": name, "type": array.dtype.name, "shape": list(array.shape), "offset": file.tell(), "bytes": len(data)})
            file.write(data)
    return {"event": "outputs", "path": path, "tensors": tensors}


def progress(message: str) -> None:
    """Says on the runner's terminal what takes its time now: "compiling by inductor"."""
    if answers is not None:
        answers.write(json.dumps({"event": "progress", "message": message}) + "\n")
        answers.flush()


def answer_to(worker: Worker, request: dict) -> dict:
    op = request.get("op")
    if op == "prepare":
        worker.shapes = {value["name"]: value["shape"] for value in request.get("inputs", [])}
        return {"event": "ready", **worker.prepare(request["config"], request.get("folder", "."))}
    if op == "run":
        seconds, clock = worker.run(int(request.get("iterations", 1)))
        return {"event": "times", "seconds": seconds, "clock": clock}
    if op == "outputs":
        return write_outputs(request["path"], worker.outputs())
    if op == "layers":
        return {"event": "layers", "layers": worker.layers()}
    if op == "memory":
        return {"event": "memory", "device_peak_bytes": worker.device_peak_bytes()}
    if op == "facts":
        return {"event": "facts", "metadata": worker.facts()}
    if op == "models":
        return {"event": "models", "models": worker.models()}
    return {"event": "unsupported", "message": f"no request {op!r}"}


def serve(worker: Worker) -> None:
    """Answers requests until "quit" or the end of input. What frameworks print goes to standard error."""
    global answers
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        if not line.strip():
            continue
        request = json.loads(line)
        if request.get("op") == "quit":
            return
        ends = False
        try:
            answer = answer_to(worker, request)
        except ModuleNotFoundError as error:
            module = (error.name or "?").split(".")[0]
            answer = {"event": "unavailable", "message": f"not available: install {PIP_NAMES.get(module, module)} (pip install {PIP_NAMES.get(module, module)})"}
            ends = True
        except Unavailable as error:
            # Of an optional request only the request fails.
            ends = request.get("op") in ("prepare", "run")
            answer = {"event": "unavailable" if ends else "unsupported", "message": str(error)}
        except Exception as error:  # noqa: BLE001: whatever it is, it is the record of this experiment
            import traceback

            traceback.print_exc()
            kind = "out_of_memory" if is_out_of_memory(error) else "failed"
            answer = {"event": "error", "kind": kind, "message": f"{type(error).__name__}: {error}"[:2000]}
            ends = True
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
        if ends:
            sys.exit(1)


def timed(run, iterations: int) -> list[float]:
    """Seconds of each call by the steady clock."""
    clock, seconds = time.perf_counter, []
    for _ in range(iterations):
        start = clock()
        run()
        seconds.append(clock() - start)
    return seconds


def median_layers(samples: dict, facts: dict) -> list[dict]:
    """{(name, type): [seconds in each run]} → layers with the median, in the order of first meeting."""
    return [{"name": name, "op_type": kind, "seconds": statistics.median(seconds), "facts": facts.get((name, kind), {})}
            for (name, kind), seconds in samples.items()]


# --- inputs ---

def described(arrays: dict) -> list[dict]:
    """"inputs" of "ready": arrays of numpy, jax or torch by name."""
    return [{"name": name, "type": str(array.dtype).removeprefix("torch."), "shape": [int(size) for size in array.shape]}
            for name, array in arrays.items()]


def image_size(config: dict, side: int) -> tuple[int, int]:
    """Height and width: input_size is a side, or "HEIGHTxWIDTH"; `side` without one."""
    size = config.get("input_size") or side
    if isinstance(size, str):
        height, _, width = size.partition("x")
        return int(height), int(width)
    return size, size


IMAGE_ENDINGS = {".jpg", ".jpeg", ".png", ".bmp", ".webp"}


MOST_IMAGES = 4096  # that a folder of classes gives


def images_of_classes(root: pathlib.Path) -> list[pathlib.Path]:
    """Of CLASS/IMAGE below the folder, or, where it holds such classes, below its val, validation, test or train, as
    ImageNet is laid out (a class itself may have such a name): the first of each class, then the second of each, so that a batch shows many classes."""
    folders = {f.name: f for f in root.iterdir() if f.is_dir()}
    for part in ("val", "validation", "test", "train"):
        if part in folders and (found := images_of_classes(folders[part])):
            return found
    classes = []
    for name in sorted(folders):
        found = sorted(f for f in folders[name].iterdir() if f.suffix.lower() in IMAGE_ENDINGS)
        if found:
            classes.append(found)
    images = []
    for i in range(max(map(len, classes), default=0)):
        images += [found[i] for found in classes if i < len(found)]
        if len(images) >= MOST_IMAGES:
            break
    return images[:MOST_IMAGES]


def data_files(folder: str) -> tuple[list[pathlib.Path], list[pathlib.Path]]:
    """Archives and images of a folder, each sorted by name; without either, the images of its folders of classes."""
    root = pathlib.Path(folder)
    if not root.is_dir():
        raise Unavailable(f"--data {folder}: found no folder; expected one with .npz archives or images")
    files = sorted(root.iterdir())
    archives = [f for f in files if f.suffix == ".npz"]
    images = [f for f in files if f.suffix.lower() in IMAGE_ENDINGS]
    if not archives and not images:
        images = images_of_classes(root)
    if not archives and not images:
        raise Unavailable(f"--data {folder}: found neither .npz archives nor images, nor folders of images; put some there")
    return archives, images


def load_images(files, batch: int, height: int, width: int):
    """[batch, 3, height, width] float32, by ImageNet's mean and deviation; fewer files than the batch are repeated."""
    import numpy
    from PIL import Image

    mean, deviation = numpy.array([0.485, 0.456, 0.406]), numpy.array([0.229, 0.224, 0.225])
    pictures = []
    for i in range(batch):
        with Image.open(files[i % len(files)]) as image:
            pixels = numpy.asarray(image.convert("RGB").resize((width, height)), dtype=numpy.float64) / 255
        pictures.append(((pixels - mean) / deviation).transpose(2, 0, 1))
    return numpy.stack(pictures).astype(numpy.float32)

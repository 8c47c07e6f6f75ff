#!/usr/bin/env python3
"""Makes what deployment tools make of the model set: fused, quantised and narrow variants of its exports.

    python models/variants.py --exports DIR -o DIR2 --skeleton PATH/onnx-skeleton [--only NAME...]

DIR is what export.py wrote; DIR2 receives the variants with their weights, models/skeletons the same without, and
models/variants.json what each must be found to hold: the multiply-accumulates of its float original (from
manifest.json), and the weight bytes counted in the file itself. Where ONNX Runtime can run the variant on a CPU, the
same multiply-accumulates must follow from the true shapes of that run (variant_count.py), or the entry is refused.
"""
from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto

import manifest as original_manifest
import variant_count

HERE = Path(__file__).resolve().parent
RAN = f"an ONNX Runtime {variant_count.ort.__version__} run of the variant with every shape exposed"


@dataclass(frozen=True)
class Variant:
    """A row: `make(source, path)` writes the variant of the export at `source` to `path`."""
    name: str
    of: str                                        # the float original, a row of export.py
    tool: str                                      # the pip package that makes it, and how
    make: Callable[[Path, Path], None]
    runs: bool = True                              # on ONNX Runtime's CPU provider
    closed_form: Callable[[dict[str, int]], int] | None = None     # where the original's count differs by design
    points: tuple[dict[str, int], ...] = ()        # with a closed form: where it is evaluated


# ---------------------------------------------------------------------------------------------------------------
# The tools
# ---------------------------------------------------------------------------------------------------------------

def fuse(model_type: str, *, half: bool = False) -> Callable[[Path, Path], None]:
    """ONNX Runtime's transformer optimizer, as `python -m onnxruntime.transformers.optimizer` runs it."""
    def make(source: Path, path: Path) -> None:
        from onnxruntime.transformers import optimizer
        model = optimizer.optimize_model(str(source), model_type=model_type, num_heads=12, hidden_size=768, opt_level=0)
        if half:
            model.convert_float_to_float16()
        model.save_model_to_file(str(path))
    return make


def dynamic_int8(before: Callable[[Path, Path], None] | None = None) -> Callable[[Path, Path], None]:
    """Weights to 8 bits, activations quantised while running; `before` is done first."""
    def make(source: Path, path: Path) -> None:
        from onnxruntime.quantization import QuantType, quantize_dynamic
        if before is not None:
            fused = path.with_suffix(".float.onnx")
            before(source, fused)
            source = fused
        quantize_dynamic(str(source), str(path), weight_type=QuantType.QUInt8,
                         extra_options={"DefaultTensorType": TensorProto.FLOAT})
    return make


def static(form: str, element: str, *, weights: str = "", calibration: str = "MinMax",
           per_channel: bool = False) -> Callable[[Path, Path], None]:
    """Weights and activations quantised with scales from a calibration on one random image."""
    def make(source: Path, path: Path) -> None:
        from onnxruntime import quantization as q

        class OneImage(q.CalibrationDataReader):
            def __init__(self):
                image = np.random.default_rng(0).standard_normal((1, 3, 224, 224), dtype=np.float32)
                self.images = iter([{"input": image}])

            def get_next(self):
                return next(self.images, None)

        q.quantize_static(str(source), str(path), OneImage(), quant_format=q.QuantFormat[form], per_channel=per_channel,
                          activation_type=q.QuantType[element], weight_type=q.QuantType[weights or element],
                          calibrate_method=q.CalibrationMethod[calibration])
    return make


def half(source: Path, path: Path) -> None:
    """onnxconverter-common's pass to float16, inputs and outputs too."""
    from onnxconverter_common import float16
    onnx.save(float16.convert_float_to_float16(onnx.load(str(source))), str(path))


def genai(precision: str, provider: str, *options: str) -> Callable[[Path, Path], None]:
    """onnxruntime-genai's model builder, from a checkpoint of the original's random weights; external data."""
    def make(source: Path, path: Path) -> None:
        checkpoint = path.parent / "llama_checkpoint"
        if not checkpoint.exists():
            save_checkpoint(checkpoint)
        folder = path.parent / path.stem
        command = [sys.executable, "-m", "onnxruntime_genai.models.builder", "-m", "llama", "-i", str(checkpoint),
                   "-o", str(folder), "-p", precision, "-e", provider, "-c", str(folder / "cache")]
        subprocess.run(command + (["--extra_options", *options] if options else []), check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env=os.environ | {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"})
        model = onnx.load(str(folder / "model.onnx"), load_external_data=False)
        for tensor in model.graph.initializer:
            for entry in tensor.external_data:
                if entry.key == "location":
                    entry.value = f"{folder.name}/{entry.value}"
        path.write_bytes(model.SerializeToString())
    return make


def save_checkpoint(folder: Path) -> None:
    """The Llama of the model set and a tokenizer of three words, which the builder insists on."""
    import builders
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast
    builders.llama(cached=True).model.save_pretrained(folder)
    words = Tokenizer(models.WordLevel({"<s>": 0, "</s>": 1, "<unk>": 2}, unk_token="<unk>"))
    PreTrainedTokenizerFast(tokenizer_object=words, bos_token="<s>", eos_token="</s>", unk_token="<unk>",
                            pad_token="</s>").save_pretrained(folder)


def llama_macs(n: dict[str, int]) -> int:
    """The decoder with causal attention: a query at position past + i sees past + i keys (i from 1)."""
    layers, hidden, heads, kv_heads, size, inner, vocabulary = 6, 576, 9, 3, 64, 1536, 49152
    tokens = n["batch_size"] * n["sequence_length"]
    weights = layers * (hidden * (heads + 2 * kv_heads) * size + hidden * hidden + 3 * hidden * inner)
    visible = sum(n["past_sequence_length"] + i for i in range(1, n["sequence_length"] + 1))
    return tokens * (weights + hidden * vocabulary) + n["batch_size"] * layers * heads * 2 * size * visible


# ---------------------------------------------------------------------------------------------------------------
# The table
# ---------------------------------------------------------------------------------------------------------------

def llama(name: str, precision: str, provider: str, *options: str) -> Variant:
    points = tuple({"batch_size": b, "sequence_length": s, "past_sequence_length": p}
                   for b, s, p in ((1, 128, 0), (3, 40, 0), (1, 11, 5), (8, 1, 1000)))
    return Variant(name, "llama_past", f"onnxruntime-genai: models.builder -p {precision} -e {provider}" +
                   "".join(f" {option}" for option in options), genai(precision, provider, *options),
                   runs=provider == "cpu", closed_form=llama_macs, points=points)


FUSER = "onnxruntime: transformers.optimizer, model_type "
QUANTIZER = "onnxruntime: quantization."
VARIANTS = (
    Variant("bert_base_fused", "bert_base", FUSER + "bert", fuse("bert")),
    Variant("bert_base_fused_fp16", "bert_base", FUSER + "bert, float16", fuse("bert", half=True)),
    Variant("bert_base_fused_dynamic_int8", "bert_base", FUSER + "bert; quantization.quantize_dynamic, QUInt8",
            dynamic_int8(fuse("bert"))),
    Variant("lstm_dynamic_int8", "lstm", QUANTIZER + "quantize_dynamic, QUInt8", dynamic_int8()),
    Variant("resnet50_qdq_int8", "resnet50_dynamic", QUANTIZER + "quantize_static, QDQ, QInt8",
            static("QDQ", "QInt8")),
    Variant("resnet50_qoperator_int8", "resnet50_dynamic",
            QUANTIZER + "quantize_static, QOperator, QUInt8, weights QInt8 per channel",
            static("QOperator", "QUInt8", weights="QInt8", per_channel=True)),
    Variant("alexnet_qdq_fp8", "alexnet", QUANTIZER + "quantize_static, QDQ, QFLOAT8E4M3FN",
            static("QDQ", "QFLOAT8E4M3FN", calibration="Distribution"), runs=False),
    Variant("resnet50_fp16", "resnet50_dynamic", "onnxconverter-common: float16.convert_float_to_float16", half),
    llama("llama_genai_fp32", "fp32", "cpu"),
    llama("llama_genai_int4", "int4", "cpu", "block_size=32"),
    llama("llama_genai_int4_asymmetric", "int4", "cpu", "is_symmetric=false", "shared_embeddings=false"),
    llama("llama_genai_int4_qdq", "int4", "cpu", "use_qdq=true", "shared_embeddings=false"),
    llama("llama_genai_bf16", "bf16", "cuda"),
)


# ---------------------------------------------------------------------------------------------------------------
# The manifest
# ---------------------------------------------------------------------------------------------------------------

def entry(variant: Variant, path: Path, originals: dict[str, dict]) -> dict:
    proto = onnx.load(str(path), load_external_data=False)
    package = variant.tool.split(":")[0]
    original = originals[variant.of]
    return {
        "name": variant.name,
        "file": f"skeletons/{variant.name}.onnx",
        "of": variant.of,
        "source": original["source"],
        "licence": original["licence"],
        "tool": variant.tool,
        "versions": {package: importlib.metadata.version(package), "onnx": onnx.__version__},
        "opsets": {entry.domain or "ai.onnx": entry.version for entry in proto.opset_import},
        "dynamic_dims": original_manifest.file_symbols(proto),
        "stored_weights": stored_weights(proto.graph),
        "expected": [expectation(variant, proto, path, point) for point in points(variant, original)],
    }


def stored_weights(graph: onnx.GraphProto) -> dict[str, dict[str, int]]:
    """Elements and bytes of the file's floating-point and 8-bit or narrower initializers, and of the int32 biases of
    quantised operators, by type. Bytes are those stored: the data in the message or the length of the external data,
    not elements times a width."""
    counted: dict[str, dict[str, int]] = {}
    biases = {node.input[BIAS[node.op_type]] for node in graph.node
              if BIAS.get(node.op_type, len(node.input)) < len(node.input)}
    for tensor in graph.initializer:
        if tensor.data_type not in WEIGHTS and not (tensor.data_type == TensorProto.INT32 and tensor.name in biases):
            continue
        row = counted.setdefault(TensorProto.DataType.Name(tensor.data_type).lower(), {"elements": 0, "bytes": 0})
        row["elements"] += math.prod(tensor.dims)
        row["bytes"] += stored_bytes(tensor)
    return dict(sorted(counted.items()))


WEIGHTS = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE, TensorProto.FLOAT8E4M3FN,
           TensorProto.INT8, TensorProto.UINT8, TensorProto.INT4, TensorProto.UINT4}
BIAS = {"DequantizeLinear": 0, "QLinearConv": 8, "QGemm": 6}      # which input a quantised bias is


def stored_bytes(tensor: TensorProto) -> int:
    if tensor.data_location == TensorProto.EXTERNAL:
        return next(int(entry.value) for entry in tensor.external_data if entry.key == "length")
    if tensor.HasField("raw_data"):
        return len(tensor.raw_data)
    if tensor.float_data:
        return 4 * len(tensor.float_data)
    two_to_an_entry = tensor.data_type in (TensorProto.INT4, TensorProto.UINT4)
    width = 2 if tensor.data_type in (TensorProto.FLOAT16, TensorProto.BFLOAT16) else 1
    assert len(tensor.int32_data) == (math.prod(tensor.dims) + 1) // 2 if two_to_an_entry else math.prod(tensor.dims)
    return width * len(tensor.int32_data)


def points(variant: Variant, original: dict) -> list[dict]:
    """Bindings and expected work: the original's, or those of the closed form."""
    if variant.closed_form is None:
        return [{key: point[key] for key in ("bindings", "contraction_macs")} for point in original["expected"]]
    return [{"bindings": point, "contraction_macs": variant.closed_form(point)} for point in variant.points]


def expectation(variant: Variant, proto: onnx.ModelProto, path: Path, point: dict) -> dict:
    origin = "closed form of the decoder with causal attention" if variant.closed_form else f"as {variant.of}"
    record = dict(point)
    if variant.runs:
        values = variant_count.true_values(path, feeds(proto, point["bindings"]))
        macs, by_type = variant_count.contraction_macs(path, values)
        if macs != point["contraction_macs"]:
            raise ValueError(f"{variant.name} at {point['bindings']}: {macs:,} MACs in the variant, "
                             f"{point['contraction_macs']:,} in the original; by type {by_type}")
        record["by_type"] = by_type
        origin += f"; the same in {RAN}"
    return record | {"origin": origin}


def feeds(proto: onnx.ModelProto, bindings: dict[str, int]) -> dict[str, np.ndarray]:
    """Inputs of the sizes of a point: token 0, masks of ones, small noise."""
    sizes = dict(bindings)
    if "past_sequence_length" in sizes:
        sizes |= {"total_sequence_length": sizes["past_sequence_length"] + sizes["sequence_length"], "kv_cache_dim": 64}
    random = np.random.default_rng(1)
    result = {}
    for value in proto.graph.input:
        tensor = value.type.tensor_type
        shape = [sum(sizes[part.strip()] for part in dim.dim_param.split("+")) if dim.dim_param else dim.dim_value
                 for dim in tensor.shape.dim]
        element = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if np.issubdtype(element, np.integer):
            result[value.name] = (np.ones if "mask" in value.name else np.zeros)(shape, element)
        else:
            result[value.name] = random.standard_normal(shape).astype(element)
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description="Make fused, quantised and narrow variants of the model set.")
    parser.add_argument("--exports", type=Path, required=True, metavar="DIR", help="what export.py wrote")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="where the variants are written")
    parser.add_argument("--skeleton", required=True, metavar="PATH", help="the built onnx-skeleton")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="make these and keep the other entries")
    arguments = parser.parse_args()

    arguments.output.mkdir(parents=True, exist_ok=True)
    originals = {row["name"]: row for row in json.loads((HERE / "manifest.json").read_text())["models"]}
    written = HERE / "variants.json"
    entries = {row["name"]: row for row in json.loads(written.read_text())["models"]} if written.exists() else {}
    for variant in VARIANTS:
        if arguments.only and variant.name not in arguments.only:
            continue
        path = arguments.output / f"{variant.name}.onnx"
        variant.make(arguments.exports / f"{variant.of}.onnx", path)
        entries[variant.name] = entry(variant, path, originals)
        skeleton = HERE / "skeletons" / path.name
        subprocess.run([arguments.skeleton, str(path), "-o", str(skeleton)], check=True)
        ordered = [entries[other.name] for other in VARIANTS if other.name in entries]
        written.write_text(json.dumps({"schema": "pagoda.models/1", "models": ordered}, indent=1) + "\n")
        print(f"{variant.name}: {[p['contraction_macs'] for p in entries[variant.name]['expected']]}, "
              f"skeleton of {skeleton.stat().st_size:,} bytes", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

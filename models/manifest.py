#!/usr/bin/env python3
"""Writes manifest.json: what each skeleton is, where it comes from, and how much work it must be found to hold.

    python models/manifest.py --exports DIR [--only NAME...]     (a current PyTorch; DIR as written by export.py)

The expected multiply-accumulates are counted twice, neither time by Pagoda: in the source network by PyTorch's
FlopCounterMode (attention decomposed, one MAC = 2 of its FLOPs) or by a closed form where that counter is blind,
and in the exported file from the shapes of an ONNX Runtime run (onnx_count.py). torchvision's published figure is
compared where there is one. A difference, even of one, is an error and leaves the entry unwritten.
"""
from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import onnx
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import export
import onnx_count

HERE = Path(__file__).resolve().parent
RAN = f"an ONNX Runtime {onnx_count.ort.__version__} run of the export with every shape exposed"

NOTEBOOK = ("roofline_batch_size_expt.ipynb of github.com/dream-lab/pagoda at 34dbe0f (Apache-2.0): constants for "
            "batches 1 and 32, every free dim taken as 1")
BY_HAND = "the rules of estimates.py of github.com/dream-lab/pagoda at bd5b751, applied by hand at batch 1"


def published(flops, flops_32, param_bytes, bytes_, bytes_32):
    return {"origin": NOTEBOOK, "param_bytes": param_bytes, "batch": [
        {"batch": 1, "flops": flops, "bytes": bytes_}, {"batch": 32, "flops": flops_32, "bytes": bytes_32}]}


def by_hand(flops, bytes_):
    return {"origin": BY_HAND, "batch": [{"batch": 1, "flops": flops, "bytes": bytes_}]}


# What the published Pagoda says of a model, its faults included. `batch` is its own multiplier, not a graph dim.
PAGODA = {
    "mobilenet_v3_large": published(449137560, 14372401920, 21805088, 102976672, 2619295776),
    "resnet50": published(8206316544, 262602129408, 102011648, 336671392, 7611123456),
    "yolov8n": published(8839855200, 282875366400, 12584704, 539346304, 16868955904),
    "lstm_positions8": published(129003520, 3865018368, 30129152, 35322336, 65144832),
    "bert_large": published(79136298142, 2532361540544, 1213726720, 2601011072, 45606825984),
    "conv_pw_160_960_7x7": by_hand(15099840, 833920),
    "conv_bottleneck1_24_72_56x56": by_hand(11063808, 1211136),
    "conv_bottleneck2_160_960_56x56": by_hand(966389760, 14663680),
    "linear_64_128": by_hand(16384 + 128, 33536 + 1536),
}


def entry(model: export.Model, folder: Path) -> dict:
    path = folder / f"{model.name}.onnx"
    made = json.loads(path.with_suffix(".source.json").read_text())
    proto = onnx.load(str(path))
    in_file = float_elements(proto.graph)
    record = {
        "name": model.name,
        "file": f"skeletons/{model.name}.onnx",
        "source": model.source,
        "licence": model.licence,
        "exporter": {"name": made["exporter"], **made["versions"]},
        "opset": next(i.version for i in proto.opset_import if i.domain in ("", "ai.onnx")),
        "ir_version": proto.ir_version,
        "inputs": [graph_input(value) for value in proto.graph.input],
        "dynamic_dims": file_symbols(proto),
        "parameters": made["parameters"],
        "parameters_in_file": in_file,
    }
    if in_file != made["parameters"]:
        record["parameters_note"] = why_parameters_differ(proto.graph, in_file, made)
    if model.note:
        record["note"] = model.note
    record["expected"] = [expectation(model, proto, path, sizes) for sizes in model.points]
    if model.name in PAGODA:
        record["pagoda"] = PAGODA[model.name]
    return record


def float_elements(graph: onnx.GraphProto) -> int:
    """Elements of the floating-point initializers: the parameters as the file holds them."""
    floats = {onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16, onnx.TensorProto.DOUBLE}
    return sum(product(tensor.dims) for tensor in graph.initializer if tensor.data_type in floats)


def product(dims) -> int:
    total = 1
    for dim in dims:
        total *= dim
    return total


def why_parameters_differ(graph: onnx.GraphProto, in_file: int, made: dict) -> str:
    """The three habits of exporters, in elements; what they leave is constants of the source's code."""
    kept = sum(sizes_of(graph)[node.input[1]] for node in graph.node if node.op_type == "BatchNormalization")
    folded = made["batchnorm_channels"] - kept                  # scale and shift become one bias a channel
    rest = in_file - made["parameters"] + folded - 2 * kept
    assert rest >= 0, f"{-rest:,} parameters of the source are missing from the file"
    tied = made["tied_parameters"] if rest >= made["tied_parameters"] else 0
    reasons = ((-folded, "BatchNorm folded into the convolution before it"),
               (2 * kept, "running statistics of BatchNorm that could not be folded"),
               (tied, "tied weights stored twice"),
               (rest - tied, "constants of the source's code (anchors, masks, scalars) stored as initializers"))
    return "; ".join(f"{count:+,} {why}" for count, why in reasons if count)


def sizes_of(graph: onnx.GraphProto) -> dict[str, int]:
    return {tensor.name: product(tensor.dims) for tensor in graph.initializer}


def graph_input(value: onnx.ValueInfoProto) -> dict:
    tensor = value.type.tensor_type
    dims = [dim.dim_param or dim.dim_value for dim in tensor.shape.dim]
    dtype = onnx.TensorProto.DataType.Name(tensor.elem_type).lower()
    return {"name": value.name, "type": onnx_count.DTYPES.get(dtype, dtype), "dims": dims}


def file_symbols(proto: onnx.ModelProto) -> list[str]:
    """Names of free dims in the file's inputs; a formula of other names ('past + sequence') is not free."""
    names = {dim.dim_param for value in proto.graph.input for dim in value.type.tensor_type.shape.dim if dim.dim_param}
    return sorted(name for name in names if name.isidentifier())


def file_bindings(proto: onnx.ModelProto, feeds: dict) -> dict[str, int]:
    """The size of every free dim of the file, taken from the tensors fed to it."""
    sizes = {}
    for value in proto.graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, feeds[value.name].shape):
            if dim.dim_param.isidentifier():
                assert sizes.setdefault(dim.dim_param, size) == size, f"{value.name}: two sizes for {dim.dim_param}"
    return dict(sorted(sizes.items()))


def expectation(model: export.Model, proto: onnx.ModelProto, path: Path, sizes: dict[str, int]) -> dict:
    feeds = graph_feeds(model, proto, sizes)
    values = onnx_count.true_values(path, feeds)
    in_graph, by_type = onnx_count.contraction_macs(path, values)
    if model.name in PER_BOX:
        return per_box_expectation(model, in_graph, by_type)
    in_source, origin = source_macs(model, sizes)
    check_torchvision(model, sizes, in_source)
    if in_graph != in_source:
        raise ValueError(f"{model.name} at {sizes}: {in_graph:,} MACs in the file, {in_source:,} in the source")
    return {"bindings": file_bindings(proto, feeds), "contraction_macs": in_graph, "by_type": by_type,
            "origin": f"{origin}; the same in {RAN}"}


def graph_feeds(model: export.Model, proto: onnx.ModelProto, sizes: dict[str, int]) -> dict:
    """Random inputs by name; an exporter may have dropped an input that nothing uses."""
    made = dict(zip(model.inputs, export.example_inputs(model, sizes)))
    return {value.name: made[value.name].numpy() for value in proto.graph.input}


def source_macs(model: export.Model, sizes: dict[str, int]) -> tuple[int, str]:
    if model.closed_form:
        return model.closed_form(sizes), "closed form"
    counts, _ = counted(model, sizes)
    return sum(counts.values()), f"torch {release(torch.__version__)} FlopCounterMode / 2 on the source network"


def counted(model: export.Model, sizes: dict[str, int]) -> tuple[dict[str, int], torch.nn.Module]:
    """MACs of the source network by torch operator, from one run of it."""
    module = model.build()
    torch.backends.mha.set_fastpath_enabled(False)           # the fused attention paths are not counted
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        module(*export.example_inputs(model, sizes))
    flops = {str(operator): count for operator, count in counter.get_flop_counts()["Global"].items()}
    assert all(count % 2 == 0 for count in flops.values())
    return {operator: count // 2 for operator, count in flops.items()}, module


def release(version: str) -> str:
    return version.split("+")[0]


# Detectors whose second stage runs once a proposed box: MACs a box, from the head's layers.
# fasterrcnn: 256*7*7 -> 1024 -> 1024 -> 91 scores and 4*91 box sides
PER_BOX = {"fasterrcnn_resnet50_fpn": (256 * 7 * 7 + 1024 + 91 + 4 * 91) * 1024}


def per_box_expectation(model: export.Model, in_graph: int, by_type: dict[str, int]) -> dict:
    each = PER_BOX[model.name]
    base = sum(count for operator, count in counted(model, {})[0].items() if "convolution" in operator)
    boxes, rest = divmod(in_graph - base, each)
    assert rest == 0 and by_type["Conv"] == base, f"{model.name}: {in_graph:,} is not {base:,} + n * {each:,}"
    check_torchvision(model, {}, base + 1000 * each)
    return {"bindings": {}, "contraction_macs": base, "per_box_macs": each, "max_boxes": 1000,
            "origin": f"base: torch {release(torch.__version__)} FlopCounterMode / 2 on the source network; per box: "
                      f"closed form of the box head; the same in {RAN}, at {boxes} boxes"}


def check_torchvision(model: export.Model, sizes: dict[str, int], macs: int) -> None:
    """torchvision publishes GMACs of one image, to three decimals, at the size its weights were trained for."""
    if not model.source.startswith("torchvision ") or sizes.get("batch", 1) != 1:
        return
    import torchvision
    published_gmacs = torchvision.models.get_model_weights(model.source.split()[1]).DEFAULT.meta["_ops"]
    if abs(macs / 1e9 - published_gmacs) > 0.00051:
        raise ValueError(f"{model.name}: {macs:,} MACs, torchvision publishes {published_gmacs} G")


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the manifest of the model set.")
    parser.add_argument("--exports", type=Path, required=True, metavar="DIR", help="what export.py wrote")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="renew these entries and keep the others")
    parser.add_argument("-o", "--output", type=Path, default=HERE / "manifest.json", metavar="FILE")
    arguments = parser.parse_args()

    entries = {}
    if arguments.only and arguments.output.exists():
        entries = {old["name"]: old for old in json.loads(arguments.output.read_text())["models"]}
    failed = 0
    for model in export.chosen(arguments.only):
        try:
            entries[model.name] = entry(model, arguments.exports)
        except (ValueError, AssertionError, FileNotFoundError) as error:
            print(f"{model.name}: {error}", file=sys.stderr, flush=True)
            failed += 1
            continue
        print(f"{model.name}: {[point['contraction_macs'] for point in entries[model.name]['expected']]}", flush=True)
    ordered = [entries[model.name] for model in export.MODELS if model.name in entries]
    manifest = {"schema": "pagoda.models/1", "models": ordered}
    arguments.output.write_text(json.dumps(manifest, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

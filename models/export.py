#!/usr/bin/env python3
"""Exports the model set to ONNX: one row a model in MODELS, real sources, seeded random weights.

    python models/export.py -o DIR                      every model this Python's torch can export
    python models/export.py -o DIR --only resnet50 gpt2
    python models/export.py -o DIR --only lstm fcn --exporter dynamo    rows of an old PyTorch by the current one
    python models/export.py --list

Three exporters write ONNX in the wild and each writes a different graph, so the set holds all of them. The
`exporter` column says which one makes a row:
    torch-1.13   the TorchScript exporter of PyTorch 1.13 (Debian 12: python3-torch, python3-torchvision)
    torchscript  torch.onnx.export(dynamo=False) of a current PyTorch
    dynamo       torch.onnx.export(dynamo=True)  of a current PyTorch
Rows of the other generation are named and skipped, so the whole set takes one run under each Python. With --exporter,
every chosen row is made by that exporter instead: the same network with the same work, in a graph of another generation.

Every parameter and every running statistic is made distinct before the export: the TorchScript exporter merges
identical initializers, and a file whose zero biases are one tensor is not the file a user has.
"""
from __future__ import annotations

import argparse
import inspect
import json
import sys
import time
import traceback
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Callable

import torch

import builders as b
from bert_sdpa import BERT_LARGE, Bert
from lstm_lm import HIDDEN, LAYERS, VOCABULARY, LstmLanguageModel
from small_nets import MatMulAdd, Recurrent, UNet, fully_connected, pointwise_conv
from yolov8n import YoloV8n

CURRENT = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 6)
EXPORTERS_HERE = ("torchscript", "dynamo") if CURRENT else ("torch-1.13",)


@dataclass(frozen=True)
class Input:
    """One graph input. A dim is an int, or the name of a dynamic dim, or a sum of names such as 'past+sequence'."""
    dims: tuple[int | str, ...]
    dtype: str = "float32"
    high: int | None = None      # integers are drawn from [0, high); None for integers means all ones (a mask)

    def shape(self, sizes: dict[str, int]) -> list[int]:
        return [bind(dim, sizes) for dim in self.dims]


@dataclass(frozen=True)
class Model:
    """A row of the table."""
    name: str
    build: Callable[[], torch.nn.Module]
    exporter: str
    opset: int
    inputs: dict[str, Input]
    source: str
    licence: str = "BSD-3-Clause"
    outputs: tuple[str, ...] = ("output",)
    example: dict[str, int] = field(default_factory=dict)          # sizes of the dynamic dims while exporting
    points: tuple[dict[str, int], ...] = ({},)                     # their sizes where the manifest gives MACs
    dynamic_outputs: dict[str, dict[int, str]] = field(default_factory=dict)
    note: str = ""
    closed_form: Callable[[dict[str, int]], int] | None = None     # MACs, where PyTorch's counter is blind

    def dynamic_dims(self) -> list[str]:
        names = [dim for spec in self.inputs.values() for dim in spec.dims if isinstance(dim, str)]
        return sorted({part for dim in names for part in dim.split("+")})


def bind(dim: int | str, sizes: dict[str, int]) -> int:
    return dim if isinstance(dim, int) else sum(sizes[part] for part in dim.split("+"))


# ---------------------------------------------------------------------------------------------------------------
# The table
# ---------------------------------------------------------------------------------------------------------------

OWN = "Apache-2.0"           # the licence of this project, for networks written here


def image(name: str, exporter: str, opset: int, *, size: int = 224, dynamic: bool = False, suffix: str = "",
          note: str = "", family: str = "", outputs: tuple[str, ...] = ("output",), **options) -> Model:
    """A torchvision image network with a fixed or a dynamic batch dim."""
    return Model(
        name=name + suffix, build=lambda: b.torchvision(name, family, **options), exporter=exporter, opset=opset,
        inputs={"input": Input(("batch" if dynamic else 1, 3, size, size))}, outputs=outputs,
        source=f"torchvision {name}", note=note, **batched(dynamic))


def batched(dynamic: bool) -> dict:
    """The fields of a model whose only dynamic dim, if any, is the batch."""
    if not dynamic:
        return {}
    return {"example": {"batch": 2}, "points": tuple({"batch": n} for n in (1, 3)),
            "dynamic_outputs": {"output": {0: "batch"}}}


def segmentation(name: str, exporter: str, opset: int) -> Model:
    """A segmentation network whose batch, height and width are all dynamic."""
    return Model(
        name=name + "_dynamic", build=lambda: b.torchvision(name, "segmentation", weights_backbone=None, aux_loss=True),
        exporter=exporter, opset=opset, inputs={"input": Input(("batch", 3, "height", "width"))},
        outputs=("output", "aux"), dynamic_outputs={
            name: {0: "batch", 2: "height", 3: "width"} for name in ("output", "aux")}, source=f"torchvision {name}",
        example={"batch": 2, "height": 96, "width": 128},
        points=({"batch": 1, "height": 520, "width": 520}, {"batch": 3, "height": 95, "width": 130}))


def yolo(name: str, exporter: str, opset: int, *, dynamic: bool = False) -> Model:
    return Model(
        name=name, build=lambda: b.randomised(YoloV8n()), exporter=exporter, opset=opset, licence=OWN,
        inputs={"images": Input(("batch" if dynamic else 1, 3, 640, 640))},
        source="yolov8n.py, from the published architecture of YOLOv8n", **batched(dynamic))


def lstm(name: str, positions: int | None, note: str = "") -> Model:
    return Model(
        name=name, build=lambda: b.randomised(LstmLanguageModel(positions)), exporter="torch-1.13", opset=17,
        inputs={"words": Input(("batch", "sequence"), "int64", VOCABULARY),
                "hidden": Input((LAYERS, "batch", HIDDEN)), "cell": Input((LAYERS, "batch", HIDDEN))},
        outputs=("output", "hidden_out", "cell_out"), source="lstm_lm.py", licence=OWN, note=note,
        closed_form=lambda n: n["batch"] * (n["sequence"] * LAYERS * 4 * HIDDEN * (HIDDEN + HIDDEN)
                                            + (positions or n["sequence"]) * HIDDEN * VOCABULARY),
        dynamic_outputs={"output": {0: "batch"} | ({} if positions else {1: "sequence"}),
                         "hidden_out": {1: "batch"}, "cell_out": {1: "batch"}},
        example={"batch": 2, "sequence": 16}, points=({"batch": 1, "sequence": 32}, {"batch": 3, "sequence": 11}))


def layer(name: str, opset: int, build: Callable[[], torch.nn.Module], dims: tuple[int, ...], source: str,
          note: str = "") -> Model:
    """A layer or small network of this project's own, with a dynamic batch."""
    return Model(name=name, build=lambda: b.randomised(build()), exporter="torch-1.13", opset=opset,
                 inputs={"input": Input(("batch", *dims))}, source=source, licence=OWN, note=note, **batched(True))


def bert(name: str, exporter: str, opset: int, *, attention: str = "eager", pooled: bool = False) -> Model:
    ids = ("batch", "sequence")
    return Model(
        name=name, build=lambda: b.bert_base(attention, pooled), exporter=exporter, opset=opset,
        inputs={"input_ids": Input(ids, "int64", 30522), "attention_mask": Input(ids, "int64"),
                "token_type_ids": Input(ids, "int64", 2)},
        outputs=("last_hidden_state", "pooler_output") if pooled else ("last_hidden_state",),
        dynamic_outputs={"last_hidden_state": {0: "batch", 1: "sequence"}} | (
            {"pooler_output": {0: "batch"}} if pooled else {}),
        source="transformers BertModel, configuration of bert-base-uncased" + (
            "" if pooled else ", without the pooling layer"),
        licence="Apache-2.0", example={"batch": 2, "sequence": 8}, points=TEXT_POINTS)


@dataclass(frozen=True)
class CausalFamily:
    build: Callable[..., torch.nn.Module]
    source: str
    vocabulary: int
    layers: int
    kv_heads: int
    head_size: int


GPT2 = CausalFamily(b.gpt2, "transformers GPT2LMHeadModel, configuration of gpt2", 50257, 12, 12, 64)
LLAMA = CausalFamily(b.llama, "transformers LlamaForCausalLM, dimensions of SmolLM2-135M, 6 of its 30 layers",
                     49152, 6, 3, 64)
TEXT_POINTS = ({"batch": 1, "sequence": 128}, {"batch": 3, "sequence": 11}, {"batch": 2, "sequence": 200})
CACHE_POINTS = ({"batch": 1, "sequence": 1, "past": 127}, {"batch": 3, "sequence": 11, "past": 5},
                {"batch": 8, "sequence": 1, "past": 1000})


def causal(name: str, exporter: str, opset: int, family: CausalFamily, *, cached: bool = False,
           attention: str = "eager", dtype: str = "float32") -> Model:
    """A decoder over a whole prompt, or (cached) one step over a key/value cache of `past` positions."""
    inputs = {"input_ids": Input(("batch", "sequence"), "int64", family.vocabulary),
              "attention_mask": Input(("batch", "past+sequence") if cached else ("batch", "sequence"), "int64")}
    outputs, grown = ["logits"], {"logits": {0: "batch", 1: "sequence"}}
    for i in range(family.layers if cached else 0):
        for part in ("key", "value"):
            inputs[f"past_key_values.{i}.{part}"] = Input(
                ("batch", family.kv_heads, "past", family.head_size), dtype)
            outputs.append(f"present.{i}.{part}")
            grown[outputs[-1]] = {0: "batch", 2: "past + sequence"}
    options = {"cached": cached, "attention": attention} | ({"dtype": dtype} if dtype != "float32" else {})
    example = {"batch": 2, "sequence": 4} | ({"past": 6} if cached else {})
    return Model(
        name=name, build=lambda: family.build(**options), exporter=exporter, opset=opset, inputs=inputs,
        outputs=tuple(outputs), dynamic_outputs=grown, source=family.source, licence="Apache-2.0", example=example,
        points=CACHE_POINTS if cached else TEXT_POINTS)


def t5(name: str, exporter: str, opset: int, part: str) -> Model:
    if part == "encoder":
        inputs = {"input_ids": Input(("batch", "sequence"), "int64", 32128),
                  "attention_mask": Input(("batch", "sequence"), "int64")}
        points, output, example = TEXT_POINTS, "last_hidden_state", {"batch": 2, "sequence": 8}
    else:
        inputs = {"decoder_input_ids": Input(("batch", "sequence"), "int64", 32128),
                  "encoder_hidden_states": Input(("batch", "encoder_sequence", 512)),
                  "encoder_attention_mask": Input(("batch", "encoder_sequence"), "int64")}
        points = ({"batch": 1, "sequence": 32, "encoder_sequence": 128},
                  {"batch": 3, "sequence": 11, "encoder_sequence": 7})
        output, example = "logits", {"batch": 2, "sequence": 4, "encoder_sequence": 6}
    return Model(
        name=name, build=lambda: b.t5(part), exporter=exporter, opset=opset, inputs=inputs, outputs=(output,),
        dynamic_outputs={output: {0: "batch", 1: "sequence"}}, example=example, points=points, licence="Apache-2.0",
        source=f"transformers T5, configuration of t5-small, {part}" + (" and head" if part == "decoder" else ""))


def whisper(name: str, exporter: str, opset: int, attention: str = "eager") -> Model:
    return Model(
        name=name, build=lambda: b.whisper_encoder(attention), exporter=exporter, opset=opset,
        inputs={"input_features": Input(("batch", 80, 3000))}, outputs=("last_hidden_state",),
        dynamic_outputs={"last_hidden_state": {0: "batch"}}, example={"batch": 2},
        points=tuple({"batch": n} for n in (1, 3)), licence="Apache-2.0",
        source="transformers WhisperEncoder, configuration of whisper-tiny")


MODELS: tuple[Model, ...] = (
    # ---- image networks ---------------------------------------------------------------------------------------
    image("resnet50", "torch-1.13", 12),
    image("resnet50", "torchscript", 17, dynamic=True, suffix="_dynamic"),
    image("resnet50", "dynamo", 20, dynamic=True, suffix="_dynamo"),
    image("vit_b_16", "torch-1.13", 13),
    image("vit_b_16", "torch-1.13", 13, dynamic=True, suffix="_dynamic"),
    image("vit_b_16", "dynamo", 18, dynamic=True, suffix="_dynamo"),
    image("swin_t", "torch-1.13", 13),
    image("swin_t", "torchscript", 17, dynamic=True, suffix="_dynamic"),
    image("swin_t", "dynamo", 18, dynamic=True, suffix="_dynamo"),
    image("mobilenet_v3_large", "torch-1.13", 17),
    image("mobilenet_v3_large", "dynamo", 26, dynamic=True, suffix="_dynamo"),
    image("resnet152", "torch-1.13", 13, dynamic=True),
    image("vgg16", "torch-1.13", 11),
    image("alexnet", "torch-1.13", 12, dynamic=True),
    image("googlenet", "torch-1.13", 14, aux_logits=False, transform_input=True, init_weights=False),
    image("densenet121", "torch-1.13", 15),
    image("densenet121", "torchscript", 18, dynamic=True, suffix="_dynamic"),
    image("efficientnet_b0", "torch-1.13", 16),
    image("efficientnet_b0", "dynamo", 24, dynamic=True, suffix="_dynamo"),
    image("convnext_tiny", "torch-1.13", 17),
    image("convnext_tiny", "dynamo", 25, dynamic=True, suffix="_dynamo"),

    # ---- dense prediction and detection -----------------------------------------------------------------------
    image("deeplabv3_resnet50", "torch-1.13", 13, size=520, family="segmentation", weights_backbone=None,
          aux_loss=True, outputs=("output", "aux")),
    segmentation("deeplabv3_resnet50", "torchscript", 17),
    image("ssd300_vgg16", "torch-1.13", 11, size=300, family="detection", weights_backbone=None,
          outputs=("boxes", "scores", "labels")),
    image("fasterrcnn_resnet50_fpn", "torch-1.13", 11, size=800, family="detection", weights_backbone=None,
          outputs=("boxes", "labels", "scores"), note="every box that survives the proposal network costs the same"),
    yolo("yolov8n", "torch-1.13", 13),
    yolo("yolov8n_dynamo", "dynamo", 18, dynamic=True),

    # ---- transformers -----------------------------------------------------------------------------------------
    bert("bert_base", "torchscript", 17),
    bert("bert_base_pooler", "torchscript", 14, pooled=True),
    bert("bert_base_sdpa", "torchscript", 20, attention="sdpa"),
    bert("bert_base_dynamo", "dynamo", 20, attention="sdpa", pooled=True),
    bert("bert_base_dynamo_opset23", "dynamo", 23, attention="sdpa"),
    causal("gpt2", "torchscript", 17, GPT2),
    causal("gpt2_past", "torchscript", 18, GPT2, cached=True),
    causal("gpt2_past_dynamo", "dynamo", 22, GPT2, cached=True, attention="sdpa"),
    causal("llama", "torchscript", 17, LLAMA),
    causal("llama_past", "torchscript", 18, LLAMA, cached=True),
    causal("llama_past_dynamo", "dynamo", 20, LLAMA, cached=True),
    causal("llama_past_dynamo_opset23_fp16", "dynamo", 23, LLAMA, cached=True, attention="sdpa", dtype="float16"),
    t5("t5_encoder", "torchscript", 17, "encoder"),
    t5("t5_decoder", "torchscript", 17, "decoder"),
    t5("t5_decoder_dynamo", "dynamo", 18, "decoder"),
    whisper("whisper_encoder", "torchscript", 17),
    whisper("whisper_encoder_dynamo", "dynamo", 18, attention="sdpa"),
    Model("bert_large", lambda: b.randomised(Bert(BERT_LARGE)), "torchscript", 17,
          {"input_ids": Input((1, 128), "int64", 30522), "attention_mask": Input((1, 128), "int64")},
          "bert_sdpa.py, dimensions of bert-large-uncased", OWN, ("last_hidden_state", "pooler_output")),

    # ---- recurrent, 3-D, transposed, and single layers --------------------------------------------------------
    lstm("lstm", None),
    lstm("lstm_positions8", 8, "predicts at the first 8 positions, as the published Pagoda figures assume"),
    Model("recurrent", lambda: b.randomised(Recurrent()), "torch-1.13", 14,
          {"input": Input(("sequence", "batch", 40))}, "small_nets.py", OWN, example={"sequence": 9, "batch": 2},
          dynamic_outputs={"output": {0: "sequence", 1: "batch"}},
          points=({"sequence": 100, "batch": 1}, {"sequence": 11, "batch": 3}),
          # gates * hidden * (input + hidden): two directions of the LSTM, the GRU, the RNN
          closed_form=lambda n: n["sequence"] * n["batch"] * 64 * (2 * 4 * (40 + 64) + 3 * (128 + 64) + (64 + 64))),
    Model("r3d_18", lambda: b.torchvision("r3d_18", "video"), "torch-1.13", 13,
          {"input": Input(("batch", 3, 16, 112, 112))}, "torchvision r3d_18", **batched(True)),
    layer("unet", 13, UNet, (3, 128, 128), "small_nets.py"),
    layer("conv_pw_160_960_7x7", 12, lambda: pointwise_conv(160, 960), (160, 7, 7),
          "small_nets.py, the last pointwise convolution of MobileNetV3-Large"),
    layer("conv_bottleneck1_24_72_56x56", 12, lambda: pointwise_conv(24, 72), (24, 56, 56),
          "small_nets.py, the expansion of a bottleneck of MobileNetV3-Large"),
    layer("conv_bottleneck2_160_960_56x56", 12, lambda: pointwise_conv(160, 960), (160, 56, 56), "small_nets.py"),
    layer("linear_64_128", 12, lambda: MatMulAdd(64, 128), (64,), "small_nets.py"),
    layer("fcn", 12, fully_connected, (256,), "small_nets.py",
          "the 256 inputs are Pagoda's; its layers are not published, so the others are this project's choice"),
)


# ---------------------------------------------------------------------------------------------------------------
# Exporting a row
# ---------------------------------------------------------------------------------------------------------------

def example_inputs(model: Model, sizes: dict[str, int]) -> tuple[torch.Tensor, ...]:
    """Random inputs of the given sizes, the same each time."""
    generator = torch.Generator().manual_seed(1)
    return tuple(example_tensor(spec, spec.shape(sizes), generator) for spec in model.inputs.values())


def example_tensor(spec: Input, shape: list[int], generator: torch.Generator) -> torch.Tensor:
    dtype = getattr(torch, spec.dtype)
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator).to(dtype)
    if spec.high is None:
        return torch.ones(shape, dtype=dtype)
    return torch.randint(0, spec.high, shape, generator=generator, dtype=dtype)


def export_torchscript(model: Model, module: torch.nn.Module, path: Path) -> None:
    """Both generations of the TorchScript exporter; dynamic dims by name."""
    axes = {name: {i: dim.replace("+", " + ") for i, dim in enumerate(spec.dims) if isinstance(dim, str)}
            for name, spec in model.inputs.items()}
    axes |= model.dynamic_outputs
    options = {"dynamo": False} if CURRENT else {}
    torch.onnx.export(module, example_inputs(model, model.example), str(path), opset_version=model.opset,
                      input_names=list(model.inputs), output_names=list(model.outputs),
                      dynamic_axes={name: dims for name, dims in axes.items() if dims}, **options)


def export_dynamo(model: Model, module: torch.nn.Module, path: Path) -> None:
    """The torch.export-based exporter. A sum of dims ('past+sequence') is left for it to derive."""
    dims = {name: torch.export.Dim(name) for name in model.dynamic_dims()}
    shapes = tuple({i: torch.export.Dim.DYNAMIC if "+" in dim else dims[dim]
                    for i, dim in enumerate(spec.dims) if isinstance(dim, str)} for spec in model.inputs.values())
    program = torch.onnx.export(module, example_inputs(model, model.example), dynamo=True, verbose=False,
                                opset_version=model.opset, dynamic_shapes=as_arguments(module, shapes),
                                input_names=list(model.inputs), output_names=list(model.outputs))
    program.save(str(path), external_data=False)


def as_arguments(module: torch.nn.Module, items: tuple) -> tuple:
    """Items in the form of forward's parameters: what a *past collects is one nested tuple."""
    code = module.forward.__code__
    named = code.co_argcount - 1
    return (*items[:named], items[named:]) if code.co_flags & inspect.CO_VARARGS else items


def drop_source_text(path: Path) -> None:
    """Removes from node metadata the exporting machine's source lines and the text of the traced graph, the bulk of
    it; module scopes and class names stay."""
    import onnx
    proto = onnx.load(str(path))
    for node in proto.graph.node:
        kept = [entry for entry in node.metadata_props if not entry.key.endswith(("stack_trace", "fx_node"))]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    onnx.save(proto, str(path))


def export(model: Model, folder: Path) -> Path:
    path = folder / f"{model.name}.onnx"
    module = model.build()      # not under no_grad: attention's fused inference path has no ONNX form
    if model.exporter == "dynamo":
        export_dynamo(model, module, path)
        drop_source_text(path)
    else:
        export_torchscript(model, module, path)
    path.with_suffix(".source.json").write_text(json.dumps(provenance(model, module), indent=2) + "\n")
    return path


def provenance(model: Model, module: torch.nn.Module) -> dict:
    """What the manifest cannot learn from the ONNX file: versions, and the parameters of the source."""
    libraries = {"torch": torch.__version__.split("+")[0]}
    for word in ("torchvision", "transformers"):
        if word in model.source:
            libraries[word] = __import__(word).__version__.split("+")[0]
    norms = [part for part in module.modules() if isinstance(part, torch.nn.modules.batchnorm._BatchNorm)]
    return {"exporter": model.exporter, "versions": libraries, "parameters": elements(module.parameters()),
            "tied_parameters": elements(every_use(module)) - elements(module.parameters()),
            "batchnorm_channels": sum(norm.num_features for norm in norms)}


def every_use(module: torch.nn.Module):
    """Parameters once for each layer that holds them: a tied weight comes as often as it is used."""
    return (parameter for part in module.modules() for parameter in part.parameters(recurse=False))


def elements(tensors) -> int:
    return sum(tensor.numel() for tensor in tensors)


# ---------------------------------------------------------------------------------------------------------------
# Command line
# ---------------------------------------------------------------------------------------------------------------

def chosen(only: list[str] | None) -> list[Model]:
    if only is None:
        return list(MODELS)
    unknown = sorted(set(only) - {model.name for model in MODELS})
    if unknown:
        sys.exit(f"export.py: no such model: {', '.join(unknown)} (--list shows the names)")
    return [model for model in MODELS if model.name in only]


def main() -> int:
    parser = argparse.ArgumentParser(description="Export the model set to ONNX.")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="where NAME.onnx is written")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="export these models only")
    parser.add_argument("--exporter", choices=EXPORTERS_HERE, help="makes every chosen model, whatever its row says")
    parser.add_argument("--list", action="store_true", help="print the table and export nothing")
    arguments = parser.parse_args()
    models = chosen(arguments.only)
    if arguments.exporter:
        models = [replace(model, exporter=arguments.exporter) for model in models]

    if arguments.list:
        for model in models:
            dims = " ".join(model.dynamic_dims())
            print(f"{model.name:32} {model.exporter:12} opset {model.opset:<3} {dims:32} {model.source}")
        return 0
    if arguments.output is None:
        parser.error("-o DIR is needed to export")

    arguments.output.mkdir(parents=True, exist_ok=True)
    failed = 0
    for model in models:
        if model.exporter not in EXPORTERS_HERE:
            print(f"{model.name}: skipped, needs {model.exporter}; this is PyTorch {torch.__version__}", flush=True)
            continue
        start = time.time()
        try:
            path = export(model, arguments.output)
        except Exception:                       # one failing export must not keep the rest from being made
            traceback.print_exc()
            print(f"{model.name}: FAILED", flush=True)
            failed += 1
            continue
        print(f"{model.name}: {path.stat().st_size:,} bytes in {time.time() - start:.1f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Writes reference.json: the cost of training the source networks of models/, as counted by PyTorch.

    python tests/train/reference.py [--only NAME...] [--skeletons DIR]      (a current PyTorch, as in models/README.md)

Two kinds of numbers, both from running the network forward and backward with inputs that need no gradient:
* `flops`: torch.utils.flop_counter.FlopCounterMode, attention decomposed (the math backend of scaled dot products), in
  evaluation mode (dropout and batch statistics hold no contraction). `grouped_excess` is the excess of that counter for
  the weight gradient of grouped convolutions: its formula is kernel * output * Cin * Cout, without the division by the
  groups that it applies forward (torch/utils/flop_counter.py, conv_backward_flop).
* `saved_bytes`: the distinct storages that torch.autograd.graph.saved_tensors_hooks sees in training mode, without
  those of parameters and buffers, by element type, with the number of them.
--skeletons exports the networks of the second kind as they are trained (batch statistics, dropout) into DIR; their
skeletons are tests/train/*_training.onnx (onnx-skeleton DIR/NAME -o tests/train/NAME).
"""
from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "models"))
import export  # noqa: E402

# Skeleton, and the sizes at which its source runs.
CONTRACTIONS = [
    ("alexnet", {"batch": 2}), ("vgg16", {}), ("googlenet", {}), ("resnet50", {}), ("resnet50_dynamic", {"batch": 3}),
    ("resnet50_dynamo", {"batch": 2}), ("densenet121", {}), ("mobilenet_v3_large", {}), ("efficientnet_b0", {}),
    ("efficientnet_b0_dynamo", {"batch": 2}), ("convnext_tiny", {}), ("convnext_tiny_dynamo", {"batch": 2}),
    ("vit_b_16", {}), ("vit_b_16_dynamo", {"batch": 2}), ("swin_t", {}), ("swin_t_dynamo", {"batch": 2}),
    ("bert_base", {"batch": 2, "sequence": 11}), ("bert_base_pooler", {"batch": 2, "sequence": 11}),
    ("bert_base_dynamo", {"batch": 3, "sequence": 7}), ("bert_base_dynamo_opset23", {"batch": 3, "sequence": 7}),
    ("gpt2", {"batch": 2, "sequence": 11}), ("llama", {"batch": 2, "sequence": 11}),
    ("t5_encoder", {"batch": 2, "sequence": 11}),
    ("t5_decoder", {"batch": 2, "sequence": 11, "encoder_sequence": 7}),
    ("whisper_encoder", {"batch": 2}), ("yolov8n", {}), ("unet", {"batch": 2}), ("r3d_18", {"batch": 2}),
    ("fcn", {"batch": 5}), ("linear_64_128", {"batch": 5}),
]
SAVED = [("resnet50_dynamic", {"batch": 2}), ("vgg16", {"batch": 1}), ("vit_b_16_dynamo", {"batch": 2})]


class GroupedExcess(TorchDispatchMode):
    """Sums the excess of conv_backward_flop for grouped convolutions."""

    def __init__(self):
        super().__init__()
        self.flops = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.convolution_backward.default:
            gradient, data, weight = args[:3]
            groups, mask = args[9], args[10]
            if mask[1] and groups > 1 and not args[7]:
                counted = 2 * data.shape[0] * data.shape[1] * gradient.shape[1]
                for size in (*weight.shape[2:], *gradient.shape[2:]):
                    counted *= size
                self.flops += counted - counted // groups
        return func(*args, **(kwargs or {}))


def model_named(name: str) -> export.Model:
    return next(model for model in export.MODELS if model.name == name)


def floats(outputs) -> list[torch.Tensor]:
    """The outputs of a network that can have gradients."""
    if isinstance(outputs, torch.Tensor):
        outputs = [outputs]
    if isinstance(outputs, dict):
        outputs = outputs.values()
    found = []
    for output in outputs:
        if isinstance(output, torch.Tensor):
            found += [output] if output.requires_grad else []
        elif output is not None:
            found += floats(output)
    return found


def backward(outputs) -> None:
    found = floats(outputs)
    torch.autograd.backward(found, [torch.ones_like(output) for output in found])


def contraction(name: str, sizes: dict[str, int]) -> dict:
    model = model_named(name)
    module, inputs = model.build().eval(), export.example_inputs(model, sizes)
    # The mode entered last sees an operator first, and passes it on to the other.
    with sdpa_kernel(SDPBackend.MATH), GroupedExcess() as excess, FlopCounterMode(display=False) as counter:
        outputs = module(*inputs)
        forward = counter.get_total_flops()
        backward(outputs)
    return {"model": name, "bindings": sizes if model.dynamic_dims() else {}, "forward_flops": forward,
            "flops": counter.get_total_flops(), "grouped_excess": excess.flops}


def saved(name: str, sizes: dict[str, int]) -> dict:
    model = model_named(name)
    module, inputs = model.build().train(), export.example_inputs(model, sizes)
    own = {t.untyped_storage().data_ptr() for t in (*module.parameters(), *module.buffers())}
    kept: dict[int, torch.Tensor] = {}        # keeps the tensors alive, so that their addresses are not reused

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.untyped_storage().data_ptr() not in own:
            kept.setdefault(tensor.untyped_storage().data_ptr(), tensor)
        return tensor

    with sdpa_kernel(SDPBackend.MATH), torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        module(*inputs)
    by_type: dict[str, dict[str, int]] = {}
    for tensor in kept.values():
        entry = by_type.setdefault(str(tensor.dtype).removeprefix("torch."), {"storages": 0, "bytes": 0})
        entry["storages"] += 1
        entry["bytes"] += tensor.untyped_storage().nbytes()
    return {"model": name, "batch": sizes["batch"], "saved_bytes": sum(e["bytes"] for e in by_type.values()),
            "by_type": dict(sorted(by_type.items()))}


def write_training_graph(name: str, sizes: dict[str, int], folder: Path) -> None:
    """The network as it is trained; from opset 20 on GELU is one operator, as in PyTorch."""
    model = model_named(name)
    short = name.removesuffix("_dynamic").removesuffix("_dynamo")
    torch.onnx.export(model.build().train(), export.example_inputs(model, sizes), str(folder / f"{short}_training.onnx"),
                      opset_version=20, dynamo=False, training=torch.onnx.TrainingMode.TRAINING,
                      do_constant_folding=False, input_names=list(model.inputs), output_names=list(model.outputs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", help="names of models")
    parser.add_argument("--skeletons", type=Path, help="export the networks as they are trained, and stop")
    arguments = parser.parse_args()
    if arguments.skeletons:
        for name, sizes in SAVED:
            write_training_graph(name, sizes, arguments.skeletons)
        return
    path = HERE / "reference.json"
    old = json.loads(path.read_text()) if path.exists() else {}
    table = {"made_by": "tests/train/reference.py", "torch": torch.__version__}
    for kind, rows, count in (("contractions", CONTRACTIONS, contraction), ("saved", SAVED, saved)):
        known = {entry["model"]: entry for entry in old.get(kind, [])}
        for name, sizes in rows:
            if arguments.only is None or name in arguments.only:
                known[name] = count(name, sizes)
                print(json.dumps(known[name]), flush=True)
        table[kind] = [known[name] for name, _ in rows if name in known]
        path.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()

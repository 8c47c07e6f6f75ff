#!/usr/bin/env python3
"""Compares an export at one image size, analysed at another size, with the export at that other size.

    python tests/resize/compare.py export -o DIR [--only NAME…]
    python tests/resize/compare.py compare DIR --estimate build/dev/tools/onnx-estimate [--only NAME…] [--verbose]

`export` writes DIR/NAME.EXPORTER.HEIGHTxWIDTH.onnx without weights, by both exporters of PyTorch, at the three sizes of
the network's row. `compare` analyses every file at the two other sizes of its row and compares the totals (multiply-
accumulates, arithmetic, special functions, bytes) and the shape of every computed tensor with the file exported at that
size; different parameters are counted separately. An answer is equal, refused (with the node that fixes the size) or
wrong; one wrong answer makes the exit code 1.
Needs torch, torchvision, timm, transformers, onnx and onnxscript. README.md has the figures and versions.
"""
from __future__ import annotations

import argparse
import collections
import json
import subprocess
import sys
import time
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "models"))

EXPORTERS = ("torchscript", "dynamo")
OPSET = 18
Size = tuple[int, int]


@dataclass(frozen=True)
class Row:
    """A network that can be built for any of three sizes."""
    name: str
    build: Callable[[Size], object]
    sizes: tuple[Size, Size, Size]
    licence: str = "BSD-3-Clause"


# ---------------------------------------------------------------------------------------------------------------
# Networks
# ---------------------------------------------------------------------------------------------------------------

def tv(name: str, family: str = "", **options) -> Callable[[Size], object]:
    import builders
    if family:
        options |= {"weights_backbone": None}
    return lambda size: builders.torchvision(name, family, **options)


def tv_sized(name: str, argument: str, **options) -> Callable[[Size], object]:
    import builders
    square = argument == "image_size"
    return lambda size: builders.torchvision(name, **{argument: size[0] if square else size}, **options)


def timm(name: str, sized: bool = False, **options) -> Callable[[Size], object]:
    def build(size: Size):
        import builders
        import timm as library
        return builders.randomised(library.create_model(name, **({"img_size": size} if sized else {}), **options))
    return build


def fpn(size: Size):
    """ResNet-18 with a feature pyramid: the upward path has the sizes of the downward path."""
    import builders
    from torch import nn
    from torchvision.models.detection.backbone_utils import resnet_fpn_backbone

    class Pyramid(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = resnet_fpn_backbone(backbone_name="resnet18", weights=None)

        def forward(self, images):
            return tuple(self.body(images).values())
    return builders.randomised(Pyramid())


def detector(name: str) -> Callable[[Size], object]:
    """Backbone and heads of a torchvision detector, without the resizing before and the box selection after."""
    def build(size: Size):
        import builders
        from torch import nn
        import torchvision
        model = getattr(torchvision.models.detection, name)(weights=None, weights_backbone=None)

        class Heads(nn.Module):
            def __init__(self):
                super().__init__()
                self.backbone, self.head = model.backbone, model.head

            def forward(self, images):
                features = self.backbone(images)
                features = list(features.values())
                return tuple(self.head(features).values())
        return builders.randomised(Heads())
    return build


def yolo(size: Size):
    import builders
    import torch
    import yolov8n
    model = yolov8n.YoloV8n(size[0])
    grids, strides = [], []
    for stride in yolov8n.STRIDES:
        rows, columns = (torch.arange(side // stride) + 0.5 for side in size)
        y, x = torch.meshgrid(rows, columns, indexing="ij")
        grids.append(torch.stack((x.flatten(), y.flatten())))
        strides.append(torch.full((1, x.numel()), float(stride)))
    model.detect.anchors = torch.cat(grids, 1).unsqueeze(0)
    model.detect.strides = torch.cat(strides, 1).unsqueeze(0)
    return builders.randomised(model)


def unet(size: Size):
    import builders
    from small_nets import UNet
    return builders.randomised(UNet())


def unet_interpolated(size: Size):
    """A U-Net whose upward path is bilinear, resized to the sizes of the downward path."""
    import builders
    import torch
    from torch import nn
    import torch.nn.functional as F

    class Interpolated(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 32, 3, padding=1)
            self.three, self.up2 = nn.Conv2d(32, 64, 3, padding=1), nn.Conv2d(96, 32, 3, padding=1)
            self.up1, self.head = nn.Conv2d(48, 16, 3, padding=1), nn.Conv2d(16, 4, 1)

        def forward(self, images):
            one = F.relu(self.one(images))
            two = F.relu(self.two(F.max_pool2d(one, 2)))
            three = F.relu(self.three(F.max_pool2d(two, 2)))
            up = F.interpolate(three, size=two.shape[2:], mode="bilinear", align_corners=False)
            two = F.relu(self.up2(torch.cat((up, two), 1)))
            up = F.interpolate(two, size=one.shape[2:], mode="bilinear", align_corners=False)
            return self.head(F.relu(self.up1(torch.cat((up, one), 1))))
    return builders.randomised(Interpolated())


def super_resolution(size: Size):
    """The network of "Real-Time Single Image and Video Super-Resolution" (ESPCN), three times as large."""
    import builders
    from torch import nn
    return builders.randomised(nn.Sequential(
        nn.Conv2d(1, 64, 5, padding=2), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(),
        nn.Conv2d(64, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 9, 3, padding=1), nn.PixelShuffle(3)))


def segformer(size: Size):
    import builders
    from torch import nn
    from transformers import SegformerConfig, SegformerForSemanticSegmentation

    class Logits(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = SegformerForSemanticSegmentation(SegformerConfig(num_labels=150))  # the defaults are mit-b0

        def forward(self, images):
            return self.model(images).logits
    return builders.randomised(Logits())


def detr(size: Size):
    import builders
    from torch import nn
    from transformers import DetrConfig, DetrForObjectDetection, ResNetConfig

    class Boxes(nn.Module):
        def __init__(self):
            super().__init__()
            backbone = ResNetConfig(embedding_size=64, hidden_sizes=[64, 128, 256, 512], depths=[2, 2, 2, 2],
                                    layer_type="basic", out_features=["stage4"])
            self.model = DetrForObjectDetection(DetrConfig(
                use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=backbone,
                encoder_layers=2, decoder_layers=2, attn_implementation="eager"))

        def forward(self, images):
            out = self.model(images)
            return out.logits, out.pred_boxes
    return builders.randomised(Boxes())


def small_vit(size: Size):
    """Two layers of torchvision's vision transformer, 32 wide."""
    import builders
    import torchvision
    return builders.randomised(torchvision.models.VisionTransformer(size[0], 16, 2, 2, 32, 64, num_classes=10))


def small_swin(size: Size):
    """Two stages of torchvision's Swin transformer, 16 wide."""
    import builders
    import torchvision
    return builders.randomised(torchvision.models.SwinTransformer(
        [4, 4], 16, [2, 2], [1, 2], [7, 7], stochastic_depth_prob=0.0, num_classes=10))


COMMON = ((224, 224), (320, 320), (256, 384))
WINDOWS = ((448, 448), (672, 672), (448, 672))      # several windows of 7 in every stage
SQUARES = ((224, 224), (320, 320), (384, 384))      # for networks that take only one size

ROWS = (
    Row("resnet18", tv("resnet18"), COMMON),
    Row("mobilenet_v3_small", tv("mobilenet_v3_small"), COMMON),
    Row("efficientnet_b0", tv("efficientnet_b0"), COMMON),
    Row("densenet121", tv("densenet121"), COMMON),
    Row("shufflenet_v2", tv("shufflenet_v2_x0_5"), COMMON),
    Row("squeezenet1_1", tv("squeezenet1_1"), COMMON),
    Row("regnet_y_400mf", tv("regnet_y_400mf"), COMMON),
    Row("inception_v3", tv("inception_v3", init_weights=False, aux_logits=False), ((299, 299), (331, 331), (299, 395))),
    Row("convnext_atto", timm("convnext_atto"), COMMON, "Apache-2.0"),
    Row("vgg11", tv("vgg11"), ((224, 224), (448, 448), (224, 448))),
    Row("deeplabv3_mobilenet", tv("deeplabv3_mobilenet_v3_large", "segmentation"), COMMON),
    Row("lraspp_mobilenet", tv("lraspp_mobilenet_v3_large", "segmentation"), COMMON),
    Row("fcn_resnet50", tv("fcn_resnet50", "segmentation"), COMMON),
    Row("resnet18_fpn", fpn, COMMON),
    Row("retinanet", detector("retinanet_resnet50_fpn"), COMMON),
    Row("ssdlite", detector("ssdlite320_mobilenet_v3_large"), ((320, 320), (512, 512), (256, 384))),
    Row("yolov8n", yolo, ((640, 640), (1280, 1280), (480, 640)), "Apache-2.0"),
    Row("unet", unet, COMMON, "Apache-2.0"),
    Row("unet_interpolated", unet_interpolated, COMMON, "Apache-2.0"),
    Row("espcn", super_resolution, COMMON, "Apache-2.0"),
    Row("vit_b_32", tv_sized("vit_b_32", "image_size"), SQUARES),
    Row("vit_tiny", timm("vit_tiny_patch16_224", True), COMMON, "Apache-2.0"),
    Row("deit_tiny_distilled", timm("deit_tiny_distilled_patch16_224", True), COMMON, "Apache-2.0"),
    Row("swin_t", tv("swin_t"), WINDOWS),
    Row("swin_v2_t", tv("swin_v2_t"), ((512, 512), (768, 768), (512, 768))),
    Row("maxvit_t", tv_sized("maxvit_t", "input_size"), ((448, 448), (672, 672), (896, 896))),
    Row("mobilevit_xxs", timm("mobilevit_xxs"), ((256, 256), (384, 384), (256, 320)), "Apache-2.0"),
    Row("pvt_v2_b0", timm("pvt_v2_b0"), COMMON, "Apache-2.0"),
    Row("poolformer_s12", timm("poolformer_s12"), COMMON, "Apache-2.0"),
    Row("segformer", segformer, ((256, 256), (512, 512), (256, 384)), "Apache-2.0"),
    Row("small_vit", small_vit, ((64, 64), (96, 96), (128, 128))),
    Row("small_swin", small_swin, ((112, 112), (168, 168), (112, 224))),
    Row("detr", detr, COMMON, "Apache-2.0"),
)


# ---------------------------------------------------------------------------------------------------------------
# Exports
# ---------------------------------------------------------------------------------------------------------------

def strip(proto, least: int = 1024) -> None:
    """Removes all but sizes and small values, which the estimator reads."""
    def strip_tensor(tensor) -> None:
        count = 1
        for size in tensor.dims:
            count *= size
        if count < least:
            return
        for name in ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
            tensor.ClearField(name)
        tensor.data_location = 1
        del tensor.external_data[:]
        entry = tensor.external_data.add()
        entry.key, entry.value = "location", "<left out>"

    def strip_graph(graph) -> None:
        for tensor in graph.initializer:
            strip_tensor(tensor)
        del graph.value_info[:]
        for node in graph.node:
            kept = [entry for entry in node.metadata_props if not entry.key.startswith("pkg.")]
            del node.metadata_props[:]
            node.metadata_props.extend(kept)
            node.doc_string = ""
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    strip_tensor(attribute.t)
                if attribute.HasField("g"):
                    strip_graph(attribute.g)

    strip_graph(proto.graph)
    del proto.graph.metadata_props[:]
    del proto.metadata_props[:]
    for function in proto.functions:
        del function.value_info[:]
        for node in function.node:
            del node.metadata_props[:]
            node.doc_string = ""


def export(row: Row, exporter: str, size: Size, folder: Path) -> None:
    import onnx
    import torch
    path = folder / f"{row.name}.{exporter}.{size[0]}x{size[1]}.onnx"
    if path.exists():
        return
    model = row.build(size).eval()
    channels = 1 if row.name == "espcn" else 3
    images = (torch.zeros(1, channels, *size),)
    whole = path.with_suffix(".whole")
    if exporter == "dynamo":
        program = torch.onnx.export(model, images, dynamo=True, verbose=False, opset_version=OPSET,
                                    input_names=["images"])
        program.save(str(whole), external_data=False)
    else:
        torch.onnx.export(model, images, str(whole), dynamo=False, opset_version=OPSET, input_names=["images"])
    proto = onnx.load(str(whole))
    whole.unlink()
    strip(proto)
    onnx.save(proto, str(path))


def run_exports(rows: list[Row], exporters: list[str], folder: Path) -> int:
    import torch
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    folder.mkdir(parents=True, exist_ok=True)
    for row in rows:
        for exporter in exporters:
            start = time.time()
            try:
                for size in row.sizes:
                    export(row, exporter, size, folder)
                print(f"{row.name} {exporter}: {time.time() - start:.0f} s", flush=True)
            except Exception as error:
                text = (traceback.format_exc().strip().splitlines() or [""])[-1]
                print(f"{row.name} {exporter}: not exported: {type(error).__name__} {text[:300]}", flush=True)
    return 0


# ---------------------------------------------------------------------------------------------------------------
# Comparison
# ---------------------------------------------------------------------------------------------------------------

def estimate(tool: Path, model: Path, size: Size | None) -> tuple[dict | None, str]:
    command = [str(tool), str(model), "--format", "json"]
    if size is not None:
        channels = 1 if model.name.startswith("espcn") else 3
        command += ["--input", f"images=1x{channels}x{size[0]}x{size[1]}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip()
    return json.loads(done.stdout), done.stderr.strip()


TOTALS = ("macs", "arith", "special", "flops", "bytes_read", "bytes_written")


def worked(document: dict) -> list[tuple]:
    """Nodes that do work, each with the types and shapes of its outputs."""
    return [(node["op_type"], tuple((out["type"], tuple(out["shape"])) for out in node["outputs"]))
            for node in document["nodes"] if node.get("mark") not in ("folded", "host")]


def difference(asked: dict, exported: dict) -> str:
    """The differences between the two answers; empty if they agree."""
    texts = [f"{name} {asked['totals'][name]} for {exported['totals'][name]}" for name in TOTALS
             if asked["totals"][name] != exported["totals"][name]]
    left, right = worked(asked), worked(exported)
    if [kind for kind, _ in left] == [kind for kind, _ in right]:
        for a, b, node in zip(left, right, [n for n in asked["nodes"] if n.get("mark") not in ("folded", "host")]):
            if a != b:
                texts.append(f"{node['name']} ({a[0]}) {[s for _, s in a[1]]} for {[s for _, s in b[1]]}")
                break
    else:
        extra = collections.Counter(kind for kind, _ in left)
        extra.subtract(collections.Counter(kind for kind, _ in right))
        texts.append(f"operators differ: { {k: v for k, v in extra.items() if v} }")
    return "; ".join(texts)


def compare(rows: list[Row], folder: Path, tool: Path, verbose: bool) -> int:
    tasks = [(row, exporter, a, b) for row in rows for exporter in EXPORTERS for a in row.sizes for b in row.sizes
             if a != b and all((folder / f"{row.name}.{exporter}.{s[0]}x{s[1]}.onnx").exists() for s in (a, b))]

    def answer(task):
        row, exporter, a, b = task
        file = lambda size: folder / f"{row.name}.{exporter}.{size[0]}x{size[1]}.onnx"
        asked, message = estimate(tool, file(a), b)
        if asked is None:
            return "refused", message
        exported, problem = estimate(tool, file(b), None)
        if exported is None:
            return "wrong", problem
        found = difference(asked, exported)
        if found:
            return "wrong", found
        params = [document["totals"]["params"] for document in (asked, exported)]
        return ("equal", "") if params[0] == params[1] else ("equal but params", f"{params[0]} for {params[1]}")

    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(answer, tasks))
    by_row = collections.defaultdict(collections.Counter)
    messages = {}
    total = collections.Counter()
    for (row, exporter, a, b), (verdict, message) in zip(tasks, answers):
        by_row[row.name, exporter][verdict] += 1
        total[verdict] += 1
        if verdict != "equal" and (verbose or (row.name, exporter, verdict) not in messages):
            messages[row.name, exporter, verdict] = message
            print(f"{row.name} {exporter} {a[0]}x{a[1]} asked at {b[0]}x{b[1]}: {verdict}: {message[:600]}", flush=True)
    print()
    for (name, exporter), counts in by_row.items():
        print(f"{name:24} {exporter:12} " + "  ".join(f"{n} {v}" for v, n in sorted(counts.items())))
    print(f"\n{len(by_row)} models, {len(tasks)} requests: " + ", ".join(f"{n} {v}" for v, n in sorted(total.items())))
    return 1 if total["wrong"] else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("export", "compare"))
    parser.add_argument("folder", type=Path, nargs="?", metavar="DIR")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR")
    parser.add_argument("--estimate", type=Path, default=Path("build/dev/tools/onnx-estimate"))
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--exporter", choices=EXPORTERS)
    parser.add_argument("--verbose", action="store_true", help="every request that is not equal")
    arguments = parser.parse_args()
    rows = [row for row in ROWS if arguments.only is None or row.name in arguments.only]
    folder = arguments.output or arguments.folder
    if folder is None:
        parser.error("which folder?")
    if arguments.action == "export":
        return run_exports(rows, [arguments.exporter] if arguments.exporter else list(EXPORTERS), folder)
    return compare(rows, folder, arguments.estimate, arguments.verbose)


if __name__ == "__main__":
    sys.exit(main())

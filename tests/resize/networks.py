"""The networks that compare.py exports and compares, and the sizes of each.

Building one needs torch and, by row, torchvision, timm or transformers; reading the table needs none of them.
"""
from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "models"))

Size = tuple[int, int]


Inputs = dict[str, tuple[str, tuple[int, ...]]]     # name: element type and shape


def images(channels: int = 3) -> Callable[[Size], Inputs]:
    return lambda size: {"images": ("float32", (1, channels, *size))}


def tokens(*names: str) -> Callable[[Size], Inputs]:
    """Text: a size is (sequences, tokens)."""
    return lambda size: {name: ("int64", size) for name in names}


def samples(size: Size) -> Inputs:
    """Sound: a size is (recordings, samples)."""
    return {"samples": ("float32", size)}


@dataclass(frozen=True)
class Row:
    """A network that can be built for any of three sizes."""
    name: str
    build: Callable[[Size], object]
    sizes: tuple[Size, Size, Size]
    licence: str = "BSD-3-Clause"
    inputs: Callable[[Size], Inputs] = images()


# ---------------------------------------------------------------------------------------------------------------
# Networks
# ---------------------------------------------------------------------------------------------------------------

def tv(name: str, family: str = "", **options) -> Callable[[Size], object]:
    def build(size: Size):
        import builders
        backbone = {"weights_backbone": None} if family else {}
        return builders.torchvision(name, family, **backbone, **options)
    return build


def tv_sized(name: str, argument: str, **options) -> Callable[[Size], object]:
    def build(size: Size):
        import builders
        return builders.torchvision(name, **{argument: size[0] if argument == "image_size" else size}, **options)
    return build


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


def transformer(model: str, config: str, outputs: str = "last_hidden_state", encoder: bool = False,
                **options) -> Callable[[Size], object]:
    """A class of transformers with a small configuration; inputs in their order."""
    def build(size: Size):
        import builders
        import transformers
        from torch import nn

        class Outputs(nn.Module):
            def __init__(self):
                super().__init__()
                sizes = {name: value(size) if callable(value) else value for name, value in options.items()}
                whole = getattr(transformers, model)(getattr(transformers, config)(**sizes))
                self.model = whole.get_encoder() if encoder else whole

            def forward(self, *inputs):
                out = self.model(*inputs)
                return tuple(out[name] for name in outputs.split())
        return builders.randomised(Outputs())
    return build


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
ODD = ((225, 225), (331, 331), (299, 383))
LENGTHS = ((1, 128), (1, 384), (1, 77))             # of text, in tokens

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
    Row("espcn", super_resolution, COMMON, "Apache-2.0", images(1)),
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

# Networks of other families, added to see what the rules give on graphs that they were not written with.
ROWS += tuple(Row(name, timm(name, sized, **options), sizes, "Apache-2.0") for name, sized, sizes, options in (
    ("efficientvit_b0", False, COMMON, {}),
    ("edgenext_xx_small", False, COMMON, {}),
    ("convnextv2_atto", False, COMMON, {}),
    ("fastvit_t8", False, ((256, 256), (320, 320), (256, 384)), {}),
    ("twins_pcpvt_small", True, COMMON, {}),
    ("twins_svt_small", True, ((448, 448), (672, 672), (448, 672)), {}),
    ("coat_lite_tiny", True, COMMON, {}),
    ("levit_128s", True, COMMON, {}),
    ("xcit_nano_12_p16_224", True, COMMON, {}),
    ("beit_base_patch16_224", True, COMMON, {"depth": 2, "embed_dim": 192, "num_heads": 3}),
    ("eva02_tiny_patch14_224", True, ((224, 224), (336, 336), (280, 392)), {"depth": 2}),
    ("davit_tiny", False, ((448, 448), (672, 672), (448, 672)), {"depths": (1, 1, 2, 1)}),
    ("focalnet_tiny_srf", False, COMMON, {}),
    ("hiera_tiny_224", True, COMMON, {}),
    ("nest_tiny", True, ((224, 224), (448, 448), (336, 336)), {}),
    ("gcvit_xxtiny", True, ((448, 448), (672, 672), (448, 672)), {}),
    ("mvitv2_tiny", True, COMMON, {}),
    ("swin_tiny_patch4_window7_224", True, ((448, 448), (672, 672), (448, 672)), {}),
    ("swinv2_tiny_window8_256", True, ((512, 512), (768, 768), (512, 768)), {}),
    ("maxvit_rmlp_pico_rw_256", True, ((512, 512), (768, 768), (512, 768)), {}),
    ("coatnet_bn_0_rw_224", True, COMMON, {}),
    ("pit_ti_224", True, COMMON, {}),
    ("tiny_vit_5m_224", False, ((448, 448), (672, 672), (448, 672)), {}),
    ("visformer_tiny", True, COMMON, {}),
    ("crossvit_tiny_240", True, ((240, 240), (480, 480), (240, 480)), {}),
    ("mobilevitv2_050", False, ((256, 256), (384, 384), (256, 320)), {}),
    ("hrnet_w18_small", False, COMMON, {}),
    ("ghostnet_100", False, COMMON, {}),
    ("poolformerv2_s12", False, COMMON, {}),
    ("botnet26t_256", True, ((256, 256), (384, 384), (256, 320)), {}),
    ("mixer_s32_224", True, COMMON, {}),
    ("volo_d1_224", True, COMMON, {}),
    ("sequencer2d_s", True, COMMON, {"layers": (1, 1, 1, 1)}),
    ("vit_small_patch14_reg4_dinov2", True, ((224, 224), (336, 336), (280, 392)), {"depth": 2}),
    ("vit_medium_patch16_rope_reg1_gap_256", True, ((256, 256), (384, 384), (256, 320)), {"depth": 2}),
    ("nextvit_small", False, COMMON, {}),
    ("mobilenetv4_hybrid_medium", False, COMMON, {}),
    ("dla34", False, COMMON, {}),
    ("tresnet_m", False, COMMON, {}),
    ("rdnet_tiny", False, COMMON, {}),
))
ROWS += (
    Row("fcos", detector("fcos_resnet50_fpn"), COMMON),
    Row("ssd300", detector("ssd300_vgg16"), ((300, 300), (512, 512), (300, 400))),
    Row("deeplabv3_resnet50", tv("deeplabv3_resnet50", "segmentation"), COMMON),
    Row("googlenet", tv("googlenet", init_weights=False, aux_logits=False), COMMON),
    Row("mnasnet0_5", tv("mnasnet0_5"), COMMON),
    Row("bert", transformer("BertModel", "BertConfig", num_hidden_layers=2, hidden_size=128, num_attention_heads=2,
                            intermediate_size=256), LENGTHS, "Apache-2.0", tokens("input_ids", "attention_mask")),
    Row("distilbert", transformer("DistilBertModel", "DistilBertConfig", n_layers=2, dim=128, n_heads=2,
                                  hidden_dim=256), LENGTHS, "Apache-2.0", tokens("input_ids", "attention_mask")),
    Row("gpt2", transformer("GPT2Model", "GPT2Config", n_layer=2, n_embd=128, n_head=2, use_cache=False),
        LENGTHS, "Apache-2.0", tokens("input_ids")),
    Row("t5_encoder", transformer("T5EncoderModel", "T5Config", num_layers=2, d_model=128, num_heads=2, d_kv=64,
                                  d_ff=256), LENGTHS, "Apache-2.0", tokens("input_ids")),
    Row("llama", transformer("LlamaModel", "LlamaConfig", num_hidden_layers=2, hidden_size=128, num_attention_heads=4,
                             num_key_value_heads=2, intermediate_size=256, vocab_size=1000, use_cache=False),
        LENGTHS, "Apache-2.0", tokens("input_ids")),
    Row("wav2vec2", transformer("Wav2Vec2Model", "Wav2Vec2Config", num_hidden_layers=2, hidden_size=128,
                                num_attention_heads=2, intermediate_size=256),
        ((1, 16000), (1, 32000), (1, 24000)), "Apache-2.0", samples),
    Row("dpt", transformer("DPTForDepthEstimation", "DPTConfig", "predicted_depth", num_hidden_layers=4,
                           hidden_size=128, num_attention_heads=2, intermediate_size=256, backbone_out_indices=[0, 1, 2, 3],
                           neck_hidden_sizes=[32, 64, 128, 128], fusion_hidden_size=64, image_size=lambda size: size[0]),
        ((384, 384), (512, 512), (256, 256)), "Apache-2.0"),
    Row("yolos", transformer("YolosForObjectDetection", "YolosConfig", "logits pred_boxes", num_hidden_layers=2,
                             hidden_size=128, num_attention_heads=2, intermediate_size=256, image_size=list),
        ((512, 512), (768, 768), (512, 864)), "Apache-2.0"),
    Row("glpn", transformer("GLPNForDepthEstimation", "GLPNConfig", "predicted_depth"), COMMON, "Apache-2.0"),
    Row("swin2sr", transformer("Swin2SRForImageSuperResolution", "Swin2SRConfig", "reconstruction", depths=[2, 2],
                               num_heads=[2, 2], embed_dim=32), ((64, 64), (96, 96), (64, 128)), "Apache-2.0"),
    Row("mask2former_swin", transformer("MaskFormerSwinModel", "MaskFormerSwinConfig", depths=[2, 2],
                                        num_heads=[2, 4], embed_dim=32), ((224, 224), (336, 336), (224, 448)),
        "Apache-2.0"),
    Row("cvt", transformer("CvtModel", "CvtConfig"), COMMON, "Apache-2.0"),
)

# Sizes that no stride divides: frameworks round and pad.
ROWS += (
    Row("resnet18_odd", tv("resnet18"), ODD),
    Row("mobilenet_v3_small_odd", tv("mobilenet_v3_small"), ODD),
    Row("resnet18_fpn_odd", fpn, ODD),
    Row("unet_interpolated_odd", unet_interpolated, ODD, "Apache-2.0"),
    Row("lraspp_mobilenet_odd", tv("lraspp_mobilenet_v3_large", "segmentation"), ODD),
    Row("convnext_atto_odd", timm("convnext_atto"), ODD, "Apache-2.0"),
    Row("pvt_v2_b0_odd", timm("pvt_v2_b0"), ODD, "Apache-2.0"),
    Row("segformer_odd", segformer, ODD, "Apache-2.0"),
    Row("mobilevit_xxs_odd", timm("mobilevit_xxs"), ODD, "Apache-2.0"),
    Row("small_swin_odd", small_swin, ((120, 120), (136, 136), (152, 200))),
    Row("swin_tiny_odd", timm("swin_tiny_patch4_window7_224", True), ((256, 256), (288, 288), (256, 320)),
        "Apache-2.0"),
)

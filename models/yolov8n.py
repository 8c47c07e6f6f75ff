"""YOLOv8n written from its published architecture: the detector with depth 0.33, width 0.25 and 80 classes.

Backbone of strided 3x3 convolutions and C2f blocks with an SPPF at the end; a neck that goes up and down again over
strides 8, 16, 32; a decoupled, anchor-free head whose box sides are expectations over 16 bins. A convolution is
Conv + BatchNorm + SiLU throughout; the exporter folds the BatchNorm. The output is [batch, 4 + 80, boxes]:
centre, width and height in pixels, then class scores.
"""
from __future__ import annotations

import torch
from torch import nn

CLASSES = 80
BINS = 16                    # of the distribution a box side is the mean of
STRIDES = (8, 16, 32)


class ConvBlock(nn.Module):
    def __init__(self, c_in: int, c_out: int, kernel: int = 1, stride: int = 1):
        super().__init__()
        self.conv = nn.Conv2d(c_in, c_out, kernel, stride, kernel // 2, bias=False)
        self.bn = nn.BatchNorm2d(c_out, eps=1e-3)
        self.act = nn.SiLU()

    def forward(self, x):
        return self.act(self.bn(self.conv(x)))


class Bottleneck(nn.Module):
    def __init__(self, channels: int, shortcut: bool):
        super().__init__()
        self.cv1, self.cv2 = ConvBlock(channels, channels, 3), ConvBlock(channels, channels, 3)
        self.shortcut = shortcut

    def forward(self, x):
        y = self.cv2(self.cv1(x))
        return x + y if self.shortcut else y


class C2f(nn.Module):
    """Half of the channels pass n bottlenecks; every intermediate result joins the output."""

    def __init__(self, c_in: int, c_out: int, n: int, shortcut: bool = False):
        super().__init__()
        self.half = c_out // 2
        self.cv1 = ConvBlock(c_in, 2 * self.half)
        self.cv2 = ConvBlock((2 + n) * self.half, c_out)
        self.m = nn.ModuleList(Bottleneck(self.half, shortcut) for _ in range(n))

    def forward(self, x):
        parts = list(self.cv1(x).split((self.half, self.half), 1))
        for block in self.m:
            parts.append(block(parts[-1]))
        return self.cv2(torch.cat(parts, 1))


class SPPF(nn.Module):
    """Three 5x5 max pools in a row stand for windows of 5, 9 and 13."""

    def __init__(self, channels: int):
        super().__init__()
        self.cv1, self.cv2 = ConvBlock(channels, channels // 2), ConvBlock(2 * channels, channels)
        self.pool = nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        parts = [self.cv1(x)]
        for _ in range(3):
            parts.append(self.pool(parts[-1]))
        return self.cv2(torch.cat(parts, 1))


class Detect(nn.Module):
    def __init__(self, channels: tuple[int, ...], size: int):
        super().__init__()
        box = max(16, channels[0] // 4, 4 * BINS)
        score = max(channels[0], min(CLASSES, 100))
        self.box = nn.ModuleList(nn.Sequential(
            ConvBlock(c, box, 3), ConvBlock(box, box, 3), nn.Conv2d(box, 4 * BINS, 1)) for c in channels)
        self.score = nn.ModuleList(nn.Sequential(
            ConvBlock(c, score, 3), ConvBlock(score, score, 3), nn.Conv2d(score, CLASSES, 1)) for c in channels)
        self.expectation = nn.Conv2d(BINS, 1, 1, bias=False)      # weights 0..15: the mean of the distribution
        self.register_buffer("anchors", anchor_points(size).unsqueeze(0))
        self.register_buffer("strides", anchor_strides(size).unsqueeze(0))

    def forward(self, features):
        batch = features[0].shape[0]
        levels = [torch.cat((box(x), score(x)), 1) for x, box, score in zip(features, self.box, self.score)]
        every = torch.cat([level.view(batch, 4 * BINS + CLASSES, -1) for level in levels], 2)
        boxes, scores = every.split((4 * BINS, CLASSES), 1)
        sides = boxes.view(batch, 4, BINS, -1).transpose(2, 1).softmax(1)
        sides = self.expectation(sides).view(batch, 4, -1)
        left_top, right_bottom = sides.split((2, 2), 1)
        low, high = self.anchors - left_top, self.anchors + right_bottom
        centre, extent = (low + high) / 2, high - low
        return torch.cat((torch.cat((centre, extent), 1) * self.strides, scores.sigmoid()), 1)


def anchor_points(size: int) -> torch.Tensor:
    """[2, boxes]: cell centres of the three grids, in cells."""
    grids = []
    for stride in STRIDES:
        line = torch.arange(size // stride) + 0.5
        y, x = torch.meshgrid(line, line, indexing="ij")
        grids.append(torch.stack((x.flatten(), y.flatten())))
    return torch.cat(grids, 1)


def anchor_strides(size: int) -> torch.Tensor:
    """[1, boxes]: pixels a cell."""
    return torch.cat([torch.full((1, (size // stride) ** 2), float(stride)) for stride in STRIDES], 1)


class YoloV8n(nn.Module):
    def __init__(self, size: int = 640):
        super().__init__()
        self.stem = nn.Sequential(ConvBlock(3, 16, 3, 2), ConvBlock(16, 32, 3, 2), C2f(32, 32, 1, True))
        self.stage3 = nn.Sequential(ConvBlock(32, 64, 3, 2), C2f(64, 64, 2, True))
        self.stage4 = nn.Sequential(ConvBlock(64, 128, 3, 2), C2f(128, 128, 2, True))
        self.stage5 = nn.Sequential(ConvBlock(128, 256, 3, 2), C2f(256, 256, 1, True), SPPF(256))
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.up4, self.up3 = C2f(256 + 128, 128, 1), C2f(128 + 64, 64, 1)
        self.down3, self.out4 = ConvBlock(64, 64, 3, 2), C2f(64 + 128, 128, 1)
        self.down4, self.out5 = ConvBlock(128, 128, 3, 2), C2f(128 + 256, 256, 1)
        self.detect = Detect((64, 128, 256), size)

    def forward(self, images):
        p3 = self.stage3(self.stem(images))
        p4 = self.stage4(p3)
        p5 = self.stage5(p4)
        n4 = self.up4(torch.cat((self.up(p5), p4), 1))
        n3 = self.up3(torch.cat((self.up(n4), p3), 1))
        n4 = self.out4(torch.cat((self.down3(n3), n4), 1))
        n5 = self.out5(torch.cat((self.down4(n4), p5), 1))
        return self.detect((n3, n4, n5))

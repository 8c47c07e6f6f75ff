"""Small networks in plain PyTorch: the single layers the Pagoda paper's repository exports, and one network each for
operators that no image classifier or transformer has (transposed and 3-D convolution, bidirectional recurrence).
"""
from __future__ import annotations

import torch
from torch import nn


def pointwise_conv(c_in: int, c_out: int) -> nn.Module:
    return nn.Conv2d(c_in, c_out, 1, bias=False)


class MatMulAdd(nn.Module):
    """A linear layer spelled as a product and a sum, so that it exports as MatMul and Add, not as Gemm."""

    def __init__(self, c_in: int, c_out: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(c_out, c_in))
        self.bias = nn.Parameter(torch.empty(c_out))

    def forward(self, x):
        return torch.matmul(x, self.weight.T) + self.bias


def fully_connected(c_in: int = 256, hidden: int = 512, c_out: int = 10) -> nn.Module:
    return nn.Sequential(nn.Linear(c_in, hidden), nn.ReLU(), nn.Linear(hidden, c_in), nn.ReLU(), nn.Linear(c_in, c_out))


class UNet(nn.Module):
    """Two levels down and up again; the way up is transposed convolutions, joined with the way down."""

    def __init__(self, channels: int = 16, classes: int = 4):
        super().__init__()
        self.first, self.second = self.pair(3, channels), self.pair(channels, 2 * channels)
        self.bottom = self.pair(2 * channels, 4 * channels)
        self.up2 = nn.ConvTranspose2d(4 * channels, 2 * channels, 2, 2)
        self.join2 = self.pair(4 * channels, 2 * channels)
        self.up1 = nn.ConvTranspose2d(2 * channels, channels, 2, 2)
        self.join1 = self.pair(2 * channels, channels)
        self.head = nn.Conv2d(channels, classes, 1)
        self.pool = nn.MaxPool2d(2)

    @staticmethod
    def pair(c_in: int, c_out: int) -> nn.Module:
        return nn.Sequential(nn.Conv2d(c_in, c_out, 3, padding=1, bias=False), nn.BatchNorm2d(c_out), nn.ReLU(),
                             nn.Conv2d(c_out, c_out, 3, padding=1, bias=False), nn.BatchNorm2d(c_out), nn.ReLU())

    def forward(self, x):
        one = self.first(x)
        two = self.second(self.pool(one))
        three = self.bottom(self.pool(two))
        two = self.join2(torch.cat((self.up2(three), two), 1))
        one = self.join1(torch.cat((self.up1(two), one), 1))
        return self.head(one)


class Recurrent(nn.Module):
    """A bidirectional LSTM, then a GRU, then a plain RNN; the input is [sequence, batch, features]."""

    def __init__(self, features: int = 40, hidden: int = 64):
        super().__init__()
        self.lstm = nn.LSTM(features, hidden, bidirectional=True)
        self.gru = nn.GRU(2 * hidden, hidden)
        self.rnn = nn.RNN(hidden, hidden)

    def forward(self, x):
        x, _ = self.lstm(x)
        x, _ = self.gru(x)
        return self.rnn(x)[0]

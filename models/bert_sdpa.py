"""BERT in plain PyTorch, shaped like the transformers encoder of the years before its attention refactoring (4.4x):
fused scaled-dot-product attention, an additive mask made from a 0/1 mask, segment ids expanded from a buffer.

It exists so that a graph with the operators of that era can be exported without that library. One thing is
smaller than it was there: the mask is [batch, 1, 1, sequence] and broadcasts over the query positions, instead of
being expanded to [batch, 1, sequence, sequence] first.
"""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F


@dataclass(frozen=True)
class Config:
    layers: int
    hidden: int
    heads: int
    intermediate: int
    vocabulary: int = 30522
    positions: int = 512
    segments: int = 2
    epsilon: float = 1e-12


BERT_LARGE = Config(layers=24, hidden=1024, heads=16, intermediate=4096)


class Embeddings(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.word = nn.Embedding(config.vocabulary, config.hidden)
        self.position = nn.Embedding(config.positions, config.hidden)
        self.segment = nn.Embedding(config.segments, config.hidden)
        self.norm = nn.LayerNorm(config.hidden, eps=config.epsilon)
        self.register_buffer("position_ids", torch.arange(config.positions).unsqueeze(0))
        self.register_buffer("segment_ids", torch.zeros(1, config.positions, dtype=torch.int64))

    def forward(self, ids):
        batch, sequence = ids.shape
        segments = self.segment_ids[:, :sequence].expand(batch, sequence)
        x = self.word(ids) + self.segment(segments)
        return self.norm(x + self.position(self.position_ids[:, :sequence]))


class SelfAttention(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.heads, self.size = config.heads, config.hidden // config.heads
        self.query = nn.Linear(config.hidden, config.hidden)
        self.key = nn.Linear(config.hidden, config.hidden)
        self.value = nn.Linear(config.hidden, config.hidden)

    def forward(self, x, mask):
        batch, sequence, hidden = x.shape
        q, k, v = (linear(x).view(batch, sequence, self.heads, self.size).transpose(1, 2)
                   for linear in (self.query, self.key, self.value))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return y.transpose(1, 2).reshape(batch, sequence, hidden)


class Layer(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.attention = SelfAttention(config)
        self.output = nn.Linear(config.hidden, config.hidden)
        self.attention_norm = nn.LayerNorm(config.hidden, eps=config.epsilon)
        self.up = nn.Linear(config.hidden, config.intermediate)
        self.down = nn.Linear(config.intermediate, config.hidden)
        self.norm = nn.LayerNorm(config.hidden, eps=config.epsilon)

    def forward(self, x, mask):
        x = self.attention_norm(self.output(self.attention(x, mask)) + x)
        return self.norm(self.down(F.gelu(self.up(x))) + x)


class Bert(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.embeddings = Embeddings(config)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.pooler = nn.Linear(config.hidden, config.hidden)

    def forward(self, input_ids, attention_mask):
        batch, sequence = input_ids.shape
        x = self.embeddings(input_ids)
        keep = attention_mask[:, None, None, :].expand(batch, 1, 1, sequence).to(x.dtype)
        dropped = 1.0 - keep
        mask = dropped.masked_fill(dropped.to(torch.bool), torch.finfo(x.dtype).min)
        for layer in self.layers:
            x = layer(x, mask)
        return x, torch.tanh(self.pooler(x[:, 0]))

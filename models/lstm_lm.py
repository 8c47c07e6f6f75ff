"""Word-level language model: embedding, two LSTM layers of 256, a projection onto 29,423 words tied to the embedding.

`positions` is a fixed number of leading positions whose words are predicted; None predicts at every position.
"""
from __future__ import annotations

import torch
from torch import nn

VOCABULARY, HIDDEN, LAYERS = 29423, 256, 2


class LstmLanguageModel(nn.Module):
    def __init__(self, positions: int | None = None):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, HIDDEN)
        self.lstm = nn.LSTM(HIDDEN, HIDDEN, num_layers=LAYERS, batch_first=True)
        self.projection = nn.Linear(HIDDEN, VOCABULARY)
        self.projection.weight = self.embedding.weight
        self.register_buffer("positions", None if positions is None else torch.arange(positions))

    def forward(self, words, hidden, cell):
        y, (hidden, cell) = self.lstm(self.embedding(words), (hidden, cell))
        if self.positions is not None:
            y = y.index_select(1, self.positions)
        return self.projection(y), hidden, cell

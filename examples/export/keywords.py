# SPDX-License-Identifier: Apache-2.0
"""A transformer that hears keywords: one second of sound as 98 frames of 40 features -> 14 classes."""
import numpy as np
import torch
from torch import nn

FRAMES, FEATURES, DIM, HEADS, CLASSES = 98, 40, 64, 4, 14


class Keywords(nn.Module):

    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(FEATURES, DIM)
        self.positions = nn.Parameter(torch.randn(1, FRAMES, DIM) / 8)
        layer = nn.TransformerEncoderLayer(DIM, HEADS, 2 * DIM, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.classes = nn.Linear(DIM, CLASSES)

    def forward(self, frames):
        return self.classes(self.layers(self.embed(frames) + self.positions).mean(dim=1))


def model():
    """The exporter calls it. A trained model would be loaded here: examples/keywords/train.py trains such a one."""
    torch.manual_seed(1)
    return Keywords().eval()


if __name__ == "__main__":  # writes inputs as in use, here random ones: their numbers decide the scales of int8
    np.savez("build/frames.npz", np.random.default_rng(1).standard_normal((16, 1, FRAMES, FEATURES), np.float32))

# SPDX-License-Identifier: Apache-2.0
"""Two models to export. Their weights are random, from a seed: load those of your own training by load_state_dict.

Run as a program with the name of a file, it writes inputs of the keyword model, from which the scales of int8 are made.
"""
import sys

import numpy as np
import torch
from torch import nn

FRAMES, FEATURES, CLASSES = 49, 40, 13


def layers(dim, count):
    layer = nn.TransformerEncoderLayer(dim, 4, 2 * dim, activation="gelu", batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, count, enable_nested_tensor=False)


class Keywords(nn.Module):
    """One second of sound, 49 frames of 40 features, becomes scores of twelve words and of "none"."""

    def __init__(self, dim=64):
        super().__init__()
        self.embed = nn.Linear(FEATURES, dim)
        self.places = nn.Parameter(0.1 * torch.randn(1, FRAMES, dim))
        self.layers = layers(dim, 3)
        self.norm = nn.LayerNorm(dim)
        self.scores = nn.Linear(dim, CLASSES)

    def forward(self, frames):
        tokens = self.layers(self.embed(frames) + self.places)
        return self.scores(self.norm(tokens).mean(dim=1))


class VisionTransformer(nn.Module):
    """An image of 32 x 32 pixels in three colours becomes scores of ten classes. A token is a patch of 4 x 4 pixels."""

    def __init__(self, dim=64, patch=4):
        super().__init__()
        self.patches = nn.Conv2d(3, dim, patch, stride=patch)
        self.first = nn.Parameter(0.1 * torch.randn(1, 1, dim))
        self.places = nn.Parameter(0.1 * torch.randn(1, (32 // patch)**2 + 1, dim))
        self.layers = layers(dim, 2)
        self.norm = nn.LayerNorm(dim)
        self.scores = nn.Linear(dim, 10)

    def forward(self, image):
        tokens = self.patches(image).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.first.expand(image.shape[0], -1, -1), tokens], dim=1) + self.places
        return self.scores(self.norm(self.layers(tokens))[:, 0])


def keywords():
    torch.manual_seed(1)
    return Keywords().eval()


def vit():
    torch.manual_seed(2)
    return VisionTransformer().eval()


if __name__ == "__main__":
    random = np.random.default_rng(3)
    np.savez(sys.argv[1], frames=random.standard_normal((16, 1, FRAMES, FEATURES), np.float32))

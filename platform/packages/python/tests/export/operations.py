# SPDX-License-Identifier: Apache-2.0
"""Operations that the exporter serves: some functions as one module, with an output each."""
import torch
from torch import nn
from torch.nn import functional as f


class Functions(nn.Module):
    """functions: of the layer's output, and of the inputs. dim: 0 for no layer."""

    def __init__(self, functions, dim):
        super().__init__()
        self.functions, self.layer = functions, nn.Linear(dim, dim) if dim else nn.Identity()

    def forward(self, x, *others):
        x = self.layer(x)
        return tuple(function(x, *others) for function in self.functions)


ELEMENTS = [
    lambda x, y: torch.exp(x), lambda x, y: torch.log(x.abs() + 1), lambda x, y: torch.sqrt(x.abs()) + torch.rsqrt(y * y + 1),
    lambda x, y: torch.sin(x) * torch.cos(y), lambda x, y: torch.erf(x), lambda x, y: x.floor() + y.ceil() + (3 * x).round(),
    lambda x, y: x.sign() / (1 + y * y), lambda x, y: x.abs()**2.5 + y**-1,
    lambda x, y: torch.maximum(x, y) + torch.minimum(x, y * y),
    lambda x, y: x.clamp(-0.5, 0.7) + y.clamp(min=0.1) + f.hardtanh(x), lambda x, y: f.leaky_relu(x, 0.3) + f.elu(y, 0.7),
    lambda x, y: f.selu(x) + f.celu(y, 0.6), lambda x, y: f.softplus(x, 2.0, 1.0) + f.mish(y),
    lambda x, y: f.softsign(x) + f.hardsigmoid(y), lambda x, y: f.logsigmoid(x), lambda x, y: f.glu(x, -1),
    lambda x, y: f.prelu(x, torch.tensor([0.2])), lambda x, y: torch.where(x > 0.3, x, -1.0),
    lambda x, y: ((x >= y) & (x < 1)).float() + (x <= 0).logical_xor(y != 0), lambda x, y: torch.expm1(x) + torch.log1p(y * y),
    lambda x, y: x.masked_fill(y > 0.5, -1e9), lambda x, y: (x > y).int() * 2 - 5 + x, lambda x, y: x.reciprocal() * x.square(),
    lambda x, y: x.isnan() + x, lambda x, y: torch.stack([x, x * y]).max(0)[0],
]
ALONG = [
    lambda x: x.amax((0, 2)), lambda x: x.amin(1, keepdim=True), lambda x: x.max(1)[0], lambda x: x.sum((0, 1)),
    lambda x: x.sum(), lambda x: x.var(-1), lambda x: x.std((1, 2), unbiased=False), lambda x: x.norm(dim=1),
    lambda x: x.norm(1, -1) + x.norm(float("inf"), -1), lambda x: x.cumsum(1),
    lambda x: (4 * x).cumsum(-1, dtype=torch.int64).float(), lambda x: x.prod(1),
    lambda x: (4 * x).prod(1, dtype=torch.int64).float(), lambda x: x.logsumexp(-1), lambda x: x.log_softmax(1),
    lambda x: (x > 2).any(-1).float(), lambda x: (x > -1).all(1).float(), lambda x: (x > 0).sum(1) / 2,
    lambda x: (x > 0).int().cumsum(1).float(), lambda x: f.normalize(x, dim=-1), lambda x: f.group_norm(x, 3),
    lambda x: f.layer_norm(x, (6, 8)), lambda x: x.mean((0, 2)), lambda x: x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5),
    lambda x: f.instance_norm(x), lambda x: x.min(), lambda x: torch.softmax(x.masked_fill(x < -1, float("-inf")), -1),
]
LOW, INFINITY = torch.finfo(torch.float32).min, float("inf")
SOME = torch.tensor([True, False, False, True])


def added(m, low=LOW):
    return torch.where(m, 0.0, low)


def above(x):
    return x > x.mean(-1, keepdim=True)  # some of each row


MASKS = [  # of scores and of a mask that hides all of a row; PyTorch answers NaN where -inf hides all
    lambda x, m: torch.softmax(x.repeat(1, 2) + added(m).repeat(1, 2), -1), lambda x, m: torch.softmax(x + added(m) * 0.5, -1),
    lambda x, m: torch.softmax(torch.cat([added(m), added(m)], -1), -1), lambda x, m: x + added(m) / LOW,
    lambda x, m: x * added(m).bool(), lambda x, m: torch.softmax(added(m).masked_fill(above(x), -INFINITY), -1),
    lambda x, m: torch.softmax(x + (added(m) + added(SOME, -INFINITY)), -1),
    lambda x, m: torch.softmax(x + (added(m) + added(above(x))), -1),
    lambda x, m: torch.softmax(x + (added(m | SOME, -INFINITY) + added(SOME, -INFINITY)), -1),
    lambda x, m: torch.softmax(x.masked_fill(~m, LOW).masked_fill(SOME, LOW), -1),
    lambda x, m: torch.softmax((x / 0).where(SOME, x).masked_fill(SOME, -INFINITY), -1),
]
ODD = torch.tensor([[float("nan"), INFINITY, -INFINITY, -0.0, 1e30, -1e30, 2.7, -2.7], [-INFINITY] * 8])
ODD_NUMBERS = [  # whose answers are finite
    lambda x: x.sign(), lambda x: torch.where(x.isnan(), 0.0, (1 / x.abs()).clamp(-5, 5)),
    lambda x: (x.int() < -2**30).float() + (x.int() == 2).float(), lambda x: (x.int() * 1000000007 - 2000000011 > 0).float(),
    lambda x: (x.int().abs() == 2).float(), lambda x: torch.logsumexp(x[1:], -1).exp(),
    lambda x: torch.logsumexp(x[:, 1:3], -1).clamp(-5, 5),
    lambda x: torch.softmax(torch.where(ODD[0].abs() < 9, x[:1], -INFINITY), -1),
]
SHAPES = [
    lambda x: torch.stack([x, 2 * x], 1), lambda x: torch.stack([x, x * x], -1), lambda x: f.pad(x, (1, 2, 0, 3)),
    lambda x: f.pad(x, (-1, 2), value=0.5), lambda x: f.pad(x, (2, 1), mode="reflect"),
    lambda x: f.pad(x, (2, 1), mode="replicate"), lambda x: f.pad(x, (2, 1), mode="circular"), lambda x: x.roll((2, -3), (1, 2)),
    lambda x: x.flip(1, 2), lambda x: x.repeat(2, 1, 3), lambda x: x.unfold(1, 3, 2), lambda x: x.unfold(2, 4, 1).sum(-1),
    lambda x: x[:, [3, 0, 5, 5]], lambda x: x[..., torch.tensor([[7, 1, 2], [0, 4, 3]])],
    lambda x: x.gather(2, torch.arange(36).reshape(2, 6, 3) % 7), lambda x: torch.einsum("bij,bkj->bik", x, x),
    lambda x: torch.einsum("bij,jk->kbi", x, torch.ones(8, 3)), lambda x: x.tile(1, 2),
    lambda x: torch.cat(x.chunk(4, -1)[::-1], 1), lambda x: x.index_select(0, torch.tensor([1, 0])),
    lambda x: x.repeat_interleave(2, 1), lambda x: f.pixel_shuffle(x.reshape(1, 4, 6, 4), 2),
    lambda x: f.unfold(x.reshape(1, 2, 6, 8), (2, 3)), lambda x: x[:, ::2].movedim(0, 1),
    lambda x: f.pixel_unshuffle(x.reshape(1, 4, 6, 4), 2), lambda x: x.expand(3, 2, 6, 8) + x[:, :1],
    lambda x: x[torch.tensor([0, 1, 1]), torch.tensor([5, 2, 0])], lambda x: torch.cat([x, torch.zeros(2, 1, 8)], 1),
]
WINDOWS = [  # of channels, 12, and sides
    nn.Conv2d(12, 8, 3, padding=1), nn.Conv2d(12, 8, (3, 2), (2, 1), (2, 1), bias=False), nn.Conv2d(12, 8, 3, 1, 2, dilation=2),
    nn.Conv2d(12, 8, 3, padding="same"), nn.Conv2d(12, 8, 2, 3), nn.Conv2d(12, 24, 3, groups=3, padding=1),
    nn.Conv2d(12, 12, 3, 2, 1, groups=12), nn.Conv2d(12, 12, (5, 9), 1, (2, 4), groups=12),
    nn.Conv2d(12, 12, 3, padding=2, dilation=2, groups=12), nn.Conv2d(12, 8, 4, 4),
    nn.Sequential(nn.BatchNorm2d(12), nn.Conv2d(12, 8, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.BatchNorm2d(8)),
    nn.Sequential(nn.Conv2d(12, 12, 3, groups=12), nn.BatchNorm2d(12), nn.SiLU()), nn.MaxPool2d(3, 2, 1), nn.AvgPool2d(2),
    nn.AvgPool2d(3, 1, 1), nn.AdaptiveAvgPool2d((5, 1)),
    nn.Sequential(nn.Conv2d(12, 8, 3, padding=1), nn.GELU(), nn.MaxPool2d(2)),
]
SIGNALS = [
    nn.Conv1d(12, 8, 3, padding=1), nn.Conv1d(12, 8, 5, 2, 3), nn.Conv1d(12, 12, 31, padding=15, groups=12),
    nn.Conv1d(12, 12, 4, groups=12), nn.Conv1d(12, 6, 7, groups=3), nn.Conv1d(12, 12, 3, 2, 4, 3, groups=12), nn.MaxPool1d(2),
    nn.AvgPool1d(4, 2), nn.Sequential(nn.BatchNorm1d(12), nn.Conv1d(12, 8, 3, padding=1), nn.BatchNorm1d(8)),
]


class Windows(nn.Module):

    def __init__(self, layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        for layer in self.modules():
            if isinstance(layer, nn.modules.batchnorm._BatchNorm):
                nn.init.normal_(layer.running_mean)
                nn.init.uniform_(layer.running_var, 0.5, 2)

    def forward(self, x):
        return tuple(layer(x) for layer in self.layers)


MODELS = {
    "functions of elements": lambda: (Functions(ELEMENTS, 8), (torch.randn(2, 6, 8), torch.randn(6, 8))),
    "functions along dimensions": lambda: (Functions(ALONG, 8), (torch.randn(2, 6, 8),)),
    "masks": lambda: (Functions(MASKS, 0), (torch.randn(3, 4), torch.tensor([[False] * 4, [*~SOME], [True] * 4]))),
    "odd numbers": lambda: (Functions(ODD_NUMBERS, 0), (ODD,)),
    "shapes": lambda: (Functions(SHAPES, 8), (torch.randn(2, 6, 8),)),
    "windows": lambda: (Windows(WINDOWS), (torch.randn(2, 12, 10, 9),)),
    "windows of signals": lambda: (Windows(SIGNALS), (torch.randn(2, 12, 34),)),
}

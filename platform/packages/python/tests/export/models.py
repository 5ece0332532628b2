# SPDX-License-Identifier: Apache-2.0
"""Models for the tests of the exporter: name -> (module, inputs). Numbers are random, from a seed; nothing is downloaded."""
import torch
from torch import nn


class Call(nn.Module):
    """A module whose arguments, but for the inputs, are given once, and of whose results one is taken."""

    def __init__(self, module, take=None, **named):
        super().__init__()
        self.module, self.take, self.named = module, take, named

    def forward(self, *inputs):
        result = self.module(*inputs, **self.named)
        return result if self.take is None else result[self.take]


def encoder(layers=2, **options):
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, **options)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False), (torch.randn(1, 20, 64),)


def decoder():
    layer = nn.TransformerDecoderLayer(48, 4, 96, batch_first=True)
    causal = nn.Transformer.generate_square_subsequent_mask(12)
    return Call(nn.TransformerDecoder(layer, 2), tgt_mask=causal, tgt_is_causal=True), (torch.randn(1, 12, 48), torch.randn(1, 9, 48))


class Attention(nn.Module):

    def __init__(self, masks=None, other_keys=False, **options):
        super().__init__()
        self.attention = nn.MultiheadAttention(32, 4, **options)
        self.masks, self.other_keys = masks or {}, other_keys

    def forward(self, query, key=None, value=None):
        return self.attention(query, query if key is None else key, query if value is None else value, need_weights=False, **self.masks)[0]


def attention(*shapes, masks=None, **options):
    return Attention(masks, **options), tuple(torch.randn(shape) for shape in shapes)


def hugging_face(kind, attention="sdpa", **options):
    """A model of transformers, at random from its configuration: 2 layers of 64 elements."""
    import transformers
    config = getattr(transformers, f"{kind}Config")(**options)
    config._attn_implementation = attention
    return getattr(transformers, f"{kind}Model")(config)


def tokens(count=16):
    return (torch.randint(0, 100, (1, count)),)


def causal_model(kind, **options):
    sizes = dict(vocab_size=100, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
                 num_key_value_heads=2, max_position_embeddings=64)
    return Call(hugging_face(kind, **{**sizes, **options}), take="last_hidden_state", use_cache=False), tokens()


def torchvision_vit():
    """vit_b_16 at a tenth of its size."""
    from torchvision.models.vision_transformer import VisionTransformer
    model = VisionTransformer(image_size=64, patch_size=16, num_layers=2, num_heads=4, hidden_dim=76, mlp_dim=304, num_classes=10)
    nn.init.normal_(model.heads.head.weight)  # zeros at first
    return model, (torch.randn(1, 3, 64, 64),)


class Keywords(nn.Module):
    """The keyword transformer of examples/keywords in shape: 98 frames of 40 features, the mean of the last layer."""

    def __init__(self, frames=98, features=40, dim=64, classes=14):
        super().__init__()
        self.embed = nn.Linear(features, dim)
        self.positions = nn.Parameter(torch.randn(1, frames, dim) * 0.1)
        layer = nn.TransformerEncoderLayer(dim, 4, 2 * dim, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.classes = nn.Linear(dim, classes)

    def forward(self, frames):
        return self.classes(self.layers(self.embed(frames) + self.positions).mean(dim=1))


class Padded(nn.Module):
    """An encoder of layers, with a mask of padding that each run gives."""

    def __init__(self, causal=None, **options):
        super().__init__()
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, **options)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.causal = causal

    def forward(self, x, padding):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1]) if self.causal else None
        return self.layers(x, mask, padding, is_causal=self.causal)


class Shown(nn.Module):
    """Attention written out, with a mask that each run gives: True shows a key."""

    def __init__(self, form):
        super().__init__()
        self.form, self.qkv, self.out = form, nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x, shown):
        batch, count, _ = x.shape
        q, k, v = (one.reshape(batch, count, 4, 8).transpose(1, 2) for one in self.qkv(x).chunk(3, -1))
        shown, scores = shown[:, None, None, :], q @ k.transpose(-1, -2) / 8**0.5
        if self.form == "where":
            scores = scores + torch.where(shown, 0.0, float("-inf"))
        elif self.form == "two":
            causal = torch.ones(count, count).tril().bool()
            low = torch.finfo(torch.float32).min
            scores = scores + (torch.where(shown, 0.0, low) + torch.where(causal, 0.0, float("-inf")))
        elif self.form == "causal":
            causal = torch.ones(count, count).tril().bool()
            scores = scores.masked_fill(~causal, torch.finfo(torch.float32).min).masked_fill(~shown, float("-inf"))
        elif self.form == "low":
            scores = scores + (1 - shown.float()) * torch.finfo(torch.float32).min
        else:
            scores = scores.masked_fill(~shown, float("-inf") if self.form == "fill" else torch.finfo(torch.float32).min)
        return self.out((torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(batch, count, 32))


class Several(nn.Module):
    """Two inputs, two outputs."""

    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(16, 32), nn.Linear(24, 32)
        self.norm, self.head = nn.LayerNorm(32), nn.Linear(32, 5)

    def forward(self, left, right):
        x = self.norm(torch.relu(self.left(left)) + self.right(right))
        return {"tokens": self.head(x), "mean": x.mean(dim=1)}


class Windows(nn.Module):
    """An encoder layer for windows of a convolution's output, [1, 16, 8, 8]. view, order: what reorders it to
    [batch, tokens, 16]."""

    def __init__(self, view, order, **options):
        super().__init__()
        self.view, self.order, self.embed = view, order, nn.Conv2d(3, 16, 1)
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, **options)

    def forward(self, x):
        return self.layer(self.embed(x).view(self.view).permute(self.order).reshape(4, 16, 16))


class Numbers(nn.Module):
    """Sums and products with numbers of Python, with constants of whole numbers, and of matrices."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        x = self.first(x)
        x = (1 - x) * 2 + (x * (x[..., :1] + 1)) / 4 - torch.arange(8)
        return self.last(torch.baddbmm(x, x, x.transpose(1, 2) @ x))


WINDOWS, GRID = ((1, 16, 2, 4, 2, 4), (0, 2, 4, 3, 5, 1)), ((1, 16, 4, 2, 4, 2), (0, 3, 5, 2, 4, 1))


class Unserved(nn.Module):
    """An operator that fovea does not serve, in this line."""

    def __init__(self, operator):
        super().__init__()
        self.operator = operator

    def forward(self, x):
        return self.operator(x)


HIDES = torch.zeros(10, 10).masked_fill(torch.rand(10, 10, generator=torch.Generator().manual_seed(3)) < 0.3, float("-inf"))
HIDES.fill_diagonal_(0)
PADDING = torch.arange(10).unsqueeze(0) >= 7

PADDINGS = torch.arange(12) >= torch.tensor([[12], [7]])

MODELS = {
    "encoder, norm first": lambda: encoder(norm_first=True),
    "encoder, norm last, gelu": lambda: encoder(activation="gelu"),
    "encoder of three layers": lambda: encoder(3, norm_first=True),  # first fit by size takes 1.25 of the bound
    "encoder without biases": lambda: encoder(bias=False, norm_first=True),
    "decoder with memory": decoder,
    "attention": lambda: attention((1, 10, 32), batch_first=True),
    "attention, tokens first": lambda: attention((10, 1, 32)),
    "attention of 2 entries": lambda: attention((2, 10, 32), batch_first=True),
    "attention without batch": lambda: attention((10, 32)),
    "attention without biases": lambda: attention((1, 10, 32), batch_first=True, bias=False),
    "attention of other keys": lambda: attention((1, 10, 32), (1, 7, 24), (1, 7, 20), batch_first=True, kdim=24, vdim=20),
    "attention, bias of keys and values": lambda: attention((1, 10, 32), batch_first=True, add_bias_kv=True),
    "attention, a key of zeros": lambda: attention((1, 10, 32), batch_first=True, add_zero_attn=True),
    "attention, a mask": lambda: attention((1, 10, 32), batch_first=True, masks={"attn_mask": HIDES}),
    "attention, padding": lambda: attention((1, 10, 32), batch_first=True, masks={"key_padding_mask": PADDING}),
    "encoder, padding of each run": lambda: (Padded(), (torch.randn(2, 12, 32), PADDINGS)),
    "encoder, causal, padding of each run": lambda: (Padded(causal=True), (torch.randn(2, 12, 32), PADDINGS)),
    "attention, mask by where": lambda: (Shown("where"), (torch.randn(2, 12, 32), ~PADDINGS)),
    "attention, mask by masked_fill": lambda: (Shown("fill"), (torch.randn(2, 12, 32), ~PADDINGS)),
    "attention, mask by a product": lambda: (Shown("low"), (torch.randn(2, 12, 32), ~PADDINGS)),
    "attention, mask by finite masked_fill": lambda: (Shown("finite"), (torch.randn(2, 12, 32), ~PADDINGS)),
    "attention, masks of two numbers": lambda: (Shown("two"), (torch.randn(2, 12, 32), ~PADDINGS)),
    "attention, masks one after the other": lambda: (Shown("causal"), (torch.randn(2, 12, 32), ~PADDINGS)),
    "two inputs, two outputs": lambda: (Several(), (torch.randn(1, 6, 16), torch.randn(1, 6, 24))),
    "one row": lambda: (nn.Sequential(nn.Linear(16, 16), nn.Linear(16, 8)), (torch.randn(1, 16),)),  # has no workspace
    "Qwen2": lambda: causal_model("Qwen2"),
    "torchvision's vit": torchvision_vit,
    "windows, norm first": lambda: (Windows(*WINDOWS, norm_first=True), (torch.randn(1, 3, 8, 8),)),
    "windows, norm last": lambda: (Windows(*WINDOWS), (torch.randn(1, 3, 8, 8),)),
    "a grid, norm first": lambda: (Windows(*GRID, norm_first=True), (torch.randn(1, 3, 8, 8),)),
    "numbers": lambda: (Numbers(), (torch.randn(1, 4, 8),)),
    "convolutions": lambda: (nn.Sequential(nn.Conv2d(4, 8, 1), nn.Conv2d(8, 8, 2, 4), nn.Conv2d(8, 4, 1, 2)), (torch.randn(1, 4, 16, 16),)),
    "convolutions of signals": lambda: (nn.Sequential(nn.Conv1d(4, 8, 1), nn.Conv1d(8, 4, 3, 3)), (torch.randn(2, 4, 20),)),
    "keywords": lambda: (Keywords(), (torch.randn(1, 98, 40),)),
}


def image(module):
    return module, (torch.randn(1, 4, 8, 8),)


def unserved(operator):
    return Unserved(operator), (torch.randn(1, 8, 16),)


UNSERVED = {  # what each is refused with
    "aten.fft_fft": lambda: unserved(lambda x: torch.fft.fft(x).real),
    "a branch or a shape that depends on values": lambda: unserved(lambda x: x if x.sum() > 0 else -x),
    "aten.argmax": lambda: unserved(lambda x: x * x.argmax(-1, keepdim=True)),
    "aten.gather by computed numbers": lambda: unserved(lambda x: x.gather(-1, (x > 0).long())),
    "aten.index by booleans": lambda: unserved(lambda x: x[:, torch.arange(8) > 2]),
    "aten.linalg_vector_norm of order 3.0": lambda: unserved(lambda x: x.norm(3, -1)),
    "aten.linalg_vector_norm in torch.float64": lambda: unserved(lambda x: x.norm(2, -1, dtype=torch.float64).float()),
    "aten._to_copy to torch.float64": lambda: unserved(lambda x: x.double().float()),
    "aten.div with rounding_mode floor": lambda: unserved(lambda x: torch.div(x, 2, rounding_mode="floor")),
    "aten.native_dropout": lambda: unserved(lambda x: nn.functional.dropout(x, 0.5)),
    "aten.conv_transpose2d": lambda: image(nn.ConvTranspose2d(4, 4, 2, 2)),
    "aten.conv3d of 128 groups": lambda: (nn.Conv3d(128, 128, 2, groups=128), (torch.randn(1, 128, 4, 4, 4),)),
    "with ceil_mode": lambda: image(nn.MaxPool2d(3, 2, ceil_mode=True)),
    "aten.avg_pool2d with another divisor": lambda: image(nn.AvgPool2d(3, 1, 1, count_include_pad=False)),
    "to sizes that do not divide its input": lambda: image(nn.AdaptiveAvgPool2d(3)),
    "aten._native_batch_norm_legit": lambda: image(nn.BatchNorm2d(4, track_running_stats=False)),
}


def make(name, models=None):
    torch.manual_seed(1)
    module, inputs = (models or MODELS)[name]()
    for parameter in module.parameters():  # zeros of biases would hide a mistake
        if parameter.dim() == 1 and bool((parameter == parameter[0]).all()):
            parameter.data += 0.1 * torch.randn_like(parameter)
    return module.eval(), inputs

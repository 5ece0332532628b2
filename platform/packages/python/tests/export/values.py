# SPDX-License-Identifier: Apache-2.0
"""Functions whose answers to other inputs than the example are where mistakes hid: counts, quotients and bytes. And functions
that are refused, as their answers would be wrong in silence."""
import re
from unittest import mock

import torch
from torch import nn
from torch.nn import functional as f

import families

COUNTS = torch.tril(torch.ones(49, 49))  # row n has n + 1 ones
LENGTHS = torch.arange(49)
IDS = torch.tensor([[1, 0, 1, 1]])
OTHER_IDS = torch.tensor([[2, 0, 256, 300]])
ROWS = torch.randn(4, 4, generator=torch.Generator().manual_seed(1))
TENS = torch.arange(400.0)

class Sinks(nn.Module):
    """Queries, keys and values of layers, and a sink of each head; in a softmax as it is, or less its largest score."""

    def __init__(self, less):
        super().__init__()
        self.qkv, self.out, self.sinks, self.less = nn.Linear(16, 48), nn.Linear(16, 16), nn.Parameter(torch.randn(4)), less

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, 4, 4)).permute(2, 0, 3, 1, 4)
        scores = torch.where(torch.ones(6, 6).tril() > 0, q @ k.transpose(2, 3) / 2, -torch.inf)
        scores = torch.cat([scores, self.sinks.view(1, 4, 1, 1).expand(2, 4, 6, 1)], -1)
        scores = scores - scores.max(-1, keepdim=True)[0] if self.less else scores
        return self.out((scores.softmax(-1)[..., :-1] @ v).transpose(1, 2).flatten(2))


VALUES = {  # name -> function, example inputs, other inputs
    "a count of booleans": (lambda m: (LENGTHS < m.float().sum(-1, keepdim=True)).float(), COUNTS[:7].bool(), COUNTS[-7:].bool()),
    "a count of floats, compared": (lambda m: (LENGTHS < m.sum(-1, keepdim=True)).float(), COUNTS[:7], COUNTS[-7:]),
    "a count of inverted numbers": (lambda m: (1 - m.float()).sum(-1).floor(), COUNTS.long()[:7], COUNTS.long()[20:27]),
    "floor of a quotient": (lambda x: torch.floor(x / 41) + (x / 49 == 1), torch.rand(400) * 100, TENS),
    "a whole quotient": (lambda x: (x / 41).long().float() + torch.round(x / 0.3), torch.rand(400) * 100, TENS),
    "sums of bools of numbers": (lambda m: m.bool().sum(1) / 4, IDS, OTHER_IDS),
    "bools of numbers as floats": (lambda m: m.bool().float() * 2, IDS, OTHER_IDS),
    "bools next to numbers": (lambda m, x: x * m.bool() + (m == 300), (IDS, ROWS[:1]), (OTHER_IDS, ROWS[:1])),
    "a mean of what bools show": (lambda m, x: (x * m[..., None].bool()).sum(1) / m.bool().sum(1, keepdim=True), (IDS, ROWS[None]),
                                  (OTHER_IDS, ROWS[None])),
    "equal bools": (lambda m, x: x * (m.bool() == True), (IDS, ROWS[:1]), (OTHER_IDS, ROWS[:1])),  # noqa: E712
    "a root that is divided by itself": (lambda x: (lambda root: root / root[:, :1])((x * x + 1).sqrt()), ROWS, ROWS + 1),
    "roots of means of rows along columns": (lambda x: x * torch.rsqrt((x * x).mean(-1) + 1e-5), ROWS, ROWS + 1),
    "roots of means, transposed": (lambda x: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-5).transpose(0, 1),
                                   ROWS[:, :, None] * ROWS, ROWS[:, :, None] + ROWS),
    "windows of a reordered slice": (lambda x: x.reshape(2, 4, 3, 2).permute(0, 2, 1, 3).reshape(2, 12, 2)[:, :4].unfold(1, 2, 1),
                                     torch.randn(2, 24), torch.randn(2, 24)),
    "sinks": (Sinks(False), torch.randn(2, 6, 16), torch.randn(2, 6, 16)),
    "sinks, less the largest": (Sinks(True), torch.randn(2, 6, 16), torch.randn(2, 6, 16)),
    "a number into a layer": (nn.Sequential(nn.BatchNorm1d(1, eps=0.5), nn.Linear(1, 3)), torch.ones(1, 1), torch.full((1, 1), 3.)),
    "a signal of one element": (nn.Sequential(nn.Conv1d(2, 1, 1), nn.BatchNorm1d(1, eps=0.5), nn.Conv1d(1, 2, 3, 2, 1)),
                                torch.randn(1, 2, 1), torch.randn(1, 2, 1)),
}


class Counter(nn.Module):

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(4))

    def forward(self, x):
        self.seen.copy_(x * 2)
        return self.seen


BYTES = torch.tensor([9, 8, 7], dtype=torch.uint8)
REFUSED = {  # words of the refusal -> function, inputs
    "aten._to_copy to torch.int8": (lambda x: (x * 10).to(torch.int8).float(), ROWS),
    "aten.sub of torch.uint8": (lambda x: (x - BYTES).float(), BYTES),
    "aten.mul of torch.int16": (lambda x: (x * x).float(), BYTES.to(torch.int16)),
    "aten.max with output 2": (lambda x: x.max(1), ROWS),
    "with_indices with output 2": (lambda x: f.max_pool1d(x, 2, return_indices=True)[1].float(), ROWS[None]),
    "a change of function.seen": (Counter(), ROWS[0]),
    "a change of ": (lambda x: f.relu(x, inplace=True) + 1, ROWS),
    "aten.rand ": (lambda x: x + (x > 3) * torch.rand(4), ROWS),
    "aten.native_dropout ": (lambda x: x + f.dropout(torch.ones(4)), ROWS),
}


class Function(nn.Module):

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def tuple_of(inputs):
    return inputs if isinstance(inputs, tuple) else (inputs,)


def exported(module, inputs, folder, **options):
    """What the files would be written from, and the report."""
    import fovea.export
    from fovea.exporter import project
    kept = []
    with mock.patch.object(project, "write", lambda one, *rest: kept.append(one)):
        report = fovea.export(module, inputs, folder, **options)
    return kept[0], report


def check(folder, others):
    """others: compares the answers to other inputs."""
    import fovea.export
    failed = []
    for name, (function, example, other) in VALUES.items():
        module = Function(function).eval()
        try:
            made, report = exported(module, tuple_of(example), folder)
            others(module, tuple_of(other), made)
            assert "sinks" not in name or "attention with sinks, 1 multi-head layer" in str(report), report
        except Exception as error:
            failed.append(f"{name}: {type(error).__name__}: {error}")
    for words, (function, inputs) in REFUSED.items():
        try:
            exported(Function(function).eval(), tuple_of(inputs), folder)
            failed.append(f"{words}: was exported")
        except fovea.export.NotServed as refused:
            failed += [] if words in str(refused) and re.search(r"values\.py:\d+|module", str(refused)) else [f"{words}: {refused}"]
        except Exception as error:
            failed.append(f"{words}: {type(error).__name__}: {error}")
    assert not failed, "\n".join(failed)


def padded(shown):
    """Attention that adds low numbers to its scores where `shown`, of a mask, has 0."""
    bias = lambda m: (1 - shown(m[:, None, None, :].float())) * torch.finfo(torch.float32).min  # noqa: E731
    product = lambda x, m: torch.softmax(x @ x.transpose(2, 3) + bias(m), -1) @ x  # noqa: E731
    return Function(lambda x, m: product(x[:, None], m))


ATTENTION = "attention", "integer_attention", "multihead"  # structures of calls
COUNTS_OF = (16, 1, 16), (3, 16, 5), (1, 1, 16), (15, 2, 7)  # tokens of each entry


class Decoder(nn.Module):

    def __init__(self):
        super().__init__()
        self.module = families.FAMILIES["Llama"]()[0].module

    def forward(self, ids, shown):
        return self.module(input_ids=ids, attention_mask=shown, use_cache=False).last_hidden_state


def check_lengths(folder, others):
    """Of each kind of a mask: the answers of other lengths are those of the module with the mask, and attention has no mask."""
    torch.manual_seed(1)
    ids, rows = torch.randint(2, 100, (3, 16)), torch.randn(3, 16, 32)
    texts = [families.FAMILIES[name]()[0].eval() for name in ("BERT with its mask", "sentence encoder", "ALBERT")] + [Decoder().eval()]
    cases = [(module, ids, torch.int64, 0) for module in texts]
    layers, ends = families.encoder(32, 2).eval(), padded(lambda m: (m + m.flip(3)).clamp(0, 1))  # with the last tokens, too
    hidden = Function(lambda x, m: layers(x, src_key_padding_mask=m))
    alike = padded(lambda m: (m + (m.sum(3, True) == m.sum(3, True).roll(1, 0))).clamp(0, 1))  # all, where the entry before is as long
    masks = ends, alike, padded(lambda m: m.roll(16, 0))  # of other entries
    cases += [(hidden, rows, torch.bool, 1), (padded(lambda m: m), rows, torch.float32, 0),
              (padded(lambda m: m * torch.ones(16, 16).tril()), rows, torch.int64, 0)]
    cases += [(one, rows.repeat(16 if one is masks[2] else 1, 1, 1), torch.int64, 0) for one in masks]
    cases = [(case, {}, 1e-5) for case in cases] + [(case, {"arithmetic": "integer"}, 0.2) for case in (*cases[:3], *cases[4:6])]
    for (module, x, dtype, shows), options, limit in cases:
        def mask(*counts):
            return ((torch.arange(16) < torch.tensor(counts).repeat(len(x) // 3)[:, None]) == 1 - shows).to(dtype)
        name = "shown" if x is ids else "inputs_1"
        others_of = [(x, mask(*counts)) for counts in COUNTS_OF]
        made, report = exported(module, (x, mask(16, 9, 1)), folder, lengths=name, calibrate=others_of, **options)
        found = [call.fields.get("attention", call.fields) for call in made.calls if call.struct in ATTENTION]
        assert found and all(("kv_lengths" in one) == ("mask" not in one) == (module not in masks) for one in found), f"{module}: {report}"
        assert f"{name}_lengths: each 1 to 16" in str(report) and ("no attention" in str(report)) == (module in masks), report
        for other, counts in zip(others_of, COUNTS_OF):
            others(module, other, made, (x, torch.tensor(counts).repeat(len(x) // 3)), limit)
    module, x, dtype, _ = cases[4][0]
    for example, lengths, words in [(mask(9, 9, 9), "shown", "shown, names no input of the model: its inputs are inputs_0, inp"),
                                    (mask(9, 9, 9), "inputs_0", "no mask of lengths"), (mask(9, 0, 9), "inputs_1", "none of 1 to 16"),
                                    (mask(9, 9, 9) ^ mask(3, 3, 3), "inputs_1", "no mask of lengths")]:
        try:
            exported(module, (x, example), folder, lengths=[lengths])
            raise AssertionError(f"{words}: was exported")
        except ValueError as refused:
            assert words in str(refused), refused


class Pieces(nn.Module):
    """Two layers, of which one may be kept in f32, whose outputs share a tensor."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(16, 4)

    def forward(self, x):
        return self.c(torch.cat([self.a(x), self.b(x)], -1))


def check_kept(folder):
    """Layers that are kept in f32 among int8 tensors are as near as those that are not."""
    torch.manual_seed(1)
    signal = nn.Sequential(nn.Conv1d(4, 8, 1), nn.Conv1d(8, 4, 3, padding=1))
    hidden = Function(lambda x, m: (x.mean(-1).masked_fill(m, float("-inf")).softmax(-1)[..., None] * x).sum(1))
    row = torch.randn(1, 6, 8)
    mlp, sound = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)), torch.randn(1, 4, 8)
    for module, inputs, layers in [(Pieces(), (row,), ["a"]), (Pieces(), (row,), ["a", "b"]), (signal, (sound,), ["0"]),
                                   (signal, (sound,), ["1"]), (mlp, (row,), ["2"]), (hidden, (row, torch.arange(6)[None] > 3), []),
                                   (Function(lambda x: f.layer_norm(mlp(x), (8,), x[0, 0], x[0, 1])), (row,), []),
                                   (Function(lambda x, ids: f.embedding(ids, mlp(x)[0])), (row, IDS), [])]:
        _, report = exported(module.eval(), inputs, folder, arithmetic="integer", keep=dict.fromkeys(layers, "f32"))
        assert report.error < 0.05, f"{module}: error {report.error}"

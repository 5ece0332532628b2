# SPDX-License-Identifier: Apache-2.0
"""What calibration makes of int8: nets whose noise each of its steps must lower, and nets for which a step would be wrong."""
import math

import torch
from torch import nn

import values


def snr(module, exported, inputs):
    """The least of an output, in dB, over these inputs."""
    from fovea.exporter.run import Runner
    runner = Runner(exported.calls, exported.plans, exported.arena_bytes, exported.graph.inputs)
    signal, noise = 0, 0
    for sample in inputs:
        runner.run([one.numpy() for one in sample])
        with torch.no_grad():
            wanted = [one for one in torch.utils._pytree.tree_leaves(module(*sample)) if isinstance(one, torch.Tensor)]
        got = [torch.from_numpy(runner.tensor(one).copy()) for one in exported.graph.outputs]
        signal = signal + torch.tensor([one.double().square().sum() for one in wanted])
        noise = noise + torch.tensor([(a - b).double().square().sum() for a, b in zip(got, wanted)])
    return 10 * math.log10((signal / noise).min())


class Norms(nn.Module):
    """A norm with channels of very different sizes, and what else reads it: `also`."""

    def __init__(self, also=lambda self, x, y: y, elementwise=True):
        super().__init__()
        self.norm, self.also = nn.LayerNorm(16, elementwise_affine=elementwise), also
        self.a, self.b, self.wide = nn.Linear(16, 24), nn.Linear(16, 24), nn.Linear(32, 8)
        self.other, self.table = nn.LayerNorm(16), nn.Embedding(24, 16)
        if elementwise:
            self.norm.weight.data = torch.exp2(torch.arange(16.) / 2 - 4)
            self.a.weight.data /= self.norm.weight.data
            self.norm.weight.data[3] = self.norm.bias.data[3] = 0  # a channel of range 0
        self.a.weight.data[:, 5] = 0  # a channel that nothing reads
        self.b.bias = self.a.bias  # shared by two layers

    def forward(self, x):
        x = self.norm(x)
        return self.also(self, x, self.a(x))


torch.manual_seed(2)
NETS = {  # name -> (module, norms that are smoothed)
    "one reader": (Norms(), 1),
    "two readers, a bias of both": (Norms(lambda self, x, y: torch.cat([y, self.b(x)], -1)), 1),
    "a norm without weights": (Norms(elementwise=False), None),
    "a norm that is an output": (Norms(lambda self, x, y: (y, x)), 0),
    "a norm that an activation reads": (Norms(lambda self, x, y: self.b(x.sigmoid()) + y), 0),
    "a norm that a view of is an output": (Norms(lambda self, x, y: (y, x[:, 1:, 8:])), 0),
    "rows of two tokens": (Norms(lambda self, x, y: (y, self.wide(x.reshape(2, 4, 32)))), 0),
    "rows of a half": (Norms(lambda self, x, y: (y, nn.functional.linear(x[..., 8:], self.wide.weight[:, :8]))), 0),
    "rows from the middle of a token": (Norms(lambda self, x, y: (y, self.b(x.flatten(1)[:, 8:-8].reshape(2, 7, 16)))), 0),
    "windows of half a token": (Norms(lambda self, x, y: (y, self.b(x.flatten(1).unfold(1, 16, 8)))), 0),
    "weights that two norms' layers read": (Norms(lambda self, x, y: (y, nn.functional.linear(self.other(y[..., 8:]), self.a.weight))), 0),
    "a layer's weights in a product": (Norms(lambda self, x, y: y @ self.a.weight), 1),
}


def check_smoothing():
    """In f32 a smoothed graph has the same bits as before."""
    import numpy as np
    from fovea.exporter import calibrate, from_torch, patterns, pipeline
    x = torch.randn(2, 8, 16)  # a batch of two
    for name, (module, wanted) in NETS.items():
        graph, compared = from_torch.read(module.eval(), (x,), "model")
        patterns.apply(graph, True)
        before = pipeline.in_f32(graph)
        found = [one.copy() for one in before.answers([x.numpy()])]
        count = calibrate.smooth(graph, calibrate.Seen(before, [[x.numpy()]]))
        assert wanted is None or count == wanted, f"{name}: {count} norms are smoothed"
        for one, other in zip(pipeline.in_f32(graph).answers([x.numpy()]), found):
            assert np.array_equal(one, other), f"{name}: other answers"


def check_ranges():
    """A number that is far from a million others saturates; none of a few does, and a constant has a scale."""
    import numpy as np
    from fovea import Range, from_i8, to_i8
    from fovea.exporter.calibrate import least_error
    numbers = np.random.default_rng(1).standard_normal(1_000_000, np.float32)
    numbers[7] = 20
    for x, saturates in [(numbers, True), (np.linspace(-1, 3, 200, dtype=np.float32), False), (np.zeros(9, np.float32), False)]:
        found = Range().observe(x)
        errors = [np.square(from_i8(to_i8(x, *one), *one) - x).mean() for one in (least_error(found), found.choose(asymmetric=True))]
        assert errors[0] < 0.5 * errors[1] if saturates else errors[0] <= errors[1], f"squared errors {errors}"


def check_windows():
    """Windows of a layer are many times as large as what they are of: sums of them make no copies in float64."""
    import tracemalloc
    from fovea.exporter import calibrate, from_torch, patterns, pipeline
    x = torch.randn(1, 4, 4096)
    graph, _ = from_torch.read(nn.Conv1d(4, 8, 64).eval(), (x,), "model")
    patterns.apply(graph, True)
    made = pipeline.in_f32(graph)
    tracemalloc.start()
    calibrate.Seen(made, [[x.numpy()]])
    most, windows = tracemalloc.get_traced_memory()[1], 4033 * 4 * 64 * 4
    tracemalloc.stop()
    assert most < 1.5 * windows, f"{most} bytes for windows of {windows}"


class Branches(nn.Module):
    """A residual stream of one large and one small token, whose norms make both alike: sums in int8 lose the small one."""

    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(16) for _ in range(3))
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(3))

    def forward(self, x):
        x = x * torch.tensor([[100.], [0.1]])
        for norm, layer in zip(self.norms, self.layers):
            x = x + 0.02 * layer(norm(x))
        return self.norms[0](x)


class Pair(nn.Module):
    """Two layers with one bias, whose inputs have means that are larger than their deviations."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(16, 8), nn.Linear(16, 8)
        self.b.bias = self.a.bias

    def forward(self, x):
        return self.a(x), self.b(x - 4)


class Root(nn.Module):

    def forward(self, x):
        return torch.sqrt(x + 3)


def check(folder):
    import fovea.export
    torch.manual_seed(1)
    check_smoothing()
    check_ranges()
    options = {"arithmetic": "integer", "calibrate": [(torch.randn(2, 8, 16),) for _ in range(32)]}
    others = [(torch.randn(2, 8, 16),) for _ in range(8)]
    for name, (module, count) in NETS.items():
        exported, report = values.exported(module.eval(), others[0], folder, **options, min_snr=28 if count == 0 else None)
        ratio = snr(module, exported, others)
        assert ratio > 25 and abs(min(ratio, 60) - min(report.snr, 60)) < 5, f"{name}: {ratio:.1f} dB, where {report.snr:.1f} are reported"
        assert bool(count) == any("smoothing" in one for one in report.taken) or count is None, f"{name}: {report.taken}"
    near = [(5 + torch.randn(1, 8, 16) * torch.rand(16) / 4,) for _ in range(32)]
    _, report = values.exported(Pair().eval(), near[0], folder, **{**options, "calibrate": near})
    assert any("mean errors" in one for one in report.taken) and report.error < 0.02, f"{report.error}: {report.taken}"
    rows = [(torch.randn(1, 2, 16),) for _ in range(72)]
    branches, options = Branches().eval(), {**options, "calibrate": rows[:64]}
    for least, low, high in [(28, 28, 70), (75, 75, math.inf)]:
        exported, report = values.exported(branches, rows[0], folder, **options, min_snr=least)
        assert low <= report.snr <= high and snr(branches, exported, rows[64:]) > low - 8, f"min_snr {least}: {report}"
    kept = {"keep": {"layers.0": "f32"}, "min_snr": 30}
    assert values.exported(branches, rows[0], folder, **options, **kept)[1].snr >= 30
    _, report = values.exported(branches, rows[0], folder, **options, keep={"layers.0": "i8"}, min_snr=60)
    assert report.snr >= 60 and "layers_1" in report.taken[-1] and "layers_0" not in report.taken[-1], report.taken
    for module, samples, more, words in [(Root(), [(torch.zeros(1, 4) - 4 * (one == 7),) for one in range(8)], {}, "not finite"),
                                         (branches, rows, {}, "or min_snr"), (branches, rows, {"min_snr": math.nan}, "a number of dB"),
                                         (branches, rows, {"min_snr": 30, "arithmetic": "f32"}, "for --arithmetic integer")]:
        try:
            fovea.export(module.eval(), samples[0], folder, **{**options, "calibrate": samples, **more})
            raise AssertionError(f"{words}: was exported")
        except ValueError as refused:
            assert words in str(refused), refused
    check_windows()

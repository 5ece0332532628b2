# SPDX-License-Identifier: Apache-2.0
"""int8: what the samples of calibration decide. Ranges by least error, channels of norms made alike, mean errors in biases: each is
taken only where samples that were held out are answered better. And the tensors and layers that stay in f32 for a signal to noise
ratio that was asked for."""
import collections
import copy

import numpy as np

from ..quantize import Range
from . import quality, views

CHANCE = 0.1  # dB that are not better
HELD_OUT = 4  # every fourth sample judges; of fewer all do
FRACTIONS = [1.0, *(1 - 2.0**-bits for bits in range(20, 5, -1))]  # of a tensor's numbers that do not saturate
POWERS = 0.25, 0.5, 0.75  # of the channels of a norm against those of the weights that read them


class Seen:
    """Numbers of a graph in f32 in some runs, from its Made."""

    def __init__(self, made, samples):
        self.runner = made.runner
        self.ranges = collections.defaultdict(Range)  # name of a tensor -> its range
        self.weak = collections.defaultdict(float)  # name of a tensor -> sum of 1 / power, in the mean of its rows
        self.inputs = {}  # name of a linear layer -> of each channel of its inputs: rows, largest magnitude, sum, sum of squares
        self.add(made, samples)

    def add(self, made, samples):
        for sample in samples:
            finite(made.answers(sample, observe=self.call))
            self.tensors(self.runner.inputs)

    def call(self, _, call):
        self.tensors(call.writes)
        if call.function == "fovea_linear":
            x = self.runner.tensor(call.reads[0]).reshape(-1, call.fields["in_dim"])  # windows are many times their tensor
            rows, most, total, squares = self.inputs.get(call.name, (0, 0, 0, 0))
            self.inputs[call.name] = (rows + len(x), np.maximum(most, np.maximum(x.max(0), -x.min(0))),
                                      total + x.sum(0, dtype=np.float64), squares + np.einsum("ij,ij->j", x, x, dtype=np.float64))

    def tensors(self, tensors):
        for tensor in tensors:
            if tensor.buffer.dtype == np.float32:
                numbers = np.ascontiguousarray(self.runner.tensor(tensor))
                finite = numbers[np.isfinite(numbers)]  # a maximum has -inf at its borders
                self.ranges[tensor.buffer.source].observe(finite)
                power = np.square(numbers.reshape(-1, numbers.shape[-1] if numbers.ndim else 1), dtype=np.float64).mean(-1)
                power = power[np.isfinite(power)]
                if power.any():
                    self.weak[tensor.buffer.source] += (1 / (power + 1e-4 * power.mean())).mean()

    def scales(self, least):
        """name of a tensor -> (scale, zero point): all numbers have codes, or the squared error is the least."""
        return {name: least_error(one) if least else one.choose(asymmetric=True) for name, one in self.ranges.items()}

    def means(self):
        """name of a linear layer -> its mean input."""
        return {name: total / rows for name, (rows, _, total, _) in self.inputs.items()}


def finite(answers):
    if not all(np.isfinite(one).all() for one in answers):
        raise ValueError("the model answers a sample of calibrate with numbers that are not finite")
    return answers


def least_error(found):
    """The scale and zero point of a range whose squared error is the least, by its histogram."""
    counts = np.array(found.c.bins, np.float64)
    middle = (np.arange(counts.size) - counts.size // 2 + 0.5) * found.c.width

    def error(scale, zero):
        beyond = middle - np.clip(middle, scale * (-128 - zero), scale * (127 - zero))
        return counts @ (np.square(beyond) + scale * scale / 12)

    return min((found.choose(fraction, asymmetric=True) for fraction in FRACTIONS), key=lambda one: error(*one))


def smooth(graph, seen):
    """Divides channels of norms by factors, and multiplies the weights that read them, where nothing else does. Factors are
    powers of 2, so that the model stays what it was. Returns the number of norms."""
    count = 0
    for norm in graph.nodes:
        layers = graph.readers(norm.y.buffer) if norm.op == "norm" and not norm.weight_offset and len(norm.outputs) == 1 else []
        if not layers or not all(reads_rows(graph, one, norm.y, layers) for one in layers) or graph.writer(norm.y) is not norm or any(
                one is not None and not one.is_constant for one in (norm.weight, norm.bias)):
            continue
        weights = np.concatenate([one.weight.data for one in layers]).astype(np.float64)
        factors = best_factors(weights, *seen.inputs[layers[0].name])
        if (factors == 1).all():
            continue
        rows = {role: np.ones(factors.size) if one is None else np.broadcast_to(one.data.reshape(-1), factors.size)
                for role, one in (("weight", norm.weight), ("bias", norm.bias)) if one is not None or role == "weight"}
        for role, row in rows.items():
            norm.inputs[role] = graph.constant(f"{norm.name}_{role}", (row / factors).astype(np.float32))
        made = {}
        for layer in layers:
            key = layer.weight.buffer, layer.weight.dims, layer.weight.offset
            made[key] = made.get(key) or graph.constant(layer.weight.name, (layer.weight.data * factors).astype(np.float32))
            layer.inputs["weight"] = made[key]
        count += 1
    return count


def reads_rows(graph, layer, y, layers):
    """Whether a node is a linear layer whose input rows are rows of y, and only `layers` read y and the node's weights."""
    if layer.op != "linear" or layer.x.buffer is not y.buffer or not graph.only_read_by(y, *layers) or not y.is_dense():
        return False
    dim = y.shape[-1]
    whole = views.merged(layer.x.dims[-1]) == [(dim, 1)]
    rows = all(stride % dim == 0 for loops in layer.x.dims[:-1] for _, stride in loops) and layer.x.offset % dim == 0
    return whole and rows and all(one in layers for one in graph.readers(layer.weight.buffer))


def best_factors(weights, rows, most, _, squares):
    """Powers of 2 for the channels by which the noise of both roundings is the least."""
    columns = np.abs(weights).max(0)
    used = (most > 0) & (columns > 0)

    def noise(factors):
        of_x = (most / factors).max()**2 * np.square(weights * factors).sum()
        return of_x + (squares / rows / factors**2).sum() * np.square(np.abs(weights * factors).max(1)).sum()

    tried = [np.ones(columns.size)]
    for power in POWERS if used.any() else ():
        ratio = np.log2(most[used]) * power - np.log2(columns[used]) * (1 - power)
        tried.append(np.ones(columns.size))
        tried[-1][used] = np.exp2(np.rint(ratio - np.median(ratio)).clip(-10, 10))
    return min(tried, key=noise)


class Chosen:
    """int8 of a graph: `made` of `now`, and `snr`, the least signal to noise ratio of an output in dB, over samples that judge.

    floats: of a graph its Made in f32; narrow: of a graph, scales, mean inputs of layers, and names of tensors and layers that stay
    in f32 its Made in int8. least: the ratio below which more of them stay so.
    """

    def __init__(self, graph, samples, floats, narrow, least):
        few, self.narrow, self.exact, self.taken = len(samples) < HELD_OUT, narrow, floats(graph), []
        self.judges, fit = samples if few else samples[::HELD_OUT], [one for i, one in enumerate(samples) if few or i % HELD_OUT]
        self.wanted, seen = finite(self.answers(self.exact)), Seen(self.exact, fit)
        self.now = {"graph": graph, "scales": seen.scales(False), "means": {}, "tensors": (), "layers": ()}
        self.made = self.tried()
        self.snr = self.ratio(self.made)
        nearest = self.better("ranges of least error", scales=seen.scales(True))
        smoothed = copy.deepcopy(graph)
        count = smooth(smoothed, seen)
        if count:
            exact = floats(smoothed)
            other = Seen(exact, fit)
            if self.better(f"smoothing after {count} norms", graph=smoothed, scales=other.scales(nearest)):
                self.exact, seen = exact, other
        corrected = self.better("mean errors in biases", means=seen.means())
        if not few:  # what is decided is computed from all of them
            seen.add(self.exact, self.judges)
            self.now.update(scales=seen.scales(nearest), means=seen.means() if corrected else {})
            self.made = self.tried()
            self.snr = min(self.snr, self.ratio(self.made))  # the scales know the samples that judge now
        if least is not None and self.ratio(self.made) < least:
            self.widen(seen, least)

    def tried(self, **changes):
        now = {**self.now, **changes}
        return self.narrow(copy.deepcopy(now["graph"]), *(now[key] for key in ("scales", "means", "tensors", "layers")))

    def answers(self, made):
        """Of each output, all samples that judge."""
        return [np.stack(one) for one in zip(*([np.array(one) for one in made.answers(sample)] for sample in self.judges))]

    def ratio(self, made):
        ratio = np.min([quality.ratio(got, want) for got, want in zip(self.answers(made), self.wanted)])
        return -np.inf if np.isnan(ratio) else float(ratio)

    def better(self, what, **changes):
        """Whether changes make the answers better: then they stay."""
        made = self.tried(**changes)
        ratio = self.ratio(made)
        if ratio <= self.snr + CHANCE:
            return False
        self.made, self.snr, self.now = made, ratio, {**self.now, **changes}
        self.taken.append(what)
        return True

    def widen(self, seen, least):
        """Keeps as few tensors in f32 as are enough, those first whose rows have the most noise; then layers, too."""
        scales, lowering = self.now["scales"], self.made.lowering
        codes = {one.source for one in lowering.twins}
        codes -= {one.y.buffer.source for one in lowering.graph.nodes if one.op == "attention"}  # which writes no floats
        tensors = sorted(codes & set(seen.weak), key=lambda name: (-seen.weak[name] * scales[name][0]**2, name))
        made = self.tried(tensors=tensors)
        order = list(dict(quality.layers(made.runner, self.exact.runner, self.judges[0], made.lowering.scales)))
        layers = {one.name for one in made.lowering.graph.nodes if one.op != "copy" and made.lowering.integer_form(one) and
                  not made.store.kept_as(one.name, one.weight.name if one.weight else "")}  # what keep names has its format
        layers = sorted(layers, key=lambda name: (order.index(name) if name in order else len(order), name))

        def kept(count):
            return {"tensors": tensors[:count], "layers": layers[:max(0, count - len(tensors))]}

        low, high = 0, len(tensors) + len(layers)
        while low < high:
            count = (low + high) // 2
            low, high = (low, count) if self.ratio(self.tried(**kept(count))) >= least else (count + 1, high)
        self.made, self.now = self.tried(**kept(high)), {**self.now, **kept(high)}
        self.snr = self.ratio(self.made)
        if self.snr < least:
            raise ValueError(f"min_snr is {least}: with all tensors and layers in f32 that may be it is {self.snr:.1f}")
        self.taken.append(f"f32 for {', '.join(sum(kept(high).values(), []))}")

# SPDX-License-Identifier: Apache-2.0
"""How near the layers of a model with narrow weights are to those in f32."""
import numpy as np


def layers(runner, exact, given, scales=None):
    """(layer, signal to noise in dB), the worst first. Of each call that multiplies, with the inputs that it has in
    f32; where tensors are int8, of each tensor with all noise before it."""
    if scales is not None:
        return tensors(runner, exact, given, scales)
    inputs, outputs = {}, {}

    def remember(index, call):
        inputs[index] = [memory(exact, one) for one in exact_reads(call)]

    exact.run(given, before=remember,
              observe=lambda index, call: outputs.__setitem__(index, [exact.tensor(one).copy() for one in call.writes]))
    ratios = []

    def restore(index, call):
        for tensor, numbers in zip(exact_reads(call), inputs[index]):
            runner.memory(tensor.buffer)[:] = numbers

    def compare(index, call):
        if call.macs:
            ratios.append((call.name, min(ratio(runner.tensor(one), want) for one, want in zip(call.writes, outputs[index]))))

    runner.run(given, before=restore, observe=compare)
    return sorted(ratios, key=lambda one: one[1])


def tensors(runner, exact, given, scales):
    """The same of int8 tensors, each after its own call."""
    wanted, ratios = {}, []

    def place(call):  # a layer of windows is several calls
        return call.name, call.helper, call.writes[0].offset, call.writes[0].shape

    exact.run(given,
              observe=lambda _, call: wanted.update({place(call): exact.tensor(call.writes[0]).copy()} if call.writes else {}))

    def compare(_, call):
        if not call.writes or place(call) not in wanted or call.helper:
            return
        got = runner.tensor(call.writes[0])
        if got.dtype == np.int8:
            scale, zero = scales[call.source]
            got = np.float32(scale) * (got.astype(np.float32) - zero)
        ratios.append((call.name, ratio(got, wanted[place(call)])))

    runner.run(given, observe=compare)
    return sorted(ratios, key=lambda one: one[1])


def exact_reads(call):
    return [one for one in call.reads if not one.is_constant]


def memory(runner, tensor):
    return runner.memory(tensor.buffer).copy()


def ratio(got, want):
    """Signal to noise, in dB."""
    noise = np.square(np.asarray(got, np.float64) - want).sum()
    return float(10 * np.log10(np.square(np.asarray(want, np.float64)).sum() / noise)) if noise else float("inf")

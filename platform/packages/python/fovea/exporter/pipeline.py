# SPDX-License-Identifier: Apache-2.0
"""From a model to a folder: the steps in their order."""
import collections
import copy
import os
import re
from dataclasses import dataclass, field

import numpy as np

from . import arena, patterns, project, quality
from .calibrate import Chosen
from .decoder import StepLowering, pair
from .graph import RESERVED, NotServed
from .lower import Lowering
from .lower_integer import IntegerLowering
from .masks import by_lengths
from .run import Runner
from .weights import FORMATS, Weights


LIMIT = 1e-5  # of the difference from the model's answers in f32, as a part of the largest
LIMIT_OF_NARROW = 0.5  # with weights or arithmetic of fewer bits


@dataclass
class Exported:
    """What the files are written from."""
    graph: object
    calls: list
    plans: list
    arena_bytes: int
    arena_bound: int
    inputs: list  # of the test
    outputs: list  # that the test expects
    allowed: float  # difference, as a part of the largest output
    wanted: str  # where the expected outputs come from
    step: object = None  # the Made of a decoder's step


@dataclass
class Report:
    """What fovea.export made: printed, it is a table."""
    name: str
    nodes: int  # operations of the model that depend on an input
    calls: dict  # how often each function is called
    fused: dict  # pattern -> how often it was found
    arena_bytes: int  # of tensors
    arena_bound: int  # the largest sum of tensors that live at once
    workspace_bytes: int  # on this machine
    weight_bytes: int
    copies: int
    macs: int  # multiply-adds
    error: float  # of the answers on this machine, as a part of the largest output
    compared: str  # whose answers they were compared with
    lengths: dict = field(default_factory=dict)  # name of an input of lengths -> the mask, the most, the mask's value, attention's use
    lost: list = field(default_factory=list)  # matrices that a file has as codes, of which no format has all
    loops: dict = field(default_factory=dict)  # plain loop of model.c -> its part of the work, 0 to 1
    samples: int = 0  # of calibration
    layers: list = field(default_factory=list)  # (layer, signal to noise in dB), the worst first
    snr: float = None  # of int8, in dB: the least of an output, over samples that were held out where there are four or more
    taken: list = field(default_factory=list)  # what made it better

    def __str__(self):
        from .report import text
        return text(self)


def export(model, example_inputs=None, out="model", name="model", weights="f32", arithmetic="f32", calibrate=None,
           keep=None, step=False, multihead=True, min_snr=None, lengths=()):
    """See fovea.export."""
    if isinstance(model, (str, os.PathLike)):
        from . import from_onnx as source
    else:
        from . import from_torch as source
    example_inputs = given(name, example_inputs, weights, arithmetic, keep or {}, min_snr)
    graph, compared = source.read(model, example_inputs, name)
    if len(graph.outputs) != len(compared.outputs):
        raise NotServed(f"a model of {len(compared.outputs)} outputs, {len(graph.outputs)} of them tensors that it computes,", "",
                        "outputs that are tensors")
    integer = arithmetic == "integer"
    arrays = [np.asarray(one) for one in example_inputs if hasattr(one, "shape")]
    counted = by_lengths(graph, [lengths] if isinstance(lengths, str) else lengths, arrays) if lengths else list
    patterns.apply(graph, integer, multihead)
    inputs = counted(arrays)
    answers = [np.asarray(one, np.float32) for one in compared.outputs]
    if not all(np.isfinite(one).all() for one in answers):
        raise ValueError("the model answers the example inputs with numbers that are not finite: "
                         "give inputs as in use, by --calibrate from the command line")
    exact = weights == "f32" and arithmetic == "f32"
    plain = copy.deepcopy(graph)
    reference = None if exact else checked(plain, inputs, answers, compared)
    samples = list(map(counted, samples_of(calibrate, arrays))) if integer else []

    def stored(of, layers=()):
        return Weights(of, "i8" if integer and weights == "f32" else weights, keep or {}, arithmetic != "f32", layers)

    def narrow(of, scales, means, wide, layers):
        return Made(of, stored(of, layers), lambda *given: IntegerLowering(*given, scales, means, wide))

    chosen = Chosen(graph, samples, in_f32, narrow, min_snr) if integer else None
    made = chosen.made if integer else Made(graph, stored(graph))
    made.store.check()
    stepping = made_step(source, model, example_inputs, graph, made.store, integer, multihead) if step else None
    reference = chosen.exact if integer else reference
    layers = [] if exact else quality.layers(made.runner, reference.runner, inputs, getattr(made.lowering, "scales", None))
    got = made.answers(inputs)
    error = max(map(difference, got, answers))
    if exact and not error <= LIMIT:
        checked(plain, inputs, answers, compared)
        raise RuntimeError(differing(error, "where outputs take the place of inputs", compared))
    if exact and stepping:
        check_step(stepping, inputs, answers, compared)
    if not exact and not error <= LIMIT_OF_NARROW:
        raise ValueError(f"the answers differ by {error:.2f} of the largest: "
                         "wider weights are needed, or keep for some layers, or min_snr")
    same_bits = integer and all(is_portable(call) for call in made.calls)
    allowed = 0 if same_bits else LIMIT if exact else 2 * error
    wanted = "those of another machine: the bits are the same everywhere" if same_bits else (f"those of {compared.source}")
    exported = Exported(made.graph, made.calls, made.plans, made.arena_bytes, made.arena_bound, inputs,
                        got if same_bits else answers, allowed, wanted, stepping)
    lost = sorted({one.name for node in made.graph.nodes for one in node.inputs.values() if one is not None and one.buffer.own == ()})
    functions = collections.Counter(call.function for call in made.calls)
    read = {one.name for call in made.calls if call.macs for one in call.reads}
    lengths = {name: (*said, name in read) for name, said in graph.lengths.items()}
    report = Report(name, graph.read, dict(functions), graph.fused, made.arena_bytes, made.arena_bound, made.runner.workspace.array.size,
                    project.weight_bytes([*made.calls, *(stepping.calls if stepping else [])]), functions["copy"],
                    sum(call.macs for call in made.calls), error, compared.source, lengths, lost, parts_of_work(made.calls),
                    len(samples), layers, chosen and chosen.snr, chosen.taken if chosen else [])
    project.write(exported, report, out)
    return report


def parts_of_work(calls):
    """loop of model.c -> its part of all multiply-adds, where a function of C's library counts as about 20 of them; copies are
    named, too: an element that is moved counts as one."""
    work = collections.Counter()
    for call in calls:
        if call.helper == "loop":
            work[call.function] += call.fields["work"]
        elif call.helper == "copy":
            work["copy"] += call.writes[0].count
    total = sum(work.values()) + sum(call.macs for call in calls)
    return {name: one / total for name, one in work.most_common()}


def in_f32(graph):
    graph = copy.deepcopy(graph)
    return Made(graph, Weights(graph, "f32", {}, False), over=False)


def checked(graph, inputs, answers, compared):
    """The calls of a graph in f32. It raises where they do not give the model's answers."""
    made = in_f32(graph)
    error = max(map(difference, made.answers(inputs), answers))
    if not error <= LIMIT:
        raise RuntimeError(differing(error, f"first in {first_layer(made, inputs, compared)}", compared))
    return made


def first_layer(made, inputs, compared):
    """The first value of the model whose tensor has other numbers."""
    ends = {one.buffer: index for index, call in enumerate(made.calls) for one in call.writes}
    wanted, found = compared.values(), []

    def compare(index, call):
        for name, tensor in made.graph.values.items():
            if ends.get(tensor.buffer) == index and name in wanted and not found and tensor.buffer.dtype == np.float32:
                error = difference(made.runner.tensor(tensor), np.asarray(wanted[name], np.float32))
                found.extend([] if error <= LIMIT else [f"{call.name} ({name})" + (f", at {call.line}" if call.line else "")])

    made.runner.run(inputs, observe=compare)
    return found[0] if found else "the outputs"


def check_step(made, inputs, answers, compared):
    """The same of a decoder's step: the answers of all tokens, a token at a time."""
    got = [[] for _ in answers]
    for token in range(inputs[0].shape[1]):
        made.runner.step([inputs[0][:, token]])
        for kept, tensor in zip(got, made.graph.outputs):
            kept.append(made.runner.tensor(tensor).copy())
    error = max(map(difference, map(np.ravel, got), answers))
    if not error <= LIMIT:
        raise RuntimeError(differing(error, "a token at a time", compared))


def differing(error, where, compared):
    return (f"the calls of fovea would be wrong, and nothing is written: answers differ by {error:.1e} of the largest, "
            f"{where}; {LIMIT:.0e} is allowed. Compared with {compared.source}")


def given(name, example_inputs, weights, arithmetic, keep, min_snr):
    """The example inputs as a tuple, once the options are ones that there are."""
    if not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) or name in RESERVED:
        raise ValueError(f"{name!r} is no name of a C function: letters, digits and _, and no word of C")
    for what, value, known in [("weights", weights, FORMATS), ("arithmetic", arithmetic, ("f32", "i8", "integer")),
                               *((f"keep, {layer}", form, FORMATS) for layer, form in keep.items())]:
        if value not in known:
            raise ValueError(f"{what} is {value!r}: it must be one of {', '.join(known)}")
    if arithmetic == "integer" and "f16" in (weights, *keep.values()):
        raise ValueError("weights of f16 have no products of integers: with integer they are i8, i4, q8_0 or q4_0")
    if min_snr is not None and (arithmetic != "integer" or not np.isfinite(min_snr)):
        raise ValueError(f"min_snr is {min_snr}: it is a number of dB, for --arithmetic integer")
    if example_inputs is None:
        raise ValueError("example_inputs is missing: a tuple with an array for each input of the model")
    return (example_inputs,) if hasattr(example_inputs, "shape") else tuple(example_inputs)


def samples_of(calibrate, inputs):
    """The inputs of calibration, which have the shapes of the example inputs."""
    samples = [(sample,) if hasattr(sample, "shape") and len(inputs) == 1 else tuple(sample)
               for sample in (calibrate if calibrate is not None else [inputs])]
    samples = [[np.asarray(one) for one in sample] for sample in samples]
    wanted = [one.shape for one in inputs]
    for number, sample in enumerate(samples):
        if [one.shape for one in sample] != wanted:
            raise ValueError(f"sample {number} of calibrate has the shapes {[one.shape for one in sample]}: "
                             f"the example inputs have {wanted}")
        if not all(np.isfinite(one).all() for one in sample):
            raise ValueError(f"sample {number} of calibrate has numbers that are not finite")
    if not samples:
        raise ValueError("calibrate has no sample")
    return samples


def made_step(source, model, example_inputs, whole, store, integer, multihead):
    """The calls of a decoder's step, which share the constants of all tokens' graph."""
    if integer:
        raise NotServed("a step of int8 tensors", "", "--arithmetic i8")
    if [one.shape[:-1] for one in whole.inputs] != [(1,)] or whole.inputs[0].buffer.dtype != np.uint32:
        raise NotServed("a step of this model", "", "a decoder of one input, token numbers of the shape [1, tokens]")
    graph, _ = source.read(model, tuple(one[:, :1] for one in example_inputs), whole.name)
    patterns.apply(graph, integer, multihead)
    tokens = pair(whole, graph)
    return Made(graph, store, lambda *given: StepLowering(*given, tokens))


def is_portable(call):
    """Whether a call's bits are the same on every target."""
    return call.function.startswith("fovea_integer") or call.function in (
        "copy", "invert", "fovea_embedding", "fovea_quantize_from_i8", "fovea_quantize_to_i8", "fovea_add",
        "fovea_multiply") or (call.fields.get("compute") == "FOVEA_COMPUTE_I8")


class Made:
    """The calls of a graph, with a place for each tensor."""

    def __init__(self, graph, store, lowering=Lowering, over=True):
        """over: outputs may be written over inputs."""
        store.graph, self.graph, self.store = graph, graph, store
        self.lowering = lowering(graph, store)
        self.calls, self.plans = self.lowering.run()
        self.caches = getattr(self.lowering, "caches", [])
        if over:
            arena.in_place(self.calls)
        lives = arena.lifetimes(self.calls)
        self.arena_bound, self.arena_bytes = arena.bound(lives), arena.place(lives)
        arena.workspaces(self.calls, lives)
        self.runner = Runner(self.calls, self.plans, self.arena_bytes, graph.inputs, self.caches)

    def answers(self, inputs, observe=None):
        self.runner.run(inputs, observe=observe)
        return [self.runner.tensor(tensor) for tensor in self.graph.outputs]


def difference(got, wanted):
    """The largest difference, as a part of the largest number; infinity where one is not finite."""
    if got.size != wanted.size:
        return np.inf
    with np.errstate(invalid="ignore"):
        error = np.abs(got.reshape(wanted.shape) - wanted).max(initial=0) / (np.abs(wanted).max(initial=0) or 1)
    return float(error) if np.isfinite(error) else np.inf

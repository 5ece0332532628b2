# SPDX-License-Identifier: Apache-2.0
"""From a model to a folder: the steps in their order."""
import os
from dataclasses import dataclass, field

import numpy as np

from . import arena, patterns, project
from .lower import lower
from .run import Runner
from .weights import Weights


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
    layers: list = field(default_factory=list)  # (layer, signal to noise in dB), the worst first

    def __str__(self):
        from .report import text
        return text(self)


def export(model, example_inputs=None, out="model", name="model", weights="f32", arithmetic="f32", calibrate=None,
           keep=None):
    """See fovea.export."""
    if isinstance(model, (str, os.PathLike)):
        from . import from_onnx as source
    else:
        from . import from_torch as source
    graph, answers = source.read(model, example_inputs, name)
    patterns.apply(graph)
    store = Weights(graph, weights, keep or {}, arithmetic == "i8")
    calls, plans = lower(graph, store)
    arena.in_place(calls)
    lives = arena.lifetimes(calls)
    bound, total = arena.bound(lives), arena.place(lives)
    arena.workspaces(calls, lives)
    inputs = [np.asarray(one) for one in example_inputs if hasattr(one, "shape")]
    runner = Runner(calls, plans, total)
    runner.run((graph.inputs, inputs))
    answers = [np.asarray(one, np.float32) for one in answers]
    error = max(difference(runner.tensor(tensor), answer) for tensor, answer in zip(graph.outputs, answers))
    exact = weights == "f32" and arithmetic == "f32"
    exported = Exported(graph, calls, plans, total, bound, inputs, answers, 1e-5 if exact else 2 * error)
    functions = {}
    for call in calls:
        functions[call.function] = functions.get(call.function, 0) + 1
    report = Report(name, graph.read, functions, graph.fused, total, bound, runner.workspace.array.size,
                    project.weight_bytes(calls), functions.get("copy", 0), sum(call.macs for call in calls), error)
    project.write(exported, report, out)
    return report


def difference(got, wanted):
    largest = np.abs(wanted).max() if wanted.size else 0
    return float(np.abs(got.reshape(wanted.shape) - wanted).max() / (largest or 1)) if wanted.size else 0.0

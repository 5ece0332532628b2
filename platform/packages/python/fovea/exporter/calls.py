# SPDX-License-Identifier: Apache-2.0
"""A call of the generated code: what emit_c.py writes down, and run.py does."""
import dataclasses
from dataclasses import dataclass

import numpy as np

from .graph import Tensor

# Functions without a structure, and their parameters.
DIRECT = {"fovea_quantize_to_i8": ["x", "count", "scale", "zero", "codes"],
          "fovea_quantize_from_i8": ["codes", "count", "scale", "zero", "x"]}


@dataclass(eq=False)
class Call:
    """function: of fovea, or one of the helpers of model.c. fields: of its structure, or its parameters. A pointer is a
    Tensor, a number of an enum its name in C, a structure a dict."""
    function: str
    struct: str  # without fovea_ and _args
    fields: dict
    reads: list
    writes: list
    name: str
    line: str = ""
    plan: "Plan" = None
    workspace: str = ""  # its size, as a constant expression of workspace.h
    macs: int = 0  # multiply-adds
    source: str = ""  # the first name of the tensor that it writes
    cache: str = ""  # of a decoder's step, to which it appends or attends
    top: int = 0  # bytes of the arena that hold tensors during the call: its workspace comes after them

    @property
    def what(self):
        """What it computes, in a few words: fovea_linear with ReLU is "linear, relu"."""
        words = [self.function.replace("fovea_", "").replace("_f32", "")]
        for key in ("activation", "norm", "pooling"):
            if isinstance(self.fields.get(key), str):
                words.append(self.fields[key].split("_", 2)[2].lower())
        return ", ".join(words)

    @property
    def helper(self):
        """The kind of a function of model.c: copy, loop and so on; None of fovea's."""
        name = self.function.split("_")[0]
        return None if name == "fovea" else name

    def replace(self, old, new):
        """Puts another buffer in the place of one, everywhere in the call."""
        self.fields = replaced(self.fields, old, new)
        self.reads = [replaced(one, old, new) for one in self.reads]
        self.writes = [replaced(one, old, new) for one in self.writes]


@dataclass(eq=False)
class Plan:
    """A description that calls share, of fovea_attention_plan_init or fovea_multihead_plan_init."""
    name: str
    struct: str  # attention or multihead
    fields: dict


@dataclass(eq=False)
class Pointed:
    """A structure that a field points to."""
    struct: str  # without fovea_
    fields: dict


@dataclass(eq=False)
class Literal:
    """Some numbers that a field points to, written where they are used."""
    data: np.ndarray


def replaced(value, old, new):
    if isinstance(value, dict):
        return {key: replaced(one, old, new) for key, one in value.items()}
    if isinstance(value, Pointed):
        return Pointed(value.struct, replaced(value.fields, old, new))
    if isinstance(value, Tensor) and value.buffer is old:
        return dataclasses.replace(value, buffer=new)
    return value


def given(**fields):
    """Fields that are not 0: 0 is what a structure holds anyhow."""
    return {key: value for key, value in fields.items()
            if not (value is None or value == {} or (not isinstance(value, (str, Tensor, Pointed, Literal)) and value == 0))}

# SPDX-License-Identifier: Apache-2.0
"""The exporter's picture of a model: nodes, in the order of their calls, and the tensors that they read and write."""
import copy
import math
from dataclasses import dataclass, field, replace

import numpy as np

from . import views


class NotServed(Exception):
    """The model has an operator that fovea does not serve.

    name: of the operator; line: of the model's source that it came from; replacement: what could take its place.
    """

    def __init__(self, name, line="", replacement=""):
        text = f"{name} is not served"
        text += f", at {line}" if line else ""
        text += f". Instead: {replacement}" if replacement else ""
        super().__init__(text)
        self.name, self.line, self.replacement = name, line, replacement


# Names that the generated C has, and words of C that a module may be called by.
RESERVED = [
    "arena", "args", "copy", "invert", "bytes", "caches", "desc", "position", "status", "w", "auto", "case", "char", "const", "default",
    "double", "else", "enum", "float", "for", "i", "if", "int", "long", "register", "return", "short", "signed", "static", "struct", "switch",
    "union", "void", "volatile", "while", "main", "padding"]


@dataclass(eq=False)
class Buffer:
    """Memory of a tensor. kind: input, output, constant or arena."""
    name: str
    kind: str
    count: int  # elements
    dtype: np.dtype = np.dtype(np.float32)
    data: np.ndarray = None  # of a constant
    offset: int = None  # bytes from the arena's begin
    source: str = None  # its first name
    own: tuple = None  # of weights that a file has as codes: their format, codes and scales, whose numbers these are exactly; or ()

    def __post_init__(self):
        self.source = self.name

    def __deepcopy__(self, memo):
        """A copy with the same array of numbers."""
        return memo.setdefault(id(self), copy.copy(self))

    @property
    def bytes(self):
        return self.count * self.dtype.itemsize


@dataclass(frozen=True)
class Tensor:
    """A view of a buffer. A dimension is a tuple of loops (size, stride), outermost first: mostly one. So any reshape
    that cuts no loop in two is a view, even where PyTorch would copy."""
    buffer: Buffer
    dims: tuple
    offset: int = 0  # elements

    @property
    def shape(self):
        return tuple(math.prod(size for size, _ in dim) for dim in self.dims)

    @property
    def count(self):
        return math.prod(self.shape)

    @property
    def name(self):
        return self.buffer.name

    @property
    def data(self):
        """A constant's numbers, as an array of the tensor's shape."""
        loops = [loop for dim in self.dims for loop in dim]
        item = self.buffer.dtype.itemsize
        flat = self.buffer.data.reshape(-1)[self.offset:]
        return np.lib.stride_tricks.as_strided(flat, [size for size, _ in loops],
                                               [stride * item for _, stride in loops]).reshape(self.shape)

    @property
    def is_constant(self):
        return self.buffer.kind == "constant"

    def is_dense(self):
        """Its elements follow one another in the order of its shape."""
        return views.merged([loop for dim in self.dims for loop in dim]) in ([], [(self.count, 1)])

    def _with(self, dims, offset=0):
        return replace(self, dims=tuple(tuple(dim) for dim in dims), offset=self.offset + offset)

    def permute(self, order):
        return self._with([self.dims[axis] for axis in order])

    def transpose(self, a, b):
        order = list(range(len(self.dims)))
        order[a], order[b] = order[b], order[a]
        return self.permute(order)

    def unsqueeze(self, axis):
        axis %= len(self.dims) + 1
        return self._with([*self.dims[:axis], (), *self.dims[axis:]])

    def squeeze(self, axes=None):
        axes = range(len(self.dims)) if axes is None else [axis % len(self.dims) for axis in axes]
        return self._with([dim for axis, dim in enumerate(self.dims) if axis not in axes or self.shape[axis] != 1])

    def expand(self, shape):
        added = len(shape) - len(self.dims)
        dims = [()] * added + list(self.dims)
        old = [1] * added + list(self.shape)
        return self._with([dim if size in (-1, have) else ((size, 0),) for dim, have, size in zip(dims, old, shape)])

    def select(self, axis, index):
        axis %= len(self.dims)
        index %= self.shape[axis]
        return self._with([*self.dims[:axis], *self.dims[axis + 1:]], views.offset_of(self.dims[axis], index))

    def slice(self, axis, start, stop, step=1):
        """None where the slice would cut a loop of a dimension that has several."""
        axis %= len(self.dims)
        size = self.shape[axis]
        start, stop, step = slice(start, stop, step).indices(size)
        cut = views.slice_of(self.dims[axis], start, max(0, -(-(stop - start) // step)), step)
        return cut and self._with([*self.dims[:axis], cut[0], *self.dims[axis + 1:]], cut[1])

    def reshape(self, shape):
        """None where the shape cuts a loop in two that it does not divide."""
        shape = list(shape)
        if -1 in shape:
            shape[shape.index(-1)] = self.count // -math.prod(shape)
        groups = views.regrouped([loop for dim in self.dims for loop in dim], shape)
        return None if groups is None else self._with(groups)


@dataclass(frozen=True)
class Moving(Tensor):
    """The row of a constant that belongs to the position of a decoder's step."""
    step: int = 0  # elements from a position to the next


@dataclass(frozen=True)
class Hiding(Tensor):
    """A mask of bytes as what attention adds to its scores: 0 where a byte is not 0, elsewhere this number."""
    low: float = -math.inf

    def shown(self):
        """The bytes."""
        return Tensor(self.buffer, self.dims, self.offset)


def dense(buffer, shape):
    """The tensor that is all of a buffer, in the order of the shape."""
    return Tensor(buffer, views.dense_dims(shape))


@dataclass
class Answers:
    """What the model itself computes for the example inputs."""
    outputs: list
    source: str  # whose these are: "PyTorch's"
    values: object  # a function: name in the model -> array, of all that it computes


@dataclass(eq=False)
class Node:
    """An operation. inputs: by their role, as x, weight, bias; each a Tensor or None."""
    op: str
    name: str
    inputs: dict
    outputs: dict  # mostly y alone
    attrs: dict = field(default_factory=dict)
    line: str = ""  # of the model's source

    @property
    def y(self):
        return self.outputs["y"]

    def __getattr__(self, role):
        if role.startswith("__"):
            raise AttributeError(role)
        if role in self.inputs:
            return self.inputs[role]
        return self.attrs.get(role)


class Graph:
    """A model: inputs and outputs in the order of their parameters, nodes in the order of their calls."""

    def __init__(self, name):
        self.name = name
        self.inputs, self.outputs, self.nodes = [], [], []
        self.fused = {}  # pattern -> how often it was found
        self.shared = {}  # constants that patterns made
        self.lengths = {}  # name of an input -> the mask whose place it took, its tokens, and its value for the first of them
        self.read = 0  # operations of the model as it was read
        self.values = {}  # name in the model -> the tensor that it was read as
        self._names = dict.fromkeys(RESERVED, 1)

    def unique(self, name):
        """The name as an identifier of C that no other tensor of the model has."""
        name = "".join(one if one.isalnum() and one.isascii() else "_" for one in name).strip("_") or "tensor"
        name = name if name[0].isalpha() else "t" + name
        number = self._names[name] = self._names.get(name, 0) + 1
        return name if number == 1 else self.unique(f"{name}_{number}")

    def arena(self, name, dims, dtype=np.float32):
        """A new tensor in the arena, with these dimensions: a dense layout in some order."""
        count = math.prod(size for dim in dims for size, _ in dim)
        return Tensor(Buffer(self.unique(name), "arena", count, np.dtype(dtype)), dims)

    def constant(self, name, data):
        data = np.ascontiguousarray(data)
        return dense(Buffer(self.unique(name), "constant", data.size, data.dtype, data), data.shape)

    def add(self, op, name, inputs, y, line="", **attrs):
        self.nodes.append(Node(op, name, inputs, {"y": y}, attrs, line))
        return y

    def copied(self, tensor, line=""):
        """A dense copy, by a node of its own."""
        y = self.arena(tensor.name + "_copy", views.dense_dims(tensor.shape), tensor.buffer.dtype)
        self.add("copy", y.name, {"x": tensor}, y, line)
        return replace(tensor, buffer=y.buffer, dims=y.dims, offset=0)  # a Hiding stays one

    def readers(self, buffer):
        return [node for node in self.nodes if any(one is not None and one.buffer is buffer for one in node.inputs.values())]

    def writer(self, tensor):
        """The node that computed the tensor's buffer, or None."""
        found = [node for node in self.nodes if any(one.buffer is tensor.buffer for one in node.outputs.values())]
        return found[0] if len(found) == 1 else None

    def only_read_by(self, tensor, *nodes):
        return tensor.buffer.kind == "arena" and all(reader in nodes for reader in self.readers(tensor.buffer)) and all(
            one.buffer is not tensor.buffer for one in self.outputs)

    def replace(self, old, new, pattern):
        """Puts a node in the place of the last of several, which is where all that it reads is there."""
        self.nodes[self.nodes.index(old[-1])] = new
        for node in old[:-1]:
            if node in self.nodes:
                self.nodes.remove(node)
        self.fused[pattern] = self.fused.get(pattern, 0) + 1

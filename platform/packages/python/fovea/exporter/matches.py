# SPDX-License-Identifier: Apache-2.0
"""What patterns ask of tensors and of the nodes around them."""
from . import views
from .graph import Tensor


def same(a, b):
    """Whether two tensors are the same elements in the same order."""
    return a is not None and b is not None and a.buffer is b.buffer and a.offset == b.offset and [
        views.merged(dim) for dim in a.dims
    ] == [views.merged(dim) for dim in b.dims]


def reshaped(y, x, wanted):
    """y in the shape of `wanted`, where x, of the shape of y, is a reshape of `wanted`; else None."""
    back = x.reshape(wanted.shape)
    return y.reshape(wanted.shape) if same(back, wanted) else None


def relaid(y, x, wanted):
    """The same also where x is a permutation of `wanted`, and y has the layout of x."""
    alike = [views.merged(dim) for dim in x.dims] == [views.merged(dim) for dim in y.dims]
    if alike and x.count == wanted.count == y.buffer.count and x.offset == wanted.offset and y.offset == 0:
        return Tensor(y.buffer, wanted.dims)
    return reshaped(y, x, wanted)


def scalar(tensor):
    """The number that all elements of a constant are; None for any other tensor."""
    if tensor is None or not tensor.is_constant or any(stride for dim in tensor.dims for _, stride in dim):
        return None
    return float(tensor.buffer.data.reshape(-1)[tensor.offset])


def near(value, wanted):
    return value is not None and abs(value - wanted) <= 1e-4 * abs(wanted)


def made_by(graph, tensor, op):
    """The node of this kind that computed all of the tensor."""
    node = graph.writer(tensor) if tensor is not None else None
    return node if node is not None and node.op == op and node.y.buffer.count == tensor.count else None


def with_scalar(node, wanted):
    """The tensor of a sum or product with this number."""
    return node.a if node is not None and near(scalar(node.b), wanted) else None


def only_reader(graph, tensor, op):
    """The node of this kind that alone reads the tensor."""
    readers = graph.readers(tensor.buffer)
    return readers[0] if len(readers) == 1 and readers[0].op == op and graph.only_read_by(tensor, *readers) else None


def other(node, tensor):
    """The operand of a sum or product that is not this tensor's buffer."""
    return node.b if node.a.buffer is tensor.buffer else node.a

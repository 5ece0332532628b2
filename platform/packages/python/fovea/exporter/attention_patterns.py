# SPDX-License-Identifier: Apache-2.0
"""Patterns of attention: two matrix products with a softmax between them; attention with its linear layers."""
import math

from . import views
from .graph import Node, Tensor


def attention(graph, softmax):
    """softmax(scale q k^T + mask) v. The weights may be read by others, too."""
    from .patterns import made_by, same, scalar
    if softmax.op != "softmax" or softmax.axis != len(softmax.y.shape) - 1:
        return False
    scores, scale, masks, old = softmax.x, 1.0, [], []
    while True:
        node = graph.writer(scores)
        if node is None or node.op not in ("add", "mul", "matmul") or not graph.only_read_by(
                scores, *([softmax] + old)[-1:]):
            return False
        old.append(node)
        if node.op == "matmul":
            break
        factor = scalar(node.b)
        if node.op == "mul":
            if factor is None:
                return False
            scale, scores = scale * factor, node.a
        else:
            first = next((one for one in (node.a, node.b) if chain(graph, one)), None)
            if masks or first is None:
                return False
            mask = node.b if first is node.a else node.a
            masks, scores = [(mask, scale)], first
    if masks and masks[0][1] != 1:
        return False
    second = [node for node in graph.readers(softmax.y.buffer) if node.op == "matmul"]
    if len(second) != 1 or not same_elements(second[0].a, softmax.y):
        return False
    q, k, v, y = old[-1].a, old[-1].b.transpose(-1, -2), second[0].b, second[0].y
    factors = []
    for side in (q, k):
        product = made_by(graph, side, "mul")
        factor = product and scalar(product.b)
        if factor is None or not graph.only_read_by(product.y, old[-1]):
            factors.append(side)
            continue
        source = product.a._with(product.a.dims)
        moved = view_like(product, side)
        if moved is None:
            factors.append(side)
            continue
        scale *= factor
        old.append(product)
        factors.append(moved)
    (q, k), batch = factors, outer(factors + [v, y])
    if batch is None:
        return False
    q, k, v, y = (one.reshape([*batch, *one.shape[-2:]]) for one in (q, k, v, y))
    mask = masks[0][0].expand(old[-1].y.shape if not masks else softmax.x.shape) if masks else None
    mask = mask and mask.reshape([*batch, *mask.shape[-2:]])
    outputs = {"y": y}
    if not graph.only_read_by(softmax.y, second[0]):
        outputs["weights"] = softmax.y.reshape([*batch, *softmax.y.shape[-2:]])
    if any(one is None for one in (q, k, v, y)) or (masks and mask is None):
        return False
    new = Node("attention", second[0].name, {"q": q, "k": k, "v": v, "mask": mask}, outputs,
               {"scale": scale, "causal": False}, softmax.line)
    # The node takes the place of the softmax, before all that reads weights: q, k, v and the mask are there.
    if v.buffer.kind == "arena" and position(graph, v) > graph.nodes.index(softmax):
        return False
    graph.replace([*old, second[0], softmax], new, "attention")
    return True


def position(graph, tensor):
    """Where the last node that writes the tensor is."""
    return max((index for index, node in enumerate(graph.nodes)
                if any(one.buffer is tensor.buffer for one in node.outputs.values())), default=-1)


def chain(graph, tensor):
    node = graph.writer(tensor)
    return node is not None and node.op in ("matmul", "mul", "add")


def same_elements(a, b):
    return a.buffer is b.buffer and a.count == b.count and a.reshape([a.count]) == b.reshape([b.count])


def view_like(product, side):
    """The operand of an elementwise product in the view in which its result is read."""
    loops = views.joint([product.y, product.a])
    dims = loops and views.relocated(side.dims, loops)
    return dims and Tensor(product.a.buffer, dims, product.a.offset)


def outer(tensors):
    """The leading dimensions as [batch, heads]: cut where any of the tensors is."""
    shape = tensors[0].shape[:-2]
    if len(shape) == 2:
        return list(shape)
    if len(shape) != 1:
        return [1, 1] if not shape else None
    for tensor in tensors:
        loops = views.merged(tensor.dims[0])
        if len(loops) == 2:
            return [loops[0][0], loops[1][0]]
    return [1, shape[0]]


def multihead(graph, node):
    return False

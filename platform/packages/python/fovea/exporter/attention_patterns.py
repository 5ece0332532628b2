# SPDX-License-Identifier: Apache-2.0
"""Patterns of attention: two matrix products with a softmax between them; attention with its linear layers."""
import numpy as np

from . import views
from .graph import Hiding, Node, Tensor
from .masks import LOWEST, meaning
from .matches import made_by, same, scalar


CHAIN = "matmul", "mul", "add", "activation"  # between the product of queries and keys and the softmax


def attention(graph, softmax):
    """softmax(scale q k^T + mask) v. The weights may be read by others, too."""
    if softmax.axis != len(softmax.y.shape) - 1:
        return
    all_scores, sinks, joining = sunk(graph, softmax) or (softmax.x, None, [])
    scores, scale, softcap, masks, old = all_scores, 1.0, None, [], []
    while True:
        node = graph.writer(scores)
        if not chain(graph, scores) or not graph.only_read_by(scores, ((joining[:1] or [softmax]) + old)[-1]):
            return
        if not same(scores.reshape(node.y.shape), node.y):  # in another order
            return
        old.append(node)
        if node.op == "matmul":
            break
        if node.op == "activation":  # softcap * tanh(scores / softcap)
            if node.kind != "TANH" or node.factor or softcap or not scale > 0:
                return
            softcap, scale, scores = scale, 1.0, node.x
            continue
        factor = scalar(node.b)
        if node.op == "mul":
            if factor is None:
                return
            scale, scores = scale * factor, node.a
        else:
            fill = node.op == "loop"
            first = node.b if fill else next((one for one in (node.a, node.b) if chain(graph, one)), None)
            if first is None or softcap or scale != 1:
                return
            mask = mask_of(graph, node) if fill else node.b if first is node.a else node.a
            masks.append(mask and mask.reshape(all_scores.shape))
            if masks[-1] is None or hides_queries(masks[-1]):
                return
            scores = first
    scale *= softcap or 1
    second = [node for node in graph.readers(softmax.y.buffer) if node.op == "matmul"]
    weights = softmax.y.slice(-1, 0, all_scores.shape[-1])
    if len(second) != 1 or not same_elements(second[0].a, weights):
        return
    first = old[-1]
    q, k, v, y = first.a, first.b.transpose(-1, -2), second[0].b, second[0].y
    factors = []
    for side in (q, k):
        product = made_by(graph, side, "mul")
        factor = product and scalar(product.b)
        if factor is None or not graph.only_read_by(product.y, first):
            factors.append(side)
            continue
        moved = view_like(product, side)
        if moved is None:
            factors.append(side)
            continue
        scale *= factor
        old.append(product)
        factors.append(moved)
    (q, k), batch = factors, outer(factors + [v, y])
    if batch is None:
        return
    q, k, v, y = (one.reshape([*batch, *one.shape[-2:]]) for one in (q, k, v, y))
    mask = sum_of(graph, masks, softmax)
    mask = mask and mask.reshape([*batch, *mask.shape[-2:]])
    outputs = {"y": y}
    if not graph.only_read_by(softmax.y, second[0]):
        outputs["weights"] = weights.reshape([*batch, *weights.shape[-2:]])
    if any(one is None for one in (q, k, v, y)) or masks and mask is None or sinks and (sinks.count != batch[1] or "weights" in outputs):
        return
    new = Node("attention", second[0].name, {"q": q, "k": k, "v": v, "mask": mask, "sinks": sinks}, outputs,
               {"scale": scale, "softcap": softcap, "causal": False}, softmax.line)
    # The node takes the place of the softmax, before all that reads weights: q, k, v and the mask are there.
    if v.buffer.kind == "arena" and position(graph, v) > graph.nodes.index(softmax):
        return
    graph.replace([*joining, *old, second[0], softmax], new, "attention with sinks" if sinks else "attention")


def sunk(graph, softmax):
    """Of a softmax over scores and a constant column after them, its sinks: the scores, the sinks, [heads], and the nodes that join
    them. These may subtract what is the same along a row, as its largest score."""
    x, less = softmax.x, graph.writer(softmax.x)
    between, reach = [], set()
    if less is not None and less.op == "add" and same(less.y, x):
        x, row = (less.a, less.b) if not any(stride for _, stride in less.b.dims[-1]) else (less.b, less.a)
        between, reach = [less], {row.buffer} - {x.buffer}
        if any(stride for _, stride in row.dims[-1]):
            return None
    for node in reversed(graph.nodes):
        if node.y.buffer in reach:
            between.append(node)
            reach.update(one.buffer for one in node.inputs.values() if one is not None and one.buffer is not x.buffer)
    parts, count = [node for node in graph.nodes if node.y.buffer is x.buffer], x.shape[-1] - 1
    if [node.op for node in parts] != ["copy", "copy"] or len(x.shape) != 4 or not all(
            same(node.y, x.slice(3, *rows)) for node, rows in zip(parts, ((0, count), (count, count + 1)))):
        return None
    sinks = parts[1].x
    if not sinks.is_constant or any(stride for axis in (0, 2) for _, stride in sinks.dims[axis]) or not all(
            graph.only_read_by(node.y, softmax, *between) for node in (*parts, *between)):
        return None
    sinks = graph.constant(f"{softmax.name}_sinks", sinks.select(0, 0).select(1, 0).data.reshape(-1))
    return parts[0].x, sinks, [*parts, *between]


def hides_queries(mask):
    """Whether a computed mask may hide all keys from some queries by a finite number: then a softmax sees all of them alike."""
    return isinstance(mask, Hiding) and mask.low > -np.inf and any(stride for size, stride in mask.dims[-2] if size > 1)


def fills(node):
    """Whether a node puts a number as low as hides a key in the place of scores."""
    return node.op == "loop" and node.kind == "where" and not node.b.is_constant and (scalar(node.c) or 0) <= LOWEST


def mask_of(graph, node):
    """The mask of such a node, as what attention adds to the scores; None where a constant one hides a row by finite numbers."""
    shown, low = node.a, np.float32(scalar(node.c))
    if not shown.is_constant:
        return Hiding(shown.buffer, shown.dims, shown.offset, float(low))
    data = shown._with([dim if any(stride for _, stride in dim) else () for dim in shown.dims]).data != 0  # once each
    if np.isfinite(low) and not data.any(-1).all():
        return None
    return graph.constant(node.name + "_mask", np.where(data, np.float32(0), low)).expand(shown.shape)


def sum_of(graph, masks, softmax):
    """One mask of attention: the sum of several, as large as their parts that are not repeated."""
    if len(masks) < 2:
        return masks[0] if masks else None
    repeated = [
        all(stride == 0 for one in masks for size, stride in one.dims[axis] if size > 1) for axis in range(len(masks[0].dims))
    ]
    once = [one._with([() if again else dim for again, dim in zip(repeated, one.dims)]) for one in masks]
    if all(one.is_constant and one.buffer.dtype == np.float32 for one in once):
        with np.errstate(over="ignore"):
            total = np.sum([one.data for one in once], 0, np.float32)
        if (total <= LOWEST).all(-1).any():  # its keys are not hidden one like the other
            return None
        return graph.constant(softmax.name + "_mask", total).expand(masks[0].shape)
    total = once[0]
    for one in once[1:]:
        a, b = (one, total) if isinstance(total, Hiding) or total.is_constant else (total, one)
        if isinstance(a, Hiding) or a.buffer.dtype != np.float32:
            return None
        y = graph.arena(softmax.name + "_mask", views.dense_dims(a.shape))
        graph.nodes.insert(graph.nodes.index(softmax), Node("add", y.name, {"a": a, "b": b}, {"y": y}, {}, softmax.line))
        total = y
    return total.expand(masks[0].shape)


def position(graph, tensor):
    """Where the last node that writes the tensor is."""
    return max((index for index, node in enumerate(graph.nodes) if any(one.buffer is tensor.buffer
                                                                       for one in node.outputs.values())), default=-1)


def chain(graph, tensor):
    node = graph.writer(tensor)
    return node is not None and (node.op in CHAIN or fills(node))


def same_elements(a, b):
    return a.buffer is b.buffer and a.count == b.count and a.reshape([a.count]) == b.reshape([b.count])


def view_like(product, side):
    """The operand of an elementwise product in the view in which its result is read."""
    loops = views.joint([product.y, product.a])
    dims = views.relocated(side.dims, loops) if loops is not None else None
    return None if dims is None else Tensor(product.a.buffer, dims, product.a.offset)


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


def causal_mask(graph, node):
    """A mask that is computed, and a constant causal limit."""
    both = graph.writer(node.mask) if node.mask is not None and not node.causal else None
    if both is None or both.op != "and" or not str(meaning(both.b)).startswith("FOVEA_CAUSAL"):
        return
    mask = None
    if node.mask.is_dense() and node.mask.count == both.a.count:  # a view of all of it
        mask = both.a.reshape(node.mask.shape)
    elif len(both.a.shape) == 4:
        mask = both.a.expand(node.mask.shape)
    if meaning(both.b) != "FOVEA_CAUSAL_TOP_LEFT" or mask is None:
        return
    node.attrs = {**node.attrs, "causal": True}
    node.inputs["mask"] = mask
    graph.fused["causal mask"] = graph.fused.get("causal mask", 0) + 1


def multihead(graph, node):
    """Attention whose queries, keys and values come from linear layers, and whose output goes into one."""
    if node.q.shape[3] != node.v.shape[3]:
        return
    k, v, kv_heads = shared_heads(node.k, node.v)
    ropes = [turned(graph, one, node) for one in (node.q, k)]
    if (ropes[0] is None) != (ropes[1] is None):
        return
    q, k = (one.x if one else side for one, side in zip(ropes, (node.q, k)))
    if ropes[0] and not (ropes[0].layout == ropes[1].layout and same(ropes[0].cos, ropes[1].cos)
                         and same(ropes[0].sin, ropes[1].sin)):
        return
    users = [*(one for one in ropes if one), node]
    parts = [projection(graph, one, users) for one in (q, k, v)]
    last = output_layer(graph, node)
    if None in parts or last is None or last[0].weight.shape[0] != parts[0].linear.weight.shape[1]:
        return
    out, y = last
    inputs = {"x": parts[0].x, "out": out.weight, "out_bias": out.bias, "mask": node.mask, "sinks": node.sinks}
    inputs.update({"keys": parts[1].x} if not same(parts[1].x, parts[0].x) else {})
    inputs.update({"values": parts[2].x} if not same(parts[2].x, parts[1].x) else {})
    rows = [part.rows for part in parts]
    if parts[0].linear is parts[1].linear is parts[2].linear and rows[0][0] == 0 and rows[0][1] == rows[1][0] and (
            rows[1][1] == rows[2][0] and rows[2][1] == parts[0].linear.weight.shape[0]):
        inputs.update(qkv=parts[0].linear.weight, qkv_bias=parts[0].linear.bias)
    else:
        for role, part in zip("qkv", parts):
            inputs[role], inputs[role + "_bias"] = (one and one.slice(0, *part.rows) for one in (part.linear.weight, part.linear.bias))
    if ropes[0]:
        inputs.update(cos=ropes[0].cos, sin=ropes[0].sin)
    attrs = {**node.attrs, "heads": node.q.shape[1], "kv_heads": kv_heads, "head_dim": node.q.shape[3],
             "layout": ropes[0] and ropes[0].layout}
    old = [*(one for one in ropes if one), *dict.fromkeys(part.linear for part in parts), node, out]
    new = Node("multihead", out.name, inputs, {**node.outputs, "y": y}, attrs, node.line)
    graph.replace(old, new, "multi-head layer")


def shared_heads(k, v):
    """Keys and values without the repetitions of their heads that query heads share: (k, v, kv_heads)."""

    def once(x):
        loops = views.merged(x.dims[1])
        return (loops[:-1], loops[-1][0]) if loops and loops[-1][1] == 0 else (loops, 1)

    (k_loops, k_times), (v_loops, v_times) = once(k), once(v)
    if k_times != v_times:
        return k, v, k.shape[1]
    k, v = (x._with([x.dims[0], loops, *x.dims[2:]]) for x, loops in ((k, k_loops), (v, v_loops)))
    return k, v, k.shape[1]


def turned(graph, tensor, reader):
    """The rope that computed queries or keys, for attention alone."""
    node = graph.writer(tensor)
    return node if node is not None and node.op == "rope" and not node.rotary_dim and same(node.y, tensor) and graph.only_read_by(
        tensor, reader) else None


class Part:
    """Where queries, keys or values come from: a linear layer, the range of its outputs, its inputs [batch, tokens]."""

    def __init__(self, linear, rows, x):
        self.linear, self.rows, self.x = linear, rows, x


def projection(graph, tensor, users):
    """The Part of queries, keys or values [batch, heads, tokens, dim]; None where they are no outputs of a layer."""
    linear = graph.writer(tensor)
    if linear is None or linear.op != "linear" or linear.activation or not graph.only_read_by(linear.y, *users):
        return None
    _, heads, _, dim = tensor.shape
    if views.merged([*tensor.dims[1], *tensor.dims[3]]) != [(heads * dim, 1)]:
        return None
    first = tensor.offset - linear.y.offset
    x = rows_of(linear.y, linear.x, tensor)
    if x is None or not 0 <= first <= linear.weight.shape[0] - heads * dim:
        return None
    return Part(linear, (first, first + heads * dim), x)


def rows_of(y, x, tensor):
    """The rows of x, [batch, tokens, dim], that belong to the rows of y which the tensor, [batch, heads, tokens, dim],
    has."""
    loops = views.joint([Tensor(one.buffer, one.dims[:-1]) for one in (y, x)])
    dims = loops is not None and views.relocated([tensor.dims[0], tensor.dims[2]], loops)
    if not dims or any(len(views.merged(dim)) > 1 for dim in (*dims, x.dims[-1])):
        return None
    if x.shape[-1] > 1 and views.merged(x.dims[-1])[0][1] != 1:
        return None
    return Tensor(x.buffer, (*dims, x.dims[-1]), x.offset)


def output_layer(graph, node):
    """The linear layer that alone reads an attention's output, and its output [batch, tokens, dim]."""
    readers = graph.readers(node.y.buffer)
    if len(readers) != 1 or readers[0].op != "linear" or readers[0].activation or not graph.only_read_by(node.y, *readers):
        return None
    linear, (_, heads, _, dim) = readers[0], node.y.dims
    if linear.x.offset != node.y.offset or views.merged(linear.x.dims[-1]) != views.merged([*heads, *dim]):
        return None
    y = rows_of(linear.x, linear.y, node.y)
    return None if y is None else (linear, y)

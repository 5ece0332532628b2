# SPDX-License-Identifier: Apache-2.0
"""Finds nodes that one call of fovea computes together. A pattern is a function of the graph and a node of one kind, its last
or its only sure one."""
import numpy as np

from . import attention_patterns, views
from .graph import Hiding, Node, Tensor
from .attention_patterns import view_like
from .matches import made_by, only_reader, other, relaid, reshaped, same, scalar, with_scalar


def apply(graph, integer=False, multihead=True):
    """integer: for int8 tensors, whose layers are calls of their own. multihead: attention with its linear layers."""
    fused = [("attention", attention_patterns.multihead)] if multihead and not integer else []
    fused += [] if integer else [("mul", gate), ("norm", residual_norm)]
    remove_unread(graph)
    for op, pattern in (("loop", division_by_root), ("add", linear_bias), ("activation", gelu), ("erf", gelu_erf),
                        ("activation", silu), ("rsqrt", rms_norm), ("add", rope), ("softmax", attention_patterns.attention),
                        ("attention", attention_patterns.causal_mask), ("mul", linear_scale), ("add", linear_bias),
                        ("linear", linear_of_scaled), *fused, ("activation", linear_activation), ("copy", in_place)):
        for node in [node for node in graph.nodes if node.op == op]:
            if node in graph.nodes:
                pattern(graph, node)
    remove_unread(graph)


def remove_unread(graph):
    for node in reversed(list(graph.nodes)):
        written = [one.buffer for one in node.outputs.values()]
        if not any(graph.readers(one) or any(one is output.buffer for output in graph.outputs) for one in written):
            graph.nodes.remove(node)


# -------------------------------------------------------------------------------------------- element by element


def gelu(graph, tanh):
    """0.5 x (1 + tanh(0.7979 (x + 0.044715 x^3)))"""
    if tanh.kind != "TANH" or tanh.factor is not None:
        return
    u = made_by(graph, tanh.x, "mul")
    total = made_by(graph, with_scalar(u, 0.7978845608), "add")
    cubic = total and (made_by(graph, total.b, "mul") or made_by(graph, total.a, "mul"))
    cube = made_by(graph, with_scalar(cubic, 0.044715), "mul")
    if cube is None:
        return
    x = other(total, cubic.y)
    square = made_by(graph, other(cube, x), "mul")
    plus = only_reader(graph, tanh.y, "add")
    if square is None or not same(square.a, x) or not same(square.b, x) or with_scalar(plus, 1) is None:
        return
    last = only_reader(graph, plus.y, "mul")
    half = last and made_by(graph, other(last, plus.y), "mul")
    if with_scalar(half, 0.5) is None or not same(half.a, x):
        return
    new = Node("activation", last.name, {"x": x, "factor": None}, {"y": last.y}, {"kind": "GELU_TANH", "alpha": 0}, tanh.line)
    graph.replace([square, cube, cubic, total, u, tanh, plus, half, last], new, "gelu")


def gelu_erf(graph, erf):
    """0.5 x (1 + erf(x / sqrt(2))), in any order of its factors"""
    u, plus = made_by(graph, erf.x, "mul"), only_reader(graph, erf.y, "add")
    x = with_scalar(u, 0.7071067812)
    product = only_reader(graph, plus.y, "mul") if x is not None and with_scalar(plus, 1) is not None else None
    if product is None:
        return
    side, old = other(product, plus.y), [u, erf, plus, product]
    half = made_by(graph, side, "mul")
    if with_scalar(product, 0.5) is not None:
        last = only_reader(graph, product.y, "mul")
        if last is None or not same(other(last, product.y), x):
            return
        old.append(last)
    elif with_scalar(half, 0.5) is not None and same(half.a, x):
        old.insert(0, half)
    else:
        last = only_reader(graph, product.y, "mul")
        if not same(side, x) or with_scalar(last, 0.5) is None:
            return
        old.append(last)
    new = Node("activation", old[-1].name, {"x": x, "factor": None}, {"y": old[-1].y}, {"kind": "GELU", "alpha": 0}, erf.line)
    graph.replace(old, new, "gelu")


def division_by_root(graph, div):
    """x / sqrt(y) as x * rsqrt(y), which other patterns know"""
    root = made_by(graph, div.b, "sqrt") or graph.writer(div.b) if div.kind == "div" else None
    if root is None or root.op != "sqrt" or not graph.only_read_by(root.y, div) or div.a.buffer is root.y.buffer:
        return
    if scalar(div.a) == 1 and same(div.b, root.y):
        graph.replace([root, div], Node("rsqrt", div.name, root.inputs, div.outputs, {}, root.line), "reciprocal root")
        return
    a, b = (div.b, div.a) if div.a.is_constant else (div.a, div.b)
    root.op, div.op, div.inputs, div.attrs = "rsqrt", "mul", {"a": a, "b": b}, {}


def rms_norm(graph, rsqrt):
    """x * rsqrt(mean(x^2) + epsilon) * weight"""
    plus = made_by(graph, rsqrt.x, "add")
    epsilon = plus and scalar(plus.b)
    mean = made_by(graph, plus.a, "mean") if epsilon is not None else None
    square = mean and made_by(graph, mean.x, "mul")
    product = only_reader(graph, rsqrt.y, "mul")
    if square is None or product is None or not same(square.a, square.b):
        return
    x = other(product, rsqrt.y)
    if not same(square.a, x) or mean.axes != [len(x.shape) - 1]:
        return
    factor, rows = other(product, x), x.shape[:-1]
    links = (plus.a, mean.y), (rsqrt.x, plus.y), (factor.select(-1, 0), rsqrt.y)
    if views.merged(factor.dims[-1]) != [(x.shape[-1], 0)] or not all(same(*(one.reshape(rows) for one in pair)) for pair in links):
        return
    old, weight = [square, mean, plus, rsqrt, product], None
    scaled = only_reader(graph, product.y, "mul")
    if scaled is not None and scaled.b.is_constant and same(
            scaled.a, product.y) and not any(stride for dim in scaled.b.dims[:-1] for _, stride in dim):
        weight = scaled.b.reshape([*scaled.b.shape])
        weight = Tensor(weight.buffer, weight.dims[-1:], weight.offset)
        old.append(scaled)
    new = Node("norm", old[-1].name, {"x": x, "weight": weight, "bias": None}, {"y": old[-1].y},
               {"kind": "RMS", "epsilon": epsilon}, rsqrt.line)
    graph.replace(old, new, "rms norm")


def rope(graph, total):
    """x cos + cat(-second half of x, first half of x) sin, with constant tables"""
    products = made_by(graph, total.a, "mul"), made_by(graph, total.b, "mul")
    if None in products or not all(one.b.is_constant for one in products):
        return
    for plain, turned in (products, products[::-1]):
        x, parts = plain.a, [node for node in graph.nodes if node.outputs["y"].buffer is turned.a.buffer]
        half = x.shape[-1] // 2
        if len(parts) != 2 or any(part.op != "copy" for part in parts) or x.shape[-1] % 2:
            continue
        negative = made_by(graph, parts[0].x, "mul")
        first, second = x.slice(-1, 0, half), x.slice(-1, half, 2 * half)
        if with_scalar(negative, -1) is None or not same(negative.a, second) or not same(parts[1].x, first):
            continue
        tables = [table_of(one.b, half) for one in (plain, turned)]
        if any(table is None for table in tables) or not graph.only_read_by(turned.a, turned):
            continue
        inputs = {"x": x, **{key: shared_constant(graph, key, table) for key, table in zip(("cos", "sin"), tables)}}
        new = Node("rope", total.name, inputs, {"y": total.y}, {"layout": "HALF_SPLIT"}, total.line)
        graph.replace([negative, *parts, plain, turned, total], new, "rope")
        return


def table_of(constant, half):
    """[tokens][half] of a table that is the same for all entries and heads, and in both halves."""
    if any(stride for dim in constant.dims[:-2] for _, stride in dim):
        return None
    while len(constant.dims) > 2:
        constant = constant.select(0, 0)
    data = constant.data
    return data[:, :half] if np.array_equal(data[:, :half], data[:, half:]) else None


def shared_constant(graph, name, data):
    """A constant with these numbers: one for all that ask."""
    key = name, data.tobytes(), data.shape
    if key not in graph.shared:
        graph.shared[key] = graph.constant(name, data)
    return graph.shared[key]


# ------------------------------------------------------------------------------------------------ pairs of layers


def silu(graph, sigmoid):
    """x sigmoid(x)"""
    if sigmoid.kind != "SIGMOID" or sigmoid.factor is not None:
        return
    product = only_reader(graph, sigmoid.y, "mul")
    if product is None or not same(other(product, sigmoid.y), sigmoid.x):
        return
    new = Node("activation", product.name, sigmoid.inputs, {"y": product.y}, {**sigmoid.attrs, "kind": "SILU"}, product.line)
    graph.replace([sigmoid, product], new, "silu")


LAYERS = "linear", "depthwise"  # with a row of weights for each output


def by_output(graph, node):
    """A layer whose outputs alone `node`, a sum or product with constants, reads; a constant for each output; and the sum or
    product in the layout of the outputs."""
    layer = graph.writer(node.a) if node.b.is_constant else None
    if layer is None or layer.op not in LAYERS or layer.activation or not graph.only_read_by(layer.y, node):
        return None
    y, outputs = relaid(node.y, node.a, layer.y), layer.y.dims[-1]
    moving = [axis for axis, dim in enumerate(node.b.dims) if any(stride for size, stride in dim if size > 1)]
    if y is None or len(moving) > 1 or moving and views.merged(node.a.dims[moving[0]]) != views.merged(outputs):
        return None
    row = node.b
    for axis in range(len(row.dims)):
        row = row if moving == [axis] else row._with([() if other == axis else dim for other, dim in enumerate(row.dims)])
    return layer, np.broadcast_to(row.data.reshape(-1), layer.weight.shape[:1]).astype(np.float64), y


def linear_bias(graph, add):
    """x W^T + b"""
    found = by_output(graph, add)
    if found is None:
        return
    layer, row, y = found
    bias = row if layer.bias is None else row + layer.bias.data.reshape(-1)
    inputs = {**layer.inputs, "bias": shared_constant(graph, layer.name + "_bias", bias.astype(np.float32))}
    graph.replace([layer, add], Node(layer.op, layer.name, inputs, {"y": y}, layer.attrs, layer.line), "linear + bias")


def linear_scale(graph, product):
    """(x W^T + b) s, of a batch norm or of a scale of the layer's outputs: in the weights"""
    found = by_output(graph, product)
    if found is None:
        return
    layer, row, y = found
    inputs = dict(layer.inputs)
    inputs["weight"] = scaled(graph, layer.weight, layer.weight.data * row[:, None])
    if layer.bias is not None:
        inputs["bias"] = scaled(graph, layer.bias, layer.bias.data.reshape(-1) * row)
    graph.replace([layer, product], Node(layer.op, layer.name, inputs, {"y": y}, layer.attrs, layer.line), "scale in weights")


def linear_of_scaled(graph, linear):
    """(x s + t) W^T + b, of a batch norm before the layer: in the weights and the bias"""
    while True:
        node = graph.writer(linear.x)
        if node is None or node.op not in ("add", "mul") or not node.b.is_constant or not graph.only_read_by(node.y, linear):
            return
        moving = [axis for axis, dim in enumerate(node.b.dims) if any(stride for size, stride in dim if size > 1)]
        inner = views.merged(linear.x.dims[-1])
        x = view_like(node, linear.x) if linear.x.count == node.y.count and linear.x.offset == node.y.offset else None
        if x is None or len(moving) > 1 or moving and views.merged(node.y.dims[moving[0]]) != inner:
            return
        row = node.b
        for axis in range(len(row.dims)):
            row = row if moving == [axis] else row._with([() if other == axis else dim for other, dim in enumerate(row.dims)])
        row = np.broadcast_to(row.data.reshape(-1), linear.weight.shape[1:]).astype(np.float64)
        inputs = {**linear.inputs, "x": x}
        if node.op == "mul":
            inputs["weight"] = scaled(graph, linear.weight, linear.weight.data * row)
        else:
            bias = linear.weight.data.astype(np.float64) @ row + (0 if linear.bias is None else linear.bias.data.reshape(-1))
            inputs["bias"] = graph.constant(linear.name + "_bias", bias.astype(np.float32))
        new = Node("linear", linear.name, inputs, linear.outputs, linear.attrs, linear.line)
        graph.replace([node, linear], new, "scale in weights")
        linear = new


def scaled(graph, old, data):
    """A constant in the place of one, with its name."""
    return graph.constant(old.name, data.astype(np.float32))


def gate(graph, product):
    """silu(x) * y"""
    for role in "ab":
        silu = made_by(graph, product.inputs[role], "activation")
        factor = other(product, silu.y) if silu else None
        if silu and silu.factor is None and silu.kind == "SILU" and same(product.inputs[role], silu.y) and all(
                stride for dim in factor.dims for _, stride in dim) and graph.only_read_by(silu.y, product):
            new = Node("activation", product.name, {"x": silu.x, "factor": factor}, {"y": product.y}, silu.attrs, product.line)
            graph.replace([silu, product], new, "gate")
            return


def residual_norm(graph, norm):
    """A sum that is normalised, and may be read by others, too."""
    if norm.residual is not None:
        return
    add = made_by(graph, norm.x, "add")
    y = add and reshaped(norm.y, norm.x, add.y)
    if y is None:
        return
    a, b = add.a, add.b
    if isinstance(b, Hiding):
        return
    if any(not dim or dim[-1][1] != 1 for dim in (a.dims[-1], b.dims[-1], add.y.dims[-1])):
        return  # the elements of a row are adjacent
    outputs = {"y": y}
    if not graph.only_read_by(add.y, norm):
        outputs["sum"] = add.y
    new = Node("norm", norm.name, {**norm.inputs, "x": a, "residual": b}, outputs, norm.attrs, norm.line)
    graph.replace([norm, add], new, "residual + norm")


def linear_activation(graph, activation):
    """activation(x W^T + b)"""
    if activation.factor is not None or activation.alpha:
        return
    linear = made_by(graph, activation.x, "linear")
    if linear is None or linear.activation or not graph.only_read_by(linear.y, activation):
        return
    y = relaid(activation.y, activation.x, linear.y)
    if y is None:
        return
    new = Node("linear", linear.name, linear.inputs, {"y": y}, {"activation": activation.kind}, linear.line)
    graph.replace([activation, linear], new, "linear + activation")


# ----------------------------------------------------------------------------------------------------- no copies


def in_place(graph, copy):
    """A tensor that is only copied is computed where the copy would be."""
    node = graph.writer(copy.x)
    if node is None or node.op == "copy" or node.y.buffer is not copy.x.buffer:
        return
    reach = sum((size - 1) * abs(stride) for dim in copy.x.dims for size, stride in dim)
    if copy.x.count != node.y.buffer.count or reach >= copy.x.count or not graph.only_read_by(node.y, copy):
        return
    loops = views.joint([copy.x, copy.y])
    dims = views.relocated(node.y.dims, loops) if loops is not None else None
    if dims is None:
        return
    y = Tensor(copy.y.buffer, dims, copy.y.offset)
    row = views.merged(dims[-1])
    if node.op not in ("linear", "norm", "add", "mul", "activation") or not row or row[-1][1] != 1:
        return
    if node.op in ("linear", "norm") and len(row) > 1:
        return
    rows = views.joint([Tensor(one.buffer, one.dims[:-1]) for one in (y, node.x or y)])
    if node.op == "linear" and (rows is None or len(rows) > 1):
        return
    node.outputs["y"] = y
    graph.nodes.remove(copy)
    graph.fused["written in place"] = graph.fused.get("written in place", 0) + 1

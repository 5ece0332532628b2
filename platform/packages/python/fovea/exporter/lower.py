# SPDX-License-Identifier: Apache-2.0
"""Makes a call of each node: with counts and strides, and with a copy before it where a layout is not served."""
import math

import numpy as np

from . import loops, lower_windows, views
from .calls import Call, Plan, given
from .graph import Buffer, Hiding, Moving, Node, NotServed, Tensor, dense
from .attention_patterns import shared_heads
from .lower_multihead import multihead
from .masks import lower_mask


LOOP_OF = {"and": "both"}  # words of Python
MATRICES = 64  # of a product that are computed one by one


class Lowering:
    """Of a graph. weights: a weights.Weights, which has the constants in their formats."""

    def __init__(self, graph, weights):
        self.graph, self.weights = graph, weights
        self.calls, self.plans, self.line, self.prefix = [], [], "", ""
        self.other = {}  # constants in other layouts or as codes; and of masks, what masks.lengths_of says
        self.later = {}  # an output of a node -> the tensor that is computed, and copied there afterwards

    def run(self):
        """The calls, and their plans."""
        for node in self.graph.nodes:
            self.line = node.line
            self.lower(node)
            for y, computed in self.later.items():
                self.moved(computed, y)
            self.later = {}
        self.outputs()
        needed = {one.buffer for one in self.graph.outputs}
        for call in reversed(list(self.calls)):  # those of masks whose place lengths took are not read
            if call.writes and not any(one.buffer in needed for one in call.writes):
                self.calls.remove(call)
            needed.update(one.buffer for one in call.reads if call in self.calls)
        return self.calls, self.plans

    def lower(self, node):
        function = getattr(self, LOOP_OF.get(node.op, node.op), None)
        function(node) if function else self.loop(
            Node("loop", node.name, {"a": node.x}, node.outputs, {"kind": node.op}, node.line))

    def call(self, function, struct, fields, reads, writes, name, **more):
        reads = [one for one in reads if one is not None]
        source = writes[0].buffer.source if writes else ""
        self.calls.append(Call(function, struct, fields, reads, writes, name, self.line, source=source, **more))

    def moved(self, x, y):
        """A call that copies x to y: two tensors of one shape, in any layouts."""
        loops = views.joint([y, x])
        if loops is None or len(loops) > 8:
            raise NotServed("copy of this layout", self.line, "fewer permutations of dimensions")
        self.call("copy", "", {"y": y, "x": x, "loops": loops}, [x], [y], y.name)

    def dense(self, x, dims=None):
        """The tensor in another layout: a constant is stored so, another is copied."""
        dims = layout(x, dims)
        if isinstance(x, Moving):
            raise NotServed("a constant of positions in this layout", self.line, "a row for each position")
        if x.is_constant:
            key = x.buffer, x.dims, x.offset, dims
            if key not in self.other:
                order = np.empty(x.count, x.buffer.dtype)
                y = self.graph.constant(x.name, order)
                y = Tensor(y.buffer, dims)
                y.buffer.data = order
                view = np.lib.stride_tricks.as_strided(order, [size for dim in dims for size, _ in dim],
                                                       [stride * order.itemsize for dim in dims for _, stride in dim], writeable=True)
                view[...] = x.data.reshape(view.shape)
                self.other[key] = y
            return self.other[key]
        y = self.graph.arena(x.name + "_rows", dims, x.buffer.dtype)
        self.moved(x, y)
        return y

    def computed(self, y, dims=None):
        """What a call writes in the place of an output whose layout it does not serve: copied there afterwards."""
        self.later[y] = self.graph.arena(y.name + "_rows", layout(y, dims), y.buffer.dtype)
        self.later[y].buffer.source = y.buffer.source
        return self.later[y]

    def grid(self, loops, tensors):
        """batch, heads and tokens of a call, and the strides of each tensor in them."""
        loops = [*[(1, (0,) * len(tensors))] * (3 - len(loops)), *loops]
        counts = {key: size for key, (size, _) in zip(("batch", "heads", "tokens"), loops)}
        return counts, [given(data=tensor, **{f"{key}_stride": loop[1][index] for key, loop in zip(("batch", "head", "token"), loops)})
                        for index, tensor in enumerate(tensors)]

    def rows(self, outputs, inputs):
        """The rows of several tensors of one shape: counts, dim, and an array for each. The last dimension is a row."""

        def fitting(tensors):
            loops = views.joint(tensors, last=1)
            return loops is not None and len(loops) <= 3 and all(stride_of(one.dims[-1]) == 1 for one in tensors)

        ready = [*outputs, *inputs]
        if not fitting(ready):
            y = outputs[0] if fitting(outputs[:1]) else self.computed(outputs[0])
            ready = [y, *(one if fitting([y, one]) else self.computed(one, y.dims) for one in outputs[1:])]
            ready += [one if fitting([*ready, one]) else self.dense(one, y.dims) for one in inputs]
        counts, arrays = self.grid(views.joint(ready, last=1), ready)
        return counts, ready[0].shape[-1] if ready[0].dims else 1, arrays, ready

    def elements(self, y, *tensors):
        """The same of an output and inputs of a function of each element: a row may have several dimensions, or a part
        of one."""

        def fitting(*tensors):
            loops = views.joint(tensors)
            return loops is not None and len(loops) <= 4 and all(stride == 1 for _, strides in loops[-1:] for stride in strides)

        y = y if fitting(y) else self.computed(y)
        ready = [y, *(self.spread(one, y) for one in tensors)]
        ready = [y, *(one if fitting(y, one) else self.dense(one, y.dims) for one in ready[1:])]
        if not fitting(*ready):
            ready = [y, *(self.dense(one, y.dims) for one in ready[1:])]
        loops = views.joint(ready) or [(1, (1,) * len(ready))]
        counts, arrays = self.grid(loops[:-1], ready)
        return counts, loops[-1][0], arrays, ready

    def spread(self, x, y):
        """A constant that repeats one number along the rows of y has a row of it."""
        axis = next((axis for axis, dim in enumerate(y.dims) if dim and dim[-1][1] == 1), None)
        if axis is None or not x.is_constant or stride_of(x.dims[axis]) != 0:
            return x
        row = x
        for other, dim in enumerate(x.dims):
            row = row.slice(other, 0, 1) if other != axis and stride_of(dim) == 0 else row
        return self.dense(row).expand(x.shape)

    def one_stride(self, x):
        """The rows of x with one stride, as linear layers take them: (tensor, rows, stride)."""
        loops = views.joint([x], last=1)
        if len(loops) > 1 or stride_of(x.dims[-1]) != 1:
            x = self.dense(x, views.like(x, [x.shape[-1]], len(x.dims) - 1))
            loops = views.joint([x], last=1)
        count, stride = (loops[0][0], loops[0][1][0]) if loops else (1, x.shape[-1])
        return x, count, stride

    def rows_like(self, y, x):
        """The output of a linear layer with one stride for its rows, in the order of those of x; and the stride."""
        loops = views.joint([y, x], last=1)
        if loops is None or len(loops) > 1 or stride_of(y.dims[-1]) != 1:
            y = self.computed(y, views.like(x, [y.shape[-1]], len(x.dims) - 1))
            loops = views.joint([y, x], last=1)
        return y, loops[0][1][0] if loops else y.shape[-1]

    def copy(self, node):
        self.moved(node.x, node.y)

    def invert(self, node):
        self.call("invert", "", {"y": node.y, "x": node.x}, [node.x], [node.y], node.name)

    def lengths(self, node):
        """A mask of bytes: node.shows for each entry's tokens below its length, which is checked."""
        x, y, places = node.x, node.y, self.graph.constant(f"{node.name}_places", np.arange(node.y.shape[-1], dtype=np.uint32))
        self.call("check", "", {"lengths": x, "most": y.shape[-1], "suffix": "_lengths"}, [x], [], node.name)
        inputs = {"a": x.unsqueeze(-1).expand(y.shape), "b": places.expand(y.shape)}
        self.loop(Node("loop", node.name, inputs, node.outputs, {"kind": "gt" if node.shows else "le"}, node.line))

    def loop(self, node):
        loops.lower(self, node)

    def both(self, node):
        """A mask that a pattern did not take apart."""
        self.loop(Node("loop", node.name, node.inputs, node.outputs, {"kind": "logical_and"}, node.line))

    def depthwise(self, node):
        lower_windows.depthwise(self, node)

    def linear(self, node):
        for x, y in lower_windows.parts(self, node.x, node.y):
            self.rows_of_linear(node, x, y)

    def rows_of_linear(self, node, x, y):
        x, tokens, x_stride = self.one_stride(x)
        out, dim = node.weight.shape
        y, y_stride = self.rows_like(y, x)
        weights, reads, compute = self.weights.linear(node.weight, node.bias, node.name)
        fields = given(tokens=tokens, in_dim=dim, out_dim=out, x=x, x_stride=x_stride, y=y, y_stride=y_stride, weights=weights,
                       compute=compute, activation=node.activation and f"FOVEA_ACTIVATION_{node.activation}")
        dtype = weights.get("dtype", "FOVEA_F32")
        size = f"FOVEA_LINEAR_I8_WORKSPACE_BYTES({dim})" if compute else f"FOVEA_LINEAR_WORKSPACE_BYTES({dim}, {dtype})"
        self.call("fovea_linear", "linear", fields, [x, *reads], [y], node.name, workspace=size, macs=tokens * dim * out)

    def matmul(self, node):
        outer = math.prod(node.y.shape[:-2])
        if outer > MATRICES:
            raise NotServed(f"a product of {outer} computed matrices", node.line,
                            "scaled_dot_product_attention, where it is attention")
        tokens, dim = node.a.shape[-2:]
        out = node.b.shape[-1]
        flat = [self.matrices(one, outer) for one in (node.a, node.b.transpose(-1, -2))]
        flat.append(self.matrices(node.y, outer, self.computed))
        for index in range(outer):
            a, b, y = (one.select(0, index) for one in flat)
            fields = given(tokens=tokens, in_dim=dim, out_dim=out, x=a, x_stride=stride_of(a.dims[0]), y=y,
                           y_stride=stride_of(y.dims[0]), weights=given(data=b, row_stride=stride_of(b.dims[0])))
            self.call("fovea_linear", "linear", fields, [a, b], [y], node.name, macs=tokens * dim * out,
                      workspace=f"FOVEA_LINEAR_WORKSPACE_BYTES({dim}, FOVEA_F32)")

    def matrices(self, x, outer, other=None):
        """The tensor as some matrices whose rows have one stride. other: makes it where it is none."""
        flat = x.reshape([outer, *x.shape[-2:]])
        if flat is None or stride_of(flat.dims[2]) != 1 or stride_of(flat.dims[1]) is None:
            flat = (other or self.dense)(x).reshape([outer, *x.shape[-2:]])
        return flat

    def norm(self, node):
        written, read = list(node.outputs), ["x"] + ["residual"] * (node.residual is not None)
        counts, dim, arrays, ready = self.rows(list(node.outputs.values()), [getattr(node, role) for role in read])
        arrays = dict(zip([*written, *read], arrays))
        weight, bias = (one and self.row_of(one) for one in (node.weight, node.bias))
        fields = given(norm=f"FOVEA_NORM_{node.kind}", epsilon=node.epsilon, **counts, dim=dim, **arrays, weight=weight,
                       bias=bias, weight_offset=node.weight_offset)
        self.call("fovea_norm", "norm", fields, [*ready[len(written):], weight, bias], ready[:len(written)], node.name)

    def row_of(self, weight):
        return weight if weight.is_dense() else self.dense(weight)

    def activation(self, node):
        inputs = [node.x] + [node.factor] * (node.factor is not None)
        counts, dim, arrays, ready = self.elements(node.y, *inputs)
        fields = given(activation=f"FOVEA_ACTIVATION_{node.kind}", alpha=node.alpha, **counts, dim=dim,
                       **dict(zip(("y", "x", "factor"), arrays)))
        self.call("fovea_activation", "activation", fields, ready[1:], ready[:1], node.name)

    def pair(self, node, function):
        if isinstance(node.b, Hiding):  # a mask of attention that no pattern found
            low = self.graph.constant(node.name + "_low", np.float32([node.b.low])).reshape([]).expand(node.y.shape)
            self.loop(Node("loop", node.name, {"a": node.b, "b": node.a, "c": low}, node.outputs, {"kind": "hide"}, node.line))
            return
        counts, dim, arrays, ready = self.elements(node.y, node.a, node.b)
        fields = given(**counts, dim=dim, **dict(zip(("y", "a", "b"), arrays)))
        self.call(function, "binary", fields, ready[1:], ready[:1], node.name)

    def add(self, node):
        self.pair(node, "fovea_add")

    def mul(self, node):
        self.pair(node, "fovea_multiply")

    def mean(self, node):
        fields, x = self.pooled(node, node.x, node.y)
        self.call("fovea_pooling", "pooling", {"pooling": "FOVEA_POOLING_MEAN", **fields}, [x], [node.y], node.name)

    def pooled(self, node, x, y):
        """The counts and arrays of a mean over the last dimension of x, which become tokens; and x."""
        for dense in (False, True):
            x = self.dense(x) if dense else x
            grid, token_stride = views.joint([y, x.select(-1, 0)]), stride_of(x.dims[-1])
            dim, grid = (grid[-1][0], grid[:-1]) if grid and grid[-1][1] == (1, 1) else (1, grid)
            if grid is not None and len(grid) < 3 and token_stride is not None:
                break
        else:
            raise NotServed("mean over these dimensions", node.line, "a mean of the last dimensions, or of tokens")
        (batch, (yb, xb)), (heads, (yh, xh)) = [*[(1, (0, 0))] * (2 - len(grid)), *grid]
        return given(batch=batch, heads=heads, tokens=x.shape[-1], dim=dim, y=given(data=y, batch_stride=yb, head_stride=yh),
                     x=given(data=x, batch_stride=xb, head_stride=xh, token_stride=token_stride)), x

    def softmax(self, node, function="fovea_softmax"):
        x = node.x if node.x.is_dense() else self.dense(node.x)
        outer, inner = math.prod(x.shape[:node.axis]), math.prod(x.shape[node.axis + 1:])
        axis = x.shape[node.axis]
        fields = given(outer=outer, axis=axis, inner=inner, y=node.y, y_outer_stride=axis * inner,
                       y_axis_stride=inner, x_outer_stride=axis * inner, x_axis_stride=inner, x=x)
        self.call(function, "softmax", fields, [x], [node.y], node.name)

    def log_softmax(self, node):
        self.softmax(node, "fovea_log_softmax")

    def embedding(self, node):
        ids = node.ids if node.ids.is_dense() else self.dense(node.ids)
        rows, dim = node.table.shape
        table, reads, _ = self.weights.linear(node.table, None, node.name, compute=False)
        fields = given(tokens=ids.count, dim=dim, rows=rows, y=node.y, y_stride=dim, indices=ids, table=table)
        self.call("fovea_embedding", "embedding", fields, [ids, *reads], [node.y], node.name)

    def rope(self, node):
        """Tokens are a loop of their own, so that their positions count from 0."""
        y, x = (one if stride_of(one.dims[-1]) == 1 else other(one) for one, other in ((node.y, self.computed), (node.x, self.dense)))
        loops = views.joint([Tensor(one.buffer, one.dims[:-2]) for one in (y, x)])
        strides = [stride_of(one.dims[-2]) for one in (y, x)]
        if loops is None or len(loops) > 2 or None in strides:
            raise NotServed("rope of this layout", node.line, "[batch, heads, tokens, dim]")
        counts, (y_fields, x_fields) = self.grid([*[(1, (0, 0))] * (2 - len(loops)), *loops, (x.shape[-2], tuple(strides))], [y, x])
        fields = given(**counts, dim=x.shape[-1], layout=f"FOVEA_ROPE_{node.layout}", y=y_fields, x=x_fields,
                       cos=node.cos, sin=node.sin, table_stride=node.cos.shape[-1], table_positions=node.cos.shape[0],
                       rotary_dim=node.rotary_dim)
        self.call("fovea_rope", "rope", fields, [x, node.cos, node.sin], [y], node.name)

    def attention(self, node):
        q, k, v = node.q, node.k, node.v
        k, v, kv_heads = shared_heads(k, v)
        q, k, v = (one if is_array(one) else self.dense(one) for one in (q, k, v))
        batch, heads, tokens, dim = q.shape
        keys, value_dim = k.shape[2], v.shape[3]
        default = 1 / math.sqrt(dim)
        scale = 0 if math.isclose(node.scale, default, rel_tol=1e-7) else node.scale
        causal, hiding, mask_reads = lower_mask(self, node.mask, bool(node.causal))
        desc = given(q_heads=heads, kv_heads=kv_heads, head_dim=dim, value_dim=value_dim, max_batch=batch,
                     max_q_tokens=tokens, max_kv_tokens=keys, scale=scale, causal=causal, softcap=node.softcap)
        y, weights = (one if one is None or is_array(one) else self.computed(one) for one in (node.y, node.outputs.get("weights")))
        fields = given(batch=batch, q_tokens=tokens, kv_tokens=keys, q=array(q), kv={"keys": array(k), "values": array(v)}, out=array(y),
                       scores=weights and array(weights), scores_stage=weights and "FOVEA_SCORES_SOFTMAX", sinks=node.sinks,
                       **hiding)
        self.call("fovea_attention", "attention", fields, [q, k, v, node.sinks, *mask_reads], [y] + [weights] * (weights is not None), node.name,
                  plan=self.plan("attention", desc), workspace=f"FOVEA_ATTENTION_WORKSPACE_BYTES({dim}, {value_dim})",
                  macs=batch * heads * tokens * keys * (dim + value_dim) // (2 if causal else 1))

    def multihead(self, node):
        multihead(self, node)

    def plan(self, struct, fields):
        for plan in self.plans:
            if plan.struct == struct and plan.fields == fields:
                return plan
        number = sum(plan.struct == struct for plan in self.plans)
        self.plans.append(Plan(f"{self.prefix}{struct}_plan" + (f"_{number + 1}" if number else ""), struct, fields))
        return self.plans[-1]

    def outputs(self):
        """Each output becomes an array of the caller's: written in place, or copied at the end."""
        for index, tensor in enumerate(self.graph.outputs):
            shared = sum(other.buffer is tensor.buffer for other in self.graph.outputs) > 1
            whole = tensor.count == tensor.buffer.count and tensor.offset == 0 and tensor.is_dense()
            if tensor.buffer.kind == "arena" and whole and not shared:
                tensor.buffer.kind, tensor.buffer.name = "output", self.graph.unique("out")
            else:
                y = dense(Buffer(self.graph.unique("out"), "output", tensor.count, tensor.buffer.dtype), tensor.shape)
                self.moved(tensor, y)
                self.graph.outputs[index] = y


def stride_of(dim):
    """The stride of a dimension that is one loop; 1 if it has one element; None if it is several loops."""
    loops = views.merged(dim)
    return loops[0][1] if len(loops) == 1 else 1 if not loops else None


def layout(x, dims):
    """These dimensions, by default those of a dense array, for a new array of the tensor's elements alone."""
    dims = views.dense_dims(x.shape) if dims is None else dims
    if sum((size - 1) * stride for dim in dims for size, stride in dim) >= x.count:  # of a part of an array
        dims = views.like(Tensor(x.buffer, dims), [], len(dims))
    return dims


def is_array(x):
    return stride_of(x.dims[3]) == 1 and all(stride_of(dim) is not None for dim in x.dims)


def array(x):
    """The fields of a fovea_in or fovea_out."""
    if not is_array(x):
        raise NotServed("attention of this layout", "", "[batch, heads, tokens, dim]")
    strides = [stride_of(dim) if size > 1 else 0 for dim, size in zip(x.dims, x.shape)]
    return given(data=x, batch_stride=strides[0], head_stride=strides[1], token_stride=strides[2])

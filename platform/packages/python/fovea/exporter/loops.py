# SPDX-License-Identifier: Apache-2.0
"""Plain loops of model.c, for operations that fovea has no function for: a row of LOOPS each, and one text in C for all."""
import math
import re
from dataclasses import dataclass

import numpy as np

from . import views
from .graph import Hiding, NotServed, Tensor, dense

BOOL, WHOLE, FLOAT = np.dtype(np.uint8), np.dtype(np.uint32), np.dtype(np.float32)  # whole numbers have 32 bits and a sign
FUNCTION = 20  # of a function of C's library, in multiply-adds


@dataclass(frozen=True)
class Loop:
    """y = text, of the operands {a}, {b} and {c}. numpy: the same of arrays. result: its type; None for that of its operands,
    but for the first `booleans`. cost of an element, in multiply-adds."""
    text: str
    numpy: object
    result: np.dtype = None
    cost: int = 1
    booleans: int = 0


def rounded(x):
    """A float as a whole number, as PyTorch converts it: what has none is the least."""
    return np.trunc(np.where(abs(x) < 2.0**31, x, -2.0**31)).astype(np.int64) if x.dtype.kind == "f" else x


def softplus(a, b, c):
    with np.errstate(over="ignore"):
        return np.where(a * b > c, a, np.log1p(np.exp(a * b)) / b)


LOOPS = {
    "same": Loop("{a}", lambda a: a),
    "exp": Loop("expf({a})", np.exp, FLOAT, FUNCTION),
    "expm1": Loop("expm1f({a})", np.expm1, FLOAT, FUNCTION),
    "log": Loop("logf({a})", np.log, FLOAT, FUNCTION),
    "log1p": Loop("log1pf({a})", np.log1p, FLOAT, FUNCTION),
    "sqrt": Loop("sqrtf({a})", np.sqrt, FLOAT, FUNCTION),
    "rsqrt": Loop("1.0f / sqrtf({a})", lambda a: 1 / np.sqrt(a), FLOAT, FUNCTION),
    "sin": Loop("sinf({a})", np.sin, FLOAT, FUNCTION),
    "cos": Loop("cosf({a})", np.cos, FLOAT, FUNCTION),
    "erf": Loop("erff({a})", np.vectorize(math.erf, otypes=[np.float32]), FLOAT, FUNCTION),
    "floor": Loop("floorf({a})", np.floor, FLOAT),
    "ceil": Loop("ceilf({a})", np.ceil, FLOAT),
    "round": Loop("rintf({a})", np.rint, FLOAT),
    "abs": Loop("fabsf({a})", np.abs, FLOAT),
    "sign": Loop("{a} > 0 ? 1 : {a} < 0 ? -1 : 0", lambda a: (a > 0).astype(np.int8) - (a < 0)),  # PyTorch's: 0 for NaN
    "sign_or_nan": Loop("{a} > 0 ? 1 : {a} < 0 ? -1 : {a}", np.sign),
    "add": Loop("{a} + {b}", np.add),
    "mul": Loop("{a} * {b}", np.multiply),
    "sub": Loop("{a} - {b}", np.subtract),
    "div": Loop("{a} / {b}", np.divide, FLOAT, 10),
    "pow": Loop("powf({a}, {b})", np.power, FLOAT, 3 * FUNCTION),
    "maximum": Loop("{a} > {b} || {a} != {a} ? {a} : {b}", np.maximum),  # NaN stays NaN
    "minimum": Loop("{a} < {b} || {a} != {a} ? {a} : {b}", np.minimum),
    "isnan": Loop("{a} != {a}", np.isnan, BOOL),
    "leaky_relu": Loop("{a} > 0 ? {a} : {a} * {b}", lambda a, b: np.where(a > 0, a, a * b), FLOAT),
    "elu": Loop("{a} > 0 ? {a} : {b} * expm1f({a})", lambda a, b: np.where(a > 0, a, b * np.expm1(np.minimum(a, 0))), FLOAT,
                FUNCTION),
    "softplus": Loop("{a} * {b} > {c} ? {a} : log1pf(expf({a} * {b})) / {b}", softplus, FLOAT, 2 * FUNCTION),
    "eq": Loop("{a} == {b}", np.equal, BOOL),
    "ne": Loop("{a} != {b}", np.not_equal, BOOL),
    "lt": Loop("{a} < {b}", np.less, BOOL),
    "le": Loop("{a} <= {b}", np.less_equal, BOOL),
    "gt": Loop("{a} > {b}", np.greater, BOOL),
    "ge": Loop("{a} >= {b}", np.greater_equal, BOOL),
    "logical_and": Loop("{a} && {b}", np.logical_and, BOOL),
    "logical_or": Loop("{a} || {b}", np.logical_or, BOOL),
    "logical_xor": Loop("({a} != 0) != ({b} != 0)", np.logical_xor, BOOL),
    "where": Loop("{a} ? {b} : {c}", lambda a, b, c: np.where(a != 0, b, c), booleans=1),
    "hide": Loop("{a} ? {b} : {b} + {c}", lambda a, b, c: np.where(a != 0, b, b + c)),
    "float": Loop("{a}", lambda a: a, FLOAT),
    "whole": Loop("{a}", rounded, WHOLE),
}
ROLES = "abc"
ROUNDING = set("floor ceil round whole equal greater greaterorequal less lessorequal".split())  # of a reader's kind_of
OF_ELEMENTS = set(
    "abs add clamp clip div expand flatten getitem hardtanh identity max maximum min minimum mul neg permute relu reshape rsub slice "
    "split squeeze sub to to_copy transpose unsqueeze view where".split())


# ---------------------------------------------------------------------------------------------------- for the readers


def dtype_of(reader, value):
    """BOOL, WHOLE or FLOAT: the type of a tensor, an array or a number."""
    if reader.is_live(value):
        return FLOAT if isinstance(value, Hiding) else value.buffer.dtype
    kind = np.asarray(value).dtype.kind
    return FLOAT if kind == "f" else BOOL if kind == "b" else WHOLE


def common(reader, values):
    return max((dtype_of(reader, one) for one in values), key=(BOOL, WHOLE, FLOAT).index)


def cast(reader, value, dtype):
    """The value as a tensor of the type."""
    if isinstance(value, Hiding):
        value = node(reader, "where", [value.shown(), np.float32(0), np.float32(value.low)])
    if not reader.is_live(value):
        if dtype == WHOLE and not (np.abs(np.asarray(value).astype(np.float64)) < 2**31).all():
            reader.refuse("of whole numbers of more than 32 bits", "numbers below 2^31")
        if hasattr(value, "shape") and dtype_of(reader, value) == dtype:
            return reader.tensor(value, "constant")
        value = np.asarray(value)
        return reader.tensor(value.astype({BOOL: bool, WHOLE: np.int64, FLOAT: np.float32}[dtype]), "constant")
    if value.buffer.dtype == dtype:
        return value
    if dtype == BOOL:
        return node(reader, "ne", [value, np.zeros((), value.buffer.dtype)])
    return node(reader, "float" if dtype == FLOAT else "whole", [value])


def is_alone(reader, x):
    """Whether nothing but this operation reads the input that x is a view of."""
    users = reader.users(x.buffer)
    while len(users) == 1 and users[0] is not reader.node:
        users = reader.users(users[0])
    return len(users) == 1


def is_rounded(reader):
    """Whether what this operation computes is rounded or compared, perhaps after others of elements: then its last bit counts."""
    nodes = [reader.node]
    for node in nodes:
        for user in reader.users(node):
            kind = reader.kind_of(user)
            if kind in ROUNDING:
                return True
            if kind in OF_ELEMENTS and not any(user is one for one in nodes):
                nodes.append(user)
    return False


def is_whole(reader, x):
    """Whether the numbers of a tensor are whole: made of booleans or whole numbers."""
    if x.is_constant or x.buffer.dtype != FLOAT:
        return x.buffer.dtype != FLOAT or not (x.data % 1).any()
    made = reader.graph.writer(x)
    kind = made and (made.kind or made.op)
    return kind in ("float", "floor", "ceil", "round") or kind in ("add", "mul", "copy", "abs", "where", "maximum", "minimum") and all(
        is_whole(reader, one) for one in made.inputs.values())


def unhidden(reader, kind, value, kept):
    """The value for an operation that has no sense for what a mask adds to scores: its numbers. kept: operations that have."""
    return cast(reader, value, FLOAT) if isinstance(value, Hiding) and kind not in kept else value


def node(reader, kind, values):
    """The loop of this kind over some values, which broadcast. Returns its result."""
    loop = LOOPS[kind]
    dtype = common(reader, values[loop.booleans:])
    if kind in ("float", "whole"):
        tensors = list(values)
    else:
        dtype = FLOAT if loop.result == FLOAT else WHOLE if kind in ("add", "mul", "sub") and dtype == BOOL else dtype
        tensors = [cast(reader, one, BOOL if index < loop.booleans else dtype) for index, one in enumerate(values)]
    shape = np.broadcast_shapes(*(one.shape for one in tensors))
    tensors = [one.expand(shape) for one in tensors]
    y = reader.graph.arena(reader.name(kind), order_of(tensors, shape), loop.result or dtype)
    return reader.graph.add("loop", y.name, dict(zip(ROLES, tensors)), y, reader.line, kind=kind)


def order_of(tensors, shape):
    """Dimensions of a new array, in the order of the first tensor that has all of the elements."""
    whole = [one for one in tensors if all(stride for dim in one.dims for size, stride in dim if size > 1) and not one.is_constant]
    return views.like(whole[0], [], len(shape)) if whole else views.dense_dims(shape)


def ordered(reader, x, order):
    """A copy of x with its dimensions in this order in memory, the outermost first."""
    y = reader.graph.copied(x.permute(order), reader.line)
    return y.permute(np.argsort(order).tolist())


def reduced(reader, kind, x, axes, keep):
    """The loop of this kind from each element to the next along some axes."""
    rank = len(x.shape)
    axes = list(
        range(rank)) if axes is None or axes == [] else [axis % rank for axis in ([axes] if isinstance(axes, int) else axes)]
    first = x._with([() if axis in axes else dim for axis, dim in enumerate(x.dims)])
    y = node(reader, "same", [first])
    along = y.expand(x.shape)
    if x.count > y.count:
        x = x if all(len(views.merged(x.dims[axis])) < 2 for axis in axes) else reader.copied(x)
        rest = x
        if len([axis for axis in axes if x.shape[axis] > 1]) == 1:
            axis = next(axis for axis in axes if x.shape[axis] > 1)
            rest, along = x.slice(axis, 1, x.shape[axis]), along.slice(axis, 1, x.shape[axis])
        elif kind in ("add", "mul"):
            for axis in axes:
                x = reduced(reader, kind, x, axis, True)
            return x if keep else x.squeeze(axes)
        reader.graph.add("loop", y.name, {"a": along, "b": rest}, along, reader.line, kind=kind)
    return y if keep else y.squeeze(axes)


def cumulative(reader, x, axis):
    """Sums of all elements up to each, along an axis."""
    count = x.shape[axis]
    y = node(reader, "same", [x])
    if count > 1:
        to, of = y.slice(axis, 1, count), y.slice(axis, 0, count - 1)
        reader.graph.add("loop", y.name, {"a": of, "b": to}, to, reader.line, kind="add")
    return y


# ------------------------------------------------------------------------------------------------------------- calls


def lower(lowering, node):
    """The call of a loop. All of its tensors are walked through together."""
    loop, y = LOOPS[node.kind], node.y
    tensors = list(node.inputs.values())
    loops = views.joint([y, *tensors])
    if loops is None or len(loops) > 8:
        tensors = [one if one.buffer is y.buffer else lowering.dense(one, y.dims) for one in tensors]
        loops = views.joint([y, *tensors])
    if loops is None or len(loops) > 8:
        raise NotServed(f"{node.kind} of this layout", node.line, "fewer permutations of dimensions")
    types = "".join("f" if one.buffer.dtype == FLOAT else "u" if one.buffer.dtype == WHOLE else "b" for one in tensors)
    work = loop.cost * math.prod(size for size, _ in loops)
    lowering.call(f"loop_{node.kind}" + (f"_{types}" if types.strip("f") else ""), "loop",
                  {"y": y, **dict(zip(ROLES, tensors)), "loops": loops, "kind": node.kind, "work": work}, tensors, [y], node.name)


def text(call, ctype):
    """The function of C that such calls share."""
    tensors = {role: call.fields[role] for role in "y" + ROLES if role in call.fields}
    inputs = [role for role in tensors if role != "y"]
    wraps = call.fields["kind"] in ("add", "mul", "sub")  # without a sign, where C says what becomes of too large a number
    forms = {WHOLE: "{}[0]" if wraps else "(int32_t){}[0]", BOOL: "({}[0] != 0)"}  # a byte that a caller gives may be any
    operands = {role: forms.get(tensors[role].buffer.dtype, "{}[0]").format(role) for role in inputs}
    kind = ctype(tensors["y"].buffer)
    value = LOOPS[call.fields["kind"]].text.format(**operands)
    value = value if tensors["a"].buffer.dtype == FLOAT else value.replace(f" || {operands['a']} != {operands['a']}", "")  # no NaN
    if kind == "uint32_t" and tensors["a"].buffer.dtype == FLOAT:  # C says nothing of a number that has no whole one
        value = f"{value} >= -2147483648.0f && {value} < 2147483648.0f ? (int32_t){value} : INT32_MIN"
    value = value if set(one.buffer.dtype for one in tensors.values()) == {FLOAT} else f"({kind})({value})"
    walked = "".join(f", {role} += {role}_step[0]" for role in tensors)
    parameters = ", ".join([f"{kind}* y", *(f"const {ctype(tensors[role].buffer)}* {role}" for role in inputs), "int dims",
                            "const size_t* size", *(f"const ptrdiff_t* {role}_step" for role in tensors)])
    inner = ", ".join([*tensors, "dims - 1", "size + 1", *(f"{role}_step + 1" for role in tensors)])
    return parameters, f"""  for (size_t i = 0; i < size[0]; ++i{walked}) {{
    if (dims > 1) {{
      {call.function}({inner});
    }} else {{
      y[0] = {value};
    }}
  }}
"""


def run(runner, call):
    """What the function computes, by numpy: an element at a time where it reads what it has written."""
    fields = call.fields
    tensors = [fields[role] for role in "y" + ROLES if role in fields]
    sizes = [size for size, _ in fields["loops"]]
    y, *inputs = (np.lib.stride_tricks.as_strided(
        runner.memory(one.buffer)[one.offset + getattr(one, "step", 0) * runner.position:], sizes,
        [steps[index] * one.buffer.dtype.itemsize for _, steps in fields["loops"]],
        writeable=index == 0) for index, one in enumerate(tensors))
    inputs = [one.view(np.int32) if one.dtype == WHOLE else one for one in inputs]
    function, out = LOOPS[fields["kind"]].numpy, y.view(np.int32) if y.dtype == WHOLE else y

    def compute(place):
        with np.errstate(all="ignore"):
            out[place] = function(*(one[place] for one in inputs))

    first = tensors[1]
    if first.buffer is not tensors[0].buffer:
        compute(...)
    elif first.offset == tensors[0].offset:  # along the dimensions in which y stands still
        still = [size if steps[0] == 0 else 1 for size, steps in fields["loops"]]
        for place in np.ndindex(*still):
            compute(tuple(one if steps[0] == 0 else slice(None) for one, (_, steps) in zip(place, fields["loops"])))
    else:
        for place in np.ndindex(*sizes):
            compute(place)


def functions():
    """The functions of C's library that loops may call."""
    return set(re.findall(r"\b([a-z]+\d*[a-z]*f)\(", " ".join(loop.text for loop in LOOPS.values())))

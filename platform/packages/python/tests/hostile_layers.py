# SPDX-License-Identifier: Apache-2.0
"""Draws for the layers of the Python package, each computed in double, too."""
from drawn import check_room, near
from reference import delta_rule, np, reference, super_blocks, widened

fovea = None  # the package: hostile_arrays.py sets it
DTYPES = np.float32, np.float16


def shape_of(draw, least=1):
    """1 to 4 dimensions, the last of which is a row."""
    return (*(draw.pick(0, 1, 2, 3, 5) for _ in range(int(draw.rng.integers(least - 1, 4)))), draw.pick(1, 3, 8, 17, 64))


def ready(draw, out, call, *arrays, **options):
    """Calls with right arrays first, so that all but addresses may be known, and then with the draw's."""
    if draw.chance(0.5):
        try:
            call(*(draw.right.get(name) for name in arrays), **options)
        except (TypeError, ValueError, fovea.Error):
            assert draw.hostile, "right arrays are refused"
    lock(draw, out)


def lock(draw, out):
    """Makes all arrays but out read-only for the processor."""
    for room in draw.rooms:
        if out is None or not np.shares_memory(room.inner, out, max_work=1):
            room.lock()


def close(got, want, most=1e-4):
    want = want.astype(got.dtype)  # what it cannot hold is infinite
    near(got, want, (0.02 if got.dtype == np.float16 else most) * (1 + np.abs(want[np.isfinite(want)]).max(initial=0)))


def double(array):
    return np.asarray(array, np.float64)


def norm(draw):
    shape, kind, dtype = shape_of(draw), draw.pick("layer", "rms"), draw.pick(*DTYPES)
    x = draw.give("x", draw.floats(*shape).astype(dtype))
    others = {
        name: draw.give(name, values)
        for name, values in (("weight", draw.floats(shape[-1])), ("bias", draw.floats(shape[-1])),
                             ("residual", draw.floats(*shape[-draw.pick(1, 2):]))) if draw.chance(0.5)
    }
    options = {"norm": kind, "epsilon": draw.number("epsilon", 1e-3)}
    out = draw.output(shape, dtype, [x]) if draw.chance(0.5) else None
    ready(draw, out, lambda x, **options: fovea.norm(x, **options), "x", **options)
    before = np.array(x)  # out may be x
    got = fovea.norm(x, out=out, **others, **options)
    others = {name: array for name, array in others.items() if array is not None}
    sums = double(before) + double(others.get("residual", 0))
    center = sums - sums.mean(-1, keepdims=True) if kind == "layer" else sums
    want = center / np.sqrt((center ** 2).mean(-1, keepdims=True) + options["epsilon"])
    want = want * double(others.get("weight", 1)) + double(others.get("bias", 0))
    close(got, want.reshape(got.shape))  # a weight may have heads, which x has not
    check_room(draw, out)


def activation(draw):
    shape, dtype = shape_of(draw), draw.pick(*DTYPES)
    x, factor = draw.give("x", draw.floats(*shape).astype(dtype)), draw.give("factor", draw.floats(*shape).astype(dtype))
    out = draw.output(shape, dtype, [x]) if draw.chance(0.5) else None
    ready(draw, out, lambda x, factor: fovea.activation(x, "relu", factor), "x", "factor")
    before = np.array(x)
    got = fovea.activation(x, "relu", factor, out=out)
    close(got, np.maximum(double(before), 0) * (1 if factor is None else double(factor)))
    check_room(draw, out)


def pair(draw):
    shape, names = shape_of(draw), ("add", "multiply")
    name = draw.pick(*names)
    a, b = draw.give("a", draw.floats(*shape)), draw.give("b", draw.floats(*shape[int(draw.rng.integers(len(shape))):]))
    out = draw.output(shape, np.float32, [a]) if draw.chance(0.5) else None
    ready(draw, out, getattr(fovea, name), "a", "b")
    before = np.array(a)
    got = getattr(fovea, name)(a, b, out=out)
    close(got, getattr(np, name)(double(before), double(b)))
    check_room(draw, out)


def turned(draw):
    """Rope and Hadamard transform, there and back."""
    shape = (*shape_of(draw)[:-1], draw.pick(2, 8, 64))
    x = draw.give("x", draw.floats(*shape))
    positions = draw.give("first_positions", draw.rng.integers(-100, 100, shape[0] if len(shape) == 4 else 1))
    offset, seed = draw.number("position_offset", 7, 2 ** 63), draw.number("seed", 3)
    ready(draw, None, lambda x, first_positions: fovea.rope(x, "half_split", first_positions=first_positions), "x", "first_positions")
    options = {"first_positions": positions, "position_offset": offset}
    near(fovea.rope(fovea.rope(x, "half_split", **options), "half_split", inverse=True, **options), double(x), 1e-4)
    near(fovea.hadamard(fovea.hadamard(x, seed=seed), seed=seed, inverse=True), double(x), 1e-4)


def pooling(draw):
    shape = (draw.pick(1, 2, 3), draw.pick(1, 2, 5), draw.pick(1, 8, 17))
    x = draw.give("x", draw.floats(*shape))
    lengths = draw.give("lengths", draw.rng.integers(1, shape[1] + 1, shape[0]).astype(np.uint32))
    out = draw.output((shape[0], shape[2]), np.float32, [x]) if draw.chance(0.5) else None
    ready(draw, out, lambda x, lengths: fovea.pooling(x, lengths=lengths), "x", "lengths")
    got = fovea.pooling(x, lengths=lengths, out=out)
    x, entries = double(x), np.reshape(x, (-1, *np.shape(x)[-2:])).shape[0]
    counts = np.broadcast_to(np.shape(x)[-2] if lengths is None else np.asarray(lengths), (x.shape[0] if x.ndim > 2 else 1,))
    rows = x if x.ndim == 4 else x.reshape(entries, 1, *x.shape[-2:])
    want = [[double(head)[:int(count)].mean(0) if count else np.zeros(x.shape[-1]) for head in entry] for entry, count in zip(rows, counts)]
    close(got, np.reshape(want, got.shape))
    check_room(draw, out)


def embedding(draw):
    table = draw.give("table", draw.floats(7, draw.pick(1, 8, 33)))
    indices = draw.give("indices", draw.rng.integers(0, 7, (2, 3)).astype(np.uint32))
    if draw.turns_hostile(0.2):
        draw.hostile.append("index")
        indices = np.full((2, 3), draw.pick(7, 2 ** 31, 2 ** 32 - 1), np.uint32)
    out = draw.output((2, 3, draw.right["table"].shape[1]), np.float32, [table]) if draw.chance(0.5) else None
    ready(draw, out, fovea.embedding, "indices", "table")
    if out is not None and not draw.hostile and not out.flags.c_contiguous:
        draw.hostile.append("out: strides")
    got = fovea.embedding(indices, table, out=out)
    near(got, double(table)[np.asarray(indices).astype(int)], 0)


def top_k(draw):
    x = draw.give("x", draw.floats(*shape_of(draw)))
    if getattr(x, "dtype", None) == np.int8 and "x: dtype" in draw.hostile:  # codes are served, too
        draw.hostile.remove("x: dtype")
    k = draw.number("k", draw.pick(0, 1))
    got = fovea.top_k(x, k)
    assert np.array_equal(got, np.argsort(-np.asarray(x, np.float32), axis=-1, kind="stable")[..., :k])


def linear(draw):
    shape, out_dim = shape_of(draw), draw.pick(1, 3, 16, 17)
    x, weights = draw.give("x", draw.floats(*shape)), draw.give("weights", draw.floats(out_dim, shape[-1]))
    bias = draw.give("bias", draw.floats(out_dim)) if draw.chance(0.5) else None
    out = draw.output((*shape[:-1], out_dim), np.float32, [x]) if draw.chance(0.5) else None
    ready(draw, out, fovea.linear, "x", "weights", "bias" if bias is not None else "none")
    if out is not None and not draw.hostile and not out.flags.c_contiguous:
        draw.hostile.append("out: strides")
    made = weights if draw.chance(0.5) else fovea.Weights(weights, bias)
    got = fovea.linear(x, made, None if made is not weights else bias, out=out)
    close(got, double(x) @ double(weights).T + (0 if bias is None else double(bias)))


def scaled_linear(draw):
    """Codes of int8 with scales of rows, and of tokens."""
    tokens, in_dim, out_dim = draw.pick(1, 2, 5), draw.pick(1, 32, 33), draw.pick(1, 3, 16)
    codes = draw.give("weights", draw.rng.integers(-127, 128, (out_dim, in_dim)).astype(np.int8))
    scales = draw.give("scales", draw.rng.random(out_dim, np.float32) / 64)
    x = draw.give("x", draw.rng.integers(-128, 128, (tokens, in_dim)).astype(np.int8))
    x_scales = draw.give("x_scales", draw.rng.random(tokens, np.float32))
    zero = draw.number("x_zero_point", 3, 200)
    lock(draw, None)
    got = fovea.linear(x, fovea.Weights(codes, scales=scales), x_scales=x_scales, x_zero_point=zero)
    if not draw.hostile:
        near(got, (double(x) - zero) * x_scales[:, None] @ (codes * double(scales)[:, None]).T, 1e-3)


def in_super_blocks(draw):
    """Weights in ggml's super-blocks."""
    dtype, blocks, out_dim = draw.pick("q4_k", "q6_k"), draw.pick(1, 2), draw.pick(1, 3, 16)
    rows = super_blocks(draw.rng, dtype, out_dim, blocks)
    in_dim = 256 * blocks - draw.pick(0, 3, 100)
    weights = draw.give("weights", rows)
    x = draw.give("x", draw.floats(draw.pick(1, 3, 20), in_dim))
    in_dim = draw.number("in_dim", in_dim, 0, 2 ** 20)
    lock(draw, None)
    got = fovea.linear(x, fovea.Weights(weights, dtype=dtype, in_dim=in_dim))
    if not draw.hostile:
        w = widened(dtype, rows)[:, :in_dim]
        near(got, double(x) @ w.T, 1e-5 * np.abs(w).max() * in_dim)


def linear_attention(draw):
    rule = draw.pick("linear", "gated", "delta", "gated_delta", "general")
    batch, k_heads, heads, tokens = draw.pick(1, 2), draw.pick(1, 2), draw.pick(1, 2), draw.pick(0, 1, 3, 9)
    head_dim, value_dim = draw.pick(1, 8, 17), draw.pick(1, 8, 20)
    counts = {"batch": batch, "v_heads": k_heads * heads, "head_dim": head_dim, "value_dim": value_dim}
    shape = (batch, k_heads * heads, tokens)
    q, k = draw.give("q", draw.floats(*shape, head_dim)), draw.floats(batch, k_heads, tokens, head_dim) / head_dim ** 0.5
    v, given = draw.give("v", draw.floats(*shape, value_dim)), {}
    if rule not in ("linear", "delta"):
        given["decay"] = -draw.rng.random((*shape, head_dim if rule == "general" else 1), np.float32)
    if "delta" in rule:
        given["beta"] = draw.rng.random((*shape, 1), np.float32)
    if rule == "general":
        given.update(a=-k, b=k / 2)
    k = draw.give("k", k)
    given = {name: draw.give(name, array) for name, array in given.items()}
    entry = draw.number("entry", 0, batch)
    state = fovea.DeltaState(rule, **counts)
    out = draw.output((*shape, value_dim), np.float32, [v]) if draw.chance(0.5) else None
    ready(draw, out, lambda q, k, v, **others: state(q, k, v, **others), "q", "k", "v", **{name: draw.right[name] for name in given})
    state.set()
    got = state(q, k, v, entry=entry, out=out, **given)
    if not draw.hostile:
        near(got, delta_rule(rule, q, k, v, **given)[0], 1e-4)
        check_room(draw, out)
        image = bytearray(state.to_bytes())
        image[int(draw.rng.integers(len(image)))] ^= 1 << int(draw.rng.integers(8))
        try:
            state.from_bytes(bytes(image))
        except (ValueError, fovea.Error):
            return
        raise AssertionError("an image with another bit is taken")


def multihead(draw):
    heads, dim, batch = draw.pick(1, 2, 3), draw.pick(1, 8, 16), draw.pick(1, 2)
    model, q_tokens, kv_tokens = heads * dim, draw.pick(1, 3), draw.pick(1, 4)
    qkv = draw.give("qkv", draw.floats(3 * model, model))
    out_weights = draw.give("out_weights", draw.floats(model, model))
    x, keys = draw.give("x", draw.floats(batch, q_tokens, model)), draw.give("keys", draw.floats(batch, kv_tokens, model))
    mask = draw.give("mask", draw.floats(q_tokens, kv_tokens))
    layer = fovea.MultiheadAttention(draw.number("q_heads", heads, 7), qkv=qkv, out=out_weights)
    out = draw.output((batch, q_tokens, model), np.float32, [x]) if draw.chance(0.5) else None
    ready(draw, out, lambda x, keys, mask: layer(x, keys, mask=mask), "x", "keys", "mask")
    got = layer(x, keys, out=out, mask=mask)
    if not draw.hostile:
        q, k, v = (double(a) @ double(w).T for a, w in zip((x, keys, keys), np.split(qkv, 3)))
        split = [one.reshape(batch, -1, heads, dim).swapaxes(1, 2) for one in (q, k, v)]
        want = reference(*split, added=double(mask))[0].swapaxes(1, 2).reshape(batch, q_tokens, model) @ double(out_weights).T
        near(got, want, 1e-4 * (1 + np.abs(want).max()))
        check_room(draw, out)


def integers(draw):
    """Layers on int8 tensors."""
    shape = shape_of(draw)
    x = draw.give("x", draw.rng.integers(-128, 128, shape).astype(np.int8))
    other = draw.give("other", draw.rng.integers(-128, 128, shape).astype(np.int8))
    zero, x_scale = draw.number("x_zero_point", 3, 128), draw.number("x_scale", 0.05, 0.0, float("nan"))
    out = draw.output(shape, np.int8, [x]) if draw.chance(0.5) else None
    lock(draw, out)
    how = draw.pick("add", "hard_swish", "activation", "norm")
    values = 0.05 * (double(x) - 3) if not draw.hostile else None
    if how == "add":
        got = fovea.integer_add(x, other, a_scale=x_scale, a_zero_point=zero, b_scale=0.1, y_scale=0.2, out=out)
        want = None if values is None else (values + 0.1 * double(other)) / 0.2
    elif how == "hard_swish":
        got = fovea.integer_hard_swish(x, x_scale=x_scale, x_zero_point=zero, y_scale=0.05, out=out)
        want = None if values is None else values * np.clip(values + 3, 0, 6) / 6 / 0.05
    elif how == "activation":
        table = draw.give("table", fovea.activation_table("relu", x_scale=x_scale, x_zero_point=zero, y_scale=0.05))
        got = fovea.integer_activation(x, table, out=out)
        want = None if values is None or draw.hostile else np.maximum(values, 0) / 0.05
    else:
        weight = draw.give("weight", np.full(shape[-1], 16384, np.int16))
        got = fovea.integer_norm(x, weight, norm="rms", x_scale=x_scale, x_zero_point=zero, y_scale=0.05, weight_scale=2.0**-14, out=out)
        want = None if values is None or draw.hostile else values / np.sqrt((values**2).mean(-1, keepdims=True) + 1e-5) / 0.05
    if want is not None and not draw.hostile:
        near(got, np.clip(want, -128, 127), 1)
    check_room(draw, out)


CALLS = (activation, embedding, in_super_blocks, integers, linear, linear_attention, multihead, norm, pair, pooling, scaled_linear,
         top_k, turned)

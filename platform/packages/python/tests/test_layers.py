#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The layers of the Python package against NumPy in double: test_layers.py [shared library]

Each call is made twice: the second one takes what the first has prepared. Ends with 77 where there is no NumPy.
"""
import inspect
import math
import sys
import threading

from reference import delta_rule, near, np, package, raises, reference, refused, run_all, run_program, super_blocks, widened

fovea = package(*sys.argv[1:2])
rng = np.random.default_rng(2)
SHAPES = (8,), (3, 8), (2, 3, 8), (2, 4, 3, 8)


def floats(*shape):
    return rng.standard_normal(shape, np.float32)


def twice(function, *arrays, **options):
    """The results for these arrays, after a call with others of the same types, shapes and strides."""
    function(*(array + array if isinstance(array, np.ndarray) and array.dtype.kind == "f" else array for array in arrays), **options)
    return function(*arrays, **options)


def layer_norm(x, epsilon=1e-5):
    x = np.asarray(x, np.float64)
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon)


def norms_are_those_of_numpy():
    for shape in SHAPES:
        x, residual, weight, bias = floats(*shape), floats(*shape), floats(8), floats(8)
        near(twice(fovea.norm, x), layer_norm(x), 1e-5)
        near(twice(fovea.norm, x, weight, bias), layer_norm(x) * weight + bias, 1e-5)
        y, total = twice(fovea.norm, x, weight, residual=residual, return_sum=True)
        near(total, x + residual, 0)
        near(y, layer_norm(np.float64(x) + residual) * weight, 1e-5)
        want = x / np.sqrt((np.float64(x) ** 2).mean(-1, keepdims=True) + 1e-6)
        near(fovea.norm(x, weight, norm="rms", epsilon=1e-6, weight_offset=1), want * (weight + 1.0), 1e-5)
        near(fovea.norm(x, norm="rms", epsilon=1e-6, gate=residual, gate_activation="sigmoid"),
             want / (1 + np.exp(-np.float64(residual))), 1e-5)
        out = np.empty_like(x)
        assert twice(fovea.norm, x, out=out) is out
        near(out, layer_norm(x), 1e-5)
        assert fovea.norm(x, out=x) is x  # in place
    x, weight = floats(2, 4, 3, 8), floats(4, 8)
    near(fovea.norm(x, weight), layer_norm(x) * weight[:, None], 1e-5)
    halves = x.astype(np.float16)
    assert fovea.norm(halves).dtype == np.float16 and fovea.norm(halves, dtype="f32").dtype == np.float32
    near(fovea.norm(halves, dtype="f32"), layer_norm(halves), 1e-5)
    raises(TypeError, "x is of float64", fovea.norm, x.astype(float))
    raises(ValueError, "weight has the shape (7,): it must broadcast to (8,)", fovea.norm, x, floats(7))
    raises(ValueError, "residual has the shape (5, 8): it must broadcast to (2, 4, 3, 8)", fovea.norm, x, residual=floats(5, 8))
    raises(TypeError, "return_sum is given without a residual", fovea.norm, x, return_sum=True)
    raises(TypeError, "gate is of float16: it must be of float32", fovea.norm, x, gate=halves)
    raises(ValueError, "norm is 'batch': it must be one of rms, l2, layer", fovea.norm, x, norm="batch")
    raises(ValueError, "dtype is 'i8': it must be f32, f16 or bf16", fovea.norm, x, dtype="i8")
    raises(ValueError, "x has the shape (1, 1, 1, 1, 8): it must have 1 to 4 dimensions", fovea.norm, floats(1, 1, 1, 1, 8))
    refused("ERR_NUMBER", fovea.norm, x, epsilon=-1.0)


def activations_are_those_of_numpy():
    sigmoid = lambda x: 1 / (1 + np.exp(-x))  # noqa: E731
    known = {
        "identity": lambda x: x,
        "relu": lambda x: np.maximum(x, 0),
        "relu6": lambda x: np.clip(x, 0, 6),
        "tanh": np.tanh,
        "sigmoid": sigmoid,
        "silu": lambda x: x * sigmoid(x),
        "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
        "gelu": lambda x: x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2,
        "gelu_tanh": lambda x: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2
    }
    for shape in SHAPES:
        x, factor = 4 * floats(*shape), floats(*shape)
        for kind, function in known.items():
            near(twice(fovea.activation, x, kind), function(np.float64(x)), 1e-5)
            near(twice(fovea.activation, x, kind, factor), function(np.float64(x)) * factor, 2e-5)
    near(fovea.activation(x, "silu", alpha=2.0), x * sigmoid(2 * np.float64(x)), 1e-5)
    raises(ValueError, "activation is 'elu'", fovea.activation, x, "elu")
    refused("ERR_UNSUPPORTED", fovea.activation, x, "relu", alpha=2.0)


def sums_and_products_are_broadcast_as_in_numpy():
    for a, b in (((8,), (8,)), ((2, 3, 8), (8,)), ((3, 8), (2, 3, 8)), ((2, 1, 8), (3, 8)), ((3, 8), (3, 1)), ((3, 1), ())):
        a, b = floats(*a), floats(*b) if b else floats(1)
        near(twice(fovea.add, a, b), a + b, 0)
        near(twice(fovea.multiply, a, b), a * b, 0)
    wide = floats(3, 16)
    near(twice(fovea.add, wide[:, ::2], wide[::-1, 8:]), wide[:, ::2] + wide[::-1, 8:], 0)
    a = floats(3, 8)
    want = a + a
    assert fovea.add(a, a, out=a) is a
    near(a, want, 0)
    assert fovea.add(a.astype(np.float16), a).dtype == np.float16
    raises(ValueError, "a has the shape (3, 8), b (4, 8): they must broadcast to one shape", fovea.add, a, floats(4, 8))
    raises(ValueError, "out has the shape (3, 8): it must be (2, 3, 8)", fovea.add, a, floats(2, 3, 8), out=a)
    raises(TypeError, "b is of int64", fovea.multiply, a, np.arange(8))
    raises(ValueError, "out is read-only", fovea.add, a, a, out=np.broadcast_to(a, a.shape))
    refused("ERR_OVERLAP", fovea.add, a[1:], a[1:], out=a[:-1])


def rows_are_turned_and_rotated():
    x, angles = floats(2, 4, 3, 8), np.arange(3)[:, None] * 10000.0 ** (-np.arange(4) / 4)
    a, b = x[..., :4].astype(float), x[..., 4:].astype(float)
    want = np.concatenate([a * np.cos(angles) - b * np.sin(angles), b * np.cos(angles) + a * np.sin(angles)], axis=-1)
    near(twice(fovea.rope, x, "half_split"), want, 1e-5)
    near(twice(fovea.rope, x[0], "half_split"), want[0], 1e-5)
    near(fovea.rope(fovea.rope(x, "interleaved", first_positions=[5, -2]), "interleaved", first_positions=[5, -2], inverse=True), x, 1e-5)
    near(fovea.rope(x, "half_split", rotary_dim=2)[..., 2:], x[..., 2:], 0)
    near(twice(fovea.hadamard, twice(fovea.hadamard, x, seed=3), seed=3, inverse=True), x, 1e-5)
    rotated = fovea.hadamard(x[0, 0], seed=3).astype(float)
    near(rotated @ rotated.T, x[0, 0].astype(float) @ x[0, 0].T, 1e-4)
    raises(ValueError, "rotary_dim is 3: it must be even, and at most 8", fovea.rope, x, "half_split", rotary_dim=3)
    raises(ValueError, "rotary_dim is 10: it must be even, and at most 8", fovea.rope, x, "half_split", rotary_dim=10)
    raises(ValueError, "layout is 'split': it must be one of", fovea.rope, x, "split")
    raises(ValueError, "first_positions has the shape (3,): it must broadcast to (2,)", fovea.rope, x, "half_split", first_positions=[1, 2, 3])
    raises(TypeError, "x is of float16: it must be of float32", fovea.rope, x.astype(np.float16), "half_split")
    raises(TypeError, "base is of str", fovea.rope, x, "half_split", base="1")
    refused("ERR_DIM", fovea.hadamard, x, block=3)


def tokens_are_pooled_and_embedded():
    x = floats(2, 3, 8)
    near(twice(fovea.pooling, x), x.astype(float).mean(1), 1e-6)
    near(fovea.pooling(x, lengths=[3, 2])[1], x[1, :2].astype(float).mean(0), 1e-6)
    near(twice(fovea.pooling, x, "first"), x[:, 0], 0)
    near(fovea.pooling(x[0]), x[0].astype(float).mean(0), 1e-6)
    near(fovea.pooling(floats(2, 4, 3, 8) * 0), np.zeros((2, 4, 8)), 0)
    refused("ERR_LENGTH", fovea.pooling, x, lengths=[3, 4])
    raises(ValueError, "lengths has -1, which uint32 does not have", fovea.pooling, x, lengths=[3, -1])
    raises(ValueError, "x has the shape (8,): it must be [tokens][dim]", fovea.pooling, x[0, 0])
    raises(ValueError, "out has the shape (2, 7): it must be (2, 8)", fovea.pooling, x, out=np.empty((2, 7), np.float32))
    table = floats(10, 8)
    indices = np.array([[1, 9], [0, 1]], np.uint32)
    for weights in (table, fovea.Weights(table), fovea.Weights(table.astype(np.float16).astype(np.float32))):
        got = fovea.embedding(indices, weights)
        assert np.array_equal(fovea.embedding(indices.tolist(), weights), got) and got.shape == (2, 2, 8)
    near(fovea.embedding(indices, table), table[indices], 0)
    codes, scales = fovea.rows_to_i8(table)
    near(fovea.embedding(indices, fovea.Weights(codes, scales=scales)), table[indices], 0.02)
    refused("ERR_LENGTH", fovea.embedding, [10], table)
    raises(ValueError, "indices has -1", fovea.embedding, [-1], table)
    raises(TypeError, "indices is of float64", fovea.embedding, [0.5], table)


def the_largest_of_rows_are_found():
    x = floats(2, 3, 50)
    assert np.array_equal(fovea.argmax(x), x.argmax(-1))
    assert np.array_equal(fovea.top_k(x, 5), np.argsort(-x, axis=-1, kind="stable")[..., :5])
    assert fovea.top_k(x, 0).shape == (2, 3, 0) and fovea.argmax(x[:0]).shape == (0, 3) and fovea.argmax(x[0, 0]).shape == ()
    codes = (x * 4).astype(np.int8)[::-1]  # with ties, and not adjacent
    assert np.array_equal(fovea.argmax(codes), codes.argmax(-1))
    assert np.array_equal(fovea.top_k(codes, 50), np.argsort(-codes.astype(int), axis=-1, kind="stable"))
    raises(ValueError, "k is 51: a row of x has 50 elements", fovea.top_k, x, 51)
    raises(ValueError, "k is -1", fovea.top_k, x, -1)
    raises(TypeError, "k is of float", fovea.top_k, x, 1.5)
    raises(ValueError, "x has the shape (3, 0): it must have rows", fovea.argmax, floats(3, 0))


def linear_layers_are_those_of_numpy():
    w, b = floats(5, 8), floats(5)
    for shape in ((8,), (3, 8), (2, 3, 8), (2, 2, 3, 8), (0, 8)):
        x = floats(*shape)
        want = x.astype(float) @ w.T.astype(float)
        near(twice(fovea.linear, x, w), want, 1e-5)
        near(twice(fovea.linear, x, w, b), want + b, 1e-5)
        layer = fovea.Weights(w, b)
        near(twice(fovea.linear, x, layer, activation="relu"), np.maximum(want + b, 0), 1e-5)
        assert fovea.linear(x, layer).shape == (*shape[:-1], 5)
    wide = floats(3, 16)
    near(twice(fovea.linear, wide[::-1, 4:12], w), wide[::-1, 4:12].astype(float) @ w.T, 1e-5)
    near(twice(fovea.linear, wide[:, ::2], fovea.Weights(w[::-1])), wide[:, ::2].astype(float) @ w[::-1].T, 1e-5)
    raises(ValueError, "x has the shape (3, 16): it must be [...][in_dim 8]", fovea.linear, wide, w)
    raises(TypeError, "x is of float64", fovea.linear, wide[:, :8].astype(float), w)
    raises(TypeError, "bias is given beside Weights", fovea.linear, wide[:, :8], fovea.Weights(w), b)
    raises(ValueError, "bias has the shape (8,): it must be (5,)", fovea.Weights, w, floats(8))
    raises(ValueError, "weights has the shape (8,): it must be [out_dim][in_dim]", fovea.Weights, w[0])
    raises(ValueError, "out has strides of", fovea.linear, floats(2, 3, 8), w, out=np.empty((3, 2, 5), np.float32).swapaxes(0, 1))
    raises(ValueError, "activation is 'elu'", fovea.linear, floats(8), w, activation="elu")


def linear_layers_multiply_halves():
    x, w, b = floats(4, 70), floats(6, 70).astype(np.float16), floats(6)
    halves = x.astype(np.float16)
    want = halves.astype(float) @ w.T.astype(float) + b
    bound = 2.0 ** -11 * (np.abs(halves).astype(float) @ np.abs(w).T.astype(float)).max()  # a rounding of the products
    for layer in (w, fovea.Weights(w, b)):
        bias = b if layer is w else None
        near(twice(fovea.linear, halves, layer, bias), want, bound)
        got = twice(fovea.linear, x, layer, bias, compute="f16")
        assert (got == fovea.linear(halves, layer, bias)).all(), "x of float32 is not rounded to float16"
        assert got.dtype == np.float32
    refused("ERR_UNSUPPORTED", fovea.linear, x, w.astype(np.float32), compute="f16")
    refused("ERR_UNSUPPORTED", fovea.linear, halves, w, compute="f32")


def linear_layers_take_codes_with_scales_of_rows():
    x, w, b = floats(4, 64), floats(6, 64), floats(6)
    want = x.astype(float) @ w.T + b
    codes, scales = fovea.rows_to_i8(w)
    near(codes * scales[:, None], w, float(scales.max()) * 0.51)
    layer = fovea.Weights(codes, b, scales)
    exact = x.astype(float) @ (codes * scales[:, None].astype(float)).T + b
    near(twice(fovea.linear, x, layer), exact, 1e-4)
    near(twice(fovea.linear, x, layer, compute="i8"), want, 0.5)
    x_codes, x_scales = fovea.rows_to_i8(x)
    rows = x_codes * x_scales[:, None].astype(float)
    near(twice(fovea.linear, x_codes, layer, x_scales=x_scales), rows @ (codes * scales[:, None].astype(float)).T + b, 1e-4)
    got = fovea.linear(x_codes, layer, x_scales=0.02, x_zero_point=3, y_scale=0.1, y_zero_point=-4)
    want = np.rint((0.02 * (x_codes.astype(float) - 3) @ (codes * scales[:, None].astype(float)).T + b) / 0.1) - 4
    assert got.dtype == np.int8
    near(got, np.clip(want, -128, 127), 1)
    blocks = np.zeros((6, 68), np.uint8)
    near(fovea.linear(x, fovea.Weights(blocks, b, dtype="q8_0")), np.broadcast_to(b, (4, 6)), 0)
    assert fovea.Weights(blocks, dtype="q8_0", in_dim=33).in_dim == 33
    raises(ValueError, "a row of 65 inputs in q8_0 must have 102 elements", fovea.Weights, blocks, dtype="q8_0", in_dim=65)
    raises(TypeError, "scales is missing beside weights of i8", fovea.Weights, codes)
    raises(ValueError, "scales has the shape (5,): it must be (6,)", fovea.Weights, codes, scales=scales[1:])
    raises(TypeError, "scales is given: f32 has no scales", fovea.Weights, w, scales=scales)
    raises(ValueError, "x_scales has the shape (3,): it must be one number or (4,)", fovea.linear, x_codes, layer, x_scales=x_scales[1:])
    raises(ValueError, "x has a NaN or an infinity", fovea.rows_to_i8, [np.inf])
    want = x.astype(float) @ w.T + b
    for dtype, bound in (("f16", 0.02), ("bf16", 0.1), ("i8", 0.2), ("q8_0", 0.2), ("q5_0", 1), ("q5_1", 1), ("i4", 2), ("q4_0", 2),
                         ("q4_1", 2), ("iq4_nl", 2)):
        data, scales = fovea.quantize_rows(w, dtype)
        near(twice(fovea.linear, x, fovea.Weights(data, b, scales, dtype=dtype)), want, bound)
    refused("ERR_UNSUPPORTED", fovea.quantize_rows, w, "q4_k")
    raises(ValueError, "dtype is 'int4': it must be one of f32, f16", fovea.quantize_rows, w, "int4")
    raises(ValueError, "x has the shape (): it must have rows", fovea.quantize_rows, 1.0, "i8")
    refused("ERR_NULL", fovea.linear, x_codes, layer)
    heads, keys = floats(1, 2, 3, 64), floats(1, 2, 5, 64)
    key_codes, key_scales = fovea.rows_to_i8(keys)
    near(fovea.attention(heads, key_codes, key_codes, key_scales=key_scales, value_scales=key_scales, compute="i8"),
         reference(heads, keys, keys)[0], 0.05)


def linear_layers_take_other_blocks():
    scale = np.array([0, 0x14], np.uint8)  # 2^-10, as f16
    for dtype, at in {"q5_0": 0, "q5_1": 0, "iq4_nl": 0, "mxfp4": 0, "q5_k": 0, "iq4_xs": 0, "tq2_0": 64, "q3_k": 108,
                      "q2_k": 80}.items():
        elements, count = fovea.arrays.BLOCKS[dtype]
        blocks = rng.integers(0, 256, (6, 2, count), np.uint8)
        blocks[..., at:at + 2] = [0x76, 0] if dtype == "mxfp4" else scale
        if dtype in ("q5_1", "q5_k", "q2_k"):
            blocks[..., at + 2:at + 4] = scale
        layer = fovea.Weights(blocks.reshape(6, -1), dtype=dtype)
        assert layer.in_dim == 2 * elements
        w, x = fovea.embedding(np.arange(6), layer).astype(float), floats(3, 2 * elements)
        near(twice(fovea.linear, x, layer), x.astype(float) @ w.T, 1e-5 * np.abs(w).max() * elements)
        near(twice(fovea.linear, x, layer, compute="i8"), x.astype(float) @ w.T, 0.03 * np.abs(w).max() * elements ** 0.5)


def linear_layers_take_super_blocks():
    for dtype, count in (("q4_k", 144), ("q6_k", 210)):
        blocks, b = super_blocks(rng, dtype, 6, 2), floats(6)
        w = widened(dtype, blocks)
        layer = fovea.Weights(blocks, b, dtype=dtype)
        assert layer.in_dim == 512 and layer.out_dim == 6
        for tokens in (1, 3, 20):
            x = floats(tokens, 512)
            want = x.astype(float) @ w.T + b
            near(twice(fovea.linear, x, layer), want, 1e-5 * np.abs(w).max() * 512)
            near(twice(fovea.linear, x, layer, compute="i8"), want, 0.02 * np.abs(w).max() * 512 ** 0.5)
        near(twice(fovea.linear, x, fovea.Weights(blocks[::2], dtype=dtype)), x.astype(float) @ w[::2].T, 1e-5 * np.abs(w).max() * 512)
        some = fovea.Weights(blocks, dtype=dtype, in_dim=300)
        near(fovea.linear(x[:, :300], some), x[:, :300].astype(float) @ w[:, :300].T, 1e-5 * np.abs(w).max() * 512)
        near(fovea.embedding([5, 0], layer), w[[5, 0]], 1e-6 * np.abs(w).max())
        raises(ValueError, f"a row of 512 inputs in {dtype} must have {2 * count} elements", fovea.Weights, blocks[:, 1:],
               dtype=dtype, in_dim=512)
        raises(ValueError, f"a row of 256 inputs in {dtype} must have {count} elements", fovea.Weights, blocks[:, 1:], dtype=dtype)
        raises(ValueError, f"a row of 0 inputs in {dtype} must have 0 elements", fovea.Weights, blocks[:, :8], dtype=dtype)
        raises(TypeError, "weights is of int8: it must be of uint8", fovea.Weights, blocks.view(np.int8), dtype=dtype)
        raises(TypeError, f"scales is given: {dtype} has no scales in an array", fovea.Weights, blocks, None, b, dtype=dtype)
        refused("ERR_UNSUPPORTED", fovea.Plan, q_heads=1, kv_heads=1, head_dim=64, value_dim=64, max_kv_tokens=1, key_dtype=dtype)


def unit(x):
    return x / np.sqrt((x ** 2).sum(-1, keepdims=True))


def linear_attention_is_its_recurrence():
    shapes = {"batch": 2, "v_heads": 4, "head_dim": 16, "value_dim": 20}
    for rule in ("linear", "gated", "delta", "gated_delta", "general"):
        for per_key in (False, True):
            q, k, v = floats(2, 8, 11, 16), unit(floats(2, 2, 11, 16)), floats(2, 4, 11, 20)
            given = {}
            if rule not in ("linear", "delta"):
                given["decay"] = -rng.random((2, 4, 11, 16 if per_key or rule == "general" else 1), np.float32)
            if "delta" in rule:
                given["beta"] = rng.random((2, 4, 11, 1), np.float32)
            if rule == "general":
                given["a"] = -unit(floats(2, 2, 11, 16))
                given["b"] = -given["a"] * rng.random((2, 2, 11, 16), np.float32)
            state = fovea.DeltaState(rule, decay_per_key=per_key, **shapes)
            want, s = delta_rule(rule, q, k, v, **given)
            got = state(q, k, v, **given)
            near(got, want, 1e-5)
            near(state.matrices(), s, 1e-5)
            # The same tokens in calls of some, with a state that is moved by its image, and what was rolled back.
            state.set()
            of = lambda first, last: [array[:, :, first:last] for array in (q, k, v)]  # noqa: E731
            ones = lambda first, last: {name: array[:, :, first:last] for name, array in given.items()}  # noqa: E731
            assert np.array_equal(state(*of(0, 3), **ones(0, 3)), got[:, :, :3])
            state(*of(3, 4), **ones(3, 4))
            state.roll_back(1)
            assert state.pending() == state.pending(1) == 3
            moved = fovea.DeltaState(rule, decay_per_key=per_key, **shapes)
            moved.from_bytes(state.to_bytes())
            for t in range(3, 11):
                assert np.array_equal(moved(*of(t, t + 1), **ones(t, t + 1)), got[:, :, t:t + 1])
            state(*of(3, 11), **ones(3, 11))
            assert np.array_equal(moved.matrices(), state.matrices())
            # S that is given, and one entry alone.
            state.set(s[1].astype(np.float32), entry=1)
            again, last = delta_rule(rule, *(array[1:] for array in (q, k, v)),
                                     **{name: array[1:] for name, array in given.items()}, s=s[1])
            near(state(*(array[1:] for array in (q, k, v)), entry=1, **{name: array[1:] for name, array in given.items()}), again, 1e-5)
            near(state.matrices(1), last, 1e-5)


def the_general_rule_is_rwkv_7():
    """The recurrence of the paper, arXiv 2503.14456, whose S is transposed: S (diag(w) - r^T (i * r)) + v^T k~."""
    heads, tokens, dim = 2, 9, 32
    w = np.exp(-np.exp(-0.5) / (1 + np.exp(-floats(heads, tokens, dim).astype(float))))
    receptance, key, value = (floats(heads, tokens, dim) for _ in range(3))
    removal, rate = unit(floats(heads, tokens, dim)), rng.random((heads, tokens, dim), np.float32)
    replaced = key * (1 + (rate - 1) * rng.random(dim, np.float32))
    want, s = np.empty((heads, tokens, dim)), np.zeros((heads, dim, dim))
    for h in range(heads):
        for t in range(tokens):
            r, i = removal[h, t].astype(float), rate[h, t].astype(float)
            s[h] = s[h] @ (np.diag(w[h, t]) - np.outer(r, i * r)) + np.outer(value[h, t], replaced[h, t])
            want[h, t] = s[h] @ receptance[h, t]
    state = fovea.DeltaState("general", v_heads=heads, head_dim=dim, value_dim=dim)
    got = state(receptance, replaced, value, decay=np.log(w).astype(np.float32), a=-removal, b=removal * rate, scale=1.0)
    near(got, want, 1e-4)
    near(state.matrices(0)[0], s.swapaxes(1, 2), 1e-4)
    # The gated delta rule is a special case of it.
    q, k, v, g, beta = *(floats(1, 5, 8) for _ in range(3)), -rng.random((1, 5, 1), np.float32), rng.random((1, 5, 1), np.float32)
    counts = {"v_heads": 1, "head_dim": 8, "value_dim": 8}
    gated = fovea.DeltaState("gated_delta", **counts)(q, unit(k), v, decay=g, beta=beta)
    near(fovea.DeltaState("general", **counts)(q, beta * unit(k), v, decay=g, a=unit(k), b=-beta * np.exp(g) * unit(k)), gated, 1e-5)


def linear_attention_takes_arrays_as_other_calls():
    state = fovea.DeltaState("gated", v_heads=2, head_dim=8, value_dim=8, batch=3)
    q, k, v, decay = floats(2, 5, 8), floats(2, 5, 8), floats(2, 5, 8), -rng.random((2, 1, 1), np.float32)
    want = delta_rule("gated", q[None], k[None], v[None], decay[None])[0][0]
    near(state(q, k, v, decay=decay), want, 1e-5)
    state.set()
    out = np.empty((2, 5, 8), np.float16)
    assert state(q.astype(np.float16), k.astype(np.float16), v.astype(np.float16), decay=decay, out=out) is out
    near(out, want, 0.02)
    assert state(q.astype(np.float16), k.astype(np.float16), v.astype(np.float16), decay=decay, dtype="f32").dtype == np.float32
    state.set()
    near(state(q[:, ::-1][:, ::-1], k.astype(k.dtype.newbyteorder()), v.swapaxes(0, 1).copy().swapaxes(0, 1), decay=decay), want, 1e-5)
    state.set()
    offsets = [0, 2, 2, 5]
    got = state(q, k, v, decay=decay, offsets=offsets)
    near(got[:, :2], want[:, :2], 1e-5)
    near(got[:, 2:], delta_rule("gated", q[None, :, 2:], k[None, :, 2:], v[None, :, 2:], decay[None])[0][0], 1e-5)
    assert state.pending() == 0 and [state.pending(entry) for entry in range(3)] == [2, 0, 3]
    assert state(q[:, :0], k[:, :0], v[:, :0], decay=decay).shape == (2, 0, 8)
    image = bytearray(state.to_bytes())
    image[-1] ^= 1
    refused("ERR_IMAGE", state.from_bytes, bytes(image))
    refused("ERR_IMAGE", state.from_bytes, bytes(image[:-1]))
    other = fovea.DeltaState("gated", v_heads=2, head_dim=8, value_dim=8, batch=2)
    raises(ValueError, "the image has a batch of 2: the state has 3", state.from_bytes, other.to_bytes())
    refused("ERR_LENGTH", state.roll_back, 4)
    refused("ERR_CAPACITY", state, q, k, v, decay=decay, entry=3)
    refused("ERR_LENGTH", state, q, k, v, decay=decay, offsets=[0, 6])
    refused("ERR_LENGTH", state, q, k, v, decay=decay, offsets=[0, 3, 2])
    refused("ERR_NUMBER", state, q, k, v, decay=decay, scale=float("nan"))
    refused("ERR_OVERLAP", state, q, k, v, decay=decay, out=q)
    for entry in (3, 2 ** 32 - 1):
        raises(ValueError, f"entry is {entry}: the state has 3", state.matrices, entry)
        raises(ValueError, f"entry is {entry}: the state has 3", state.set, None, entry)
    raises(ValueError, "entry is -1", state, q, k, v, decay=decay, entry=-1)
    raises(TypeError, "decay is missing: the rule gated reads q, k, v, decay", state, q, k, v)
    raises(TypeError, "beta is given: the rule gated reads q, k, v, decay", state, q, k, v, decay=decay, beta=decay)
    raises(ValueError, "decay has the shape (2, 5, 8): it must broadcast to (1, 2, 5, 1)", state, q, k, v, decay=q)
    raises(ValueError, "v has the shape (1, 5, 8): it must be [batch 1][v_heads 2][tokens 5][value_dim 8]", state, q, k, v[:1], decay=decay)
    raises(ValueError, "k has the shape (2, 4, 8)", state, q, k[:, 1:], v, decay=decay)
    raises(TypeError, "k is of float64: it must be of float32", state, q, k.astype(float), v, decay=decay)
    raises(ValueError, "out has the shape (2, 5, 7)", state, q, k, v, decay=decay, out=np.empty((2, 5, 7), np.float32))
    raises(ValueError, "dtype is 'i8': it must be f32, f16 or bf16", state, q, k, v, decay=decay, dtype="i8")
    raises(ValueError, "matrices has the shape (2, 8, 8): it must be (3, 2, 8, 8)", state.set, floats(2, 8, 8))
    raises(ValueError, "rule is 'rwkv': it must be one of linear", fovea.DeltaState, "rwkv", v_heads=1, head_dim=1, value_dim=1)
    raises(ValueError, "2 * head_dim is 4294967296", fovea.DeltaState, "general", v_heads=1, head_dim=2 ** 31, value_dim=1)
    refused("ERR_DIM", fovea.DeltaState, "linear", v_heads=0, head_dim=1, value_dim=1)


def split(x, heads):
    return x.reshape(*x.shape[:-1], heads, -1).swapaxes(1, 2)


def multihead_layers_are_attention_and_linear_layers():
    wq, wk, wv, wo, b = floats(32, 16), floats(16, 12), floats(24, 10), floats(16, 48), floats(16)
    layer = fovea.MultiheadAttention(4, kv_heads=2, q=wq, k=wk, v=wv, out=fovea.Weights(wo, b))
    x, keys, values = floats(2, 3, 16), floats(2, 5, 12), floats(2, 5, 10)
    q, k, v = (split(a.astype(float) @ w.T, heads) for a, w, heads in ((x, wq, 4), (keys, wk, 2), (values, wv, 2)))
    want, want_lse, weights = reference(q, k, v)
    want = want.swapaxes(1, 2).reshape(2, 3, 48) @ wo.T + b
    near(twice(layer, x, keys, values), want, 1e-3)
    out, lse, scores = twice(layer, x, keys, values, lse=True, scores="softmax")
    near(out, want, 1e-3)
    near(lse, want_lse, 1e-3)
    near(scores, weights, 1e-4)
    near(layer(x[0], keys[:1], values[:1]), want[0], 1e-3)
    tokens_first = (np.ascontiguousarray(a.swapaxes(0, 1)).swapaxes(0, 1) for a in (x, keys, values))
    near(twice(layer, *tokens_first), want, 1e-3)
    mask = rng.random((3, 5)) < 0.5
    mask[:, 0] = True
    masked = reference(q, k, v, mask)[0].swapaxes(1, 2).reshape(2, 3, 48) @ wo.T + b
    near(twice(layer, x, keys, values, mask=mask), masked, 1e-3)
    near(layer(x, keys, values, kv_lengths=[5, 5]), want, 1e-3)
    self_attention = fovea.MultiheadAttention(2, qkv=fovea.Weights(floats(48, 16), floats(48)), causal="top_left")
    assert twice(self_attention, x).shape == (2, 3, 16)
    codes, scales = fovea.rows_to_i8(wq[:16])
    assert fovea.MultiheadAttention(2, q=fovea.Weights(codes, None, scales), linear_compute="i8")(x).shape == (2, 3, 16)
    halves = wq[:16].astype(np.float16)
    near(fovea.MultiheadAttention(2, q=halves, linear_compute="f16")(x), fovea.MultiheadAttention(2, q=halves)(x), 0.01)
    refused("ERR_UNSUPPORTED", fovea.MultiheadAttention(2, q=wq[:16], linear_compute="f16"), x)
    raises(ValueError, "keys has the shape (2, 5, 16): it must be [batch 2][kv_tokens][key_model 12]", layer, x, floats(2, 5, 16))
    raises(ValueError, "x has the shape (16,): it must be [batch][q_tokens][d_model 16]", layer, x[0, 0])
    raises(TypeError, "values are given without keys", layer, x, None, values)
    raises(ValueError, "values has the shape (2, 4, 10)", layer, x, keys, values[:, 1:])
    raises(TypeError, "sink is no option of this call", layer, x, keys, values, sink=1)
    raises(ValueError, "k has the shape (15, 12): it must be (14, 12)", fovea.MultiheadAttention, 4, kv_heads=2, q=wq[:28], k=wk[1:])
    raises(TypeError, "weights are of f16 and f32", fovea.MultiheadAttention, 2, q=wq[:16], out=wo[:, :16].astype(np.float16))
    raises(TypeError, "a layer needs weights", fovea.MultiheadAttention, 2)


def integer_layers_are_near_those_of_numpy():
    codes = rng.integers(-128, 128, (2, 3, 8)).astype(np.int8)
    x = 0.05 * (codes.astype(float) - 3)
    weight = rng.integers(-32768, 32768, 8).astype(np.int16)
    bias = rng.integers(-2000, 2000, 8).astype(np.int16)
    got = twice(fovea.integer_norm, codes, weight, bias, x_scale=0.05, x_zero_point=3, y_scale=0.02, y_zero_point=5, weight_scale=2.0**-15)
    want = layer_norm(x) * weight * 2.0 ** -15 / 0.02 + bias / 128 + 5
    near(got, np.clip(want, -128, 127), 0.6)
    got = fovea.integer_norm(codes, weight, norm="rms", x_scale=0.05, x_zero_point=3, y_scale=0.02, weight_scale=2.0 ** -15)
    rms = x / np.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-5) * weight * 2.0 ** -15
    near(got, np.clip(rms / 0.02, -128, 127), 0.6)
    other = rng.integers(-128, 128, (3, 8)).astype(np.int8)
    scales = {"a_scale": 0.05, "a_zero_point": 3, "b_scale": 0.01, "b_zero_point": -7}
    y = 0.01 * (other.astype(float) + 7)
    near(twice(fovea.integer_add, codes, other, y_scale=0.1, **scales), np.clip((x + y) / 0.1, -128, 127), 0.51)
    near(twice(fovea.integer_multiply, codes, other, y_scale=0.08, **scales), np.clip(x * y / 0.08, -128, 127), 0.51)
    near(fovea.integer_add(codes, a_scale=0.05, a_zero_point=3, y_scale=0.1, activation_min=0, activation_max=127), np.clip(x / 0.1, 0, 127), 0.51)
    table = fovea.activation_table("silu", x_scale=0.05, x_zero_point=3, y_scale=0.06)
    want = np.clip(x / (1 + np.exp(-x)) / 0.06, -128, 127)
    near(twice(fovea.integer_activation, codes, table), want, 0.51)
    near(twice(fovea.integer_hard_swish, codes, x_scale=0.05, x_zero_point=3, y_scale=0.06),
         np.clip(x * np.clip(x + 3, 0, 6) / 6 / 0.06, -128, 127), 0.8)
    near(twice(fovea.integer_mean, codes, x_scale=0.05, x_zero_point=3, y_scale=0.05), np.clip(x.mean(1) / 0.05, -128, 127), 0.6)
    multiplier, shift = fovea.integer_multiplier(0.3)
    near(multiplier * 2.0 ** (shift - 31), 0.3, 1e-9)
    raises(TypeError, "x is of float32: it must be of int8", fovea.integer_norm, floats(8), weight, x_scale=1, y_scale=1, weight_scale=1)
    raises(ValueError, "y_scale is 0.0: it must be above 0", fovea.integer_add, codes, a_scale=1.0, y_scale=0)
    raises(TypeError, "b_scale is missing beside b", fovea.integer_add, codes, codes, a_scale=1.0, y_scale=1.0)
    raises(ValueError, "weight has 40000, which int16 does not have", fovea.integer_norm, codes, [40000] * 8, x_scale=1.0, y_scale=1.0,
           weight_scale=1e-4)
    raises(ValueError, "table has the shape (255,): it must be (256,)", fovea.integer_activation, codes, table[1:])
    refused("ERR_NUMBER", fovea.integer_multiplier, 0.0)
    refused("ERR_NULL", fovea.integer_norm, codes, None, x_scale=1.0, y_scale=1.0, weight_scale=1e-4)


def what_is_prepared_is_for_equal_arrays_alone():
    """Each of these has the key of an array that was taken, but for one thing."""
    x = floats(3, 8)
    calls = {
        "norm": fovea.norm,
        "softmax": fovea.softmax,
        "linear": lambda x, **options: fovea.linear(x, weights, **options),
        "attention": lambda x, **options: fovea.attention(x, x, x, **options)
    }
    weights = fovea.Weights(np.eye(8, dtype=np.float32))
    room = np.zeros(4 * x.size + 1, np.uint8)
    misaligned = room[1:].view(np.float32).reshape(3, 8)
    misaligned[...] = x
    locked = np.zeros_like(x)
    locked.flags.writeable = False
    for name, call in calls.items():
        want = call(x)
        call(x, out=np.empty_like(x))
        near(call(misaligned), want, 0)
        near(call(x.astype(x.dtype.newbyteorder())), want, 0)
        near(call(np.asfortranarray(x)), want, 0)
        raises(ValueError, "is not aligned", call, x, out=room[1:].view(np.float32).reshape(3, 8))
        raises(ValueError, "out is read-only", call, x, out=locked)
        raises(ValueError, "out has the shape", call, x, out=np.empty((3, 7), np.float32))
        assert not locked.any()
    for wrong in (1.0, "1", None):
        raises(TypeError, "q_heads is of", fovea.attention, x, x, x, q_heads=wrong)
    near(fovea.attention(x, x, x, q_heads=1), fovea.attention(x, x, x), 0)
    raises(TypeError, "q_heads is of float", fovea.attention, x, x, x, q_heads=1.0)
    masked = np.zeros((3, 3), bool)
    masked[:, 0] = True
    near(twice(fovea.attention, x, x, x, mask=masked), np.broadcast_to(x[0], (3, 8)), 0)
    raises(ValueError, "mask has the shape (4, 3)", fovea.attention, x, x, x, mask=np.ones((4, 3), bool))


def threads_may_call_functions_at_the_same_time():
    x, w = floats(3, 8), floats(8, 8)
    want, faults = [fovea.attention(x + i, x, x) for i in range(4)], []

    def use(i):
        for _ in range(300):
            if not (np.array_equal(fovea.attention(x + i, x, x), want[i]) and np.array_equal(fovea.linear(x, w), product)):
                faults.append(i)

    product = fovea.linear(x, w)
    threads = [threading.Thread(target=use, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


def signatures_name_all_fields():
    for function, names in ((fovea.attention, ("causal", "scale", "mask", "kv_lengths", "lse", "out")), (fovea.norm,
                                                                                                         ("epsilon", )),
                            (fovea.Plan, ("q_heads", "max_kv_tokens", "target")), (fovea.Cache, ("kind", "max_tokens")),
                            (fovea.Plan.bind, ("sinks", "scores")), (fovea.MultiheadAttention, ("qkv", "window_left"))):
        parameters = inspect.signature(function).parameters
        assert all(name in parameters for name in names), function
        assert not any(one.kind == one.VAR_KEYWORD for one in parameters.values()), function
    assert "bottom_right" in fovea.attention.__doc__ and inspect.signature(fovea.Plan).parameters["causal"].default == "none"
    for name in fovea.__all__:
        assert not inspect.isroutine(getattr(fovea, name)) or getattr(fovea, name).__doc__, f"{name} has no docstring"


def the_program_of_the_page_runs():
    run_program(0)


run_all(globals())

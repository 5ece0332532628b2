#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package against NumPy in double: test_fovea.py [shared library]

Without a library it takes the wheel that is installed, with one the package of the tree. Ends with 77 where there is no NumPy.
"""
import sys

from reference import np, package, reference

fovea = package(*sys.argv[1:2])
rng = np.random.default_rng(1)


def floats(*shape):
    return rng.standard_normal(shape, np.float32)


def near(got, want, most):
    worst = np.abs(np.asarray(got, np.float64) - want).max()
    assert worst <= most, f"differs by {worst:.1e}, {most:.0e} is allowed"


def refused(status, function, *arguments, **fields):
    try:
        function(*arguments, **fields)
    except fovea.Error as error:
        assert error.status == status, f"{error.status} instead of {status}"
    else:
        raise AssertionError(f"is not refused with {status}")


def softmax_is_that_of_numpy_along_each_axis():
    x = floats(3, 4, 5)
    for axis in (0, 1, 2, -1):
        want = np.exp(x.astype(np.float64) * 0.5)
        want /= want.sum(axis=axis, keepdims=True)
        near(fovea.softmax(x, axis, scale=0.5), want, 1e-7)
        near(fovea.log_softmax(x, axis, scale=0.5), np.log(want), 1e-6)


def attention_is_that_of_numpy_with_its_options():
    q, keys, values = floats(2, 4, 5, 8), floats(2, 2, 7, 8), floats(2, 2, 7, 3)
    near(fovea.attention(q, keys, values), reference(q, keys, values)[0], 1e-6)
    causal = np.arange(7) <= np.arange(5)[:, None] + 2
    near(fovea.attention(q, keys, values, causal="bottom_right"), reference(q, keys, values, causal)[0], 1e-6)
    mask = rng.random((2, 1, 5, 7)) < 0.5
    mask[..., 0] = True
    near(fovea.attention(q, keys, values, mask=mask), reference(q, keys, values, mask)[0], 1e-6)
    added = np.where(mask, 0, -np.inf).astype(np.float32)
    near(fovea.attention(q, keys, values, mask=added), reference(q, keys, values, mask)[0], 1e-6)
    lengths = np.arange(7) < np.array([7, 4]).reshape(2, 1, 1, 1)
    near(fovea.attention(q, keys, values, kv_lengths=[7, 4]), reference(q, keys, values, lengths)[0], 1e-6)
    sinks = floats(4)
    near(fovea.attention(q, keys, values, sinks=sinks), reference(q, keys, values, sinks=sinks)[0], 1e-6)
    for target in fovea.targets():
        near(fovea.attention(q, keys, values, target=target), reference(q, keys, values)[0], 1e-6)


def arrays_may_have_strides_and_other_types():
    packed = floats(2, 7, 3, 4, 8)  # [batch][tokens][q, k, v][heads][dim]
    q, keys, values = (packed[:, :, i].swapaxes(1, 2) for i in range(3))
    near(fovea.attention(q, keys, values), reference(q, keys, values)[0], 1e-6)
    keys, values = keys.astype(np.float16), values.astype(np.float16)
    near(fovea.attention(q, keys, values), reference(q, keys, values)[0], 1e-6)
    near(fovea.attention(q, keys, values, out_dtype="f16"), reference(q, keys, values)[0], 1e-3)
    near(fovea.attention(q[0, 0], keys[0, 0], values[0, 0])[0, 0], reference(q[:1, :1], keys[:1, :1], values[:1, :1])[0][0, 0], 1e-6)


def a_call_computes_again_from_what_its_arrays_hold():
    q, keys, values, out = floats(1, 2, 3, 8), floats(1, 2, 5, 8), floats(1, 2, 5, 8), np.zeros((1, 2, 3, 8), np.float32)
    plan = fovea.Plan(q_heads=2, kv_heads=2, head_dim=8, value_dim=8, max_q_tokens=3, max_kv_tokens=5)
    call = plan.bind(q, keys, values, out=out, lse=True, scores="softmax")
    for _ in range(2):
        assert call() is out
        want = reference(q, keys, values)
        for got, of in zip((out, call.lse, call.scores), want):
            near(got, of, 1e-6)
        q[:] = floats(*q.shape)
    assert plan.describe(3, 5).startswith(fovea.targets()[0])


def a_cache_holds_what_was_appended():
    for dtype, compute, most in (("f32", "f32", 1e-6), ("f16", "f32", 3e-3), ("i8", "f32", 0.03), ("i8", "i8", 0.03), ("q8_0", "i8", 0.03)):
        cache = fovea.Cache(batch=2, kv_heads=2, head_dim=32, value_dim=32, max_tokens=9, key_dtype=dtype, value_dtype=dtype)
        keys, values, q = floats(2, 2, 9, 32), floats(2, 2, 9, 32), floats(2, 4, 1, 32)
        plan = cache.plan(q_heads=4, compute=compute)
        for token in range(9):
            cache.append(keys[:, :, token:token + 1], values[:, :, token:token + 1])
            near(plan(q, cache), reference(q, keys[:, :, :token + 1], values[:, :, :token + 1])[0], most)
        assert cache.lengths == [9, 9]
        refused("ERR_FULL", cache.append, keys[:, :, :1], values[:, :, :1])
        cache.truncate(4, entry=1)
        assert cache.lengths == [9, 4]
        cache.reset()
        assert cache.lengths == [0, 4]


def streams_see_keys_in_pieces():
    q, keys, values = floats(1, 2, 3, 8), floats(1, 2, 200, 8), floats(1, 2, 200, 8)
    plan = fovea.Plan(q_heads=2, kv_heads=2, head_dim=8, value_dim=8, max_q_tokens=3, max_kv_tokens=200)
    stream, rest = plan.stream(q), plan.stream(q, first_key=128)
    for begin in (0, 64):
        stream.push(keys[:, :, begin:begin + 64], values[:, :, begin:begin + 64])
    rest.push(keys[:, :, 128:], values[:, :, 128:])
    copy = plan.stream(q)
    copy.from_bytes(rest.to_bytes())
    stream.merge(copy)
    out, lse = stream.end(lse=True)
    want = reference(q, keys, values)
    near(out, want[0], 1e-6)
    near(lse, want[1], 1e-6)
    refused("ERR_IMAGE", copy.from_bytes, bytes(len(rest.to_bytes())))


def codes_of_int8_are_chosen_and_read_back():
    x = floats(1000)
    scale, zero = fovea.Range().observe(x[:500]).observe(x[500:]).choose()
    assert zero == 0 and abs(scale * 127 - np.abs(x).max()) < 1e-6
    near(fovea.from_i8(fovea.to_i8(x, scale), scale), x, scale * 0.501)
    scale, zero = fovea.Range().observe(np.abs(x)).choose(asymmetric=True)
    near(fovea.from_i8(fovea.to_i8(np.abs(x), scale, zero), scale, zero), np.abs(x), scale * 0.501)


def workspaces_of_other_processors_are_known():
    desc = fovea.attention_desc(q_heads=8, kv_heads=2, head_dim=64, value_dim=64, max_q_tokens=64, max_kv_tokens=512)
    sizes = {name: fovea.workspace_bytes(desc, name) for name in fovea.PROCESSORS}
    assert all(size > 0 and size % 64 == 0 for size in sizes.values())
    assert sizes["cortex-m4f"] == fovea.workspace_bytes(fovea.Plan(desc), "scalar") < sizes["cortex-a53"]
    assert fovea.workspace_bytes(desc) >= max(sizes.values())
    for target in fovea.targets():
        assert fovea.workspace_bytes(desc, target) == fovea.Plan(desc, target=target).workspace_bytes


def what_is_wrong_is_said():
    refused("ERR_HEADS", fovea.Plan, q_heads=3, kv_heads=2, head_dim=8, value_dim=8)
    desc = fovea.attention_desc(q_heads=3, kv_heads=2, head_dim=8, value_dim=8)
    refused("ERR_HEADS", fovea.workspace_bytes, desc, "cortex-m4f")
    for wrong, kind in (({"causal": "diagonal"}, ValueError), ({"no_such_field": 1}, TypeError)):
        try:
            fovea.attention_desc(**wrong)
        except kind:
            continue
        raise AssertionError(f"{wrong} is taken")
    try:
        fovea.workspace_bytes(desc, "cortex-z80")
    except ValueError:
        return
    raise AssertionError("an unknown processor is taken")


def main():
    print(f"fovea {fovea.__version__} on {', '.join(fovea.targets())}, NumPy {np.__version__}")
    tests = [softmax_is_that_of_numpy_along_each_axis, attention_is_that_of_numpy_with_its_options,
             arrays_may_have_strides_and_other_types, a_call_computes_again_from_what_its_arrays_hold, a_cache_holds_what_was_appended,
             streams_see_keys_in_pieces, codes_of_int8_are_chosen_and_read_back, workspaces_of_other_processors_are_known,
             what_is_wrong_is_said]
    for test in tests:
        try:
            test()
        except Exception:
            print(f"failed: {test.__name__.replace('_', ' ')}")
            raise
    print(f"{len(tests)} tests passed")


sys.exit(main())

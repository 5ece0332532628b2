#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package against NumPy in double: test_fovea.py [shared library]

Without a library it takes the wheel that is installed, with one the package of the tree. Ends with 77 where there is no
NumPy.
"""
import copy
import ctypes
import gc
import pickle
import sys
import threading

from reference import near, np, package, raises, reference, refused, run_all

fovea = package(*sys.argv[1:2])
rng = np.random.default_rng(1)


def floats(*shape):
    return rng.standard_normal(shape, np.float32)


def plan_and_arrays(**fields):
    """A plan of 4 query heads over 2 key heads, and arrays for it."""
    plan = fovea.Plan(**{"q_heads": 4, "kv_heads": 2, "head_dim": 8, "value_dim": 6, "max_batch": 2, "max_q_tokens": 3,
                         "max_kv_tokens": 5, **fields})
    return plan, [floats(2, 4, 3, 8), floats(2, 2, 5, 8), floats(2, 2, 5, 6)]


def features_are_those_that_the_system_names():
    def capabilities(first, second):
        return lambda kind: {16: first, 26: second}[kind]

    assert fovea.c.features_of("linux", "aarch64", capabilities(0, 0)) == 0
    assert fovea.c.features_of("linux", "aarch64", capabilities(1 << 20, 0)) == 1
    assert fovea.c.features_of("linux", "aarch64", capabilities(~(1 << 20 | 1 << 10), 1 << 13)) == 2
    assert fovea.c.features_of("linux", "aarch64", capabilities(1 << 10, ~(1 << 13))) == 8
    assert fovea.c.features_of("darwin", "arm64") == 9
    assert fovea.c.features_of("linux", "x86_64", capabilities(~0, ~0)) == 0
    assert fovea.attention_desc().processor_features == fovea.c.PROCESSOR_FEATURES
    assert fovea.attention_desc(processor_features=0).processor_features == 0


def selftest_gives_the_published_bits_and_names_a_call_that_differs():
    assert fovea.selftest() is None
    results = [result for target in fovea.targets() for result in fovea.published.calls(target)]
    assert len(results) > 40 * len(fovea.targets()) and all(result.digest == result.published for result in results)
    calls = fovea.published.calls
    try:
        fovea.published.calls = lambda target: (result._replace(digest=result.digest ^ (result.name == "softmax: rows"))
                                                for result in calls(target))
        assert fovea.selftest().name == "softmax: rows"
    finally:
        fovea.published.calls = calls


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
    one = [np.broadcast_to(array[:, :, :1], array.shape) for array in (q, keys, values)]
    near(fovea.attention(*one), reference(*one)[0], 1e-3)


def outputs_have_as_many_dimensions_as_q():
    q, keys, values = floats(1, 4, 3, 8), floats(1, 2, 5, 8), floats(1, 2, 5, 6)
    plan = fovea.Plan(q_heads=4, kv_heads=2, head_dim=8, value_dim=6, max_q_tokens=3, max_kv_tokens=5)
    want, want_lse, weights = reference(q, keys, values)
    for _ in range(2):  # the second time with what was prepared
        for given in (q, q[0]):
            for other in (keys, keys[0]):
                for out, lse in (fovea.attention(given, other, values, lse=True), plan(given, other, values, lse=True)):
                    assert (out.shape, lse.shape) == ((*given.shape[:-1], 6), given.shape[:-1])
                    near(out, want.reshape(out.shape), 1e-6)
                    near(lse, want_lse.reshape(lse.shape), 1e-6)
        one, lse = fovea.attention(q[0, 0], keys[0, 0], values[0, 0], lse=True)
        near(one, want[0, 0], 1e-6)
        near(lse, want_lse[0, 0], 1e-6)
    call = plan.bind(q[0], keys, values, lse=True, scores="softmax")
    near(call(), want[0], 1e-6)
    assert (call.lse.shape, call.scores.shape) == ((4, 3), (4, 3, 5))
    near(call.scores, weights[0], 1e-6)
    stream = plan.stream(q[0])
    stream.push(keys, values)
    near(stream.end(), want[0], 1e-6)
    raises(TypeError, "lse is of int: it must be True or False", fovea.attention, q, keys, values, lse=1)


def a_call_computes_again_from_what_its_arrays_hold():
    q, keys, values = floats(1, 2, 3, 8), floats(1, 2, 5, 8), floats(1, 2, 5, 8)
    out = np.zeros((1, 2, 3, 8), np.float32)
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
        cache.compact([1, 3], entry=1)
        assert cache.lengths == [9, 2]
        some = reference(q, keys[:, :, [1, 3]], values[:, :, [1, 3]])[0]
        near(plan(q, cache)[1], some[1], most)
        cache.reset()
        assert cache.lengths == [0, 2]


def a_cache_goes_on_elsewhere_from_its_image():
    keys, values, q = floats(1, 2, 9, 32), floats(1, 2, 9, 32), floats(1, 4, 1, 32)
    fields = {"kv_heads": 2, "head_dim": 32, "max_tokens": 12, "key_dtype": "i8", "value_dtype": "q8_0"}
    cache = fovea.Cache(batch=2, **fields)
    cache.append(keys, values, entry=1)
    image = cache.to_bytes(1, fingerprint=7)
    assert len(image) % 64 == 0 and image[:4] == b"fok1"
    ring = fovea.Cache(kind="ring", **fields)
    ring.from_bytes(image, fingerprint=7)
    assert ring.lengths == [9] and ring.to_bytes(fingerprint=7) == image
    last = cache.to_bytes(1, 7, position=20)
    ring.from_bytes(memoryview(last), tokens=1, position=20)
    assert ring.lengths == [10]
    assert ring.to_bytes(0, 7, 1) == ring.to_bytes(0, 9, 1, position=7)
    some = fovea.Cache(**fields)
    some.from_bytes(cache.to_bytes(1, 0, 4))
    some.append(keys[:, :, 4:], values[:, :, 4:])
    assert np.array_equal(some.plan(q_heads=4)(q, some), cache.plan(q_heads=4)(np.repeat(q, 2, axis=0), cache)[1:])
    refused("ERR_STATE", some.from_bytes, image)
    refused("ERR_STATE", some.from_bytes, image, fingerprint=7)  # whose keys are of other positions
    refused("ERR_LENGTH", some.from_bytes, image, tokens=10, position=0, fingerprint=7)
    refused("ERR_FULL", some.from_bytes, image, position=0, fingerprint=7)
    refused("ERR_CAPACITY", some.from_bytes, image, entry=1, position=0, fingerprint=7)
    refused("ERR_SIZE", fovea.Cache(**{**fields, "head_dim": 64}).from_bytes, image, fingerprint=7)
    for wrong in (b"", image[:63], image[:-1], image[:-1] + b"x", bytes(len(image))):
        refused("ERR_IMAGE", fovea.Cache(**fields).from_bytes, wrong, fingerprint=7)
    refused("ERR_LENGTH", cache.to_bytes, 1, 0, 10)
    refused("ERR_LENGTH", cache.to_bytes, 1, 10)
    refused("ERR_CAPACITY", cache.to_bytes, 2)
    raises(ValueError, "entry is -1: it must be from 0", cache.to_bytes, -1)
    assert some.lengths == [9]


def a_prefix_is_read_where_it_is():
    keys, values, q = floats(3, 2, 90, 32), floats(3, 2, 90, 32), floats(3, 4, 1, 32)
    keys[:, :, :80], values[:, :, :80] = keys[:1, :, :80], values[:1, :, :80]
    for compute in ("f32", "i8"):
        fields = {"batch": 3, "kv_heads": 2, "head_dim": 32, "max_tokens": 90, "key_dtype": "i8", "value_dtype": "q8_0"}
        whole, own = fovea.Cache(**fields), fovea.Cache(**fields)
        whole.append(keys, values)
        image = whole.to_bytes(0, 0, 80, fingerprint=7)
        own.append(keys[:, :, 80:], values[:, :, 80:])
        prefix = own.prefix(image, fingerprint=7)
        assert prefix.tokens == 80 and repr(prefix) == "Prefix(tokens=80)"
        plan = own.plan(q_heads=4, compute=compute, max_prefix_tokens=80)
        want = whole.plan(q_heads=4, compute=compute)(q, whole)
        for given in (prefix, [prefix] * 3):
            assert np.array_equal(plan(q, own, prefix=given), want)
        alone = own.plan(q_heads=4, compute=compute)(q, own)
        near(plan(q, own, prefix=prefix, mask=np.arange(90) >= 80), alone, 1e-6)
        assert np.array_equal(plan(q, own, prefix=[None, prefix, None])[1:], np.stack([want[1], alone[2]]))
        call = plan.bind(q, own, prefix=own.prefix(image, 64, fingerprint=7), scores="softmax")
        call()
        assert call.scores.shape == (3, 4, 1, 90)
    raises(TypeError, "prefix must be made by Cache.prefix", plan, q, own, prefix=image)
    raises(TypeError, "a list of 3", plan, q, own, prefix=[prefix])
    refused("ERR_CAPACITY", own.plan(q_heads=4, max_prefix_tokens=79), q, own, prefix=prefix)
    refused("ERR_UNSUPPORTED", own.plan(q_heads=4), q, own, prefix=prefix)
    refused("ERR_STATE", own.prefix, image)
    refused("ERR_LENGTH", own.prefix, image, 81, fingerprint=7)
    refused("ERR_IMAGE", own.prefix, image[:-1], fingerprint=7)
    other = fovea.Cache(**{**fields, "value_dtype": "i8"})
    centered = fovea.Cache(**{**fields, "key_center": floats(2, 32)})
    for cache in (other, centered):
        raises(ValueError, "formats, sizes or key_center", cache.plan(q_heads=4, max_prefix_tokens=80), q, cache, prefix=prefix)
    ring = fovea.Cache(kind="ring", **{**fields, "max_tokens": 20})
    ring.append(keys[:, :, 80:], values[:, :, 80:])
    assert np.array_equal(ring.plan(q_heads=4, compute="i8", allow_evicted=1, max_prefix_tokens=80)(q, ring, prefix=prefix), want)


def keys_of_a_cache_go_to_other_positions():
    keys, values = floats(1, 2, 9, 32), floats(1, 2, 9, 32)
    q = floats(1, 4, 1, 32)
    for layout, options in (("half_split", {}), ("interleaved", {"rotary_dim": 16, "base": 500.0, "inverse": True})):
        caches = [fovea.Cache(kv_heads=2, head_dim=32, max_tokens=9) for _ in range(2)]
        for cache, offset in zip(caches, (100, 83)):
            cache.append(fovea.rope(keys, layout, position_offset=offset, **options), values)
        caches[0].shift(-17, layout, **options)
        near(*(cache.plan(q_heads=4)(q, cache) for cache in caches), 1e-5)
        image = caches[0].to_bytes(0, 0, 4)
        caches[0].shift(5, layout, first=4, tokens=2, **options)
        assert caches[0].to_bytes(0, 0, 4) == image
    raises(ValueError, "rotary_dim is 34", cache.shift, 1, "half_split", rotary_dim=34)
    raises(ValueError, "layout is", cache.shift, 1, "halves")
    refused("ERR_LENGTH", cache.shift, 1, "half_split", first=3, tokens=7)


def a_cache_may_rotate_its_rows():
    keys, values, q = floats(1, 2, 9, 32), floats(1, 2, 9, 32), floats(1, 4, 1, 32)
    cache = fovea.Cache(kv_heads=2, head_dim=32, value_dim=32, max_tokens=9, hadamard="both", hadamard_seed=3)
    cache.append(keys, values)
    near(cache.plan(q_heads=4)(q, cache), reference(q, keys, values)[0], 1e-6)
    raises(ValueError, "the Cache has a hadamard of", cache.plan(q_heads=4, hadamard="keys"), q, cache)


def weights_of_keys_add_up():
    plan, (q, keys, values) = plan_and_arrays(key_mass_queries=2)
    mass = np.ones((2, 2, 5), np.float32)
    want = reference(q, keys, values)[2][:, :, 1:].reshape(2, 2, 2, 2, 5).sum((2, 3))
    for times in (1, 2):
        plan(q, keys, values, key_mass=mass)
        near(mass, 1 + times * want, 1e-6)
    plan.bind(q, keys, values, key_mass=mass)()
    near(mass, 1 + 3 * want, 1e-6)
    another = np.zeros((2, 2, 5), np.float32)
    plan(q, keys, values, key_mass=another)
    near(another, want, 1e-6)
    for wrong in (mass[:, :, :4], mass[:1], np.zeros((1, 2, 2, 5), np.float32)):
        raises(ValueError, "key_mass has the shape", plan, q, keys, values, key_mass=wrong)
    raises(TypeError, "key_mass is of float64", plan, q, keys, values, key_mass=mass.astype(np.float64))
    raises(TypeError, "key_mass is of list", plan, q, keys, values, key_mass=mass.tolist())
    raises(ValueError, "the last must be 4", plan, q, keys, values, key_mass=np.zeros((2, 2, 10), np.float32)[:, :, ::2])
    refused("ERR_UNSUPPORTED", plan_and_arrays()[0], q, keys, values, key_mass=mass)
    cache = fovea.Cache(kv_heads=2, head_dim=8, value_dim=6, batch=2, max_tokens=9)
    plan, mass = cache.plan(q_heads=4, max_q_tokens=3, key_mass_queries=2), np.zeros((2, 2, 9), np.float32)
    cache.append(keys, values)
    plan(q, cache, key_mass=mass)
    near(mass[:, :, :5], want, 1e-6)
    cache.append(keys[:, :, :4], values[:, :, :4])
    plan(q, cache, key_mass=mass)
    near(mass.sum(-1), np.full((2, 2), 8.0), 1e-5)
    raises(ValueError, "key_mass has the shape", plan, q, cache, key_mass=mass[:, :, :5])


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
    codes = [np.clip(np.round(x / 0.02), -127, 127).astype(np.int8) for x in (keys, values)]
    scales = np.arange(16, dtype=np.float32).reshape(2, 8) - 7
    plan = fovea.Plan(q_heads=2, kv_heads=2, head_dim=8, value_dim=8, max_q_tokens=3, max_kv_tokens=200, compute="i8",
                      key_dtype="i8", value_dtype="i8", key_scale=0.02, value_scale=0.02)
    stream = plan.stream(q)
    stream.push(codes[0][:, :, :64], codes[1][:, :, :64])
    stream.push(codes[0][:, :, 64:], codes[1][:, :, 64:])
    assert np.array_equal(stream.end(value_channel_scales=scales), plan(q, *codes, value_channel_scales=scales))


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
    raises(ValueError, "diagonal", fovea.attention_desc, causal="diagonal")
    raises(TypeError, "no_such_field", fovea.attention_desc, no_such_field=1)
    raises(ValueError, "cortex-z80", fovea.workspace_bytes, desc, "cortex-z80")


def arrays_of_other_types_and_shapes_are_refused():
    plan, (q, keys, values) = plan_and_arrays()
    for call in (plan, plan.bind):
        raises(ValueError, "q has the shape (2, 2, 3, 8): it must be [batch][q_heads 4][q_tokens][head_dim 8]", call,
               q[:, :2], keys, values)
        raises(TypeError, "keys is of float16: it must be of float32", call, q, keys.astype(np.float16), values)
        raises(TypeError, "q is of float64", call, q.astype(np.float64), keys, values)
        raises(ValueError, "keys has the shape (2, 2, 5, 4): it must be [batch 2][kv_heads 2][kv_tokens][key_row 8]",
               call, q,
               keys[..., :4], values)
        raises(ValueError, "keys has the shape (2, 1, 5, 8)", call, q, keys[:, :1], values)
        raises(ValueError, "keys has the shape (1, 2, 5, 8)", call, q, keys[:1], values)
        raises(ValueError, "values has the shape (2, 2, 4, 6): it must be [batch 2][kv_heads 2][kv_tokens 5]", call, q,
               keys, values[:, :, :4])
        raises(ValueError, "q has the shape (1, 2, 4, 3, 8)", call, q[None], keys, values)
        raises(ValueError, "q has the shape ()", call, np.zeros((), np.float32), keys, values)
        raises(TypeError, "values are missing", call, q, keys)
    refused("ERR_CAPACITY", plan, np.repeat(q, 2, axis=2), keys, values)
    raises(TypeError, "q is of list: it must be a NumPy array", plan.bind, q.tolist(), keys, values)
    raises(TypeError, "q is of float64", plan, q.tolist(), keys, values)
    raises(TypeError, "batch is no option of this call: there are", plan, q, keys, values, batch=2)


def names_that_are_not_known_bring_the_nearest():
    q, other = floats(2, 3, 8), {"kv_heads": 2, "head_dim": 8, "value_dim": 8, "max_tokens": 9}
    for name, near_to in {"is_causal": "causal", "sm_scale": "scale", "attn_mask": "mask", "num_heads": "q_heads",
                          "sliding_window": "window_left", "logits_soft_cap": "softcap", "key_lengths": "kv_lengths"}.items():
        raises(TypeError, f"{name} is no option of this call: the nearest is {near_to}, there are", fovea.attention, q, q, q, **{name: 1})
    raises(TypeError, "enable_gqa is no option of this call: there are alibi_slopes,", fovea.attention, q, q, q, enable_gqa=1)
    for text, made in (("is_causal is no field of fovea_attention_desc: the nearest is causal,", lambda: fovea.Plan(is_causal=1)),
                       ("head_size is no field of a Cache: the nearest is head_dim,", lambda: fovea.Cache(head_size=8, **other)),
                       ("sink is no option of this call: the nearest is sinks,",
                        lambda: fovea.Plan(q_heads=2, **dict([*other.items()][:3])).bind(q, q, q, sink=1)),
                       ("num_heads is no field of a layer: the nearest is q_heads,",
                        lambda: fovea.MultiheadAttention(2, qkv=floats(48, 16), num_heads=1))):
        raises(TypeError, text, made)


def types_and_dimensions_are_named_with_their_argument():
    q, double = floats(2, 3, 8), np.ones((2, 3, 8))
    for name, arrays in (("q", (double, q, q)), ("keys", (q, double, q)), ("values", (q, q, double))):
        raises(TypeError, f"{name} is of float64: it must be of float32 or float16 or bfloat16 or int8, as "
               f"{name}.astype(np.float32)", fovea.attention, *arrays)
    raises(TypeError, "mask is of float64", fovea.attention, q, q, q, mask=double)
    raises(TypeError, "weights is of float64: it must be of", fovea.linear, q, np.ones((4, 8)))
    raises(TypeError, "weights is of uint8: dtype must name", fovea.Weights, np.ones((4, 8), np.uint8))
    for name in ("q_heads", "kv_heads", "head_dim", "value_dim"):
        sizes = {**dict.fromkeys(("q_heads", "kv_heads", "head_dim", "value_dim"), 4), name: 0}
        raises(fovea.Error, f"{name} is 0 (FOVEA_ERR_DIM)", fovea.Plan, **sizes)
    raises(fovea.Error, "head_dim is 0 and value_dim is 0 (", fovea.Cache, kv_heads=2, head_dim=0, max_tokens=9)
    raises(fovea.Error, "head_dim is 0 (", fovea.DeltaState, "gated", v_heads=1, head_dim=0, value_dim=4)
    raises(fovea.Error, "dim is 0 (", fovea.norm, floats(3, 0))
    raises(ValueError, "x has the shape (3, 0): it must have rows of elements", fovea.rope, floats(3, 0), "half_split")


def masked_arrays_are_refused():
    q, weights = floats(2, 3, 8), floats(4, 8)
    plan = fovea.Plan(q_heads=2, kv_heads=2, head_dim=8, value_dim=8, max_q_tokens=3, max_kv_tokens=3)
    cache = fovea.Cache(kv_heads=2, head_dim=8, max_tokens=9)
    state = fovea.DeltaState("linear", v_heads=2, head_dim=8, value_dim=8)
    masked = lambda array: np.ma.masked_array(array, np.zeros(np.shape(array), bool))  # noqa: E731
    for name, call in (
            ("q", lambda m: fovea.attention(m(q), q, q)), ("keys", lambda m: fovea.attention(q, m(q), q)),
            ("values", lambda m: plan(q, q, m(q))), ("out", lambda m: plan(q, q, q, m(q))), ("q", lambda m: plan.bind(m(q), q, q)),
            ("mask", lambda m: fovea.attention(q, q, q, mask=m(np.ones((3, 3), bool)))),
            ("sinks", lambda m: fovea.attention(q, q, q, sinks=m(np.ones(2, np.float32)))),
            ("kv_lengths", lambda m: plan.bind(q, q, q, kv_lengths=m(np.ones(1, np.uint32)))),
            ("q_offsets", lambda m: plan(q, q, q, q_offsets=m([0, 3]))), ("q", lambda m: plan.stream(m(q))),
            ("values", lambda m: cache.append(q, m(q))), ("kept", lambda m: cache.compact(m([0]))),
            ("keys", lambda m: fovea.KeyCenter(2, 8).add(m(q))), ("q", lambda m: state(m(q), q, q)),
            ("matrices", lambda m: state.set(m(np.zeros((1, 2, 8, 8), np.float32)))),
            ("x", lambda m: fovea.softmax(m(q))), ("x", lambda m: fovea.bind_softmax(m(q))), ("x", lambda m: fovea.norm(m(q))),
            ("residual", lambda m: fovea.norm(q, residual=m(q))), ("b", lambda m: fovea.add(q, m(q))),
            ("x", lambda m: fovea.linear(m(q), weights)), ("weights", lambda m: fovea.linear(q, m(weights))),
            ("bias", lambda m: fovea.Weights(weights, m(np.ones(4, np.float32)))), ("x", lambda m: fovea.rope(m(q), "half_split")),
            ("indices", lambda m: fovea.embedding(m([1]), weights)), ("x", lambda m: fovea.argmax(m(q))),
            ("x", lambda m: fovea.pooling(m(q))), ("x", lambda m: fovea.to_i8(m(q), 1.0)),
            ("x", lambda m: fovea.integer_mean(m(np.ones((3, 8), np.int8)), x_scale=1.0, y_scale=1.0)),
            ("x", lambda m: fovea.MultiheadAttention(2, qkv=floats(12, 4))(m(floats(3, 4)))),
            ("fovea_attention_args.sinks", lambda m: fovea.c.structure("attention_args", sinks=m(np.ones(2, np.float32))))):
        raises(TypeError, f"{name} is a masked array, whose mask would be lost", call, masked)


def objects_say_what_they_are():
    plan = fovea.Plan(q_heads=2, kv_heads=2, head_dim=4, value_dim=4, causal="top_left", scale=0.5, target="scalar")
    text = ("Plan(q_heads=2, kv_heads=2, head_dim=4, value_dim=4, max_batch=1, max_q_tokens=1, scale=0.5, causal='top_left', "
            "diagonal='top_left', target='scalar')")
    q, weights = floats(2, 1, 4), fovea.Weights(floats(12, 4))
    for made, want in (
            (plan, text), (plan.stream(q), f"Stream(plan={text}, q=(2, 1, 4))"),
            (fovea.attention_desc(causal="top_left"), "fovea_attention_desc(max_batch=1, max_q_tokens=1, causal='top_left')"),
            (fovea.Cache(kv_heads=2, head_dim=8, max_tokens=9, key_dtype="i8"),
             "Cache(key_dtype='i8', batch=1, kv_heads=2, head_dim=8, value_dim=8, max_tokens=9)"),
            (weights, "Weights(dtype='f32', out_dim=12, in_dim=4)"),
            (fovea.MultiheadAttention(2, qkv=weights),
             f"MultiheadAttention(q_heads=2, kv_heads=2, head_dim=2, value_dim=2, d_model=4, qkv={weights})"),
            (fovea.DeltaState("gated", v_heads=1, head_dim=3, value_dim=4),
             "DeltaState(rule='gated', batch=1, v_heads=1, head_dim=3, value_dim=4, decay_dim=1)"),
            (fovea.KeyCenter(2, 8), "KeyCenter(kv_heads=2, head_dim=8, count=0)"),
            (fovea.Range().observe([1.0, 2.0]), "Range(")):
        assert repr(made).startswith(want), f"{made!r} instead of {want}"


def out_is_what_is_wanted_or_refused():
    plan, arrays = plan_and_arrays()
    shape = 2, 4, 3, 6
    locked = np.zeros(shape, np.float32)
    locked.flags.writeable = False
    wrong = {
        "out is of float16": np.zeros(shape, np.float16),
        "out is of float64": np.zeros(shape),
        "out is of list": np.zeros(shape, np.float32).tolist(),
        "out has the shape (2, 4, 2, 6)": np.zeros((2, 4, 2, 6), np.float32),
        "out has strides of (576, 144, 48, 8) bytes: the last must be 4": np.zeros((2, 4, 3, 12), np.float32)[..., ::2],
        "out is read-only": locked,
        "out is not in this machine's byte order": np.zeros(shape, np.dtype(np.float32).newbyteorder()),
        "out is not aligned": np.zeros(4 * 144 + 1, np.uint8)[1:].view(np.float32).reshape(shape),
        "out has strides of (576, 144, 48, 8)": np.zeros(shape, np.complex64).view(np.float32)[..., ::2],
    }
    for text, out in wrong.items():
        raises((TypeError, ValueError), text, plan, *arrays, out=out)
        assert not np.any(out), f"{text}: is written"
    refused("ERR_STRIDE", plan, *arrays, out=np.lib.stride_tricks.as_strided(np.zeros(6, np.float32), shape, (0, 0, 0, 4)))
    packed = np.zeros((2, 3, 4, 6), np.float32)  # the layout that models write
    assert plan(*arrays, out=packed.swapaxes(1, 2)).base is not None
    near(packed.swapaxes(1, 2), reference(*arrays)[0], 1e-6)
    same, arrays = plan_and_arrays(value_dim=8)
    refused("ERR_OVERLAP", same, arrays[0], arrays[1], floats(2, 2, 5, 8), out=arrays[0])


def inputs_that_c_cannot_read_are_copied_for_one_call_and_not_for_more():
    plan, arrays = plan_and_arrays()
    want = reference(*arrays)[0]
    records = np.zeros(arrays[0].shape, [("a", "u1"), ("x", "f4")])
    records["x"] = arrays[0]
    misaligned = np.zeros(arrays[0].nbytes + 1, np.uint8)[1:].view(np.float32).reshape(arrays[0].shape)
    misaligned[...] = arrays[0]
    wide = np.repeat(arrays[0], 2, axis=3)
    for text, q in (("is not in this machine's byte order", arrays[0].astype(np.dtype(np.float32).newbyteorder())),
                    ("is not aligned", records["x"]), ("is not aligned", misaligned),
                    ("the last must be 4", wide[..., ::2])):
        near(plan(q, *arrays[1:]), want, 1e-6)
        raises(ValueError, f"q {text}" if "last" not in text else text, plan.bind, q, *arrays[1:])
    for call in (plan, lambda *given: plan.bind(*given)()):
        reversed_arrays = [arrays[0][::-1], arrays[1][::-1], arrays[2][::-1]]
        near(call(*reversed_arrays), want[::-1], 1e-6)
        shared = np.broadcast_to(arrays[1][:1], arrays[1].shape)
        near(call(arrays[0], shared, arrays[2]), reference(arrays[0], shared, arrays[2])[0], 1e-6)


def masks_are_broadcast_as_numpy_does():
    plan, arrays = plan_and_arrays()
    want = reference(*arrays)[0]
    for hidden, mask in ((False, np.array(True)), (True, np.array(False)), (False, np.ones(5, bool)),
                         (False, np.ones((3, 1), np.uint8)),
                         (False, np.zeros((), np.float32)), (True, np.zeros((2, 4, 3, 1), bool)),
                         (False, np.ones((3, 10), bool)[:, ::2])):
        near(plan(*arrays, mask=mask), want * (not hidden), 1e-6)
    for mask in (np.ones((3, 4), bool), np.ones((3, 0), bool), np.ones((3, 3, 5), bool), np.ones((1, 2, 4, 3, 5), bool)):
        raises(ValueError, f"mask has the shape {mask.shape}: it must broadcast to (2, 4, 3, 5)", plan, *arrays, mask=mask)
    raises(TypeError, "mask is of int64: it must be of bool or uint8", plan, *arrays, mask=np.ones((3, 5), np.int64))
    raises(ValueError, "mask has strides", plan.bind, *arrays, mask=np.ones((3, 10), bool)[:, ::2])
    causal = np.tril(np.ones((3, 5), bool))
    near(plan.bind(*arrays, mask=causal)(), reference(*arrays, causal)[0], 1e-6)


def small_arrays_are_converted_where_no_number_is_lost():
    plan, arrays = plan_and_arrays()
    lengths = np.arange(5) < np.array([2, 4]).reshape(2, 1, 1, 1)
    want = reference(*arrays, lengths)[0]
    for given in ([2, 4], np.array([2, 4]), np.array([2, 4], np.uint8), np.array([2, 4], ">u4")):
        near(plan(*arrays, kv_lengths=given), want, 1e-6)
    near(plan.bind(*arrays, kv_lengths=[2, 4])(), want, 1e-6)
    raises(ValueError, "kv_lengths has -1, which uint32 does not have", plan, *arrays, kv_lengths=[2, -1])
    raises(ValueError, "kv_lengths has 4294967298", plan, *arrays, kv_lengths=[2 ** 32 + 2, 4])
    raises(TypeError, "kv_lengths is of float64", plan, *arrays, kv_lengths=[2.0, 4.0])
    raises(ValueError, "kv_lengths has the shape (3,): it must be (2,)", plan, *arrays, kv_lengths=[2, 4, 1])
    raises(TypeError, "kv_lengths is of int64: it must be of uint32", plan.bind, *arrays, kv_lengths=np.array([2, 4]))
    refused("ERR_LENGTH", plan, *arrays, kv_lengths=[2, 6])
    held = np.array([5, 5], np.uint32)
    call = plan.bind(*arrays, kv_lengths=held)
    near(call(), reference(*arrays)[0], 1e-6)
    held[:] = 2, 4
    near(call(), want, 1e-6)
    held[:] = 2, 2 ** 32 - 1
    refused("ERR_LENGTH", call)
    raises(ValueError, "sinks has 1e+300, which float32 does not have", plan, *arrays, sinks=[0, 0, 0, 1e300])


def ragged_batches_are_within_their_arrays():
    q, keys, values = floats(1, 4, 5, 8), floats(1, 2, 7, 8), floats(1, 2, 7, 6)
    got = fovea.attention(q, keys, values, q_offsets=[0, 2, 5], kv_offsets=[0, 3, 7])
    for (begin, end), (first, last) in (((0, 2), (0, 3)), ((2, 5), (3, 7))):
        near(got[:, :, begin:end], reference(q[:, :, begin:end], keys[:, :, first:last], values[:, :, first:last])[0], 1e-6)
    refused("ERR_LENGTH", fovea.attention, q, keys, values, q_offsets=[0, 2, 6], kv_offsets=[0, 3, 7], max_q_tokens=9)
    refused("ERR_LENGTH", fovea.attention, q, keys, values, q_offsets=[0, 2, 5], kv_offsets=[0, 3, 8], max_kv_tokens=9)
    refused("ERR_LENGTH", fovea.attention, q, keys, values, q_offsets=[0, 5, 2], kv_offsets=[0, 3, 7])
    raises(ValueError, "kv_offsets has the shape (2,): it must be [batch + 1]", fovea.attention, q, keys, values, q_offsets=[0, 2, 5],
           kv_offsets=[0, 3])
    two = np.repeat(keys, 2, axis=0), np.repeat(values, 2, axis=0)
    raises(ValueError, "keys has the shape (2, 2, 7, 8): it must be [entries 1]", fovea.attention, q, *two, q_offsets=[0, 2, 5],
           kv_offsets=[0, 3, 7])
    raises(ValueError, "it must broadcast to (2, 4, 3, 4)", fovea.attention, q, keys, values, q_offsets=[0, 2, 5], kv_offsets=[0, 3, 7],
           mask=np.ones((2, 3), bool))
    offsets = np.array([0, 2, 5], np.uint32)
    plan = fovea.Plan(q_heads=4, kv_heads=2, head_dim=8, value_dim=6, max_batch=2, max_q_tokens=5, max_kv_tokens=7)
    call = plan.bind(q, keys, values, q_offsets=offsets, kv_offsets=[0, 3, 7], mask=np.ones((3, 4), bool))
    offsets[:] = 0, 0, 5  # the mask would be too short
    near(call(), got, 1e-6)


def rows_of_codes_have_their_bytes_and_scales():
    q, codes = floats(1, 2, 3, 40), rng.integers(-127, 128, (1, 2, 5, 40)).astype(np.int8)
    scales = rng.random((1, 2, 5), np.float32) / 64
    options = {"key_dtype": "i8", "value_dtype": "i8", "key_scales": scales, "value_scales": scales}
    rows = codes * scales[..., None]
    near(fovea.attention(q, codes, codes, **options), reference(q, rows, rows)[0], 1e-5)
    raises(ValueError, "key_scales has the shape (1, 2, 4): it must be [batch 1][kv_heads 2][kv_tokens 5]", fovea.attention, q, codes,
           codes, **{**options, "key_scales": scales[..., :4]})
    raises(TypeError, "value_scales is of float64", fovea.attention, q, codes, codes, **{**options, "value_scales": scales.astype(float)})
    refused("ERR_NULL", fovea.attention, q, codes, codes, key_dtype="i8", value_dtype="i8")
    raises(TypeError, "key_scales is given: f32 has no scales", fovea.attention, q, rows, rows, key_scales=scales)
    for form, row in (("q8_0", 68), ("q4_0", 36)):
        blocks = np.zeros((1, 2, 5, row), np.uint8)  # scales of 0
        near(fovea.attention(q, blocks, blocks, key_dtype=form, value_dtype=form, value_dim=40), np.zeros((1, 2, 3, 40)), 0)
        raises(ValueError, f"keys has the shape (1, 2, 5, {row - 1}): it must be [batch 1][kv_heads 2][kv_tokens][key_row {row}]",
               fovea.attention, q, blocks[..., 1:], blocks, key_dtype=form, value_dtype=form, value_dim=40)
    halves = np.zeros((1, 2, 5, 2), np.float16)
    fours = np.zeros((1, 2, 5, 32), np.uint8)
    options = {"key_dtype": "i4", "value_dtype": "i4", "value_dim": 40, "key_scales": halves}
    near(fovea.attention(q, fours, fours, value_scales=halves, **options), np.zeros((1, 2, 3, 40)), 0)
    raises(ValueError, "value_scales has the shape (1, 2, 5, 1)", fovea.attention, q, fours, fours, value_scales=halves[..., :1], **options)


def block_maps_are_within_their_arrays():
    plan, arrays = plan_and_arrays()
    lists = {"q_block": 2, "kv_block": 64, "offsets": np.array([0, 1, 2], np.uint32), "blocks": np.zeros(2, np.uint32)}
    near(plan(*arrays, block_map=lists), reference(*arrays)[0], 1e-6)
    near(plan.bind(*arrays, block_map=lists)(), reference(*arrays)[0], 1e-6)
    for text, wrong in (("have the shape (2,): they must broadcast to (2, 2, 3)",
                         {"offsets": np.array([0, 1], np.uint32)}),
                        ("have the shape (1,)", {"offsets": np.zeros(1, np.uint32)}),
                        ("have the shape (3, 1, 3)", {"offsets": np.zeros((3, 1, 3), np.uint32)})):
        raises(ValueError, f"block_map's offsets {text}", plan, *arrays, block_map={**lists, **wrong})
    raises(TypeError, "block_map's blocks is of int64", plan.bind, *arrays, block_map={**lists, "blocks": np.zeros(2, np.int64)})
    raises(TypeError, "block_map is of int", plan, *arrays, block_map=4096)
    for wrong in ({"offsets": np.array([0, 1, 3], np.uint32)}, {"blocks": np.array([0, 1], np.uint32)}, {"q_block": 0}):
        refused("ERR_MAP", plan, *arrays, block_map={**lists, **({"offsets": np.zeros(4, np.uint32)} if "q_block" in wrong else {}),
                                                     **wrong})


def caches_take_what_fits_them():
    cache = fovea.Cache(kv_heads=2, head_dim=8, value_dim=6, max_tokens=9)
    keys, values = floats(1, 2, 3, 8), floats(1, 2, 3, 6)
    raises(ValueError, "values has the shape (1, 2, 2, 6): it must be [batch 1][kv_heads 2][tokens 3][value_dim 6]", cache.append, keys,
           values[:, :, :2])
    raises(ValueError, "keys has the shape (1, 2, 3, 4)", cache.append, keys[..., :4], values)
    raises(ValueError, "keys has the shape (1, 1, 3, 8)", cache.append, keys[:, :1], values)
    raises(TypeError, "values is of float16: it must be of float32", cache.append, keys, values.astype(np.float16))
    raises(TypeError, "keys is of float64: it must be of float32 or float16 or bfloat16 or int8, as keys.astype(np.float32)",
           cache.append, keys.astype(float), values)
    raises(TypeError, "values are missing", cache.append, keys)
    refused("ERR_CAPACITY", cache.append, keys, values, entry=1)
    refused("ERR_CAPACITY", cache.append, np.repeat(keys, 2, axis=0), np.repeat(values, 2, axis=0))
    raises(ValueError, "entry is -1: it must be from 0", cache.append, keys, values, entry=-1)
    assert cache.lengths == [0]
    cache.append(keys.astype(np.dtype(np.float32).newbyteorder()), values)
    raises(ValueError, "length is 4294967296: it must be from 0 to 4294967295", cache.truncate, 2 ** 32)
    refused("ERR_LENGTH", cache.truncate, 4)
    refused("ERR_LENGTH", cache.compact, [0, 3])
    refused("ERR_LENGTH", cache.compact, [1, 1])
    raises(ValueError, "kept must be a list", cache.compact, [-1])
    raises(ValueError, "kept must be a list", cache.compact, [[1]])
    raises(TypeError, "kept has elements of float64", cache.compact, [1.0])
    assert cache.lengths == [3]
    q = floats(1, 4, 1, 8)
    near(cache.plan(q_heads=4)(q, cache), reference(q, keys, values)[0], 1e-6)
    raises(ValueError, "q has 2 batch entries: the Cache has 1", cache.plan(q_heads=4, max_batch=2), floats(2, 4, 1, 8), cache)
    for field, other in (("head_dim", 16), ("value_dim", 16), ("key_dtype", "f16"), ("value_dtype", "i8"), ("kv_heads", 4)):
        plan = cache.plan(q_heads=4, **{field: other})
        raises(ValueError, f"the Cache has a {field} of", plan, floats(1, 4, 1, plan.desc.head_dim), cache)
    raises(TypeError, "kv_lengths is given beside a Cache", cache.plan(q_heads=4), q, cache, kv_lengths=[9])
    raises(TypeError, "values are given beside a Cache", cache.plan(q_heads=4), q, cache, values)
    call = cache.plan(q_heads=4).bind(q, cache)
    cache.append(keys, values)
    refused("ERR_LENGTH", call)
    for name in ("memory", "memory_bytes", "lengths", "source", "struct_bytes"):
        raises(TypeError, f"{name} is no field of a Cache", fovea.Cache, kv_heads=2, head_dim=8, value_dim=8, max_tokens=9, **{name: 64})
    assert fovea.Cache(kv_heads=2, head_dim=8, max_tokens=9).desc.value_dim == 8
    latent = fovea.Cache(kv_heads=1, head_dim=8, value_dim=6, max_tokens=9, values_in_keys=True)
    latent.append(keys[:, :1])
    near(latent.plan(q_heads=4)(q, latent), reference(q, keys[:, :1], keys[:, :1, :, :6])[0], 1e-6)
    raises(TypeError, "values are given beside values_in_keys", latent.append, keys[:, :1], values[:, :1])


def caches_in_rings_and_pages_keep_their_places():
    keys, values, q = floats(1, 2, 8, 8), floats(1, 2, 8, 6), floats(1, 4, 1, 8)
    pages = fovea.Cache(kind="paged", kv_heads=2, head_dim=8, value_dim=6, max_tokens=8, page_tokens=4, pages=3)
    refused("ERR_FULL", pages.append, keys, values)
    pages.page_table[:] = 2, 7
    refused("ERR_PAGE", pages.append, keys, values)
    pages.page_table[:] = 2, 0
    pages.append(keys, values)
    plan = pages.plan(q_heads=4)
    near(plan(q, pages), reference(q, keys, values)[0], 1e-6)
    pages.page_table[0, 1] = 3
    refused("ERR_PAGE", plan, q, pages)
    raises(TypeError, "a plan for keys in a ring or in pages takes a Cache", plan, q, keys, values)
    ring = fovea.Cache(kind="ring", kv_heads=2, head_dim=8, value_dim=6, max_tokens=4)
    ring.append(keys, values)
    near(ring.plan(q_heads=4, allow_evicted=True)(q, ring), reference(q, keys[:, :, 4:], values[:, :, 4:])[0], 1e-6)
    raises(TypeError, "the Cache is not in pages", lambda: ring.page_table)
    center = floats(2, 8)
    centred = fovea.Cache(kv_heads=2, head_dim=8, value_dim=6, max_tokens=9, key_center=center)
    center[:] = np.nan  # the cache has a copy
    centred.append(keys, values)
    near(centred.plan(q_heads=4)(q, centred), reference(q, keys, values)[0], 1e-5)
    raises(ValueError, "key_center has the shape (2, 7): it must be (2, 8)", fovea.Cache, kv_heads=2, head_dim=8, value_dim=6, max_tokens=9,
           key_center=floats(2, 7))
    mean = fovea.KeyCenter(2, 8).add(keys[:, :, :2]).add(keys[:, ::-1, 2:][:, ::-1])
    assert mean.count == keys.shape[0] * keys.shape[2]
    near(mean.center, keys.mean(axis=(0, 2)), 1e-6)
    centred = fovea.Cache(kv_heads=2, head_dim=8, value_dim=6, max_tokens=9, key_center=mean.center)
    centred.append(keys, values)
    near(centred.plan(q_heads=4)(q, centred), reference(q, keys, values)[0], 1e-5)
    raises(ValueError, "keys has the shape", mean.add, keys[:, :1])
    raises(TypeError, "keys is of float64", mean.add, keys.astype(np.float64))


def streams_take_what_fits_them():
    plan, (q, keys, values) = plan_and_arrays()
    stream = plan.stream(q)
    raises(ValueError, "values has the shape (2, 2, 4, 6)", stream.push, keys, values[:, :, :4])
    raises(TypeError, "sinks is no option of this call", stream.push, keys, values, sinks=[0] * 4)
    raises(TypeError, "value_channel_scales is no option", stream.push, keys, values, value_channel_scales=np.ones((2, 6)))
    raises(TypeError, "mask is no option of this call", stream.end, mask=np.array(True))
    want = reference(q, keys, values)[0]
    q[:] = np.nan  # the stream has a copy
    stream.push(keys, values)
    near(stream.end(), want, 1e-6)
    raises(ValueError, "out is read-only", stream.end, out=np.broadcast_to(np.float32(0), (2, 4, 3, 6)))
    raises(TypeError, "other is of int", stream.merge, 1)
    refused("ERR_OVERLAP", stream.merge, stream)
    image = stream.to_bytes()
    other = plan.stream(floats(1, 4, 2, 8))
    raises(ValueError, "the image has a batch of 1: the stream has 2", stream.from_bytes, other.to_bytes())
    refused("ERR_STATE", other.from_bytes, image)
    refused("ERR_STATE", stream.merge, other)
    for wrong in (image[:-1], b"", bytes(len(image))):
        refused("ERR_IMAGE", stream.from_bytes, wrong)
    near(stream.end(), want, 1e-6)
    raises(ValueError, "first_key is 9223372036854775808", plan.stream, floats(2, 4, 3, 8), 2 ** 63)


def numbers_that_a_field_does_not_hold_are_refused():
    for value in (2 ** 32 + 1, -1):
        raises(ValueError, f"fovea_attention_desc.q_heads is {value}: it must be from 0 to 4294967295", fovea.attention_desc, q_heads=value)
    for value in (1.0, None, "1", np.array([1, 2])):
        raises(TypeError, "fovea_attention_desc.q_heads is of", fovea.attention_desc, q_heads=value)
    for value in ("1", None, 1j):
        raises(TypeError, "fovea_attention_desc.scale is of", fovea.attention_desc, scale=value)
    for value in (1e300, 1e-300):
        raises(ValueError, f"fovea_attention_desc.scale is {value}", fovea.attention_desc, scale=value)
    raises(ValueError, "processor_features is 18446744073709551616", fovea.attention_desc, processor_features=2 ** 64)
    desc = fovea.attention_desc(q_heads=np.int64(4), portable_bits=True, scale=np.float64(0.5))
    assert (desc.q_heads, desc.portable_bits, desc.scale) == (4, 1, 0.5)
    raises(ValueError, "key_zero_point is 2147483648", setattr, desc, "key_zero_point", 2 ** 31)
    raises(AttributeError, "has no field q_head", setattr, desc, "q_head", 4)
    raises(TypeError, "fovea_attention_args.q is of tuple", fovea.c.structure, "attention_args", q=(0, 0, 0, 0))
    raises(TypeError, "plan is a fovea_attention_desc: it must be a fovea_attention_plan", fovea.c.size, "fovea_attention_workspace_bytes", desc)
    raises(TypeError, "takes plan, bytes: 0 arguments are given", fovea.c.call, "fovea_attention_workspace_bytes")
    raises(TypeError, "desc is of int", fovea.Plan, 4096)
    refused("ERR_STRUCT", fovea.Plan, q_heads=1, kv_heads=1, head_dim=8, value_dim=8, struct_bytes=8)
    for codes in ([128], [-129], [300]):
        raises(ValueError, f"codes has {codes[0]}, which int8 does not have", fovea.from_i8, codes, 1.0)
    raises(TypeError, "codes is of float64", fovea.from_i8, [1.5], 1.0)
    raises(ValueError, "zero_point is 4294967296", fovea.to_i8, [1.0], 1.0, 2 ** 32)
    raises(TypeError, "x is of complex128", fovea.softmax, np.ones(3, complex))
    raises(ValueError, "axis is 1: x has 1 dimensions", fovea.softmax, np.ones(3), 1)
    raises(ValueError, "axis is -1: x has 0 dimensions", fovea.softmax, np.float32(1))
    raises(TypeError, "x is of list", fovea.bind_softmax, [1.0])
    for out in (np.zeros(4, np.float32), np.zeros(6, np.float32)[::2], np.broadcast_to(np.float32(0), 3)):
        raises(ValueError, "out ", fovea.softmax, floats(3), out=out)


def plans_and_caches_are_neither_changed_nor_copied():
    plan, arrays = plan_and_arrays()
    cache = fovea.Cache(kv_heads=2, head_dim=8, value_dim=6, max_tokens=9)
    for change in (lambda: setattr(plan.desc, "head_dim", 64), lambda: setattr(plan, "c", 1),
                   lambda: setattr(cache.desc, "batch", 100), lambda: setattr(cache, "c", 1), lambda: setattr(cache, "desc", 1),
                   lambda: setattr(cache._arrays.source.keys, "data", 1), lambda: setattr(plan, "desc", 1)):
        raises(AttributeError, "", change)
    weights = fovea.Weights(floats(12, 4))
    for held in (plan, cache, plan.stream(arrays[0]), plan.bind(*arrays), weights, fovea.MultiheadAttention(2, qkv=weights)):
        for way in (copy.copy, copy.deepcopy, pickle.dumps):
            raises(TypeError, "can be neither copied nor pickled", way, held)
    desc = fovea.attention_desc(q_heads=4, kv_heads=2, head_dim=8, value_dim=6)
    other = fovea.Plan(desc, head_dim=16)
    assert (desc.head_dim, other.desc.head_dim, fovea.Plan(other.desc, head_dim=8).desc.head_dim) == (8, 16, 8)


def _churn():
    """Takes memory that was given back."""
    gc.collect()
    return [np.full(size, np.nan, np.float32) for size in range(1, 2000)]


def calls_keep_what_c_reads_and_writes():
    plan, arrays = plan_and_arrays()
    want = reference(*arrays)[0]
    call = plan.bind(*(array.copy() for array in arrays), mask=np.ones((3, 5), bool), kv_lengths=np.full(2, 5, np.uint32))
    raw, out = call.raw, call.out
    del plan, call
    held = _churn()
    assert raw() == 0 and held
    near(out, want, 1e-6)

    cache = fovea.Cache(kv_heads=2, head_dim=8, value_dim=6, max_tokens=9)
    cache.append(arrays[1][:1], arrays[2][:1])
    call = cache.plan(q_heads=4, max_q_tokens=3).bind(arrays[0][:1].copy(), cache)
    raw, out = call.raw, call.out
    del cache, call
    held = _churn()
    assert raw() == 0 and held
    near(out, want[:1], 1e-6)

    run, out = fovea.bind_softmax(arrays[0].copy())
    held = _churn()
    assert run() == 0 and held
    near(out.sum(axis=-1), np.ones((2, 4, 3)), 1e-6)

    q = arrays[0].copy()
    call = fovea.Plan(q_heads=4, kv_heads=2, head_dim=8, value_dim=6, max_batch=2, max_q_tokens=3, max_kv_tokens=5).bind(q, *arrays[1:])
    raises(ValueError, "resize", q.resize, (1,))
    near(call(), want, 1e-6)


def structures_keep_functions_and_arrays():
    plan, arrays = plan_and_arrays(max_workers=2)
    run_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p)
    task_type = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32)

    def run(_, tasks, task, argument):
        for index in range(tasks):
            task_type(task)(argument, index, index % 2)
        return 0

    executor = fovea.c.structure("executor", run=run_type(run), workers=2)
    call = plan.bind(*arrays, executor=executor)
    del executor
    held = _churn()
    near(call(), reference(*arrays)[0], 1e-6)
    assert held
    for wrong in (4096, run_type(run), fovea.c.structure("modifier"), b"executor"):
        raises(TypeError, 'it must be made by fovea.c.structure("executor")', plan.bind, *arrays, executor=wrong)
    raises(TypeError, "fovea_attention_args.executor is a fovea_modifier", fovea.c.structure, "attention_args",
           executor=fovea.c.structure("modifier"))
    args = fovea.c.structure("attention_args", sinks=floats(4))
    args.kv.keys = fovea.arrays.view("in", floats(1, 2, 3))
    kept = list(args.kept.values())
    assert len(kept) == 2 and kept[0].shape == (4,) and kept[1].shape == (1, 2, 3)
    args.kv = fovea.c.structure("kv_source")
    assert len(args.kept) == 1


def two_calls_do_not_use_one_plan_at_a_time():
    plan, arrays = plan_and_arrays()
    refusals = []
    modify_type = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)

    def use():
        raises(RuntimeError, "the Plan is in use", plan, *arrays)
        refusals.append(1)

    def modify(*_):
        use()
        thread = threading.Thread(target=use)
        thread.start()
        thread.join()

    near(plan(*arrays, modifier=fovea.c.structure("modifier", score_mod=modify_type(modify))), reference(*arrays)[0], 1e-5)
    assert refusals and len(refusals) % 2 == 0, "in one of the threads it is not refused"
    near(plan(*arrays), reference(*arrays)[0], 1e-6)


run_all(globals())

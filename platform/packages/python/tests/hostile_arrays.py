#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random arrays, right and wrong ones, for every call of the Python package: hostile_arrays.py [--library FILE]
[--seconds S] [--seed N] [--draw N]

Arrays are next to guard pages, so that an access past them ends the child process, whose draw is then named. A draw is
either refused with TypeError, ValueError or fovea.Error, or computed right, by loops in double, and has written nothing
but its outputs. A draw without a wrong array is never refused. Ends with 77 where there is no NumPy.
"""
import argparse
import collections
import functools
import subprocess
import sys
import time
import warnings

import hostile_layers
from drawn import Draw, check_room, four, near
from reference import np, package, reference

DIMS = 1, 2, 3, 8, 15, 16, 17, 32, 33, 64
TOKENS = 0, 1, 2, 3, 5, 8, 63, 64, 65, 130


def visible_keys(fields, options, batch, q_tokens, kv_tokens):
    """What fields and options let the queries see, and what they add to scores, as [batch][heads][queries][keys]."""
    queries, keys = np.arange(q_tokens)[:, None], np.arange(kv_tokens)
    lengths = np.broadcast_to(np.asarray(options.get("kv_lengths", kv_tokens), np.int64), (batch,)).reshape(-1, 1, 1, 1)
    first = {"bottom_right": lengths - q_tokens}.get(fields["causal"], 0)
    if fields["causal"] == "positions":
        first = np.broadcast_to(np.asarray(options["first_positions"]), (batch,)).reshape(-1, 1, 1, 1)
    positions = queries + first
    visible = np.broadcast_to(keys < lengths, (batch, 1, q_tokens, kv_tokens))
    if fields["causal"] != "none":
        visible = visible & (keys <= positions)
    added = np.zeros(())
    if options.get("alibi_slopes") is not None:
        slopes = np.broadcast_to(np.asarray(options["alibi_slopes"], np.float64), (fields["q_heads"],))
        added = added - slopes.reshape(1, -1, 1, 1) * np.abs(positions - keys)
    if options.get("mask") is not None:
        mask = np.asarray(options["mask"])
        if mask.dtype.kind in "bu":
            visible = visible & (mask != 0)
        else:
            added = added + mask.astype(np.float64)
    return visible, added


def sizes_of(draw):
    kv_heads = int(draw.rng.integers(1, 4))
    return {"q_heads": kv_heads * int(draw.rng.integers(1, 4)), "kv_heads": kv_heads, "head_dim": draw.pick(*DIMS),
            "value_dim": draw.pick(*DIMS)}


def options_of(draw, fields, batch, q_tokens, kv_tokens):
    options, heads = {}, fields["q_heads"]
    if draw.chance(0.2):
        mask = draw.rng.random([draw.pick(1, count) for count in (batch, heads, q_tokens, kv_tokens)]) < 0.7
        mask = draw.pick(mask, mask.astype(np.uint8), draw.floats(*mask.shape), np.where(mask, 0, -np.inf).astype(np.float16))
        options["mask"] = draw.give("mask", mask)
    if draw.chance(0.2):
        options["kv_lengths"] = draw.give("kv_lengths", draw.rng.integers(0, kv_tokens + 1, batch).astype(np.uint32))
        if draw.turns_hostile(0.2):
            draw.hostile.append("kv_lengths: too large")
            options["kv_lengths"] = np.full(batch, draw.pick(kv_tokens + 1, 2 ** 31, 2 ** 32 - 1), np.uint32)
    if draw.chance(0.2):
        options["sinks"] = draw.give("sinks", draw.floats(heads))
    if fields["causal"] == "positions":
        options["first_positions"] = draw.give("first_positions", draw.rng.integers(-5, 70, batch))
    elif fields["causal"] != "none" and draw.chance(0.2):
        options["alibi_slopes"] = draw.give("alibi_slopes", draw.rng.random(heads, np.float32))
    if draw.chance(0.1):
        q_block, lists = draw.pick(1, 2, 16), [draw.pick(1, batch), draw.pick(1, fields["kv_heads"])]
        columns, rows = -(-kv_tokens // 64), -(-q_tokens // q_block)
        offsets = np.tile(np.arange(rows + 1) * columns, (*lists, 1)).astype(np.uint32)  # all see all blocks
        blocks = np.tile(np.arange(columns), rows).astype(np.uint32)
        if draw.turns_hostile(0.5) and offsets.size > 1:
            draw.hostile.append("block_map: numbers")
            draw.pick(offsets[..., -1:], offsets, blocks)[...] = draw.pick(1, columns, 2 ** 31, 2 ** 32 - 1)
        options["block_map"] = {"q_block": draw.number("q_block", q_block, 2 ** 32 - 1),
                                "kv_block": draw.number("kv_block", 64, 1),
                                "offsets": dense(draw, "offsets", offsets), "blocks": dense(draw, "blocks", blocks)}
    return options


def dense(draw, name, values):
    """A contiguous input, or something else."""
    given = draw.give(name, values.reshape(-1))
    return given.reshape(values.shape) if isinstance(given, np.ndarray) and given.size == values.size else given


def attention(draw):
    """A plan or one call of all shapes, with options."""
    batch, q_tokens, kv_tokens = int(draw.rng.integers(0, 4)), draw.pick(*TOKENS[:6]), draw.pick(*TOKENS)
    fields = {**sizes_of(draw), "causal": draw.pick("none", "none", "top_left", "bottom_right", "positions"),
              "target": draw.pick("best", *fovea.targets())}
    dtypes = {"f32": np.float32, "f16": np.float16}
    for name in ("q", "key", "value", "out"):
        fields[f"{name}_dtype"] = draw.pick(*dtypes)
    arrays = [draw.give(name, draw.floats(batch, fields[heads], tokens, fields[dim]).astype(dtypes[fields[dtype]]))
              for name, heads, tokens, dim, dtype in (("q", "q_heads", q_tokens, "head_dim", "q_dtype"),
                                                      ("keys", "kv_heads", kv_tokens, "head_dim", "key_dtype"),
                                                      ("values", "kv_heads", kv_tokens, "value_dim", "value_dtype"))]
    options = options_of(draw, fields, batch, q_tokens, kv_tokens)
    if draw.turns_hostile(0.1):
        draw.hostile.append("option")
        options[draw.pick("batch", "q_tokens", "struct_bytes", "slow_workspace", "executor", "modifier", "scores_stage",
                          "kv", "lse")] = (
            draw.pick(1, 7, 4096))
    shape = batch, fields["q_heads"], q_tokens, fields["value_dim"]
    out = draw.output(shape, dtypes[fields["out_dtype"]], arrays) if draw.chance(0.7) else None
    for room in draw.rooms:
        if out is None or not np.shares_memory(room.inner, out, max_work=1):
            room.lock()
    options.update(out=out)
    names = "q_heads", "kv_heads", "head_dim", "value_dim", "max_batch", "max_q_tokens", "max_kv_tokens"
    counts = dict(zip(names, (*list(fields.values())[:4], max(batch, 1), q_tokens, kv_tokens)))
    fields.update({name: draw.number(name, count) for name, count in counts.items()})
    how = draw.pick("attention", "plan", "bind", "raw")
    if how == "attention":
        prepare(draw, functools.partial(fovea.attention, **fields), options)
        got, lse = fovea.attention(*arrays, lse=True, **fields, **options)
    else:
        plan = fovea.Plan(**fields)
        if how == "plan":
            prepare(draw, plan, options)
            got, lse = plan(*arrays, lse=True, **options)
        else:
            call = plan.bind(*arrays, lse=True, **options)
            run, got, lse = call.raw if how == "raw" else call, call.out, call.lse
            del plan, call
            status = run()
            if how == "raw":
                fovea.c.check(status)
    got = four(got).copy()
    assert out is None or out.flags.writeable, "an array that is read-only was written"
    check_room(draw, out)
    if any(one.startswith(("block_map", "offsets", "blocks")) for one in draw.hostile):  # other blocks that there are
        return
    q, keys, values = map(four, arrays)
    visible, added = visible_keys(fields, options, q.shape[0], q.shape[2], keys.shape[2])
    sinks = options.get("sinks")
    if sinks is not None and not np.isfinite(sinks).all() and not keys.shape[2]:  # a weight of NaN, of no key
        return
    sinks = None if sinks is None else np.broadcast_to(np.asarray(sinks, np.float64), (fields["q_heads"],))
    want = reference(q, keys, values, visible, sinks, added)
    near(got, want[0], 5e-3 if fields["out_dtype"] == "f16" else 1e-5)
    if lse is not None:
        assert lse.shape == got.shape[4 - np.ndim(arrays[0]):-1] if isinstance(arrays[0], np.ndarray) else True
        near(np.maximum(lse.reshape(want[1].shape), -1e9), np.maximum(want[1], -1e9), 1e-4)


def prepare(draw, function, options):
    """Calls the function on right arrays first, so that it may know all but the addresses when it gets the draw's."""
    if draw.chance(0.5):
        arrays = [draw.right[name] for name in ("q", "keys", "values")]
        right = {name: value for name, value in options.items() if name == "mask" or not draw.hostile}
        if "mask" in right:
            right["mask"] = draw.right["mask"]
        if "out" in right:
            del right["out"]
        try:
            function(*arrays, lse=True, **right)
        except REFUSALS:
            assert draw.hostile, "right arrays are refused"


def ragged(draw):
    """Entries that follow one another on the axis of tokens."""
    entries, fields = int(draw.rng.integers(0, 4)), {**sizes_of(draw), "causal": draw.pick("none", "bottom_right")}
    offsets = {}
    for name in ("q_offsets", "kv_offsets"):
        offsets[name] = np.concatenate([[0], np.cumsum(draw.rng.integers(0, 6, entries))]).astype(np.uint32)
    tokens = [int(one[-1]) for one in offsets.values()]
    arrays = [draw.give(name, draw.floats(1, fields[heads], count, fields[dim])) for name, heads, count, dim in (
        ("q", "q_heads", tokens[0], "head_dim"), ("keys", "kv_heads", tokens[1], "head_dim"),
        ("values", "kv_heads", tokens[1], "value_dim"))]
    for name, held in offsets.items():
        if draw.turns_hostile(0.4):
            draw.hostile.append(f"{name}: numbers")
            held[int(draw.rng.integers(held.size))] = draw.pick(0, 1, 2, int(held[-1]) + 1, 2 ** 31, 2 ** 32 - 1)
        offsets[name] = draw.give(name, held)
    if draw.chance(0.3):
        longest = [int(np.diff(np.asarray(one, np.int64), axis=0).max(initial=0)) if np.ndim(one) == 1
                   and isinstance(one, (list, np.ndarray))
                   and np.asarray(one).dtype.kind in "iu" else 1 for one in offsets.values()]
        if max(longest) < 100:
            offsets["mask"] = draw.give("mask", np.ones((entries, 1, *longest), bool))
    for room in draw.rooms:
        room.lock()
    plan = fovea.Plan(**fields, max_batch=max(entries, 1), max_q_tokens=5, max_kv_tokens=5)
    got = four((plan.bind(*arrays, **offsets) if draw.chance(0.5) else lambda: plan(*arrays, **offsets))())
    q, keys, values = map(four, arrays)
    q_offsets, kv_offsets = (np.asarray(offsets[name], np.int64) for name in ("q_offsets", "kv_offsets"))
    for entry in range(len(q_offsets) - 1):
        (begin, end), (first, last) = q_offsets[entry:entry + 2], kv_offsets[entry:entry + 2]
        options = {}
        if offsets.get("mask") is not None:
            mask = np.atleast_2d(np.asarray(offsets["mask"]))[..., :end - begin, :last - first]
            options["mask"] = np.broadcast_to(mask, (len(q_offsets) - 1, 1, end - begin, last - first))[entry:entry + 1]
        visible, added = visible_keys(fields, options, 1, end - begin, last - first)
        want = reference(q[:, :, begin:end], keys[:, :, first:last], values[:, :, first:last], visible, added=added)[0]
        near(got[:, :, begin:end], want, 1e-5)


def cache(draw):
    """A cache of each kind and format, to which tokens are appended, some of them wrong."""
    batch, fields = int(draw.rng.integers(1, 4)), sizes_of(draw)
    q_heads, kind = fields.pop("q_heads"), draw.pick("strided", "ring", "paged")
    dtype = draw.pick("f32", "f16", "i8", "i4", "q8_0")
    extra = {"paged": {"page_tokens": 2, "pages": 5 * batch}, "ring": {"pinned_tokens": 1}}.get(kind, {})
    counts = {name: draw.number(name, value) for name, value in {**fields, **extra, "batch": batch, "max_tokens": 10}.items()}
    held = fovea.Cache(kind=kind, key_dtype=dtype, value_dtype=dtype, **counts)
    if kind == "paged":
        held.page_table[...] = draw.rng.permutation(5 * batch).reshape(batch, 5)
        if draw.turns_hostile(0.3):
            draw.hostile.append("page_table")
            held.page_table[draw.pick(0, -1), draw.pick(0, 1, -1)] = draw.pick(0, 5 * batch, 2 ** 31, 2 ** 32 - 1)
    kept, broken = [[], []], bool(draw.hostile)
    for _ in range(int(draw.rng.integers(1, 4))):
        tokens, before = int(draw.rng.integers(0, 4)), held.lengths
        arrays = [draw.floats(batch, fields["kv_heads"], tokens, fields[dim]) for dim in ("head_dim", "value_dim")]
        given = [draw.give(name, array) for name, array in zip(("keys", "values"), arrays)]
        try:
            held.append(*given, entry=draw.number("entry", 0))
        except REFUSALS:
            assert draw.hostile, "tokens are refused"
            assert held.lengths == before, "tokens that are refused are appended"
            continue
        if len(set(held.lengths)) > 1:  # a part of the entries
            raise ValueError
        for all_tokens, array in zip(kept, given):
            all_tokens.append(four(array))
    entry, length = draw.number("entry", 0), draw.number("length", 0)
    if draw.chance(0.2) and broken:
        held.truncate(length, entry)
        raise ValueError
    others = {}
    if draw.turns_hostile():
        draw.hostile.append("plan of another cache")
        name, value = draw.pick(("head_dim", 2 * fields["head_dim"]), ("value_dim", 2 * fields["value_dim"]),
                                ("max_batch", batch + 1),
                                ("key_dtype", draw.pick("f32", "i8", "q8_0")), ("value_dtype", draw.pick("f16", "i4")))
        others[name] = value
    plan = held.plan(q_heads=q_heads, allow_evicted=1, **others)
    q = draw.give("q", draw.floats(plan.desc.max_batch, q_heads, 1, plan.desc.head_dim))
    for room in draw.rooms:
        room.lock()
    if draw.chance(0.5) and not draw.hostile:
        plan(draw.right["q"], held)  # prepares a call
    got = plan(q, held)
    if kept[0] and got.size and "page_table" not in draw.hostile:  # a page that two entries share
        keys, values = (np.concatenate(all_tokens, axis=2) for all_tokens in kept)
        most = {"f32": 1e-5, "f16": 1e-2, "i8": 0.1, "q8_0": 0.1, "i4": 3}[dtype]
        near(four(got), reference(four(q), keys, values)[0], most)


def stream(draw):
    """Keys in pieces, and images of states."""
    batch, q_tokens, fields = int(draw.rng.integers(1, 3)), draw.pick(1, 2, 5), sizes_of(draw)
    plan = fovea.Plan(**fields, max_batch=max(batch, 1), max_q_tokens=q_tokens, max_kv_tokens=130)
    q = draw.give("q", draw.floats(batch, fields["q_heads"], q_tokens, fields["head_dim"]))
    seen, pieces = plan.stream(q, first_key=draw.number("first_key", 0, 2 ** 62, 2 ** 63)), []
    for _ in range(2):
        tokens = draw.pick(*TOKENS)
        given = [draw.give(name, draw.floats(batch, fields["kv_heads"], tokens, fields[dim])) for name, dim in (
            ("keys", "head_dim"), ("values", "value_dim"))]
        seen.push(*given)
        pieces.append(given)
    image = seen.to_bytes()
    if draw.turns_hostile(0.5):
        draw.hostile.append("image")
        other = plan.stream(draw.floats(batch, fields["q_heads"], draw.pick(1, 2, 5), fields["head_dim"])).to_bytes()
        image = draw.pick(image[:-1], image + b"x", b"", image[:50] + b"x" + image[51:], other, bytearray(other), list(image[:9]))
    copy = plan.stream(q)
    copy.from_bytes(image)
    queries = four(np.array(q))  # out may be q
    out = draw.output((batch, fields["q_heads"], q_tokens, fields["value_dim"]), np.float32, [q]) if draw.chance(0.5) else None
    got = copy.end(out=out)
    if draw.hostile and any("image" in one for one in draw.hostile):
        raise ValueError
    keys, values = (np.concatenate([four(piece[i]) for piece in pieces], axis=2) for i in (0, 1))
    near(four(got), reference(queries, keys, values)[0], 1e-5)
    check_room(draw, out)


def softmax(draw):
    shape = tuple(draw.pick(0, 1, 2, 3, 17) for _ in range(int(draw.rng.integers(1, 4))))
    x = draw.give("x", draw.floats(*shape))
    out = draw.output(shape, np.float32, [x]) if draw.chance(0.5) else None
    if out is not None and not draw.hostile and not out.flags.c_contiguous:
        draw.hostile.append("out: strides")
    axis = draw.number("axis", int(draw.rng.integers(len(shape))), 5)
    given = np.array(x)  # out may be x
    got = fovea.softmax(x, axis, out=out)
    given = given.astype(np.float64)
    want = np.exp(given - given.max(axis=axis, keepdims=True, initial=-1e30))
    near(got, want / want.sum(axis=axis, keepdims=True), 1e-6)
    check_room(draw, out)


def quantize(draw):
    codes = draw.give("codes", draw.rng.integers(-128, 128, (3, 5)).astype(np.int8))
    scale, zero = draw.number("scale", 0.5), draw.number("zero", 3)
    got = fovea.from_i8(codes, scale, zero)
    near(got / scale, np.asarray(codes, np.float64) - zero, 1e-4)
    x = draw.give("x", draw.floats(3, 5))
    near(fovea.to_i8(x, 0.5), np.clip(np.rint(np.nan_to_num(np.asarray(x, np.float64)) / 0.5), -128, 127), 1)
    fovea.Range().observe(x)
    keys = draw.give("keys", draw.floats(2, 3, 5, 4))
    center = fovea.KeyCenter(3, 4).add(keys).center
    near(center, np.asarray(keys, np.float64).reshape(-1, *np.shape(keys)[-3:]).mean(axis=(0, 2)), 1e-4)


def scaled_rows(draw):
    """Rows of codes with scales in arrays, and rows of ggml's blocks, by a plan over arrays."""
    batch, tokens, fields = int(draw.rng.integers(1, 3)), draw.pick(*TOKENS[1:]), sizes_of(draw)
    form = draw.pick("i8", "i4", "q8_0", "q4_0")
    given = {}
    for name, dim in (("key", "head_dim"), ("value", "value_dim")):
        groups, rows = -(-fields[dim] // 32), (batch, fields["kv_heads"], tokens)
        row = {"i8": fields[dim], "i4": 16 * groups, "q8_0": 34 * groups, "q4_0": 18 * groups}[form]
        codes = draw.rng.integers(-127, 128, (*rows, row)).astype(np.int8)
        given[f"{name}s"] = draw.give(f"{name}s", codes if form == "i8" else codes.view(np.uint8))
        scales = (*rows, groups) if form == "i4" else rows
        if form in ("i8", "i4"):
            values = draw.rng.random(scales).astype(np.float32 if form == "i8" else np.float16) / 64
            given[f"{name}_scales"] = draw.give(f"{name}_scales", values)
    q = draw.give("q", draw.floats(batch, fields["q_heads"], 2, fields["head_dim"]))
    for room in draw.rooms:
        room.lock()
    plan = fovea.Plan(**fields, key_dtype=form, value_dtype=form, max_batch=max(batch, 1), max_q_tokens=2, max_kv_tokens=130)
    got = plan.bind(q, **given)() if draw.chance(0.5) else plan(q, **given)
    if form == "i8" and not draw.hostile:
        keys, values = (given[f"{name}s"] * given[f"{name}_scales"].astype(np.float64)[..., np.newaxis] for name in ("key", "value"))
        near(got, reference(q, keys, values)[0], 1e-4)


CALLS = (attention, attention, attention, cache, quantize, ragged, scaled_rows, softmax, stream, *hostile_layers.CALLS)


def child(seed, first, seconds):
    """Runs draws until the time is over, but enough of each call, and says each one before it."""
    counts, end, number = collections.Counter(), time.monotonic() + seconds, first
    least = 80 * len(CALLS) if seconds else 1
    warnings.simplefilter("error")
    while number < first + least or time.monotonic() < end:
        call = CALLS[number % len(CALLS)]
        print(number, call.__name__, flush=True)
        draw = Draw(seed, number)
        try:
            with np.errstate(all="ignore"):
                call(draw)
            counts[f"{call.__name__} computed"] += 1
        except REFUSALS as error:
            if not draw.hostile:
                raise
            if seconds == 0:
                print(f"refused: {type(error).__name__}: {error}")
            counts[f"{call.__name__} refused"] += 1
        except BaseException:
            print(f"wrong in it: {', '.join(draw.hostile) or 'nothing'}", file=sys.stderr)
            raise
        number += 1
    for name, count in counts.items():
        print(f"{name}: {count}")
    missing = [f"{call.__name__} {what}" for call in CALLS for what in ("computed", "refused") if not counts[f"{call.__name__} {what}"]]
    sys.exit(f"never: {', '.join(missing)}" if missing and seconds else 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", help="a shared library, for the package of the tree; else the one that is installed")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draw", type=int, help="only this one")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    global fovea, REFUSALS
    fovea = hostile_layers.fovea = package(arguments.library)
    REFUSALS = TypeError, ValueError, fovea.Error
    if arguments.child is not None:
        child(arguments.seed, arguments.child, arguments.seconds)
    one = arguments.draw is not None
    command = [sys.executable, "-X", "faulthandler", *sys.argv, "--child", str(arguments.draw if one else 0)]
    done = subprocess.run(command + ["--seconds", "0"] * one, stdout=subprocess.PIPE, text=True)
    lines = done.stdout.splitlines() or ["no draw"]
    draws = [line for line in lines if line[0].isdigit()]
    print("\n".join(line for line in lines if not line[0].isdigit()))
    if done.returncode:
        print(f"draw {draws[-1] if draws else 'none'} of seed {arguments.seed} ended the child with {done.returncode}")
        return 1
    print(f"{len(draws)} draws of seed {arguments.seed}: each refused or computed right")
    return 0


if __name__ == "__main__":
    sys.exit(main())

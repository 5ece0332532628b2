#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bounds of the instructions of a call by its shape, on a Cortex-M4F and a Cortex-M55.

    bench/bounds.py --check                         # counts 1200 shapes of each operator and compares them with the bounds
    bench/bounds.py --write                         # counts 8000 others, and writes the coefficients, bench/bounds.json
    bench/bounds.py m4f attention 16 64 4 4 32 32   # the bound of one call: q_tokens, kv_tokens, q_heads, kv_heads, head_dim,
                                                    # value_dim; of softmax: rows, axis

A bound is a sum of terms, each a coefficient times a product of sizes: terms_of() lists them. The coefficients are those of the
smallest greatest excess over the counted shapes, and then are raised so that no counted shape exceeds the bound. No shape that
--check counts was seen when they were made. Instructions are counted by QEMU (-icount). The bounds hold in the range from which
counts/shapes.cc draws; a shape outside of it is refused. tests/SAFETY.md says for which calls they hold.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
STORED = ROOT / "bench" / "bounds.json"
BOARDS = {"m4f": ("arm-none-eabi-cortex-m4f", "mps2-an386", 1, 4), "m55": ("arm-none-eabi-cortex-m55", "mps3-an547", 4, 3)}
OPERATORS = ("attention", "causal", "integer", "softmax")
FITTED, CHECKED = 4000, 200  # shapes of a seed
FIT_SEEDS, CHECK_SEEDS = (7, 8), (2026, 31, 32, 33, 34, 35)
MARGIN = 1.012  # above the largest fitted shape
MARGIN_OF = {("m55", "attention"): 1.02}
EXCESS = 1.10  # a bound is at most this multiple of a count
# Of one query with one key or few elements: two of 1200 shapes exceed 1.1, and one.
EXCESS_OF = {("m55", "attention"): 1.115, ("m55", "causal"): 1.115}
# The range of counts/shapes.cc: sizes at most, in the order of a call; query rows of all heads; multiply-adds of a product.
MOST, MOST_ROWS, MOST_WORK = (48, 256, 16, 4, 64, 64), 192, 1 << 19
KEY_TILE, CHAIN = 64, 32
INTEGER_ROWS, PIECE_KEYS, PIECE_ELEMENTS = 32, 16, 32  # of integer attention: query rows of a block; pieces on a Cortex-M4F


def up(n, unit):
    return (n + unit - 1) // unit


def tiles_of(rows, lanes, vectors):
    """[(first row, vectors of rows)] of the query tiles of a key head."""
    grains = up(rows, lanes)
    count = up(grains, vectors)
    sizes = [grains // count + (i < grains % count) for i in range(count)]
    return [(sum(sizes[:i]) * lanes, size) for i, size in enumerate(sizes)]


def add(terms, name, value):
    terms[name] = terms.get(name, 0) + value


def add_keys(terms, kind, keys, dim, value_dim, tiles):
    """The terms of some keys that a tile sees, in `tiles` key tiles."""
    fours = 4 * up(keys, 4)
    add(terms, f"{kind}: keys", fours)
    add(terms, f"{kind}: keys head_dim", fours * dim)
    add(terms, f"{kind}: keys chains", fours * up(dim, CHAIN))
    add(terms, f"{kind}: keys value_dim", keys * value_dim)
    add(terms, f"{kind}: keys value_dim, of 8", keys * 8 * up(value_dim, 8))
    add(terms, f"{kind}: keys head_dim, of 8", fours * 8 * up(dim, 8))
    add(terms, f"{kind}: last keys", keys % 4)
    add(terms, f"{kind}: last keys value_dim", keys % 4 * value_dim)
    add(terms, f"{kind}: last keys head_dim", keys % 4 * dim)
    add(terms, f"{kind}: odd keys", keys % 2)
    add(terms, f"{kind}: odd keys value_dim", keys % 2 * value_dim)
    add(terms, f"{kind}: odd keys head_dim", keys % 2 * dim)
    add(terms, f"{kind}: keys, each", keys)
    add(terms, f"{kind}: keys, each, head_dim", keys * dim)
    add(terms, f"{kind}: keys value_dim, of 4, chains", keys * up(value_dim, 32))
    if "few" in kind:
        add(terms, f"{kind}: keys, value_dim {value_dim % 16} of 16", keys)
        add(terms, f"{kind}: keys, head_dim {dim % 16} of 16", keys)
        add(terms, f"{kind}: keys, both of {dim if dim < 17 and dim == value_dim else 'others'}", keys)
    add(terms, f"{kind}: key tiles", tiles)
    add(terms, f"{kind}: key tiles value_dim", tiles * value_dim)


def attention_terms(board, shape, causal):
    q_tokens, kv_tokens, q_heads, kv_heads, dim, value_dim = shape
    _, _, lanes, vectors = BOARDS[board]
    group = q_heads // kv_heads
    rows = q_tokens * group
    terms = {"call": 1, "key heads": kv_heads, "blocks": kv_heads * len(tiles_of(rows, lanes, vectors))}
    if kv_tokens <= KEY_TILE:  # which tiles that are alone take in a way of their own
        tiles = len(tiles_of(rows, lanes, vectors))
        kinds = ["one key tile", f"one key tile, {'few rows' if rows <= lanes // 2 else 'one query tile' if tiles == 1 else 'more'}"]
        if rows == 1 and lanes > 1:
            kinds.append("small call")  # core/attention/small_calls.cc
        for kind in kinds:
            for what, value in (("", 1), (" key heads", kv_heads), (" tiles", kv_heads * tiles), (" rows", kv_heads * rows),
                                (" head_dim", kv_heads * dim), (" value_dim", kv_heads * value_dim), (" keys", kv_heads * kv_tokens)):
                add(terms, kind + what, value)
    last = rows % lanes
    for name, number in (("rows", rows), (f"last {last} rows", last != 0)):
        for what, value in (("", 1), (" head_dim", dim), (" value_dim", value_dim), (" chains", up(dim, CHAIN))):
            add(terms, name + what, kv_heads * number * value)
    seen = [max(0, min(kv_tokens, row // group + 1 + kv_tokens - q_tokens)) if causal else kv_tokens for row in range(rows)]
    few = rows <= lanes // 2
    for first, size in [(0, rows)] if few else tiles_of(rows, lanes, vectors):
        kind = f"tile of {size} few rows" if few else f"tile of {size}"
        own = seen[first:first + (size if few else size * lanes)]
        add(terms, f"{kind}: tiles", kv_heads)
        add(terms, f"{kind}: head_dim", kv_heads * dim)
        add(terms, f"{kind}: value_dim", kv_heads * value_dim)
        whole = own[0] if own[0] == own[-1] else own[0] // KEY_TILE * KEY_TILE
        tiles = {}
        add_keys(tiles, kind, whole, dim, value_dim, up(whole, KEY_TILE))
        for begin in range(whole, own[-1], KEY_TILE):
            for lane in range(0, len(own), 1 if few else lanes):
                part = own[lane:lane + (1 if few else lanes)]
                keys = min(part[-1], begin + KEY_TILE) - begin
                edge = ("few rows, " if few else "") + ("edge" if part[0] < begin + keys else "vector")
                known = max(0, min(keys, part[0] - begin))  # keys that all of them see
                if keys > 0:
                    add_keys(tiles, edge, keys, dim, value_dim, 1)
                    add_keys(tiles, f"{edge}, before it", known, dim, value_dim, 1)
                add(tiles, "edge tiles of few rows" if few else "edge tiles", 1)
        for name, value in tiles.items():
            add(terms, name, kv_heads * value)
    return terms


def smlad_tile(put, rows, keys, when, dim, value_dim):
    """A key tile of integer attention on a Cortex-M4F: rows in fours, of which keys and values are brought in pieces, and others alone."""
    fours, alone = divmod(rows, 4)
    pairs, fours_of_keys, last = up(keys, 2), keys // 4, keys % 4
    put("key tiles", 1)
    put("key tiles rows", rows)
    put(f"key tiles rows, {when}", rows)
    put("weights: pairs of keys", rows * pairs)
    put("weights: fours of pairs", rows * (pairs // 4))
    put("weights: last of pairs", rows * (pairs % 2))
    put("weights: odd keys", rows * (keys % 2))
    if fours:
        put("fours", 1)
        put("fours: key pieces", up(keys, PIECE_KEYS))
        put("fours: pairs of keys", pairs)
        put("fours: pairs of keys head_dim", pairs * dim)
        put("fours: pairs of keys, odd four of head_dim", pairs * (dim // 4 % 2))
        put("four: key pieces", fours * up(keys, PIECE_KEYS))
        put("four: pairs of keys", fours * pairs)
        put("four: pairs of keys, sixteens of head_dim", fours * pairs * (dim // 16))
        put("four: pairs of keys, any sixteen of head_dim", fours * pairs * (dim > 15))
        put("four: pairs of keys, last of head_dim", fours * pairs * (dim % 16))
        put("four: pairs of keys, any last of head_dim", fours * pairs * (dim % 16 > 0))
        for first in range(0, value_dim, PIECE_ELEMENTS):
            elements = min(PIECE_ELEMENTS, value_dim - first)
            put("fours: value pieces", 1)
            put("fours: value pieces, pairs of keys", pairs)
            put("fours: pairs of keys value_dim", pairs * elements)
            put("fours: pairs of keys, odd four of value_dim", pairs * (elements // 4 % 2))
            put("four: value pieces", fours)
            put(f"four: value pieces, {when}", fours)
            put("four: value_dim", fours * elements)
            put(f"four: value_dim, {when}", fours * elements)
            put("four: eights of pairs value_dim", fours * elements * (pairs // 8))
            put("four: any eight of pairs value_dim", fours * elements * (pairs > 7))
            put("four: last of pairs value_dim", fours * elements * (pairs % 8))
            put("four: any last of pairs value_dim", fours * elements * (pairs % 8 > 0))
    put("alone", alone)
    put("alone: fours of keys", alone * fours_of_keys)
    put("alone: fours of keys head_dim", alone * fours_of_keys * dim)
    put("alone: last keys", alone * last)
    put("alone: last keys head_dim", alone * last * dim)
    put("alone: value_dim", alone * value_dim)
    put(f"alone: value_dim, {when}", alone * value_dim)
    put("alone: fours of keys value_dim", alone * fours_of_keys * value_dim)
    put("alone: any four of keys value_dim", alone * (fours_of_keys > 0) * value_dim)
    put("alone: last keys value_dim", alone * last * value_dim)
    put("alone: any last keys value_dim", alone * (last > 0) * value_dim)
    put("alone: last keys without a four value_dim", alone * last * (fours_of_keys == 0) * value_dim)


def helium_tile(put, rows, keys, when, dim, value_dim):
    """A key tile of integer attention on a Cortex-M55: rows in twos, for which values are brought; one or two rows alone."""
    vectors, sixteens, chunks = up(keys, 4), up(keys, 16), up(dim, 16)
    put("key tiles", 1)
    put("key tiles rows", rows)
    put(f"key tiles rows, {when}", rows)
    put("weights: vectors", rows * vectors)
    put("weights: fours of vectors", rows * (vectors // 4))
    put("weights: any four of vectors", rows * (vectors > 3))
    put("weights: keys past the last, to a vector", rows * (-keys % 4))
    put("weights: any keys past the last, to a vector", rows * (keys % 4 > 0))
    put("weights: sixteens", rows * sixteens)
    put("weights: keys past the last, to sixteen", rows * (-keys % 16))
    put("weights: any keys past the last, to sixteen", rows * (keys % 16 > 0))
    if rows <= 2:
        reads = keys // 4 + keys % 4  # a key that is left is read as four
        put("few", 1)
        put("few: rows", rows)
        put("few: any four of keys", rows * (keys > 3))
        put("few: last keys", rows * (keys % 4))
        put("few: any last keys", rows * (keys % 4 > 0))
        put("few: reads", rows * reads)
        put("few: reads chunks", rows * reads * chunks)
        put("few: reads with a part of a chunk", rows * reads * (dim % 16 > 0))
        for name, number in (("sixteens of value_dim", value_dim // 16), ("fours of value_dim", value_dim % 16 // 4)):
            put(f"few: {name}", rows * number)
            put(f"few: {name}, {when}", rows * number)
            put(f"few: {name} keys", rows * number * keys)
        return
    twos, part = up(rows, 2), dim % 16 > 0
    put("many", 1)
    put("many: fours of rows", up(rows, 4))
    kind = f"{chunks} chunks{', the last a part' if part else ''}"
    put(f"twos: {kind}", twos)
    put(f"twos: keys of {kind}", twos * keys)
    put("twos: sums that are cleared, vectors", twos * vectors * part)
    put("twos: sums that are cleared, sixteens", twos * sixteens * part)
    put("twos: sums that are cleared, last", twos * (keys % 4) * part)
    put("values: sums", up(value_dim, 16))
    put("values: sixteens of keys", sixteens)
    put(f"values: sixteens of keys, value_dim {value_dim}", sixteens)
    put("values: keys past the last, to sixteen", -keys % 16)
    put(f"twos: {sixteens} sixteens of keys", twos)
    put(f"twos: value_dim of {sixteens} sixteens of keys", twos * value_dim)
    put("odd rows", rows % 2)
    put("odd rows value_dim", rows % 2 * value_dim)
    put(f"many: rows, {when}", rows)
    put(f"many: rows value_dim, {when}", rows * value_dim)


def integer_terms(board, shape):
    q_tokens, kv_tokens, q_heads, kv_heads, dim, value_dim = shape
    terms = {"call": 1, "key heads": kv_heads}

    def put(name, value):
        add(terms, name, kv_heads * value)

    tile = smlad_tile if board == "m4f" else helium_tile
    all_rows = q_tokens * (q_heads // kv_heads)
    for first_row in range(0, all_rows, INTEGER_ROWS):
        rows = min(INTEGER_ROWS, all_rows - first_row)
        put("blocks", 1)
        put("rows", rows)
        if board == "m4f":
            put("rows head_dim", rows * dim)
            put("rows, odd four of head_dim", rows * (dim // 4 % 2))
            put("rows value_dim", rows * value_dim)
        else:
            put(f"rows, head_dim {dim}", rows)
            put("rows, sixteens of value_dim", rows * (value_dim // 16))
            put("rows, any sixteen of value_dim", rows * (value_dim > 15))
            put("rows, last of value_dim", rows * (value_dim % 16))
        for first in range(0, kv_tokens, KEY_TILE):
            tile(put, rows, min(KEY_TILE, kv_tokens - first), "later" if first else "the first", dim, value_dim)
    return terms


def softmax_terms(shape):
    rows, axis = shape[0], shape[1]
    terms = {"call": 1}
    for name, number in (("fours of rows", rows // 4), (f"last {rows % 4} rows", rows % 4 != 0)):
        fours, last = axis // 4 % 4, axis % 4
        for what, value in (("", 1), ("sixteens of elements", axis // 16), ("elements", axis), (f"last {fours} fours", fours > 0),
                            (f"last {last} elements", last > 0), ("one sixteen or more", axis > 15)):
            add(terms, f"{name}: {what}", number * value)
    return terms


def terms_of(board, operator, shape):
    if operator == "softmax":
        return softmax_terms(shape)
    if operator == "integer":
        return integer_terms(board, shape)
    return attention_terms(board, shape, operator == "causal")


def bound(stored, board, operator, shape):
    coefficients = stored[board][operator]["coefficients"]
    terms = terms_of(board, operator, shape)
    missing = sorted(name for name, value in terms.items() if value and name not in coefficients)
    if missing:
        sys.exit(f"bounds.py: {board} {operator} {shape}: no coefficient of {', '.join(missing)}")
    return sum(coefficients[name] * value for name, value in terms.items() if value)


def shape_of(operator, sizes):
    """The shape of a call, if the bounds hold for it."""
    count = 2 if operator == "softmax" else 6
    if operator not in OPERATORS or len(sizes) != count:
        sys.exit(f"bounds.py: {operator} {' '.join(sizes)}: it must be one of {', '.join(OPERATORS)}, and {count} sizes")
    shape = tuple(int(size) for size in sizes) + (1,) * (6 - count)
    queries, keys, q_heads, kv_heads, head_dim, value_dim = shape
    fits = all(1 <= size <= most for size, most in zip(shape, MOST)) and q_heads % kv_heads == 0 and q_heads <= 4 * kv_heads
    dims = (head_dim, value_dim) if count == 6 else (4, 4)
    if not fits or any(dim % 4 for dim in dims) or queries * q_heads > MOST_ROWS or (
            queries * q_heads * keys * max(head_dim, value_dim) > MOST_WORK):
        sys.exit(f"bounds.py: {shape[:count]}: the bounds hold for sizes up to {MOST[:count]}, for {MOST_ROWS} query rows and "
                 f"{MOST_WORK} multiply-adds of a product, and dimensions that are multiples of 4")
    return shape


# ---- Counts.


def build(board, builds):
    preset = BOARDS[board][0]
    folder = pathlib.Path(builds) / preset
    os.environ.setdefault("CMAKE_GENERATOR", "Ninja")
    for command in (["cmake", "--preset", preset, "-B", folder, "-DFOVEA_BUILD_BENCH=ON", "-DFOVEA_BUILD_TESTS=OFF",
                     "-DFOVEA_BUILD_EXAMPLES=OFF", "-DFOVEA_LEAN="],
                    ["cmake", "--build", folder, "--parallel", str(os.cpu_count() or 1), "--target", "fovea_shapes"]):
        done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True)
        if done.returncode:
            sys.exit(f"bounds.py: failed: {command}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return folder / "bench" / "fovea_shapes.elf"


def count(board, program, operator, number, seed):
    """[(shape, instructions)]"""
    command = [ROOT / "toolchains/common/qemu-system.sh", "qemu-system-arm", "-M", BOARDS[board][1], "--", program, operator,
               str(number), str(seed)]
    done = subprocess.run(command, text=True, capture_output=True, env={**os.environ, "FOVEA_QEMU_ARGS": "-icount shift=6"})
    lines = [line.split() for line in done.stdout.splitlines()]
    if done.returncode or len(lines) != number:
        sys.exit(f"bounds.py: {board} {operator}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return [(tuple(map(int, words[1:-1])), int(words[-1])) for words in lines]


def count_all(board, program, operator, number, seeds):
    return [one for seed in seeds for one in count(board, program, operator, number, seed)]


# ---- Coefficients.


def fit(board, operator, counted):
    """Coefficients by which the greatest excess is smallest: least squares whose weights grow with the error (Lawson)."""
    import numpy as np
    rows = [terms_of(board, operator, shape) for shape, _ in counted]
    names = sorted({name for row in rows for name, value in row.items() if value})
    matrix = np.array([[row.get(name, 0) / number for name in names] for row, (_, number) in zip(rows, counted)])
    scales = matrix.max(axis=0)
    matrix = matrix / scales
    weights, best = np.ones(len(rows)), None
    for _ in range(40):
        root = np.sqrt(weights / weights.sum())
        x = np.linalg.lstsq(matrix * root[:, None], root, rcond=1e-9)[0]
        ratio = matrix @ x
        if ratio.min() > 0 and (best is None or ratio.max() / ratio.min() < best[0]):
            best = ratio.max() / ratio.min(), x / ratio.min()
        weights = weights * (np.abs(ratio - 1) + 1e-4)
    margin = MARGIN_OF.get((board, operator), MARGIN)
    return {name: float(f"{value * margin:.6g}") for name, value in zip(names, best[1] / scales)}, best[0] * margin


def excesses(stored, board, operator, counted):
    return [bound(stored, board, operator, shape) / number for shape, number in counted]


def text_of(stored):
    """JSON with a line for the bounds of each operator."""
    boards = ((board, ",\n".join(f'"{operator}": {json.dumps(bounds, sort_keys=True)}' for operator, bounds in sorted(operators.items())))
              for board, operators in sorted(stored.items()))
    return "{" + ",\n".join(f'"{board}": {{\n{lines}}}' for board, lines in boards) + "}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--builds", default=ROOT / "build" / "bounds")
    parser.add_argument("--program", help="an fovea_shapes that is built, for one board")
    parser.add_argument("--boards", nargs="+", default=list(BOARDS), choices=list(BOARDS))
    parser.add_argument("--operators", nargs="+", default=list(OPERATORS), choices=OPERATORS)
    parser.add_argument("call", nargs="*")
    options = parser.parse_args()
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    if options.call:
        board, operator, *sizes = options.call + [""] * (2 - len(options.call))
        if board not in BOARDS:
            parser.error(f"{board!r} is none of {', '.join(BOARDS)}")
        print(round(bound(stored, board, operator, shape_of(operator, sizes))))
        return 0
    failed = False
    for board in options.boards:
        program = options.program or build(board, options.builds)
        for operator in options.operators:
            if options.write:
                coefficients, ratio = fit(board, operator, count_all(board, program, operator, FITTED, FIT_SEEDS))
                print(f"{board} {operator}: {len(coefficients)} terms, bound / count up to {ratio:.3f}", flush=True)
                stored.setdefault(board, {})[operator] = {"coefficients": coefficients}
            counted = count_all(board, program, operator, CHECKED, CHECK_SEEDS)
            found = excesses(stored, board, operator, counted)
            least, most = min(found), max(found)
            limit = EXCESS_OF.get((board, operator), EXCESS)
            wrong = least < 1 or most > limit
            failed |= wrong
            print(f"{board} {operator}: {len(counted)} shapes, {min(n for _, n in counted)} to {max(n for _, n in counted)} instructions; "
                  f"bound / count from {least:.3f} to {most:.3f}{'  WRONG' if wrong else ''}", flush=True)
            if wrong:
                for (shape, number), ratio in zip(counted, found):
                    if ratio < 1 or ratio > limit:
                        print("   ", *shape, number, f"{ratio:.3f}")
            if options.write:
                stored[board][operator].update(shapes=len(counted), least=min(n for _, n in counted), most=max(n for _, n in counted),
                                               least_excess=round(least, 3), most_excess=round(most, 3))
    if options.write:
        STORED.write_text(text_of(stored))
    return failed


if __name__ == "__main__":
    sys.exit(main())

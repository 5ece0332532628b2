# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package share: finding the package, attention in double, and what a test says."""
import inspect
import pathlib
import re
import sys

try:
    import numpy as np
except ImportError:
    print("skipped: this Python has no NumPy")
    sys.exit(77)


def package(library=None):
    """The package that is installed, or with a shared library that of the tree."""
    if library:
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[4] / "platform" / "packages" / "python"))
    import fovea
    if library:
        fovea.c.load(library)
    return fovea


def reference(q, keys, values, visible=None, sinks=None, added=0.0):
    """Attention in double, and its log-sum-exp and weights. visible and added: [...][q_tokens][kv_tokens]; True shows a
    key."""
    q, keys, values = (np.asarray(array, np.float64) for array in (q, keys, values))
    group = q.shape[1] // keys.shape[1]
    keys, values = np.repeat(keys, group, axis=1), np.repeat(values, group, axis=1)
    scores = q @ keys.swapaxes(2, 3) / np.sqrt(q.shape[3]) + added
    if visible is not None:
        scores = np.where(visible, scores, -np.inf)
    sinks = np.full((1, 1, 1, 1), -np.inf) if sinks is None else np.reshape(sinks, (1, -1, 1, 1))
    largest = np.maximum(scores.max(axis=3, keepdims=True, initial=-np.inf), sinks)
    largest = np.where(np.isneginf(largest), 0, largest)
    weights = np.exp(scores - largest)
    total = weights.sum(axis=3, keepdims=True) + np.exp(sinks - largest)
    with np.errstate(divide="ignore"):
        lse = (np.log(total) + largest)[..., 0]
    weights = weights / np.where(total == 0, 1, total)
    return weights @ values, lse, weights


def delta_rule(rule, q, k, v, decay=0.0, beta=1.0, a=None, b=None, s=0.0, scale=None):
    """Linear attention by its recurrence in double, one token after the other: outputs and the last S. All arrays are
    [batch][heads][tokens][...], where heads divide one another."""
    q, k, v = (np.asarray(array, np.float64) for array in (q, k, v))
    batch, heads, tokens, value_dim = v.shape
    wide = lambda array: np.repeat(np.asarray(array, np.float64), heads // array.shape[1], axis=1)  # noqa: E731
    k, a, b = wide(k), None if a is None else wide(a), None if b is None else wide(b)
    out_heads = max(heads, q.shape[1])
    q = np.repeat(q, out_heads // q.shape[1], axis=1)
    scale = q.shape[3] ** -0.5 if scale is None else scale
    decay, beta = (np.broadcast_to(np.asarray(x, np.float64), (batch, heads, tokens, dim)) for x, dim in ((decay, k.shape[3]), (beta, 1)))
    s, outputs = np.zeros((batch, heads, k.shape[3], value_dim)) + s, []
    outer = lambda x, y: x[..., :, None] * y[..., None, :]  # noqa: E731
    for t in range(tokens):
        key, value = k[:, :, t], v[:, :, t]
        read = lambda x, s: (x[..., None, :] @ s)[..., 0, :]  # noqa: E731
        decayed = np.exp(decay[:, :, t])[..., None] * s
        if rule == "general":
            s = decayed + outer(b[:, :, t], read(a[:, :, t], s)) + outer(key, value)
        elif "delta" in rule:
            s = decayed + outer(key, beta[:, :, t] * (value - read(key, decayed)))
        else:
            s = decayed + outer(key, value)
        outputs.append(scale * read(q[:, :, t], np.repeat(s, out_heads // heads, axis=1)))
    return np.stack(outputs, axis=2) if outputs else np.zeros((batch, out_heads, 0, value_dim)), s


def super_blocks(rng, dtype, rows, blocks):
    """Rows of random codes and scales, with d and e that keep elements below some 4."""
    made = rng.integers(0, 256, (rows, blocks, {"q4_k": 144, "q6_k": 210}[dtype]), np.uint8)
    for at in (0, 2) if dtype == "q4_k" else (208,):
        made[..., at:at + 2] = rng.uniform(0.001, 0.004, (rows, blocks, 1)).astype("<f2").view(np.uint8)
    return made.reshape(rows, -1)


def halves_at(blocks, at):
    return np.ascontiguousarray(blocks[..., at:at + 2]).view("<f2").astype(np.float64)


def widened(dtype, rows):
    """The numbers of rows of super-blocks, uint8 [rows][bytes], as base.h describes them."""
    blocks = rows.reshape(len(rows), -1, {"q4_k": 144, "q6_k": 210}[dtype])
    x = np.empty((*blocks.shape[:2], 256))
    for i in range(256):
        if dtype == "q4_k":
            k, code = i // 32, blocks[..., 16 + i // 64 * 32 + i % 32] >> i // 32 % 2 * 4 & 15
            b = blocks[..., 4:16].astype(int)
            if k < 4:
                scale, least = b[..., k] & 63, b[..., k + 4] & 63
            else:
                scale = b[..., k + 4] & 15 | b[..., k - 4] >> 6 << 4
                least = b[..., k + 4] >> 4 | b[..., k] >> 6 << 4
            x[..., i] = halves_at(blocks, 0)[..., 0] * scale * code - halves_at(blocks, 2)[..., 0] * least
        else:
            k = i % 128 // 32
            low = blocks[..., i // 128 * 64 + i % 64] >> k // 2 * 4 & 15
            high = blocks[..., 128 + i // 128 * 32 + i % 32] >> 2 * k & 3
            scale = blocks[..., 192 + i // 16].view(np.int8).astype(int)
            x[..., i] = halves_at(blocks, 208)[..., 0] * scale * ((low | high << 4).astype(int) - 32)
    return x.reshape(len(rows), -1)


def near(got, want, most):
    worst = np.abs(np.asarray(got, np.float64) - want).max(initial=0)
    assert worst <= most, f"differs by {worst:.1e}, {most:.0e} is allowed"


def refused(status, function, /, *arguments, **fields):
    raises(RuntimeError, f"(FOVEA_{status})", function, *arguments, **fields)


def raises(kind, text, function, /, *arguments, **fields):
    """The exception says what was given and what is wanted: `text` has a part of it."""
    try:
        function(*arguments, **fields)
    except kind as error:
        assert text in str(error), f"says {error}, not {text}"
    else:
        raise AssertionError(f"is not refused: {text}")


def run_all(names):
    """Runs the functions of a script, by its globals(), that take nothing: each is a test. _ begins the names of others."""
    print(f"fovea {names['fovea'].__version__} on {', '.join(names['fovea'].targets())}, NumPy {np.__version__}")
    run([one for name, one in names.items() if inspect.isfunction(one) and one.__module__ == "__main__"
         and name[0] != "_" and not inspect.signature(one).parameters])


def run(tests):
    for test in tests:
        try:
            test()
        except Exception:
            print(f"failed: {test.__name__.replace('_', ' ')}")
            raise
    print(f"{len(tests)} tests passed")


def run_program(number):
    """Runs a program of the package's page: the first is for NumPy, the second for PyTorch."""
    root = pathlib.Path(__file__).resolve().parents[4]
    text = (root / "platform" / "packages" / "python" / "README.md").read_text(encoding="utf-8")
    exec(re.findall(r"^```python\n(.*?)^```$", text, flags=re.M | re.S)[number], {})

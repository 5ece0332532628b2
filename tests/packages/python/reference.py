# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python package share: finding the package, attention in double, and what a test says."""
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
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "platform" / "packages" / "python"))
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


def near(got, want, most):
    worst = np.abs(np.asarray(got, np.float64) - want).max(initial=0)
    assert worst <= most, f"differs by {worst:.1e}, {most:.0e} is allowed"


def refused(status, function, /, *arguments, **fields):
    try:
        function(*arguments, **fields)
    except RuntimeError as error:
        assert getattr(error, "status", error) == status, f"{error} instead of {status}"
    else:
        raise AssertionError(f"is not refused with {status}")


def raises(kind, text, function, /, *arguments, **fields):
    """The exception says what was given and what is wanted: `text` has a part of it."""
    try:
        function(*arguments, **fields)
    except kind as error:
        assert text in str(error), f"says {error}, not {text}"
    else:
        raise AssertionError(f"is not refused: {text}")


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
    root = pathlib.Path(__file__).resolve().parents[3]
    text = (root / "platform" / "packages" / "python" / "README.md").read_text(encoding="utf-8")
    exec(re.findall(r"^```python\n(.*?)^```$", text, flags=re.M | re.S)[number], {})

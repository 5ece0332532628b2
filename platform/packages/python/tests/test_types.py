#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The stubs of the Python package: test_types.py [shared library]

They have the names and parameters of the package, and mypy --strict accepts a user's right lines and no wrong one. The second
ends with 77 where there is no mypy; its lines about PyTorch are left out where there is none.
"""
import ast
import importlib.util
import inspect
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from reference import package, run

fovea = package(*sys.argv[1:2])
HERE = pathlib.Path(fovea.__file__).parent
BEGIN = """import numpy as np
import fovea
import fovea.export
q = np.ones((2, 3, 8), np.float32)
plan = fovea.Plan(q_heads=2, kv_heads=2, head_dim=8, value_dim=8, max_q_tokens=3, max_kv_tokens=9, causal="bottom_right")
cache = fovea.Cache(kv_heads=2, head_dim=8, max_tokens=9)
layer = fovea.MultiheadAttention(2, qkv=fovea.Weights(q[0].repeat(8, 0)))
state = fovea.DeltaState("gated", v_heads=2, head_dim=8, value_dim=8)
"""
RIGHT = """fovea.attention(q, q, q, causal="top_left", kv_lengths=[3]).astype(np.float16)
fovea.attention(q, q, q, lse=True)[1].sum()
cache.append(q, q)
print(cache.lengths[0] + 1, cache.plan(q_heads=4)(q, cache).shape, plan.desc.head_dim, plan.describe(1, 3).upper())
call = plan.bind(q, cache, lse=True, mask=np.ones((3, 3), bool)); call().sum(); print(call.raw() + 1)
cache.from_bytes(cache.to_bytes()[:64], position=3); cache.shift(-1, "half_split", first=2)
stream = plan.stream(q); stream.push(q, q); out, lse = stream.end(lse=True)
y, weights = layer(q, scores="softmax")
state(q, q, q, decay=q).sum(); state.roll_back(1); state.from_bytes(state.to_bytes())
total = fovea.norm(q, residual=q, return_sum=True)[1].sum() + fovea.linear(q, q[0], [1.0]).sum()
scale, zero = fovea.Range().observe(q).choose()
codes = fovea.integer_activation(fovea.to_i8(q, scale), fovea.activation_table("gelu", x_scale=scale, y_scale=1))
print(fovea.workspace_bytes(plan, "cortex-m4f") + 1, fovea.targets()[0].upper(), fovea.c.structure("executor", workers=2).workers)
report = fovea.export("model.onnx", out="folder", weights="i8")
print((lambda error: (error.line.upper(), error.replacement))(fovea.export.NotServed("x")), fovea.Error("ERR_DIM", "").status.lower())
"""
WRONG = """fovea.attention(q, q)
number: int = fovea.attention(q, q, q)
fovea.attention(q, q, q).describe()
fovea.softmax(q, dim=-1)
fovea.norm(q, epsilon="small")
cache.append(q, q, "first")
plan.describe().shape
fovea.linear(q, q[0], activations="gelu")
fovea.Weights()
fovea.no_such_function(q)
"""
TORCH = """import torch, fovea.torch
t = torch.ones(2, 3, 8)
fovea.torch.scaled_dot_product_attention(t, t, t, is_causal=True).sum()
fovea.torch.MultiheadAttention(torch.nn.MultiheadAttention(8, 2)).eval()(t, t, t)[0].sum()
""", """fovea.torch.scaled_dot_product_attention(t, t, t, causal=True)
fovea.torch.MultiheadAttention(8, 2)
"""


def functions(body, owner):
    """Functions of a stub, and what they are in the package."""
    for node in body:
        if isinstance(node, ast.ClassDef):  # _Export is the class of the module fovea.export
            yield from functions(node.body, type(owner.export) if node.name == "_Export" else getattr(owner, node.name, None))
        elif isinstance(node, ast.FunctionDef) and not node.name == "__getattr__":
            real = getattr(owner, "forward" if node.name == "__call__" and hasattr(owner, "forward") else node.name)
            yield node, inspect.unwrap(real.fget if isinstance(real, property) else real)


def stubs_have_the_parameters_of_the_package():
    for stub in sorted(HERE.glob("*.pyi")):
        if stub.stem == "torch" and not importlib.util.find_spec("torch"):
            continue
        module = importlib.import_module("fovea" if stub.stem == "__init__" else f"fovea.{stub.stem}")
        tree = ast.parse(stub.read_text(encoding="utf-8"))
        for node, real in functions(tree.body, module):
            code, of = real.__code__, node.args
            wanted = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount], bool(code.co_flags & inspect.CO_VARKEYWORDS)
            given = tuple(one.arg for one in (*of.posonlyargs, *of.args, *of.kwonlyargs)), bool(of.kwarg)
            assert (set(given[0]), given[1]) == (set(wanted[0]), wanted[1]), f"{stub.name}: {node.name}{given}: it is {wanted}"
            needed = len(of.args) - len(of.defaults) + of.kw_defaults.count(None)
            least = len(wanted[0]) - len(real.__defaults__ or ()) - len(real.__kwdefaults__ or ())
            is_overload = "overload" in map(ast.unparse, node.decorator_list)
            assert needed == least or is_overload, f"{stub.name}: {node.name} needs {needed} arguments: it is {least}"
        if module is fovea:
            names = {getattr(node, "name", None) for node in tree.body}
            names |= {alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
            assert set(fovea.__all__) <= names | {"PROCESSORS"}, set(fovea.__all__) - names


def mypy_accepts_what_is_right_and_nothing_else():
    right, wrong = [BEGIN + RIGHT, WRONG]
    if importlib.util.find_spec("torch"):
        right, wrong = right + TORCH[0], wrong + TORCH[1]
    first, last = right.count("\n") + 1, (right + wrong).count("\n")
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "program.py").write_text(right + wrong, encoding="utf-8")
        path = {"MYPYPATH": str(HERE.parent)} if sys.argv[1:] else {}  # mypy finds a wheel that is installed
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "program.py"], cwd=folder,
                              env={**os.environ, **path}, capture_output=True, text=True)
    lines = {int(line) for line in re.findall(r"^program.py:(\d+): error", done.stdout, flags=re.M)}
    assert lines == set(range(first, last + 1)), f"lines {first} to {last} are wrong:\n{done.stdout}{done.stderr}"


run([stubs_have_the_parameters_of_the_package])
if not importlib.util.find_spec("mypy"):
    print("skipped: this Python has no mypy")
    sys.exit(77)
run([mypy_accepts_what_is_right_and_nothing_else])

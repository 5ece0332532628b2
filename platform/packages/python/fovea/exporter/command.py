# SPDX-License-Identifier: Apache-2.0
"""python -m fovea.export: the function fovea.export from the command line."""
import argparse
import importlib
import math
import re
import sys
import traceback
import zipfile

import numpy as np

from .graph import NotServed
from .weights import FORMATS

EPILOG = """--inputs names a shape for each input, separated by commas, as A,B. 1x3x32x32 is float32; 1x12:1000 are token
numbers below 1000; 1x12:bool is a mask of booleans, True in the last quarter of each row. With --lengths, masks AxB:bool
and AxB:2 are 1 for first tokens instead, as many as its lengths then count. Numbers are random, unless --calibrate has
some. FILE.npz has an array for each input, in their order, with one dimension more: its first
is the samples."""


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m fovea.export", epilog=EPILOG,
                                     description="From a PyTorch module or an ONNX file to C99 that calls fovea.")
    parser.add_argument("model", help="MODULE:FACTORY, a function that returns a torch.nn.Module, or a file.onnx")
    parser.add_argument("--inputs", metavar="SHAPES", help="of the inputs, separated by commas: 1x16x64,1x16:bool")
    parser.add_argument("--calibrate", metavar="FILE.npz", help="inputs as in use, which decide the scales of int8")
    parser.add_argument("--weights", choices=FORMATS, default="f32")
    parser.add_argument("--arithmetic", choices=["f32", "i8", "integer"], default="f32")
    parser.add_argument("--keep", action="append", default=[], metavar="LAYER=FORMAT", help="a layer in another format")
    parser.add_argument("--min-snr", type=float, metavar="DB", help="tensors and layers of int8 stay in f32 until it is reached")
    parser.add_argument("--step", action="store_true", help="of a decoder: a function for a token at a time, too")
    parser.add_argument("--no-multihead", dest="multihead", action="store_false",
                        help="attention and its linear layers as calls of their own, which take less memory")
    parser.add_argument("--lengths", action="append", default=[], metavar="INPUT",
                        help="a mask, [batch][tokens], of each entry's first tokens: C takes their number in its place")
    parser.add_argument("--name", default="model", help="of the C functions and files")
    parser.add_argument("--out", required=True, metavar="DIR")
    given, rest = parser.parse_known_args(arguments)
    if rest:
        parser.error(f"unknown: {' '.join(rest)}. The shapes of several inputs are separated by commas: --inputs A,B")
    try:
        samples = samples_of(given.calibrate)
        inputs = samples[0] if samples else inputs_of(given.inputs or parser.error("--inputs or --calibrate is missing"), given.lengths)
        if any("=" not in one for one in given.keep):
            raise ValueError("--keep is LAYER=FORMAT, as encoder.layers.0.linear1=f32")
        keep = dict(one.rsplit("=", 1) for one in given.keep)
        from .pipeline import export
        model = given.model if given.model.endswith(".onnx") else made(given.model)
        print(export(model, tensors(inputs, given.model), given.out, given.name, given.weights, given.arithmetic,
                     [tensors(one, given.model) for one in samples] or None, keep, given.step, given.multihead, given.min_snr, given.lengths))
    except (NotServed, ValueError, ImportError, OSError, RuntimeError) as error:
        print(f"fovea.export: {error}", file=sys.stderr)
        return 1
    return 0


def made(text):
    """The module that package.module:function returns."""
    module, _, function = text.partition(":")
    sys.path.insert(0, "")
    if not re.fullmatch(r"\w+(\.\w+)*", module):
        raise ValueError(f"{text!r} is neither MODULE:FACTORY, as package.module:function, nor a file.onnx")
    try:
        found = getattr(importlib.import_module(module), function or "model", None)
        if callable(found) and (isinstance(found, type) or not hasattr(found, "state_dict")):  # no module yet
            found = found()
    except Exception as error:  # of the user's own code: its place is what helps
        frame = traceback.extract_tb(error.__traceback__)[-1]
        at = "" if frame.filename.startswith("<") else f", at {frame.filename}:{frame.lineno}: {frame.line}"
        raise ValueError(f"{text} failed: {type(error).__name__}: {error}{at}") from error
    if found is None:
        raise ValueError(f"{module} has no {function or 'model'}, or it returned nothing")
    return found


def inputs_of(text, lengths):
    """Arrays of random numbers of these shapes. lengths: whether masks have 1 for the first tokens of a row, less in each."""
    random, arrays = np.random.default_rng(1), []
    for one in text.split(","):
        match = re.fullmatch(r"([1-9]\d*(?:x[1-9]\d*)*)(?::([1-9]\d*|bool))?", one.strip())
        if not match:
            raise ValueError(f"{one!r} is no shape: write 1x16x64, 1x12:1000 for token numbers below 1000, or 1x12:bool for a mask")
        shape = [int(size) for size in match[1].split("x")]
        if lengths and match[2] in ("bool", "2") and len(shape) < 3:
            rows = math.prod(shape[:-1])
            counts = shape[-1] - np.arange(1, rows + 1) * shape[-1] // (rows + 1)
            arrays.append((np.arange(shape[-1]) < counts[:, None]).astype(bool if match[2] == "bool" else int).reshape(shape))
        elif match[2] == "bool":
            arrays.append(np.broadcast_to(np.arange(shape[-1]) >= shape[-1] - shape[-1] // 4, shape))
        else:
            arrays.append(random.integers(0, int(match[2]), shape) if match[2] else random.standard_normal(shape, np.float32))
    return tuple(arrays)


def samples_of(path):
    if path is None:
        return []
    if not zipfile.is_zipfile(path):
        open(path, "rb").close()  # says whether the file is there
        raise ValueError(f"{path} is no file of numpy.savez")
    with np.load(path) as arrays:
        counts = {name: arrays[name].shape[:1] for name in arrays.files}
        if len(set(counts.values())) != 1 or list(counts.values())[0] in ((), (0,)):
            raise ValueError(f"{path}: the first dimension of each array counts samples, and is the same for all")
        return list(zip(*(arrays[name] for name in arrays.files)))


def tensors(arrays, model):
    """For a module, tensors of PyTorch; for an ONNX file the arrays."""
    if model.endswith(".onnx"):
        return tuple(arrays)
    import torch
    return tuple(torch.from_numpy(np.array(one)) for one in arrays)

# SPDX-License-Identifier: Apache-2.0
"""What `python -m fovea.export` says of a user's mistakes: a line for each, and never a traceback of Python."""
import contextlib
import io
import pathlib

import numpy as np
import torch
from torch import nn


def linear():
    return nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 8))


def tokens():
    return nn.Embedding(100, 32)


def half():
    return nn.Linear(16, 16).half()


def fails():
    raise RuntimeError("no checkpoint")


def no_module():
    return 3


def not_finite():
    layer = nn.Linear(16, 16)
    layer.bias.data[0] = float("nan")
    return layer


class Turned(nn.Module):

    def forward(self, x, mask):
        return x + torch.sigmoid(mask)


class Numbers(nn.Module):

    def forward(self, numbers):
        return (numbers > 5).float()


# arguments -> words of the message
CASES = {
    "messages:fails --inputs 1x16": "no checkpoint, at",
    "messages:no_module --inputs 1x16": "type int: a torch.nn.Module is required",
    "messages:nothing --inputs 1x16": "has no nothing",
    "./messages.py:linear --inputs 1x16": "neither MODULE:FACTORY",
    "messages:linear --inputs 1x4": "does not take inputs of 1x4 float32",
    "messages:linear --inputs 1x16,1x16": "does not take inputs of 1x16 float32, 1x16 float32",
    "messages:linear --inputs 0x16": "is no shape",
    "messages:linear --inputs Bx16": "is no shape",
    "messages:tokens --inputs 1x6": "does not take inputs of 1x6 float32",
    "messages:tokens --inputs 1x6:1000": "index out of range",
    "messages:Numbers --inputs 1x6:9000000000": "beyond 32 bits",
    "messages:half --inputs 1x16": "module.float()",
    "messages:Turned --inputs 1x16,1x16:bool": "aten.sigmoid of booleans",
    "messages:not_finite --inputs 1x16": "not finite",
    "messages:linear --inputs 1x16 --name my-model": "no name of a C function",
    "messages:linear --inputs 1x16 --name int": "no name of a C function",
    "messages:linear --inputs 1x16 --keep 0": "--keep is LAYER=FORMAT",
    "messages:linear --inputs 1x16 --keep 0=f33": "must be one of f32",
    "messages:linear --inputs 1x16 --keep 7=f32": "names no layer of the model: 7",
    "messages:linear --inputs 1x16 --step": "a decoder of one input",
    "messages:linear --inputs 1x16 1x16": "unknown: 1x16. The shapes of several inputs are separated by commas",
    "FOLDER/text.onnx --inputs 1x16": "text.onnx is no valid file of ONNX",
    "messages:linear --calibrate none.npz": "none.npz",
    "messages:linear --calibrate FOLDER/text.npz": "no file of numpy.savez",
    "messages:linear --calibrate FOLDER/uneven.npz": "counts samples",
    "messages:linear --inputs 1x16 --weights f16 --arithmetic integer": "no products of integers",
    "messages:linear --inputs 1x16 --weights i8 --keep 0=f32": "",
    "messages:linear --inputs 1x16 --min-snr 30": "a number of dB, for --arithmetic integer",
    "messages:linear --inputs 1x16 --arithmetic integer --min-snr 60": "f32 for",
    "messages:linear --inputs 1x16 --arithmetic integer": "scales     of 1 sample: too few for use",
    **{f"messages:Numbers --inputs 2x8:{kind} --lengths numbers": "of first tokens for which numbers is 1; no attention" for kind in ("2", "bool")},
}


def check(folder):
    from fovea import export
    from fovea.exporter.command import main
    folder = pathlib.Path(folder)
    for file in ("text.npz", "text.onnx"):
        (folder / file).write_text("text")
    np.savez(folder / "uneven.npz", a=np.zeros((3, 1, 16)), b=np.zeros((2, 1, 16)))
    for arguments, words in CASES.items():
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                code = main([*arguments.replace("FOLDER", str(folder)).split(), "--out", str(folder / "out")])
            except SystemExit as ended:  # argparse's
                code = ended.code - 1
        text = said.getvalue()
        assert words in text, f"{arguments}: {text}"
        assert code == (1 if text.startswith(("fovea.export: ", "usage: ")) else 0), f"{arguments}: {code}: {text}"
    row = torch.randn(1, 16)
    for samples, words in [([(torch.randn(1, 17),)], "have [(1, 16)]"), ([], "has no sample"), ([(row * np.nan,)], "not finite")]:
        try:
            export(linear(), (row,), folder / "out", arithmetic="integer", calibrate=samples)
            raise AssertionError(f"calibrate={samples} was taken")
        except ValueError as refused:
            assert words in str(refused), refused

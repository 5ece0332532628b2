# SPDX-License-Identifier: Apache-2.0
"""What a model takes: the report as text, and the README of the folder."""
import csv
import functools
import math
import textwrap

from .. import c
from .emit_c import length_text
from .run import bytes_for

# Processors of the README: their target, and their name in bench/counts_baseline.csv.
BOARDS = {"Cortex-M4F": ("scalar", "arm-none-eabi-cortex-m4f"), "Cortex-M55": ("helium", "arm-none-eabi-cortex-m55")}
FEW_SAMPLES = 8  # of calibration: inputs in use will have larger numbers than these


def text(report):
    calls = ", ".join(f"{count} {name}" for name, count in sorted(report.calls.items(), key=lambda one: -one[1]))
    fused = ", ".join(f"{count} {name}" for name, count in report.fused.items()) or "none"
    worst = "".join(f"\n  {ratio:6.1f} dB  {layer}" for layer, ratio in report.layers)
    title = "\nsignal to noise of each layer, the worst first:"
    return f"""{report.name}: {report.nodes} operations, {sum(report.calls.values())} calls
  calls      {calls}
  fused      {fused}
  arena      {report.arena_bytes} bytes of tensors; {report.arena_bound} live at once
  workspace  {report.workspace_bytes} bytes on this machine
  weights    {report.weight_bytes} bytes
  work       {report.macs} multiply-adds{loops(report)}{inputs(report)}
  error      {report.error:.2e} of the largest output, compared with {report.compared}{scales(report)}{worst and title + worst}"""


def loops(report):
    """What plain loops of model.c take of the work, the most first."""
    parts = ", ".join(f"{name} {100 * part:.2g} %" for name, part in report.loops.items())
    return f"\n  loops      of the work, about: {parts}" if parts else ""


def inputs(report):
    """Inputs of lengths. And matrices that a file has as codes of which no format of fovea's has all."""
    lines = [f"\n  lengths    {name}: each 1 to {most}, the number of first tokens for which {mask} is {value}"
             + ("" if used else "; no attention takes it as kv_lengths") for name, (mask, most, value, used) in report.lengths.items()]
    lost = f"\n  codes      not those of the file, with -128, zero points or other scales: {', '.join(report.lost)}"
    return "".join(lines) + (lost if report.lost else "")


def scales(report):
    """Of int8 tensors: what their scales come from."""
    if not report.samples:
        return ""
    few = ": too few for use, --calibrate takes more" if report.samples < FEW_SAMPLES else ""
    taken = "".join(f"\n             {one}" for one in report.taken)
    return f"""
  scales     of {report.samples} sample{'s' * (report.samples != 1)}{few}
  int8       {report.snr:.1f} dB of signal to noise{taken}"""


@functools.cache
def rates(toolchain):
    """What bench/counts.py counted for a processor: instructions for each multiply-add, or each element."""
    with open(c.installed("counts_baseline.csv"), encoding="utf-8", newline="") as file:
        return {row["measure"]: float(row["value"]) for row in csv.DictReader(file) if row["toolchain"] == toolchain}


def instructions(calls, toolchain):
    """An estimate: that of the products, of normalisations and of activations."""
    rate, total = rates(toolchain), 0.0
    for call in calls:
        integer = call.fields.get("compute") == "FOVEA_COMPUTE_I8"
        codes = call.function.startswith("fovea_integer") or call.fields.get("x_dtype") == "FOVEA_I8"
        total += call.macs * rate["instructions encoder layer of int8" if codes else "instructions integers" if integer else "instructions"]
        elements = sum(one.count for one in call.writes)
        if call.function in ("fovea_norm", "fovea_integer_norm"):
            total += elements * rate["instructions layer normalisation" if call.function == "fovea_norm" else "instructions norm of int8"]
        total += call.fields.get("work", 0)
        activation = call.fields.get("activation", "")
        if activation and not any(plain in activation for plain in ("RELU", "IDENTITY")):
            total += elements * rate["instructions GELU"]
    return total


def readme(exported, report):
    name = report.name
    upper = name.upper()
    rows = ""
    for board, (target, toolchain) in BOARDS.items():
        all_of_it = max([exported.arena_bytes, *(call.top + bytes_for(call, target) for call in exported.calls)])
        count = instructions(exported.calls, toolchain)
        rows += f"| {board} | {report.weight_bytes:,} | {all_of_it:,} | {rounded(count)} |\n"
    inputs, outputs = ("\n".join(f"- `{one.name}`: {' x '.join(map(str, one.shape)) or 'a number'}, "
                                 f"{'float' if one.buffer.dtype.kind == 'f' else one.buffer.dtype.name + '_t'}"
                                 f"{length_text(exported.graph, one)}"
                                 for one in tensors) for tensors in (exported.graph.inputs, exported.graph.outputs))
    calls = ", ".join(f"{count} `{one}`" for one, count in sorted(report.calls.items(), key=lambda one: -one[1]))
    names = ", ".join(one.name for one in [*exported.graph.inputs, *exported.graph.outputs])
    return f"""# {name}

{paragraph(f'Written by `python -m fovea.export`. `{name}.c` computes the model by calls of fovea: {calls}. It needs '
           'nothing but fovea and C99, and allocates nothing.')}

    {name}_init();
    {name}_run({names}, arena);

Inputs, each a dense array:

{inputs}

Outputs:

{outputs}

`arena` has `{upper}_ARENA_BYTES`, at a multiple of 64 bytes.

## What it takes

| processor | flash for weights, bytes | arena, bytes | instructions, about |
| --- | ---: | ---: | ---: |
{rows}
{paragraph(f'{report.macs:,} multiply-adds. Of the arena, tensors take {report.arena_bytes:,} bytes, where '
           f'{report.arena_bound:,} live at once. Calls have their workspace after the tensors that live then. '
           f"{loops_text(report)}Instructions are estimated from fovea's own counts; they leave out sums, copies and what "
           "each call takes once. fovea's own code comes in addition: `bench/size.py` of its tree measures it.")}
{quality_table(report)}
## Build and test

    cmake -S . -B build -DFOVEA_SOURCE=<fovea's tree>      # or without it, where fovea is installed
    cmake --build build
    ctest --test-dir build

{paragraph(f'The test compares the answers with {exported.wanted}.')}

{paragraph("For a board add `-DCMAKE_TOOLCHAIN_FILE=<fovea's tree>/toolchains/<board>.cmake`: the test then runs in "
           'its emulator.')}
"""


def loops_text(report):
    return f"Plain loops of `{report.name}.c` take about {100 * sum(report.loops.values()):.2g} % of the work. " if report.loops else ""


def paragraph(words):
    return textwrap.fill(words, 120, break_long_words=False)


def quality_table(report):
    """Where weights or tensors are narrow."""
    if not report.layers:
        return ""
    rows = "".join(f"| {layer} | {ratio:.1f} |\n" for layer, ratio in report.layers)
    return f"""
## How near each layer is

{paragraph("The signal to noise ratio of each layer's output, compared with f32, in dB; the worst first. "
           '`--keep LAYER=f32` keeps a layer as it is.')}

| layer | dB |
| --- | ---: |
{rows}"""


def rounded(count):
    """Two digits: it is an estimate."""
    if count < 1:
        return "0"
    step = 10**max(0, math.floor(math.log10(count)) - 1)
    return f"{round(count / step) * step:,}"

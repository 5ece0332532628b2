# SPDX-License-Identifier: Apache-2.0
"""From a PyTorch module or an ONNX file to C99 that calls fovea: the function fovea.export, and python -m fovea.export.

    report = fovea.export(model, (x,), "folder", name="model")    # torch.nn.Module, or the path of an ONNX file

    python -m fovea.export package.module:factory --inputs 1x16x64 --out folder

    model           a torch.nn.Module, or the path of an ONNX file
    example_inputs  a tuple of the inputs: their shapes are those of the C function, their numbers those of its test
    out             the folder that is written, "model" unless given
    name            of the C functions and files, "model" unless given: name_init, name_run, name.c
    weights         the format of weights: f32 unless given, f16, i8, i4, q8_0 or q4_0
    arithmetic      f32 unless given; i8: linear layers multiply integers, where weights are i8, i4, q8_0 or q4_0;
                    integer: int8 tensors from end to end
    calibrate       for integer: an iterable of tuples as example_inputs, whose numbers decide the scales
    keep            a layer's name -> the format of its weights
    step            True, of a causal decoder whose input is token numbers, [1, tokens]: a second function, name_step,
                    which takes a token at a time and keeps keys and values in caches
    min_snr         for integer: tensors and layers, those with the most noise first, stay in f32 until the outputs have this
                    signal to noise ratio, in dB, over every fourth sample
    lengths         names, or a name, of inputs in C: masks [batch][tokens] with one value for each entry's first tokens, and the
                    other for the rest: C takes the number of first tokens, [batch], in the place of such a mask
    multihead       attention with its linear layers is one call, where that is exact; False: calls of their own. One
                    call keeps queries, keys and values in its workspace at once; calls of their own take less memory

The answer is a Report: nodes, calls, fused, arena_bytes and so on. NotServed is raised where the model has an operator
that fovea does not serve, ValueError for options that there are not, RuntimeError where fovea's calls in f32 do not give the
model's answers: then nothing is written. Report.compared says whose these are. fovea/exporter says what is in the folder, and which file of
the exporter makes it. The module itself is what is called, because `python -m` wants a module of the function's name.
"""
import sys
import types

from .exporter.graph import NotServed

__all__ = ["NotServed"]


class _Module(types.ModuleType):

    def __call__(self, model, example_inputs=None, out="model", name="model", weights="f32", arithmetic="f32", calibrate=None, keep=None,
                 step=False, multihead=True, min_snr=None, lengths=()):
        """Writes the folder `out`, and returns a Report. help(fovea.export) describes the arguments."""
        from .exporter.pipeline import export
        return export(model, example_inputs, out, name, weights, arithmetic, calibrate, keep, step, multihead, min_snr, lengths)


if __name__ == "__main__":
    from .exporter.command import main
    sys.exit(main())
sys.modules[__name__].__class__ = _Module

# SPDX-License-Identifier: Apache-2.0
"""The exporter: from a PyTorch module or an ONNX file to a folder of C99 that calls fovea.

Each step is a file. What goes from one to the next is in graph.py.

    from_torch.py, from_onnx.py   read a model: constants are computed at once, views become strides   -> Graph
    torch_*.py, onnx_*.py         what each operation becomes; loops.py: plain loops of model.c for the rare ones
    patterns.py                   several nodes that one call of fovea computes become one node        -> Graph
    lower.py                      a call of fovea for each node, with all its arguments                -> calls
    arena.py                      where each tensor is: they share memory where lifetimes allow it     -> offsets
    calibrate.py                  of int8: what the samples decide, and what stays in f32
    weights.py                    constants in the format that was asked for
    run.py                        makes the same calls from Python, on this machine
    emit_c.py, project.py         write the calls as C, and the files around it

The folder, for the name `model`:

    model.h         MODEL_ARENA_BYTES; fovea_status model_init(void);
                    fovea_status model_run(<inputs>, <outputs>, void* arena);
    model.c         the calls, each with the name and the shape of its tensor
    model_weights.h, .c, .bin   one structure of constants with a field for each, taken in by the assembler
    model_test.c, model_test.bin   a program: stored inputs, and outputs of PyTorch that the answers are compared with
    CMakeLists.txt  the targets `model`, a library, and `model_test`; fovea is the tree that
                    -DFOVEA_SOURCE=<folder> names, or found by find_package
    README.md       what the model takes: flash, RAM, multiply-adds

Inputs and outputs are dense arrays in the order of PyTorch's: float*, const uint32_t* for token numbers, const uint8_t*
for booleans. model_init makes the plans: call it once. arena is MODEL_ARENA_BYTES of memory at a multiple of
FOVEA_WORKSPACE_ALIGNMENT. It holds nothing between calls.
"""

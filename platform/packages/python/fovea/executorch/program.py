# SPDX-License-Identifier: Apache-2.0
"""Puts fovea's operators into a whole program."""
from .quantized import Quantized
from .rewrite import KINDS, ToFovea, check_kinds


def to_fovea(program, kinds=KINDS):
    """The same program with fovea's operators.

    program  of torch.export.export, which has whole operators; or an EdgeProgramManager of to_edge, in which attention
             was taken apart already, and what is between dequantize and quantize nodes stays there
    kinds    which operators may be put in: all of KINDS, or some. XNNPACK's partitioner takes what is left
    """
    if hasattr(program, "transform"):
        return program.transform([ToFovea(kinds)])
    program = program.run_decompositions({})
    if any("quantized_decomposed" in str(node.target) for node in program.graph.nodes):
        Quantized(program, check_kinds(kinds)).run()
    ToFovea(kinds, program.graph_signature.replace_all_uses).call(program.graph_module)
    return program

# SPDX-License-Identifier: Apache-2.0
"""Puts fovea's operators into the graph of a model for ExecuTorch: attention and the layers around it.

    from fovea.executorch import to_fovea
    program = to_fovea(torch.export.export(model.eval(), inputs))
    buffer = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch().buffer

What is not replaced stays for ExecuTorch's portable kernels, or for a partitioner. The program needs
libfovea_executorch where it runs: platform/engines/executorch of fovea's tree. operators.py defines the operators,
rewrite.py finds what they replace, quantized.py the same in graphs that PT2E quantised, and program.py does both.
quantizer.py, which needs torchao, has FoveaQuantizer for such graphs.
"""
from .operators import ACTIVATIONS
from .program import to_fovea
from .rewrite import KINDS, ToFovea

__all__ = ["ACTIVATIONS", "KINDS", "ToFovea", "to_fovea"]

# SPDX-License-Identifier: Apache-2.0
"""Runs <folder>/program.pte on <folder>/inputs.pt with fovea's kernels: run_program.py <folder> <library>"""
import ctypes
import sys

import torch
from executorch.runtime import Runtime

folder, library = sys.argv[1:]
runtime = Runtime.get()
assert "llama::custom_sdpa.out" not in runtime.operator_registry.operator_names
ctypes.CDLL(library)
assert "llama::custom_sdpa.out" in runtime.operator_registry.operator_names
method = runtime.load_program(folder + "/program.pte").load_method("forward")
torch.save(list(method.execute(torch.load(folder + "/inputs.pt"))), folder + "/outputs.pt")

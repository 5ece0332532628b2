# SPDX-License-Identifier: Apache-2.0
"""Reads a torch.nn.Module: torch.export gives its operations. What depends on no input is computed here."""
import contextlib
import operator
import os
import re

import numpy as np

from .graph import Buffer, Graph, NotServed, dense
from .torch_ops import OPS, REPLACEMENTS, SKIPPED


def read(model, example_inputs, name):
    """The graph of a module, and what the module answers to the example inputs."""
    import torch
    with torch.no_grad(), quiet(model):
        program = torch.export.export(model, tuple(example_inputs), strict=False).run_decompositions({})
        answers = [
            one for one in torch.utils._pytree.tree_leaves(model(*example_inputs)) if isinstance(one, torch.Tensor)
        ]
        return Reader(program, name).graph, answers


@contextlib.contextmanager
def quiet(model):
    """The module as in inference: without dropout, and without the caches that transformers returns."""
    was, caching = model.training, []
    model.eval()
    for config in (getattr(module, "config", None) for module in model.modules()):
        if getattr(config, "use_cache", False):
            config.use_cache = False
            caching.append(config)
    try:
        yield
    finally:
        model.train(was)
        for config in caching:
            config.use_cache = True


class Reader:
    """Walks through the operations. A value is a torch.Tensor where it is constant, else one of graph.Tensor."""

    def __init__(self, program, name):
        import torch
        self.torch, self.graph = torch, Graph(name)
        self.constants, self.values, self.stored = {}, {}, {}
        signature = program.graph_signature
        parameters = {
            **signature.inputs_to_parameters, **signature.inputs_to_buffers,
            **signature.inputs_to_lifted_tensor_constants
        }
        for placeholder, target in parameters.items():
            tensor = program.state_dict[target] if target in program.state_dict else program.constants[target]
            self.values[placeholder] = tensor.detach()
            self.stored.setdefault(tensor.untyped_storage().data_ptr(), target)
        for node in program.graph.nodes:
            if node.op == "placeholder" and node.name not in parameters:
                self.values[node.name] = self.input(node)
            elif node.op == "call_function":
                self.values[node.name] = self.compute(node)
            elif node.op == "output":
                self.finish(node)

    def input(self, node):
        value = node.meta.get("val")
        if not isinstance(value, self.torch.Tensor):
            return value
        dtype = np.dtype(np.float32) if value.dtype.is_floating_point else np.dtype(
            np.uint8) if value.dtype == self.torch.bool else np.dtype(np.uint32)
        buffer = Buffer(self.graph.unique(node.name), "input", value.numel(), dtype)
        self.graph.inputs.append(dense(buffer, value.shape))
        return self.graph.inputs[-1]

    def compute(self, node):
        args = self.torch.fx.node.map_arg((node.args, node.kwargs), lambda one: self.values[one.name])
        args, kwargs = args
        leaves = self.torch.utils._pytree.tree_leaves((args, kwargs))
        if not any(self.is_live(one) for one in leaves):
            return node.target(*args, **kwargs)
        self.node, self.line = node, line_of(node)
        kind = name_of(node.target)
        if kind in SKIPPED:
            return None
        self.graph.read += 1
        if kind not in OPS:
            raise NotServed(kind, self.line, REPLACEMENTS.get(kind, "a part of the model that runs before or after it"))
        return OPS[kind](self, *args, **kwargs)

    def finish(self, node):
        for value in self.torch.utils._pytree.tree_leaves(
                self.torch.fx.node.map_arg(node.args, lambda one: self.values[one.name])):
            if value is not None:
                self.graph.outputs.append(self.tensor(value, "output"))

    # ---------------------------------------------------------------------------------------------- for operations

    def is_live(self, value):
        from .graph import Tensor
        return isinstance(value, Tensor)

    def refuse(self, what, replacement):
        raise NotServed(f"{name_of(self.node.target)} {what}".strip(), self.line, replacement)

    def name(self, kind):
        """A tensor's name: of the module that computes it, and what it is if the module computes more than that."""
        stack = list(self.node.meta.get("nn_module_stack", {}).values())
        path, module = (stack[-1][0], str(stack[-1][1])) if stack else ("", "")
        path = path.replace("L['self'].", "").replace("L['self']", "")
        leaf = re.search(r"torch\.nn\.modules\.(linear|normalization|activation|sparse|conv)\.", module)
        return path if leaf and path and "Multihead" not in module else f"{path}.{kind}" if path else kind

    def tensor(self, value, name=None):
        """The value as a tensor of the graph. Equal parts of parameters become one constant."""
        if self.is_live(value):
            return value
        value = self.torch.as_tensor(value)
        shape = value.shape
        if value.numel():
            value = value[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in value.stride())]
        key = value.data_ptr(), value.dtype, tuple(value.shape), value.stride()
        if key not in self.constants:
            stored = self.stored.get(value.untyped_storage().data_ptr())
            rest = value.storage_offset() if stored else 0
            title = stored + (f".from_{rest // max(1, value.stride(0) if value.dim() else 1)}"
                              if rest else "") if stored else f"{self.name(name or 'constant')}.{name or 'constant'}"
            array = value.contiguous().cpu().numpy()
            array = array.astype(np.uint8 if array.dtype == bool else np.float32 if array.dtype.kind ==
                                 "f" else np.uint32)
            self.constants[key] = self.graph.constant(title, array), value  # the value keeps its address
        return self.constants[key][0].expand(shape)

    def copied(self, tensor):
        return self.graph.copied(tensor, self.line)


def name_of(target):
    """aten.linear for the operation torch.ops.aten.linear.default."""
    if target is operator.getitem:
        return "getitem"
    return ".".join(str(target).split(".")[:2])


def line_of(node):
    """Where in the model's source an operation comes from: file:line: text."""
    found = re.findall(r'File "([^"]+)", line (\d+), in .*\n\s*(.*)', node.meta.get("stack_trace") or "")
    if not found:
        return ""
    own = [one for one in found if f"{os.sep}torch{os.sep}" not in one[0]]
    file, number, text = (own or found)[-1]
    return f"{os.path.basename(file)}:{number}: {text.strip()}"

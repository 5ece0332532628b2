# SPDX-License-Identifier: Apache-2.0
"""Reads a torch.nn.Module: torch.export gives its operations. What depends on no input is computed here."""
import contextlib
import inspect
import io
import logging
import operator
import os
import re
import traceback

import numpy as np

from .graph import Answers, Buffer, Graph, NotServed, dense
from . import loops, torch_windows  # noqa: F401: its operations
from .torch_masks import FROM_BYTES, OF_HIDING, VIEWS
from .torch_ops import REPLACEMENTS, SKIPPED
from .torch_shapes import OPS

NARROW = {"getitem", *(f"aten.{name}" for name in VIEWS)}  # of int8, uint8, int16 and uint16: sums and products of these wrap around


def read(model, example_inputs, name):
    """The graph of a module, what the module answers to the example inputs, and a function that names all its values."""
    import torch
    checked(model, example_inputs)
    with torch.no_grad(), quiet(model):
        program, answers = traced(model, tuple(example_inputs))
        reader = Reader(program, name)
        return reader.graph, Answers(answers, f"PyTorch {torch.__version__}", lambda: reader.all_values(program, example_inputs))


def checked(model, example_inputs):
    """The module is one, of float32."""
    import torch
    if not isinstance(model, torch.nn.Module):
        raise ValueError(f"the model is of the type {type(model).__name__}: a torch.nn.Module is required")
    for title, one in [*model.named_parameters(), *(("an input", one) for one in example_inputs)]:
        if one.dtype in (torch.float16, torch.bfloat16, torch.float64):
            raise NotServed(f"{title} of {one.dtype}", "", "a model of float32: module.float()")


def traced(model, inputs):
    """The operations that the module makes of these inputs, and its answers."""
    import torch
    from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
    was = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # of eager mode alone: it takes a mask of float32 for booleans
    try:
        answers = [one for one in torch.utils._pytree.tree_leaves(model(*inputs)) if isinstance(one, torch.Tensor)]
        with silent():
            program = torch.export.export(model, inputs, strict=False).run_decompositions({})
        program.graph_module.graph.eliminate_dead_code()
    except GuardOnDataDependentSymNode as error:
        names = [one.name for one in traceback.extract_tb(error.__traceback__)]
        instead = "is_causal=True or False next to the mask" if "_detect_is_causal_mask" in names else "the same operations for all values"
        raise NotServed("a branch or a shape that depends on values", own_line(error), instead) from None
    except Exception as error:  # of the module's own code, or of PyTorch
        shapes = ", ".join(f"{'x'.join(map(str, one.shape))} {str(one.dtype)[6:]}" for one in inputs)
        at = own_line(error)
        raise ValueError(f"the model does not take inputs of {shapes or 'no number'}: "
                         f"{str(error).strip() or type(error).__name__}" + (f", at {at}" if at else "")) from error
    finally:
        torch.backends.mha.set_fastpath_enabled(was)
    return program, answers


@contextlib.contextmanager
def silent():
    """Without what PyTorch logs and prints of an error, which is raised anyhow."""
    was = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        logging.disable(was)


def own_line(error):
    """Where in the user's files an error comes from: file:line: text."""
    frames = [one for one in traceback.extract_tb(error.__traceback__)
              if is_own(one.filename) and not one.filename.startswith(os.path.dirname(__file__))]
    return f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}: {frames[-1].line}" if frames else ""


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
        for name, target in [*signature.buffers_to_mutate.items(), *signature.user_inputs_to_mutate.items()]:
            line = next(line_of(node) for node in program.graph.nodes if node.name == name)
            raise NotServed(f"a change of {target}, a tensor that outlives the call,", line, "an input and an output for it")
        parameters = {**signature.inputs_to_parameters, **signature.inputs_to_buffers, **signature.inputs_to_lifted_tensor_constants}
        for placeholder, target in parameters.items():
            tensor = program.state_dict[target] if target in program.state_dict else program.constants[target]
            self.values[placeholder] = tensor.detach()
            self.stored.setdefault(tensor.untyped_storage().data_ptr(), target)
        for node in program.graph.nodes:
            if node.op == "placeholder" and node.name not in parameters:
                self.values[node.name] = self.input(node)
            elif node.op == "call_function":
                self.values[node.name] = self.compute(node)
                if self.is_live(self.values[node.name]):
                    self.graph.values[node.name] = self.values[node.name]
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
        self.node, self.line, kind = node, line_of(node), name_of(node.target)
        if not any(self.is_live(one) for one in leaves):
            if kind not in OPS and self.torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
                self.refuse("", "random numbers as an input")
            return node.target(*args, **kwargs)
        if kind in SKIPPED:
            return None
        if str(getattr(node.meta.get("val"), "dtype", ""))[6:] in ("int8", "uint8", "int16", "uint16") and kind not in NARROW:
            self.refuse(f"of {node.meta['val'].dtype}", "whole numbers of int32 or int64")
        self.graph.read += 1
        if kind not in OPS:
            raise NotServed(kind, self.line, REPLACEMENTS.get(kind, "a part of the model that runs before or after it"))
        args, kwargs = self.torch.utils._pytree.tree_map(lambda one: loops.unhidden(self, kind, one, OF_HIDING), (args, kwargs))
        leaves = self.torch.utils._pytree.tree_leaves((args, kwargs))
        if kind not in FROM_BYTES and any(self.is_live(one) and one.buffer.dtype != np.float32 for one in leaves):
            self.refuse("of booleans or whole numbers", "a model of float32, but for token numbers and masks")
        try:
            inspect.signature(OPS[kind]).bind(self, *args, **kwargs)
        except TypeError as error:
            self.refuse(f"with these arguments ({error})", "the operation without them")
        return OPS[kind](self, *args, **kwargs)

    def finish(self, node):
        for value in self.torch.utils._pytree.tree_leaves(self.torch.fx.node.map_arg(node.args, lambda one: self.values[one.name])):
            if value is not None:
                self.graph.outputs.append(self.tensor(value, "output"))
                if self.graph.outputs[-1].buffer.dtype != np.float32:
                    raise NotServed("an output of booleans or whole numbers", "", "outputs of float32")

    def all_values(self, program, inputs):
        """name -> what PyTorch computes for each operation of the module."""
        found, given = {}, iter(inputs)

        class Interpreter(self.torch.fx.Interpreter):

            def run_node(self, node):
                found[node.name] = super().run_node(node)
                return found[node.name]

        with self.torch.no_grad():
            Interpreter(program.graph_module).run(*(next(given) if self.is_live(self.values[node.name]) else self.values[node.name]
                                                    for node in program.graph.nodes if node.op == "placeholder"))
        return found

    def is_live(self, value):
        from .graph import Tensor
        return isinstance(value, Tensor)

    def refuse(self, what, replacement):
        raise NotServed(f"{name_of(self.node.target)} {what}".strip(), self.line, replacement)

    def users(self, one):
        """The operations that read the result of one, or an input's buffer."""
        if isinstance(one, Buffer):
            one = next(node for node in self.node.graph.nodes if node.op == "placeholder" and
                       self.is_live(self.values[node.name]) and self.values[node.name].buffer is one)
        return [user for user in one.users if name_of(user.target) not in SKIPPED]

    def kind_of(self, node):
        value, kind = node.meta.get("val"), name_of(node.target).rsplit(".", 1)[-1].strip("_")
        whole = isinstance(value, self.torch.Tensor) and not value.is_floating_point() and kind != "isnan"
        return "whole" if whole else kind

    def name(self, kind):
        """A tensor's name: of the module that computes it, and what it is if the module computes more than that."""
        stack = list(self.node.meta.get("nn_module_stack", {}).values())
        path, module = (stack[-1][0], str(stack[-1][1])) if stack else ("", "")
        path = path.replace("L['self'].", "").replace("L['self']", "")
        leaf = re.search(r"torch\.nn\.modules\.(linear|normalization|activation|sparse|conv)\.", module)
        return path if leaf and path and "Multihead" not in module else f"{path}.{kind}" if path else kind

    def floats(self, value):
        return self.torch.as_tensor(value, dtype=self.torch.float32)

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
            array = array.astype(np.uint8 if array.dtype == bool else np.float32 if array.dtype.kind == "f" else np.uint32)
            self.constants[key] = self.graph.constant(title, array), value  # the value keeps its address
        return self.constants[key][0].expand(shape)

    def copied(self, tensor):
        return self.graph.copied(tensor, self.line)


def name_of(target):
    """aten.linear for the operation torch.ops.aten.linear.default."""
    if target is operator.getitem:
        return "getitem"
    return ".".join(str(target).split(".")[:2])


def is_own(file):
    """Whether a file is none of PyTorch's."""
    import torch
    return not file.startswith(os.path.dirname(torch.__file__) + os.sep)


def line_of(node):
    """Where in the model's source an operation comes from: file:line: text, or the module where all of it is PyTorch's."""
    found = re.findall(r'File "([^"]+)", line (\d+), in .*\n\s*(.*)', node.meta.get("stack_trace") or "")
    own = [one for one in found if is_own(one[0])]
    if not own:
        path, module = [("", ""), *node.meta.get("nn_module_stack", {}).values()][-1]
        path = re.sub(r"L\['self'\]\.?", "", path)
        return f"the module {path or 'itself'}, {str(module).rsplit('.', 1)[-1]}" if module else ""
    file, number, text = own[-1]
    return f"{os.path.basename(file)}:{number}: {text.strip()}"

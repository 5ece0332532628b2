# SPDX-License-Identifier: Apache-2.0
"""Writes the calls as C: model.h, model.c, and the structure of constants."""
import textwrap

import numpy as np

from .calls import DIRECT, Literal, Pointed
from .graph import Tensor

WIDTH = 116
TYPES = {"float32": "float", "uint32": "uint32_t", "uint8": "uint8_t", "int8": "int8_t", "uint16": "uint16_t",
         "int16": "int16_t", "int32": "int32_t", "int64": "int64_t", "uint64": "uint64_t"}
LICENSE = "/* Written by `python -m fovea.export`: change the model and write it anew. */\n"


def ctype(buffer):
    return TYPES[buffer.dtype.name]


def shape_text(shape):
    return "".join(f"[{size}]" for size in shape) or "[1]"


class Code:
    """The C of one model. exported: an Exported, of export.py's pipeline."""

    def __init__(self, exported):
        self.of, self.name = exported, exported.graph.name
        self.upper = self.name.upper()

    # -------------------------------------------------------------------------------------------------- expressions

    def pointer(self, tensor):
        buffer = tensor.buffer
        name = f"w->{buffer.name}" if buffer.kind == "constant" else buffer.name
        return f"{name} + {tensor.offset}" if tensor.offset else name

    def value(self, value):
        if isinstance(value, Tensor):
            return self.pointer(value)
        if isinstance(value, Literal):
            return f"(const {TYPES[value.data.dtype.name]}[]){{{', '.join(map(self.value, value.data))}}}"
        if isinstance(value, dict):
            return "{" + ", ".join(self.items(value)) + "}"
        if isinstance(value, (bool, np.bool_)):
            return str(int(value))
        if isinstance(value, (float, np.floating)):
            return float_text(value)
        return str(value)

    def items(self, fields):
        return [f".{key} = {self.value(value)}" for key, value in fields.items()]

    def initializer(self, kind, variable, fields):
        """const kind variable = {...}; in lines of the width."""
        lines = [f"    const {kind} {variable} = {{.struct_bytes = sizeof {variable}"]
        for item in self.items(fields):
            if len(lines[-1]) + len(item) + 3 > WIDTH:
                lines[-1] += ","
                lines += broken(item)
            else:
                lines[-1] += f", {item}"
        return "\n".join(lines) + "};\n"

    # --------------------------------------------------------------------------------------------------------- model.h

    def parameters(self):
        given = [f"const {ctype(one.buffer)}* {one.name}" for one in self.of.graph.inputs]
        return ", ".join([*given, *(f"{ctype(one.buffer)}* {one.name}" for one in self.of.graph.outputs), "void* arena"])

    def header(self):
        guard = f"{self.upper}_H_"
        arrays = "\n".join(f" *   {one.name:<{self.longest()}}  {ctype(one.buffer)}{shape_text(one.shape)}"
                           for one in [*self.of.graph.inputs, *self.of.graph.outputs])
        sizes = {}  # of a workspace -> the most tensors before one of this size
        for call in self.of.calls:
            if call.workspace:
                sizes[call.workspace] = max(sizes.get(call.workspace, 0), call.top)
        union = f"  unsigned char tensors[{max(1, self.of.arena_bytes)}]; /* {self.of.arena_bound} live at once */\n"
        union += "".join(f"  unsigned char call_{index}[{top} + {size}];\n" for index, (size, top) in
                         enumerate(sizes.items(), 1))
        return f"""{LICENSE}#ifndef {guard}
#define {guard}

#include <fovea/fovea.h>

#ifdef __cplusplus
extern "C" {{
#endif

/* The arena: tensors, which share memory; and, during a call, the tensors that live then and its workspace, which is as
 * large as the processor that this is compiled for needs. */
union {self.name}_arena {{
{union}}};
#define {self.upper}_ARENA_BYTES sizeof(union {self.name}_arena)

/* Makes the plans: once, before {self.name}_run. */
fovea_status {self.name}_init(void);

/* Computes the model. All arrays are dense.
{arrays}
 *   {'arena':<{self.longest()}}  {self.upper}_ARENA_BYTES, at a multiple of FOVEA_WORKSPACE_ALIGNMENT. It holds nothing between calls */
{wrapped(f'fovea_status {self.name}_run({self.parameters()});')}

#ifdef __cplusplus
}}
#endif

#endif
"""

    def longest(self):
        return max([5, *(len(one.name) for one in [*self.of.graph.inputs, *self.of.graph.outputs])])

    # --------------------------------------------------------------------------------------------------------- model.c

    def source(self):
        helpers = "".join(HELPERS[name] for name in HELPERS if any(call.function == name for call in self.of.calls))
        plans = "".join(f"static {plan_type(plan)} {plan.name};\n" for plan in self.of.plans)
        constants = any(one.buffer.kind == "constant" for call in self.of.calls for one in call.reads)
        begin = (f"  const struct {self.name}_weights* const w = &{self.name}_weights;\n" if constants else "")
        begin += "  unsigned char* const bytes = arena;\n"
        seen, read = set(), {one.buffer for call in self.of.calls for one in call.reads}
        begin += "".join(f"  (void){one.name};\n" for one in self.of.graph.inputs if one.buffer not in read)
        body = "".join(self.call(call, seen) for call in self.of.calls)
        return f"""{LICENSE}#include "{self.name}.h"

#include <string.h>

#include "{self.name}_weights.h"

{plans}{chr(10) if plans else ''}{helpers}fovea_status {self.name}_init(void) {{
{self.init()}}}

{wrapped(f'fovea_status {self.name}_run({self.parameters()}) {{')}
{begin}  fovea_status status;

{body}  return FOVEA_OK;
}}
"""

    def init(self):
        made = ""
        for plan in self.of.plans:
            made += "  {\n" + self.initializer_desc(plan) + f"""    const fovea_status status = {plan_type(plan)}_init(&{plan.name}, &desc);
    if (status != FOVEA_OK) return status;
  }}
"""
        return made + "  return FOVEA_OK;\n"

    def initializer_desc(self, plan):
        if plan.struct == "attention":
            return self.initializer("fovea_attention_desc", "desc", plan.fields)
        inner = {"attention": {"struct_bytes": "sizeof desc.attention", **plan.fields["attention"]}}
        return self.initializer(f"fovea_{plan.struct}_desc", "desc", {**plan.fields, **inner})

    def call(self, call, seen):
        """A block: what is computed, then the arguments, then the call."""
        text = f"  /* {self.title(call)} */\n"
        for tensor in call.writes:
            if tensor.buffer.kind == "arena" and tensor.buffer not in seen:
                seen.add(tensor.buffer)
                kind = ctype(tensor.buffer)
                text += f"  {kind}* const {tensor.name} = ({kind}*)(void*)(bytes + {tensor.buffer.offset});\n"
        if call.function in HELPERS:
            return text + CALLS[call.function](self, call) + "\n"
        if call.function in DIRECT:
            given = ", ".join(self.value(call.fields[key]) for key in DIRECT[call.function])
            return text + f"  status = {call.function}({given});\n  if (status != FOVEA_OK) return status;\n\n"
        before = f"&{call.plan.name}, " if call.plan else ""
        after = f", bytes + {call.top}, {self.upper}_ARENA_BYTES - {call.top}" if call.workspace else ""
        fields = call.fields
        if call.struct == "multihead":
            fields = {**fields, "attention": {"struct_bytes": "sizeof args.attention", **fields.get("attention", {})}}
        pointed = "".join(self.initializer(f"fovea_{one.struct}", key, one.fields) for key, one in fields.items()
                          if isinstance(one, Pointed))
        fields = {key: f"&{key}" if isinstance(one, Pointed) else one for key, one in fields.items()}
        return text + "  {\n" + pointed + self.initializer(f"fovea_{call.struct}_args", "args", fields) + f"""    status = {call.function}({before}&args{after});
    if (status != FOVEA_OK) return status;
  }}

"""

    def title(self, call):
        """name [shape] = function(inputs): without the constants among them."""
        written = ", ".join(f"{one.name} {shape_text(one.shape)}" for one in call.writes)
        read = ", ".join(dict.fromkeys(one.name for one in call.reads if not one.is_constant))
        return textwrap.shorten(f"{written} = {call.what}({read})", WIDTH - 6, placeholder=" ...")


def plan_type(plan):
    return "fovea_plan" if plan.struct == "attention" else f"fovea_{plan.struct}_plan"


def float_text(value):
    """The shortest text that is this float, with the suffix of C."""
    text = str(np.float32(value))
    if text in ("inf", "-inf", "nan"):
        return {"inf": "HUGE_VALF", "-inf": "-HUGE_VALF", "nan": "NAN"}[text]
    return text + ("f" if "." in text or "e" in text else ".0f")


def broken(item):
    """An item in lines of the width, which end after its commas."""
    lines = ["        "]
    for part in item.split(", "):
        if len(lines[-1]) + len(part) + 2 > WIDTH:
            lines[-1] = lines[-1].rstrip()
            lines.append("            ")
        lines[-1] += f"{part}, "
    return [*lines[:-1], lines[-1][:-2]]


def wrapped(text):
    return "\n".join(textwrap.wrap(text, WIDTH, subsequent_indent=" " * (text.index("(") + 1),
                                   break_long_words=False))


def copy_call(code, call):
    loops = call.fields["loops"]
    kind = ctype(call.fields["y"].buffer)
    count = len(loops)
    loops = loops or [(1, (1, 1))]
    count = len(loops)
    sizes = ", ".join(str(size) for size, _ in loops)
    strides = [", ".join(str(strides[index]) for _, strides in loops) for index in (0, 1)]
    item = f"sizeof({kind})"
    return wrapped(f"  copy({code.pointer(call.fields['y'])}, {code.pointer(call.fields['x'])}, {item}, {count}, "
                   f"(const size_t[]){{{sizes}}}, (const ptrdiff_t[]){{{strides[0]}}}, "
                   f"(const ptrdiff_t[]){{{strides[1]}}});") + "\n"


CALLS = {"copy": copy_call}
HELPERS = {
    "copy": """/* Copies an array from one layout to another. size, y_stride, x_stride: of each dimension, the outermost first, in
 * elements. */
static void copy(void* y, const void* x, size_t element_bytes, int dims, const size_t* size, const ptrdiff_t* y_stride,
                 const ptrdiff_t* x_stride) {
  const ptrdiff_t y_step = y_stride[0] * (ptrdiff_t)element_bytes, x_step = x_stride[0] * (ptrdiff_t)element_bytes;
  unsigned char* to = y;
  const unsigned char* from = x;
  if (dims == 1 && y_stride[0] == 1 && x_stride[0] == 1) {
    memcpy(to, from, size[0] * element_bytes);
    return;
  }
  for (size_t i = 0; i < size[0]; ++i, to += y_step, from += x_step) {
    if (dims > 1) {
      copy(to, from, element_bytes, dims - 1, size + 1, y_stride + 1, x_stride + 1);
    } else {
      memcpy(to, from, element_bytes);
    }
  }
}

""",
}

# SPDX-License-Identifier: Apache-2.0
"""Writes the calls as C: model.h, model.c, and the structure of constants."""
import textwrap

import numpy as np

from . import loops
from .calls import DIRECT, Literal, Pointed
from .graph import Moving, Tensor

WIDTH = 116
TYPES = {
    "float32": "float", "uint32": "uint32_t", "uint8": "uint8_t", "int8": "int8_t", "uint16": "uint16_t", "int16": "int16_t",
    "int32": "int32_t", "int64": "int64_t", "uint64": "uint64_t"}
LICENSE = "/* Written by `python -m fovea.export`: change the model and write it anew. */\n"


def ctype(buffer):
    return TYPES[buffer.dtype.name]


def shape_text(shape):
    return "".join(f"[{size}]" for size in shape) or "[1]"


def length_text(graph, tensor):
    mask, most, value = graph.lengths.get(tensor.name, ("", 0, 0))
    return f", each 1 to {most} (FOVEA_ERR_LENGTH): the number of first tokens for which {mask} is {value}" if most else ""


class Code:
    """The C of one model. exported: an Exported, of export.py's pipeline."""

    def __init__(self, exported):
        self.of, self.name = exported, exported.graph.name
        self.upper = self.name.upper()
        self.parts = [exported] + [exported.step] * (exported.step is not None)
        self.calls = [call for part in self.parts for call in part.calls]

    def pointer(self, tensor):
        buffer = tensor.buffer
        name = f"w->{buffer.name}" if buffer.kind == "constant" else buffer.name
        name += f" + {tensor.offset}" if tensor.offset else ""
        return f"{name} + position * {tensor.step}" if isinstance(tensor, Moving) else name

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

    def parameters(self, graph):
        given = [f"const {ctype(one.buffer)}* {one.name}" for one in graph.inputs]
        return ", ".join([*given, *(f"{ctype(one.buffer)}* {one.name}" for one in graph.outputs), "void* arena"])

    def arrays(self, graph):
        """The lines of a comment that name the parameters."""
        arrays = [*graph.inputs, *graph.outputs]
        wide = max([5, *(len(one.name) for one in arrays)])
        lines = [f" *   {one.name:<{wide}}  {ctype(one.buffer)}{shape_text(one.shape)}{length_text(graph, one)}" for one in arrays]
        return "\n".join([*lines, f" *   {'arena':<{wide}}  {self.upper}_ARENA_BYTES, at a multiple of "
                          "FOVEA_WORKSPACE_ALIGNMENT. It holds nothing between calls */"])

    def header(self):
        guard = f"{self.upper}_H_"
        sizes = {}  # of a workspace -> the most tensors before one of this size
        for call in self.calls:
            if call.workspace:
                sizes[call.workspace] = max(sizes.get(call.workspace, 0), call.top)
        tensors = max(1, *(part.arena_bytes for part in self.parts), 0)
        bound = max(part.arena_bound for part in self.parts)
        union = f"  unsigned char tensors[{tensors}]; /* {bound} live at once */\n"
        union += "".join(f"  unsigned char call_{index}[{top} + {size}];\n" for index, (size, top) in enumerate(sizes.items(), 1))
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
{self.arrays(self.of.graph)}
{wrapped(f'fovea_status {self.name}_run({self.parameters(self.of.graph)});')}

{self.step_header() if self.of.step else ''}#ifdef __cplusplus
}}
#endif

#endif
"""

    def step_header(self):
        step, fields = self.of.step, self.of.step.caches[0]
        size = (f"FOVEA_KV_CACHE_BYTES(FOVEA_F32, FOVEA_F32, 1, {fields['kv_heads']}, {fields['max_tokens']}, "
                f"{fields['head_dim']}, {fields['value_dim']})")
        return f"""#define {self.upper}_STEP_TOKENS {fields['max_tokens']} /* the most tokens of a sequence */
#define {self.upper}_CACHE_BYTES \\
  (({size} + 63u) / 64u * 64u)
#define {self.upper}_CACHES_BYTES ({len(step.caches)} * {self.upper}_CACHE_BYTES)

/* Begins a sequence. memory: {self.upper}_CACHES_BYTES, at a multiple of 64, for the keys and values of its tokens. */
fovea_status {self.name}_step_init(void* memory);

/* Computes the model for the next token of the sequence, which sees those before it. FOVEA_ERR_FULL after
 * {self.upper}_STEP_TOKENS tokens.
{self.arrays(step.graph)}
{wrapped(f'fovea_status {self.name}_step({self.parameters(step.graph)});')}

"""

    def source(self):
        used = {call.function + call.fields.get("suffix", "") for call in self.calls if call.helper}
        helpers = "".join(text for name, text in HELPERS.items() if name in used)
        for call in {call.function: call for call in self.calls if call.helper == "loop"}.values():
            parameters, body = loops.text(call, ctype)
            helpers += wrapped(f"static void {call.function}({parameters}) {{") + f"\n{body}}}\n\n"
        plans = "".join(f"static {plan_type(plan)} {plan.name};\n" for part in self.parts for plan in part.plans)
        plans += f"static fovea_kv_cache caches[{len(self.of.step.caches)}];\n" if self.of.step else ""
        return f"""{LICENSE}#include "{self.name}.h"

{"".join(f"#include <{one}.h>{chr(10)}" for one in self.headers())}

#include "{self.name}_weights.h"

{plans}{chr(10) if plans else ''}{helpers}fovea_status {self.name}_init(void) {{
{self.init()}}}

{wrapped(f'fovea_status {self.name}_run({self.parameters(self.of.graph)}) {{')}
{self.body(self.of)}}}
{self.step_source() if self.of.step else ''}"""

    def headers(self):
        """Of C's library, for the helpers and loops."""
        used = {call.helper for call in self.calls}
        needs = [("float", "check" in used), ("math", "loop" in used), ("string", "copy" in used)]
        return [name for name, needed in needs if needed]

    def body(self, part, before=""):
        """The statements of a function that makes the calls."""
        read = {one.buffer for call in part.calls for one in call.reads}
        constants = any(one.kind == "constant" for one in read)
        begin = f"  const struct {self.name}_weights* const w = &{self.name}_weights;\n" if constants else ""
        uses_arena = part.arena_bytes or any(call.workspace for call in part.calls)
        begin += "  unsigned char* const bytes = arena;\n" if uses_arena else "  (void)arena;\n"
        begin += "".join(f"  (void){one.name};\n" for one in part.graph.inputs if one.buffer not in read)
        seen = set()
        calls = "".join(self.call(call, seen) for call in part.calls)
        status = "  fovea_status status;\n" if any(not call.helper for call in part.calls) else ""
        return f"{begin}{status}{before}\n{calls}  return FOVEA_OK;\n"

    def step_source(self):
        step = self.of.step
        before = f"""  const int64_t position = fovea_kv_cache_arrays(&caches[0])->lengths[0];
  if (position >= {self.upper}_STEP_TOKENS) return FOVEA_ERR_FULL;
"""
        desc = self.initializer("fovea_kv_cache_desc", "desc", step.caches[0]).replace("\n  ", "\n")[2:]
        return f"""
fovea_status {self.name}_step_init(void* memory) {{
{desc}  for (size_t layer = 0; layer < {len(step.caches)}; ++layer) {{
    unsigned char* const at = (unsigned char*)memory + layer * {self.upper}_CACHE_BYTES;
    const fovea_status status = fovea_kv_cache_init(&caches[layer], &desc, at, {self.upper}_CACHE_BYTES);
    if (status != FOVEA_OK) return status;
  }}
  return FOVEA_OK;
}}

{wrapped(f'fovea_status {self.name}_step({self.parameters(step.graph)}) {{')}
{self.body(step, before)}}}
"""

    def init(self):
        made = ""
        for plan in (plan for part in self.parts for plan in part.plans):
            made += "  {\n" + self.initializer_desc(
                plan) + f"""    const fovea_status status = {plan_type(plan)}_init(&{plan.name}, &desc);
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
        if call.helper:
            return text + CALLS[call.helper](self, call) + "\n"
        if call.function in DIRECT:
            given = ", ".join(self.value(call.fields[key]) for key in DIRECT[call.function])
            return text + f"  status = {call.function}({given});\n  if (status != FOVEA_OK) return status;\n\n"
        before = f"&{call.plan.name}, " if call.plan else ""
        attach = call.function == "fovea_attention" and call.cache
        before += f"{call.cache}, " if call.cache and not attach else ""
        after = f", bytes + {call.top}, {self.upper}_ARENA_BYTES - {call.top}" if call.workspace else ""
        fields = call.fields
        if call.struct == "multihead":
            fields = {**fields, "attention": {"struct_bytes": "sizeof args.attention", **fields.get("attention", {})}}
        pointed = "".join(
            self.initializer(f"fovea_{one.struct}", key, one.fields) for key, one in fields.items()
            if isinstance(one, Pointed))
        fields = {key: f"&{key}" if isinstance(one, Pointed) else one for key, one in fields.items()}
        made = self.initializer(f"fovea_{call.struct}_args", "args", fields)
        if attach:  # to the keys and values that the cache has now
            made = made.replace("    const ", "    ", 1) + (f"    status = fovea_kv_attach({call.cache}, &args);\n"
                                                            "    if (status != FOVEA_OK) return status;\n")
        return text + "  {\n" + pointed + made + f"""    status = {call.function}({before}&args{after});
    if (status != FOVEA_OK) return status;
  }}

"""

    def title(self, call):
        """name [shape] = function(inputs): without the constants among them."""
        written = ", ".join(f"{one.name} {shape_text(one.shape)}" for one in call.writes)
        read = ", ".join(dict.fromkeys(one.name for one in call.reads if not one.is_constant))
        text = f"{written} = {call.what}({read})" if written else f"{call.what}({read})"
        return textwrap.shorten(text, WIDTH - 6, placeholder=" ...")


def plan_type(plan):
    return f"fovea_{plan.struct}_plan"


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
    return "\n".join(textwrap.wrap(text, WIDTH, subsequent_indent=" " * (text.index("(") + 1), break_long_words=False))


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
                   f"(const size_t[]){{{sizes}}}, (const ptrdiff_t[]){{{strides[0]}}}, (const ptrdiff_t[]){{{strides[1]}}});") + "\n"


def invert_call(code, call):
    y, x = (code.pointer(call.fields[key]) for key in "yx")
    return f"  invert({y}, {x}, {call.fields['y'].count});\n"


def loop_call(code, call):
    walked = call.fields["loops"] or [(1, (1,) * (len(call.reads) + 1))]
    tensors = [call.fields[role] for role in "y" + loops.ROLES if role in call.fields]
    arrays = [("size_t", [size for size, _ in walked])]
    arrays += [("ptrdiff_t", [steps[index] for _, steps in walked]) for index in range(len(tensors))]
    given = [*map(code.pointer, tensors), str(len(walked)),
             *(f"(const {kind}[]){{{', '.join(map(str, one))}}}" for kind, one in arrays)]
    return wrapped(f"  {call.function}({', '.join(given)});") + "\n"


def check_call(code, call):
    if "lengths" in call.fields:
        x, most = call.fields["lengths"], call.fields["most"]
        return (f"  for (size_t i = 0; i < {x.count}; ++i) {{\n"
                f"    if ({x.name}[i] < 1 || {x.name}[i] > {most}) return FOVEA_ERR_LENGTH;\n  }}\n")
    mask, strides = call.fields["mask"], call.fields["strides"]
    counts = ", ".join(map(str, mask.shape))
    return wrapped(
        f"  if (!check{call.fields['suffix']}({code.pointer(mask)}, (const size_t[]){{{counts}}}, "
        f"(const ptrdiff_t[]){{{', '.join(map(str, strides))}}}, {int(call.fields['causal'])})) return FOVEA_ERR_MASK;") + "\n"


def check_helper(kind, word, shows):
    return f"""/* Whether each query sees a key. counts: [batch][heads][queries][keys]; strides: of the first three. */
static int check_{word}(const {kind}* mask, const size_t* counts, const ptrdiff_t* strides, int causal) {{
  for (size_t row = 0; row < counts[0] * counts[1] * counts[2]; ++row) {{
    const size_t query = row % counts[2], head = row / counts[2] % counts[1], entry = row / counts[2] / counts[1];
    const {kind}* const keys = mask + (ptrdiff_t)entry * strides[0] + (ptrdiff_t)head * strides[1] + (ptrdiff_t)query * strides[2];
    size_t key = 0;
    while (key < counts[3] && !({shows}) && !(causal && key >= query)) ++key;
    if (key == counts[3] || !({shows})) return 0;
  }}
  return 1;
}}

"""


CALLS = {"copy": copy_call, "invert": invert_call, "check": check_call, "loop": loop_call}
HELPERS = {
    "copy":
    """/* Copies an array from one layout to another. size, y_stride, x_stride: of each dimension, the outermost first,
 * in elements. */
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
    "invert":
    """/* The mask that shows the keys which another hides. */
static void invert(uint8_t* y, const uint8_t* x, size_t count) {
  for (size_t i = 0; i < count; ++i) y[i] = x[i] == 0;
}

""",
    "check_bytes": check_helper("uint8_t", "bytes", "keys[key] != 0"),
    "check_floats": check_helper("float", "floats", "keys[key] > -0.5f * FLT_MAX"),
}

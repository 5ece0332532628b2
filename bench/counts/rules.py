# SPDX-License-Identifier: Apache-2.0
"""Cycles of an inner loop by published rules, for processors whose model in llvm-mca differs from measurements.

    A53, A55  measured by ncnn's authors: docs/developer-guide/arm-a53-a55-dual-issue.md in github.com/Tencent/ncnn;
              XNNPACK's and QNNPACK's kernels for these processors follow the same rules. In llvm-mca, loads of an A53
              wait for most of the pipeline of a multiply-add, and an A55 does two multiply-adds of 128 bits a cycle.
    M4        the tables of Arm's manual (Cortex-M4 TRM, DDI 0439; also TI's SWCU192, table 3-27). llvm-mca has one
              cycle for VFMA.
    M7        measured on an STM32H743: "pipeline cycle test" in github.com/jnk0le/random, doc/cortex_m7.md.

All loads hit the first cache, and no instruction waits for the result of another: the result is a lower bound.
"""
import re

# The kinds of instructions that the rules distinguish. The first expression that matches names the kind.
KINDS = [
    ("multiply_add", r"(fmla|vfma|vfmat|fmadd)\b"),
    ("branch", r"(b|b\.?(eq|ne|hs|lo|mi|pl|hi|ls|ge|lt|gt|le)|cbn?z|tbn?z)(\.[wn])?\s"),
    ("insert", r"(ins|mov)\s+v\d+\.d\[\d\],\s*x\d+|fmov\s+d\d+,\s*x\d+"),
    ("load_multiple", r"vldm|vldr\s+d"),
    ("load_vectors", r"(ldr|ldur)\s+q|ldp\s+q|ld1r?\s+\{.*\.(4s|2d|16b|8h)"),
    ("load_half", r"(ldr|ldur)\s+[ds]\d|ld1\s+\{.*\}\[\d\]"),
    ("load_float", r"vldr\s"),
    ("vector", r"\S+\s+(v\d|[sdq]\d)"),
    ("load", r"ldr|ldp|ldur"),
    ("other", r""),
]


def kind(text):
    return next(name for name, pattern in KINDS if re.match(pattern, text))


def registers(text):
    """How many registers an instruction loads; on 32-bit Arm, words of 32 bits."""
    braces = re.search(r"\{(.*?)\}", text)
    if not braces:
        return 2 if re.match(r"ldp|vldr\s+d", text) else 1
    count = 0
    for name in braces[1].split(","):
        first, _, last = name.strip().partition("-")
        count += (int(re.sub(r"\D", "", last)) - int(re.sub(r"\D", "", first)) + 1 if last else 1) * (2 if first.startswith("d") else 1)
    return count


class Loop:
    """The number of instructions of each kind in a loop."""

    def __init__(self, body):
        self.kinds = [kind(text) for text in body]
        self.body = body

    def count(self, *names):
        return sum(self.kinds.count(name) for name in names)

    def registers(self, name):
        return sum(registers(text) for text, one in zip(self.body, self.kinds) if one == name)


# A load of 128 bits, by any instruction, takes 2 cycles and is not paired; one of 64 bits takes a cycle and is paired
# with an insert. Loads of general registers, sums of addresses and branches are paired with arithmetic.
def cortex_a53(loop):
    arithmetic, halves = loop.count("multiply_add", "vector"), loop.count("load_half")
    beside = loop.count("load", "other", "branch")
    return (arithmetic + 2 * loop.registers("load_vectors") + max(halves, loop.count("insert")) + max(0, beside - arithmetic))


# Here a load of 64 bits and an insert are paired with arithmetic, too.
def cortex_a55(loop):
    arithmetic = loop.count("multiply_add", "vector")
    beside = loop.count("load_half", "insert", "load", "other", "branch")
    return 2 * loop.registers("load_vectors") + max(arithmetic, (arithmetic + beside) / 2)


TAKEN_BRANCH = 3  # 1 and a refill, which is 1 to 3 by the manual


def cortex_m4(loop):
    return (3 * loop.count("multiply_add") + loop.registers("load_multiple") + loop.count("load_multiple") +
            2 * loop.count("load_float", "load") + loop.count("vector", "other") + TAKEN_BRANCH * loop.count("branch"))


# A multiply-add each cycle. Loads of several words take a cycle for two words, and none can begin in the 3 cycles after
# a multiply-add; loads of one word take a cycle each. Integer instructions are paired with multiply-adds.
def cortex_m7(loop):
    words = sum((registers(text) + 1) // 2 for text, one in zip(loop.body, loop.kinds) if one == "load_multiple")
    floats = [one for one in loop.kinds if one not in ("other", "branch", "load")]
    groups = [pair for pair in zip(floats[-1:] + floats, floats) if pair == ("multiply_add", "load_multiple")]
    arithmetic = loop.count("multiply_add", "vector", "load_float")
    return words + 3 * len(groups) + arithmetic + max(0, (loop.count("load", "other", "branch") - arithmetic) / 2)


PROCESSORS = {"cortex-a53": cortex_a53, "cortex-a55": cortex_a55, "cortex-m4": cortex_m4, "cortex-m7": cortex_m7}


def cycles(processor, body):
    """Cycles for each round of a loop, a list of instructions."""
    return PROCESSORS[processor](Loop(body))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes unicode_classes.inl, the classes of all characters, from Python's copy of the Unicode Character Database.

    make_unicode_classes.py > unicode_classes.inl    # with Python 3.11, which has Unicode 14
    make_unicode_classes.py --check FILE             # exit code 1: differs; 77: this Python has another version of Unicode
"""
import pathlib
import re
import sys
import unicodedata

OTHER, LETTER, NUMBER, SPACE = range(4)  # as in unicode_classes.h
BLOCK = 256
CONTROL_SPACES = "\t\n\v\f\r\x85"  # the characters of White_Space that are not separators


def class_of(code):
    category = unicodedata.category(chr(code))
    if category[0] == "Z" or chr(code) in CONTROL_SPACES:
        return SPACE
    return {"L": LETTER, "N": NUMBER}.get(category[0], OTHER)


def lines(values):
    text = ", ".join(values)
    while text:
        cut = len(text) if len(text) <= 113 else text.rindex(" ", 0, 114)
        yield "    " + text[:cut].rstrip()
        text = text[cut:].lstrip()


def table():
    """Blocks of 256 characters, two bits a character, without duplicates; and the number of the block of each 256."""
    blocks, block_of = {}, []
    for first in range(0, 0x110000, BLOCK):
        classes = [class_of(code) for code in range(first, first + BLOCK)]
        packed = tuple(sum(classes[i + j] << 2 * j for j in range(32)) for i in range(0, BLOCK, 32))
        block_of.append(blocks.setdefault(packed, len(blocks)))
    assert len(blocks) <= 256
    yield "// SPDX-License-Identifier: Apache-2.0"
    yield "//"
    yield f"// Written by make_unicode_classes.py, from the Unicode Character Database {unicodedata.unidata_version}."
    yield "// clang-format off"
    yield f"constexpr unsigned char kBlockOf[{len(block_of)}] = {{"
    yield from lines(map(str, block_of))
    yield "};"
    yield f"constexpr uint64_t kBlocks[{len(blocks)}][{BLOCK // 32}] = {{"
    for packed in blocks:
        yield "\n".join(lines(f"{word:#x}" for word in packed)).replace("    ", "   {", 1) + "},"
    yield "};"
    yield "// clang-format on"


def main():
    text = "\n".join(table()) + "\n"
    if len(sys.argv) == 1:
        sys.stdout.write(text)
        return 0
    if len(sys.argv) != 3 or sys.argv[1] != "--check":
        print(__doc__, file=sys.stderr)
        return 2
    stored = pathlib.Path(sys.argv[2]).read_text(encoding="ascii")
    version = re.search(r"Unicode Character Database ([0-9.]*[0-9])", stored)
    if not version:
        print(f"{sys.argv[2]} does not name its version of Unicode")
        return 1
    if version[1] != unicodedata.unidata_version:
        print(f"skipped: the table is of Unicode {version[1]}, this Python has {unicodedata.unidata_version}")
        return 77
    if stored != text:
        print(f"{sys.argv[2]} is not what this script writes")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

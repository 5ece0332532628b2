#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes unicode_classes.bin, the classes of all characters, from Python's copy of the Unicode Character Database.

    make_unicode_classes.py > unicode_classes.bin    # with Python 3.11, which has Unicode 14
    make_unicode_classes.py --check FILE             # exit code 1: differs; 77: this Python has another version of Unicode
"""
import pathlib
import struct
import sys
import unicodedata

UNICODE = "14.0.0"
OTHER, LETTER, NUMBER, SPACE = range(4)  # as in unicode_classes.h
BLOCK = 256
CONTROL_SPACES = "\t\n\v\f\r\x85"  # the characters of White_Space that are not separators


def class_of(code):
    category = unicodedata.category(chr(code))
    if category[0] == "Z" or chr(code) in CONTROL_SPACES:
        return SPACE
    return {"L": LETTER, "N": NUMBER}.get(category[0], OTHER)


def table():
    """For each 256 characters the number of their block; then the blocks without duplicates, two bits a character."""
    blocks, block_of = {}, []
    for first in range(0, 0x110000, BLOCK):
        classes = [class_of(code) for code in range(first, first + BLOCK)]
        packed = struct.pack("<8Q", *(sum(classes[i + j] << 2 * j for j in range(32)) for i in range(0, BLOCK, 32)))
        block_of.append(blocks.setdefault(packed, len(blocks)))
    return bytes(block_of) + b"".join(blocks)


def main():
    if len(sys.argv) != 1 and (len(sys.argv) != 3 or sys.argv[1] != "--check"):
        print(__doc__, file=sys.stderr)
        return 2
    if unicodedata.unidata_version != UNICODE:
        print(f"skipped: the table is of Unicode {UNICODE}, this Python has {unicodedata.unidata_version}", file=sys.stderr)
        return 77
    if len(sys.argv) == 1:
        sys.stdout.buffer.write(table())
        return 0
    if pathlib.Path(sys.argv[2]).read_bytes() != table():
        print(f"{sys.argv[2]} is not what this script writes")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

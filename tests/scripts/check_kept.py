#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""That programs which were compiled with 1.0 go on working: check_kept.py [--write]

lib/abi/fovea_1_0.h is fovea.h of 1.0, a declaration a line and without comments. What it declares must be declared today, with the
same values and types; structures may have more at their end, in the place of `reserved`. None that may grow has padding at its end,
which new fields would fill with what was never set. With --write the file is made anew: until 1.0.0 is out.
"""
import pathlib
import re
import subprocess
import sys

from interface import flattened

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEADER = ROOT / "lib/include/fovea/fovea.h"
KEPT = ROOT / "lib/abi/fovea_1_0.h"
HEAD = ["/* SPDX-License-Identifier: Apache-2.0 */", "/* By tests/scripts/check_kept.py: fovea.h of 1.0, to be included before it. */",
        "#define FOVEA_FOVEA_H_"]
FREE = ["FOVEA_VERSION_MINOR", "FOVEA_VERSION_PATCH", "FOVEA_VERSION_TEXT"]  # what each release has anew


def declarations():
    """A line for each directive and each declaration, without the guards of headers."""
    text = re.sub(r"^#(ifndef|define) FOVEA_\w+_H_$|^#endif /\* FOVEA_\w+_H_ \*/$", "", flattened(HEADER), flags=re.M)
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S).replace("\\\n", " ")
    lines, begun = [], ""
    for line in text.split("\n"):
        begun = f"{begun} {' '.join(line.split())}".strip()
        if begun and (begun[0] == "#" or begun.count("{") == begun.count("}") and begun[-1] in ";_"):
            lines.append(begun)
            begun = ""
    return "\n".join(lines).replace("FOVEA_DECLARATIONS_END_\nFOVEA_DECLARATIONS_BEGIN_\n", "").split("\n")


def parts(lines):
    """What a program can name -> what it must find there: a structure's fields, an enumerator's number, a macro's texts."""
    found = {}
    for line in lines:
        structure = re.match(r"typedef struct (\w+) \{ (.*); \} \w+;$", line)
        enumerators = re.match(r"(FOVEA_ENUM_.*\))(?: \{|; enum \{) (.*?),? \};", line)
        macro = re.match(r"#define (\w+)(.*)", line)
        if structure:
            found[structure[1]] = structure[2].split("; ")
        elif enumerators:
            found[enumerators[1]] = "an enumeration"
            found.update(pair.split(" = ") for pair in enumerators[2].split(", "))
        elif macro:
            found[macro[1]] = found.get(macro[1], "") + macro[2]
        elif line[0] != "#":
            found[line] = "declared"
    return found


def complaints():
    today = parts(declarations())
    for name, old in parts(KEPT.read_text().strip().split("\n")[len(HEAD):]).items():
        new = today.get(name)
        if isinstance(old, list) and new:
            old = old[:-1] if old[-1].endswith("reserved") else old
            new = new[:len(old)]
        if new != old and name not in FREE:
            yield f"1.0 has {name}: {old}; now {new}"
    for flags in [], ["-m32", "-malign-double", "-ffreestanding"]:  # as 32-bit Arm lays structures out, where cc can
        padded = subprocess.run(["cc", *flags, "-x", "c", "-fsyntax-only", "-Wpadded", HEADER.name, f"-I{HEADER.parent.parent}"],
                                cwd=HEADER.parent, stderr=subprocess.PIPE, universal_newlines=True, check=not flags).stderr
        for name in re.findall(r"padding (?:struct )?size.*\n.*\} (\w+);", padded):
            if "uint32_t struct_bytes" in today[name]:
                yield f"{name} has padding at its end"


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        KEPT.write_text("\n".join(HEAD + declarations()) + "\n")
    found = list(complaints())
    print("\n".join(found) or "all that 1.0 declares is kept")
    sys.exit(bool(found))

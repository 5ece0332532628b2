#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Renames in C and C++ sources what has another name in fovea 1.0: rename_1_0.py [--dry-run] FILE|FOLDER...

The table of CHANGELOG.md, "Names in 1.0", says what: a name without "of" is replaced wherever it stands as a word, also in comments and
as a variable of your own. A field that only some structures have under this name is replaced in designators, and after variables and
members whose type is written in the same file. It prints each file that changes, and places that only a reader can decide.
"""
import pathlib
import re
import sys

TABLE = pathlib.Path(__file__).resolve().parent.parent / "CHANGELOG.md"
SOURCES = (".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".ino")


def table(text):
    """(old, new) of names, and (structure, field, new) of fields."""
    names, fields = [], []
    part = text.split("### Names in 1.0", 1)[1].split("\n## ", 1)[0].split("\n### ", 1)[0]
    for line in part.splitlines():
        cells = [re.findall(r"`([\w:]+)`", cell) for cell in line.split("|")[1:-1]]
        if len(cells) != 3 or not cells[0]:
            continue
        if len(cells[0]) != len(cells[1]):
            raise SystemExit(f"{TABLE}: as many new names as old ones: {line}")
        for old, new in zip(cells[0], cells[1]):
            names += [(old, new)] if not cells[2] else []
            fields += [(structure, old, new) for structure in cells[2]]
    return names, fields


def closing(text, at):
    """The place after the brace that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return i + 1
    return len(text)


def in_initialiser(text, start, end, renamed):
    """The designators of an initialiser, but not those of initialisers in it."""
    out, depth, at = [], 0, start
    for m in re.finditer(r"[{}]|(?<![\w\])])\.(\w+)(?=\s*[=.\[{])", text[start:end]):
        depth += {"{": 1, "}": -1}.get(m[0], 0)
        if m[1] in renamed and depth == 1:
            out += [text[at:start + m.start(1)], renamed[m[1]]]
            at = start + m.end(1)
    return "".join(out) + text[at:end]


def rename_fields(text, fields, unsure):
    for structure in {structure for structure, _, _ in fields}:
        renamed = {old: new for of, old, new in fields if of == structure}
        in_cpp = "".join(word.capitalize() for word in structure.removeprefix("fovea_").split("_"))
        kind = rf"(?:\b(?:struct\s+)?{structure}|\b(?:fovea::)?{in_cpp}|\bSized<{structure}>)\b"
        # Initialisers: kind name = {...}, (kind){...}, kind{...}, kind name[] = {{...}}.
        at, out = 0, []
        for m in re.finditer(kind + r"(?:\s*\*?\s*\)?\s*|\s+\w+\s*(?:\[[^\]]*\]\s*)?=?\s*){", text):
            if m.start() >= at:
                end = closing(text, m.end() - 1)
                out += [text[at:m.end() - 1], in_initialiser(text, m.end() - 1, end, renamed)]
                at = end
        text = "".join(out) + text[at:]
        declared = r"\bfovea_\w+(?:\s+const)?[\s*&]+(\w+)\b(?!\s*\()"
        variables = set(re.findall(kind + r"(?:\s+const)?[\s*&]+(\w+)\b(?!\s*\()", text)) - {"const"}
        others = {m[1] for m in re.finditer(declared, text) if not re.match(kind, text[m.start():])}
        for variable in variables:
            members = re.compile(rf"(\b{variable}\b(?:\[[^\]]*\])*\)?(?:\.|->))({'|'.join(renamed)})\b(?!\s*\()")
            if variable in others:
                unsure += [(structure, m[0]) for m in members.finditer(text)]
            else:
                text = members.sub(lambda m: m[1] + renamed[m[2]], text)
    return text


def rename(text, names, fields, unsure):
    new_of = dict(names)
    text = rename_fields(text, fields, unsure)
    return re.sub(rf"(?<!\w)(?:{'|'.join(sorted(map(re.escape, new_of), key=len, reverse=True))})(?!\w)", lambda m: new_of[m[0]], text)


def main(arguments):
    dry = "--dry-run" in arguments
    paths = [pathlib.Path(a) for a in arguments if a != "--dry-run"]
    if not paths:
        raise SystemExit(__doc__)
    names, fields = table(TABLE.read_text())
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if not file.is_file() or (path.is_dir() and file.suffix not in SOURCES):
                continue
            old = file.read_text()
            unsure = []
            new = rename(old, names, fields, unsure)
            if new != old:
                print(file)
                if not dry:
                    file.write_text(new)
            for structure, place in unsure:
                print(f"{file}: look at {place}, which has a new name where it is of a {structure}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

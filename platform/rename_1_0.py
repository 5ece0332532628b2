#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Renames in C and C++ sources what has another name in fovea 1.0: rename_1_0.py FILE|FOLDER...

The table of CHANGELOG.md, "Names in 1.0", says what: a name without "of" is replaced wherever it stands as a word, also in comments and
as a variable of your own. A field that only some structures have under this name is replaced in designators, and after variables and
members whose type is written in the same file. It prints each file that changes, and places that only a reader can decide.
"""
import collections
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


def in_initialiser(text, start, end, renamed, level):
    """The designators of an initialiser at this level of braces, but not those of initialisers in it."""
    out, depth, at = [], 0, start
    for m in re.finditer(r"[{}]|(?<![\w\])])\.(\w+)(?=\s*[=.\[{])", text[start:end]):
        depth += {"{": 1, "}": -1}.get(m[0], 0)
        if m[1] in renamed and depth == level:
            out += [text[at:start + m.start(1)], renamed[m[1]]]
            at = start + m.end(1)
    return "".join(out) + text[at:end]


def rename_members(text, kind, renamed, doubt):
    """Members of variables of this kind: what counts is the last declaration of the name before its use."""
    declared = collections.defaultdict(list)  # name -> the places of declarations, and whether they are of this kind
    for m in re.finditer(r"(\b(?:struct\s+)?(?:fovea_\w+|(?:fovea::)?[A-Z]\w+|Sized<fovea_\w+>))(?:\s+const)?[\s*&]+(\w+)\b(?!\s*\()", text):
        declared[m[2]].append((m.start(), re.fullmatch(kind, m[1]) is not None))

    def member(m):
        places = declared[m[2]]
        before = [of for place, of in places if place < m.start()]
        if not before and len({of for _, of in places}) > 1:  # members that are declared after their use
            doubt(m[0])
            return m[0]
        return m[1] + (renamed[m[3]] if (before or [places[0][1]])[-1] else m[3])

    if re.fullmatch(kind, "fovea_attention_args") or re.fullmatch(kind, "fovea_attention_desc"):
        declared["attention"].append((-1, True))  # of a multi-head layer: the two have no field in common
    names = "|".join(name for name, places in declared.items() if any(of for _, of in places))
    return re.sub(rf"((\b(?:{names})\b)(?:\[[^\]]*\])*\)?(?:\.|->))({'|'.join(renamed)})\b(?!\s*\()", member, text) if names else text


def rename_fields(text, fields, unsure):
    for structure in {structure for structure, _, _ in fields}:
        renamed = {old: new for of, old, new in fields if of == structure}
        in_cpp = "".join(word.capitalize() for word in structure.removeprefix("fovea_").split("_"))
        part = r"|\.attention\s*=\s*" if structure.startswith("fovea_attention_") else ""  # of a multi-head layer
        kind = rf"(?:\b(?:struct\s+)?{structure}|\b(?:fovea::)?{in_cpp}|\bSized<{structure}>)\b"
        # Initialisers: kind name = {...}, (kind){...}, kind{...}, kind name[] = {{...}}.
        at, out = 0, []
        for m in re.finditer(rf"(?:{kind}(?:\s*\*?\s*\)?\s*|\s+\w+\s*(?:\[[^\]]*\]\s*)?=?\s*){part})\{{", text):
            if m.start() >= at:
                end = closing(text, m.end() - 1)
                out += [text[at:m.end() - 1], in_initialiser(text, m.end() - 1, end, renamed, 1 + m[0].count("["))]
                at = end
        text = "".join(out) + text[at:]
        text = rename_members(text, kind, renamed, lambda place: unsure.append((structure, place)))
    return text


def rename(text, names, fields, unsure):
    new_of = dict(names)
    text = rename_fields(text, fields, unsure)
    return re.sub(rf"(?<!\w)(?:{'|'.join(sorted(map(re.escape, new_of), key=len, reverse=True))})(?!\w)", lambda m: new_of[m[0]], text)


def main(paths):
    if not paths:
        raise SystemExit(__doc__)
    names, fields = table(TABLE.read_text())
    for path in map(pathlib.Path, paths):
        for file in sorted(one for one in path.rglob("*") if one.suffix in SOURCES) if path.is_dir() else [path]:
            with open(file, newline="", encoding="utf-8", errors="surrogateescape") as source:
                old, unsure = source.read(), []
            new = rename(old, names, fields, unsure)
            if new != old:
                print(file)
                with open(file, "w", newline="", encoding="utf-8", errors="surrogateescape") as source:
                    source.write(new)
            if "fovea_kv_cache_init" in new and "fovea_kv_cache_desc" not in new:
                print(f"{file}: fovea_kv_cache_init takes a fovea_kv_cache_desc: see \"By hand\" in {TABLE.name}")
            for structure, place in unsure:
                print(f"{file}: look at {place}, which has a new name where it is of a {structure}")


if __name__ == "__main__":
    main(sys.argv[1:])

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses words that a reader must guess the meaning of: check_words.py [file or folder...]

It reads comments of C, C++, Python, CMake and shell, and the text of documents except code. Without arguments: lib, platform,
bench, tests/support, examples, toolchains, and the documents of the root and of all folders. CONTRIBUTING.md has the glossary, and
says what to write instead.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDERS = ["lib", "platform", "bench", "tests/support", "examples", "toolchains"]

# Pattern, and what to write instead.
REFUSED = [
    (r"\bso many\b", "the count's name, or `count`"),
    (r"\bthere need be\b", "what is not required"),
    (r"\bneed not be there\b", "may be absent, may point past the end"),
    (r"\bas many as there are\b", "all"),
    (r"\bthat of(?=[.,;:)])", "the noun"),
    (r"\b(?:lie|lies|lying|lay)\b", "is stored, is at, follows, are adjacent"),
    (r"\bbehind\b", "after, past, follows"),
    (r"\bbeside\b", "next to, in addition to, with, compared with"),
    (r"\bin vain\b", "without effect, wasted"),
    (r"\bby turns\b", "alternately"),
]
COMMENT = {
    ".c": r"/\*.*?\*/|//[^\n]*", ".cc": r"/\*.*?\*/|//[^\n]*", ".h": r"/\*.*?\*/|//[^\n]*", ".hpp": r"/\*.*?\*/|//[^\n]*",
    ".inl": r"/\*.*?\*/|//[^\n]*", ".ino": r"/\*.*?\*/|//[^\n]*", ".ld": r"/\*.*?\*/",
    ".py": r'"""[^"]*?"""|(?<![\'"])#[^\n]*', ".sh": r"(?:^|(?<=\s))#[^\n]*", ".cmake": r"#[^\n]*", ".txt": r"#[^\n]*",
}


def prose(path):
    """The text to check; everything else is blanked, except line breaks."""
    blank = lambda text: re.sub(r"[^\n]", " ", text)
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return re.sub(r"^```.*?^```|`[^`\n]*`|\]\([^)\n]*\)|<!--.*?-->", lambda m: blank(m[0]), text, flags=re.S | re.M)
    out, at = [], 0
    for match in re.finditer(COMMENT[path.suffix], text, flags=re.S | re.M):
        out += [blank(text[at:match.start()]), re.sub(r"`[^`\n]*`", lambda m: blank(m[0]), match[0])]
        at = match.end()
    return "".join(out) + blank(text[at:])


def files(arguments):
    if arguments:
        for argument in map(pathlib.Path, arguments):
            yield from sorted(argument.rglob("*")) if argument.is_dir() else [argument]
        return
    for folder in FOLDERS:
        yield from sorted((ROOT / folder).rglob("*"))
    yield from sorted(path for path in ROOT.rglob("*.md")
                      if path.relative_to(ROOT).parts[0] not in {"build", *FOLDERS} and not path.match("tests/support/*"))


def main():
    count = complaints = 0
    for path in files(sys.argv[1:]):
        if not path.is_file() or path.suffix not in {".md", *COMMENT} or path.name.endswith(".txt") != (path.name == "CMakeLists.txt"):
            continue
        count += 1
        for number, line in enumerate(prose(path).split("\n"), 1):
            for pattern, instead in REFUSED:
                for match in re.finditer(pattern, line, flags=re.I):
                    print(f"{path.resolve().relative_to(ROOT)}:{number}: \"{match[0]}\": {instead}")
                    complaints += 1
    print(f"{count} files, {complaints} complaints")
    return 1 if complaints or not count else 0


sys.exit(main())

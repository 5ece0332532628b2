#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what makes the tree hard to hold in one head: house.py [checkout]...

Prints a table with a column for each checkout, this one by default. Without arguments it also fails where a number is larger than
MOST: these may only fall, and who lowers a number writes it there.
"""
import collections
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent.parent
MOST = {
    "lines of lib/src": 37540,  # 402 are eight formats of weights; 650 images, keys' formats, Q2_K and FOVEA_CHECKS; 150 prefixes; 52 Zvfh; 90 CRC
    "of them in .inl": 21375,
    "lines of tests": 40618,
    "lines of all tracked text": 146887,  # 1,080 are platform/engines/ggml, 2,460 the exporter, 4,000 formats, images, prefixes and cores
    ".inl that cannot be read alone": 19,
    "files of lib/src below 30 lines": 41,
    "names defined in more than two files of lib/src": 173,
    "pairs of names that differ by a plural s": 38,
    "macros in lib/src": 175,
    "uses of MemberIf": 64,
    "uses of kPreferSize": 126,
    "const_cast in lib/src": 11,
    "#if on an instruction set outside simd and targets": 1,
    "exceptions in check_layers.py": 8,
}
ISA = r"FOVEA_(?:FOR|OFFERS|HAS_NEON|DOT|HAS_AVX)\w*|HWY_TARGET\b|__(?:ARM|SSE|AVX|riscv)\w*"


def tracked(root):
    names = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, text=True, check=True).stdout.split("\0")
    return [root / name for name in names if name and (root / name).is_file()]


def text_of(path):
    data = path.read_bytes()
    return "" if b"\0" in data else data.decode(errors="replace")


def plain(text):
    """Without comments and strings."""
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S))


def names_of(sources):
    """name of a function, type or constant at the outermost level or one below -> the files that define it."""
    files = collections.defaultdict(set)
    word = r"(?:FOVEA_\w+|static|inline|constexpr|typename|const|void|bool|\w+<[^>]*>|\w+(?:::\w+)*)"
    define = re.compile(rf"^ {{0,2}}(?:{word}[ *&]+)+(\w+)\([^;]*$"
                        r"|^ {0,2}(?:struct|class|enum|using) (\w+)|^ {0,2}(?:static )?constexpr [\w:<>]+ (k\w+)", re.M)
    for path, text in sources.items():
        for match in define.finditer(text):
            files[next(filter(None, match.groups()))].add(path)
    return files


def count(root):
    texts = {path.relative_to(root).as_posix(): text_of(path) for path in tracked(root)}
    lines = {name: text.count("\n") for name, text in texts.items()}
    sources = {name: plain(text) for name, text in texts.items() if name.startswith("lib/src/") and not name.endswith(".md")}
    code = "\n".join(sources.values())
    names = names_of(sources)
    kernels = [name for name in sources if name.endswith(".inl")]
    guarded = [name for name in kernels if f"_INL_\n" in texts[name]]
    below = {name: text for name, text in sources.items() if not re.match(r"lib/src/ground/(simd|targets)/", name)}
    layers = texts.get("tests/scripts/check_layers.py", "")
    return {
        "lines of lib/src": sum(n for name, n in lines.items() if name.startswith("lib/src/")),
        "of them in .inl": sum(lines[name] for name in kernels),
        "lines of tests": sum(n for name, n in lines.items() if name.startswith("tests/")),
        "lines of all tracked text": sum(lines.values()),
        ".inl that cannot be read alone": len(kernels) - len(guarded),
        "files of lib/src below 30 lines": sum(lines[name] < 30 for name in sources),
        "names defined in more than two files of lib/src": sum(len(files) > 2 for files in names.values()),
        "pairs of names that differ by a plural s": sum(name + "s" in names for name in names),
        "macros in lib/src": len({name for name in re.findall(r"#\s*define (\w+)", code) if not re.search(r"_(H|INL)_$", name)}),
        "uses of MemberIf": len(re.findall(r"\bMemberIf\b", code)),
        "uses of kPreferSize": len(re.findall(r"\bk(?:PreferSize|SmallText|SizeCounts)\b", code)),
        "const_cast in lib/src": len(re.findall(r"\bconst_cast\b", code)),
        "#if on an instruction set outside simd and targets": sum(
            len(re.findall(rf"^#\s*(?:el)?if[^\n]*\b(?:{ISA})", text, re.M)) for text in below.values()),
        "exceptions in check_layers.py": len(re.findall(r'^    "[\w/]+\.\w+"[:,]', layers, re.M)) + layers.count("SWITCH_FILES = ") * 4 + layers.count("USES = ") * 2,
    }


def main():
    roots = [pathlib.Path(name).resolve() for name in sys.argv[1:]] or [HERE]
    columns = [count(root) for root in roots]
    for name in columns[0]:
        print(f"{name:52}", *(f"{column[name]:8,}" for column in columns))
    grown = [f"{name}: {columns[0][name]:,}, more than {most:,}" for name, most in MOST.items() if columns[0][name] > most]
    if sys.argv[1:] or not grown:
        return 0
    print("\n".join(grown))
    return 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Doxygen's INPUT_FILTER: prints a header of lib/include with its comments in Doxygen's form.

The headers are written for readers and contain no commands, so this makes commands of:
  /* ... */ or // before a declaration   documents it; after one on the same line, too. In a structure it documents each field
                                         up to the next empty line, or each that the line declares
  the first comment                      documents the file
  FOVEA_DECLARATIONS_BEGIN_ to _END_     are a group with the file's name
  a line of dashes with a name           begins a section in such a group and in fovea_config.h, elsewhere a group of that name
  text that is indented by two or more   keeps its lines: <pre>
Every line keeps its number, so that links to lines of the header hold.
"""

import pathlib
import re
import sys

SECTION = re.compile(r"(?:/\*|//) -{20,} ([^*]+?)(?: \*/)?$")
HIDDEN = "arithmetic of the macros"  # nothing after it is for users
NOT_DECLARED = re.compile(r"\s*(#(?!define)|\}  // namespace|\} /\*)")  # comments on such lines name what ends there

FIELDS = re.compile(r"(\s+)((?:const )?[\w:]+(?:<\w+>)?)( ?\**\w[^()]*);\s*$")  # one line, which may declare several


def escape(text, kept):
    return re.sub(r"([\\@&$#<>%\"])" if kept else r"([\\@&$#<>%\"*])", r"\\\1", text)


def body(lines):
    """The lines of a comment's text; indented lines keep their form."""
    kept = [False] + [line.startswith("  ") for line in lines] + [False]
    for i, line in enumerate(lines, 1):
        begin = "<pre>" if kept[i] and not kept[i - 1] else ""
        end = "</pre>" if kept[i] and not kept[i + 1] else ""
        yield begin + escape(line, kept[i]) + end


def documented(lines, begin, indent="", end=""):
    """A comment in Doxygen's form with the same number of lines."""
    texts = list(body(["" if "SPDX-License-Identifier" in line else line for line in lines]))
    return ("\n" + indent + " * ").join([indent + begin + " " + texts[0]] + texts[1:]) + end + " */"


def fields(code, texts):
    """A line that declares fields, with the same text for each."""
    found = FIELDS.match(code)
    if not found:
        return code + documented(texts, "/**<")
    indent, kind, names = found.groups()
    *others, last = names.split(",")
    same = "".join(f"{kind} {name.strip()}; {documented([' '.join(texts)], '/**<')} " for name in others)
    return f"{indent}{same}{kind} {last.strip()}; {documented(texts, '/**<')}"


def convert(lines, name_of_file):
    whole_file_is_one_group = name_of_file == "fovea_config"
    out, group, first, hidden = [], None, True, False
    above = None  # in a structure: the comment above these fields
    i = 0
    while i < len(lines):
        line = lines[i]
        if line == "FOVEA_DECLARATIONS_BEGIN_":
            title = name_of_file.replace("_", " ")
            out.append(f"/** @addtogroup {name_of_file} {title[0].upper() + title[1:]} */ /** @{{ */")
            whole_file_is_one_group = True
            i += 1
            continue
        if line == "FOVEA_DECLARATIONS_END_":
            out.append("/** @} */ " * (2 if group else 1))
            group = None
            i += 1
            continue
        section = SECTION.match(line)
        if section:
            name = section[1]
            hidden = hidden or name == HIDDEN
            title, key = name[0].upper() + name[1:], re.sub(r"\W+", "_", name)
            opened = f"/** @name {title} */" if whole_file_is_one_group else f"/** @addtogroup {key} {title} */"
            out.append(("/** @} */ " if group else "") + ("/** @cond */" if hidden else opened + " /** @{ */"))
            group = None if hidden else name
            i += 1
            continue
        if group and re.match(r"\}  // namespace|/\* clang-format off", line):
            out.append("/** @} */ " + line)
            group = None
            i += 1
            continue
        above = above if line.strip() and not line.startswith("}") else None
        code, mark, text = line.partition("/*") if "/*" in line else line.partition("//")
        if above and not mark and not hidden and line.rstrip().endswith(";"):
            out.append(fields(line, [above]))
            i += 1
            continue
        if not mark or hidden or NOT_DECLARED.match(line) or code.strip().startswith("*"):
            out.append(line)
            i += 1
            continue
        texts = [text.strip()]
        if mark == "/*":
            while not lines[i].rstrip().endswith("*/"):
                i += 1
                texts.append(re.sub(r"^\s*\*(?!/) ?", "", lines[i]) if not code.strip() else lines[i].strip())
            texts[-1] = texts[-1].rstrip()[:-2].rstrip()
        elif not code.strip():
            while lines[i + 1].strip().startswith("//") and not SECTION.match(lines[i + 1]):
                i += 1
                texts.append(re.sub(r"^\s*// ?", "", lines[i]))
        i += 1
        if code.strip():
            out.append(fields(code, [f"{above} {texts[0]}"] + texts[1:] if above else texts))
        elif code and FIELDS.match(lines[i].partition("/*")[0]):
            above = " ".join(texts)
            out += [""] * len(texts)
        else:
            out.append(documented(texts, "/**", code, " @file" if first else ""))
            first = False
    return out + (["/** @} */"] if group else []) + (["/** @endcond */"] if hidden else [])


with open(sys.argv[1], encoding="utf-8") as file:
    print("\n".join(convert(file.read().split("\n"), pathlib.Path(sys.argv[1]).stem)))

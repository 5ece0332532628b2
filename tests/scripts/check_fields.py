#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that each field, parameter and status of fovea.h has a test that would fail if it were ignored:
check_fields.py fovea.h tests/FIELDS.md tests

The table in FIELDS.md has rows | `fields` | tests |. Several fields or tests are separated by commas or semicolons; a test is
the beginning of the name of a case. The table names all there are, and no other, and every test is in the sources.
"""
import pathlib
import re
import sys

CASE = re.compile(r'^(?:INSIDE|TEST)_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)', flags=re.M)


def names(declaration):
    """What a declaration of C declares: "const float *a, *b" -> a, b; "int (*run)(...)" -> run."""
    function = re.search(r"\(\*(\w+)\)", declaration)
    if function:
        return [function.group(1)]
    return [re.search(r"(\w+)(\[\w*\])?$", part.strip()).group(1) for part in declaration.split(",")]


def wanted(header):
    text = re.sub(r"/\*.*?\*/", " ", header, flags=re.S)
    text = "\n".join(line for line in text.replace("\\\n", " ").split("\n") if not line.startswith("#"))
    structs = {}
    for body, struct in re.findall(r"^typedef struct \w+ \{(.*?)^\} (\w+);", text, flags=re.S | re.M):
        structs[struct] = [name for line in body.split(";") if line.strip() for name in names(line.strip())]
    found = [f"{struct}.{field}" for struct, fields in structs.items() for field in fields]
    for function, parameters in re.findall(r"^[a-z][\w \*]*?\b(fovea_\w+)\(([^()]*)\);", text, flags=re.M):
        for parameter in parameters.split(","):
            kind = re.sub(r"\b(const|struct)\b|\*", " ", parameter).split()
            if kind != ["void"] and kind[0] not in structs:  # those have fields of their own
                found.append(f"{function}.{kind[-1]}")
    return found + re.findall(r"\bFOVEA_ERR_\w+", text)


def main():
    header, table, tests = (pathlib.Path(path) for path in sys.argv[1:])
    cases = ["".join(re.findall(r'"((?:[^"\\]|\\.)*)"', match))
             for path in sorted(tests.glob("*.cc")) for match in CASE.findall(path.read_text())]
    complaints, rows, used = [], {}, set()
    for fields, covering in re.findall(r"^\| (`.*?`) \| (.*?) \|$", table.read_text(), flags=re.M):
        prefix = ""
        for field in re.findall(r"`([^`]+)`", fields):
            prefix, field = (prefix, prefix + field) if field.startswith(".") else (field.split(".")[0], field)
            if field in rows:
                complaints.append(f"{field} is in two rows")
            rows[field] = covering
        for test in (part.strip() for part in covering.split(";")):
            if test not in used and not any(case.startswith(test) for case in cases):
                complaints.append(f"no test's name begins with: {test}")
            used.add(test)
    have = wanted(header.read_text())
    complaints += [f"{name} of {header.name} is not in {table.name}" for name in have if name not in rows]
    sources = "".join(path.read_text() for path in tests.glob("*.cc"))
    complaints += [f"no test asks for {name}" for name in have
                   if name.startswith("FOVEA_") and not re.search(rf"\b{name}\b", sources)]
    complaints += [f"{name} of {table.name} is not in {header.name}" for name in rows if name not in have]
    print("\n".join(complaints))
    print(f"{len(have)} fields, parameters and statuses, {len(used)} tests, {len(complaints)} complaints")
    return 1 if complaints or not have else 0


sys.exit(main())

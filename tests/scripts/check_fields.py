#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the table of FIELDS.md with the header and the sources: check_fields.py fovea.h tests/FIELDS.md tests

Each field, parameter and status of fovea.h must be in exactly one row, nothing else may be in a row, and each test that a row
names must be in the sources. check_mutations.py shows that these tests fail when the field is ignored.
"""
import collections
import pathlib
import re
import sys

import interface

CASE = re.compile(r'^(?:INSIDE|TEST)_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)', flags=re.M)
Row = collections.namedtuple("Row", ["fields", "tests"])  # fields: name -> its value when it is ignored


def rows(table):
    """The rows | `fields` | tests | of FIELDS.md, whose first lines describe their form."""
    found = []
    for fields, tests in re.findall(r"^\| (`.*?`) \| (.*?) \|$", pathlib.Path(table).read_text(), flags=re.M):
        row, owner = Row({}, [test.strip() for test in tests.split(";")]), ""
        for field in re.findall(r"`([^`]+)`", fields):
            field, _, value = field.partition(" = ")
            owner, field = (owner, owner + field) if field.startswith(".") else (field.split(".")[0], field)
            row.fields[field] = value
        found.append(row)
    return found


def main():
    header, table, tests = (pathlib.Path(path) for path in sys.argv[1:])
    cases = ["".join(re.findall(r'"((?:[^"\\]|\\.)*)"', match))
             for path in sorted(tests.glob("*.cc")) for match in CASE.findall(path.read_text())]
    have = interface.Interface(header).rows()
    found = rows(table)
    fields = [field for row in found for field in row.fields]
    named = {test for row in found for test in row.tests}
    sources = "".join(path.read_text() for path in tests.glob("*.cc"))
    complaints = [f"{name} is in two rows" for name, times in collections.Counter(fields).items() if times > 1]
    complaints += [f"no test's name begins with: {test}" for test in sorted(named) if not any(case.startswith(test) for case in cases)]
    complaints += [f"{name} of {header.name} is not in {table.name}" for name in have if name not in fields]
    complaints += [f"no test asks for {name}" for name in have if name.startswith("FOVEA_") and not re.search(rf"\b{name}\b", sources)]
    complaints += [f"{name} of {table.name} is not in {header.name}" for name in fields if name not in have]
    print("\n".join(complaints))
    print(f"{len(have)} fields, parameters and statuses, {len(named)} tests, {len(complaints)} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())

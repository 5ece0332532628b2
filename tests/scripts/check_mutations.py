#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that the tests of FIELDS.md fail when a field is ignored:
check_mutations.py fovea_tests tests/FIELDS.md [WORDS...]

For each field, parameter and status of the table it runs the tests that the row names, with library calls that ignore
the field: see tests/support/mutation.h. One of them must fail, and each test of a row must fail for one of the row's
fields. A crash counts as a failure, and so does a test that takes ten times its usual time. With WORDS only rows that
contain one of them are checked.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import time

import check_fields

LEAST_SECONDS = 30  # time limit of the shortest tests
# Only builds without a feature return it: check_features.py. A structure that is required: each other one is refused.
NOT_HERE = {"FOVEA_ERR_LEFT_OUT", "fovea_kv_shift_args.rope"}


class Tests:
    """The program fovea_tests, with wrapped calls."""

    def __init__(self, program):
        self.program = pathlib.Path(program).resolve()
        self.seconds = {}  # test -> its usual time
        self.endless = []

    def run(self, test, seconds, **environment):
        """The status with which the cases end whose names begin with this, or None where they take longer."""
        name = re.sub(r"([\\,\[])", r"\\\1", test)
        try:
            return subprocess.run([self.program, f"{name}*", "--abort", "--warn", "NoTests"], timeout=seconds, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, env=dict(os.environ, **environment)).returncode
        except subprocess.TimeoutExpired:
            return None

    def passes(self, test):
        start = time.monotonic()
        status = self.run(test, None)
        self.seconds[test] = time.monotonic() - start
        return status == 0

    def fails_without(self, test, ignored):
        status = self.run(test, max(LEAST_SECONDS, 10 * self.seconds[test]), FOVEA_TEST_IGNORE=ignored)
        if status == 99:
            sys.exit(f"{self.program} cannot ignore {ignored}")
        if status is None:
            self.endless.append(f"{test}: {ignored}")
        return status != 0


def check(tests, row):
    """Complaints about a row; and for each other field whether a test failed because calls did not read it or give it."""
    proven, failed = {}, set()

    def fails(test, field, direction):
        value = row.fields[field]
        if tests.fails_without(test, f"{direction} {field}" + (f" = {value}" if value else "")):
            proven.setdefault(field, direction)
            failed.add(test)

    for field in set(row.fields) - NOT_HERE:
        directions = ["gives"] if field.startswith("FOVEA_") else ["reads", "gives"]
        for direction, test in ((direction, test) for direction in directions for test in row.tests):
            if field not in proven or test not in failed:
                fails(test, field, direction)
    complaints = [f"{field} can be ignored: {'; '.join(row.tests)}" for field in row.fields if field not in proven.keys() | NOT_HERE]
    complaints += [f"{test}: holds none of {', '.join(row.fields)}" for test in row.tests if test not in failed and row.fields.keys() - NOT_HERE]
    return complaints, proven


def main():
    program, table, *words = sys.argv[1:]
    tests = Tests(program)
    rows = [row for row in check_fields.rows(table)
            if not words or any(word in text for word in words for text in [*row.fields, *row.tests])]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        named = sorted({test for row in rows for test in row.tests})
        broken = [test for test, passes in zip(named, pool.map(tests.passes, named)) if not passes]
        if broken:
            sys.exit("\n".join(f"fails, although nothing is ignored: {test}" for test in broken))
        results = []
        for row, result in zip(rows, pool.map(lambda row: check(tests, row), rows)):
            print("\n".join(result[0]), end="\n" if result[0] else "", flush=True)
            results.append(result)
    proven = [direction for _, fields in results for direction in fields.values()]
    print("".join(f"takes too long: {one}\n" for one in tests.endless), end="")
    complaints = sum(len(complaints) for complaints, _ in results)
    print(f"{sum(len(row.fields) for row in rows)} fields, parameters and statuses: a test fails when calls do not read "
          f"{proven.count('reads')} of them, and when they do not give {proven.count('gives')}; {complaints} complaints")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())

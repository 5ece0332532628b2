#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the reference of the headers in build/docs: reference.py [doxygen]. An error is a warning of Doxygen, or a field without text."""
import pathlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def fields(folder):
    """(structure.field, its text) of all public fields."""
    for path in sorted(folder.glob("*.xml")):
        for item in xml.etree.ElementTree.parse(path).iterfind("compounddef"):
            for member in item.iter("memberdef") if item.get("kind") in ("class", "struct", "union") else ():
                if member.get("kind") == "variable" and member.get("prot") == "public":
                    texts = [text for part in ("briefdescription", "detaileddescription") for text in member.find(part).itertext()]
                    yield f"{item.findtext('compoundname')}.{member.findtext('name')}", "".join(texts).strip()


def main():
    shutil.rmtree(ROOT / "build" / "docs", ignore_errors=True)
    if subprocess.run([*(sys.argv[1:] or ["doxygen"]), "platform/docs/Doxyfile"], cwd=ROOT, check=False).returncode != 0:
        return 1
    found = list(fields(ROOT / "build" / "docs" / "xml"))
    without = [name for name, text in found if not text]
    print("\n".join([f"{name} has no text" for name in without] + [f"{len(found)} fields, {len(without)} without text"]))
    return 1 if without or not found else 0


sys.exit(main())

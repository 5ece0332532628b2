#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unpacks a pack, holds its description against its files, and prints its sources: sources_of_pack.py <pack> <folder>"""
import pathlib
import sys
import xml.etree.ElementTree
import zipfile

folder = pathlib.Path(sys.argv[2])
with zipfile.ZipFile(sys.argv[1]) as pack:
    pack.extractall(folder)
root = xml.etree.ElementTree.parse(folder / "fovea.fovea.pdsc").getroot()
release = root.find("releases/release").get("version")
versions = {release, root.find("components/component").get("Cversion"), sys.argv[1].rpartition(".fovea.")[2].removesuffix(".pack")}
if len(versions) != 1:
    sys.exit(f"the versions differ: {versions}")
files = [(file.get("category"), file.get("name")) for file in root.iter("file")] + [("license", root.find("license").text)]
missing = [name for _, name in files if not (folder / name).exists()]
if missing:
    sys.exit(f"the pack does not have {missing}")
sources = [name for category, name in files if category == "sourceCpp"]
if sources != sorted(str(path.relative_to(folder)) for path in (folder / "lib" / "src").rglob("*.cc")):
    sys.exit("the description does not list the pack's sources")
print("\n".join(sources))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the manifests of all packages with the library: versions, lists of files, switches; and the list of functions that lean
configurations rename. Prints what differs."""
import json
import pathlib
import re
import sys

from check_operators import ALWAYS, operators
from interface import Interface
from library import CONFIGS, ROOT, features

VCPKG = "platform/packages/vcpkg/fovea/vcpkg.json"
HEADER = ROOT / "lib" / "include" / "fovea" / "base.h"


def text(path):
    return (ROOT / path).read_text()


def found(pattern, path):
    match = re.search(pattern, text(path), flags=re.M)
    return match[1] if match else None


def sources_of_cmake():
    """Of the folders that lib/CMakeLists.txt compiles, all files."""
    folders = ALWAYS.union(operators(), *operators().values())
    return sorted(str(path.relative_to(ROOT)) for folder in folders for path in (ROOT / "lib" / "src").glob(f"*/{folder}/**/*.cc"))


def complaints():
    version = found(r'^#define FOVEA_VERSION_TEXT "(.*?)"', HEADER)
    numbers = ".".join(re.findall(r"^#define FOVEA_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", HEADER.read_text(), flags=re.M))
    if not re.fullmatch(re.escape(numbers) + r"(-rc\.[1-9]\d*)?", version):  # each channel accepts this or makes its own form of it
        yield f"{HEADER.relative_to(ROOT)}: FOVEA_VERSION_TEXT is {version}, which is not {numbers} or a release candidate of it"
    versions = {
        "idf_component.yml": found(r'^version: "(.*)"', "idf_component.yml"),
        "library.json": json.loads(text("library.json"))["version"],
        "meson.build": found(r"^project\(.* version: '(.*?)'", "meson.build"),
        VCPKG: json.loads(text(VCPKG))["version-semver"],
        "CHANGELOG.md": found(r"^## (?!Not released)(.*?)(?:, [0-9-]+)?$", "CHANGELOG.md"),
    }
    pages = ((path.relative_to(ROOT), its) for path in sorted((ROOT / "platform" / "packages").glob("**/README.md"))
             for its in re.findall(r"(?:fovea(?:/|-|-dev_|\.fovea\.)|\bv|\^)(\d+\.\d+\.\d+(?:-rc\.\d+)?)", path.read_text()))
    for path, its in [*versions.items(), *pages]:
        if its != version:
            yield f"{path}: version {its}, but base.h has {version}"

    if found(r"^FOVEA_(\d+) \{$", "lib/symbols.map") != numbers.split(".")[0]:
        yield f"lib/symbols.map: its number is not the major version of {version}"

    cmake = sources_of_cmake()
    # Other manifests list these files by a pattern.
    if cmake != sorted(str(path.relative_to(ROOT)) for path in (ROOT / "lib" / "src").rglob("*.cc")):
        yield "lib/operators.txt: its folders do not hold the files below lib/src"

    kconfig = "platform/packages/zephyr/Kconfig"
    if re.findall(r"^config FOVEA_ENABLE_(\w+)$", text(kconfig), flags=re.M) != features():
        yield f"{kconfig}: its switches are not those of fovea_config.h, in their order"

    if re.findall(r'\{"(\w+)", config::', text("lib/src/ground/base/features.h")) != sorted(features()):
        yield "lib/src/ground/base/features.h: its names are not the switches of fovea_config.h, sorted"

    declared = sorted(function.name for function in Interface(HEADER.parent / "fovea.h").functions)
    renamed = re.findall(r"^#define (fovea_\w+) FOVEA_LEAN_NAME_\(FOVEA_USE, (\w+)\)$", text("lib/include/fovea/lean/names.h"), flags=re.M)
    if renamed != [(name, name.removeprefix("fovea_")) for name in declared]:
        yield "lib/include/fovea/lean/names.h: its names are not those of the functions in fovea.h, sorted"
    if {path.name for path in (HEADER.parent / "lean").iterdir()} != {path.name for path in CONFIGS.iterdir()} | {"names.h"}:
        yield "lib/include/fovea/lean: its headers are not those of lib/include/fovea/config"

    for readme in sorted(path / "README.md" for path in (ROOT / "platform" / "packages").iterdir() if path.is_dir()):
        if not readme.exists():
            yield f"{readme.relative_to(ROOT)}: is missing"

    for path in sorted(ROOT.rglob("*")):
        if path.suffix in {".md", ".py", ".sh", ".toml", ".yml"} and not {"build", ".git"} & set(path.relative_to(ROOT).parts):
            words = path.read_text(encoding="utf-8")
            if re.search(r"\bpip3? install\b[^\n]*[\s'\"]fovea(?![-\w./])|^name = \"fovea\"", words, flags=re.M):
                yield f"{path.relative_to(ROOT)}: has pip's name fovea, which is another project on PyPI"
            if path.suffix == ".md" and "**Published**" in words:
                yield f"{path.relative_to(ROOT)}: says that something is published, which it is not yet"


found_complaints = list(complaints())
print("\n".join(found_complaints) or f"the manifests agree with {HEADER.relative_to(pathlib.Path(ROOT))}")
sys.exit(bool(found_complaints))

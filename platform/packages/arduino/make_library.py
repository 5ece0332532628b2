#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the Arduino library: make_library.py <amalgamation> <folder> [--url <of the library>]

The amalgamation is a folder that "amalgamate.py <folder> --source fovea.cpp" wrote.
"""
import argparse
import pathlib
import re
import shutil

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]

PROPERTIES = """\
name=fovea
version={version}
author=The authors of fovea
maintainer=The maintainers of fovea
sentence=Attention on small machines, without a heap.
paragraph=Softmax, scaled dot-product attention, caches, streams and the layers around them. Needs a core that compiles C++17.
category=Data Processing
url={url}
architectures=esp32,esp8266,renesas_uno,rp2040,stm32,teensy
includes=fovea.h
"""


HEADERS = ROOT / "lib" / "include" / "fovea"


def settings(name):
    """The settings of a header in fovea/config, with those of the header that it includes."""
    text = (HEADERS / "config" / f"{name}.h").read_text()
    return re.sub(r'^#include "fovea/config/(\w+)\.h"\n', lambda match: settings(match[1]), text, flags=re.M)


def write_lean(source):
    """The library in each lean configuration: a source file that includes fovea.cpp, and the header that a sketch includes."""
    (source / "fovea" / "lean").mkdir(parents=True)
    for path in sorted((HEADERS / "config").glob("*.h")):
        name = path.stem
        (source / f"fovea_{name}.cpp").write_text(
            f"#define FOVEA_USE {name}\n#define fovea fovea_{name}  // the namespace\n{settings(name)}#include \"fovea.cpp\"\n")
        header = (HEADERS / "lean" / path.name).read_text().replace('#include "fovea/fovea.h"', '#include "fovea.h"')
        (source / "fovea" / "lean" / path.name).write_text(header)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("amalgamation", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--url", default="https://fovea.invalid")
    options = parser.parse_args()

    header = (options.amalgamation / "fovea.h").read_text()
    version = re.search(r'^#define FOVEA_VERSION_TEXT "(.*?)"', header, flags=re.M)[1]
    source = options.folder / "src"
    source.mkdir(parents=True)
    for name in ("fovea.h", "fovea.hpp", "fovea.cpp"):
        shutil.copy(options.amalgamation / name, source)
    write_lean(source)
    shutil.copytree(HERE / "examples", options.folder / "examples")
    shutil.copy(ROOT / "LICENSE", options.folder)
    (options.folder / "library.properties").write_text(PROPERTIES.format(version=version, url=options.url))


main()

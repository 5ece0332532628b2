#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes fovea.fovea.pdsc and fovea.fovea.<version>.pack: make_pack.py <folder> --url <where packs are published>"""
import argparse
import datetime
import pathlib
import re
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]


def version():
    header = (ROOT / "lib" / "include" / "fovea" / "base.h").read_text()
    return re.search(r'^#define FOVEA_VERSION_TEXT "(.*?)"', header, flags=re.M)[1]


def entries(category, names):
    return "\n".join(f'        <file category="{category}" name="{name}"/>' for name in names)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--url", required=True)
    parser.add_argument("--date", default=datetime.date.today().isoformat(), help="date of the release (today)")
    options = parser.parse_args()

    files = [path for pattern in ("LICENSE", "README.md", "CHANGELOG.md", "lib/include/**/*", "lib/src/**/*")
             for path in sorted(ROOT.glob(pattern)) if path.is_file()]
    sources = [path.relative_to(ROOT).as_posix() for path in files if path.suffix == ".cc"]
    headers = [path.relative_to(ROOT).as_posix() for path in files 
               if path.parent.name == "fovea" and path.suffix in {".h", ".hpp"} and path.stem != "fovea_config"]
    text = (HERE / "fovea.fovea.pdsc.in").read_text()
    for name, value in (("URL", options.url), ("VERSION", version()), ("DATE", options.date),
                        ("HEADERS", entries("header", headers)), ("SOURCES", entries("sourceCpp", sources))):
        text = text.replace(f"@{name}@", value)

    options.folder.mkdir(parents=True, exist_ok=True)
    description = options.folder / "fovea.fovea.pdsc"
    description.write_text(text)
    pack = options.folder / f"fovea.fovea.{version()}.pack"
    with zipfile.ZipFile(pack, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(description, description.name)
        for path in files:
            archive.write(path, path.relative_to(ROOT))
    print(pack)


main()

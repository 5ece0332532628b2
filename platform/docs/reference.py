#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the reference of the headers in build/docs: reference.py [doxygen]. An error is a warning of Doxygen, a field without text, or a
page that lacks its parts."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OUT = ROOT / "build" / "docs"
PARTS = '<meta name="viewport"', "narrow.css", 'id="top"'  # what a page needs for the search and narrow windows


def text_of(item, *parts):
    return " ".join("".join(text for part in parts for text in item.find(part).itertext()).split())


def entries():
    """(name, page, text, whether it is a public field) of all that has a place in the reference."""
    for path in sorted((OUT / "xml").glob("*.xml")):
        for item in xml.etree.ElementTree.parse(path).iterfind("compounddef"):
            kind, name, page = item.get("kind"), item.findtext("compoundname"), f"{item.get('id')}.html"
            if kind in ("class", "struct", "union", "page", "group") and (OUT / "html" / page).exists():
                yield item.findtext("title") or name, page, text_of(item, "briefdescription"), False
            for member in item.iterfind(".//memberdef[@prot='public']"):
                in_structure = kind in ("class", "struct", "union")
                field, prefix = in_structure and member.get("kind") == "variable", f"{name}." if in_structure else ""
                for one in (member, *member.iterfind("enumvalue")):
                    page, _, anchor = one.get("id").rpartition("_1")
                    yield (prefix if one is member else "") + one.findtext("name"), f"{page}.html#{anchor}", text_of(
                        one, "briefdescription", "detaileddescription"), field


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    (OUT / "first.c").write_text(re.search(r"<!-- example: c -->\n```c\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)[1])
    if subprocess.run([*(sys.argv[1:] or ["doxygen"]), "platform/docs/Doxyfile"], cwd=ROOT, check=False).returncode != 0:
        return 1
    found = list(entries())
    fields = [(name, text) for name, _, text, field in found if field]
    complaints = [f"{name} has no text" for name, text in fields if not text]

    pages = {path.name: path.read_text() for path in sorted((OUT / "html").glob("*.html"))}
    complaints += [f"{name}: has no {part}" for name, text in pages.items() for part in PARTS if part not in text]
    if 'class="fragment"' not in pages["index.html"]:
        complaints.append("index.html: has no program")
    index = {(name, page): text[:100] for name, page, text, _ in found if page.partition("#")[0] in pages}
    complaints += [f"the search finds {name} at {page}, which does not exist" for name, page in index
                   if "#" in page and f'id="{page.partition("#")[2]}"' not in pages[page.partition("#")[0]]]
    lines = ",\n".join(json.dumps([*key, text], ensure_ascii=False) for key, text in sorted(index.items()))
    (OUT / "html" / "find.js").write_text(f"const INDEX = [{lines}];\n{(ROOT / 'platform/docs/search.js').read_text()}")
    for name, text in pages.items():
        (OUT / "html" / name).write_text(text.replace("</head>", '<script defer src="find.js"></script>\n</head>', 1))
    print("\n".join([*complaints, f"{len(fields)} fields, {len(index)} entries of the search, {len(complaints)} complaints"]))
    return 1 if complaints or not fields else 0


sys.exit(main())

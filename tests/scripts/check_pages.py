#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of the documents exactly as written: check_pages.py [--list] [--in FOLDER] [PAGE...]

Commands are blocks that are indented, or fenced as sh or without a language. They run in a copy of the tree, one block after
the other; all pages use the same copy, one after the other. A comment before a block says otherwise:
    <!-- run: in FILE -->     FILE contains each of the commands and runs it
    <!-- run: no, REASON -->  it cannot run here
    <!-- file: NAME -->       the block is written to the file NAME of the copy, in any language
cmake chooses the scalar backend, which compiles fastest. --list runs nothing, and only finds blocks whose comment is wrong.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORK = ROOT / "build" / "pages"
PATTERNS = ["README.md", "examples/README.md", "examples/*/README.md", "platform/boards/README.md", "platform/boards/*/README.md",
            "platform/packages/README.md", "platform/packages/*/README.md", "platform/engines/*/README.md", "toolchains/README.md"]
# These pages need tools that others do not: check_boards.py and check_packages.sh run them, and the stage "exporter" of .ci/run.
BY_OTHERS = ("platform/boards/", "platform/packages/", "examples/export/")
COMMANDS = ["", "bash", "sh"]
MARK = re.compile(r"<!-- (run|file): (.*) -->$")

# A script that is found before the real cmake: it adds the backend when it configures.
CMAKE = """\
#!/bin/sh
case " $* " in
  *" --build "* | *" --install "* | *" -E "* | *" -P "*) exec {cmake} "$@" ;;
  *) exec {cmake} "$@" -DFOVEA_SIMD=scalar ;;
esac
"""


class Block(typing.NamedTuple):
    line: int
    language: str
    mark: tuple  # of the comment before it: what, value
    text: str


def pages():
    return sorted(str(path.relative_to(ROOT)) for pattern in PATTERNS for path in ROOT.glob(pattern))


def blocks(page):
    """The blocks of a page. A comment applies to the block that follows it directly."""
    lines = (ROOT / page).read_text().splitlines() + [""]
    mark, at = ("", ""), 0
    while at < len(lines):
        first, fence = at, re.match(r"( *)```(\w*)$", lines[at])
        if fence:
            at = next(i for i in range(at + 1, len(lines)) if lines[i].strip() == "```")
            body, language = lines[first + 1:at], fence[2]
        elif lines[at].startswith("    ") and (at == 0 or not lines[at - 1].strip()):
            while lines[at + 1].startswith("    ") or (not lines[at + 1].strip() and lines[at + 2:at + 3] and
                                                       lines[at + 2].startswith("    ")):
                at += 1
            body, language = lines[first:at + 1], ""
        else:
            found = MARK.match(lines[at].strip())
            if found or lines[at].strip():
                mark = (found[1], found[2]) if found else ("", "")
            at += 1
            continue
        indent = len(fence[1]) if fence else 4
        yield Block(first + 1, language, mark, "".join(line[indent:] + "\n" for line in body))
        mark, at = ("", ""), at + 1


def commands_of(block):
    """The lines of a block, without comments; continued lines are joined."""
    text = re.sub(r"\s*\\\n\s*", " ", block.text)
    return [line for line in (re.sub(r"\s+#.*", "", line).strip() for line in text.splitlines()) if line]


def complaints(page):
    for block in blocks(page):
        what, value = block.mark
        where = f"{page}:{block.line}"
        if what == "run" and block.language not in COMMANDS:
            yield f"{where}: is marked as commands, but is {block.language}"
        elif what == "run" and value.startswith("in "):
            path = ROOT / value[3:]
            text = path.read_text() if path.is_file() else ""
            yield from (f"{where}: {value[3:]} does not run: {line}" for line in commands_of(block) if line not in text)
        elif what == "run" and not re.match(r"no, \w", value):
            yield f"{where}: \"run: {value}\" is neither \"run: in FILE\" nor \"run: no, REASON\""


def run(page, block, folder, environment):
    result = subprocess.run(["bash", "-euo", "pipefail", "-c", block.text], cwd=folder, env=environment, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode != 0:
        sys.exit(f"{result.stdout[-4000:]}\n{page}:{block.line}: ended with {result.returncode}:\n{block.text}")
    print(f"{page}:{block.line}: {'; '.join(commands_of(block))}", flush=True)


def check(page, folder, environment):
    for block in blocks(page):
        what, value = block.mark
        if what == "file":
            (folder / value).parent.mkdir(parents=True, exist_ok=True)
            (folder / value).write_text(block.text)
        elif what == "run" and value.startswith("no, "):
            print(f"{page}:{block.line}: not run: {value[4:]}")
        elif not what and block.language in COMMANDS:
            run(page, block, folder, environment)


def copy_of_tree():
    folder = WORK / "source"
    shutil.rmtree(folder, ignore_errors=True)
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                           stdout=subprocess.PIPE, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def environment_with_cmake():
    shim = WORK / "bin" / "cmake"
    shim.parent.mkdir(parents=True, exist_ok=True)
    shim.write_text(CMAKE.format(cmake=shutil.which("cmake")))
    shim.chmod(0o755)
    return dict(os.environ, PATH=f"{shim.parent}:{os.environ['PATH']}", CMAKE_BUILD_PARALLEL_LEVEL=str(os.cpu_count() or 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--in", dest="folder", type=pathlib.Path, metavar="FOLDER", help="a copy of the tree that is there")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="without any, all but those of platform/packages and examples/export")
    options = parser.parse_args()
    wrong = [complaint for page in options.pages or pages() for complaint in complaints(page)]
    if wrong:
        sys.exit("\n".join(wrong))
    if options.list:
        found = [block for page in pages() for block in blocks(page) if block.language in COMMANDS]
        print(f"{len(pages())} pages have {len(found)} blocks of commands, of which {sum(not b.mark[0] for b in found)} run")
        return
    folder = options.folder.resolve() if options.folder else copy_of_tree()
    environment = environment_with_cmake()
    for page in options.pages or [page for page in pages() if not page.startswith(BY_OTHERS)]:
        check(page, folder, environment)


if __name__ == "__main__":
    main()

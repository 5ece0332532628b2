#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long the first minutes of new users take: first_minutes.py [--list] [USER...]

Runs the commands of the page that README.md sends a user to, as they stand there, until the first program runs or is ready for the
board: in a new copy of the tree each, without a compiler cache, with the backend that the user gets. What is installed before, as
compilers, is not counted; SDKs are the stubs of tests/boards, for a Cortex-M4F, for which the library is compiled first. Prints a
table of Markdown. Minutes are those on the clock, and in parentheses those of one core. The last column has what such users stumble
over, where the page or the build now helps.
"""
import argparse
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import typing

import check_boards
import check_pages

ROOT = check_pages.ROOT
WORK = ROOT / "build" / "first_minutes"
OFF = [f"-DFOVEA_BUILD_{name}=OFF" for name in ("TESTS", "BENCH", "EXAMPLES")] + ["-DFOVEA_LEAN="]
CORTEX_M4F = "arm-none-eabi-g++ -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -std=gnu++17 -fno-exceptions -fno-rtti -Os"


# What an SDK does with a component or module, before a stub of it links the library.
LIBRARY = (f"cmake -B build/stub --toolchain $PWD/toolchains/arm-none-eabi-cortex-m4f.cmake -DCMAKE_BUILD_TYPE=Release {' '.join(OFF)} "
           "--install-prefix $PWD/build/installed && cmake --build build/stub --target install && "
           "export CMAKE_PREFIX_PATH=$PWD/build/installed")


class User(typing.NamedTuple):
    page: str
    part: str = ""  # text that a block has, or that a heading before it is: other blocks are another user's
    lines: str = ""  # text that the lines have which this user types
    change: tuple = ()  # what the page says to write instead
    after: str = ""  # commands that the page names in its text
    stumbled: str = ""


USERS = {
    "who wants to see it": User("README.md", lines="-", after="./run demo", stumbled="the whole library was compiled for it"),
    "who changes it": User("README.md", lines="-", after="./run test", stumbled="debug information, three backends, nothing to see "
                           "meanwhile"),
    "C on a host, CMake": User("platform/packages/README.md", lines="cmake --preset host", after="export PKG_CONFIG_PATH="
                               "$PWD/P/lib/pkgconfig && cc tests/consumer/consumer.c $(pkg-config --cflags --libs fovea) -o P/app && "
                               "P/app", stumbled="all operators are compiled, of which FOVEA_OPERATORS names those that are wanted"),
    "Cortex-M4F, Makefile": User("examples/firmware/README.md", "my-board|build/makefile", stumbled="no Makefile on the page; "
                                 "the library took four times as long, with all lean configurations and on one core"),
    "Cortex-M55, CMake": User("examples/firmware/README.md", "--install-prefix", change=("cortex-m4f", "cortex-m55"),
                              stumbled="the same, without a Makefile"),
    "Pico 2": User("platform/boards/pico/README.md", lines="build/pico2", stumbled="the SDK builds picotool, which takes minutes and "
                   "the network: the page has the option without it; the SDK's stack of 2 KiB is too small"),
    "ESP32-S3": User("platform/boards/esp-idf/README.md", stumbled="a name without an owner is another component in the registry"),
    "Raspberry Pi 5": User("platform/boards/raspberry_pi/README.md", stumbled="the clock rises during the first cases; without "
                           "processor_features no products of bytes"),
    "Zephyr": User("platform/boards/zephyr/README.md", stumbled="an FPU that prj.conf does not switch on; printf without floats"),
    "Arduino": User("platform/packages/arduino/README.md", after=f"{CORTEX_M4F} -Ibuild/arduino/fovea/src -c "
                    "build/arduino/fovea/src/fovea.cpp -o build/fovea.o", stumbled="cores without C++17"),
    "Python": User("platform/packages/python/README.md", after="python3 -m venv build/venv && build/venv/bin/pip install --quiet . && "
                   "build/venv/bin/python -c 'import fovea; print(fovea.targets())'", stumbled="an option that pip before 23.1 has not"),
    "C++, Conan": User("platform/packages/conan/README.md", after="", stumbled="Conan's own first step was not on the page, nor a project "
                        "that uses the package"),
    "C++, vcpkg": User("platform/packages/vcpkg/README.md", after="cmake -DPORT_DIR=$PWD/platform/packages/vcpkg/fovea "
                       "-DWORK=$PWD/build/vcpkg -P tests/packages/vcpkg/install.cmake && cmake -S tests/consumer -B build/consumer "
                       "-DCMAKE_PREFIX_PATH=$PWD/build/vcpkg/packages && cmake --build build/consumer && build/consumer/consumer",
                       stumbled="an overlay needs a vcpkg-configuration.json in a project with a manifest"),
}


def script_of(user, folder):
    """What the user types; files that the page has are written."""
    script = []
    for block in check_pages.blocks(user.page):
        what, value = block.mark
        if user.part and not any(text in block.text + value for text in user.part.split("|")):
            continue
        if what == "file":
            (folder / value).parent.mkdir(parents=True, exist_ok=True)
            (folder / value).write_text(block.text)
        elif not what and block.language in check_pages.COMMANDS:
            script += [line for line in check_pages.commands_of(block) if user.lines in line]
    library = LIBRARY if user.page.split("/")[2:3] in [[sdk] for sdk in check_boards.SDKS] else ""
    text = "\n".join(filter(None, [library, *script, user.after]))
    return text.replace(*user.change) if user.change else text


def environment():
    made = check_boards.environment(own_library=True)
    made.update(CCACHE_DISABLE="1", CONAN_HOME=str(WORK / "conan"))
    for name in ("CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER", "CMAKE_PREFIX_PATH"):
        made.pop(name, None)
    return made


def minutes(user):
    """(commands, minutes on the clock, minutes of a core)."""
    WORK.mkdir(parents=True, exist_ok=True)
    check_pages.WORK = pathlib.Path(tempfile.mkdtemp(dir=WORK))
    folder = check_pages.copy_of_tree()
    script = script_of(user, folder)
    used = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    begin, core = time.monotonic(), used()
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=environment(), text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(f"{done.stdout[-4000:]}\n{user.page}: ended with {done.returncode}:\n{script}")
    shutil.rmtree(check_pages.WORK)
    commands = len([line for line in script.replace(LIBRARY, "").replace(" && ", "\n").splitlines() if line])
    return commands, (time.monotonic() - begin) / 60, (used() - core) / 60


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="print what each user types, and run nothing")
    parser.add_argument("users", nargs="*", metavar="USER", help=", ".join(USERS))
    options = parser.parse_args()
    unknown = [name for name in options.users if name not in USERS]
    if unknown:
        parser.error(f"{unknown[0]!r} is none of {', '.join(USERS)}")
    if options.list:
        with tempfile.TemporaryDirectory() as folder:
            for name in options.users or USERS:
                print(f"== {name}\n{script_of(USERS[name], pathlib.Path(folder))}")
        return
    print(f"{os.cpu_count()} cores\n\n| user | page | commands | minutes | stumbled over |\n| --- | --- | ---: | ---: | --- |")
    for name in options.users or USERS:
        commands, clock, core = minutes(USERS[name])
        print(f"| {name} | {USERS[name].page} | {commands} | {clock:.1f} ({core:.1f}) | {USERS[name].stumbled} |", flush=True)


if __name__ == "__main__":
    main()

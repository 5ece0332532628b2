# SPDX-License-Identifier: Apache-2.0
"""Builds the library without some features of fovea_config.h: for scripts that measure or test features."""
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess

from interface import flattened

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CONFIG = ROOT / "lib" / "include" / "fovea" / "fovea_config.h"
CONFIGS = CONFIG.parent / "config"  # ready-made settings: minimal.h and others that include it


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, universal_newlines=True, **options).stdout


def features():
    """The names of the switches: SOFTCAP for FOVEA_ENABLE_SOFTCAP."""
    return re.findall(r"^#define FOVEA_ENABLE_(\w+) FOVEA_ENABLE_DEFAULT\b", CONFIG.read_text(), flags=re.M)


def left_out_by(header):
    """What a header of CONFIGS leaves out, by the macros that the compiler sees."""
    macros = run("cc", "-E", "-dM", "-x", "c", f"-I{CONFIGS.parent.parent}", f'-DFOVEA_CONFIG_HEADER="{CONFIGS / header}"', CONFIG)
    values = dict(re.findall(r"^#define (FOVEA_ENABLE_\w+) (\w+)$", macros, flags=re.M))
    return {name for name in features() if values.get(values[f"FOVEA_ENABLE_{name}"], values[f"FOVEA_ENABLE_{name}"]) == "0"}


def public_functions():
    header = re.sub(r"/\*.*?\*/", " ", flattened(ROOT / "lib/include/fovea/fovea.h"), flags=re.S)
    return re.findall(r"^[a-z][\w \*]*?\b(fovea_\w+)\(", header, flags=re.M)


def features_of_constants():
    """Constant of namespace config -> the features that it depends on."""
    found = {}
    for name, value in re.findall(r"^constexpr bool (k\w+) = (.*?);", CONFIG.read_text(), flags=re.M):
        found[name] = set(re.findall(r"FOVEA_ENABLE_(\w+)", value))
        found[name].update(*(found.get(constant, ()) for constant in re.findall(r"k\w+", value)))
    return found


Object = collections.namedtuple("Object", ["source", "path"])  # source: below lib/src


class Library:
    """The library as CMake builds it in a folder. Without some features, only the files that depend on them are compiled again."""

    def __init__(self, folder, *arguments, flags=""):
        self.folder = pathlib.Path(folder).resolve()
        if not (self.folder / "CMakeCache.txt").exists():
            run("cmake", "-S", ROOT, "-B", self.folder, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DFOVEA_BUILD_TESTS=OFF",
                "-DFOVEA_BUILD_BENCH=OFF", "-DFOVEA_BUILD_EXAMPLES=OFF", "-DFOVEA_LEAN=", *arguments, env=dict(os.environ, CXXFLAGS=flags))
        self.pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1)
        run("cmake", "--build", self.folder, "--target", "fovea", "--parallel", os.cpu_count() or 1)
        cache = (self.folder / "CMakeCache.txt").read_text()
        self.nm, self.readelf = (re.search(rf"^{tool}:\w+=(.*)$", cache, flags=re.M).group(1) for tool in ("CMAKE_NM", "CMAKE_READELF"))
        self.commands, self.outputs = {}, {}
        for entry in json.loads((self.folder / "compile_commands.json").read_text()):
            source = pathlib.Path(entry["file"])
            # With several backends, the second folder has a folder for each.
            below = [folder for folder in (ROOT / "lib" / "src", self.folder / "lib") if folder in source.parents]
            if below:
                command = shlex.split(entry["command"])
                name = str(source.relative_to(below[0]))
                self.directory = pathlib.Path(entry["directory"])  # the same for all files
                self.outputs[name] = self.directory / command[command.index("-o") + 1]
                self.commands[name] = command
        self.compiler = next(iter(self.commands.values()))[0]
        self.needs = dict(zip(self.commands, self.pool.map(self.features_of, self.commands)))

    def compiler_version(self):
        return run(self.compiler, "--version").splitlines()[0]

    def preprocessed(self, source, *flags):
        command = list(self.commands[source])
        at = command.index("-o")
        command[at:at + 2] = []
        command[command.index("-c")] = "-E"
        return run(*command, *flags, cwd=self.directory)

    def features_of(self, source):
        """The features whose constants a file uses, itself or in its includes."""
        names, in_config = set(), False
        for line in self.preprocessed(source).splitlines():
            if line.startswith("# "):
                in_config = line.split('"')[1].endswith("/fovea_config.h")
            elif not in_config:
                names.update(re.findall(r"\bk[A-Z]\w*", line))
        return set().union(*(needs for name, needs in features_of_constants().items() if name in names))

    def left_out(self):
        """The features that the target's processor is without by default."""
        macros = self.preprocessed("core/attention/plan.cc", "-dM")
        return {name for name in features() if re.search(rf"^#define FOVEA_ENABLE_{name} 0$", macros, flags=re.M)}

    def objects(self, left_out=frozenset(), put_in=frozenset(), checks=True):
        """All object files. The other files that the compiler writes are next to them."""

        def compiled(source):
            flags = [f"-DFOVEA_ENABLE_{name}={int(name in put_in)}" for name in sorted((left_out | put_in) & self.needs[source])]
            flags += [] if checks else ["-DFOVEA_CHECKS=0"]
            if not flags:
                return Object(source, self.outputs[source])
            # Builds that differ in other features share the file. Its folder's name is the flags' digest.
            output = self.folder / hashlib.sha256(" ".join(flags).encode()).hexdigest()[:16] / f"{source}.o"
            if not output.exists() or output.stat().st_mtime < self.outputs[source].stat().st_mtime:
                output.parent.mkdir(parents=True, exist_ok=True)
                command = list(self.commands[source])
                command[command.index("-o") + 1] = output
                run(*command, *flags, cwd=self.directory)
            return Object(source, output)

        return list(self.pool.map(compiled, self.commands))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes all files of a release: release.py [--folder build/release] [--twice] [--go-on] [NAME...]

The release is the commit HEAD: what is changed but not committed is not in it. Names choose parts: source, one-file, arduino,
cmsis-pack, deb, wheel, library, abi, or library-PRESET for one processor; without names all are made, with SHA256SUMS and a list of
contents in SPDX's format. The same commit and compilers give the same bytes: --twice makes each part a second time, in another
folder and without a compiler cache, and compares. --go-on keeps the parts of this commit that were made before, so that what was
interrupted goes on where it was, and parts may be made one after the other. --since FILE compares the shared library's interface with FILE, the .abi of an earlier release, and fails where a
program that was compiled for that release would break. "./run release" installs the compilers that this needs.
"""
import argparse
import datetime
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path("platform/packages")
URL = "https://fovea.invalid"

# Presets of the prebuilt archives. Each is made twice: "all" is the fastest library with everything; "lean" is compiled for size,
# and has the lean configurations as well as the default one.
LIBRARIES = ("arm-none-eabi-cortex-m0plus", "arm-none-eabi-cortex-m33", "arm-none-eabi-cortex-m4f", "arm-none-eabi-cortex-m7",
             "arm-none-eabi-cortex-m55", "aarch64-bare-cortex-a53", "aarch64-linux-gnu", "armv7-linux-gnueabihf-neon", "riscv64-linux-gnu")
KINDS = {"all": ["-DCMAKE_BUILD_TYPE=Release", "-DFOVEA_LEAN="],
         "lean": ["-DCMAKE_BUILD_TYPE=MinSizeRel", "-DFOVEA_LEAN=minimal;streaming;int8"]}
ALONE = ["-DFOVEA_BUILD_TESTS=OFF", "-DFOVEA_BUILD_BENCH=OFF", "-DFOVEA_BUILD_EXAMPLES=OFF"]

# Processors of wheels and Debian packages: toolchain file, or "" for this machine's own compiler; name in Debian.
SYSTEMS = {"x86_64": ("", "amd64"), "aarch64": ("aarch64-linux-gnu", "arm64")}
OLDEST_GLIBC = 2, 17  # manylinux2014
PYTHON_PACKAGES = "scikit-build-core==1.1.2", "wheel==0.45.1"


def run(*command, cwd=ROOT, **environment):
    done = subprocess.run(list(map(str, command)), cwd=cwd, env={**os.environ, **environment}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stdout[-4000:]}")
    return done.stdout


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


class Release:
    """The files of one commit's release, made in a folder."""

    def __init__(self, folder, seconds, environment, go_on):
        self.work, self.out, self.made = folder / "work", folder / "files", folder / "made"
        commit = folder / "commit"
        head = run("git", "rev-parse", "HEAD")
        if not (go_on and commit.exists() and commit.read_text() == head):
            shutil.rmtree(folder, ignore_errors=True)
        self.out.mkdir(parents=True, exist_ok=True)
        self.made.mkdir(exist_ok=True)
        self.seconds = seconds
        self.environment = {"SOURCE_DATE_EPOCH": str(seconds), "LC_ALL": "C", "TZ": "UTC", **environment}
        self.source = self.work / "source"
        if not commit.exists():
            self.source.mkdir(parents=True)
            archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
            with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
                tar.extractall(self.source)
            commit.write_text(head)
        header = (self.source / "lib/include/fovea/base.h").read_text()
        self.version = re.search(r'^#define FOVEA_VERSION_TEXT "(.*?)"', header, flags=re.M)[1]
        self.name = f"fovea-{self.version}"
        self.date = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)

    def run(self, *command, cwd=None, **environment):
        return run(*command, cwd=cwd or self.source, **{**self.environment, **environment})

    def tar(self, name, folder):
        """name.tar.gz, of a folder that unpacks to name/."""
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for path in files_of(folder):
                info = tarfile.TarInfo(f"{name}/{path.relative_to(folder).as_posix()}")
                info.size, info.mtime = path.stat().st_size, self.seconds
                info.mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
                with path.open("rb") as file:
                    tar.addfile(info, file)
        (self.out / f"{name}.tar.gz").write_bytes(gzip.compress(data.getvalue(), 9, mtime=0))

    def zip(self, file, folder, prefix=""):
        with zipfile.ZipFile(self.out / file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for path in files_of(folder):
                info = zipfile.ZipInfo(prefix + path.relative_to(folder).as_posix(), self.date.timetuple()[:6])
                info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o100644 << 16
                archive.writestr(info, path.read_bytes())

    def cmake(self, build, *arguments, preset=None, **environment):
        first = ["--preset", preset] if preset else []
        self.run("cmake", "-S", self.source, *first, "-B", build, *ALONE, *arguments, **environment)
        self.run("cmake", "--build", build, "--parallel", os.cpu_count() or 1, **environment)

    def make(self, part):
        """Makes a part, if it was not made before."""
        done = self.made / part
        if not done.exists():
            name, _, preset = part.partition("library-")
            if preset:
                self.make_library(preset)
            else:
                getattr(self, f"make_{name.replace('-', '_')}")()
            done.touch()

    # The parts.

    def make_source(self):
        self.tar(self.name, self.source)

    def one_file(self, folder, *arguments):
        self.run(sys.executable, HERE / "amalgamate.py", folder, *arguments)
        return folder

    def make_one_file(self):
        folder = self.one_file(self.work / "one-file")
        shutil.copy(self.source / "LICENSE", folder)
        self.zip(f"{self.name}-one-file.zip", folder, "fovea/")

    def make_arduino(self):
        one_file = self.one_file(self.work / "arduino-one-file", "--source", "fovea.cpp")
        self.run(sys.executable, HERE / "arduino/make_library.py", one_file, self.work / "arduino", "--url", URL)
        self.zip(f"{self.name}-arduino.zip", self.work / "arduino", "fovea/")

    def make_cmsis_pack(self):
        made, unpacked = self.work / "cmsis-pack", self.work / "cmsis-pack-files"
        self.run(sys.executable, HERE / "cmsis-pack/make_pack.py", made, "--url", f"{URL}/", "--date", self.date.date().isoformat())
        pack, = made.glob("*.pack")
        with zipfile.ZipFile(pack) as archive:
            archive.extractall(unpacked)
        self.zip(pack.name, unpacked)

    def make_deb(self):
        for toolchain, architecture in SYSTEMS.values():
            build = self.work / f"deb-{architecture}"
            self.cmake(build, "-DFOVEA_LEAN=minimal;streaming;int8", preset=toolchain or "host")
            self.run("cpack", "-G", "DEB", "-D", f"CPACK_DEBIAN_PACKAGE_ARCHITECTURE={architecture}", cwd=build)
            deb, = build.glob("*.deb")
            shutil.copy(deb, self.out / deb.name.replace("~", "-"))  # of assets GitHub changes the first

    def make_wheel(self):
        environment = self.work.parent.parent / "release-python"
        python = environment / "bin/python"
        if not python.exists():
            run(sys.executable, "-m", "venv", environment)
            run(python, "-m", "pip", "install", "--disable-pip-version-check", "--only-binary", ":all:", *PYTHON_PACKAGES)
        for system, (toolchain, _) in SYSTEMS.items():
            made, variables = self.work / f"wheel-{system}", {"_PYTHON_HOST_PLATFORM": f"linux-{system}"}
            if toolchain:
                variables["CMAKE_TOOLCHAIN_FILE"] = str(self.source / f"toolchains/{toolchain}.cmake")
            self.run(python, "-m", "pip", "wheel", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "-w", made,
                     self.source, **variables)
            wheel, = made.glob("*.whl")
            check_platform_tag(wheel)
            tag = f"manylinux_{OLDEST_GLIBC[0]}_{OLDEST_GLIBC[1]}_{system}.manylinux2014_{system}"
            self.run(python, "-m", "wheel", "tags", "--platform-tag", tag, wheel)
            shutil.copy(next(made.glob("*manylinux*.whl")), self.out)

    def make_library(self, preset):
        for kind, arguments in KINDS.items():
            name = f"{self.name}-{preset}-{kind}"
            build, installed = self.work / name, self.work / f"{name}-files"
            self.cmake(build, *arguments, preset=preset)
            self.run("cmake", "--install", build, "--prefix", installed)
            self.tar(name, installed)

    def make_abi(self):
        """What the shared library for x86-64 exports, with the types of arguments: what abidiff compares the next release with."""
        build = self.work / "abi"
        self.cmake(build, "-DBUILD_SHARED_LIBS=ON", "-DFOVEA_SIMD=scalar", "-DCMAKE_CXX_FLAGS=-g1 -g", preset="host")
        library, written = next(build.glob("lib/libfovea.so.*.*")), build / "library.abi"
        self.run("abidw", "--headers-dir", self.source / "lib/include", "--drop-private-types", "--no-show-locs", "--no-corpus-path",
                 "--no-comp-dir-path", "--out-file", written, library)
        # The names of source files without the folder where they were compiled, which ccache makes relative, too.
        text, paths = re.subn(r"path='[^']*/lib/src/", "path='lib/src/", written.read_text())
        if not paths or str(self.work) in text:
            sys.exit(f"{written} names files in another way than abidw did")
        (self.out / f"{self.name}.abi").write_text(text)

    def write_contents(self):
        """SHA256SUMS, and the release in SPDX's format: its files, and what it was compiled with."""
        contents = f"{self.name}.spdx.json", "SHA256SUMS"
        sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files_of(self.out) if path.name not in contents}
        headers = {"highway": ("hwy/base.h", "Apache-2.0 OR BSD-3-Clause"), "xsimd": ("xsimd/xsimd.hpp", "BSD-3-Clause")}
        package = {"SPDXID": "SPDXRef-fovea", "name": "fovea", "versionInfo": self.version, "downloadLocation": URL,
                   "filesAnalyzed": False, "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
                   "copyrightText": "NOASSERTION"}
        packages = [package] + [
            {**package, "SPDXID": f"SPDXRef-{name}", "name": name, "versionInfo": version_of(name), "downloadLocation": "NOASSERTION",
             "licenseConcluded": licence, "licenseDeclared": licence} for name, (_, licence) in headers.items()]
        files = [{"SPDXID": f"SPDXRef-file-{number}", "fileName": f"./{name}",
                  "checksums": [{"algorithm": "SHA256", "checksumValue": value}], "licenseConcluded": "Apache-2.0",
                  "copyrightText": "NOASSERTION"} for number, (name, value) in enumerate(sums.items())]
        relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-fovea")]
        relations += [(f"SPDXRef-{name}", "BUILD_DEPENDENCY_OF", "SPDXRef-fovea") for name in headers]
        relations += [("SPDXRef-fovea", "CONTAINS", file["SPDXID"]) for file in files]
        all_files = hashlib.sha256("".join(sums.values()).encode()).hexdigest()
        document = {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": self.name,
                    "documentNamespace": f"{URL}/spdx/{self.name}-{all_files}",
                    "creationInfo": {"created": self.date.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: release.py"]},
                    "packages": packages, "files": files,
                    "relationships": [{"spdxElementId": left, "relationshipType": kind, "relatedSpdxElement": right}
                                      for left, kind, right in relations]}
        text = json.dumps(document, indent=1) + "\n"
        (self.out / contents[0]).write_text(text)
        sums[contents[0]] = hashlib.sha256(text.encode()).hexdigest()
        (self.out / contents[1]).write_text("".join(f"{value}  {name}\n" for name, value in sorted(sums.items())))


def version_of(name):
    """The version of a library of headers that Debian has, whose functions are compiled into fovea's."""
    package = {"highway": "libhwy-dev", "xsimd": "libxsimd-dev"}[name]
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], stdout=subprocess.PIPE, text=True)
    return done.stdout if done.returncode == 0 else "NOASSERTION"


def check_platform_tag(wheel):
    """The library in a wheel runs wherever its platform tag says: it needs the C library alone, and old functions of it."""
    with zipfile.ZipFile(wheel) as archive:
        name, = (one for one in archive.namelist() if one.endswith("libfovea.so"))
        library = wheel.parent / "libfovea.so"
        library.write_bytes(archive.read(name))
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", library)))
    versions = set(re.findall(r": +Name: (\w+?)_([0-9.]+)", run("readelf", "-V", library)))
    late = {f"{kind} {version}" for kind, version in versions if kind != "GLIBC" or tuple(map(int, version.split("."))) > OLDEST_GLIBC}
    wrong = sorted(one for one in needed if not re.fullmatch(r"lib[cm]\.so\.6|ld-linux.*", one)) + sorted(late)
    if wrong:
        sys.exit(f"{wheel.name} needs {', '.join(wrong)}: it is no wheel for manylinux")


def compare_interfaces(old, new):
    """Functions and enumerators may be added; abidiff's status has a bit for each kind of change, and 8 is an incompatible one."""
    done = subprocess.run(["abidiff", "--no-added-syms", old, new], text=True, stdout=subprocess.PIPE)
    print(done.stdout, end="")
    if done.returncode:
        sys.exit(f"programs that were compiled for {old.name} break")
    print(f"programs that were compiled for {old.name} run")


def difference(one, other):
    """Names of files that are not the same in both folders."""
    files = [{path.name: path.read_bytes() for path in files_of(folder)} for folder in (one, other)]
    return sorted(name for name in files[0].keys() | files[1].keys() if files[0].get(name) != files[1].get(name))


def make(folder, parts, twice, go_on):
    """The first release, of which each part was made again if `twice`."""
    seconds = int(run("git", "log", "-1", "--format=%ct"))
    releases = [Release(folder / "first", seconds, {}, go_on)]
    if twice:
        releases.append(Release(folder / "the second one", seconds, {"CCACHE_DISABLE": "1"}, go_on))
    for part in parts:
        print(f"== {part}", flush=True)
        for release in releases:
            release.make(part)
    for release in releases:
        release.write_contents()
    if twice:
        differ = difference(releases[0].out, releases[1].out)
        if differ:
            sys.exit(f"made twice, these differ: {', '.join(differ)}")
        print("made twice, with the same bytes")
    return releases[0]


def chosen(names, parser):
    """The parts of these names, or all: library is one for each preset."""
    every = {name[5:].replace("_", "-"): [name[5:].replace("_", "-")] for name in vars(Release) if name.startswith("make_")}
    every["library"] = [f"library-{preset}" for preset in LIBRARIES]
    every.update({part: [part] for part in every["library"]})
    unknown = sorted(set(names) - set(every))
    if unknown:
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(every)}")
    return [part for name in names or (name for name in every if not name.startswith("library-")) for part in every[name]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--twice", action="store_true")
    parser.add_argument("--go-on", action="store_true")
    parser.add_argument("--since", type=pathlib.Path)
    parser.add_argument("parts", nargs="*", metavar="NAME")
    options = parser.parse_args()
    release = make(options.folder.resolve(), chosen(options.parts, parser), options.twice, options.go_on)
    if options.since:
        compare_interfaces(options.since, release.out / f"{release.name}.abi")
    print((release.out / "SHA256SUMS").read_text(), end="")


if __name__ == "__main__":
    main()

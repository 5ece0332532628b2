#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of the pages of platform/boards, and what they build in emulators: check_boards.py [--own-library] [FOLDER...]

FOLDER is one of platform/boards; without any, all but those of --linux.

Projects that need an SDK get a stub of it (tests/boards), and are compiled for an emulator's Cortex-M4F; there the self-test must
give the published bits. The STM32F411 runs on QEMU's STM32F405, and prints by its UART. Of the STM32F767 and H743 the image is
checked. Of the i.MX RT1060 what its ROM reads is checked; without its devices it runs on QEMU's board with a Cortex-M7, whose memory
has the same addresses.

All are linked with one library, compiled for a Cortex-M4F, which a Cortex-M7 runs, too. With --own-library the projects of chips
compile their own, as a user's do: then kernels of the i.MX are in its tightly coupled memory.
--linux checks raspberry_pi and riscv alone, which compile whole libraries, here with scalar kernels: those with vectors are tested
by ./run cross.
"""
import argparse
import os
import struct
import subprocess
import sys
import threading

import check_pages

ROOT = check_pages.ROOT
WORK = ROOT / "build" / "boards"
STUBS = ROOT / "tests" / "boards"
LIBRARY = ROOT / "build" / "boards_library"  # where ccache finds what other stages compiled
INSTALLED = LIBRARY / "installed"
BARE, SDKS, LINUX = ["imxrt", "stm32"], ["esp-idf", "pico", "zephyr"], ["raspberry_pi", "riscv"]
END = '"bench": "done"}'
MOST_SECONDS = 120
QEMU_BOARD = [ROOT / "toolchains" / "common" / "qemu-system.sh", "qemu-system-arm", "-M"]
NO_WINDOW = ["-nodefaults", "-nographic", "-monitor", "none", "-serial"]
# Chip: where the flash with the vectors begins, where the RAM with the stack does, and its bytes.
MEMORY = {"stm32f411": (0x08000000, 0x20000000, 128 << 10), "stm32f767": (0x08000000, 0x20020000, 368 << 10),
          "stm32h743": (0x08000000, 0x24000000, 512 << 10), "imxrt": (0x60002000, 0x20000000, 128 << 10)}


def expect(condition, text):
    if not condition:
        sys.exit(text)


def quietly(*command, **options):
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    expect(result.returncode == 0, f"{result.stdout[-6000:]}\nended with {result.returncode}: {' '.join(map(str, command))}")
    return result.stdout


def build_library():
    quietly("cmake", "-S", ROOT, "-B", LIBRARY, "--toolchain", ROOT / "toolchains" / "arm-none-eabi-cortex-m4f.cmake",
            "-DCMAKE_BUILD_TYPE=MinSizeRel", "-DFOVEA_BUILD_TESTS=OFF", "-DFOVEA_BUILD_BENCH=OFF", "-DFOVEA_BUILD_EXAMPLES=OFF",
            "-DFOVEA_LEAN=", f"-DCMAKE_INSTALL_PREFIX={INSTALLED}")
    quietly("cmake", "--build", LIBRARY, "--parallel", os.cpu_count() or 1)
    quietly("cmake", "--install", LIBRARY)


def environment(own_library, scalar=False):
    """That of a user who has the SDKs: stubs of them, and of their commands."""
    result = dict(check_pages.environment_with_cmake() if scalar else os.environ, CMAKE_BUILD_PARALLEL_LEVEL=str(os.cpu_count() or 1), PICO_SDK_PATH=str(STUBS / "pico"), IDF_PATH=str(STUBS / "esp-idf"),
                  ZEPHYR_BASE=str(STUBS / "zephyr"), FOVEA_BOARD_CASES="16x64")
    result["PATH"] = f"{STUBS / 'bin'}:{result['PATH']}"
    if not own_library:
        result["CMAKE_PREFIX_PATH"] = str(INSTALLED)
    return result


def run(name, *command):
    """Runs a program until the line that it prints last; it may go on for ever after that."""
    with subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as process:
        timer = threading.Timer(MOST_SECONDS, process.kill)
        timer.start()
        lines = []
        for line in process.stdout:
            lines.append(line.rstrip())
            if lines[-1].endswith(END):
                break
        timer.cancel()
        process.kill()
    text = "\n".join(lines)
    expect(lines and lines[-1].endswith('"selftest": "same bits", ' + END), f"{text[-4000:]}\n{name}: did not end well")
    expect('{"board": ' in text and '"name": "board/16x64"' in text, f"{text}\n{name}: lines are missing")
    print(f"{name}: the self-test gives the same bits", flush=True)


def check_image(name, image, offset=0):
    """The vectors are where the chip begins, and name a stack and code in its memory."""
    flash, ram, ram_bytes = MEMORY[name]
    stack, reset = struct.unpack_from("<II", image, offset)
    expect(ram < stack <= ram + ram_bytes, f"{name}: the stack begins at {stack:#x}")
    expect(flash < reset < flash + len(image) and reset & 1, f"{name}: reset is at {reset:#x}")
    print(f"{name}: the image has its vectors", flush=True)


def check_boot(image):
    """What the ROM of an i.MX RT1060 reads. The numbers are those of NXP's manual."""
    expect(image[:4] == b"FCFB", f"imxrt: the flash's configuration begins with {image[:4]}")
    expect(struct.unpack_from("<II", image, 0x80) == (0x0a1804eb, 0x26043206), "imxrt: the read sequence is another")
    header, entry, _, device, data, self, _, _ = struct.unpack_from("<8I", image, 0x1000)
    expect((header, entry, device, self) == (0x412000d1, 0x60002000, 0, 0x60001000), "imxrt: the table of the image is wrong")
    begin, size, plugin = struct.unpack_from("<III", image, data - 0x60000000)
    expect((begin, size, plugin) == (0x60000000, len(image), 0), f"imxrt: the boot data say {size} bytes of {len(image)}")


def check_imxrt(build, own_library, folder, variables):
    image = (build / "imxrt" / "fovea_board.bin").read_bytes()
    check_image("imxrt", image, 0x2000)
    check_boot(image)
    # Without its devices. The ROM's part: two vectors are read at address 0.
    other = build / "imxrt-no-devices"
    quietly("cmake", "-S", "platform/boards/imxrt", "-B", other, f"-DDEVICES={STUBS / 'no_devices.cc'}", "-DCONSOLE=semihosting",
            cwd=folder, env=variables)
    quietly("cmake", "--build", other, env=variables)
    elf = other / "fovea_board.elf"
    sections = quietly("arm-none-eabi-size", "-A", elf)
    in_itcm = int(next(line.split()[1] for line in sections.splitlines() if line.startswith(".itcm")))
    expect((in_itcm > 10000) == own_library, f"imxrt: {in_itcm} bytes are in tightly coupled memory")
    vectors = other / "vectors.bin"
    vectors.write_bytes((other / "fovea_board.bin").read_bytes()[0x2000:0x2008])
    run("imxrt", "qemu-system-arm", "-M", "mps2-an500", *NO_WINDOW, "none", "-semihosting-config", "enable=on,target=native,arg=fovea_board",
        "-device", f"loader,file={elf}", "-device", f"loader,file={vectors},addr=0,force-raw=on")


def check(name, own_library, folder):
    variables = environment(own_library, scalar=name in LINUX)
    check_pages.check(f"platform/boards/{name}/README.md", folder, variables)
    build = folder / "build"
    if name == "imxrt":
        check_imxrt(build, own_library, folder, variables)
    elif name == "stm32":
        for chip in ("stm32f411", "stm32f767", "stm32h743"):
            check_image(chip, (build / chip / "fovea_board.bin").read_bytes())
        run("stm32f411", "qemu-system-arm", "-M", "netduinoplus2", *NO_WINDOW, "null", "-serial", "stdio", "-kernel",
            build / "stm32f411" / "fovea_board.elf")
    elif name in SDKS:
        for program in {"esp-idf": ["esp32s3/fovea_board.elf"], "pico": ["pico/fovea_board.elf", "pico2/fovea_board.elf"],
                        "zephyr": ["zephyr/app.elf"]}[name]:
            run(program.split("/")[0], *QEMU_BOARD, "mps2-an386", "--", build / program)
    else:
        preset, models = {"raspberry_pi": ("aarch64-linux-gnu", ["qemu-aarch64 -cpu cortex-a53", "qemu-aarch64 -cpu cortex-a72",
                                                                 "qemu-aarch64 -cpu cortex-a76"]),
                          "riscv": ("riscv64-linux-gnu-rvv256", ["qemu-riscv64 -cpu rv64,v=true,vlen=256,vext_spec=v1.0"])}[name]
        for model in models:
            printed = quietly(*model.split(), build / preset / "examples" / "selftest" / "fovea_selftest")
            quietly(*model.split(), build / preset / "bench" / "fovea_bench", "--filter", "^board/16x64$", "--min-time", "0.001")
            print(f"{model}: {printed.splitlines()[-1]}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--own-library", action="store_true")
    parser.add_argument("--linux", action="store_true")
    parser.add_argument("folders", nargs="*", metavar="FOLDER", choices=[[], *BARE, *SDKS, *LINUX])
    options = parser.parse_args()
    check_pages.WORK = WORK
    folder = check_pages.copy_of_tree()
    names = options.folders or (LINUX if options.linux else BARE if options.own_library else SDKS + BARE)
    if not options.own_library and set(names) - set(LINUX):
        build_library()
    for name in names:
        check(name, options.own_library or name in LINUX, folder)


if __name__ == "__main__":
    main()

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the package of each channel in platform/packages and runs a user's program with it: check_packages.sh [channel...]
# If a channel's own tools are not on PyPI, stubs of the functions that they provide replace them: see tests/packages.
# The backend is scalar, which compiles fastest. All files are written to build/packages.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$PWD/build/packages source=$PWD/build/packages/source venv=$PWD/build/venv-packages
stubs=$source/tests/packages
channels=(arduino cmsis-pack conan deb esp-idf meson platformio python vcpkg zephyr)
export CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
scalar=-DFOVEA_WITH_SCALAR=1
. toolchains/commands.sh
log=$work/log

# Installs what the checks need, from apt and PyPI; copies the tree as in a release, without files of builds and editors.
setup() {
  mkdir -p "$work"
  ./run setup gcc-arm-none-eabi gcc-xtensa-lx106 libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib
  [ "$venv/ready" -nt tests/packages/requirements.txt ] || {
    python3 -m venv --clear "$venv" || { echo "please install Python 3.11 or later with its modules venv and pip (python3-venv)"; return 1; }
    quietly "$venv/bin/pip" install --disable-pip-version-check --only-binary :all: -r tests/packages/requirements.txt
    touch "$venv/ready"
  }
  PATH=$venv/bin:$PATH
  rm -rf "$source"
  mkdir -p "$source"
  git ls-files -z --cached --others --exclude-standard | tar -c --null --ignore-failed-read -T - | tar -x -C "$source"
  local language
  for language in c cpp; do
    block "example: $language" >"$work/readme.$language"
    block "output: $language" >"$work/readme.$language.txt"
  done
}

# Prints the fenced block after <!-- mark --> in README.md.
block() {
  awk -v mark="<!-- $1 -->" 'index($0, mark) { found = 1 } /^```/ && found { if (inside) exit; inside = 1; next } inside' README.md
}

# prints_as_readme <c or cpp> <program>: runs a program of the README, which must print the README's output.
prints_as_readme() {
  "${@:2}" | diff "$work/readme.$1.txt" -
}

# Runs the commands of a channel's page in the copy of the tree.
page() { quietly tests/scripts/check_pages.py --in "$source" "platform/packages/$1/README.md"; }

fresh() { rm -rf "${work:?}/$1" && mkdir -p "$work/$1"; }

# Compiles for bare Arm as an IDE with default flags does.
for_cortex_m4f() { # <flags and files>
  arm-none-eabi-g++ -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -std=gnu++17 -fno-exceptions -fno-rtti "$@"
}
# The same for an ESP8266, whose compiler is the most similar one in Debian to an ESP32's; it has no C library.
for_xtensa() { xtensa-lx106-elf-g++ -ffreestanding -mlongcalls -std=gnu++17 -fno-exceptions -fno-rtti "$@"; }

check_arduino() {
  fresh arduino
  page amalgamation
  page arduino
  local library=$source/build/arduino/fovea
  grep -q '^url=https://example.com/fovea$' "$library/library.properties"
  # In parallel with the host's compiler, because each compiles one large file.
  (for_cortex_m4f -Os -c "$library/src/fovea.cpp" -o "$work/arduino/cortex_m4f.o" &&
    for_xtensa -Os -c "$library/src/fovea.cpp" -o "$work/arduino/xtensa.o") >"$work/arduino/boards.log" 2>&1 &
  local boards=$!
  quietly c++ -std=gnu++17 -O1 -I"$library/src" -I"$stubs/arduino" "$library/src/fovea.cpp" "$stubs/arduino/main.cc" \
    -include Arduino.h -x c++ "$library/examples/Attention/Attention.ino" -o "$work/arduino/example"
  prints_as_readme c "$work/arduino/example"
  # The same in the configuration minimal, whose object alone is linked.
  quietly c++ -std=gnu++17 -O1 -I"$library/src" -I"$stubs/arduino" "$library/src/fovea_minimal.cpp" "$stubs/arduino/main.cc" \
    -include fovea/lean/minimal.h -include Arduino.h -x c++ "$library/examples/Attention/Attention.ino" -o "$work/arduino/minimal"
  prints_as_readme c "$work/arduino/minimal"
  wait $boards || { tail -n 60 "$work/arduino/boards.log"; return 1; }
}

check_cmsis-pack() {
  fresh cmsis-pack
  page cmsis-pack
  python3 "$stubs/cmsis-pack/sources_of_pack.py" "$source"/build/pack/fovea.fovea.*.pack "$work/cmsis-pack/unpacked" \
    >"$work/cmsis-pack/sources"
  # Not linked: only the list of files and the flags of the pack can be wrong.
  sed "s|^|$work/cmsis-pack/unpacked/|" "$work/cmsis-pack/sources" >"$work/cmsis-pack/paths"
  (cd "$work/cmsis-pack" && quietly for_cortex_m4f -fsyntax-only -Iunpacked/lib/include -Iunpacked/lib/src @paths)
}

check_conan() {
  fresh conan
  export CONAN_HOME=$work/conan
  page conan
}

# Unpacks the package into an empty folder, and uses it by pkg-config.
check_deb() {
  command -v dpkg-deb >/dev/null || { echo "skipped: there is no dpkg-deb"; return 0; }
  fresh deb
  page deb
  # A shared library is in a package of its own, which the other one needs.
  quietly cmake -S "$source" -B "$source/build/deb-shared" -DBUILD_SHARED_LIBS=ON -DFOVEA_SIMD=scalar -DFOVEA_OPERATORS=attention
  quietly cmake --build "$source/build/deb-shared"
  (cd "$source/build/deb-shared" && quietly cpack -G DEB)
  dpkg-deb --field "$source"/build/deb-shared/libfovea-dev_*.deb Depends | grep '^libfovea1 (= '
  local build flags package
  for build in deb deb-shared; do
    for package in "$source/build/$build"/*.deb; do
      dpkg-deb --field "$package" Package Version Maintainer Section | paste -s -d ' '
      dpkg-deb -x "$package" "$work/deb/$build"
    done
    flags=$(PKG_CONFIG_PATH=$(dirname "$(find "$work/deb/$build" -name fovea.pc)") pkg-config --cflags --libs fovea)
    # shellcheck disable=SC2086  # flags, one word each
    cc "$work/readme.c" $flags -o "$work/deb/example"
    LD_LIBRARY_PATH=$(dirname "$(find "$work/deb/$build" -name 'libfovea.so.1')") prints_as_readme c "$work/deb/example"
  done
}

check_esp-idf() {
  fresh esp-idf
  page esp-idf
  quietly compote manifest lint "$source/idf_component.yml"
  quietly compote manifest lint "$source/build/project/idf_component.yml"
  quietly python "$stubs/esp-idf/sources_of_dependencies.py" "$source/build/project/idf_component.yml"
  (cd "$source" && quietly compote component pack --name fovea --dest-dir "$work/esp-idf/packed")
  mkdir "$work/esp-idf/component"
  tar -xf "$work"/esp-idf/packed/fovea_*.tgz -C "$work/esp-idf/component"
  quietly cmake -DESP_PLATFORM=1 -DCOMPONENT_DIR="$work/esp-idf/component" -P "$stubs/esp-idf/requirements.cmake"
  quietly cmake -S "$stubs/esp-idf" -B "$work/esp-idf/build" -DFOVEA_SOURCE_DIR="$work/esp-idf/component" \
    -DEXAMPLE_DIR="$work" -DCMAKE_CXX_FLAGS="-O1 $scalar"
  quietly cmake --build "$work/esp-idf/build"
  prints_as_readme c "$work/esp-idf/build/app"
}

check_meson() {
  fresh meson
  page meson
  cp "$stubs/meson/meson.build" "$work/readme.c" "$work/meson/"
  mkdir "$work/meson/subprojects"
  ln -s "$source" "$work/meson/subprojects/fovea"
  quietly meson setup "$work/meson/build" "$work/meson" --wrap-mode=nodownload -Dfovea:simd=scalar
  quietly meson test -C "$work/meson/build"
  prints_as_readme c "$work/meson/build/example"
}

check_platformio() {
  fresh platformio
  page platformio
  cp -R "$stubs/platformio/." "$work/platformio"
  mkdir -p "$work/platformio/project/src" "$work/platformio/project/lib"
  cp "$work/readme.c" "$work/platformio/project/src/main.c"
  export PLATFORMIO_CORE_DIR=$work/platformio PLATFORMIO_SETTING_ENABLE_TELEMETRY=no PLATFORMIO_SETTING_CHECK_PLATFORMIO_INTERVAL=9999
  # Packed as for the registry, but without the name of the licence, which pio would look up online.
  grep -v '"license"' "$source/library.json" >"$work/platformio/library.json"
  cp "$work/platformio/library.json" "$source/library.json"
  quietly pio pkg pack "$source" -o "$work/platformio/fovea.tar.gz"
  mkdir "$work/platformio/project/lib/fovea"
  tar -xf "$work/platformio/fovea.tar.gz" -C "$work/platformio/project/lib/fovea"
  quietly pio run -d "$work/platformio/project"
  prints_as_readme c "$work/platformio/project/.pio/build/native/program"
}

check_python() {
  fresh python
  page python
  quietly pip wheel "$source" --no-deps --no-build-isolation --config-settings cmake.define.FOVEA_SIMD=scalar -w "$work/python"
  quietly pip install --no-deps --target "$work/python/installed" "$work"/python/fovea_attention-*.whl
  [ -f "$work/python/installed/fovea/py.typed" ] && [ -f "$work/python/installed/fovea/torch.pyi" ]
  PYTHONPATH=$work/python/installed python "$source/platform/packages/python/tests/test_fovea.py"
  PYTHONPATH=$work/python/installed python "$source/platform/packages/python/tests/test_layers.py"
  PYTHONPATH=$work/python/installed python "$source/platform/packages/python/tests/hostile_arrays.py"
}

check_vcpkg() {
  fresh vcpkg
  page vcpkg
  quietly cmake -DPORT_DIR="$source/platform/packages/vcpkg/fovea" -DWORK="$work/vcpkg" -P "$stubs/vcpkg/install.cmake"
  quietly cmake -S "$source/tests/consumer" -B "$work/vcpkg/consumer" -DCMAKE_PREFIX_PATH="$work/vcpkg/packages"
  quietly cmake --build "$work/vcpkg/consumer"
  "$work/vcpkg/consumer/consumer"
}

check_zephyr() {
  fresh zephyr
  page zephyr
  cat "$source/build/prj.conf" "$stubs/zephyr/prj.conf" >"$work/zephyr/prj.conf"
  FOVEA_KCONFIG=$source/platform/packages/zephyr/Kconfig "$stubs/zephyr/configuration.py" "$stubs/zephyr/Kconfig" \
    "$work/zephyr/prj.conf" >"$work/zephyr/configuration.cmake"
  quietly cmake -S "$stubs/zephyr" -B "$work/zephyr/build" -DFOVEA_SOURCE_DIR="$source" -DEXAMPLE_DIR="$work" \
    -DCONFIGURATION="$work/zephyr/configuration.cmake" -DCMAKE_CXX_FLAGS="-O1 $scalar"
  quietly cmake --build "$work/zephyr/build"
  prints_as_readme c "$work/zephyr/build/app"
}

setup
python3 tests/scripts/check_manifests.py
failed=()
for channel in "${@:-${channels[@]}}"; do
  start=$SECONDS
  result=passed
  set +e  # so that a failure does not end this script; in a condition, a failure would not end the check
  (set -e; "check_$channel")
  status=$?
  set -e
  [ $status = 0 ] || { result=failed; failed+=("$channel"); }
  printf '%-12s %s, %d s\n' "$channel" "$result" $((SECONDS - start))
done
[ ${#failed[@]} = 0 ]

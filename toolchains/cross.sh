# SPDX-License-Identifier: Apache-2.0
#
# ./run cross: builds for other processors, and tests in emulators. The script run includes this file, and has the functions setup
# and build, and those of toolchains/commands.sh.

# A newer QEMU than the system's, which toolchains/common/qemu-new.sh runs: of Debian's backports, unpacked into build/qemu-new. The
# system's packages, and its list of those that there are, stay as they are.
qemu_new=build/qemu-new
has_qemu_new() { [ -x $qemu_new/files/usr/bin/qemu-system-arm ]; }
setup_qemu_new() {
  local suite keys=/usr/share/keyrings/debian-archive-keyring.gpg apt file
  has_qemu_new && return 0
  suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release 2>/dev/null)-backports
  if ! has apt-get || [ ! -f $keys ]; then
    say "skipped: qemu-new, which Debian's backports have; what needs it is built, and not run"
    return 0
  fi
  mkdir -p $qemu_new/lists/partial $qemu_new/archives/partial
  echo "deb [signed-by=$keys] http://deb.debian.org/debian $suite main" >$qemu_new/sources.list
  apt=(-o "Dir::Etc::SourceList=$PWD/$qemu_new/sources.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$PWD/$qemu_new/lists"
    -o "Dir::Cache=$PWD/$qemu_new" -o APT::Sandbox::User=root -o Acquire::Languages=none)
  say "unpacking QEMU of $suite into $qemu_new"
  if quietly apt-get "${apt[@]}" update && (cd $qemu_new && apt-get "${apt[@]}" download "qemu-system-arm/$suite" "qemu-user/$suite") >>"$log" 2>&1; then
    for file in $qemu_new/*.deb; do dpkg -x "$file" $qemu_new/files; done
  else
    say "skipped: qemu-new: $suite could not be read ($log)"
  fi
}

# The list of "cross" for the files in toolchains/. The fields of a line are the file's name, the processor models that run its
# tests (host: this machine; none: only a build), and the packages that it needs, if any. Spaces separate them.
cross_targets() {
  local a64=g++-aarch64-linux-gnu
  local arm="gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib qemu-system-arm"
  cat <<TABLE
aarch64-bare-cortex-a53       cortex-a53                 $a64 picolibc-aarch64-linux-gnu qemu-system-arm
aarch64-linux-gnu             cortex-a53,cortex-a76,max  $a64 qemu-user
aarch64-linux-gnu-cortex-a53  cortex-a53                 $a64 qemu-user
aarch64-linux-gnu-cortex-a76  cortex-a76,max             $a64 qemu-user
arm-none-eabi-cortex-a15      cortex-a15                 $arm
arm-none-eabi-cortex-m0plus   cortex-m3                  $arm
arm-none-eabi-cortex-m3       cortex-m3                  $arm
arm-none-eabi-cortex-m33      cortex-m33                 $arm
arm-none-eabi-cortex-m4f      cortex-m4                  $arm
arm-none-eabi-cortex-m52      cortex-m55                 $arm
arm-none-eabi-cortex-m55      cortex-m55                 $arm
arm-none-eabi-cortex-m7       cortex-m7                  $arm
arm-none-eabi-cortex-m85      cortex-m55                 $arm
arm-none-eabi-cortex-r52      $(has_qemu_new && echo cortex-r52 || echo none)  $arm qemu-new
arm-none-eabi-cortex-r5f      cortex-r5f                 $arm
armv7-linux-gnueabihf-neon    cortex-a7                  g++-arm-linux-gnueabihf qemu-user
riscv32-bare-imc              rv32                       gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf libstdc++-arm-none-eabi-dev qemu-system-misc
riscv64-linux-gnu             rv64                       g++-riscv64-linux-gnu qemu-user
riscv64-linux-gnu-rvv128      rvv128                     clang-19 g++-riscv64-linux-gnu qemu-user
riscv64-linux-gnu-rvv256      rvv256                     clang-19 g++-riscv64-linux-gnu qemu-user
riscv64-linux-gnu-rvv256-zvfh $(has_qemu_new && echo rvv256_zvfh || echo none)  clang-19 g++-riscv64-linux-gnu qemu-user qemu-new
riscv64-linux-gnu-rvv512      rvv512                     clang-19 g++-riscv64-linux-gnu qemu-user
wasm32-emscripten             node                       emscripten
TABLE
  [ "$(uname -m)" != x86_64 ] || cat <<TABLE
x86-64-avx2                   host,Haswell               qemu-user
x86-64-avx512                 $(grep -qsw avx512vl /proc/cpuinfo && echo host || echo none)
x86-64-sse4                   host,Nehalem               qemu-user
x86_64-w64-mingw32            host                       g++-mingw-w64-x86-64-posix wine64
TABLE
}

cross_list() { cross_targets | awk '{ print $1 }'; }

cross_packages() { # [regular expression: only of the names that it matches]
  cross_targets | awk -v names="${1:-.}" '$1 ~ names { for (i = 3; i <= NF; ++i) print $i }' | sort -u
}

# Prints every ten seconds how many cases of <name> have ended, by its log since ctest began.
progress() { # <name>
  while sleep 10 >/dev/null && kill -0 $$ 2>/dev/null; do
    awk -v name="$1" '/^Test project / { of = done = 0 }
      /^[0-9]+: [0-9]+ cases .* to run$/ { of = $2; done = 0 }
      /^[0-9]+: [0-9.]+ s: / { ++done }
      END { if (of) print "   " name ": " done " of " of " cases so far" }' "build/$1.log"
  done
}

# cross <name> [cases]. With [cases], a tag as in [simd] or words of names, only these cases run, and no other test. Three
# environment variables: FOVEA_TEST_CASES also chooses cases, but the other tests still run; FOVEA_MODELS chooses the models;
# FOVEA_BUILD_TYPE is CMake's, as MinSizeRel, by which firmware is compiled.
cross() {
  local name=$1 cases=${FOVEA_TEST_CASES:-} only=() models packages model start reporter
  if [ -n "${2:-}" ]; then
    case $2 in *\[*) cases=$2 ;; *) cases="*$2*" ;; esac
    only=(--tests-regex '^fovea_tests$')
  fi
  read -r _ models packages < <(cross_targets | awk -v name="$name" '$1 == name') || {
    say "no such name; there are: $(cross_list | xargs)" >&2
    return 2
  }
  case $name in "$(uname -m)"-linux-*) models=host ;; esac
  models=${FOVEA_MODELS:-$models}
  # shellcheck disable=SC2086  # names, one word each
  setup $packages
  if [ "$models" = none ] && has_qemu_new; then models=$(cross_targets | awk -v name="$name" '$1 == name { print $2 }'); fi
  build "$name"
  for model in ${models//,/ }; do
    start=$SECONDS
    if [ "$model" != none ]; then
      log=build/$name.log configure "$name" "-DFOVEA_QEMU_CPU=${model#host}" "-DFOVEA_TEST_CASES=$cases"
      say "running the tests of $name on $model"
      progress "$name" &
      reporter=$!
      log=build/$name.log quietly ctest --test-dir "build/$name" --label-exclude slow --verbose ${only[@]+"${only[@]}"} || { kill $reporter; return 1; }
      kill $reporter
      python3 tests/scripts/show_skipped.py "build/$name"
    fi
    cross_summary "$name" "$model" $((SECONDS - start)) | tee -a build/cross.txt
  done
}

# Prints one line: name, target, backend, model, what was run. The numbers are from the output of CMake and the test program.
cross_summary() { # <name> <model> <seconds>
  local target log=build/$1/Testing/Temporary/LastTest.log ran="built only"
  target=$(sed -n 's/^-- fovea [0-9.]*: \([a-z]*\).* for \([a-z0-9]*\) alone:.*$/\2 (\1)/p' "build/$1.log" | tail -n 1)
  if [ "$2" != none ]; then
    ran=$(sed 's/\x1b\[[0-9;]*m//g' "$log" | sed -n \
      -e 's/^All tests passed (\([0-9]*\) assertions in \([0-9]*\) test cases)$/\2 cases, \1 assertions/p' \
      -e 's/^\([0-9]* cases\), \([0-9]*\) checks; failed: 0 cases, 0 checks$/\1, \2 assertions/p' | tail -n 1)
    ran="${ran:-no cases}, $(grep -c '^Test Passed' "$log") tests, $3 s"
  fi
  printf '%-29s %-17s %-11s %s\n' "$1" "$target" "$2" "$ran"
}

cross_all() {
  local name failed=()
  rm -f build/cross.txt
  for name in $(cross_list); do
    ./run cross "$name" || failed+=("$name")
  done
  say "summary"
  cat build/cross.txt
  [ ${#failed[@]} = 0 ] || { say "failed: ${failed[*]}"; return 1; }
}

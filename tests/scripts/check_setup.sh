#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Checks that "./run setup" removes no package: check_setup.sh <source> <work>. Scripts replace apt-get and dpkg-query: no package
# is installed; of those that are wanted one conflicts with a compiler of the user, and one is unknown.
set -eu
source=$1 work=$2
rm -rf "$work"
mkdir -p "$work/bin" "$work/tree"
(cd "$source" && cp --parents run toolchains/commands.sh toolchains/cross.sh "$work/tree/")
cat >"$work/bin/apt-get" <<'TEXT'
#!/bin/sh
echo "$*" >>"$CALLS"
case " $* " in
  *" unknown "*) exit 100 ;;
  *" --simulate "*) echo "Remv users-compiler [12.2.0-14]" ;;
  *" install "*" conflicting "*) exit 100 ;;
esac
TEXT
printf '#!/bin/sh\nexit 1\n' >"$work/bin/dpkg-query"
printf '#!/bin/sh\nexec "$@"\n' >"$work/bin/sudo"
chmod +x "$work/bin/"*
export CALLS="$work/calls"
PATH=$work/bin:$PATH "$work/tree/run" setup conflicting harmless unknown >"$work/out"

# expect <file> <regular expression> <what is wrong without it>
expect() {
  grep -q -e "$2" "$work/$1" || { echo "$3:"; cat "$work/$1"; exit 1; }
}
expect out "conflicting is not installed, since it conflicts with users-compiler;" "the conflict is not named"
expect out "unknown is not installed; going on" "the unknown package is not named"
expect calls "^install .* harmless$" "a package without a conflict is left out"
if grep -e "^install" "$work/calls" | grep -v -e --no-remove -e --simulate; then
  echo "these may remove packages"
  exit 1
fi
echo "apt-get was called $(wc -l <"$work/calls") times"

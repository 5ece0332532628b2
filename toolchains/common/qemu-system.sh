#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs a program for a machine without an operating system: qemu-system.sh <QEMU and its arguments> -- <program> <arguments>
# The program gets its arguments, writes and ends through semihosting; its status is this script's. Semihosting has one line for
# all arguments, so those with spaces are put in double quotes, as platform/bare/start.cc reads them. The environment variable
# FOVEA_QEMU_ARGS holds more arguments for QEMU.
set -eu
qemu=
while [ "$1" != -- ]; do
  qemu="$qemu $1"
  shift
done
program=$2
shift 2
semihosting=enable=on,target=native,arg=$(basename "$program")
for argument in "$@"; do
  case $argument in
    *\"*)
      echo "qemu-system.sh: an argument cannot hold a double quote: $argument" >&2
      exit 2
      ;;
    *' '* | '') argument=\"$argument\" ;;
  esac
  semihosting=$semihosting,arg=$(printf '%s' "$argument" | sed 's/,/,,/g')  # QEMU's way to write a comma
done
# shellcheck disable=SC2086  # arguments, one word each
exec $qemu ${FOVEA_QEMU_ARGS:-} -nodefaults -nographic -monitor none -serial none \
  -semihosting-config "$semihosting" -kernel "$program"

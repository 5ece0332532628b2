#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs a newer QEMU: qemu-new.sh <program> <arguments>. That which ./run setup qemu-new put into build/qemu-new, else the system's.
new=$(dirname "$0")/../../build/qemu-new/files/usr
[ ! -x "$new/bin/$1" ] || PATH=$new/bin:$PATH
exec "$@"

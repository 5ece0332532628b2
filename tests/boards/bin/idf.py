#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A stub: idf.py -C <project> -B <build> set-target <chip> | build
set -eu
[ "$1 $3" = "-C -B" ]
case $5 in
  set-target) cmake -S "$2" -B "$4" -DIDF_TARGET="$6" ;;
  build) cmake --build "$4" ;;
  *) exit 2 ;;
esac

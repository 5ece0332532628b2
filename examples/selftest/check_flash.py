#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a program needs more flash than given bytes: check_flash.py <size, of binutils> <program> <most bytes>"""
import subprocess
import sys

size, program, most = sys.argv[1:]
text, data = (int(number) for number in subprocess.check_output([size, program], text=True).splitlines()[1].split()[:2])
print(f"{text + data} bytes of flash, at most {most}")
sys.exit(text + data > int(most))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a configuration of Kconfig for CMake: FOVEA_KCONFIG=<the module's Kconfig> configuration.py <Kconfig> <prj.conf>"""
import sys

import kconfiglib

kconfig = kconfiglib.Kconfig(sys.argv[1])
kconfig.load_config(sys.argv[2])
if kconfig.warnings:
    sys.exit("\n".join(kconfig.warnings))
for symbol in kconfig.unique_defined_syms:
    if symbol.str_value == "y":
        print(f"set(CONFIG_{symbol.name} y)")

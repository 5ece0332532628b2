#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if ESP-IDF would look for a dependency under another owner's name: sources_of_dependencies.py <idf_component.yml>"""
import pathlib
import sys

from idf_component_tools.manager import ManifestManager

manifest = pathlib.Path(sys.argv[1])
for dependency in ManifestManager(str(manifest.parent), "main").load().raw_requirements:
    print(dependency.name, dependency.source)
    if dependency.name.startswith("espressif/"):
        sys.exit(f"{manifest}: in the registry this is Espressif's {dependency.name}")

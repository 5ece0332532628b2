# SPDX-License-Identifier: Apache-2.0
"""python -m fovea.selftest: whether this build, on this machine, gives the bits that all others give. Prints each call with its
digest; ends with 1 and the name of the first call that differs."""
import sys

from . import targets
from .published import calls


def main():
    count = 0
    for target in targets():
        for result in calls(target):
            print(f"{result.digest:016x}  {target}: {result.name}  (same for: {result.shared_by})")
            if result.digest != result.published:
                print(f"{result.published:016x}  is published\nDIFFERS: {result.name} on {target}")
                return 1
            count += 1
    print(f"{count} calls on {len(targets())} targets give the published bits")
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Whether this build, on this machine, gives the bits that all others give. selftest.h is the manual."""
import collections
import ctypes

import numpy as np

from . import c

Result = collections.namedtuple("Result", ["target", "name", "shared_by", "digest", "published"])
PART = "fovea_selftest_"
MEMORY_BYTES = 98304  # at least FOVEA_SELFTEST_BYTES of any architecture


def parts():
    """The names of the parts, as "softmax"."""
    return [name.removeprefix(PART) for name in c.HEADER.functions if name.startswith(PART)]


def calls(target, names=None):
    """The results of the parts of these names, or of all, on a target of targets(). Raises Error for a call that is refused."""
    room = np.zeros(MEMORY_BYTES + 64, np.uint8)
    memory = room[-c.data_of(room) % 64:][:MEMORY_BYTES]
    number = c.call("fovea_target_from_name", target.encode())
    for part in parts() if names is None else names:
        args = c.structure("selftest_args", target=number, processor_features=c.PROCESSOR_FEATURES, memory=memory,
                           memory_bytes=MEMORY_BYTES)
        while True:
            result = c.structure("selftest_result")
            try:
                c.call(PART + part, args, result)
            except c.Error as error:
                if error.status == "ERR_CAPACITY":
                    break  # there are no more calls
                raise
            yield Result(target, ctypes.string_at(result.name).decode(), ctypes.string_at(result.shared_by).decode(),
                         result.digest, result.published)
            args.call += 1


def selftest():
    """Runs all calls on all targets of this machine. Returns the first Result whose digest is not the published one, or None.
    python -m fovea.selftest prints all."""
    from . import targets
    return next((result for target in targets() for result in calls(target) if result.digest != result.published), None)

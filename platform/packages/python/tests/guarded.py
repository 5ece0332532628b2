# SPDX-License-Identifier: Apache-2.0
"""Arrays whose first or last byte is next to a page that can be neither read nor written. Linux and macOS."""
import ctypes
import mmap

from reference import np

PAGE = mmap.PAGESIZE
NO_ACCESS, READ = 0, 1
CANARY = 0xA5
_mprotect = ctypes.CDLL(None, use_errno=True).mprotect
_mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


def protect(array, access):
    if _mprotect(array.ctypes.data, array.size, access):
        raise OSError(ctypes.get_errno(), "mprotect")


class Room:
    """Bytes for an array; the other bytes of their pages hold a canary."""

    def __init__(self, count, at_end):
        inner = max(1, -(-count // PAGE)) * PAGE
        pages = np.frombuffer(mmap.mmap(-1, inner + 2 * PAGE), np.uint8)
        protect(pages[:PAGE], NO_ACCESS)
        protect(pages[-PAGE:], NO_ACCESS)
        self.inner = pages[PAGE:-PAGE]
        self.inner[:] = CANARY
        self.bytes = self.inner[-count or inner:] if at_end else self.inner[:count]

    def lock(self):
        """From now on a write is a fault."""
        protect(self.inner, READ)

    def only_written(self, view):
        """Whether all bytes but those of the view hold the canary. The view is lost."""
        view.view(np.uint8 if view.dtype.itemsize == 1 else f"u{view.dtype.itemsize}")[...] = int.from_bytes(
            bytes([CANARY]) * view.dtype.itemsize, "little")
        return bool((self.inner == CANARY).all())


def placed(values, rng, negative=True, offset=0, step=1):
    """The values in a room, with strides that are drawn: their dimensions but the last in any order, some with gaps,
    some reversed. step: of the last dimension, in elements. offset: bytes by which the elements are not aligned.
    Returns the room, too."""
    item, strides, extent = values.dtype.itemsize, [0] * values.ndim, values.dtype.itemsize
    if values.size == 0:
        return np.empty(values.shape, values.dtype), None
    order = [values.ndim - 1] + list(rng.permutation(values.ndim - 1)) if values.ndim else []
    begin = offset
    for dim in order:
        last = dim == values.ndim - 1
        gap = 0 if last else int(rng.choice([0, 0, 1, 5])) * item
        stride = item * step if last else extent + gap
        covered = stride * (values.shape[dim] - 1)
        strides[dim] = stride
        if negative and not last and rng.random() < 0.1:
            strides[dim] = -stride
            begin += covered
        extent += covered
    room = Room(extent + offset, rng.random() < 0.7)
    array = np.ndarray(values.shape, values.dtype, room.bytes.data, begin, strides)
    array[...] = values
    return array, room

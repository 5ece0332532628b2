# SPDX-License-Identifier: Apache-2.0
"""Calls that are made ready once for arrays of the same types, shapes and strides.

A call whose arguments are new compares each array with what C reads and writes, and fills in a structure. A Prepared
keeps this structure. The next call with such arrays finds it by a key of all that was compared, sets the new addresses,
which it checks, too, and is done. So no array reaches C that was not compared with what the call requires.
"""
import ctypes

import numpy as np

from . import c

PLAIN = {bool, float, int, str, type(None)}  # types whose values never change, and that C keeps no reference to
MOST_CALLS = 64  # kept for each function, or plan
MOST_BYTES = 1 << 20  # of a workspace that is kept: calls that need more take much longer than to prepare them


def key_of(inputs, outputs, options):
    """What decides how C reads these arrays, but for their addresses; None if a call with them cannot be prepared."""
    key = []
    for array in inputs:
        if type(array) is np.ndarray:
            key += array.dtype, array.shape, array.strides
        elif array is None:
            key.append(None)
        else:
            return None
    for array in outputs:
        if type(array) is np.ndarray:
            key += array.dtype, array.shape, array.strides, array.flags.writeable
        elif array is None:
            key.append(None)
        else:
            return None
    for name, value in options.items():
        if type(value) not in PLAIN:
            return None
        key += name, type(value), value  # 1, 1.0 and True are the same in Python, but not all of them fit a field
    return tuple(key)


class Prepared:
    """A call of a function of C by args. inputs and outputs: pairs of a field of args, as "kv.keys.data", and the array
    that it is for, or None. pointers: the arguments of the function; None: args and, where there is one, the workspace.
    before: a function of C that completes args, and its arguments. keep: what else args points to."""

    def __init__(self, name, args, inputs, outputs, workspace=None, pointers=None, before=None, keep=None):
        self.function, self.workspace_bytes = c.function(name), 0 if workspace is None else workspace.size
        if pointers is None:
            pointers = c.pointers(args) if workspace is None else [*c.pointers(args, workspace), workspace.size]
        self.args, self.pointers, self.before, self.keep = args, pointers, before, keep
        self.pairs = [pair for pair in (*inputs, *outputs) if pair[1] is not None]
        self.results, self.fresh, self.places = [array for _, array in outputs], [], []

    def first(self):
        """Calls C on the arrays that this was made of, and returns the outputs."""
        if self.before:
            c.check(self.before[0](*self.before[1:]))
        c.check(self.function(*self.pointers), [("args", self.args)])
        return self.results

    def in_place(self):
        """Whether C reads and writes the arrays themselves, and no copies; then this is ready for others."""
        places = [(ctypes.c_void_p.from_buffer(self.args, c.offset(type(self.args), field)), array.itemsize) for field, array in self.pairs]
        if any((place.value or 0) != c.data_of(array) for (place, _), (_, array) in zip(places, self.pairs)):
            return False
        self.fresh, self.places = [(array.shape, array.dtype) for array in self.results], places
        self.pairs, self.results, self.args.__dict__["kept"] = [], [], {}
        return True

    def again(self, inputs, outputs):
        """Calls C on other arrays that have the same key. None: an address is not aligned, so that nothing was done."""
        made = [np.empty(*fresh) if array is None else array for array, fresh in zip(outputs, self.fresh)]
        done = self.run([c.data_of(array) for arrays in (inputs, made) for array in arrays if array is not None])
        return made if done else None

    def run(self, addresses):
        """Calls C on the arrays at these addresses. False: one is not aligned, so that nothing was done."""
        for (place, alignment), address in zip(self.places, addresses):
            place.value = address
            if address % alignment:
                return False
        status = self.before[0](*self.before[1:]) if self.before else 0
        status = status or self.function(*self.pointers)
        if status:
            c.check(status)
        return True


class Pool:
    """Prepared calls. Several threads may use it: a call takes one out, and puts it back."""

    def __init__(self):
        self.free = {}

    def take(self, key):
        try:
            return self.free[key].pop()
        except (IndexError, KeyError):
            return None

    def put(self, key, prepared):
        if prepared.workspace_bytes <= MOST_BYTES:
            if len(self.free) >= MOST_CALLS and key not in self.free:
                self.free.clear()
            self.free.setdefault(key, []).append(prepared)

    def call(self, make, inputs, outputs, options):
        """The outputs of the call that make(inputs, outputs, **options) prepares. Outputs that are None are
        allocated."""
        key = key_of(inputs, outputs, options)
        if key is not None:
            key = make.__name__, *key
            prepared = self.take(key)
            results = None if prepared is None else prepared.again(inputs, outputs)
            if results is not None:
                self.put(key, prepared)
                return results
        prepared = make(inputs, outputs, **options)
        results = prepared.first()
        if key is not None and prepared.in_place():
            self.put(key, prepared)
        return results

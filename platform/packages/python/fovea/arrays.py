# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays as the library's arrays. C does not know the size of an array, so each is checked here first:

    take    an array of the type and shape that a call requires, copied if that is needed and allowed
    dense   the same for arrays that C takes as a pointer without strides
    view    a fovea_in or fovea_out of an array, which keeps the array alive
    mask    a fovea_mask
    numbers converts values of any real type
"""
import threading

import numpy as np

from . import c

# bfloat16 is ml_dtypes' name for it.
DTYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "int8": "i8"}
# The types of the arrays that hold a format, by its name in fovea.h.
HELD_IN = {"f32": ("float32",), "f16": ("float16",), "bf16": ("bfloat16", "uint16"), "i8": ("int8",), "i4": ("uint8",),
           "q8_0": ("uint8",), "q4_0": ("uint8",), "q4_1": ("uint8",), "q4_k": ("uint8",), "q6_k": ("uint8",),
           "q5_0": ("uint8",), "q5_1": ("uint8",), "iq4_nl": ("uint8",), "mxfp4": ("uint8",), "q5_k": ("uint8",),
           "iq4_xs": ("uint8",), "tq2_0": ("uint8",), "q3_k": ("uint8",), "q2_k": ("uint8",)}
GROUP = 32  # elements of a group
# Elements and bytes of a group, or of a super-block, in formats whose rows are counted in bytes.
BLOCKS = {"i4": (GROUP, 16), "q8_0": (GROUP, 34), "q4_0": (GROUP, 18), "q4_1": (GROUP, 20), "q4_k": (256, 144), "q6_k": (256, 210),
          "q5_0": (GROUP, 22), "q5_1": (GROUP, 24), "iq4_nl": (GROUP, 18), "mxfp4": (GROUP, 17), "q5_k": (256, 176),
          "iq4_xs": (256, 136), "tq2_0": (256, 66), "q3_k": (256, 110), "q2_k": (256, 84)}
MASK_KINDS = {"bool": "byte", "uint8": "byte", "float32": "f32", "float16": "f16", "bfloat16": "bf16"}


class Shown:
    """An object that C knows by its address, so that it cannot be copied. _shown: the fields that its text has."""

    def __repr__(self):
        return c.shown(type(self).__name__, self._shown())

    def __reduce_ex__(self, protocol):
        raise TypeError(f"a {type(self).__name__} has memory that C knows by its address: it can be neither copied nor pickled")


class Held(Shown):
    """An object with memory that the library uses: one call at a time may use it."""

    def __init__(self):
        self._lock = threading.Lock()

    def __enter__(self):
        """For the time of a call."""
        if not self._lock.acquire(False):
            raise RuntimeError(f"the {type(self).__name__} is in use by a call that has not ended: each thread, "
                               "and each function that a call calls, needs its own")
        return self

    def __exit__(self, *_):
        self._lock.release()


def as_array(array, name):
    """What numpy.asarray makes of it."""
    c.refuse_masked(array, name)
    return np.asarray(array)


def dtype_of(array, name):
    """The name of an array's type in fovea.h."""
    is_of(array, name, DTYPES)
    return DTYPES[array.dtype.name]


def format_name(number):
    return next(name for name, value in c.HEADER.enums["fovea_dtype"].items() if value == number)


def groups(dim):
    return -(-dim // GROUP)


def row_elements(name, dim):
    """Elements of the array that a row of a format takes."""
    elements, count = BLOCKS.get(name, (1, 1))
    return -(-dim // elements) * count


def is_array(array, name):
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{name} is of {type(array).__name__}: it must be a NumPy array")
    c.refuse_masked(array, name)


def is_of(array, name, dtypes):
    if array.dtype.name not in dtypes:
        near = next((one for one in ("float32", "float16") if one in dtypes and array.dtype.kind == "f" and name != "out"), None)
        raise TypeError(f"{name} is of {array.dtype}: it must be of {' or '.join(dtypes)}" +
                        (f", as {name}.astype(np.{near})" if near else ""))


def fault(array, writes):
    """Why C cannot read or write [batch][heads][tokens][dim] in place, or None."""
    if writes and not array.flags.writeable:
        return "is read-only"
    if not array.dtype.isnative:
        return "is not in this machine's byte order"
    if array.size == 0:  # no element has an address
        return None
    strides = [stride for count, stride in zip(array.shape, array.strides) if count > 1]
    if any(place % array.itemsize for place in (array.ctypes.data, *strides)):
        return (f"is not aligned: its address and its strides, {array.strides} bytes, must be multiples of {array.itemsize}")
    if array.ndim > 3 and array.shape[3] > 1 and array.strides[3] != array.itemsize:
        return f"has strides of {array.strides} bytes: the last must be {array.itemsize}"
    return None


def dense_copy(array):
    return np.array(array, array.dtype.newbyteorder("="), order="C")


def strides_of(array):
    """Strides in elements. A dimension of one element may have any stride."""
    return [stride // array.itemsize if count > 1 else 0 for count, stride in zip(array.shape, array.strides)]


def view(kind, array, name="an array", copies=False):
    """A fovea_in or fovea_out ("in", "out") of an array [batch][heads][tokens] or with one dimension more. It keeps the
    array alive."""
    is_array(array, name)
    wrong = fault(array, kind == "out")
    if wrong and not (copies and kind == "in"):
        raise ValueError(f"{name} {wrong}")
    array = dense_copy(array) if wrong else array
    strides = strides_of(array)
    return c.structure(kind, data=array, batch_stride=strides[0], head_stride=strides[1], token_stride=strides[2])


def take(kind, array, name, dtypes, dims, sizes, copies=False):
    """A fovea_in or fovea_out of an array of one of these types. dims names its dimensions; the first of them may be
    missing. sizes has the dimensions that are known; the others are added to it. copies: an array that C cannot read in
    place may be copied."""
    if not copies or kind == "out":
        is_array(array, name)
    given = array = as_array(array, name)
    is_of(array, name, dtypes)
    dims = dims.split()
    missing = len(dims) - array.ndim
    if 0 <= missing <= len(dims) - 2:
        array = array[(np.newaxis,) * missing]
    if missing < 0 or any(sizes.get(dim, count) != count for dim, count in zip(dims, array.shape)) or missing > len(dims) - 2:
        wanted = "".join(f"[{dim} {sizes[dim]}]" if dim in sizes else f"[{dim}]" for dim in dims)
        raise ValueError(f"{name} has the shape {given.shape}: it must be {wanted}")
    sizes.update(zip(dims, array.shape))
    if copies and kind == "in" and array.ndim == 4 and array.strides[2] == 0:  # one row for all tokens
        array = dense_copy(array)
    return view(kind, array, name, copies)


FLOATS = "float32", "float16", "bfloat16"


def four(array, name):
    """A view of rows [batch][heads][tokens][dim] of an array of which the first of these dimensions may be missing."""
    if not 1 <= array.ndim <= 4:
        raise ValueError(f"{name} has the shape {array.shape}: it must have 1 to 4 dimensions, the last of them a row's")
    return array[(np.newaxis,) * (4 - array.ndim)]


def rows_of(array, name, dtypes):
    """The array, if C has rows of such a type."""
    array = as_array(array, name)
    is_of(array, name, dtypes)
    four(array, name)
    return array


class Rows:
    """Arguments of a call on rows [batch][heads][tokens][dim]: fills in its arrays, and knows which of them is in which
    field."""

    def __init__(self, name, shape, **fields):
        self.batch, self.heads, tokens, dim = (*(1,) * (4 - len(shape)), *shape)
        batch, heads = (self.batch, self.heads) if self.heads else (0, 1)  # C refuses heads of 0
        self.args = c.structure(name, **{"batch": batch, "heads": heads, "tokens": tokens, "dim": dim, **fields})
        self.inputs, self.outputs = [], []

    def read(self, field, given, dtypes=FLOATS, shape=None, form=four):
        """An input, which is copied if C cannot read it in place, or None. shape: what it is broadcast to. form makes
        the four dimensions of it."""
        if given is not None:
            array = as_array(given, field)
            is_of(array, field, dtypes)
            if shape is not None:
                array = broadcast(array, shape, field)
            setattr(self.args, field, view("in", form(array, field), field, copies=True))
        self.inputs.append((f"{field}.data", given))

    def vector(self, field, given, dtype, shape):
        """An input of numbers, which are converted if none is lost, or None."""
        if given is not None:
            array = numbers(given, dtype, field)
            setattr(self.args, field, np.require(broadcast(array, shape, field), requirements="C"))
        self.inputs.append((field, given))

    def write(self, field, array, shape, dtypes, fresh, name="out", form=four):
        """An output of one of these types, allocated if it is None."""
        array = np.empty(shape, fresh) if array is None else array
        is_array(array, name)
        is_of(array, name, dtypes)
        if array.shape != tuple(shape):
            raise ValueError(f"{name} has the shape {array.shape}: it must be {tuple(shape)}")
        setattr(self.args, field, view("out", form(array, name), name))
        self.outputs.append((f"{field}.data", array))


def broadcast(array, shape, name):
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(f"{name} has the shape {array.shape}: it must broadcast to {tuple(shape)}") from None


def dense(array, name, dtypes, shape, writes=False):
    """The array, if it is contiguous and has this shape and one of these types."""
    is_array(array, name)
    is_of(array, name, dtypes)
    if array.shape != shape:
        raise ValueError(f"{name} has the shape {array.shape}: it must be {shape}")
    wrong = fault(array, writes) or (None if array.flags.c_contiguous else "is not contiguous")
    if wrong:
        raise ValueError(f"{name} {wrong}")
    return np.asarray(array)


def numbers(values, dtype, name):
    """A contiguous array of real numbers, converted to float32 or an integer type; raises if that type lacks one."""
    if type(values) is np.ndarray and values.dtype == dtype and values.flags.c_contiguous and values.flags.aligned:
        return values
    given, dtype = as_array(values, name), np.dtype(dtype)
    is_float = given.dtype.kind == "f" or given.dtype.name == "bfloat16"
    if given.dtype.kind not in "biu" and not (is_float and (dtype.kind == "f"
                                                            or given.size == 0)):  # an empty list is of float64
        raise TypeError(f"{name} is of {given.dtype}: it must be of {dtype}, or numbers that {dtype} has")
    with np.errstate(all="ignore"):
        made = np.require(given.astype(dtype, copy=False), dtype, ["C", "A"])
        lost = made != given if dtype.kind in "iu" else np.isinf(made) & np.isfinite(given)
    if lost.any():
        raise ValueError(f"{name} has {given[lost].flat[0]}, which {dtype} does not have")
    return made


def memory(count):
    """Bytes with the alignment of a workspace."""
    alignment = c.NUMBERS["FOVEA_WORKSPACE_ALIGNMENT"]
    whole = np.zeros(count + alignment, np.uint8)
    begin = -whole.ctypes.data % alignment
    return whole[begin:begin + count]


def mask(array, shape, copies=False):
    """A fovea_mask: of bool, where True means visible, or of floats, which are added to scores. It is broadcast to
    [batch][heads][queries][keys]."""
    if not copies:
        is_array(array, "mask")
    array = as_array(array, "mask")
    is_of(array, "mask", MASK_KINDS)
    kind = MASK_KINDS[array.dtype.name]
    try:
        wide = np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(f"mask has the shape {array.shape}: it must broadcast to {shape}") from None
    one_key = wide.strides[3] == 0 and shape[3] > 1
    wide = wide[..., :1] if one_key else wide
    wrong = fault(wide, False)
    if wrong and not copies:
        raise ValueError(f"mask {wrong}")
    if wrong:
        return mask(dense_copy(array), shape)
    strides = strides_of(wide)
    return c.structure("mask", kind=kind, kv_tokens=0 if one_key else shape[3], data=wide, batch_stride=strides[0],
                       head_stride=strides[1], q_stride=strides[2], broadcast_keys=one_key)

# SPDX-License-Identifier: Apache-2.0
"""Draws of arrays, right and wrong ones, next to guard pages."""
import warnings

from guarded import placed
from reference import np


class Draw:
    """What one draw makes, and what is wrong with it."""

    def __init__(self, seed, number):
        self.rng = np.random.default_rng([seed, number])
        self.hostile = []
        self.right = {}  # the inputs by their names, before one of them was made wrong
        self.rooms = []
        self.most_hostile = int(self.rng.choice([0, 0, 1, 1, 1, 2]))

    def chance(self, probability):
        return self.rng.random() < probability

    def pick(self, *choices):
        return choices[int(self.rng.integers(len(choices)))]

    def floats(self, *shape):
        return self.rng.standard_normal(shape, np.float32)

    def turns_hostile(self, probability=0.3):
        return len(self.hostile) < self.most_hostile and self.chance(probability)

    def place(self, values, **options):
        array, room = placed(np.asarray(values), self.rng, **options)
        if room:
            self.rooms.append(room)
        return array

    def give(self, name, values):
        """An input of these values, or something else."""
        self.right[name] = np.array(values)
        if not self.turns_hostile():
            return self.place(values)
        how = self.pick(*WRONG)
        given = WRONG[how](self, np.asarray(values))
        self.hostile.append(f"{name}: {how}")
        return given

    def output(self, shape, dtype, others):
        """An array for out, or something else."""
        if not self.turns_hostile(0.5):
            return self.place(np.zeros(shape, dtype), negative=False)
        how = self.pick("overlap", "stride of 0", "negative", *WRONG)
        self.hostile.append(f"out: {how}")
        if how == "overlap":
            return next((one for one in others if isinstance(one, np.ndarray) and one.shape == shape), others[0])
        if how == "stride of 0":
            return np.lib.stride_tricks.as_strided(np.zeros(shape[-1], dtype), shape, (0,) * (len(shape) - 1) + (np.dtype(dtype).itemsize,))
        if how == "negative":
            return self.place(np.zeros(shape, dtype))
        return WRONG[how](self, np.zeros(shape, dtype))

    def number(self, name, value, *others):
        """A number, or another one."""
        if not self.turns_hostile(0.1):
            return value
        self.hostile.append(f"{name}: number")
        return self.pick(*others, -1, value + 1, 2 ** 32 + value, 2 ** 64, 0.5, None, "1", np.int64(-5), np.array([1, 2]))


def other_shape(draw, values):
    shape = list(values.shape)
    if not shape:
        return draw.place(np.resize(values, (2,)))
    dim = int(draw.rng.integers(len(shape)))
    shape[dim] = max(0, draw.pick(0, 1, shape[dim] - 1, shape[dim] + 1, 2 * shape[dim], shape[dim] // 2))
    return draw.place(np.resize(values, shape) if values.size else np.zeros(shape, values.dtype))


def transposed(draw, values):
    return draw.place(values.swapaxes(*draw.rng.integers(values.ndim, size=2)) if values.ndim > 1 else values)


def field(draw, values):
    before = draw.pick(1, 2, 4)
    record = np.dtype({"names": ["x"], "formats": [values.dtype], "offsets": [before], "itemsize": before + values.dtype.itemsize})
    records = np.zeros(values.shape, record)
    records["x"] = values
    return draw.place(records)["x"]


def read_only(draw, values):
    array = draw.place(values)
    array.flags.writeable = False
    return array


def other_dtype(draw, values):
    kinds = "f2", "f4", "f8", "i1", "u1", "u2", "i4", "i8", "u8", "?", "c8", "O", "U3", "M8[s]", "V2"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dtype = np.dtype(draw.pick(*kinds))
        return np.zeros(values.shape,
                        dtype) if dtype.kind in "MUV" else draw.place(values.astype(dtype)) if dtype != object else (
            values.astype(object))


WRONG = {
    "dtype": other_dtype,
    "shape": other_shape,
    "transposed": transposed,
    "byte order": lambda draw, values: draw.place(values.astype(values.dtype.newbyteorder())),
    "every other": lambda draw, values: draw.place(values, step=2),
    "reversed": lambda draw, values: draw.place(values)[..., ::-1] if values.ndim else values,
    "misaligned": lambda draw, values: draw.place(values, offset=1),
    "field": field,
    "less dimensions": lambda draw, values: draw.place(values)[0] if values.ndim and len(values) else values,
    "more dimensions": lambda draw, values: draw.place(values)[np.newaxis],
    "broadcast": lambda draw, values: np.broadcast_to(draw.place(values[:1] if values.ndim else values), values.shape),
    "read-only": read_only,
    "list": lambda draw, values: values.tolist(),
    "no array": lambda draw, values: draw.pick(None, 1.0, "text", b"bytes", {}, np.float32(1), float("nan")),
}


def four(array):
    array = np.asarray(array, np.float64)
    return array[(np.newaxis,) * (4 - array.ndim)]


def near(got, want, most):
    got = np.asarray(got, np.float64)
    if got.shape != want.shape:
        raise AssertionError(f"has the shape {got.shape} instead of {want.shape}")
    worst = np.where((got == want) | np.isnan(got) & np.isnan(want), 0, np.abs(got - want)).max(initial=0)
    if not worst <= most:
        raise AssertionError(f"differs by {worst}, {most} is allowed")


def check_room(draw, out):
    if out is not None and out.size and "out: overlap" not in draw.hostile:
        room = next((room for room in draw.rooms if np.shares_memory(room.inner, out, max_work=1)), None)
        if room and not room.only_written(out):
            raise AssertionError("bytes between the rows of out were written")

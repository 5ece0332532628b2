# SPDX-License-Identifier: Apache-2.0
"""The C interface: structures, constants and functions, read from fovea.h, which is installed next to this file and is
the manual.

    call("fovea_attention_plan_init", plan, desc)        # any function; structures and arrays are passed by address
    structure("attention_desc", q_heads=8)     # any structure, 0 except these fields; enumerators also by name

A field raises TypeError or ValueError for values that it cannot hold. A field that is a pointer takes an array, a
structure or a function of ctypes, which it keeps alive; or an address, which is not checked. This module does not check
the size of arrays, as C does not; the rest of the package does.
"""
import ctypes
import difflib
import math
import operator
import os
import pathlib
import platform
import re
import sys
from ctypes import (c_char_p, c_double, c_float, c_int, c_int8, c_int32, c_int64, c_size_t, c_ssize_t, c_uint32, c_uint64, c_void_p)

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
SCALARS = {"double": c_double, "float": c_float, "int": c_int, "int8_t": c_int8, "int32_t": c_int32, "int64_t": c_int64,
           "ptrdiff_t": c_ssize_t, "size_t": c_size_t, "uint32_t": c_uint32, "uint64_t": c_uint64}
FUNCTION = ctypes.CFUNCTYPE(None).__base__  # the base class of all functions of ctypes


class Error(RuntimeError):
    """A call was refused: status is the enumerator's name, as ERR_DIM; the message is the library's."""

    def __init__(self, status, message):
        super().__init__(f"{message} (FOVEA_{status})")
        self.status = status


def number(value, kind, name):
    """The number, if this type of ctypes can hold it. ctypes itself would drop the upper bits of integers."""
    try:
        value = float(value) if kind in (c_double, c_float) and not isinstance(value, (str, bytes)) else operator.index(value)
    except TypeError:
        wanted = "number" if kind in (c_double, c_float) else "whole number"
        raise TypeError(f"{name} is of {type(value).__name__}: it must be a {wanted}") from None
    held = kind(value).value
    if isinstance(value, float):
        if math.isfinite(value) and (math.isinf(held) or (held == 0) != (value == 0)):
            raise ValueError(f"{name} is {value}: it must be in the range of a C float")
    elif held != value:
        bits = 8 * ctypes.sizeof(kind)
        least = -(1 << bits - 1) if kind(-1).value < 0 else 0
        raise ValueError(f"{name} is {value}: it must be from {least} to {least + (1 << bits) - 1}")
    return value


def check_names(names, allowed, what):
    """Raises for a name that is not allowed, and says which one is spelt like it or like one of its words."""
    for name in names:
        if name not in allowed:
            likeness, near = max((difflib.SequenceMatcher(None, part, one).ratio(), one)
                                 for one in allowed for part in (name, *name.split("_")))
            nearest = f"the nearest is {near}, " if likeness > 0.6 else ""
            raise TypeError(f"{name} is no {what}: {nearest}there are {', '.join(sorted(allowed))}")


def refuse_masked(array, name):
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, whose mask would be lost: give the array that filled() makes of it")


def address(value, name, of=None):
    """The address of value. If `of` is the class of a structure, a structure must be of that class."""
    if isinstance(value, ctypes.Structure):
        if of is not None and not isinstance(value, of):
            raise TypeError(f"{name} is a {type(value).__name__}: it must be a {of.__name__}")
        return ctypes.addressof(value)
    if isinstance(value, FUNCTION):
        return ctypes.cast(value, c_void_p).value
    if isinstance(value, np.ndarray):
        refuse_masked(value, name)
        return data_of(value)
    return value if value is None else number(value, c_size_t, name)


class ArrayInterface(ctypes.Structure):
    """NumPy's PyArrayInterface: the array interface protocol for C."""

    _fields_ = [("two", c_int), ("dimensions", c_int), ("kind", ctypes.c_char), ("itemsize", c_int), ("flags", c_int),
                ("shape", c_void_p), ("strides", c_void_p), ("data", c_void_p)]


def data_of(array, at=c_void_p.from_address, data=ArrayInterface.data.offset):
    """The address of an array's first element. array.ctypes.data is the same, and takes twice as long."""
    return at(capsule_pointer(array.__array_struct__, None) + data).value or 0


capsule_pointer = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


class Structure(ctypes.Structure):
    """A structure of fovea.h. kept: the objects that its pointers point to, by the pointer's offset."""

    def __setattr__(self, field, value):
        if field not in self.kinds:
            raise AttributeError(f"{type(self).__name__} has no field {field}")
        kind, name = self.kinds[field], f"{type(self).__name__}.{field}"
        root, place = place_of(self)
        if "frozen" in root.__dict__:
            raise AttributeError(f"{name} is for reading: the library has read it already")
        place += getattr(type(self), field).offset
        kept = {}
        if kind is c_void_p:
            kept = {} if value is None or isinstance(value, int) else {place: value}
            value = address(value, name, HEADER.types.get(self.pointed_to.get(field)))
        elif kind in SCALARS.values():
            value = number(self.enumerator(field, value) if isinstance(value, str) else value, kind, name)
        elif not isinstance(value, kind):
            raise TypeError(f"{name} is of {type(value).__name__}: it must be a {kind.__name__}")
        elif isinstance(value, Structure):
            of, begin = place_of(value)
            kept = {place + at - begin: one for at, one in of.__dict__.get("kept", {}).items() if begin <= at < begin + ctypes.sizeof(kind)}
        super().__setattr__(field, value)
        others = {at: one for at, one in root.__dict__.get("kept", {}).items() if not place <= at < place + ctypes.sizeof(kind)}
        root.__dict__["kept"] = {**others, **kept}

    def __repr__(self):
        return shown(type(self).__name__, numbers_of(self))

    def enumerator(self, field, name):
        if field not in self.enum_of:
            raise TypeError(f"{type(self).__name__}.{field} is of str: it must be a number")
        enumerators = HEADER.enums[self.enum_of[field]]
        if name not in enumerators:
            raise ValueError(f"{field} is {name!r}: it must be one of {', '.join(enumerators)}")
        return enumerators[name]


def numbers_of(structure):
    """The fields that are numbers but 0, enumerators by their names."""
    for field, kind in structure.kinds.items():
        value = getattr(structure, field) if kind in SCALARS.values() and field != "struct_bytes" else 0
        if value:
            enumerators = HEADER.enums.get(structure.enum_of.get(field), {})
            yield field, next((name for name, number in enumerators.items() if number == value), value)


def shown(name, fields):
    return f"{name}({', '.join(f'{field}={value!r}' for field, value in fields)})"


def place_of(structure):
    """The outermost structure that contains this one, and the offset in bytes."""
    root = structure
    while root._b_base_ is not None:
        root = root._b_base_
    return root, ctypes.addressof(structure) - ctypes.addressof(root)


def offset(kind, field):
    """The offset of a field, as "kv.keys.data", in a structure of this class."""
    begin = 0
    for name in field.split("."):
        begin += getattr(kind, name).offset
        kind = kind.kinds[name]
    return begin


def frozen(structure):
    """Makes the structure's fields read-only for Python, and returns it."""
    structure.__dict__["frozen"] = True
    return structure


class Header:
    """The declarations of a header in fovea.h's style, by their names without fovea_."""

    def __init__(self, path):
        text = re.sub(r"/\*.*?\*/", " ", self.whole(path, set()), flags=re.S)
        self.numbers = {name: int(value) for name, value in re.findall(r"^#define (\w+) (\d+)u? *$", text, flags=re.M)}
        self.version = re.search(r'^#define FOVEA_VERSION_TEXT "(.*)"', text, flags=re.M)[1]
        self.constants, self.structures, self.functions = {}, {}, {}
        self.enums = {}  # enum -> name without the prefix, in lower case -> number
        self.types = dict(SCALARS)
        for enum, name, body in re.findall(r"^(?:FOVEA_(ENUM)_\(|typedef struct )(\w+)[^{;]*\{(.*?)\n\}", text, flags=re.S | re.M):
            (self.add_enum if enum else self.add_structure)(name, body)
        storage = r"^typedef union (\w+) \{\s*unsigned char bytes\[(\w+?)u?(?: \+ \((\d+)u \* sizeof\(void\*\)\))?\]"
        for name, count, pointers in re.findall(storage, text, flags=re.M):
            count = int(self.numbers.get(count, count)) + int(pointers or 0) * ctypes.sizeof(c_void_p)
            self.add_structure(name, f"uint64_t storage[{count // 8}]")
        for returned, pointer, name, parameters in re.findall(r"^(?:const )?(\w+)(\*?) (fovea_\w+)\(([^;{}]*)\);", text, flags=re.M):
            returned = (c_char_p if returned == "char" else c_void_p) if pointer else c_int32 if returned in self.enums else SCALARS[returned]
            self.functions[name] = returned, [self.parameter(one) for one in parameters.split(",") if one.strip() != "void"]

    @classmethod
    def whole(cls, path, seen):
        """The text of a header in which each header replaces its first #include."""

        def included(match):
            if match[1] in seen:
                return ""
            seen.add(match[1])
            return cls.whole(path.parent / match[1], seen)

        return re.sub(r'^#include "fovea/(\w+\.h)"$', included, path.read_text(encoding="utf-8"), flags=re.M)

    def add_enum(self, name, body):
        enumerators = {}
        for key, value in re.findall(r"\bFOVEA_(\w+) = (-?\w+)", body):  # a number, or an enumerator before it
            self.constants[key] = self.constants[value[6:]] if value.startswith("FOVEA_") else int(value, 0)
            enumerators[key] = self.constants[key]
        prefix = len(os.path.commonprefix(list(enumerators)).rpartition("_")[0])
        self.enums[name] = {key[prefix:].lstrip("_").lower(): value for key, value in enumerators.items()}
        self.types[name] = c_int32

    def add_structure(self, name, body):
        fields, enum_of, pointed_to = [], {}, {}
        for declaration in filter(None, (" ".join(part.split()) for part in body.split(";"))):
            function = re.match(r"[^(]*\(\*(\w+)\)\(", declaration)
            if function:
                fields.append((function[1], c_void_p))
                continue
            of, declarators = re.fullmatch(r"(?:const )?(\w+)\b(.*)", declaration).groups()
            for declarator in declarators.split(","):
                pointer, field, count = re.fullmatch(r" ?(\*?)(?: const\*)? ?(\w+)(?:\[(\w+)\])?", declarator).groups()
                one = c_void_p if pointer else self.types[of]
                if pointer:
                    pointed_to[field] = of
                elif of in self.enums:
                    enum_of[field] = of
                if count:
                    one *= self.numbers[count] if count in self.numbers else int(count)
                fields.append((field, one))
        made = type(name, (Structure,), {"_fields_": fields, "kinds": dict(fields), "enum_of": enum_of, "pointed_to": pointed_to})
        self.types[name] = self.structures[name.replace("fovea_", "", 1)] = made

    def parameter(self, text):
        """Name, type, and the structure's class if it points to a structure."""
        of, pointer, name = re.match(r"\s*(?:const )?(\w+)\b\s*(\*?)\s*(\w+)", text).groups()
        if not pointer:
            return name, self.types[of], None
        return name, c_void_p, self.types[of] if of in self.types and of not in SCALARS else None


def installed(*names):
    """The first of these files that is next to this one or, in a checkout, in its place in the tree."""
    for name in names:
        tree = HERE.parents[3] if len(HERE.parents) > 3 else HERE
        for path in (HERE / name, tree / "lib" / "include" / "fovea" / name, tree / "bench" / name):
            if path.exists():
                return path
    raise ImportError(f"there is no {names[0]} in {HERE}")


HEADER = Header(installed("fovea.h"))
CONSTANTS, NUMBERS = HEADER.constants, HEADER.numbers
_functions = {}


def features_of(system, machine, capabilities=lambda kind: 0):
    """The FOVEA_FEATURE_... that change how attention multiplies, of a processor. capabilities: Linux's getauxval."""
    def bits(*names):
        return sum(NUMBERS[f"FOVEA_FEATURE_NEON_{name}"] for name in names)

    if machine not in ("aarch64", "arm64"):
        return 0
    if system == "darwin":  # all of Apple's have these
        return bits("DOTPROD", "FP16")
    first, second = capabilities(16), capabilities(26)  # AT_HWCAP, AT_HWCAP2
    named = ("DOTPROD", first >> 20), ("I8MM", second >> 13), ("FP16", first >> 10)
    return bits(*(name for name, has in named if has & 1))


def processor_features():
    """features_of this machine."""
    capabilities = getattr(ctypes.CDLL(None), "getauxval", None) if sys.platform == "linux" else None
    if capabilities is None:
        return features_of(sys.platform, platform.machine())
    capabilities.restype, capabilities.argtypes = ctypes.c_ulong, [ctypes.c_ulong]
    return features_of(sys.platform, platform.machine(), capabilities)


PROCESSOR_FEATURES = processor_features()


def load(path):
    """Loads this library, to be used from now on instead of the package's own."""
    library = ctypes.CDLL(str(path))
    for name, (returned, parameters) in HEADER.functions.items():
        function = getattr(library, name)
        function.restype, function.argtypes = returned, [kind for _, kind, _ in parameters]
        _functions[name] = function
    major, minor, patch = (NUMBERS[f"FOVEA_VERSION_{part}"] for part in ("MAJOR", "MINOR", "PATCH"))
    if library.fovea_version() != major * 10000 + minor * 100 + patch:
        raise ImportError(f"{path} is not of the header's version")


def function(name):
    """A function of the library, which FOVEA_LIBRARY names in a checkout. It returns its status."""
    if not _functions:
        load(os.environ.get("FOVEA_LIBRARY") or installed("fovea.dll" if sys.platform == "win32" else "libfovea.dylib"
                       if sys.platform == "darwin" else "libfovea.so"))
    return _functions[name]


def zeros(arguments):
    """What to say of dimensions that are 0, of pairs of a name and a number or structure."""
    for name, value in arguments:
        if isinstance(value, Structure) and any(bytes(value)):
            yield from zeros((field, getattr(value, field)) for field in value.kinds)
        elif type(value) is int and value == 0 and name.endswith(("dim", "heads")) and name != "rotary_dim":
            yield f"{name} is 0"


def check(status, arguments=()):
    if status:
        name = next((name for name, value in CONSTANTS.items() if value == status and name.startswith("ERR_")), str(status))
        text = " and ".join(zeros(arguments)) if name == "ERR_DIM" else ""
        raise Error(name, text or function("fovea_status_string")(status).decode())


def call(name, *arguments):
    """Calls a function. A status that is not FOVEA_OK raises Error."""
    returned = function(name)
    parameters = HEADER.functions[name][1]
    if len(arguments) != len(parameters):
        raise TypeError(f"{name} takes {', '.join(parameter for parameter, *_ in parameters)}: {len(arguments)} arguments are given")
    answer = returned(*(argument(*pair) for pair in zip(arguments, parameters)))
    if name not in ANSWERS:
        check(answer, zip((parameter for parameter, *_ in parameters), arguments))
    return answer


def size(name, *arguments):
    """Calls a function that writes a number of bytes, and returns the number."""
    count = ctypes.c_size_t()
    call(name, *arguments, ctypes.byref(count))
    return count.value


def argument(value, parameter):
    name, kind, of = parameter
    if kind is not c_void_p:
        return number(value, kind, name)
    if isinstance(value, (Structure, int, np.ndarray)):
        return address(value, name, of)
    return value  # for ctypes to convert: bytes, a buffer, byref()


# The functions that return something other than a status.
ANSWERS = {"fovea_target_at", "fovea_target_from_name",
           *(name for name, (returned, _) in HEADER.functions.items() if returned is not c_int32)}


def pointers(*values):
    """References to structures and arrays that ctypes passes as pointers. They keep them alive."""
    return [ctypes.byref(one if isinstance(one, Structure) else (ctypes.c_char * one.nbytes).from_buffer(one)) for one in values]


def assign(to, **fields):
    """Sets fields of a structure; an enumerator may be its name without the prefix, as in causal="top_left"."""
    check_names(fields, to.kinds, f"field of {type(to).__name__}")
    for field, value in fields.items():
        setattr(to, field, value)
    return to


def copy_at(name, place):
    """A copy, for reading, of the structure at an address."""
    kind = HEADER.structures[name]
    return frozen(kind.from_buffer_copy(ctypes.string_at(place, ctypes.sizeof(kind))))


def structure(name, **fields):
    """A structure of fovea.h, all 0 except these fields, and struct_bytes if it has that field."""
    new = HEADER.structures[name]()
    if new._fields_[0][0] == "struct_bytes":
        new.struct_bytes = ctypes.sizeof(new)
    return assign(new, **fields)

# SPDX-License-Identifier: Apache-2.0
"""The C interface: structures, constants and functions, as fovea.h beside this file declares them. fovea.h is the manual.

    call("fovea_plan_init", plan, desc)        # any function; structures are passed by reference
    structure("attention_desc", q_heads=8)     # any structure, all 0 but these fields; enumerators also by name
"""
import ctypes
import os
import pathlib
import re
import sys
from ctypes import c_char_p, c_double, c_float, c_int, c_int8, c_int32, c_int64, c_size_t, c_ssize_t, c_uint32, c_uint64, c_void_p

HERE = pathlib.Path(__file__).resolve().parent
SCALARS = {"double": c_double, "float": c_float, "int": c_int, "int8_t": c_int8, "int32_t": c_int32, "int64_t": c_int64,
           "ptrdiff_t": c_ssize_t, "size_t": c_size_t, "uint32_t": c_uint32, "uint64_t": c_uint64}


class Error(RuntimeError):
    """A call was refused: status is the enumerator's name, as ERR_DIM; the message is the library's."""

    def __init__(self, status, message):
        super().__init__(f"{message} (FOVEA_{status})")
        self.status = status


class Header:
    """What a header that is written like fovea.h declares, each thing by its name without fovea_."""

    def __init__(self, path):
        text = re.sub(r"/\*.*?\*/", " ", path.read_text(encoding="utf-8"), flags=re.S)
        self.numbers = {name: int(value) for name, value in re.findall(r"^#define (\w+) (\d+)u?$", text, flags=re.M)}
        self.constants, self.structures, self.functions = {}, {}, {}
        self.enums = {}  # enum -> name without the prefix, in lower case -> number
        self.enum_of = {}  # (structure, field) -> enum
        self.types = dict(SCALARS)
        for kind, body, name in re.findall(r"typedef (enum|struct) \w+ (?:FOVEA_ENUM_TYPE_\(\w+\) )?\{(.*?)\n\} (\w+);", text,
                                           flags=re.S):
            (self.add_enum if kind == "enum" else self.add_structure)(name, body)
        for returned, pointer, name, parameters in re.findall(r"^(?:const )?(\w+)(\*?) (fovea_\w+)\(([^;{}]*)\);", text, flags=re.M):
            returned = c_char_p if pointer else c_int32 if returned in self.enums else SCALARS[returned]
            self.functions[name] = returned, [self.parameter(one) for one in parameters.split(",") if one.strip() != "void"]

    def add_enum(self, name, body):
        enumerators = {}
        for key, value in re.findall(r"\bFOVEA_(\w+) = (-?\w+)", body):  # a number, or an enumerator before it
            self.constants[key] = self.constants[value[6:]] if value.startswith("FOVEA_") else int(value, 0)
            if not key.endswith("_IS_32_BITS"):
                enumerators[key] = self.constants[key]
        prefix = len(os.path.commonprefix(list(enumerators)).rpartition("_")[0])
        self.enums[name] = {key[prefix:].lstrip("_").lower(): value for key, value in enumerators.items()}
        self.types[name] = c_int32

    def add_structure(self, name, body):
        short, fields = name.replace("fovea_", "", 1), []
        for declaration in filter(None, (" ".join(part.split()) for part in body.split(";"))):
            function = re.match(r"[^(]*\(\*(\w+)\)\(", declaration)
            if function:
                fields.append((function[1], c_void_p))
                continue
            of, declarators = re.fullmatch(r"(?:const )?(\w+)\b(.*)", declaration).groups()
            for declarator in declarators.split(","):
                pointer, field, count = re.fullmatch(r" ?(\*?) ?(\w+)(?:\[(\w+)\])?", declarator).groups()
                one = c_void_p if pointer else self.types[of]
                if of in self.enums and not pointer:
                    self.enum_of[short, field] = of
                if count:
                    one *= self.numbers[count] if count in self.numbers else int(count)
                fields.append((field, one))
        self.types[name] = self.structures[short] = type(name, (ctypes.Structure,), {"_fields_": fields})

    def parameter(self, text):
        of, pointer = re.match(r"\s*(?:const )?(\w+)\b\s*(\*?)", text).groups()
        return c_void_p if pointer else self.types[of]


def installed(*names):
    """The first of these files that lies beside this one, or, in a checkout, where the library has it."""
    for name in names:
        for path in (HERE / name, HERE.parents[3] / "lib" / "include" / "fovea" / name if len(HERE.parents) > 3 else HERE / name):
            if path.exists():
                return path
    raise ImportError(f"there is no {names[0]} in {HERE}")


HEADER = Header(installed("fovea.h"))
CONSTANTS, NUMBERS = HEADER.constants, HEADER.numbers
_functions = {}


def load(path):
    """Takes this library from now on, instead of the package's own."""
    library = ctypes.CDLL(str(path))
    for name, (returned, parameters) in HEADER.functions.items():
        function = getattr(library, name)
        function.restype, function.argtypes = returned, parameters
        _functions[name] = function
    header = NUMBERS["FOVEA_VERSION_MAJOR"] * 10000 + NUMBERS["FOVEA_VERSION_MINOR"] * 100 + NUMBERS["FOVEA_VERSION_PATCH"]
    if library.fovea_version() != header:
        raise ImportError(f"{path} is not of the header's version")


def function(name):
    """A function of the library, which answers its status."""
    if not _functions:
        load(installed("fovea.dll" if sys.platform == "win32" else "libfovea.dylib" if sys.platform == "darwin" else "libfovea.so"))
    return _functions[name]


def check(status):
    if status:
        names = {value: name for name, value in CONSTANTS.items() if name.startswith("ERR_")}
        raise Error(names.get(status, str(status)), function("fovea_status_string")(status).decode())


def call(name, *arguments):
    """Calls a function; structures go by reference. A status that is not FOVEA_OK raises Error."""
    answer = function(name)(*(ctypes.byref(one) if isinstance(one, ctypes.Structure) else one for one in arguments))
    if name not in ANSWERS:
        check(answer)
    return answer


# The functions that answer something else than a status.
ANSWERS = {name for name in HEADER.functions if HEADER.functions[name][0] is not c_int32} | {"fovea_target_at", "fovea_target_from_name"}


def assign(to, **fields):
    """Sets fields of a structure; an enumerator may be its name without the prefix, as in causal="top_left"."""
    name = type(to).__name__.replace("fovea_", "", 1)
    for field, value in fields.items():
        if not any(field == known for known, *_ in to._fields_):
            raise TypeError(f"fovea_{name} has no field {field}")
        if isinstance(value, str):
            enumerators = HEADER.enums[HEADER.enum_of[name, field]]
            if value not in enumerators:
                raise ValueError(f"{field} is {value!r}: it must be one of {', '.join(enumerators)}")
            value = enumerators[value]
        setattr(to, field, value)
    return to


def structure(name, **fields):
    """A structure of fovea.h, all 0 but these fields, and struct_bytes where it has that."""
    new = HEADER.structures[name]()
    if new._fields_[0][0] == "struct_bytes":
        new.struct_bytes = ctypes.sizeof(new)
    return assign(new, **fields)

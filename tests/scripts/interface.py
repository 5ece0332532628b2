# SPDX-License-Identifier: Apache-2.0
"""The declarations of fovea.h and its includes: for scripts that compare them with tables, or generate code from them."""
import collections
import pathlib
import re

Parameter = collections.namedtuple("Parameter", ["declaration", "name", "type"])  # type: without const and *
Function = collections.namedtuple("Function", ["result", "name", "parameters"])


def names(declaration):
    """The names in a declaration of C: "const float *a, *b" -> a, b; "int (*run)(...)" -> run."""
    function = re.search(r"\(\*(\w+)\)", declaration)
    if function:
        return [function.group(1)]
    return [re.search(r"(\w+)(\[\w*\])?$", part.strip()).group(1) for part in declaration.split(",")]


def flattened(header, seen=None):
    """The text of a header in which each header replaces its first #include."""
    header, seen = pathlib.Path(header), set() if seen is None else seen

    def included(match):
        path = header.parent / match[1]
        if path in seen:
            return ""
        seen.add(path)
        return flattened(path, seen)

    return re.sub(r'^#include "fovea/(\w+\.h)"\n', included, header.read_text(), flags=re.M)


class Interface:
    """Structures: name -> names of the fields. Functions, in their order. Statuses: the names of the errors."""

    def __init__(self, header):
        text = re.sub(r"/\*.*?\*/", " ", flattened(header), flags=re.S)
        text = "\n".join(line for line in text.replace("\\\n", " ").split("\n") if not line.startswith("#"))
        structures = re.findall(r"^typedef struct \w+ \{(.*?)^\} (\w+);", text, flags=re.S | re.M)
        self.structures = {name: [field for line in body.split(";") if line.strip() for field in names(line.strip())]
                           for body, name in structures}
        self.structures.update((name, []) for name in re.findall(r"^typedef union (\w+) \{", text, flags=re.M))  # storage
        self.functions = [Function(result.strip(), name, [self.parameter(one) for one in list_.split(",") if one.strip() != "void"])
                          for result, name, list_ in re.findall(r"^([a-z][\w \*]*?)\b(fovea_\w+)\(([^()]*)\);", text, flags=re.M)]
        self.statuses = re.findall(r"\bFOVEA_ERR_\w+", text)
        if not (self.structures and self.functions and self.statuses):
            raise SystemExit(f"{header} declares nothing that this script understands")

    @staticmethod
    def parameter(declaration):
        words = re.sub(r"\b(const|struct)\b|\*", " ", declaration).split()
        return Parameter(" ".join(declaration.split()), words[-1], words[0])

    def rows(self):
        """All that must be in a row of FIELDS.md. Not parameters that are structures: their fields are."""
        return ([f"{structure}.{field}" for structure, fields in self.structures.items() for field in fields] +
                [f"{function.name}.{parameter.name}" for function in self.functions for parameter in function.parameters
                 if parameter.type not in self.structures] + self.statuses)

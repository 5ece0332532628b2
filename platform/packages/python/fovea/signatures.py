# SPDX-License-Identifier: Apache-2.0
"""Signatures and docstrings that name the fields of a structure, which fovea.h defines: for functions that take
**fields."""
import inspect
import textwrap

from . import c


def fields_of(name):
    """The fields of a structure that are numbers, and their defaults: 0, or the enumerator that is 0."""
    structure = c.HEADER.structures[name]
    named = {field: {number: key for key, number in c.HEADER.enums[enum].items()} for field, enum in structure.enum_of.items()}
    return {field: named.get(field, {}).get(0, 0) for field, kind in structure.kinds.items()
            if kind in c.SCALARS.values() and field != "struct_bytes"}


def takes(of=None, only=None, **defaults):
    """A decorator: the function's **fields are those of the structure `of`, or the ones that `only` names, and
    `defaults`, as its signature and docstring say from now on."""
    fields = {**(fields_of(of) if of else {}), **defaults}
    fields = {name: default for name, default in fields.items() if only is None or name in only}
    enums = c.HEADER.structures[of].enum_of if of else {}
    text = ", ".join(f"{name} ({', '.join(c.HEADER.enums[enums[name]])})" if name in enums else name for name in fields)

    def decorate(function):
        signature = inspect.signature(function)
        known = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        names = {one.name for one in known}
        named = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
                 for name, default in fields.items() if name not in names]
        function.__signature__ = signature.replace(parameters=[*known, *named])
        function.__doc__ = f"{inspect.getdoc(function) or ''}\n\n{textwrap.fill(f'Fields: {text}.', 108)}".strip()
        return function

    return decorate

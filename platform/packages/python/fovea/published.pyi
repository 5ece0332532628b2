# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterable, Iterator
from typing import NamedTuple

class Result(NamedTuple):
    target: str
    name: str
    shared_by: str
    digest: int
    published: int

def parts() -> list[str]: ...
def calls(target: str, names: Iterable[str] | None = None) -> Iterator[Result]: ...
def selftest() -> Result | None: ...

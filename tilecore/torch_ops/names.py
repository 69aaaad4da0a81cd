"""The names of operations of torch: ``namespace::name``, or ``namespace::name.overload``."""

from __future__ import annotations

import keyword
import re
from typing import NamedTuple

from tilecore.errors import ArgumentError

_WORD = r"[A-Za-z_][A-Za-z0-9_]*"
_NAME = re.compile(rf"(?P<namespace>{_WORD})::(?P<name>{_WORD})(?:\.(?P<overload>{_WORD}))?")
_OF_TORCH = frozenset({"aten", "prim", "prims", "quantized", "c10d", "higher_order", "inductor"})


class OpName(NamedTuple):
    """The parts of an operation's name; overload: "" where it has one form only."""

    namespace: str
    name: str
    overload: str

    def __str__(self) -> str:
        return f"{self.namespace}::{self.name}" + (f".{self.overload}" if self.overload else "")


def parse_name(text: object) -> OpName:
    """The parts of ``text``. Raises ArgumentError for what is no name, and for namespaces that are torch's own."""
    match = _NAME.fullmatch(text) if isinstance(text, str) else None
    if match is None or any(keyword.iskeyword(part) for part in match.groups() if part):
        raise ArgumentError(
            "the name of an operation of torch is wrong",
            found=repr(text),
            expected='"namespace::name", of letters, digits and _, such as "mylib::scale"',
        )
    if match["name"] == "name" or match["name"].startswith("__"):
        raise ArgumentError(
            f"an operation of torch cannot be named {match['name']!r}, which every namespace has already",
            found=repr(text),
            expected="another name",
        )
    if match["namespace"] in _OF_TORCH:
        raise ArgumentError(
            f"the namespace {match['namespace']!r} is torch's own",
            found=repr(text),
            expected="a namespace of your own, such as the name of your package",
        )
    return OpName(match["namespace"], match["name"], match["overload"] or "")

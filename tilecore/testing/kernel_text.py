"""Tile IR and thread IR as text that tests of passes compare: the statements of a kernel, without what is the same
everywhere."""

from __future__ import annotations

import re
from textwrap import dedent
from typing import Any

from tilecore.ir.nodes import IRModule

_LEFT_OUT = re.compile(r"= T\.launch_thread\(|^ *T\.func_attr\(|^ *thread\w* = T\.int32\(\)$")


def text(func: Any) -> str:
    """The statements of a PrimFunc, or of each kernel of an IRModule; no signature, attributes, grid and threads."""
    if isinstance(func, IRModule):
        return "\n".join(map(text, func.functions.values()))
    script = func.script().splitlines()
    (start,) = (number for number, line in enumerate(script) if line.startswith("def "))
    return dedent("\n".join(line for line in script[start + 1 :] if not _LEFT_OUT.search(line))).strip()


def lines(code: str) -> str:
    """An expected text that stands as an indented block in a test."""
    return dedent(code).strip()

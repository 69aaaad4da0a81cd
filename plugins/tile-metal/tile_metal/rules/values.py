"""Numbers, operators and atomic operations."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tile_metal.rules.text import Code, Problem

_DECLARED = r"\b(half|bfloat|long|ulong)\b(?:\s*\*\s*(?:const\s+|__restrict\s+)*|\s+)(\w+)"
_OPERAND = r"(?<![\w)\].])(\w+)(?:\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\])?"


def literals(code: Code, msl: int) -> Iterator[Problem]:
    """A float without a suffix is a double elsewhere, and the language has no suffix ``ll``."""
    for line, match in code.find(r"(?<![\w.])(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?(?![\w.])"):
        yield Problem(line, f"{match[0]} has no suffix: {match[0]}f")
    for line, match in code.find(r"(?<![\w.])0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*[pP][+-]?\d+\w*"):
        yield Problem(line, f"{match[0]} is a hexadecimal float, which C++ has from C++17 on")
    for line, match in code.find(r"(?<![\w.])(?:0[xX][0-9a-fA-F]+|\d+)(?:[uU]?ll|[uU]?LL|ll[uU]|LL[uU])\b"):
        yield Problem(line, f"{match[0]} has a suffix that the language has not: l or ul")


def mixed_operators(code: Code, msl: int) -> Iterator[Problem]:
    """Operators of a half and a bfloat, which no implicit conversion joins."""
    for line, head, body in code.kernels():
        declared = re.findall(_DECLARED, head + body)
        kinds = {name: kind for kind, name in declared if kind in ("half", "bfloat")}
        for match in re.finditer(rf"{_OPERAND}\s*[-+*/<>]=?\s*{_OPERAND}", body):
            sides = {kinds.get(match[1]), kinds.get(match[2])}
            if sides == {"half", "bfloat"}:
                at = line + head.count("\n") + body.count("\n", 0, match.start())
                yield Problem(at, f"{match[0]} mixes half and bfloat: compute in float")


def atomics(code: Code, msl: int) -> Iterator[Problem]:
    """Orders, and operations of 64 bits."""
    for line, match in code.find(r"\bmemory_order_(?!relaxed\b)\w+"):
        before = code.text[: match.start()].rpartition(";")[2]
        if match[0] != "memory_order_seq_cst" or "atomic_thread_fence" not in before:
            yield Problem(line, f"atomic operations have memory_order_relaxed alone, not {match[0]}")
    for line, match in code.find(r"\batomic_(?!max_|min_)(\w+)_explicit\s*\([^;]*?atomic(?:_ulong|_long|<u?long>)"):
        yield Problem(line, f"there is no atomic_{match[1]} of 64 bits")
    for line, head, body in code.kernels():
        wide = {name for kind, name in re.findall(_DECLARED, head + body) if kind in ("long", "ulong")}
        for match in re.finditer(r"\btc_atomic_(?!ulong_)\w+\(\s*&?(\w+)", body):
            if match[1] in wide and f"constant {match[1]}" not in head:
                at = line + head.count("\n") + body.count("\n", 0, match.start())
                yield Problem(at, f"{match[0]}: there are no atomic operations of 64 bits but maximum and minimum")

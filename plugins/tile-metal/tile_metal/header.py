"""Joins emitted source with those parts of the header whose names it uses: macOS compiles one text."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from pathlib import Path

from tile_metal.codegen import HEADER
from tilecore import codegen

INCLUDE = Path(__file__).parent / "include"
_CORE = Path(codegen.__file__).parent / "include"
_INCLUDED = re.compile(r'^#include "(.*)"\n', re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*")
_SMALL_FLOATS = r"\btc_(fp[48]_|nextafter\(|round_tf32\()"
# parts that few kernels need -> what their source has that do
_OPTIONAL = {
    "tilecore_metal/half_value.h": _SMALL_FLOATS,
    "tilecore_float_conversions.h": _SMALL_FLOATS,
    "tilecore_metal/floats.h": _SMALL_FLOATS,
    "tilecore_metal/reductions.h": r"\btc_lanes_",
    "tilecore_metal/atomics.h": r"\btc_atomic_",
    "tilecore_metal/messages.h": r"\btc_(print|assert)\(",
    "tilecore_metal/matrix.h": r"\btc_(multiply_add|matmul2d|scheduling_fence)",
    "tilecore_metal/matmul2d.h": r"\btc_matmul2d<",
}


def whole_program(source: str, fast_math: bool = False) -> str:
    """``source`` with the parts of the header that it needs in place of the line that includes it."""
    lines = "#define TC_FAST_MATH\n" if fast_math else ""
    if "coherent(device)" in source:
        lines += "#define TC_USES_COHERENT\n"
    return source.replace(f'#include "{HEADER}"\n', f"{lines}{joined(needed_parts(source))}\n", 1)


def joined(parts: Sequence[str]) -> str:
    """The texts of files of the header, one after another."""
    return "".join(map(_text, parts))


def needed_parts(source: str) -> list[str]:
    """The files of the header that ``source`` needs, in their order."""
    code = _COMMENT.sub("", source)
    return [part for part in all_parts() if part not in _OPTIONAL or re.search(_OPTIONAL[part], code)]


@functools.lru_cache(maxsize=1)
def all_parts() -> list[str]:
    """The files of the header, in the order in which they are included."""
    return _INCLUDED.findall((INCLUDE / "tilecore_metal/device.h").read_text())


def texts() -> list[str]:
    """The texts of all files of the header, for a digest."""
    return [path.read_text() for path in sorted(INCLUDE.rglob("*.h"))] + [_text(part) for part in all_parts()]


@functools.lru_cache(maxsize=64)
def _text(part: str) -> str:
    path = INCLUDE / part if (INCLUDE / part).exists() else _CORE / part
    return path.read_text().replace("#pragma once\n", "")

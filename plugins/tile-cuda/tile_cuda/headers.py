"""The include folders and the text of the headers that emitted source includes."""

from __future__ import annotations

import functools
from pathlib import Path

import tilecore.codegen

INCLUDE = (Path(__file__).parent / "include", Path(tilecore.codegen.__file__).parent / "include")


@functools.lru_cache(maxsize=1)
def headers() -> dict[str, str]:
    """The text of tilecore's headers by the name under which they are included."""
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for folder in INCLUDE
        for path in sorted(folder.rglob("*.h"))
    }

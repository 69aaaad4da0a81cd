"""Looking inside a compilation: the TILECORE_DEBUG ladder and TILECORE_DUMP.

Levels, each with all below it: 1 backend and tools chosen, 2 time per step, 3 tile IR, 4 emitted source, 5 IR after
each pass, 6 command lines of tools. ``TILECORE_DUMP=dir`` writes one numbered file a step.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tilecore import settings

BACKEND, TIMES, TILE_IR, SOURCE, PASSES, TOOLS = range(1, 7)
_state = threading.local()


def level() -> int:
    """The ladder's step, from TILECORE_DEBUG; TILECORE_VERBOSE (or ``verbose=True``) is at least 2."""
    return settings.debug()


def check_enabled() -> bool:
    """Is the IR verified between passes (TILECORE_CHECK)?"""
    return settings.check()


def say(step: int, text: str) -> None:
    """Print ``text`` on stderr when the ladder reaches ``step``."""
    if level() >= step:
        print(f"[tilecore] {text}", file=sys.stderr)


@contextmanager
def dumping(name: str, folder: str | None = None) -> Iterator[None]:
    """Number the files of one compilation of kernel ``name``; ``folder`` overrides TILECORE_DUMP."""
    root = folder or settings.dump()
    before = getattr(_state, "dump", None)
    _state.dump = None
    if root:
        place = Path(root) / name
        place.mkdir(parents=True, exist_ok=True)
        _state.dump = [place, 0]
    try:
        yield
    finally:
        _state.dump = before


def dump(step: str, text: str | bytes, extension: str) -> None:
    """Write one file of the compilation under way, when dumping is on."""
    current = getattr(_state, "dump", None)
    if current is None:
        return
    folder, number = current
    current[1] = number + 1
    path = folder / f"{number:02d}_{step}.{extension}"
    if isinstance(text, bytes):
        path.write_bytes(text)
    else:
        path.write_text(text, encoding="utf-8")


def dump_active() -> bool:
    return getattr(_state, "dump", None) is not None


def tile_ir(func: Any) -> None:
    """The kernel as the front end built it."""
    if level() >= TILE_IR:
        say(TILE_IR, f"tile IR\n{func.script()}")
    if dump_active():
        dump("tile_ir", func.script(), "py")


def after_pass(name: str, func: Any) -> None:
    """The IR that a pass made."""
    if level() >= PASSES:
        say(PASSES, f"after {name}\n{func.script()}")
    if dump_active():
        dump(f"after_{name}", func.script(), "py")


def source(text: str, extension: str) -> None:
    """The source that was emitted."""
    say(SOURCE, f"source ({extension})\n{text}")
    dump("source", text, extension)


def announce(text: str) -> None:
    """Tell the user something that they asked to be told."""
    print(f"[tilecore] {text}", file=sys.stderr)

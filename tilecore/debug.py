"""Looking inside a compilation: the TILECORE_DEBUG ladder and TILECORE_DUMP.

Levels, each with all below it: 1 backend and tools chosen, 2 time per step, 3 tile IR, 4 emitted source, 5 IR after
each pass, 6 command lines of tools. ``TILECORE_DUMP=dir`` writes one numbered file a step.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tilecore import settings
from tilecore.errors import ArgumentError, TilecoreError

BACKEND, TIMES, TILE_IR, SOURCE, PASSES, TOOLS = range(1, 7)
_state = threading.local()
_lock = threading.Lock()
_folders: dict[tuple[Path, str], int] = {}  # how often kernels of one name were dumped to one place
_OWN_FILES = re.compile(r"\d\d+_(tile_ir|after_\w+|source|binary)\.\w+")


def level(verbose: bool | None = None) -> int:
    """The ladder's step, from TILECORE_DEBUG; TILECORE_VERBOSE is at least 2. verbose: in place of that variable; None:
    what the compilation under way was given."""
    verbose = getattr(_state, "verbose", None) if verbose is None else verbose
    return max(settings.debug(), TIMES if (settings.verbose() if verbose is None else verbose) else 0)


def check_enabled() -> bool:
    """Is the IR verified between passes (TILECORE_CHECK)?"""
    return settings.check()


def say(step: int, text: str) -> None:
    """Print ``text`` on stderr when the ladder reaches ``step``."""
    if level() >= step:
        print(f"[tilecore] {text}", file=sys.stderr)


@contextmanager
def compiling(name: str, folder: str | None = None, verbose: bool = False) -> Iterator[None]:
    """One compilation of kernel ``name``: numbers its files. folder: overrides TILECORE_DUMP."""
    before = getattr(_state, "dump", None), getattr(_state, "verbose", None)
    root = folder or settings.dump()
    _state.dump = [_folder_for(Path(root), name), 0] if root else None
    _state.verbose = verbose
    try:
        yield
    finally:
        _state.dump, _state.verbose = before


def _folder_for(root: Path, name: str) -> Path:
    """An empty ``root/name``; ``root/name_2`` and so on for further kernels of that name in this process."""
    with _lock:
        number = _folders[root, name] = _folders.get((root, name), 0) + 1
    place = root / (name if number == 1 else f"{name}_{number}")
    try:
        place.mkdir(parents=True, exist_ok=True)
        for path in place.iterdir():
            if _OWN_FILES.fullmatch(path.name):
                path.unlink()
    except OSError as error:
        raise _unwritable(place, error) from error
    return place


def _unwritable(path: Path, error: OSError) -> TilecoreError:
    return TilecoreError(
        f"{path} cannot be written: {error.strerror or error}",
        hint="TILECORE_DUMP, or debug_root_path, names a folder for the files of a compilation",
    )


def dump(step: str, text: str | bytes, extension: str) -> None:
    """Write one file of the compilation under way, when dumping is on."""
    current = getattr(_state, "dump", None)
    if current is None:
        return
    folder, number = current
    current[1] = number + 1
    path = folder / f"{number:02d}_{step}.{extension}"
    try:
        if isinstance(text, bytes):
            path.write_bytes(text)
        else:
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise _unwritable(path, error) from error


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


def tools(backend: Any) -> None:
    """The tools that the backend builds with."""
    if level() >= BACKEND:
        versions = [f"{tool.name} {tool.version}".strip() for tool in backend.toolchain.find() if tool.present]
        say(BACKEND, f"tools of {backend.package}: {', '.join(versions) or 'none'}")


def command(text: str) -> None:
    """The command line of a tool; toolchains call it before they run one."""
    say(TOOLS, text)


def announce(text: str) -> None:
    """Tell the user something that they asked to be told."""
    print(f"[tilecore] {text}", file=sys.stderr)


def set_log_level(level: str | int) -> None:
    """Show the records of tilecore's loggers (``logging.getLogger("tilecore.jit")`` and others) from this level on: a
    number of the module ``logging``, or its name. Raises ArgumentError for another name."""
    import logging

    number = logging.getLevelName(level.upper()) if isinstance(level, str) else level
    if not isinstance(number, int):
        raise ArgumentError(f"there is no level {level!r}", expected="DEBUG, INFO, WARNING, ERROR or CRITICAL")
    logging.getLogger("tilecore").setLevel(number)

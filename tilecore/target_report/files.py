"""Runs Python files as modules, without their ``__main__`` part."""

from __future__ import annotations

import sys
import traceback
from importlib import util
from pathlib import Path
from types import ModuleType

from tilecore.errors import ArgumentError, Location, TilecoreError

PACKAGE = Path(__file__).resolve().parents[1]


def module_of(path: Path) -> ModuleType:
    """The module of a Python file, run under the file's name. Raises ArgumentError where there is no such file, and
    where the file raises an error (tilecore's own pass through) or ends the process."""
    spec = util.spec_from_file_location(path.stem, path) if path.is_file() else None
    if path.exists() and (spec is None or spec.loader is None):
        raise ArgumentError(f"{path} is not a Python file", expected="a file named something.py")
    if spec is None or spec.loader is None:
        raise ArgumentError(f"there is no Python file {path}", expected="a file named something.py")
    module = util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    place = path.resolve()  # before the file may change the working directory
    sys.path.insert(0, str(place.parent))
    try:
        spec.loader.exec_module(module)
    except (TilecoreError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise failure_of(f"{path} cannot be run", error, f"the whole traceback: python {path}", place) from error
    finally:
        sys.path.pop(0)
    return module


def failure_of(what: str, error: BaseException, hint: str | None = None, place: Path | None = None) -> ArgumentError:
    """What to raise where a user's code raised ``error``, with the line of that code. what: what cannot be done, in a
    sentence. place: the file of the code; without it, the innermost file that is not of tilecore."""
    if isinstance(error, SystemExit):
        text = f"{what}: it ends the process (sys.exit)"
        hint = 'put what ends it under if __name__ == "__main__":'
    else:
        text = f"{what}: {type(error).__name__}: {_text_of(error)}"
    return ArgumentError(text, location=_line_of(error, place), hint=hint)


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(an error without a text)"


def _line_of(error: BaseException, place: Path | None) -> Location | None:
    if isinstance(error, SyntaxError) and error.filename is not None:
        return Location(error.filename, error.lineno or 1, max(0, (error.offset or 1) - 1))
    frames = traceback.extract_tb(error.__traceback__)
    files = [(Path(frame.filename).resolve(), frame) for frame in frames]
    users = [frame for file, frame in files if (file == place if place else not file.is_relative_to(PACKAGE))]
    if not users:
        return None if place is None else Location(str(place), 1)
    return Location(users[-1].filename, users[-1].lineno or 1)


def path_and_name(text: str) -> tuple[Path, str | None]:
    """The path and the name (or None) of ``FILE[:NAME]``."""
    path, colon, name = text.rpartition(":")
    return (Path(path), name) if colon and path and not Path(text).exists() else (Path(text), None)

"""Runs Python files as modules, without their ``__main__`` part."""

from __future__ import annotations

import sys
import traceback
from importlib import util
from pathlib import Path
from types import ModuleType

from tilecore.errors import ArgumentError, Location, TilecoreError


def module_of(path: Path) -> ModuleType:
    """The module of a Python file, run under the file's name. Raises ArgumentError where there is no such file, and
    where the file raises an error (tilecore's own pass through) or ends the process."""
    spec = util.spec_from_file_location(path.stem, path) if path.is_file() else None
    if spec is None or spec.loader is None:
        raise ArgumentError(f"there is no Python file {path}", expected="a file named something.py")
    module = util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except TilecoreError:
        raise
    except (Exception, SystemExit) as error:
        raise _failure(path, error) from error
    finally:
        sys.path.pop(0)
    return module


def _failure(path: Path, error: Exception | SystemExit) -> ArgumentError:
    """What to raise where running the file at ``path`` raised ``error``, with the line of the file."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        location = Location(error.filename, error.lineno or 1, max(0, (error.offset or 1) - 1))
    else:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == path.resolve()]
        location = Location(str(path), (lines[-1] if lines else None) or 1)
    if isinstance(error, SystemExit):
        what, hint = f"{path} ends the process when it is run", 'put it under if __name__ == "__main__":'
    else:
        what, hint = f"{path} cannot be run: {type(error).__name__}: {error}", f"the whole traceback: python {path}"
    return ArgumentError(what, location=location, hint=hint)


def path_and_name(text: str) -> tuple[Path, str | None]:
    """The path and the name (or None) of ``FILE[:NAME]``."""
    path, colon, name = text.rpartition(":")
    return (Path(path), name) if colon and path and not Path(text).exists() else (Path(text), None)

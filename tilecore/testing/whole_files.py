"""Files that hold all of a text or what they held before, whenever the process ends."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write a text as UTF-8. Raises OSError where its folder is not there or cannot be written."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)

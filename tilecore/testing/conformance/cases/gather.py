"""Keeps what every test emits: with TILECORE_TEST_GATHER=FOLDER each kernel's source goes there, one file by content.

The first line of a file says for which target it was emitted. ``nox -s emitted`` compiles them all.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def gather(name: str, target: str, source: str, source_format: str) -> None:
    """Writes a kernel's source, if it is asked for."""
    folder = os.environ.get("TILECORE_TEST_GATHER")
    if not folder or not source:
        return
    text = f"// {target}\n{source}"
    file = f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.{source_format}"
    Path(folder).mkdir(parents=True, exist_ok=True)
    Path(folder, file).write_text(text)

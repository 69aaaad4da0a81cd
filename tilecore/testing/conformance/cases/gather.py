"""Keeps what every test emits: with TILECORE_TEST_GATHER=FOLDER each kernel's source goes there, one file by content.

The first line of a file says for which target it was emitted. ``nox -s emitted`` compiles them all.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any


def gather(kernel: Any) -> None:
    """Writes the kernel's source, if it is asked for."""
    folder = os.environ.get("TILECORE_TEST_GATHER")
    if not folder or not kernel.artifact.source:
        return
    artifact = kernel.artifact
    text = f"// {artifact.target}\n{artifact.source}"
    name = f"{artifact.name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.{artifact.source_format}"
    Path(folder).mkdir(parents=True, exist_ok=True)
    Path(folder, name).write_text(text)

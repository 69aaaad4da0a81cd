"""A plugin of pytest that writes every source which is emitted for the target metal into the folder MSL_SOURCES."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from tile_metal import codegen

_build = codegen.build


def build(module: Any, target: str) -> dict[str, str]:
    emitted = _build(module, target)
    name = hashlib.sha256(emitted["source"].encode()).hexdigest()[:16]
    (Path(os.environ["MSL_SOURCES"]) / f"{name}.metal").write_text(emitted["source"])
    return emitted


codegen.build = build

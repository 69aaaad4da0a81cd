"""``tilecore.metal.language``: the tile language, whose names for this target are there anyway."""

from __future__ import annotations

from typing import Any

import tilecore.language as _language


def __getattr__(name: str) -> Any:
    if name.startswith("__") and name != "__all__":
        raise AttributeError(name)
    return getattr(_language, name)


def __dir__() -> list[str]:
    return dir(_language)

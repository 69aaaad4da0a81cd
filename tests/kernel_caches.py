"""Caches of compiled kernels that a few tests have for themselves, and what they hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def private_cache(folder: Path) -> Iterator[None]:
    """Inside, compiled kernels are stored in ``folder``."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILECORE_CACHE_DIR", str(folder))
        yield


def cached_entries(folder: Path) -> list[str]:
    """The names of the entries of the cache in ``folder``."""
    return sorted(path.name for path in folder.glob("*/entries/*/*"))

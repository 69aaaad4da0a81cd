"""Opens the cache that the current settings name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tilecore import settings
from tilecore.compilation_cache.disk import DiskCache

if TYPE_CHECKING:
    from tilecore.compilation_cache.folder_layer import FolderLayer

_NO_HOME = "no home directory is known; set TILECORE_CACHE_DIR to a directory that only you can write to"

_opened: dict[tuple[str | None, int, float | None, tuple[str, ...]], DiskCache] = {}
_off = DiskCache(None)
_enabled = True


def disk_cache() -> DiskCache:
    """The cache on disk that the settings ask for; one that keeps nothing when it is disabled or impossible."""
    if not is_cache_enabled():
        return _off
    place = (settings.cache_dir(), settings.cache_size(), settings.cache_age(), settings.cache_path() or ())
    cache = _opened.get(place)
    if cache is None:
        path, limit, age, paths = place
        cache = _opened.setdefault(place, DiskCache(path, limit, _NO_HOME, age, folder_layers(paths)))
    return cache


def folder_layers(paths: Sequence[str]) -> list[FolderLayer]:
    """The layers among the paths of TILECORE_CACHE_PATH that are cache directories: all but the bundle files."""
    if not paths:
        return []
    from tilecore.compilation_cache.folder_layer import FolderLayer

    return [FolderLayer(path) for path in paths if not os.path.isfile(path)]


def enable_cache() -> None:
    """Use the cache on disk (the default), unless TILECORE_DISABLE_CACHE forbids it."""
    global _enabled
    _enabled = True


def disable_cache() -> None:
    """Leave the cache on disk alone in this process, until :func:`enable_cache`."""
    global _enabled
    _enabled = False


def is_cache_enabled() -> bool:
    return _enabled and not settings.disable_cache()

"""Opens the cache that the current settings name."""

from __future__ import annotations

from tilecore import settings
from tilecore.compilation_cache.disk import DiskCache

_NO_HOME = "no home directory is known; set TILECORE_CACHE_DIR to a directory that only you can write to"

_opened: dict[tuple[str | None, int], DiskCache] = {}
_off = DiskCache(None)
_enabled = True


def disk_cache() -> DiskCache:
    """The cache on disk that the settings ask for; one that keeps nothing when it is disabled or impossible."""
    if not is_cache_enabled():
        return _off
    place = (settings.cache_dir(), settings.cache_size())
    cache = _opened.get(place)
    if cache is None:
        cache = _opened.setdefault(place, DiskCache(*place, reason=_NO_HOME))
    return cache


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

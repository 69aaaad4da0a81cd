"""The public names of the caches of kernels, which are in :mod:`tilecore.compilation_cache`."""

from tilecore.cache.kernel_cache import KernelCache, cached, clear_cache
from tilecore.compilation_cache.admin import (
    CacheCheck,
    CacheCleared,
    CacheCollected,
    CacheStats,
    clear,
    gc,
    path,
    stats,
    verify,
)
from tilecore.compilation_cache.current import disable_cache, disk_cache, enable_cache, is_cache_enabled
from tilecore.compilation_cache.disk import DiskCache
from tilecore.compilation_cache.key import UncacheableError, kernel_key
from tilecore.compilation_cache.memory import MemoryCache
from tilecore.compilation_cache.versions import versions_for_key
from tilecore.compilation_cache.warning import CacheWarning

__all__ = [
    "CacheCheck",
    "CacheCleared",
    "CacheCollected",
    "CacheStats",
    "CacheWarning",
    "DiskCache",
    "KernelCache",
    "MemoryCache",
    "UncacheableError",
    "cached",
    "clear",
    "clear_cache",
    "disable_cache",
    "disk_cache",
    "enable_cache",
    "gc",
    "is_cache_enabled",
    "kernel_key",
    "path",
    "stats",
    "verify",
    "versions_for_key",
]

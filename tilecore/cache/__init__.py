"""The kernel cache: keys, memory, disk.

    source key ─ links ─► kernel key ─ entries ─► Artifact

A fresh process that meets a known kernel goes this way without TVM: ``source_key(function, args, kwargs)`` reads the
function's source and everything it depends on, and the two look-ups take a fraction of a millisecond. Whatever goes
wrong with the disk, kernels compile; whatever is not understood in the source, the IR decides.
"""

from tilecore.cache.admin import CacheCheck, CacheCleared, CacheStats, clear, path, stats, verify
from tilecore.cache.current import disable_cache, disk_cache, enable_cache, is_cache_enabled
from tilecore.cache.disk import DiskCache
from tilecore.cache.kernel_cache import KernelCache, cached, clear_cache
from tilecore.cache.key import UncacheableError, kernel_key
from tilecore.cache.memory import MemoryCache
from tilecore.cache.versions import versions_for_key
from tilecore.cache.warning import CacheWarning

__all__ = [
    "CacheCheck",
    "CacheCleared",
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
    "is_cache_enabled",
    "kernel_key",
    "path",
    "stats",
    "verify",
    "versions_for_key",
]

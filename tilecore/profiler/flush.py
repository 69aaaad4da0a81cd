"""Empties caches between measurements, so that every measurement reads its data from memory."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

DEVICE_MEBIBYTES = 256
_FALLBACK = 32 << 20
_MOST = 512 << 20
_CACHES = "/sys/devices/system/cpu/cpu0/cache"


def host_flush(mebibytes: int | None = None) -> Callable[[], None]:
    """A function that overwrites a buffer: twice the last-level cache that the calling thread's core reaches.

    Once its size leaves part of the second-level cache behind, as measured. The code that is timed leaves the caches
    as well. Caches that only other cores reach keep what they have. mebibytes: the buffer's size; 0 for a function that
    does nothing.
    """
    if mebibytes == 0:
        return _nothing
    import numpy

    buffer = numpy.zeros(flush_size(mebibytes) // 8, numpy.int64)
    return lambda: buffer.fill(0)


def flush_size(mebibytes: int | None = None) -> int:
    """Bytes to overwrite on the host."""
    return min(2 * last_level_cache(), _MOST) if mebibytes is None else mebibytes << 20


def device_flush(empty: Callable[[tuple[int, ...]], Any], mebibytes: int | None = None) -> Callable[[], None]:
    """A function that overwrites a buffer on a device.

    empty: makes an int32 tensor of a shape. Does nothing for tensors that cannot be overwritten from here (those
    without torch's ``zero_``), and for 0 mebibytes.
    """
    size = DEVICE_MEBIBYTES if mebibytes is None else mebibytes
    if size == 0:
        return _nothing
    buffer = empty(((size << 20) // 4,))
    return getattr(buffer, "zero_", _nothing)


@functools.lru_cache(maxsize=1)
def last_level_cache() -> int:
    """Bytes of the largest cache of the first core, as the system tells; 32 MiB where it does not."""
    sizes = []
    try:
        for folder in os.listdir(_CACHES):
            path = Path(_CACHES, folder, "size")
            if path.exists():
                sizes.append(_bytes(path.read_text().strip()))
    except (OSError, ValueError):
        pass
    return max([size for size in sizes if size > 0], default=_FALLBACK)


def _bytes(text: str) -> int:
    """``32768K`` in bytes."""
    unit = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:], 1)
    return int(text.rstrip("KMG")) * unit


def _nothing() -> None:
    return None

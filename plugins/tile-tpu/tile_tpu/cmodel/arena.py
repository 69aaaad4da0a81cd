"""The worker's memory: all blocks of a call side by side, on the host and on the device, with guards between them.

One copy there and one back, however many tensors a kernel has: each costs the CModel a message to its other threads.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Sequence
from typing import NamedTuple

from tile_tpu.runtimes.records import Launch, Runtime, RuntimeFailure

GUARD = 4096  # bytes at least, before and behind each block; blocks start at multiples of it


class Placed(NamedTuple):
    """A block in the arena. at: where it starts."""

    name: str
    at: int
    nbytes: int


class _Gap(NamedTuple):
    """Bytes of no block. pattern: what each of them is; gaps differ, as a copy that runs over copies the next one's."""

    start: int
    end: int
    before: Placed | None
    behind: Placed | None
    pattern: int


class Arena:
    """memory: descriptor of the parent's memory file, which grows with the calls."""

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self._map: mmap.mmap | bytes = b""
        self._host = 0
        self._device = 0
        self._device_bytes = 0

    def run(
        self, runtime: Runtime, library: str, nbytes: int, blocks: Sequence[Placed], launches: Sequence[Launch]
    ) -> None:
        """``nbytes`` of the file hold the blocks as they are to be; afterwards as they are. Raises RuntimeFailure."""
        module = runtime.load(library)
        self._reserve(runtime, nbytes)
        gaps = _gaps(blocks, nbytes)
        for gap in gaps:
            ctypes.memset(self._host + gap.start, gap.pattern, gap.end - gap.start)
        runtime.to_device(self._device, self._host, nbytes)
        addresses = [self._device + block.at for block in blocks]
        for launch in launches:
            runtime.launch(module, launch.entry, launch.filled(addresses), launch.items)
            runtime.wait()
        runtime.to_host(self._host, self._device, nbytes)
        for gap in gaps:
            self._check(*gap)

    def _reserve(self, runtime: Runtime, nbytes: int) -> None:
        if len(self._map) < nbytes:
            self._map = mmap.mmap(self.memory, os.fstat(self.memory).st_size)
            self._host = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        if self._device_bytes < nbytes:
            if self._device_bytes:
                runtime.free(self._device)
                self._device_bytes = 0
            self._device = runtime.allocate(nbytes)
            self._device_bytes = nbytes

    def _check(self, start: int, end: int, before: Placed | None, behind: Placed | None, pattern: int) -> None:
        """Raises when the bytes between two blocks have changed."""
        content = ctypes.string_at(self._host + start, end - start)
        if content.count(pattern) == end - start:
            return
        overwritten = [i for i, byte in enumerate(content) if byte != pattern]
        distances = []
        if before is not None:
            distances.append(f"{overwritten[0]} bytes behind the end of {before.name} ({before.nbytes} bytes)")
        if behind is not None:
            distances.append(f"{end - start - overwritten[-1]} bytes before the start of {behind.name}")
        raise RuntimeFailure(
            f"a kernel wrote outside of its tensors: {len(overwritten)} bytes, from {' and '.join(distances)}"
        )


def _gaps(blocks: Sequence[Placed], nbytes: int) -> list[_Gap]:
    """What belongs to no block."""
    ends = [(block.at, block) for block in blocks] + [(nbytes, None)]
    gaps, position, last = [], 0, None
    for index, (end, block) in enumerate(ends):
        gaps.append(_Gap(position, end, last, block, (0xA5 + 7 * index) % 256))
        if block is not None:
            position, last = block.at + block.nbytes, block
    return gaps

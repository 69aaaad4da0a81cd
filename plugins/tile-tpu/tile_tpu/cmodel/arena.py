"""The worker's memory: one arena on the host and one on the device, with all blocks of a call and guards between them.

A call copies the arena once to the device and once back, however many tensors a kernel has, as each copy costs the
CModel a message to its other threads.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Sequence
from typing import NamedTuple

from tile_tpu.runtimes.records import Launch, Runtime, RuntimeFailure

GUARD = 4096  # the least bytes before and behind each block; blocks start at multiples of it


class Placed(NamedTuple):
    """A block in the arena. at: its offset."""

    name: str
    at: int
    nbytes: int


class _Gap(NamedTuple):
    """A guard: bytes that belong to no block. pattern: the value of each byte. Patterns of different gaps differ, so
    that a copy that runs over is noticed even where it copies another guard."""

    start: int
    end: int
    before: Placed | None
    behind: Placed | None
    pattern: int


class Arena:
    """memory: the descriptor of the memory file that the parent shares; it grows as calls need."""

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self._map: mmap.mmap | bytes = b""
        self._host = 0
        self._device = 0
        self._device_bytes = 0

    def run(
        self, runtime: Runtime, library: str, nbytes: int, blocks: Sequence[Placed], launches: Sequence[Launch]
    ) -> None:
        """Runs the launches on the blocks in the first ``nbytes`` of the file, which afterwards contain the results.
        Raises RuntimeFailure."""
        module = runtime.load(library)
        self._reserve(runtime, nbytes)
        gaps = _gaps(blocks, nbytes)
        for gap in gaps:
            ctypes.memset(self._host + gap.start, gap.pattern, gap.end - gap.start)
        runtime.to_device(self._device, self._host, nbytes)
        addresses = [self._device + block.at for block in blocks]
        for launch in launches:
            runtime.launch(module, launch.entry, launch.with_addresses(addresses), launch.items)
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
        """Raises RuntimeFailure where the bytes between two blocks have changed."""
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
    """The guards between the blocks, before the first one and behind the last one."""
    ends = [(block.at, block) for block in blocks] + [(nbytes, None)]
    gaps, position, last = [], 0, None
    for index, (end, block) in enumerate(ends):
        gaps.append(_Gap(position, end, last, block, (0xA5 + 7 * index) % 256))
        if block is not None:
            position, last = block.at + block.nbytes, block
    return gaps

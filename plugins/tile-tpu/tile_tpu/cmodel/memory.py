"""The parent's side of the memory that it shares with a worker."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Sequence

from tile_tpu.cmodel.arena import GUARD, Placed
from tile_tpu.runtimes.records import Block


def place(blocks: Sequence[Block]) -> tuple[list[Placed], int]:
    """Where blocks lie in the arena, guards between them, and bytes in all."""
    placed, position = [], GUARD
    for block in blocks:
        placed.append(Placed(block.name, position, block.nbytes))
        position += -(-block.nbytes // GUARD) * GUARD + GUARD
    return placed, position


class Staging:
    """A file without a name. descriptor: of it."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._map: mmap.mmap | bytes = b""
        self._start = 0

    def reserve(self, nbytes: int) -> None:
        """At least so many bytes are there."""
        if len(self._map) < nbytes:
            os.ftruncate(self.descriptor, nbytes)
            self._map = mmap.mmap(self.descriptor, nbytes)
            self._start = ctypes.addressof(ctypes.c_char.from_buffer(self._map))

    def write(self, block: Block, at: int) -> None:
        ctypes.memmove(self._start + at, block.host, block.nbytes)

    def read(self, block: Block, at: int) -> None:
        ctypes.memmove(block.host, self._start + at, block.nbytes)

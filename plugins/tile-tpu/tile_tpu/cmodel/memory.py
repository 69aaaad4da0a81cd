"""The parent's access to the memory that it shares with a worker."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Sequence

from tile_tpu.cmodel.arena import GUARD, Placed
from tile_tpu.runtimes.records import Block


def place(blocks: Sequence[Block]) -> tuple[list[Placed], int]:
    """(the blocks with their offsets in the arena, which has guards between them, the size of the arena in bytes)"""
    placed, position = [], GUARD
    for block in blocks:
        placed.append(Placed(block.name, position, block.nbytes))
        position += -(-block.nbytes // GUARD) * GUARD + GUARD
    return placed, position


class Staging:
    """Shared memory in an anonymous file. descriptor: the descriptor of the file."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._map: mmap.mmap | bytes = b""
        self._start = 0

    def reserve(self, nbytes: int) -> None:
        """Makes the memory at least ``nbytes`` bytes large."""
        if len(self._map) < nbytes:
            os.ftruncate(self.descriptor, nbytes)
            self._map = mmap.mmap(self.descriptor, nbytes)
            self._start = ctypes.addressof(ctypes.c_char.from_buffer(self._map))

    def write(self, block: Block, at: int) -> None:
        ctypes.memmove(self._start + at, block.host, block.nbytes)

    def read(self, block: Block, at: int) -> None:
        ctypes.memmove(block.host, self._start + at, block.nbytes)

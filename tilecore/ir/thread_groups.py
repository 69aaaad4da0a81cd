"""Describes the groups of threads whose values tile.allreduce combines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ThreadGroups:
    """A partition of the threads of a block into groups of ``extent`` threads that are ``stride`` apart.

    Linear thread indices (x fastest) of one group differ only in ``index // stride % extent``. threads: the number of
    threads of the block; with stride 1 the last group may be smaller.
    """

    threads: int
    extent: int
    stride: int

    @staticmethod
    def of(threads: int, extent: int, stride: int) -> ThreadGroups:
        """The groups of an allreduce; an extent of 0, or one that covers the block, means the whole block."""
        whole = extent <= 0 or (stride == 1 and extent >= threads)
        return ThreadGroups(threads, threads, 1) if whole else ThreadGroups(threads, extent, stride)

    @property
    def is_whole_block(self) -> bool:
        return self.stride == 1 and self.extent >= self.threads

    @property
    def count(self) -> int:
        return -(-self.threads // (self.extent * self.stride)) * self.stride

    def group(self, thread: Any) -> Any:
        """The group of the thread with this index (an int, an array of ints or an expression)."""
        if self.is_whole_block:
            return thread * 0
        if self.stride == 1:
            return thread // self.extent
        return thread // (self.extent * self.stride) * self.stride + thread % self.stride

    def member(self, group: Any, position: Any) -> Any:
        """The index of the thread at ``position`` (0 to extent - 1) in a group."""
        if self.stride == 1:
            return group * self.extent + position
        return (group // self.stride * self.extent + position) * self.stride + group % self.stride

"""The groups of threads whose values tile.allreduce combines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ThreadGroups:
    """The threads of a block, numbered with x fastest, in groups: threads ``stride`` apart, ``extent`` of them.

    Numbers of a group differ only in ``number // stride % extent``. threads: of the block; without stride the last
    group may be smaller.
    """

    threads: int
    extent: int
    stride: int

    @staticmethod
    def of(threads: int, extent: int, stride: int) -> ThreadGroups:
        """As an allreduce names them: extent 0, or one that covers the block, is the whole block."""
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
        """The number of the thread at ``position`` (0 to extent - 1) in a group."""
        if self.stride == 1:
            return group * self.extent + position
        return (group // self.stride * self.extent + position) * self.stride + group % self.stride

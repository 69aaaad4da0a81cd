"""Code for some of a block's warpgroups (warp specialization)."""

from __future__ import annotations

from math import prod
from typing import Any

from tile_cuda.architectures import WARP
from tilecore.errors import LanguageError, UnsupportedError
from tilecore.ir.build import const
from tilecore.ir.nodes import EQ, Expr
from tilecore.ir.thread_ranges import ThreadRange, for_threads
from tilecore.language.kernel import open_kernel
from tilecore.language.threads import thread_number
from tilecore.tracing.current import current

GROUP = 4 * WARP  # threads of a warpgroup


class ws:
    """``with T.ws(1, 2):`` only these warpgroups of 128 threads, counted from 0, execute the code inside.

    They execute it as a block does: fragments are spread over their threads, T.Parallel is partitioned among them, and
    T.sync_threads waits for them alone. Only barriers of T.alloc_barrier order it with the code of other warpgroups.
    Raises LanguageError for warpgroups that the block does not have, UnsupportedError for indices with gaps.
    """

    def __init__(self, *warp_group_idx: int) -> None:
        groups = sorted(set(warp_group_idx))
        if not groups or not all(isinstance(g, int) and g >= 0 for g in groups):
            raise LanguageError("T.ws takes indices of warpgroups", found=str(warp_group_idx), expected="0, 1, ...")
        if groups != list(range(groups[0], groups[-1] + 1)):
            raise UnsupportedError(
                "T.ws takes warpgroups with consecutive indices",
                found=str(warp_group_idx),
                hint="use a T.ws for each of them",
            )
        self.threads = ThreadRange(groups[0] * GROUP, len(groups) * GROUP)
        count = prod(open_kernel("T.ws").threads)
        if self.threads.stop > count:
            raise LanguageError(
                f"T.ws({groups[-1]}): the block has no such warpgroup",
                found=f"T.Kernel(threads={count}): {count // GROUP} warpgroups of {GROUP} threads",
                expected=f"at least {self.threads.stop} threads",
            )
        if current("T.ws").in_parallel:
            raise LanguageError("T.ws cannot stand inside T.Parallel, whose iterations have no fixed threads")

    def __enter__(self) -> None:
        builder = current("T.ws")
        self.span = builder.span
        self.block = builder.block("threads")
        self.frame = self.block.__enter__()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.block.__exit__(kind, error, trace)
        if kind is None:
            current("T.ws").emit(for_threads(self.threads, self.frame.body(), span=self.span))


def shuffle_elect(thread_extent: int = 0) -> Expr:
    """Whether the running thread is the first of its ``thread_extent`` neighbours (0: of the block), as a condition.

    It is the thread that starts a T.tma_copy at the same place.
    """
    thread = thread_number(open_kernel("T.shuffle_elect"))
    if not isinstance(thread_extent, int) or thread_extent < 0:
        raise LanguageError("T.shuffle_elect takes a number of threads", found=repr(thread_extent)[:60])
    return EQ(thread % thread_extent if thread_extent else thread, const(0, "int32"))

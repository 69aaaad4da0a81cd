"""Code for some of a block's threads."""

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
from tilecore.tracing.builder import current

GROUP = 4 * WARP  # threads of a warpgroup


class ws:
    """``with T.ws(1, 2):`` the code inside is done by these warpgroups of 128 threads, counted from 0, alone.

    They do it together as a block does: fragments are spread over their threads, T.Parallel is partitioned over them,
    and T.sync_threads waits for them alone. Nothing orders it with what other warpgroups do at the same time but
    barriers of T.alloc_barrier. Several must be neighbours.
    """

    def __init__(self, *warp_group_idx: int) -> None:
        groups = sorted(set(warp_group_idx))
        if not groups or not all(isinstance(g, int) and g >= 0 for g in groups):
            raise LanguageError("T.ws takes numbers of warpgroups", found=str(warp_group_idx), expected="0, 1, ...")
        if groups != list(range(groups[0], groups[-1] + 1)):
            raise UnsupportedError(
                "T.ws of warpgroups that are no neighbours", found=str(warp_group_idx), hint="give each its own T.ws"
            )
        self.threads = ThreadRange(groups[0] * GROUP, len(groups) * GROUP)
        count = prod(open_kernel("T.ws").threads)
        if self.threads.stop > count:
            raise LanguageError(
                f"T.ws({groups[-1]}): there is no such warpgroup",
                found=f"T.Kernel(threads={count}), which are {count // GROUP} warpgroups of {GROUP}",
                expected=f"at least {self.threads.stop} threads",
            )
        if current("T.ws").in_parallel:
            raise LanguageError("T.ws inside T.Parallel, whose iterations belong to no thread")

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
    """Is the running thread the first of its ``thread_extent`` neighbours (0: of the block)? It is the one that starts
    a T.tma_copy in the same place."""
    number = thread_number(open_kernel("T.shuffle_elect"))
    if not isinstance(thread_extent, int) or thread_extent < 0:
        raise LanguageError("T.shuffle_elect takes a number of threads", found=repr(thread_extent)[:60])
    return EQ(number % thread_extent if thread_extent else number, const(0, "int32"))

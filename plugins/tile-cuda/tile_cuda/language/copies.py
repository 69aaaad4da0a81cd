"""Copies of boxes between global and shared memory by tensor maps. PTX ISA, "cp.async.bulk.tensor"."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from tile_cuda import instructions
from tile_cuda.language.barriers import barrier_element
from tile_cuda.operations import KIND, TMA_COPY
from tilecore.errors import LanguageError
from tilecore.ir.nodes import IntImm, StringImm
from tilecore.ir.scopes import is_global, is_shared
from tilecore.language.copies import emit
from tilecore.language.dialects import dialect_hints, emit_call
from tilecore.language.kernel import open_kernel
from tilecore.language.regions import describe, region_pair

MOST_BLOCKS = 16  # of a cluster
_POLICIES = (None, "evict_normal", "evict_first", "evict_last")


def tma_copy(
    src: Any,
    dst: Any,
    *,
    barrier: Any = None,
    cluster_mask: int | None = None,
    leader_scope_threads: int | None = None,
    eviction_policy: str | None = None,
    annotations: Mapping[str, Any] | None = None,
) -> None:
    """Start a copy of a tile by a tensor map; who needs it waits.

    From global to shared memory one thread of those that come here says that the bytes are expected on ``barrier`` and
    starts the copy; arriving and waiting are the kernel's (``annotations={"emit_arrive": 1}``: that thread arrives
    too). What lies outside of the tensor is 0. From shared to global memory the copy is a group of its own, which
    T.tma_store_wait waits for.

    cluster_mask: one bit for each block of the cluster, by its rank: the lowest of them copies for all of them, to the
    same place and the same barrier of each; each expects its own bytes. leader_scope_threads: one thread of so many
    neighbours starts it; of all that come here by default. eviction_policy: a hint.
    """
    what = "T.tma_copy"
    left, right = region_pair(src, dst, what)
    loads = is_global(left.source) and is_shared(right.source)
    if not loads and not (is_shared(left.source) and is_global(right.source)):
        raise LanguageError(
            f"{what} moves tiles between global and shared memory",
            found=f"{describe(left)} ({left.source.scope()}) to {describe(right)} ({right.source.scope()})",
            hint="T.copy moves tiles between any two",
        )
    if loads and barrier is None:
        raise LanguageError(f"{what} to shared memory without a barrier", expected="barrier=, of T.alloc_barrier")
    if not loads and (barrier is not None or cluster_mask):
        raise LanguageError(f"{what} to global memory takes no barrier and no cluster_mask", hint="T.tma_store_wait()")
    if eviction_policy not in _POLICIES:
        raise LanguageError(f"{what}: eviction_policy {eviction_policy!r}", expected=", ".join(map(repr, _POLICIES)))
    further = dict(annotations or {})
    arrive = bool(further.pop("emit_arrive", 0))
    if further:
        raise LanguageError(f"{what}: annotations {', '.join(further)}", expected="emit_arrive")
    at = barrier_element(barrier, what) if loads else IntImm("int32", 0)
    numbers = [_mask(cluster_mask, what), int(arrive), _leaders(leader_scope_threads, what)]
    blocks = prod(open_kernel(what).cluster_dims)
    emit(TMA_COPY.name, [left, right, at, *numbers], dialect_hints(KIND, what, {"cluster": blocks}))


def _mask(cluster_mask: Any, what: str) -> int:
    if cluster_mask is None:
        return 0
    blocks = prod(open_kernel(what).cluster_dims)
    if not isinstance(cluster_mask, int) or not 0 <= cluster_mask < 1 << blocks:
        raise LanguageError(
            f"{what}: cluster_mask {cluster_mask!r}",
            expected=f"a number below {1 << blocks}: the cluster has {blocks} block{'s' * (blocks > 1)}",
            hint="T.Kernel(cluster_dims=...) makes clusters",
        )
    return cluster_mask


def _leaders(threads: Any, what: str) -> int:
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise LanguageError(f"{what}: leader_scope_threads {threads!r}", expected="a number of threads")
    return int(threads or 0)


def tma_store_arrive() -> None:
    """The copies to global memory that this thread has started become a group; T.tma_copy does so by itself."""
    emit_call(KIND, "T.tma_store_arrive", instructions.STORES, [StringImm("commit_stores")])


def tma_store_wait(count: int = 0, read: bool = True) -> None:
    """This thread's copies to global memory, but for the last ``count`` groups, have read shared memory, which may be
    written again; with ``read=False``: are done."""
    if not isinstance(count, int) or count < 0:
        raise LanguageError("T.tma_store_wait takes a number of groups", found=repr(count)[:60])
    name = "wait_stores_read" if read else "wait_stores"
    emit_call(KIND, "T.tma_store_wait", instructions.STORES, [StringImm(name), IntImm("int32", count)])

"""Copies of tiles between global and shared memory by tensor maps (TMA). PTX ISA, "cp.async.bulk.tensor"."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from tile_cuda import instructions
from tile_cuda.attributes import CudaCallAttr
from tile_cuda.language.barriers import barrier_element
from tile_cuda.operations import KIND, TMA_COPY
from tilecore.errors import LanguageError
from tilecore.ir.attributes import CallAttr
from tilecore.ir.nodes import IntImm, StringImm
from tilecore.ir.scopes import is_global, is_shared
from tilecore.language.copies import emit
from tilecore.language.dialects import dialect_hints, emit_call
from tilecore.language.kernel import open_kernel
from tilecore.language.regions import describe, region_pair

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
    """Start an asynchronous copy of a tile by a tensor map; the kernel itself waits for it.

    From global to shared memory, one of the threads that reach this statement expects the bytes on ``barrier`` and
    starts the copy. The kernel itself arrives and waits (``annotations={"emit_arrive": 1}``: the thread arrives too).
    Elements outside of the tensor are 0. From shared to global memory the copy is a group of its own, which
    T.tma_store_wait waits for.

    cluster_mask: one bit for each block of the cluster, by its rank. The lowest of them copies for all of them, to the
    same place and the same barrier of each; each block expects its own bytes. leader_scope_threads: one thread of this
    many neighbours starts the copy; by default one of all threads that reach it. eviction_policy: the lines that a load
    brings to the L2 cache are the first ("evict_first") or the last ("evict_last") to make place for others. Raises
    LanguageError for other memory spaces, and for options that do not fit the direction.
    """
    function_name = "T.tma_copy"
    left, right = region_pair(src, dst, function_name)
    loads = is_global(left.source) and is_shared(right.source)
    if not loads and not (is_shared(left.source) and is_global(right.source)):
        raise LanguageError(
            f"{function_name} copies between global and shared memory",
            found=f"{describe(left)} ({left.source.scope()}) to {describe(right)} ({right.source.scope()})",
            hint="T.copy copies between any two memory spaces",
        )
    if loads and barrier is None:
        raise LanguageError(
            f"{function_name} to shared memory needs a barrier", expected="barrier=, of T.alloc_barrier"
        )
    if not loads and (barrier is not None or cluster_mask):
        raise LanguageError(
            f"{function_name} to global memory takes no barrier and no cluster_mask", hint="T.tma_store_wait()"
        )
    if eviction_policy not in _POLICIES:
        raise LanguageError(
            f"{function_name} has no such eviction_policy",
            found=repr(eviction_policy),
            expected=", ".join(map(repr, _POLICIES)),
        )
    unknown_annotations = dict(annotations or {})
    arrive = bool(unknown_annotations.pop("emit_arrive", 0))
    if unknown_annotations:
        raise LanguageError(
            f"{function_name} has no such annotations", found=", ".join(unknown_annotations), expected="emit_arrive"
        )
    mbarrier = barrier_element(barrier, function_name) if loads else IntImm("int32", 0)
    options = [_mask(cluster_mask, function_name), int(arrive), _leaders(leader_scope_threads, function_name)]
    blocks = prod(open_kernel(function_name).cluster_dims)
    emit(
        TMA_COPY.name,
        [left, right, mbarrier, *options],
        dialect_hints(KIND, function_name, {CudaCallAttr.CLUSTER: blocks, CallAttr.EVICTION_POLICY: eviction_policy}),
    )


def _mask(cluster_mask: Any, function_name: str) -> int:
    if cluster_mask is None:
        return 0
    blocks = prod(open_kernel(function_name).cluster_dims)
    if not isinstance(cluster_mask, int) or not 0 <= cluster_mask < 1 << blocks:
        raise LanguageError(
            f"{function_name} takes a cluster_mask with a bit for each block of the cluster",
            found=repr(cluster_mask),
            expected=f"an integer from 0 to {(1 << blocks) - 1}: the cluster has {blocks} block{'s' * (blocks > 1)}",
            hint="T.Kernel(cluster_dims=...) sets the size of a cluster",
        )
    return cluster_mask


def _leaders(threads: Any, function_name: str) -> int:
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise LanguageError(
            f"{function_name} takes a number of leader_scope_threads", found=repr(threads), expected="1 or more"
        )
    return int(threads or 0)


def tma_store_arrive() -> None:
    """Makes a group of the copies to global memory that this thread has started; T.tma_copy does so by itself."""
    emit_call(KIND, "T.tma_store_arrive", instructions.TMA_STORE_GROUP, [StringImm("commit_stores")])


def tma_store_wait(count: int = 0, read: bool = True) -> None:
    """Wait until this thread's copies to global memory, except the last ``count`` groups, have read shared memory.

    The memory may then be written again. read=False: wait until they have ended. Raises LanguageError for a ``count``
    that is not an integer of 0 or more.
    """
    if not isinstance(count, int) or count < 0:
        raise LanguageError("T.tma_store_wait takes a number of groups", found=repr(count)[:60], expected="0 or more")
    name = "wait_stores_read" if read else "wait_stores"
    emit_call(KIND, "T.tma_store_wait", instructions.TMA_STORE_GROUP, [StringImm(name), IntImm("int32", count)])

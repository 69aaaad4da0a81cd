"""T.copy_cluster: copies of tiles for several blocks of a cluster, and to the shared memory of another block."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from tile_cuda import instructions
from tile_cuda.language.barriers import alloc_cluster_barrier, barrier_element, barrier_wait
from tile_cuda.language.clusters import cluster_sync
from tile_cuda.language.copies import tma_copy
from tile_cuda.operations import KIND
from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError
from tilecore.ir.build import const, dtype_of, load, nest
from tilecore.ir.nodes import (
    EQ,
    AllocBuffer,
    BufferStore,
    Call,
    Evaluate,
    IfThenElse,
    Stmt,
    StringImm,
    TensorRegion,
    tirx,
)
from tilecore.ir.scopes import is_shared
from tilecore.ir.tile_ops import tile_statement
from tilecore.language.buffers import as_load
from tilecore.language.conversions import convert
from tilecore.language.dialects import dialect_hints, emit_call
from tilecore.language.kernel import open_kernel
from tilecore.language.regions import describe, region_pair
from tilecore.language.threads import thread_number
from tilecore.tracing.current import current

NAME = "T.copy_cluster"


def copy_cluster(
    src: Any,
    dst: Any,
    *,
    dst_block: Any = None,
    cluster_mask: int | None = None,
    remote_barrier: Any = None,
    eviction_policy: str | None = None,
    coalesced_width: int | None = None,
    annotations: Mapping[str, Any] | None = None,
    loop_layout: Any = None,
) -> None:
    """Copy a tile to several blocks of the cluster, or to the shared memory of another block.

    cluster_mask: src is in global memory. The lowest block of the mask copies its tile to the same place in the shared
    memory of all blocks of the mask, each other block copies its own, and all wait. All blocks must reach it.

    dst_block: src is in shared memory, dst is the tile at its place in the block of this rank (int32, also a value of
    the kernel). remote_barrier: a barrier of T.alloc_cluster_barrier, at which one thread then arrives in that block.
    Without it the kernel orders the copy by T.cluster_sync. The other keywords are hints. Raises LanguageError for
    other memory spaces, and where neither or both are given.
    """
    if (dst_block is None) == (cluster_mask is None):
        raise LanguageError(
            f"{NAME} takes either a cluster_mask or a dst_block",
            found=f"dst_block={dst_block}, cluster_mask={cluster_mask}",
            expected="cluster_mask= for a tile of global memory, dst_block= for a tile of shared memory",
        )
    if prod(open_kernel(NAME).cluster_dims) == 1:
        raise LanguageError(f"{NAME} needs a kernel with clusters", hint="T.Kernel(cluster_dims=...), or T.copy")
    if cluster_mask is not None:
        if remote_barrier is not None:
            raise LanguageError(
                f"{NAME} with a cluster_mask waits by itself",
                found="remote_barrier=",
                hint="leave it out; T.tma_copy copies without a wait",
            )
        _multicast(src, dst, cluster_mask, eviction_policy)
        return
    left, right = region_pair(src, dst, NAME)
    if not is_shared(left.source) or not is_shared(right.source) or dtype_of(left.source) != dtype_of(right.source):
        raise LanguageError(
            f"{NAME} to another block copies between tiles of shared memory with the same element type",
            found=f"{describe(left)} of {dtype_of(left.source)} to {describe(right)} of {dtype_of(right.source)}",
        )
    rank = current(NAME).bind("block", convert(dst_block, "int32"))
    _to_block(left, right, rank, remote_barrier)


def _multicast(src: Any, dst: Any, cluster_mask: int, eviction_policy: str | None) -> None:
    """A T.tma_copy of the cluster and a wait for it. No block still reads the tile when a copy to it begins."""
    barrier = alloc_cluster_barrier(1)
    barrier.name_once(current(NAME), "landed")
    cluster_sync()
    options: dict[str, Any] = {"cluster_mask": cluster_mask, "eviction_policy": eviction_policy}
    tma_copy(src, dst, barrier=barrier, annotations={"emit_arrive": 1}, **options)
    builder = current(NAME)
    if not any(frame.kind == "loop" for frame in builder.frames):
        barrier_wait(barrier, 0)
        return
    phase = _counter("phase")
    where = [const(0, "int32")]
    parity = builder.bind("parity", load(phase, where))
    barrier_wait(barrier, parity)
    builder.emit(BufferStore(phase, const(1, "int32") - parity, where, span=builder.span))


def _counter(name: str) -> Any:
    """A variable that is 0 at the start of the kernel."""
    builder, frame = current(NAME), open_kernel(NAME).frame
    variable = tirx.decl_buffer([1], "int32", builder.unique(name), scope="local.var", layout=None)
    zero = const(0, "int32")
    frame.statements[:0] = [AllocBuffer(variable), BufferStore(variable, zero, [zero])]
    return variable


def _to_block(src: TensorRegion, dst: TensorRegion, rank: Any, barrier: Any) -> None:
    builder = current(NAME)
    span, hints = builder.span, dialect_hints(KIND, NAME)

    def element(region: TensorRegion, variables: list[Any]) -> Any:
        places = iter(variables)
        unit = [_is_one(r.extent) for r in region.region]
        indices = (r.min if one else r.min + next(places) for r, one in zip(region.region, unit, strict=True))
        return load(region.source, list(indices))

    def store(variables: list[Any]) -> Stmt:
        args = [element(dst, variables), element(src, variables), rank]
        return Evaluate(Call(instructions.REMOTE_STORE, args, attrs=hints, ret_ty="void"), span=span)

    builder.emit(nest([r.extent for r in src.region if not _is_one(r.extent)], store, span=span))
    if barrier is None:
        return
    args = [StringImm("release_remote"), barrier_element(barrier, NAME), rank]
    arrive = Evaluate(Call(instructions.MBARRIER, args, attrs=hints, ret_ty="void"), span=span)
    builder.emit(tile_statement("sync_threads", [], span=span))
    builder.emit(IfThenElse(EQ(thread_number(open_kernel(NAME)), const(0, "int32")), arrive, None, span=span))


def cluster_store_async(dst: Any, value: Any, *, dst_block: Any, barrier: Any) -> None:
    """Start a store of one element to the shared memory of the block of this rank; its barrier counts the bytes.

    dst: an element of a tile of 4 or 8 bytes in shared memory; the store is to its place in the other block. barrier:
    of T.alloc_cluster_barrier, also at its place there. That block expects the bytes (T.mbarrier_arrive_expect_tx), and
    sees the value after its wait. Every thread that reaches it stores, in T.Parallel one for each iteration. Raises
    LanguageError for other tiles and barriers.
    """
    function_name = "T.cluster_store_async"
    if prod(open_kernel(function_name).cluster_dims) == 1:
        raise LanguageError(f"{function_name} needs a kernel with clusters", hint="T.Kernel(cluster_dims=...)")
    element = as_load(dst)
    if element is None or not is_shared(element.source) or DType(dtype_of(element)).bytes not in (4, 8):
        raise LanguageError(
            f"{function_name} stores to an element of 4 or 8 bytes of shared memory",
            found=str(dst)[:60] if element is None else f"{element.source.name} of {dtype_of(element)}",
            expected="tile[i], where tile is of T.alloc_shared",
        )
    mbarrier = barrier_element(barrier, function_name)
    if mbarrier.source not in open_kernel(function_name).frame.facts.get("cluster_barriers", ()):
        raise LanguageError(
            f"{function_name} needs a barrier that other blocks use",
            found=f"{mbarrier.source.name} of T.alloc_barrier",
            expected="a barrier of T.alloc_cluster_barrier",
        )
    args = [element, convert(value, dtype_of(element)), mbarrier, convert(dst_block, "int32")]
    emit_call(KIND, function_name, instructions.REMOTE_STORE_ASYNC, args)


def _is_one(extent: Any) -> bool:
    return getattr(extent, "value", None) == 1

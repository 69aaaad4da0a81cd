"""Mbarriers: barriers in shared memory that count arrivals and bytes. PTX ISA, "mbarrier".

A barrier's phases are numbered from 0. A phase ends when as many threads have arrived as T.alloc_barrier says, and all
bytes that are expected in it have landed. Every thread that reaches one of these statements executes it; an ``if``
leaves it to one thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tile_cuda import instructions
from tile_cuda.architectures import WARP
from tile_cuda.attributes import CudaKernelHint
from tile_cuda.operations import KIND
from tilecore.errors import LanguageError
from tilecore.ir.build import const, constant
from tilecore.ir.nodes import BufferLoad, Expr, IntImm, StringImm
from tilecore.language.buffers import BufferHandle, as_load
from tilecore.language.conversions import convert
from tilecore.language.dialects import dialect_hints, emit_call
from tilecore.language.hints import annotate
from tilecore.language.kernel import Kernel, open_kernel
from tilecore.language.memory import allocate
from tilecore.tracing.current import current

MOST_NAMED = 15  # the greatest number of a named barrier
MOST_ARRIVALS = (1 << 20) - 1  # PTX ISA, "mbarrier.init"


def alloc_barrier(arrive_count: int | Sequence[int]) -> BufferHandle:
    """An mbarrier whose phases end after ``arrive_count`` arrivals; for a list, one for each of its counts: ``bar[i]``.

    One thread initializes them at the start of the kernel, and all threads wait for it. Raises LanguageError for counts
    that are not integers from 1 to 2^20 - 1.
    """
    return _allocate_barriers("T.alloc_barrier", arrive_count)


def alloc_cluster_barrier(arrive_count: int | Sequence[int], wait: bool = True) -> BufferHandle:
    """T.alloc_barrier for a kernel with clusters: all blocks of the cluster wait until it is initialized.

    wait: False where the kernel does so itself, by T.cluster_wait in front of the first use of its barriers, so that a
    block can load before the others have started. All barriers of the kernel must then be allocated so.
    """
    if prod(open_kernel("T.alloc_cluster_barrier").cluster_dims) == 1:
        raise LanguageError(
            "T.alloc_cluster_barrier needs a kernel with clusters",
            hint="T.Kernel(cluster_dims=...), or T.alloc_barrier",
        )
    return _allocate_barriers("T.alloc_cluster_barrier", arrive_count, wait)


def _allocate_barriers(function_name: str, arrive_count: int | Sequence[int], wait: bool = True) -> BufferHandle:
    counts = list(arrive_count) if isinstance(arrive_count, (list, tuple)) else [arrive_count]
    kernel = open_kernel(function_name)
    if not counts or not all(isinstance(c, int) and 1 <= c <= MOST_ARRIVALS for c in counts):
        raise LanguageError(
            f"{function_name} takes the number of arrivals that end a phase, or a list of such numbers",
            found=repr(arrive_count)[:60],
            expected=f"integers from 1 to {MOST_ARRIVALS}",
        )

    def record(barriers: BufferHandle) -> None:
        annotate(CudaKernelHint.MBARRIERS, barriers, *counts, hints=dialect_hints(KIND, function_name))
        _check_waits(kernel, wait, function_name)
        if not wait:
            annotate(CudaKernelHint.LATE_WAIT, barriers, hints=dialect_hints(KIND, function_name))
        kernel.frame.facts.setdefault("barriers", set()).add(barriers.buffer)
        if function_name == "T.alloc_cluster_barrier":
            kernel.frame.facts.setdefault("cluster_barriers", set()).add(barriers.buffer)

    return allocate([len(counts)], "uint64", "shared", function_name, record)


def _check_waits(kernel: Kernel, wait: bool, function_name: str) -> None:
    """Raises LanguageError where a kernel waits for some of its barriers by itself, and not for others."""
    if kernel.frame.facts.setdefault("waits_for_barriers", wait) != wait:
        raise LanguageError(
            f"{function_name}: a kernel waits for the initialization of all its barriers by itself, or of none",
            found=f"wait={wait}, and {not wait} before",
            expected="T.alloc_cluster_barrier(..., wait=False) for all of them",
        )


def barrier_element(barrier: Any, function_name: str) -> Expr:
    """The element of the mbarrier that ``bar`` or ``bar[i]`` names.

    Raises LanguageError for values that are not barriers of T.alloc_barrier.
    """
    barriers = open_kernel(function_name).frame.facts.get("barriers", set())
    expected = "a barrier of T.alloc_barrier, or an element of several"
    if isinstance(barrier, BufferHandle) and barrier.buffer in barriers:
        if barrier.shape != (1,):
            raise LanguageError(
                f"{function_name} takes one barrier, and {barrier.name} has {barrier.shape[0]}",
                expected=f"{barrier.name}[i]",
            )
        return BufferLoad(barrier.buffer, [IntImm("int32", 0)])
    element = as_load(barrier)
    if element is not None and element.source in barriers:
        return element
    argument_text = f"{type(barrier).__name__} {getattr(barrier, 'name', '') or str(barrier)[:60]}"
    raise LanguageError(f"{function_name} takes a barrier", found=argument_text, expected=expected)


def _emit(function_name: str, operation: str, barrier: Any, *operands: Any) -> None:
    args = [StringImm(operation), barrier_element(barrier, function_name), *operands]
    emit_call(KIND, function_name, instructions.MBARRIER, args)


def _wait(function_name: str, mbarrier: Any, parity: Any) -> None:
    if isinstance(parity, int) and parity not in (0, 1):
        raise LanguageError(
            f"{function_name} takes a parity", found=str(parity), expected="0 or 1: the phase's index modulo 2"
        )
    in_cluster = open_kernel(function_name).frame.facts.get("cluster_barriers", ())
    operation = "wait_cluster" if barrier_element(mbarrier, function_name).source in in_cluster else "wait"
    _emit(function_name, operation, mbarrier, convert(parity, "int32"))


def mbarrier_wait_parity(mbarrier: Any, parity: Any) -> None:
    """Wait until the phase of this parity (0 or 1, its index modulo 2) has ended.

    A new barrier is in phase 0, so a wait for parity 1 ends at once.
    """
    _wait("T.mbarrier_wait_parity", mbarrier, parity)


def barrier_wait(mbarrier: Any, parity: Any) -> None:
    """As T.mbarrier_wait_parity."""
    _wait("T.barrier_wait", mbarrier, parity)


def mbarrier_arrive(mbarrier: Any, cta_id: Any = None) -> None:
    """Arrive at the barrier. cta_id: at the same barrier of the block of this rank in the cluster."""
    function_name = "T.mbarrier_arrive"
    if cta_id is None:
        _emit(function_name, "arrive", mbarrier)
    else:
        _emit(function_name, "arrive_remote", mbarrier, convert(cta_id, "int32"))


def barrier_arrive(mbarrier: Any) -> None:
    """As T.mbarrier_arrive."""
    _emit("T.barrier_arrive", "arrive", mbarrier)


def ptx_arrive_barrier(barrier_id: Any) -> None:
    """As T.mbarrier_arrive. barrier_id: a barrier of T.alloc_barrier."""
    _emit("T.ptx_arrive_barrier", "arrive", barrier_id)


def ptx_arrive_cluster_barrier(mbarrier: Any, cta_id: Any) -> None:
    """T.mbarrier_arrive(mbarrier, cta_id): arrive at the barrier of the block of this rank in the cluster."""
    _emit("T.ptx_arrive_cluster_barrier", "arrive_remote", mbarrier, convert(cta_id, "int32"))


def named_barrier_arrive(barrier_id: Any, thread_count: Any) -> None:
    """Arrive at a named barrier without waiting: every thread that reaches it. PTX ISA, "barrier.arrive".

    barrier_id: 1 to 15, also a value of the kernel. thread_count: how many threads arrive or wait in all, a multiple of
    32. Others wait by T.sync_threads(barrier_id, thread_count). Raises LanguageError for numbers out of range.
    """
    name = "T.named_barrier_arrive"
    number, count = convert(barrier_id, "int32"), convert(thread_count, "int32")
    known_number, known_count = constant(number), constant(count)
    if known_number is not None and not 1 <= known_number <= MOST_NAMED:
        raise LanguageError(
            f"{name}: the barrier is {known_number}", expected=f"1 to {MOST_NAMED}; 0 is the block's own"
        )
    if known_count is not None and (known_count < 1 or known_count % WARP):
        raise LanguageError(f"{name}: {known_count} threads", expected=f"a multiple of a warp's {WARP} threads")
    emit_call(KIND, name, instructions.NAMED_ARRIVE, [number, count])


def mbarrier_expect_tx(mbarrier: Any, tx: Any) -> None:
    """Expect ``tx`` more bytes before the barrier's phase ends. T.tma_copy does this for its own bytes."""
    _emit("T.mbarrier_expect_tx", "expect", mbarrier, _bytes(tx, "T.mbarrier_expect_tx"))


def mbarrier_arrive_expect_tx(mbarrier: Any, tx: Any) -> None:
    """T.mbarrier_expect_tx and T.mbarrier_arrive at once."""
    _emit("T.mbarrier_arrive_expect_tx", "arrive_expect", mbarrier, _bytes(tx, "T.mbarrier_arrive_expect_tx"))


def ptx_arrive_barrier_expect_tx(barrier_id: Any, byte_count: Any) -> None:
    """As T.mbarrier_arrive_expect_tx. barrier_id: a barrier of T.alloc_barrier."""
    name = "T.ptx_arrive_barrier_expect_tx"
    _emit(name, "arrive_expect", barrier_id, _bytes(byte_count, name))


def ptx_fence_barrier_init() -> None:
    """Shows the initialization of this thread's barriers to the copy engine and to other blocks of the cluster.

    T.alloc_barrier initializes barriers at the start of the kernel and does this, too.
    """
    emit_call(KIND, "T.ptx_fence_barrier_init", instructions.MBARRIER, [StringImm("fence_init")])


def _bytes(tx: Any, function_name: str) -> Expr:
    if isinstance(tx, int) and tx < 0:
        raise LanguageError(f"{function_name} takes a number of bytes", found=str(tx), expected="0 or more")
    return convert(tx, "int32")


def cp_async_barrier_noinc(barrier: Any) -> None:
    """Arrive when the asynchronous copies that this thread has started so far have landed.

    It is one of the arrivals that T.alloc_barrier counts.
    """
    _emit("T.cp_async_barrier_noinc", "arrive_on_copies", barrier, const(1, "bool"))


def fence_proxy_async() -> None:
    """Makes this thread's writes to shared memory visible to TMA copies and wgmma that other threads start after a
    barrier."""
    current("T.fence_proxy_async")
    emit_call(KIND, "T.fence_proxy_async", instructions.PROXY_FENCE, [])

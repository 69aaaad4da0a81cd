"""Threads of kernels in CuTe DSL: barriers, fences, shuffles and votes. All lanes take part in the last two."""

from __future__ import annotations

from typing import Any

import cutlass.cute as cute
from cutlass import BFloat16, Boolean, Float16, Float32, Float64, Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32
from cutlass._mlir.dialects import nvvm

from tile_cuda.cutedsl.device_memory import assembly
from tile_cuda.cutedsl.device_numbers import bits

_WARP = 32
_EVERY_LANE = 0xFFFFFFFF
_WORDS = {Float64: Int64, Float32: Int32, Float16: Uint16, BFloat16: Uint16}  # the integer with the bits of a float
_NARROW = (Int8, Uint8, Int16, Uint16)


def barrier() -> None:
    """All threads of the block wait for one another."""
    cute.arch.sync_threads()


def warp_barrier() -> None:
    """The threads of the warp wait for one another."""
    cute.arch.sync_warp()


def named_barrier(number: Any, threads: Any) -> None:
    """So many threads that name this number wait for one another."""
    cute.arch.barrier(barrier_id=number, number_of_threads=threads)


def named_barrier_arrive(number: Any, threads: Any) -> None:
    """This thread arrives at the barrier of a number, and does not wait."""
    cute.arch.barrier_arrive(barrier_id=number, number_of_threads=threads)


def fence_block() -> None:
    """Threads of the block see this thread's writes in their order."""
    cute.arch.fence_acq_rel_cta()


def fence_device() -> None:
    """Threads of the device see this thread's writes in their order."""
    cute.arch.fence_acq_rel_gpu()


def _shuffled(value: Any, lane: Any, width: Any, kind: Any, clamp: int) -> Any:
    """PTX ISA, "shfl.sync": operand c has the mask of the warp's part in bits 8 to 12, the bound in bits 0 to 4."""
    own = type(value)
    if own in _WORDS:
        return bits(own, _shuffled(bits(_WORDS[own], value), lane, width, kind, clamp))
    if own in _NARROW or own is Boolean:
        return own(_shuffled(Int32(value), lane, width, kind, clamp))
    if own.width == 64:
        low, high = Int32(value), Int32(value >> own(_WARP))
        low, high = (_shuffled(half, lane, width, kind, clamp) for half in (low, high))
        joined = (Int64(high) << Int64(_WARP)) | Int64(Uint32(low))
        return own(joined)
    bound = (Int32(_WARP) - Int32(width)) * Int32(256) | Int32(clamp)
    operands = (Int32(_EVERY_LANE - 2**32), Int32(value), Int32(lane), bound)
    return own(Int32(nvvm.shfl_sync(*(operand.ir_value() for operand in operands), kind)))


def shuffle_idx(value: Any, lane: Any, width: Any = _WARP) -> Any:
    """The value of a lane of the part."""
    return _shuffled(value, lane, width, nvvm.ShflKind.idx, 31)


def shuffle_xor(value: Any, lane: Any, width: Any = _WARP) -> Any:
    """The value of the lane with the own number xor ``lane``."""
    return _shuffled(value, lane, width, nvvm.ShflKind.bfly, 31)


def shuffle_up(value: Any, lane: Any, width: Any = _WARP) -> Any:
    """The value of the lane ``lane`` before."""
    return _shuffled(value, lane, width, nvvm.ShflKind.up, 0)


def shuffle_down(value: Any, lane: Any, width: Any = _WARP) -> Any:
    """The value of the lane ``lane`` behind."""
    return _shuffled(value, lane, width, nvvm.ShflKind.down, 31)


def vote_any(predicate: Any) -> Any:
    """Does the predicate of any lane hold?"""
    return cute.arch.vote_any_sync(Boolean(predicate))


def vote_all(predicate: Any) -> Any:
    """Do the predicates of all lanes hold?"""
    return cute.arch.vote_all_sync(Boolean(predicate))


def vote_ballot(predicate: Any) -> Any:
    """A bit for each lane, the first lowest."""
    return Uint32(cute.arch.vote_ballot_sync(Boolean(predicate)))


def _block_vote(text: str, predicate: Any) -> Any:
    return Int32(assembly(text, "=r,r", [Int32(Boolean(predicate)).ir_value()], Int32.mlir_type))


def _block_test(operation: str, predicate: Any) -> Any:
    text = f"{{ .reg .pred p, q; setp.ne.u32 p, $1, 0; barrier.red.{operation}.pred q, 0, p; selp.u32 $0, 1, 0, q; }}"
    return _block_vote(text, predicate) != Int32(0)


def block_vote_any(predicate: Any) -> Any:
    """Does the predicate of any thread of the block hold? It is a barrier, too."""
    return _block_test("or", predicate)


def block_vote_all(predicate: Any) -> Any:
    """Do the predicates of all threads of the block hold? It is a barrier, too."""
    return _block_test("and", predicate)


def block_vote_count(predicate: Any) -> Any:
    """How many predicates of the block's threads hold, as Int32. It is a barrier, too."""
    return _block_vote("{ .reg .pred p; setp.ne.u32 p, $1, 0; barrier.red.popc.u32 $0, 0, p; }", predicate)

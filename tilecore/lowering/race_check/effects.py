"""The effects of calls in thread IR on shared memory and on the order of threads; backends describe their own calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.former_attributes import former_attributes
from tilecore.ir.build import constant, dtype_of, op_name
from tilecore.ir.nodes import Call, PrimFunc
from tilecore.ir.thread_calls import (
    ADDRESS,
    ATOMIC_ADD,
    ATOMIC_ELEMENT,
    BARRIER,
    BLOCK_VOTE,
    COMMIT_ASYNC,
    COPY_ASYNC,
    NAMED_BARRIER,
    WAIT_ASYNC,
    WARP_BARRIER,
)
from tilecore.lowering.race_check.values import Compute, Expressions

COPIES = "copies"  # the queue of simt.copy_async: its commits and waits concern these copies only


@dataclass(frozen=True)
class Access:
    """Reads or writes ``size`` bytes from ``element`` on.

    element: a load that names the first element, in any memory. atomic: the kind of an atomic operation, "" for none.
    lanes: the access is by the first ``lanes`` threads of each warp; 0: by all threads.
    """

    element: Any
    size: int
    writes: bool
    atomic: str = ""
    lanes: int = 0


@dataclass(frozen=True)
class AnyAccess:
    """Reads or writes any element of the buffer of ``element``."""

    element: Any
    writes: bool


@dataclass(frozen=True)
class AsyncAccess:
    """Starts asynchronous work that reads or writes ``size`` bytes from ``element`` on.

    queue: the queue whose commits and waits order the work; None: the work completes on ``barrier``, an element of
    shared memory. at: an expression of the first byte in the arena, where ``element`` does not give it; it is rounded
    down to a multiple of ``align``. pieces: (offset from there, size) in bytes of each contiguous run.
    """

    element: Any
    size: int
    writes: bool
    queue: str | None
    barrier: Any = None
    at: Any = None
    pieces: tuple[tuple[int, int], ...] = ()
    align: int = 1


@dataclass(frozen=True)
class Commit:
    """Makes one group of the asynchronous work of ``queue`` that the threads have started since the last commit."""

    queue: str


@dataclass(frozen=True)
class Wait:
    """Waits for all groups of ``queue`` but the last ``remaining``, an expression."""

    queue: str
    remaining: Any


@dataclass(frozen=True)
class MemoryBarrierWait:
    """Waits at a barrier in memory (mbarrier)."""

    barrier: Any


@dataclass(frozen=True)
class Arrival:
    """Arrives at a barrier without waiting; other threads wait there. Kernels with such calls are not analyzed."""


@dataclass(frozen=True)
class Barrier:
    """Each thread that executes the call waits for all others that do. warps: only for those of the same warp."""

    warps: bool = False


Effect = Access | AnyAccess | AsyncAccess | Commit | Wait | MemoryBarrierWait | Arrival | Barrier  # what a call does
Describe = Callable[[Call, PrimFunc], list[Effect]]
VALUES: dict[str, Callable[[Call, Expressions], Compute]] = {}  # how to compute the values of backends' calls
_calls: dict[str, Describe] = {}


def describe_calls(calls: Mapping[str, Describe]) -> None:
    """Registers the effects of a backend's calls in thread IR: for each name a function of (the call, the kernel)."""
    _calls.update(calls)


def effects_of(call: Call, func: PrimFunc) -> list[Effect] | None:
    """The effects of a call besides those of its arguments; None where the call is not described."""
    describe = _calls.get(op_name(call))
    return None if describe is None else describe(call, func)


def bytes_of(element: Any, count: int = 1) -> int:
    """The size in bytes of ``count`` elements of the buffer of ``element``, rounded up."""
    return -(-DType(dtype_of(element.source)).bits * count // 8)


def nothing(call: Call, func: PrimFunc) -> list[Effect]:
    """The description of calls without effects on shared memory."""
    return []


def _copy(call: Call, func: PrimFunc) -> list[Effect]:
    to, source, size = call.args[0], call.args[1], int(constant(call.args[2]) or 0)
    return [AsyncAccess(to, size, True, COPIES), Access(source, size, False)]


def _atomic(call: Call, func: PrimFunc) -> list[Effect]:
    element = call.args[0]
    return [Access(element, bytes_of(element), True, str(call.args[2].value))]


def _address(call: Call, func: PrimFunc) -> list[Effect]:
    return [AnyAccess(call.args[0], kind == "w") for kind in str(call.args[1].value)]


def _vector_atomic(call: Call, func: PrimFunc) -> list[Effect]:
    element, count = call.args[0], int(constant(call.args[2]) or 0)
    return [Access(element, bytes_of(element, count), True, "add")]


describe_calls(
    {
        BARRIER: lambda call, func: [Barrier()],
        NAMED_BARRIER: lambda call, func: [Barrier()],
        BLOCK_VOTE: lambda call, func: [Barrier()],
        WARP_BARRIER: lambda call, func: [Barrier(warps=True)],
        COPY_ASYNC: _copy,
        COMMIT_ASYNC: lambda call, func: [Commit(COPIES)],
        WAIT_ASYNC: lambda call, func: [Wait(COPIES, call.args[0])],
        ATOMIC_ADD: _vector_atomic,
        ATOMIC_ELEMENT: _atomic,
        ADDRESS: _address,
    }
)


# contract 1, where this module was tilecore.lowering.order.effects
_FORMER = {"Touch": Access, "AnyTouch": AnyAccess, "Start": AsyncAccess, "Hear": MemoryBarrierWait}
__getattr__ = former_attributes(__name__, {name: (effect.__name__, effect) for name, effect in _FORMER.items()})

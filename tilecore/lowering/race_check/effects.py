"""What calls in thread IR do to shared memory and to the order of threads; backends describe their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.ir.build import constant, dtype_of, op_name
from tilecore.ir.nodes import Call, PrimFunc
from tilecore.lowering.race_check.values import Compute, Expressions

COPIES = "copies"  # the channel of simt.copy_async


@dataclass(frozen=True)
class Touch:
    """Bytes from ``element`` on are read or written. size: in bytes. atomic: the operation, "" for none. lanes: how
    many threads of each warp, counted from 0, do it; 0: all. element may be of any memory."""

    element: Any
    size: int
    writes: bool
    atomic: str = ""
    lanes: int = 0


@dataclass(frozen=True)
class AnyTouch:
    """Something in the buffer of ``element`` is read or written."""

    element: Any
    writes: bool


@dataclass(frozen=True)
class Start:
    """Asynchronous work: reads or writes ``size`` bytes from ``element`` on, later. channel: whose commits and waits it
    belongs to; None: it tells ``barrier``, an element. at: the first byte in the arena, where no element says it;
    pieces: (byte behind it, size) of each run."""

    element: Any
    size: int
    writes: bool
    channel: str | None
    barrier: Any = None
    at: Any = None
    pieces: tuple[tuple[int, int], ...] = ()
    align: int = 1


@dataclass(frozen=True)
class Commit:
    channel: str


@dataclass(frozen=True)
class Wait:
    """remaining: an expression, the groups that may go on."""

    channel: str
    remaining: Any


@dataclass(frozen=True)
class Hear:
    """Waits at a barrier in memory."""

    barrier: Any


@dataclass(frozen=True)
class Barrier:
    """Whoever comes here waits for all others who do. warps: only for those of its warp."""

    warps: bool = False


Effect = Touch | AnyTouch | Start | Commit | Wait | Hear | Barrier
Describe = Callable[[Call, PrimFunc], list[Effect]]
VALUES: dict[str, Callable[[Call, Expressions], Compute]] = {}  # what calls of backends compute
_calls: dict[str, Describe] = {}


def describe_calls(calls: Mapping[str, Describe]) -> None:
    """A backend says what its calls in thread IR do: of each name a function of (the call, the kernel)."""
    _calls.update(calls)


def effects_of(call: Call, func: PrimFunc) -> list[Effect] | None:
    """What a call does besides its loads; None: it is not known."""
    describe = _calls.get(op_name(call))
    return None if describe is None else describe(call, func)


def bytes_of(element: Any, count: int = 1) -> int:
    return -(-DType(dtype_of(element.source)).bits * count // 8)


def nothing(call: Call, func: PrimFunc) -> list[Effect]:
    return []


def _copy(call: Call, func: PrimFunc) -> list[Effect]:
    to, source, size = call.args[0], call.args[1], int(constant(call.args[2]) or 0)
    return [Start(to, size, True, COPIES), Touch(source, size, False)]


def _atomic(call: Call, func: PrimFunc) -> list[Effect]:
    element = call.args[0]
    return [Touch(element, bytes_of(element), True, str(call.args[2].value))]


def _address(call: Call, func: PrimFunc) -> list[Effect]:
    return [AnyTouch(call.args[0], kind == "w") for kind in str(call.args[1].value)]


def _vector_atomic(call: Call, func: PrimFunc) -> list[Effect]:
    element, count = call.args[0], int(constant(call.args[2]) or 0)
    return [Touch(element, bytes_of(element, count), True, "add")]


describe_calls(
    {
        "simt.barrier": lambda call, func: [Barrier()],
        "simt.named_barrier": lambda call, func: [Barrier()],
        "simt.block_vote": lambda call, func: [Barrier()],
        "simt.warp_barrier": lambda call, func: [Barrier(warps=True)],
        "simt.copy_async": _copy,
        "simt.commit_async": lambda call, func: [Commit(COPIES)],
        "simt.wait_async": lambda call, func: [Wait(COPIES, call.args[0])],
        "simt.atomic_add": _vector_atomic,
        "tile.atomic_element": _atomic,
        "tile.address": _address,
    }
)

"""Loops: T.serial, T.Parallel, T.Pipelined, T.unroll, T.vectorized, T.grid, T.Persistent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilecore.errors import LanguageError, WrongTypeError
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import LoopAttr
from tilecore.ir.nodes import IntImm, tirx
from tilecore.language.integers import ceildiv, whole_number
from tilecore.language.layouts import layout_hint
from tilecore.language.numeric import cast, if_then_else
from tilecore.language.values import as_expr, is_kernel_value
from tilecore.tracing.current import current
from tilecore.tracing.loops import Axis, LoopSpec


def _extent(value: Any) -> Any:
    return _index(Analyzer().simplify(as_expr(value)))


def _index(value: Any) -> Any:
    """A bound or a step as int32, or as int64 where int32 does not hold all values of its type."""
    kind = str(value.ty.dtype)
    if not kind.startswith(("int", "uint")):
        raise WrongTypeError(f"a loop bound is a {kind}", found=str(value), expected="an integer")
    if kind in ("int32", "int64"):
        return value
    return cast(value, "int64" if kind in ("uint32", "uint64") else "int32")


def _axis(start: Any, stop: Any, step: Any = None) -> Axis:
    if stop is None:
        start, stop = 0, start
    if is_kernel_value(step):
        return _axis_of_any_step(_index(as_expr(start)), _index(as_expr(stop)), step)
    first, last = (_index(as_expr(bound)) for bound in (start, stop))
    step = 1 if step is None else whole_number(step, "the step of a loop")
    if step == 0:
        raise LanguageError("the step of a loop is 0", expected="a Python int other than 0")
    low, high = (first, last) if step > 0 else (last, first)
    extent = _extent(ceildiv(high - low, abs(step)))
    return Axis(start if isinstance(start, int) else first, extent, step)


def _axis_of_any_step(start: Any, stop: Any, step: Any) -> Axis:
    """An axis whose step is known when the kernel runs. As that of range, it may be negative; a step of 0 makes no
    iterations, where range raises."""
    step = current().bind("step", _index(as_expr(step)))
    forwards = ceildiv(stop - start, tirx.max(step, tirx.const(1, step.ty.dtype)))
    backwards = ceildiv(start - stop, tirx.max(-step, tirx.const(1, step.ty.dtype)))
    extent = if_then_else(step > 0, forwards, if_then_else(step < 0, backwards, 0))
    return Axis(start, _extent(extent), step)


def serial(start: Any, stop: Any = None, step: Any = None, *, annotations: dict[str, Any] | None = None) -> LoopSpec:
    """A loop whose iterations run one after the other: ``for i in T.serial(stop)`` or ``(start, stop, step)``."""
    from tilecore.language.warp_schedules import depth_of_loop

    depth = depth_of_loop(annotations or {})
    if depth > 1 and step in (None, 1):
        return Pipelined(start, stop, depth, annotations=annotations)
    return LoopSpec("serial", (_axis(start, stop, step),), annotations=dict(annotations or {}))


Serial = serial


def unroll(
    start: Any,
    stop: Any = None,
    step: Any = None,
    *,
    explicit: bool = False,
    unroll_factor: int | None = None,
    annotations: dict[str, Any] | None = None,
) -> LoopSpec:
    """A serial loop that the compiler unrolls."""
    notes = dict(annotations or {})
    if unroll_factor is not None:
        notes[LoopAttr.UNROLL_FACTOR] = whole_number(unroll_factor, "T.unroll(unroll_factor=...)", 1)
    return LoopSpec("unrolled", (_axis(start, stop, step),), annotations=notes)


Unroll = unroll


def vectorized(start: Any, stop: Any = None, *, annotations: dict[str, Any] | None = None) -> LoopSpec:
    """A loop whose iterations may run as the lanes of vector instructions; they must not depend on each other."""
    return LoopSpec("vectorized", (_axis(start, stop),), annotations=dict(annotations or {}))


Vectorized = vectorized


def Parallel(
    *extents: Any,
    coalesced_width: int | None = None,
    loop_layout: Any = None,
    prefer_async: bool | None = None,
    annotations: dict[str, Any] | None = None,
) -> LoopSpec:
    """A nest of independent iterations, spread over the threads or lanes of the block.

    ``for i, j in T.Parallel(M, N)``. Two iterations must not access one element if one of them writes it. Accesses of
    global buffers outside their bounds are masked: reads give 0, writes are dropped.
    """
    if not extents:
        raise LanguageError("T.Parallel has no extents", expected="one extent for each loop variable")
    notes = dict(annotations or {})
    for name, value in ((LoopAttr.COALESCED_WIDTH, coalesced_width), (LoopAttr.PREFER_ASYNC, prefer_async)):
        if value is not None:
            notes[name] = whole_number(int(value) if isinstance(value, bool) else value, f"T.Parallel({name}=...)")
    if loop_layout is not None:
        notes[LoopAttr.LOOP_LAYOUT] = layout_hint(loop_layout)
    axes = tuple(_axis(extent, None) for extent in extents)
    return LoopSpec("parallel", axes, single=len(axes) == 1, annotations=notes)


def parallel(start: Any, stop: Any = None, *, annotations: dict[str, Any] | None = None) -> LoopSpec:
    """TVM's loop of independent iterations: ``T.parallel(stop)`` or ``(start, stop)``, as one loop of T.Parallel."""
    return LoopSpec("parallel", (_axis(start, stop),), annotations=dict(annotations or {}))


def grid(*extents: Any) -> LoopSpec:
    """Nested serial loops: ``for i, j in T.grid(M, N)``."""
    axes = tuple(_axis(extent, None) for extent in extents)
    return LoopSpec("serial", axes, single=len(axes) == 1)


def Pipelined(
    start: Any,
    stop: Any = None,
    num_stages: int = 0,
    order: Sequence[int] | None = None,
    stage: Sequence[int] | None = None,
    annotations: dict[str, Any] | None = None,
    *,
    sync: Any = None,
    group: Any = None,
) -> LoopSpec:
    """A serial loop whose copies are issued ahead of its computation, ``num_stages`` iterations deep.

    order, stage: a schedule by hand, one number for each statement of the body: its place among the statements, and
    how many iterations later than the first it runs; -1 leaves a statement out of the schedule. sync, group: as older
    releases of TileLang take them. The result is that of T.serial, whatever they are. Raises LanguageError for a
    negative num_stages, and for an order and stages that are no schedule.
    """
    stages = whole_number(num_stages, "T.Pipelined(num_stages=...)")
    if stages < 0:
        raise LanguageError("num_stages is negative", found=str(num_stages), expected="0 or more")
    notes: dict[str, Any] = {LoopAttr.STAGES: stages, **(annotations or {})}
    schedule = _schedule_by_hand(order, stage)
    return LoopSpec("pipelined", (_axis(start, stop),), annotations={**notes, **schedule})


def _schedule_by_hand(order: Any, stage: Any) -> dict[str, list[int]]:
    """The annotations of the order and the stages of the statements of a pipelined loop, as far as they are given."""
    numbers = {
        name: _one_for_each_statement(given, f"T.Pipelined({name}=...)")
        for name, given in ((LoopAttr.ORDER, order), (LoopAttr.STAGE, stage))
        if given is not None
    }
    if len({len(given) for given in numbers.values()}) == 2:
        raise LanguageError(
            "the order and the stages of T.Pipelined are for different numbers of statements",
            found=f"{len(numbers[LoopAttr.ORDER])} in order, {len(numbers[LoopAttr.STAGE])} in stage",
            expected="one number in each for each statement of the loop's body",
        )
    places = [place for place in numbers.get(LoopAttr.ORDER, []) if place >= 0]
    if len(set(places)) < len(places):
        raise LanguageError(
            "T.Pipelined(order=...) gives two statements one place",
            found=f"order={numbers[LoopAttr.ORDER]}",
            expected="a different place for each statement, or -1",
        )
    return numbers


def _one_for_each_statement(numbers: Any, subject: str) -> list[int]:
    if not isinstance(numbers, (list, tuple)):
        raise LanguageError(
            f"{subject} is not a list or a tuple", found=repr(numbers)[:80], expected="one int for each statement"
        )
    return [whole_number(number, f"a number of {subject}", -1) for number in numbers]


def Persistent(
    domain: Sequence[Any],
    wave_size: Any,
    index: Any,
    group_size: int | None = 8,
    num_stages: int = 0,
    *,
    annotations: dict[str, Any] | None = None,
) -> LoopSpec:
    """Tiles of ``domain`` assigned to ``wave_size`` blocks in waves: block ``index`` takes tiles ``index``,
    ``index + wave_size``, ... Yields one coordinate for each axis of ``domain``; for one axis, the coordinate itself.

    Along the last axis tiles form groups of ``group_size``: the index in a group varies fastest, and the group slowest,
    so that blocks of one wave share operands. num_stages: a hint to overlap the tiles of a block;
    targets do so by themselves where they can.
    """
    if not isinstance(domain, (list, tuple)):
        raise LanguageError(
            "the domain of T.Persistent is not a list or a tuple",
            found=repr(domain)[:80],
            expected="a list of one size for each axis",
        )
    sizes = [_extent(d) for d in domain]
    group_size = whole_number(8 if group_size is None else group_size, "T.Persistent(group_size=...)", 1)
    whole_number(num_stages, "T.Persistent(num_stages=...)", 0)
    if not sizes:
        raise LanguageError("the domain of T.Persistent is empty", expected="at least one axis")
    total = sizes[0]
    for size in sizes[1:]:
        total = total * size
    group = min(int(group_size), int(sizes[-1].value)) if hasattr(sizes[-1], "value") else int(group_size)

    def guard(wave: Any) -> tuple[Any, Any]:
        tile = current().bind("tile", wave * as_expr(wave_size) + as_expr(index))
        coordinates = _coordinates(tile, [as_expr(1) if _is_zero(size) else size for size in sizes], max(1, group))
        return as_expr(tile < total), coordinates[0] if len(sizes) == 1 else coordinates

    axis = Axis(0, _extent(ceildiv(total, as_expr(wave_size))))
    return LoopSpec("serial", (axis,), single=False, guard=guard, annotations=dict(annotations or {}))


def _is_zero(size: Any) -> bool:
    return isinstance(size, IntImm) and int(size) == 0


def _coordinates(tile: Any, sizes: list[Any], group: int) -> tuple[Any, ...]:
    """The coordinates of the tile with index ``tile``. From slowest to fastest vary: the group along the last axis, the
    other axes, and the index in the group."""
    last, others = sizes[-1], sizes[:-1]
    if not others:
        return (tile,)
    remaining = others[0]
    for size in others[1:]:
        remaining = remaining * size
    span = remaining * group
    axis = tile // span
    width = tirx.min(last - axis * group, tirx.const(group, str(last.ty.dtype)))
    within = tile % span
    coordinates = [axis * group + within % width]
    flat = within // width
    for size in reversed(others):
        coordinates.append(flat % size)
        flat = flat // size
    return tuple(reversed(coordinates))


def thread_binding(
    start: Any, stop: Any = None, thread: str | None = None, *, annotations: dict[str, Any] | None = None
) -> Any:
    """A loop over the threads of the block along ``thread`` ("threadIdx.x", ...), or over the blocks of the grid
    ("blockIdx.x", ...): each executes one iteration."""
    from tilecore.language.thread_axes import thread_loop

    if thread is None:
        raise LanguageError(
            "T.thread_binding is called without thread=", expected='thread="threadIdx.x", "blockIdx.x" or another'
        )
    return thread_loop(_axis(start, stop), str(thread))

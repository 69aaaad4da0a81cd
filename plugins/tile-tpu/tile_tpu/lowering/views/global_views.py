"""Accesses to tensors in global memory as views, and their DMA transfers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tile_tpu.ir.views import View
from tile_tpu.lowering.commands.emitter import Emitter
from tile_tpu.lowering.commands.frames import AXES, Frame, NotTensor, Tile, extents_of, require_words
from tile_tpu.lowering.views.clips import Clip, clip_axis
from tilecore.ir.build import constant, seq
from tilecore.ir.nodes import IfThenElse, Var, tirx


@dataclass(frozen=True)
class GlobalAccess:
    """An access to a tensor.

    offset: the offset of the element that iteration 0 accesses. steps: for each loop, the elements from one iteration
    to the next. clips: for each loop, the iterations inside of the tensor, where these are not all.
    """

    buffer: Var
    offset: Any
    steps: dict[Var, Any]
    clips: dict[Var, Clip]

    def axes(self, frame: Frame) -> frozenset[str]:
        if frame.partitioned is not None:
            return frozenset("cw") if self.steps else frozenset()
        return frozenset(frame.axes[var] for var in self.steps)


def strides_of(buffer: Var) -> list[Any]:
    """The strides of a tensor in elements; row-major ones where the buffer defines none."""
    if len(buffer.strides):
        return [_int_if_constant(s) for s in buffer.strides]
    strides: list[Any] = []
    step: Any = 1
    for size in reversed(list(buffer.shape)):
        strides.insert(0, step)
        step = _int_if_constant(step * size)
    return strides


def global_access(emit: Emitter, buffer: Var, indices: Sequence[Any]) -> GlobalAccess:
    """The access to ``buffer`` at ``indices``. Raises NotTensor where it is no view."""
    require_words(buffer)
    frame = emit.frame
    extents = extents_of(frame)
    offset: Any = 0
    steps: dict[Var, Any] = {}
    clips: dict[Var, Clip] = {}
    for index, size, stride in zip(indices, buffer.shape, strides_of(buffer), strict=True):
        factors, rest = frame.terms(index)
        clip = clip_axis(emit, factors, rest, size, extents)
        if any(factor < 0 for factor in factors.values()):
            raise NotTensor(f"{buffer.name} is accessed with a negative stride")
        for var, factor in factors.items():
            steps[var] = _int_if_constant(steps.get(var, 0) + factor * stride)
            if clip is not None:
                if var in clips:
                    raise NotTensor(f"the ends of two axes of {buffer.name} cut the loop {var.name}")
                clips[var] = clip
        offset = _int_if_constant(offset + rest * stride)
    return GlobalAccess(buffer, emit.analyzer.simplify(offset) if not isinstance(offset, int) else offset, steps, clips)


@dataclass(frozen=True)
class Part:
    """One DMA transfer: the local view, the view of the tensor, and its condition (None: always)."""

    local: View
    remote: View
    condition: Any


def parts(emit: Emitter, access: GlobalAccess, local: View) -> tuple[list[Part], bool]:
    """(the transfers between a tensor and a local view that varies along the axes of the access, whether they cover the
    whole local view)"""
    if emit.frame.partitioned is not None:
        return _partitioned_parts(emit, access, local)
    frame = emit.frame
    lane, offset, remote = local.lane, local.offset, access.offset
    counts = dict(zip(AXES, local.shape, strict=True))
    steps: dict[str, Any] = dict.fromkeys(AXES, 0)
    condition: Any = None
    for var, axis in frame.axes.items():
        if var not in access.steps:
            continue
        steps[axis] = access.steps[var]
        clip = access.clips.get(var)
        if clip is None:
            continue
        counts[axis] = clip.count
        remote = remote + clip.first * access.steps[var]
        lane, offset = _moved(local, axis, clip.first, frame.lanes, lane, offset)
        if constant(clip.count) is None:
            is_nonempty = clip.count > 0
            condition = is_nonempty if condition is None else tirx.all(condition, is_nonempty)
        elif constant(clip.count) == 0:
            return [], False
    shape = tuple(counts[a] for a in AXES)
    near = View(local.buffer, lane, offset, shape, local.strides)  # type: ignore[arg-type]
    far_shape = shape if "c" in access.axes(frame) else (shape[0], 1, *shape[2:])
    far = View(access.buffer, 0, remote, far_shape, tuple(steps[a] for a in AXES))  # type: ignore[arg-type]
    return [Part(near, far, condition)], not access.clips


def _moved(local: View, axis: str, first: Any, lanes: int, lane: Any, offset: Any) -> tuple[Any, Any]:
    """The lane and the offset after ``first`` iterations along an axis."""
    if constant(first) == 0:
        return lane, offset
    stride = local.strides[AXES.index(axis)]
    if axis != "c":
        return lane, offset + first * stride
    return first % lanes, offset + first // lanes * stride


def _partitioned_parts(emit: Emitter, access: GlobalAccess, local: View) -> tuple[list[Part], bool]:
    frame = emit.frame
    if not access.steps:  # one element, to all lanes
        far = View(access.buffer, 0, access.offset, (1, 1, 1, 1), (0, 0, 0, 0))
        return [Part(local, far, None)], True
    assert frame.partitioned is not None
    step = access.steps[frame.partitioned]
    clip = access.clips.get(frame.partitioned)
    if clip is not None and constant(clip.first) != 0:
        raise NotTensor("the loop begins before the start of its tensor")
    count = frame.count if clip is None else clip.count
    chunk = frame.chunk
    full, rest = count // chunk, count % chunk
    transfers = []
    for rows, columns, lane, number in ((full, chunk, 0, full), (1, rest, full, rest)):
        if constant(number) == 0:
            continue
        near = View(local.buffer, lane, local.offset, (1, rows, 1, columns), local.strides)
        far = View(
            access.buffer, 0, access.offset + lane * chunk * step, (1, rows, 1, columns), (0, chunk * step, 0, step)
        )
        transfers.append(Part(near, far, None if constant(number) is not None else number > 0))
    return transfers, constant(count) == frame.extents["c"] * chunk


def load_into(emit: Emitter, access: GlobalAccess, local: View, safe: Any) -> None:
    """Loads an access to a local view; elements outside of the tensor become ``safe``."""
    transfers, whole = parts(emit, access, local)
    if not whole:
        _fill_rest(emit, access, local, safe)
    to_all = "c" not in access.axes(emit.frame)
    for part in transfers:
        if to_all:
            _load_to_all(emit, part)
        else:
            _add(emit, "load", part.local, part.remote, part.condition)


def _load_to_all(emit: Emitter, part: Part) -> None:
    """Loads a part to every lane: by a broadcast where its elements are adjacent, else once for each lane."""
    far = part.remote
    n, c, h, w = far.strides
    if constant(far.shape[3]) == 1 or constant(w) == 1:
        _add(emit, "load_to_all", part.local, replace(far, strides=(n, c, h, 1)), part.condition)
        return
    every = replace(far, shape=(far.shape[0], part.local.shape[1], *far.shape[2:]), strides=(n, 0, h, w))
    _add(emit, "load", part.local, every, part.condition)


def _fill_rest(emit: Emitter, access: GlobalAccess, local: View, safe: Any) -> None:
    """Fills the view with ``safe`` where the end of the tensor clips it, which is not so in inner blocks."""
    extents = extents_of(emit.frame)
    with emit.inner() as fills:
        emit.emit("fill", local, safe)
    cut: Any = None
    for var, clip in access.clips.items():
        if constant(clip.count) is not None:
            cut = None
            break
        is_cut = clip.count < extents[var]
        cut = is_cut if cut is None else tirx.any(cut, is_cut)
    padded = emit.frame.partitioned is not None and emit.frame.count % emit.frame.chunk
    emit.add(seq(fills) if cut is None or padded else IfThenElse(cut, seq(fills), None, span=emit.span))


def store_from(emit: Emitter, access: GlobalAccess, source: Tile) -> None:
    """Stores a value that varies along the axes of the access to the tensor."""
    local = source.view
    if "c" not in access.axes(emit.frame):
        local = local.with_shape(local.shape[0], 1, *local.shape[2:])
    transfers, _ = parts(emit, access, local)
    for part in transfers:
        _add(emit, "store", part.remote, part.local, part.condition)


def _add(emit: Emitter, name: str, to: View, source: View, condition: Any) -> None:
    with emit.inner() as statements:
        emit.emit(name, to, source)
    emit.add(seq(statements) if condition is None else IfThenElse(condition, seq(statements), None, span=emit.span))


def _int_if_constant(value: Any) -> Any:
    constant_value = constant(value)
    return value if constant_value is None else constant_value

"""Copies and fills of tiles: T.copy, T.fill, T.clear, T.transpose."""

from __future__ import annotations

from typing import Any

from tilecore.errors import LanguageError
from tilecore.ir.attributes import CallAttr
from tilecore.ir.build import store
from tilecore.ir.nodes import BufferRegion, IntImm, Range, TensorRegion
from tilecore.ir.scopes import is_fragment
from tilecore.ir.tile_ops import TILE_OPS, tile_statement
from tilecore.language.buffers import BufferHandle, LocalVar, VariableRead
from tilecore.language.conversions import convert
from tilecore.language.layouts import layout_hint
from tilecore.language.regions import describe, extents, is_one, kind_of, region_of, region_pair, same_size
from tilecore.language.values import is_kernel_value
from tilecore.tracing.current import current
from tilecore.tracing.loops import Axis, LoopSpec, open_loop
from tilecore.tracing.plain_values import plain_values


def emit(name: str, args: list[Any], hints: dict[str, Any] | None = None, called: str = "") -> None:
    """Appends the tile operation ``name`` at the current place. called: its name for the user, such as "T.clear"."""
    op = TILE_OPS[name]
    kind = dict(zip(op.operand_names(), args, strict=False)).get("kind", "")
    subject = called or f"T.{op.spelled(kind)}"
    builder = current(subject)
    builder.kernel_frame(
        lambda: LanguageError(f"{subject} stands outside T.Kernel", expected="a call inside `with T.Kernel(...)`")
    )
    hints = {**(hints or {}), CallAttr.CALLED: called} if called else hints
    builder.emit(tile_statement(name, args, hints=plain_values(hints) or None, span=builder.span))


def require_block(name: str) -> None:
    """Refuse T.<name> inside T.Parallel: it is an operation of the whole block."""
    if current(f"T.{name}").in_parallel:
        raise LanguageError(
            f"T.{name} stands inside T.Parallel",
            expected="code that works element by element",
            hint="the whole block executes it together: move it out of the loop, or loop over the elements instead",
        )


_TILES = (BufferHandle, TensorRegion)


def copy(
    src: Any,
    dst: Any,
    *,
    coalesced_width: int | None = None,
    disable_tma: bool = False,
    eviction_policy: str | None = None,
    prefer_instruction: str | None = None,
    annotations: dict[str, Any] | None = None,
    loop_layout: Any = None,
) -> None:
    """Copy a tile, converting its element type to the destination's.

    src, dst: a buffer, a slice, or an element ``A[i, j]``: where the tile starts, its extents being the other side's.
    Parts of a global buffer outside its bounds read as 0 and are not written. The keywords are hints. In T.Parallel
    both are elements, and the copy is one of the iteration.
    """
    left, right = region_pair(src, dst, "T.copy")
    builder = current("T.copy")
    if builder.in_parallel and not isinstance(src, _TILES) and not isinstance(dst, _TILES):
        value = convert(src, kind_of(right))
        builder.emit(store(right.source, value, [axis.min for axis in right.region], builder.span))
        return
    hints = {
        CallAttr.COALESCED_WIDTH: coalesced_width,
        CallAttr.DISABLE_TMA: disable_tma,
        CallAttr.EVICTION_POLICY: eviction_policy,
        CallAttr.PREFER_INSTRUCTION: prefer_instruction,
        **(annotations or {}),
    }
    if loop_layout is not None:
        hints[CallAttr.LOOP_LAYOUT] = layout_hint(loop_layout)
    emit("copy", [left, right], hints)


async_copy = copy


def write_region(region: TensorRegion, value: Any) -> None:
    """``A[i0:i1, j] = value``: a copy of a tile, or a fill with one value."""
    if isinstance(value, (BufferHandle, TensorRegion)):
        source, target = region_pair(value, region, "assignment to a slice")
        emit("copy", [source, target])
    else:
        emit("fill", [region, convert(value, kind_of(region))])


def fill(buffer: Any, value: Any, annotations: dict[str, Any] | None = None) -> None:
    """Set every element of a buffer or slice to ``value``."""
    _fill(buffer, value, annotations)


def _fill(buffer: Any, value: Any, annotations: dict[str, Any] | None, called: str = "") -> None:
    if isinstance(buffer, (LocalVar, VariableRead)):
        (buffer.variable if isinstance(buffer, VariableRead) else buffer).store(value)
        return
    target = region_of(buffer, called or "T.fill")
    if is_kernel_value(value) and isinstance(value, (BufferHandle, TensorRegion)):
        raise LanguageError("T.fill is called with a tile", expected="one value", hint="T.copy copies a tile")
    emit("fill", [target, convert(value, kind_of(target))], annotations, called)


def clear(buffer: Any, annotations: dict[str, Any] | None = None) -> None:
    """Set every element of a buffer or slice to 0."""
    _fill(buffer, 0, annotations, "T.clear")


def transpose(src: Any, dst: Any, annotations: dict[str, Any] | None = None) -> None:
    """``dst[..., j, i] = src[..., i, j]``: the last two axes change places. The axes before them are the same in both,
    apart from axes of extent 1. ``annotations`` are hints."""
    left, right = region_of(src, "T.transpose"), region_of(dst, "T.transpose")
    a, b = extents(left), extents(right)
    outer = [[axis for axis, size in enumerate(sizes[:-2]) if not is_one(size)] for sizes in (a, b)]
    turned = [*(a[axis] for axis in outer[0]), *a[-1:-3:-1]]
    result = [*(b[axis] for axis in outer[1]), *b[-2:]]
    if len(a) < 2 or len(b) < 2 or len(turned) != len(result) or not all(map(same_size, turned, result)):
        raise LanguageError(
            "T.transpose: the shapes do not fit",
            found=f"{describe(left)} to {describe(right)}",
            expected="[..., m, n] to [..., n, m]",
        )
    if is_one(a[-1]) or is_one(a[-2]):
        emit("copy", [left, right], annotations, "T.transpose")
        return
    if not outer[0]:
        emit("transpose", [left, right], annotations)
        return
    builder = current("T.transpose")
    axes = tuple(Axis(0, a[axis]) for axis in outer[0])
    kind = "unrolled" if any(is_fragment(region.source) for region in (left, right)) else "serial"
    with open_loop(builder, LoopSpec(kind, axes, single=False), ()) as indices:
        parts = [_matrix(region, axes_of, indices) for region, axes_of in zip((left, right), outer, strict=True)]
        emit("transpose", parts, annotations)


def _matrix(region: TensorRegion, axes: list[int], indices: tuple[Any, ...]) -> TensorRegion:
    """The part of a region with one element along ``axes``: those at ``indices``."""
    ranges = list(region.region)
    for axis, index in zip(axes, indices, strict=True):
        ranges[axis] = Range.from_min_extent(ranges[axis].min + index, IntImm("int32", 1))
    return BufferRegion(region.source, ranges)

"""Random views of tiles, updates of tensors in place, and layouts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tilecore.dtypes import FACTS
from tilecore.testing.fuzz.expressions import Value, plus
from tilecore.testing.fuzz.nests import Nest
from tilecore.testing.fuzz.outputs import MOST
from tilecore.testing.fuzz.program import Assign, Buffer, Expr, Load, Name, Op, Tile, View, names_in
from tilecore.testing.fuzz.statements import MOST_ELEMENTS, initialised_tile, load_into, shape_of
from tilecore.testing.fuzz.types import is_float

if TYPE_CHECKING:
    from tilecore.testing.fuzz.scope import Scope


def reshaped(scope: Scope) -> None:
    """A view of a tile with another shape, through which it is read or written."""
    rng = scope.rng
    shape = shape_of(scope)
    others = _other_shapes(shape)
    if rng.random() < 0.6:
        source = initialised_tile(scope, shape, scopes=("shared", "shared", "fragment"))
        view = _view(scope, source, rng.choice(others), source.dtype)
        _read(scope, view)
        return
    source = scope.tile(shape, scope.world.dtype(), rng.choice(("shared", "shared", "fragment")))
    view = _view(scope, source, rng.choice(others), source.dtype)
    if rng.random() < 0.5:
        nest = Nest(scope, view.shape)
        scope.emit(nest.loop(*nest.stores([view])))
    else:
        load_into(scope, view)
    scope.ready.discard(view.name)
    scope.ready.add(source.name)


def _other_shapes(shape: tuple[str, ...]) -> list[tuple[str, ...]]:
    if len(shape) == 1:
        return [(*shape, "1"), ("1", *shape)]
    others = [("*".join(shape),), shape[::-1]]
    if len(shape) == 3:
        a, b, c = shape
        others += [(f"{a}*{b}", c), (a, f"{b}*{c}")]
    return others


def _view(scope: Scope, source: Buffer, shape: tuple[str, ...], dtype: str) -> Buffer:
    view = replace(source, name=scope.world.fresh("v"), shape=shape, dtype=dtype, cap=source.cap)
    if dtype != source.dtype:
        view = replace(view, cap=scope.world.cap(dtype))
    scope.emit(View(view, Name(source.name)))
    return view


def _read(scope: Scope, view: Buffer) -> None:
    """A new tile with values that are read through the view."""
    rng = scope.rng
    whole = len(view.shape) < 2 or rng.random() < 0.7
    if not whole:
        target = scope.tile(view.shape[:-1], view.dtype, cap=view.cap)
        scope.emit(Tile("reduce_max", (Name(view.name), Name(target.name)), (("dim", len(view.shape) - 1),)))
    elif rng.random() < 0.5:
        target = scope.tile(view.shape, view.dtype, cap=view.cap)
        scope.emit(Tile("copy", (Name(view.name), Name(target.name))))
    else:
        target = scope.tile(view.shape, scope.world.dtype())
        nest = Nest(scope, view.shape)
        smooth = is_float(view.dtype) and not scope.world.exact
        seen = Value(Load(view.name, nest.index(view.shape)), view.dtype, view.cap, smooth)
        nest.extra += [seen] * 3
        scope.emit(nest.loop(*nest.stores([target])))
    scope.ready.add(target.name)


def viewed(scope: Scope) -> None:
    """A view of a tile's elements as a narrower or wider type; not of floats that may be NaN, as it is not defined
    which NaN arithmetic gives."""
    rng, world = scope.rng, scope.world
    kinds = [d for d in sorted(world.allowed) if FACTS[d].kind in ("int", "uint") and FACTS[d].bits >= 8]
    if world.special:
        kinds += [d for d in sorted(world.allowed) if is_float(d) and FACTS[d].bits >= 8]
    if not kinds:
        return
    wide, narrow = sorted((rng.choice(kinds), rng.choice(kinds)), key=lambda d: -FACTS[d].bits)
    times = FACTS[wide].bits // FACTS[narrow].bits
    shape = shape_of(scope, rng.choice((1, 2)))
    if world.elements(shape) * times > MOST_ELEMENTS:
        return
    narrow_shape = (*shape[:-1], f"{shape[-1]}*{times}") if times > 1 else shape
    from_wide = rng.random() < 0.5
    if world.special and wide != narrow and is_float(wide if from_wide else narrow):
        from_wide = not from_wide
        if is_float(wide) and is_float(narrow):
            return
    if from_wide:
        source = scope.tile(shape, wide, "shared")
        view_shape, dtype = narrow_shape, narrow
    else:
        source = scope.tile(narrow_shape, narrow, "shared")
        view_shape, dtype = shape, wide
    tensor = scope.tensor(source.shape, source.dtype)
    if tensor.dtype != source.dtype:
        return
    scope.emit(Tile("copy", (Load(tensor.name, scope.base(source.shape)), Name(source.name))))
    scope.ready.add(source.name)
    _read(scope, _view(scope, source, view_shape, dtype))


def in_place(scope: Scope) -> None:
    """A tensor that the kernel reads and writes: each block and iteration its own elements."""
    rng, world = scope.rng, scope.world
    axes = [name for name in scope.axes if name != "BK"]
    shape = tuple(rng.sample(axes, len(axes)))
    whole = tuple(scope.place(name)[0] for name in shape)
    if world.elements(whole) > MOST or world.elements(shape) > MOST_ELEMENTS:
        return
    dtype = scope.fitting(world.dtype(), whole)
    tensor = Buffer(world.fresh("U"), whole, dtype, "global", world.cap(dtype), world.form())
    world.params.append(tensor)
    world.written[tensor.name] = scope.kernel
    nest = Nest(scope, shape)
    if rng.random() < 0.6:
        index: tuple[Expr, ...] = tuple(
            plus(base, name) for base, name in zip(scope.base(shape), nest.index(shape), strict=True)
        )
        element = Load(tensor.name, index)
        nest.extra += [Value(element, dtype, tensor.cap, is_float(dtype) and not world.exact)] * 3
        scope.emit(nest.loop(Assign(element, nest.maker().stored(dtype, tensor.cap, max(nest.depth, 1)).expr)))
        return
    tile = scope.tile(shape, dtype, cap=tensor.cap)
    place = Load(tensor.name, scope.base(shape))
    scope.emit(Tile("copy", (place, Name(tile.name))))
    scope.ready.add(tile.name)
    scope.emit(nest.loop(*nest.stores([tile])), Tile("copy", (Name(tile.name), place)))


def layout(scope: Scope) -> None:
    """A layout that the user gives for a tile in shared memory, which changes no result."""
    tiles = [t for t in scope.initialised(scopes=("shared",)) if len(t.shape) == 2 and "*" not in "".join(t.shape)]
    annotated = names_in(tuple(s for s in scope.body if isinstance(s, Tile) and s.op == "annotate_layout"))
    tiles = [tile for tile in tiles if tile.name not in annotated]
    if tiles and not scope.depth:
        tile = scope.rng.choice(tiles)
        scope.emit(Tile("annotate_layout", (Op("swizzled", (Name(tile.name),)),)))

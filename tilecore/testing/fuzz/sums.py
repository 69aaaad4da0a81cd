"""Random reducers and atomic operations, whose results do not depend on an order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilecore.testing.fuzz.nests import Nest
from tilecore.testing.fuzz.program import Alloc, Assign, Buffer, Load, Name, Op, Tile
from tilecore.testing.fuzz.statements import initialised_tile, shape_of
from tilecore.testing.fuzz.types import is_float, limit

if TYPE_CHECKING:
    from tilecore.testing.fuzz.scope import Scope


def reducer(scope: Scope) -> None:
    """A reducer: sums over one axis of a nest."""
    shape = shape_of(scope, 2)
    if len(shape) < 2:
        return
    nest = Nest(scope, shape)
    result_axis = scope.rng.choice(shape)
    candidates = [d for d in ("int32", "float32") if d in scope.world.allowed]
    candidates = [d for d in candidates if not (scope.world.special and is_float(d))]
    if not candidates:
        return
    dtype = scope.rng.choice(candidates)
    cap = 64.0 if dtype == "float32" else limit(dtype)
    name = scope.world.fresh("r")
    total = cap * scope.world.elements(shape) if dtype == "float32" else cap
    buffer = Buffer(name, (result_axis,), dtype, "reducer", total)
    value = nest.maker().stored(dtype, cap, nest.depth)
    target = scope.tile((result_axis,), dtype, "fragment", cap=total)
    scope.emit(
        Alloc(buffer),
        Tile("reducer_init", (Name(name),)),
        nest.loop(Assign(Load(name, nest.index((result_axis,))), value.expr, "+=")),
        Tile("finalize_reducer", (Name(name), Name(target.name))),
    )
    scope.ready.add(target.name)


def atomic(scope: Scope) -> None:
    """Atomic operations on a tensor that every block may update, in any order."""
    rng, world = scope.rng, scope.world
    candidates = [d for d in ("int32", "int32", "float32", "uint32") if d in world.allowed]
    candidates = [d for d in candidates if not (world.special and is_float(d))]
    if not candidates:
        return
    dtype = rng.choice(candidates)
    kind = rng.choice(("add", "add", "max", "min"))
    if not is_float(dtype) and rng.random() < 0.3:
        kind = rng.choice(("and", "or", "xor"))
    if rng.random() < 0.5:
        source = initialised_tile(scope, shape_of(scope), dtype)
        whole = tuple(scope.place(name)[0] for name in source.shape)
        tensor = Buffer(world.fresh("Z"), whole, dtype, "global", world.cap(dtype))
        if not scope.world.exact and kind not in ("max", "min") and is_float(dtype):
            kind = "max"
        if is_float(dtype) and kind == "add" and source.cap * scope.blocks * scope.trips > limit(dtype) / 4:
            return
        scope.emit(Tile(f"atomic_{kind}", (Load(tensor.name, scope.base(source.shape)), Name(source.name))))
    else:
        shape = shape_of(scope, rng.choice((1, 2)))
        nest = Nest(scope, shape)
        cap = 16.0 if is_float(dtype) else limit(dtype)
        tensor = Buffer(world.fresh("H"), ("E",), dtype, "global", world.cap(dtype))
        maker = nest.maker()
        value = maker.stored(dtype, cap, nest.depth)
        if value.smooth and kind == "add":
            kind = "max"
        if is_float(dtype) and kind == "add" and cap * world.elements(shape) * scope.blocks * scope.trips > 2**22:
            return
        element = Load(tensor.name, (Op("%", (maker.index(nest.depth), Name("E"))),))
        operand = Op("cast", (value.expr,), dtype)
        scope.emit(nest.loop(Tile(f"atomic_{kind}", (element, operand))))
    world.params.append(tensor)
    world.written[tensor.name] = scope.kernel
    world.atomics[tensor.name] = kind


def histogram(scope: Scope) -> None:
    """Atomic operations on a tile of the block."""
    rng, world = scope.rng, scope.world
    candidates = [d for d in ("int32", "int32", "uint32") if d in world.allowed]
    if not candidates:
        return
    nest = Nest(scope, shape_of(scope, rng.choice((1, 2))))
    dtype = rng.choice(candidates)
    kind = rng.choice(("add", "add", "add", "max", "or", "xor"))
    tile = scope.tile(("E",), dtype, "shared", cap=limit(dtype))
    scope.emit(Tile("clear", (Name(tile.name),)))
    maker = nest.maker()
    at = Op("%", (maker.index(nest.depth), Name("E")))
    value = Op("cast", (maker.stored(dtype, limit(dtype), nest.depth).expr,), dtype)
    scope.emit(nest.loop(Tile(f"atomic_{kind}", (Load(tile.name, (at,)), value))))
    scope.ready.add(tile.name)

"""Random statements on tiles. Each maker adds to the scope's body, or gives up and adds nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilecore.dtypes import FACTS
from tilecore.testing.fuzz.expressions import plus
from tilecore.testing.fuzz.flow import emit_loop, k_axis, k_trips
from tilecore.testing.fuzz.nests import Nest
from tilecore.testing.fuzz.outputs import may_convert
from tilecore.testing.fuzz.program import Assign, Buffer, Expr, Load, Loop, Name, Num, Op, Slice, Tile
from tilecore.testing.fuzz.types import NARROW, is_float, is_integer, limit

if TYPE_CHECKING:
    from tilecore.testing.fuzz.scope import Scope

MOST_ELEMENTS = 4096


def shape_of(scope: Scope, axes: int = 0) -> tuple[str, ...]:
    """Tile sizes, each once, of a tile that is not too large."""
    extents = list(dict.fromkeys([*scope.axes, "E"]))
    while True:
        shape = tuple(scope.rng.sample(extents, min(axes or scope.rng.choice((1, 2, 2, 2, 3)), len(extents))))
        if scope.world.elements(shape) <= MOST_ELEMENTS:
            return shape
        axes = max(1, len(shape) - 1)


def initialised_tile(scope: Scope, shape: tuple[str, ...], dtype: str = "", scopes: tuple[str, ...] = ()) -> Buffer:
    """A tile of this shape that holds values: an existing or a new one."""
    tiles = [t for t in scope.initialised(shape, scopes) if not dtype or t.dtype == dtype]
    if tiles and scope.rng.random() < 0.8:
        return scope.rng.choice(tiles)
    dtype = dtype or scope.world.dtype()
    tile = scope.tile(shape, dtype, scope.rng.choice(scopes) if scopes else "")
    if scope.rng.random() < 0.75:
        load_into(scope, tile)
    else:
        nest = Nest(scope, shape)
        scope.emit(nest.loop(*nest.stores([tile])))
        scope.ready.add(tile.name)
    return tile


def load_into(scope: Scope, tile: Buffer) -> None:
    source = scope.tensor(tile.shape, tile.dtype)
    if is_float(tile.dtype) and source.cap > tile.cap:
        value: Expr = Load(
            source.name, tuple(plus(b, n) for b, n in zip(scope.base(tile.shape), _vars(tile), strict=True))
        )
        low = 0 if FACTS[source.dtype].kind == "uint" else -int(tile.cap)
        value = Op("clamp", (value, Num(low), Num(int(tile.cap))))
        names = tuple(name.name for name in _vars(tile))
        store = Assign(Load(tile.name, _vars(tile)), value)
        scope.emit(Loop("Parallel", names, tuple(Name(s) for s in tile.shape), (store,)))
    elif scope.world.exact or is_float(tile.dtype) or not is_float(source.dtype):
        scope.emit(Tile("copy", (Load(source.name, _start(scope, source, tile)), Name(tile.name))))
    else:
        scope.emit(Tile("fill", (Name(tile.name), Num(1))))
    scope.ready.add(tile.name)


def _start(scope: Scope, source: Buffer, tile: Buffer) -> tuple[Expr, ...]:
    """The indices at which a tile begins in the tensor: those of its block, or some elements further along an axis."""
    base, starts = list(scope.base(tile.shape)), scope.world.starts
    if min(FACTS[buffer.dtype].bits for buffer in (source, tile)) >= 8 and starts.random() < 0.12:
        axis, off = starts.randrange(len(base)), starts.choice((1, 2, 3, 4, 7, 8, 16, 32))
        if off < scope.world.size(source.shape[axis]):
            base[axis] = plus(base[axis], Num(off))
    return tuple(base)


def _vars(tile: Buffer) -> tuple[Name, ...]:
    return tuple(Name(name) for name, _ in zip(("i", "j", "l", "m"), tile.shape, strict=False))


# -- statements ----------------------------------------------------------------------------------------------------


def load(scope: Scope) -> None:
    tile = scope.tile(shape_of(scope), scope.world.dtype())
    load_into(scope, tile)


def parallel(scope: Scope) -> None:
    shape = shape_of(scope)
    nest = Nest(scope, shape)
    kind = scope.rng.random()
    tiles = [
        t for t in scope.initialised() if set(t.shape) == set(shape) and t.scope != "local" and t.name not in scope.room
    ]
    target = scope.rng.choice(tiles) if tiles and kind < 0.6 else scope.tile(shape, scope.world.dtype())
    if target.name in scope.ready and kind < 0.25:
        scope.emit(nest.loop(*nest.conditional(target)))
        return
    if kind > 0.85 and (body := nest.summed(target)):
        scope.emit(nest.loop(*body))
    else:
        targets = [target]
        if scope.rng.random() < 0.2:
            targets.append(scope.tile(shape, scope.world.dtype()))
        scope.emit(nest.loop(*nest.stores(targets)))
        scope.ready.update(t.name for t in targets)
    scope.ready.add(target.name)


def copy(scope: Scope) -> None:
    source = initialised_tile(scope, shape_of(scope))
    target = scope.tile(source.shape, source.dtype if scope.rng.random() < 0.5 else scope.world.dtype(), cap=0)
    if not may_convert(scope, source, target):
        return
    scope.emit(Tile("copy", (Name(source.name), Name(target.name))))
    scope.ready.add(target.name)


def part_copy(scope: Scope) -> None:
    """A copy of a part of a tile to a part of another tile that holds values."""
    source = initialised_tile(scope, shape_of(scope), scopes=("shared",))
    targets = [
        t for t in scope.initialised(source.shape, ("shared",)) if t.name != source.name and t.name not in scope.room
    ]
    targets = [t for t in targets if may_convert(scope, source, t)]
    if not targets:
        return
    target = scope.rng.choice(targets)
    sizes = [scope.world.size(name) for name in source.shape]
    counts = [scope.rng.randint(1, size) for size in sizes]
    starts = [[scope.rng.randint(0, size - count) for size, count in zip(sizes, counts, strict=True)] for _ in range(2)]
    source_part, target_part = (
        Slice(tile.name, tuple((Num(a), Num(n)) for a, n in zip(start, counts, strict=True)))
        for tile, start in zip((source, target), starts, strict=True)
    )
    scope.emit(Tile("copy", (source_part, target_part)))


def transpose(scope: Scope) -> None:
    source = initialised_tile(
        scope, shape_of(scope, 2), scopes=("shared", "fragment") if scope.rng.random() < 0.3 else ("shared",)
    )
    if len(source.shape) != 2:
        return
    target = scope.tile(source.shape[::-1], source.dtype, cap=source.cap)
    scope.emit(Tile("transpose", (Name(source.name), Name(target.name))))
    scope.ready.add(target.name)


def fill(scope: Scope) -> None:
    tiles = [t for t in scope.tiles if t.scope != "local"]
    target = scope.rng.choice(tiles) if tiles else scope.tile(shape_of(scope), scope.world.dtype())
    if scope.rng.random() < 0.5:
        scope.emit(Tile("clear", (Name(target.name),)))
    else:
        scope.emit(Tile("fill", (Name(target.name), Num(scope.rng.randint(0, 1 if target.dtype == "bool" else 3)))))
    scope.ready.add(target.name)


_PRODUCTS = (
    ("float16", "float16", "float32"), ("float16", "float16", "float16"), ("bfloat16", "bfloat16", "float32"),
    ("float32", "float32", "float32"), ("float64", "float64", "float64"), ("int8", "int8", "int32"),
    ("uint8", "uint8", "int32"), ("int32", "int32", "int32"), ("int8", "float16", "float32"),
    ("float16", "float32", "float32"), ("float8_e4m3fn", "float8_e4m3fn", "float32"),
    ("float8_e5m2", "float8_e5m2", "float32"), ("int16", "int16", "int64"),
    ("float8_e4m3fnuz", "float8_e4m3fnuz", "float32"),
)  # fmt: skip


def policy(scope: Scope) -> tuple[tuple[str, Name], ...]:
    """Sometimes a policy of T.gemm, as an option."""
    if scope.rng.random() > 0.25:
        return ()
    return (("policy", Name(f"T.GemmWarpPolicy.{scope.rng.choice(('Square', 'FullRow', 'FullCol'))}")),)


def product_types(scope: Scope) -> tuple[str, str, str] | None:
    """The element types of A, B and C of a GEMM, mostly ones that the program uses already."""
    candidates = [p for p in _PRODUCTS if set(p) <= scope.world.allowed]
    candidates = [p for p in candidates if not scope.world.special or not any(map(is_float, p))]
    likely = [p for p in candidates if set(p[:2]) <= set(scope.world.palette)]
    return scope.rng.choice(likely if likely and scope.rng.random() < 0.8 else candidates) if candidates else None


def gemm(scope: Scope) -> None:
    """A GEMM of two tiles, to an accumulator that is new or has values."""
    rng = scope.rng
    dims = list(dict.fromkeys([*scope.axes, "E"]))
    if len(dims) < 3:
        return
    m, n, k = rng.sample(dims, 3)
    if "BK" in scope.axes and rng.random() < 0.7:
        m, n, k = *rng.sample([d for d in dims if d != "BK"], 2), "BK"
    kinds = product_types(scope)
    if kinds is None:
        return
    transposed = rng.random() < 0.35, rng.random() < 0.35
    scopes = ("shared",) if rng.random() < 0.8 else ("shared", "fragment")
    a = initialised_tile(scope, (k, m) if transposed[0] else (m, k), kinds[0], scopes)
    b = initialised_tile(
        scope, (n, k) if transposed[1] else (k, n), kinds[1], scopes if rng.random() < 0.3 else ("shared",)
    )
    growth = a.cap * b.cap * scope.world.size(k)
    most = limit(kinds[2]) / 2
    add = rng.random() < 0.6
    sums = [t for t in scope.initialised((m, n), ("fragment", "shared")) if t.dtype == kinds[2]]
    sums = [t for t in sums if not is_float(t.dtype) or scope.room.get(t.name, 0) >= growth * scope.trips]
    if is_float(kinds[2]) and growth * scope.trips > most:
        return
    if add and sums:
        c = rng.choice(sums)
    else:
        c = scope.tile((m, n), kinds[2], "fragment" if rng.random() < 0.8 else "shared", cap=most)
        scope.room[c.name] = most
        if add:
            scope.emit(Tile("clear", (Name(c.name),)))
    options = tuple(
        (word, True)
        for word, is_transposed in zip(("transpose_A", "transpose_B"), transposed, strict=True)
        if is_transposed
    )
    if not add:
        options += (("clear_accum", True),)
    scope.room[c.name] = scope.room.get(c.name, most) - growth * scope.trips
    scope.emit(Tile("gemm", (Name(a.name), Name(b.name), Name(c.name)), (*options, *policy(scope))))
    scope.ready.add(c.name)


def product_loop(scope: Scope) -> None:
    """The usual pipelined loop of a GEMM, over the axis K."""
    if "BK" not in scope.axes or scope.axes["BK"].base != Num(0):
        return
    dims = [name for name in [*scope.axes, "E"] if name != "BK"]
    if len(dims) < 2:
        return
    rng = scope.rng
    m, n = rng.sample(dims, 2)
    kinds = product_types(scope)
    if kinds is None:
        return
    transposed = rng.random() < 0.3, rng.random() < 0.3
    room = limit(kinds[2]) / 2
    a = scope.tile(("BK", m) if transposed[0] else (m, "BK"), kinds[0], "shared")
    b = scope.tile((n, "BK") if transposed[1] else ("BK", n), kinds[1], "shared")
    trips = k_trips(scope)
    if is_float(kinds[2]) and a.cap * b.cap * scope.world.size("BK") * trips * scope.trips > room:
        return
    c = scope.tile((m, n), kinds[2], "fragment", cap=room)
    scope.emit(Tile("clear", (Name(c.name),)))
    with scope.inner(trips, axis=k_axis("k")) as below:
        load_into(below, a)
        load_into(below, b)
        if rng.random() < 0.2:
            parallel(below)
        options = (("transpose_A", transposed[0]), ("transpose_B", transposed[1]))
        call_options = (*(option for option in options if option[1]), *policy(scope))
        below.emit(Tile("gemm", (Name(a.name), Name(b.name), Name(c.name)), call_options))
    emit_loop(scope, "Pipelined", "k", (Op("ceildiv", (Name("K"), Name("BK"))),), below.body)
    scope.room[c.name] = 0
    scope.ready.add(c.name)


def reduce(scope: Scope) -> None:
    source = initialised_tile(scope, shape_of(scope, scope.rng.choice((2, 2, 3))))
    if len(source.shape) < 2:
        return
    rng = scope.rng
    dim = rng.randrange(len(source.shape))
    kinds = ["sum", "max", "min", "abssum", "absmax"]
    if not is_float(source.dtype):
        kinds = (
            ["bitand", "bitor", "bitxor", "max", "min"]
            if source.dtype == "bool"
            else [*kinds, "bitand", "bitor", "bitxor"]
        )
    if scope.world.special and is_float(source.dtype):
        kinds = ["max", "min", "absmax"]
    kind = rng.choice(kinds)
    adds = kind in ("sum", "abssum")
    trips = scope.world.size(source.shape[dim])
    result_cap = source.cap * trips * (scope.trips if adds else 1) if adds else source.cap
    dtype = source.dtype
    if is_float(dtype) and adds and result_cap > limit(dtype) / 2:
        dtype = "float32"
    if is_float(dtype) and result_cap > limit(dtype) / 2 and not scope.world.special:
        return
    if scope.world.special:
        result_cap = 0.0
    shape = tuple(name for axis, name in enumerate(source.shape) if axis != dim)
    if rng.random() < 0.1 and adds and is_integer(dtype):
        dtype = "int32"
    tiles = [t for t in scope.initialised(shape) if t.dtype == dtype and scope.room.get(t.name, 0) >= result_cap]
    clear = not (tiles and rng.random() < 0.5)
    if clear:
        target = scope.tile(shape, dtype, rng.choice(("fragment", "fragment", "shared")), cap=limit(dtype) / 2)
        scope.room[target.name] = target.cap
    else:
        target = rng.choice(tiles)
    scope.room[target.name] = scope.room.get(target.name, 0.0) - result_cap
    options: tuple[tuple[str, object], ...] = (("dim", dim if rng.random() < 0.5 else dim - len(source.shape)),)
    if not clear:
        options += (("clear", False),)
    if kind in ("max", "min", "absmax") and rng.random() < 0.2:
        options += (("nan_propagate", True),)
    scope.emit(Tile(f"reduce_{kind}", (Name(source.name), Name(target.name)), options))
    scope.ready.add(target.name)


def scan(scope: Scope) -> None:
    source = initialised_tile(scope, shape_of(scope, scope.rng.choice((1, 2))), scopes=("shared", "shared", "fragment"))
    dim = scope.rng.randrange(len(source.shape))
    kind = scope.rng.choice(("cumsum", "cumsum", "cummax"))
    if source.dtype == "bool" or source.dtype in NARROW:
        return
    if scope.world.special and is_float(source.dtype):
        kind = "cummax"
    cap = source.cap * (scope.world.size(source.shape[dim]) if kind == "cumsum" else 1)
    if is_float(source.dtype) and cap > limit(source.dtype) / 2 and not scope.world.special:
        return
    target = scope.tile(source.shape, source.dtype, source.scope, cap=cap if is_float(source.dtype) else source.cap)
    options: tuple[tuple[str, object], ...] = (("dim", dim),)
    if scope.rng.random() < 0.4:
        options += (("reverse", True),)
    scope.emit(Tile(kind, (Name(source.name), Name(target.name)), options))
    scope.ready.add(target.name)

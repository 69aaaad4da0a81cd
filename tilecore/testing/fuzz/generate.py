"""Generates a random program from a seed: the same one on every machine."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import replace

from tilecore.dtypes import FACTS
from tilecore.testing.fuzz.expressions import index_value
from tilecore.testing.fuzz.makers import MAKERS
from tilecore.testing.fuzz.outputs import store, store_unread
from tilecore.testing.fuzz.program import Kernel, Name, Num, Op, Program, Tile, names_in
from tilecore.testing.fuzz.scope import Axis, Scope, World
from tilecore.testing.fuzz.statements import MOST_ELEMENTS
from tilecore.testing.fuzz.types import FLOATS, INTEGERS, SMALL, is_float

_EVEN = (16, 16, 32, 32, 64, 8)
_ODD = (1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 20, 24, 31, 32, 33, 40, 48, 64, 96)
_THREADS = (32, 64, 96, 128, 128, 128, 256)
_WEIGHTS = {"float32": 8, "float16": 5, "bfloat16": 3, "float64": 1.5, "float8_e4m3fn": 1, "float8_e5m2": 1,
            "float8_e4m3fnuz": 0.7, "float8_e5m2fnuz": 0.4,
            "int32": 5, "int8": 3, "uint8": 2, "bool": 1.5, "int4": 0.7, "uint4": 0.5}  # fmt: skip
_AXES = (("BM", "M"), ("BN", "N"), ("BP", "P"))


def generate(seed: int, dtypes: Collection[str] = ()) -> Program:
    """The program of a seed. dtypes: the element types that may be used, by default all."""
    rng = random.Random(f"tile kernel {seed}")
    exact = rng.random() < 0.8
    special = exact and rng.random() < 0.15
    allowed = frozenset(dtypes or (*FLOATS, *INTEGERS, *SMALL, "bool"))
    axes = rng.choices((1, 2, 3), (4, 5, 1))[0]
    sizes, palette = _sizes(rng, axes), _palette(rng, exact, allowed)
    starts = random.Random(f"starts {seed}")  # a generator of its own, so that the other random numbers stay the same
    world = World(rng, exact, sizes, palette, allowed, starts, special=special, makers=MAKERS)
    kernels = []
    count = rng.choices((1, 2, 3), (8, 2, 0.5))[0]
    for number in range(count):
        world.hidden = 0.0 if number == count - 1 else 0.4
        kernels.append(_kernel(world, number, axes))
    return _trimmed(world, seed, kernels)


def _trimmed(world: World, seed: int, kernels: list[Kernel]) -> Program:
    """The program with the parameters and sizes that it uses; some sizes of tensors become dynamic."""
    used = names_in(tuple(kernels))
    params = tuple(p for p in world.params if p.name in used)
    sizes = used | names_in(params)
    dynamic: tuple[str, ...] = ()
    if world.rng.random() < 0.25:
        shown = {name for p in params for name in p.shape if p.shape}
        dynamic = tuple(whole for _, whole in (*_AXES, ("", "K")) if whole in shown and world.rng.random() < 0.6)
    workspaces = tuple(w for w in world.workspaces if w.name in used)
    sizes |= names_in(workspaces)
    used_sizes = tuple((name, value) for name, value in world.sizes.items() if name in sizes)
    params = tuple(replace(p, form="") if set(p.shape) & set(dynamic) or FACTS[p.dtype].bits < 8 else p for p in params)
    second_sizes = _second_sizes(world, dynamic) if world.rng.random() < 0.7 else ()
    return Program(
        seed, world.exact, used_sizes, dynamic, params, workspaces, tuple(kernels), world.special, second_sizes
    )


def _second_sizes(world: World, dynamic: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    """The dynamic sizes of a second call, sometimes 0."""
    other_sizes = []
    for name in dynamic:
        size = world.sizes[name]
        other_sizes.append((name, world.rng.choice((0, 1, size // 2, size - 1, size if name == "K" else size + 5))))
    return tuple(other_sizes)


def _palette(rng: random.Random, exact: bool, allowed: Collection[str]) -> tuple[str, ...]:
    dtypes = [d for d in (*FLOATS, *INTEGERS, *SMALL, "bool") if d in allowed]
    weights = [_WEIGHTS.get(d, 1) * (1 if exact or is_float(d) else 0.5) for d in dtypes]
    return tuple(dict.fromkeys(rng.choices(dtypes, weights, k=rng.choice((1, 2, 2, 3, 4)))))


def _sizes(rng: random.Random, axes: int) -> dict[str, int]:
    even = rng.random() < 0.55
    sizes = {}
    for tile, whole in (*_AXES[:axes], ("BK", "K")):
        size = rng.choice(_EVEN if even else _ODD)
        if axes == 3:
            size = min(size, 16)
        sizes[tile] = size
        sizes[whole] = _whole(rng, size, 4 if tile == "BK" else 2 if axes > 1 else 4)
    while sizes["BM"] * sizes.get("BN", 1) * sizes.get("BP", 1) > MOST_ELEMENTS:
        sizes["BM"] = max(1, sizes["BM"] // 2)
        sizes["M"] = max(1, sizes["M"] // 2)
    sizes["E"] = rng.choice(_EVEN if even else _ODD)
    return sizes


def _whole(rng: random.Random, tile: int, most: int) -> int:
    """The size of a tensor's axis: a multiple of its tile, somewhat less, less than one tile, or 1."""
    kind = rng.random()
    if kind < 0.45:
        return tile * rng.randint(1, most)
    if kind < 0.85:
        return max(1, tile * rng.randint(1, most) - rng.randint(0, tile - 1) if tile > 1 else rng.randint(1, most))
    return rng.randint(1, tile) if kind < 0.95 else 1


def _kernel(world: World, number: int, axes: int) -> Kernel:
    rng = world.rng
    names = ["bx", "by", "bz"][:axes]
    order = rng.sample(_AXES[:axes], axes)
    axes_by_tile = {}
    uniform = []
    blocks = 1
    for name, (tile, whole) in zip(names, order, strict=True):
        count = -(-world.sizes[whole] // world.sizes[tile])
        blocks *= count
        axes_by_tile[tile] = Axis(tile, whole, Op("*", (Name(name), Name(tile))))
        uniform.append(index_value(name, count))
    axes_by_tile["BK"] = Axis("BK", "K", Num(0))
    scope = Scope(world, number, axes_by_tile, uniform, blocks, [], [], [], set(), {})
    if len(order) == 2 and rng.random() < 0.15:
        scope.emit(Tile("use_swizzle", (Num(rng.randint(1, 4)),), (("order", rng.choice(("row", "column"))),)))
    scope.several(rng.randint(2, 6))
    store_unread(scope)
    if not any(writer == number for writer in world.written.values()):
        store(scope)
    grid = tuple(Op("ceildiv", (Name(whole), Name(tile))) for tile, whole in order)
    used = names_in(tuple(scope.body))
    top = [alloc for alloc in scope.top if alloc.buffer.name in used]  # type: ignore[union-attr]
    return Kernel(tuple(names), grid, rng.choice(_THREADS), (*top, *scope.body))

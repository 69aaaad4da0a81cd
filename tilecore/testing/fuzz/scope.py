"""The state of the generator in a kernel: the axes on which tiles lie, the buffers, and which of them hold values."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING

from tilecore.dtypes import FACTS
from tilecore.testing.fuzz.program import Alloc, Buffer, Expr, Num, Statement, size_of
from tilecore.testing.fuzz.types import NARROW, is_float, limit

if TYPE_CHECKING:
    from tilecore.testing.fuzz.expressions import Value

MANY = 6  # parameters, beyond which existing tensors are preferred to new ones


@dataclass(frozen=True)
class Axis:
    """An axis of tensors, of size ``whole``, with tiles of size ``tile``; the block's tile begins at ``base``."""

    tile: str
    whole: str
    base: Expr


@dataclass
class World:
    """The state that all kernels of a program share.

    palette: the element types of new buffers, a part of ``allowed``. written: the tensors that kernels write, with the
    index of the kernel; atomics: those that it only updates by an atomic operation, with its kind. special: floats have
    any values, so that no operation on them may round. makers: the makers of statements, with their weights. starts:
    the random numbers that shift the places where tiles begin.
    """

    rng: random.Random
    exact: bool
    sizes: dict[str, int]
    palette: tuple[str, ...]
    allowed: frozenset[str]
    starts: random.Random
    params: list[Buffer] = field(default_factory=list)
    workspaces: list[Buffer] = field(default_factory=list)
    special: bool = False
    makers: tuple[tuple[float, Callable[[Scope], None]], ...] = ()
    written: dict[str, int] = field(default_factory=dict)
    atomics: dict[str, str] = field(default_factory=dict)
    hidden: float = 0.0  # probability that a result is a workspace, which a later kernel may read
    count: int = 0

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def elements(self, shape: tuple[str, ...]) -> int:
        return prod(map(self.size, shape))

    def size(self, name: str) -> int:
        return size_of(name, self.sizes)

    def dtype(self) -> str:
        return self.rng.choice(self.palette)

    def form(self) -> str:
        """The form of a tensor in memory, as of a Buffer."""
        return self.rng.choice(("padded", "columns")) if self.rng.random() < 0.06 else ""

    def cap(self, dtype: str, room: float = 1.0) -> float:
        """The largest magnitude in a new buffer: small, so that sums of products are exact."""
        if not is_float(dtype) or self.special:
            return limit(dtype)
        if dtype in NARROW:
            return 4
        return max(1.0, min(limit(dtype) * room, self.rng.choice((3, 8, 20))))


@dataclass
class Scope:
    """One level of statements in a kernel.

    uniform: integers that are the same for all threads. top: the statements at the beginning of the kernel. ready: the
    tiles that hold values. trips: how often the level runs in each block. depth: the number of levels around it.
    """

    world: World
    kernel: int
    axes: dict[str, Axis]
    uniform: list[Value]
    blocks: int
    top: list[Statement]
    body: list[Statement]
    tiles: list[Buffer]
    ready: set[str]
    room: dict[str, float]  # by accumulator: the magnitude that may still be added
    trips: int = 1
    depth: int = 0
    late: set[str] = field(default_factory=set)  # tiles that hold values only where no jump left the loop before

    @property
    def rng(self) -> random.Random:
        return self.world.rng

    def emit(self, *statements: Statement) -> None:
        self.body.extend(statements)

    def tile(self, shape: tuple[str, ...], dtype: str, scope: str = "", cap: float = 0) -> Buffer:
        """A new on-chip buffer, mostly allocated at the beginning of the kernel."""
        scope = scope or self.rng.choice(("shared", "shared", "fragment"))
        tile = Buffer(self.world.fresh(scope[0]), shape, dtype, scope, cap or self.world.cap(dtype))
        at_top = self.depth == 0 or self.rng.random() < 0.8
        (self.top if at_top else self.body).append(Alloc(tile))
        self.tiles.append(tile)
        return tile

    def initialised(self, shape: tuple[str, ...] | None = None, scopes: tuple[str, ...] = ()) -> list[Buffer]:
        """Tiles that hold values."""
        return [
            tile
            for tile in self.tiles
            if tile.name in self.ready
            and (shape is None or tile.shape == shape)
            and (not scopes or tile.scope in scopes)
        ]

    @contextmanager
    def inner(self, trips: int = 1, certain: bool = True, axis: Axis | None = None) -> Iterator[Scope]:
        """A level of statements inside this one, in a loop or a condition. certain: it runs at least once."""
        top = self.top
        axes = self.axes if axis is None else {**self.axes, axis.tile: axis}
        below = replace(
            self,
            axes=axes,
            uniform=list(self.uniform),
            body=[],
            tiles=list(self.tiles),
            ready=set(self.ready),
            trips=self.trips * trips,
            depth=self.depth + 1,
        )
        yield below
        hoisted = {statement.buffer.name for statement in top if isinstance(statement, Alloc)}
        names = {tile.name for tile in self.tiles}
        self.tiles.extend(t for t in below.tiles if t.name not in names and t.name in hoisted)
        if certain:
            self.ready |= {name for name in below.ready if name in hoisted or name in self.ready}

    # -- tensors -------------------------------------------------------------------------------------------------

    def place(self, tile: str) -> tuple[str, Expr]:
        """The size of the tensor axis for tiles of this size, and the index at which the block's tile begins."""
        axis = self.axes.get(tile)
        return (axis.whole, axis.base) if axis else (tile, Num(0))

    def base(self, shape: tuple[str, ...]) -> tuple[Expr, ...]:
        return tuple(self.place(name)[1] for name in shape)

    def tensor(self, shape: tuple[str, ...], dtype: str) -> Buffer:
        """A tensor from which tiles of this shape can be read: a parameter, or a result of an earlier kernel. Where
        there are many tensors, it may have another element type."""
        world = self.world
        whole = tuple(self.place(name)[0] for name in shape)
        fitting = [b for b in world.params + world.workspaces if b.shape == whole and self.may_read(b)]
        same = [b for b in fitting if b.dtype == dtype]
        if same or (fitting and len(world.params) >= MANY):
            return self.rng.choice(same or fitting)
        tensor = Buffer(world.fresh("X"), whole, self.fitting(dtype, whole), "global", 0)
        tensor = replace(tensor, cap=self.input_cap(tensor.dtype), form=world.form())
        world.params.append(tensor)
        return tensor

    def fitting(self, dtype: str, whole: tuple[str, ...]) -> str:
        """``dtype``, or a type of whole bytes where the last axis of the tensor has an odd number of elements."""
        if FACTS[dtype].bits >= 8 or (whole and self.world.size(whole[-1]) % 2 == 0):
            return dtype
        return "int8" if dtype == "int4" else "uint8" if dtype == "uint4" else "float16"

    def scalar(self, dtype: str, cap: float) -> Buffer:
        """A parameter that is a number."""
        scalars = [p for p in self.world.params if p.scope == "scalar" and p.dtype == dtype and p.cap == cap]
        if scalars:
            return self.rng.choice(scalars)
        scalar = Buffer(self.world.fresh("n"), (), dtype, "scalar", cap)
        self.world.params.append(scalar)
        return scalar

    def several(self, count: int) -> None:
        """Some statements, of random kinds."""
        makers = self.world.makers
        for _ in range(count):
            (maker,) = self.rng.choices([m for _, m in makers], [w for w, _ in makers])
            maker(self)

    def may_read(self, buffer: Buffer) -> bool:
        number = self.world.written.get(buffer.name)
        if number is None:
            return buffer.scope == "global"
        return number < self.kernel and not (buffer.name in self.world.atomics and is_float(buffer.dtype))

    def input_cap(self, dtype: str) -> float:
        """The largest magnitude in an input tensor; for integers sometimes the type's limit."""
        if is_float(dtype) or self.world.special:
            return self.world.cap(dtype)
        return limit(dtype) if self.rng.random() < 0.3 else min(limit(dtype), 100)

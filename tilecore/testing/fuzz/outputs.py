"""Stores of results: to tensors of which every block writes a part of its own, or by atomic operations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tilecore.testing.fuzz.expressions import plus
from tilecore.testing.fuzz.nests import Nest
from tilecore.testing.fuzz.program import (
    Assign,
    Buffer,
    Expr,
    If,
    Leave,
    Let,
    Load,
    Loop,
    Name,
    Num,
    Slice,
    Statement,
    Tile,
    View,
    While,
    names_in,
)
from tilecore.testing.fuzz.types import is_float, limit

if TYPE_CHECKING:
    from tilecore.testing.fuzz.scope import Scope

MOST = 1 << 17  # elements of a tensor that is written
MOST_STORES = 5  # the most tiles that one level of statements stores
_MAXIMUM_DTYPES = ("int32", "uint32", "int64", "float32")  # element types of an atomic maximum


def may_convert(scope: Scope, source: Buffer, target: Buffer) -> bool:
    """Can elements of ``source`` be stored to ``target``, exactly or with a rounding that the comparison allows?"""
    if scope.world.special:
        return True
    if is_float(target.dtype):
        return source.cap <= target.cap
    return scope.world.exact or not is_float(source.dtype)


def output(scope: Scope, source: Buffer) -> None:
    """Copy a tile to a new tensor, by T.copy or element by element. The tensor has every axis of the grid, so that each
    block writes a part of its own; the axes that the tile lacks come first, and the block has one index of each."""
    world = scope.world
    missing = tuple(name for name in scope.axes if name != "BK" and name not in source.shape)
    whole = tuple(scope.place(name)[0] for name in (*missing, *source.shape))
    if world.elements(whole) > MOST:
        store_maximum(scope, source)
        return
    dtype = source.dtype if scope.rng.random() < 0.8 else world.dtype()
    if not may_convert(scope, source, Buffer("", (), dtype, "", limit(dtype))):
        dtype = source.dtype
    cap = min(source.cap, limit(dtype)) if is_float(dtype) else limit(dtype)
    tensor = Buffer(world.fresh("Y"), whole, scope.fitting(dtype, whole), "global", cap, world.form())
    if not missing and "BK" not in source.shape and not scope.depth and scope.rng.random() < world.hidden:
        tensor = replace(tensor, scope="workspace", form="")
        world.workspaces.append(tensor)
    else:
        world.params.append(tensor)
    world.written[tensor.name] = scope.kernel
    _move(scope, source, tensor, scope.base(missing))


def _move(scope: Scope, source: Buffer, target: Buffer, rows: tuple[Expr, ...]) -> None:
    if scope.rng.random() < 0.7:
        at: Expr = Load(target.name, scope.base(source.shape))
        if rows:
            sizes = tuple(zip(scope.base(source.shape), map(Name, source.shape), strict=True))
            at = Slice(target.name, (*((row, Num(1)) for row in rows), *sizes))
        scope.emit(Tile("copy", (Name(source.name), at)))
        return
    nest = Nest(scope, source.shape)
    index = nest.index(source.shape)
    columns = tuple(plus(base, name) for base, name in zip(scope.base(source.shape), index, strict=True))
    scope.emit(nest.loop(Assign(Load(target.name, (*rows, *columns)), Load(source.name, index))))


def store_maximum(scope: Scope, source: Buffer) -> None:
    """Combine a tile of all blocks in one tensor, by an atomic maximum."""
    whole = tuple(scope.place(name)[0] for name in source.shape)
    if source.dtype not in _MAXIMUM_DTYPES or scope.world.elements(whole) > MOST:
        return
    tensor = Buffer(scope.world.fresh("Z"), whole, source.dtype, "global", scope.world.cap(source.dtype))
    scope.emit(Tile("atomic_max", (Load(tensor.name, scope.base(source.shape)), Name(source.name))))
    scope.world.params.append(tensor)
    scope.world.written[tensor.name] = scope.kernel
    scope.world.atomics[tensor.name] = "max"


def store(scope: Scope) -> None:
    """Store some tile to a new tensor."""
    ready = scope.initialised()
    if ready:
        output(scope, scope.rng.choice(ready))


def store_unread(scope: Scope, names: set[str] | None = None) -> None:
    """Store tiles that these statements wrote and did not read, so that their values matter. names: of the tiles that
    may be stored; statements that follow may read the others."""
    used = sources(tuple(scope.body))
    unread = [t for t in scope.initialised() if t.name not in used and (names is None or t.name in names)]
    written = names_in(tuple(scope.body))
    unread = [t for t in unread if t.name in written]
    for tile in scope.rng.sample(unread, min(len(unread), MOST_STORES)):
        output(scope, tile)


def sources(body: tuple[Statement, ...]) -> set[str]:
    """The names that statements read."""
    names: set[str] = set()
    for statement in body:
        if isinstance(statement, Tile):
            atomic = statement.op.startswith("atomic")
            names |= names_in(statement.operands[1:] if atomic else statement.operands[:-1])
        elif isinstance(statement, Assign):
            index = statement.target.index if isinstance(statement.target, Load) else ()
            names |= names_in((statement.value, index))
        elif isinstance(statement, (Loop, While)):
            names |= sources(statement.body)
        elif isinstance(statement, View):
            names.add(statement.source.name)
        elif isinstance(statement, Let):
            names |= names_in(statement.value)
        elif isinstance(statement, Leave):
            names |= names_in(statement.condition)
        elif isinstance(statement, If):
            names |= names_in(statement.condition) | sources(statement.then) | sources(statement.orelse)
    return names

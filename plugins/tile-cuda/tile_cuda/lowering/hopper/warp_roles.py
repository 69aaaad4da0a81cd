"""The code of the warps that fill rings, and of those that use them.

Both count how often a channel has been filled; turn number t of a channel with S slots goes to slot t % S, and is the
slot's (t / S)-th. A slot's barrier "full" lets those who wait for turn t go on when the copies of turn t have landed,
its barrier "empty" lets the filling warp go on when every other warp has released turn t - S.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tile_cuda import instructions
from tile_cuda.architectures import WARP
from tile_cuda.lowering.hopper.cluster_multicast import BLOCKS
from tile_cuda.lowering.hopper.pipelines import Pipeline, TmaLoad
from tile_cuda.lowering.hopper.wgmma_config import wgmma_config_of
from tilecore.contract.passes import PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, dtype_of, is_nothing, load, seq, statements_of, store, with_body
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    Bind,
    Evaluate,
    For,
    IfThenElse,
    Stmt,
    TensorLoad,
    Var,
    tirx,
)
from tilecore.ir.ranges import known_range, within
from tilecore.ir.scopes import is_global
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.visit import collect, variables
from tilecore.lowering.simt.note_ranges import threads_of_call
from tilecore.lowering.simt.pipeline_loops import STAGES, on_slot

TMA = "bulk"  # the hint of a copy by a tensor map
MULTICAST = "paired"  # the hint of one that two blocks share: cluster_multicast.py
MOST_TURNS = 1 << 30


class Declined(Exception):
    """The kernel cannot be divided so; the reason."""


class CircularBuffer:
    """A channel's memory. slots: {tile: its ring, [slots, ...]}. full, empty: barriers, one a slot. shared: the fills
    that a block does for its neighbour too; blocks: whose warps release a slot."""

    def __init__(self, channel: Pipeline, shared: Sequence[TmaLoad] = ()) -> None:
        self.channel = channel
        self.shared = [fill for fill in channel.all_loads if fill in shared]
        self.blocks = BLOCKS if self.shared else 1
        self.count = channel.slots
        self.slots: dict[Var, Var] = {}
        for tile in channel.tiles:
            shape = [self.count, *(int(constant(s) or 0) for s in tile.shape)]
            scope = str(tile.scope())
            self.slots[tile] = tirx.decl_buffer(shape, dtype_of(tile), str(tile.name), scope=scope, layout=None)
        self.full, self.empty = (self._barriers(word) for word in ("full", "empty"))

    def _barriers(self, word: str) -> Var:
        return tirx.decl_buffer([self.count], "uint64", f"{self.channel.name}_{word}", scope="shared", layout=None)

    def allocations(self) -> list[Stmt]:
        return [AllocBuffer(buffer) for buffer in (*self.slots.values(), self.full, self.empty)]

    def init(self, warps: int) -> list[Stmt]:
        """One thread's work before all others. warps: of a block, that release a slot."""
        made = []
        for slot in range(self.count):
            at = [const(slot, "int32")]
            made.append(instructions.transaction("init", load(self.full, at), const(1, "int32")))
            made.append(instructions.transaction("init", load(self.empty, at), const(warps * self.blocks, "int32")))
        return made

    def slot(self, turn: Any) -> Any:
        return _simple(tirx.floormod(turn, const(self.count, "int32")))

    def parity(self, turn: Any, flipped: bool = False) -> Any:
        half = tirx.floordiv(turn, const(self.count, "int32")) + const(int(flipped), "int32")
        return _simple(tirx.floormod(half, const(2, "int32")))


class Iterations:
    """The number of each turn in one role's code, as an expression or a variable that is defined in front of it."""

    def __init__(self, rings: list[CircularBuffer], body: Stmt) -> None:
        self.rings = rings
        self.counters = {
            ring: tirx.decl_buffer([1], "int32", f"{ring.channel.name}_turn", scope="local.var", layout=None)
            for ring in rings
            if self._is_counted(ring, body)
        }
        self.bases: dict[tuple[CircularBuffer, Any], Any] = {}

    def _is_counted(self, ring: CircularBuffer, body: Stmt) -> bool:
        """Is it filled in several places, or in one that is come to several times?"""
        owners = {fill.owner for fills in ring.channel.fills for fill in fills}
        if len(owners) > 1:
            return True
        owner = next(iter(owners))
        if owner is None:
            return len(ring.channel.fills) > 1
        loops = [loop for loop in collect(body, For) if not loop.same_as(owner)]
        around = any(any(inner.same_as(owner) for inner in collect(loop, For)) for loop in loops)
        return around or not isinstance(owner, For)

    def start(self) -> list[Stmt]:
        zero = const(0, "int32")
        made: list[Stmt] = []
        for counter in self.counters.values():
            made += [AllocBuffer(counter), store(counter, zero, [zero])]
        return made

    def around(self, node: For) -> tuple[list[Stmt], list[Stmt]]:
        """Statements before and after a loop that fills rings."""
        before: list[Stmt] = []
        after: list[Stmt] = []
        for ring in self.rings:
            times = _times(ring, node)
            if not times:
                continue
            if ring not in self.counters:
                self.bases[ring, node] = const(0, "int32")
                continue
            base, bound = self._read(ring)
            before += bound
            self.bases[ring, node] = base
            step = node.extent.astype("int32") * const(times, "int32")
            after.append(store(self.counters[ring], _simple(base + step), [const(0, "int32")]))
        return before, after

    def _read(self, ring: CircularBuffer) -> tuple[Var, list[Stmt]]:
        base = Var(f"{ring.channel.name}_from", "int32")
        value = load(self.counters[ring], [const(0, "int32")])
        return base, [Bind(base, value), within(base, const(MOST_TURNS, "int32"))]

    def of(self, ring: CircularBuffer, event: int) -> tuple[Any, list[Stmt]]:
        """The turn of an event of a channel, and statements in front of it."""
        owner = ring.channel.fills[event][0].owner
        if isinstance(owner, For):
            mine = [n for n, fills in enumerate(ring.channel.fills) if fills[0].owner.same_as(owner)]
            step = _simple((owner.loop_var - owner.min).astype("int32"))
            return self.bases[ring, owner] + step * const(len(mine), "int32") + const(mine.index(event), "int32"), []
        if ring not in self.counters:
            return const(0, "int32"), []
        base, made = self._read(ring)
        following = store(self.counters[ring], base + const(1, "int32"), [const(0, "int32")])
        return base, [*made, following]


def _times(ring: CircularBuffer, node: For) -> int:
    """How often a step of the loop fills the ring itself; what further loops in it do is counted there."""
    mine = sum(1 for fills in ring.channel.fills if isinstance(fills[0].owner, For) and fills[0].owner.same_as(node))
    inner = {fills[0].owner for fills in ring.channel.fills if fills[0].owner is not None}
    if mine and any(o is not None and not o.same_as(node) and _is_in(o, node) for o in inner):
        raise Declined(f"{ring.channel.name} is filled in a loop and in another one inside of it")
    return mine


def _is_in(inner: Any, node: Stmt) -> bool:
    return any(found.same_as(inner) for found in collect(node, type(inner)))


class Producer:
    """The code that fills: of all statements only the fills, and what decides when and from where."""

    def __init__(self, rings: list[CircularBuffer], body: Stmt) -> None:
        self.turns = Iterations(rings, body)
        self.events = _events(rings, last=True)
        self.dropped: set[Var] = set()
        self.body = body

    def run(self) -> Stmt:
        return seq([*self.turns.start(), *self._block(self.body)])

    def _block(self, body: Stmt) -> list[Stmt]:
        made: list[Stmt] = []
        for statement in statements_of(body):
            made += self._statement(statement)
        return made

    def _statement(self, node: Stmt) -> list[Stmt]:
        if node in self.events:
            return self._fill(*self.events[node])
        if isinstance(node, Bind):
            if self._fault(node.value):
                self.dropped.add(node.var)
                return []
            return [node]
        if isinstance(node, AttrStmt) and known_range(node) is not None:
            return [] if node.node.var in self.dropped else [node]
        if not any(inner in self.events for inner in collect(node, Evaluate)):
            return []
        return self._compound(node)

    def _compound(self, node: Any) -> list[Stmt]:
        for head in (getattr(node, name, None) for name in ("min", "extent", "condition")):
            self._check(head, "how often it is filled")
        if isinstance(node, For):
            before, after = self.turns.around(node)
            notes = {key: value for key, value in node.annotations.items() if key != STAGES}
            body = seq(self._block(node.body))
            loop = For(node.loop_var, node.min, node.extent, node.kind, body, annotations=notes, span=node.span)
            return [*before, loop, *after]
        if isinstance(node, IfThenElse):
            then = seq(self._block(node.then_case))
            other = None if node.else_case is None else seq(self._block(node.else_case))
            return [IfThenElse(node.condition, then, None if other is None or is_nothing(other) else other)]
        return self._block(node.body)

    def _fill(self, ring: CircularBuffer, event: int) -> list[Stmt]:
        turn, made = self.turns.of(ring, event)
        slot, span = ring.slot(turn), ring.channel.fills[event][-1].nodes[-1].span
        at = [slot]
        made.append(instructions.transaction("wait", load(ring.empty, at), ring.parity(turn, flipped=True), span=span))
        size = const(ring.channel.bytes, "int32")
        made.append(instructions.transaction("arrive_expect", load(ring.full, at), size, span=span))
        for fill in ring.channel.fills[event]:
            for node, call in zip(fill.nodes, fill.calls, strict=True):
                for bound in call.src.region:
                    self._check(bound.min, f"where {fill.tile.name} comes from")
                moved = as_tile_call(on_slot(node, ring.slots, [fill.tile], slot))
                assert moved is not None
                how = {TMA: 1, MULTICAST: 1} if fill in ring.shared else {TMA: 1}
                made.append(moved.rebuilt(hints={**moved.hints, **how}))
        return made

    def _fault(self, value: Any) -> bool:
        own = any(not is_global(read.source) for read in collect(value, TensorLoad))
        return own or bool(variables(value) & self.dropped)

    def _check(self, value: Any, what: str) -> None:
        if value is not None and self._fault(value):
            raise Declined(f"{what} is known to threads only")


class Consumer:
    """The rest of the code, on the slots of the rings. loop: what becomes of a loop that uses rings."""

    def __init__(self, rings: list[CircularBuffer], body: Stmt, env: PassEnv, loop: Callable[[For], Stmt]) -> None:
        self.turns = Iterations(rings, body)
        self.env, self.loop, self.body = env, loop, body
        self.fills = {node: fill for ring in rings for fill in ring.channel.all_loads for node in fill.nodes}
        self.events = _events(rings, last=False)
        self.first: dict[Stmt, list[tuple[CircularBuffer, int]]] = {}
        self.last: dict[Stmt, list[tuple[CircularBuffer, int]]] = {}
        for ring in rings:
            for event, fills in enumerate(ring.channel.fills):
                self.first.setdefault(fills[0].users[0], []).append((ring, event))
                self.last.setdefault(fills[0].users[-1], []).append((ring, event))
        self.tiles = {tile: ring for ring in rings for tile in ring.channel.tiles}
        self.current: dict[Var, Any] = {}  # the slot of each tile
        self.turn: dict[tuple[CircularBuffer, int], Any] = {}

    def run(self) -> Stmt:
        return seq([*self.turns.start(), *self._block(self.body)])

    def _block(self, body: Stmt) -> list[Stmt]:
        made: list[Stmt] = []
        for statement in statements_of(body):
            if statement in self.fills:
                if statement in self.events:
                    made += self._turn(*self.events[statement])
                continue
            for event in self.first.get(statement, ()):
                made.append(self._wait(*event))
            made += self._statement(statement)
            for event in self.last.get(statement, ()):
                made.append(self._release(*event))
        return made

    def _turn(self, ring: CircularBuffer, event: int) -> list[Stmt]:
        turn, made = self.turns.of(ring, event)
        self.turn[ring, event] = turn
        for tile in ring.channel.tiles:
            self.current[tile] = ring.slot(turn)
        return made

    def _wait(self, ring: CircularBuffer, event: int) -> Stmt:
        turn = self.turn[ring, event]
        return instructions.transaction("wait", load(ring.full, [ring.slot(turn)]), ring.parity(turn))

    def _release(self, ring: CircularBuffer, event: int) -> Stmt:
        slot = ring.slot(self.turn[ring, event])
        zero = const(0, "int32")
        firsts = [load(ring.slots[t], [slot, *[zero] * len(t.shape)]) for t in ring.channel.tiles]
        users = ring.channel.fills[event][0].users
        threads_read = not all(map(self._is_product, users))
        return instructions.release(load(ring.empty, [slot]), firsts, threads_read, ring.blocks)

    def _is_product(self, user: Stmt) -> bool:
        call = as_tile_call(user) if isinstance(user, Evaluate) else None
        if call is None or call.op.name != "gemm":
            return False
        return not isinstance(wgmma_config_of(call, self.env, threads_of_call(call, self.env)), str)

    def _statement(self, node: Stmt) -> list[Stmt]:
        if not any(inner in self.fills for inner in collect(node, Evaluate)):
            for tile in variables(node) & set(self.current):
                node = on_slot(node, self.tiles[tile].slots, [tile], self.current[tile])
            return [] if isinstance(node, AllocBuffer) and node.buffer in self.tiles else [node]
        if isinstance(node, For):
            before, after = self.turns.around(node)
            return [*before, self.loop(with_body(node, seq(self._block(node.body)))), *after]
        if isinstance(node, IfThenElse):
            then = seq(self._block(node.then_case))
            other = None if node.else_case is None else seq(self._block(node.else_case))
            return [IfThenElse(node.condition, then, other, span=node.span)]
        assert isinstance(node, AttrStmt)
        return [AttrStmt(node.node, node.attr_key, node.value, seq(self._block(node.body)), span=node.span)]


def _events(rings: list[CircularBuffer], last: bool) -> dict[Evaluate, tuple[CircularBuffer, int]]:
    """The copy that stands for each event: the last one where all are started, the first where a turn begins."""
    made = {}
    for ring in rings:
        for event, fills in enumerate(ring.channel.fills):
            copies = sorted((copy for fill in fills for copy in fill.copies), key=lambda copy: copy[0])
            made[copies[-1 if last else 0][1]] = (ring, event)
    return made


def warps_of(threads: int) -> int:
    return threads // WARP


def _simple(value: Any) -> Any:
    return Analyzer().simplify(value)

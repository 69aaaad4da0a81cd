"""The code of the producer warp, which loads tiles, and of the consumer warps, which use them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tile_cuda import instructions
from tile_cuda.architectures import WARP
from tile_cuda.attributes import CudaCallAttr
from tile_cuda.lowering.hopper.circular_buffers import CircularBuffer, Declined, Iterations
from tile_cuda.lowering.hopper.wgmma_config import wgmma_config_of
from tilecore.contract.passes import PassEnv
from tilecore.ir.attributes import LoopAttr
from tilecore.ir.build import const, is_nothing, load, seq, statements_of, with_body
from tilecore.ir.effects import effect_in
from tilecore.ir.memory_writes import Memory
from tilecore.ir.nodes import AllocBuffer, AttrStmt, Bind, Evaluate, For, IfThenElse, Stmt, TensorLoad, Var
from tilecore.ir.ranges import known_range
from tilecore.ir.scopes import is_global
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.visit import collect, variables
from tilecore.lowering.buffers.replace_buffers import on_slot
from tilecore.lowering.simt.state import threads_of_call


class Producer:
    """The code of the producer: the loads, and what decides when they are done and what they read."""

    def __init__(self, circular_buffers: list[CircularBuffer], body: Stmt) -> None:
        self.iterations = Iterations(circular_buffers, body)
        self.places = _load_places(circular_buffers, last=True)
        self.dropped: dict[Var, str] = {}  # names that the producer cannot compute, and why
        self.body, self.memory = body, Memory(body)

    def run(self) -> Stmt:
        return seq([*self.iterations.allocations(), *self._block(self.body)])

    def _block(self, body: Stmt) -> list[Stmt]:
        return [lowered for statement in statements_of(body) for lowered in self._statement(statement)]

    def _statement(self, node: Stmt) -> list[Stmt]:
        if node in self.places:
            return self._load(*self.places[node])
        if isinstance(node, Bind):
            reason = self._reason_against(node.value)
            if reason is not None:
                self.dropped[node.var] = reason
                return []
            return [node]
        if isinstance(node, AttrStmt) and known_range(node) is not None:
            return [] if node.node.var in self.dropped else [node]
        if not any(inner in self.places for inner in collect(node, Evaluate)):
            return []
        return self._compound(node)

    def _compound(self, node: Any) -> list[Stmt]:
        for head in (getattr(node, name, None) for name in ("min", "extent", "condition")):
            self._check(head, "how often a tile is loaded")
        if isinstance(node, For):
            before, after = self.iterations.around_loop(node)
            annotations = {key: value for key, value in node.annotations.items() if key != LoopAttr.STAGES}
            body = seq(self._block(node.body))
            loop = For(node.loop_var, node.min, node.extent, node.kind, body, annotations=annotations, span=node.span)
            return [*before, loop, *after]
        if isinstance(node, IfThenElse):
            then_case = seq(self._block(node.then_case))
            else_case = None if node.else_case is None else seq(self._block(node.else_case))
            if else_case is not None and is_nothing(else_case):
                else_case = None
            return [IfThenElse(node.condition, then_case, else_case)]
        return self._block(node.body)

    def _load(self, circular_buffer: CircularBuffer, place: int) -> list[Stmt]:
        """Wait until the slot is empty, expect the bytes, start the copies."""
        iteration, statements = self.iterations.index_of(circular_buffer, place)
        loads_at_place = circular_buffer.pipeline.loads[place]
        slot, span = circular_buffer.slot(iteration), loads_at_place[-1].nodes[-1].span
        parity = circular_buffer.parity(iteration, flipped=True)
        statements.append(instructions.mbarrier("wait", load(circular_buffer.empty, [slot]), parity, span=span))
        size = const(sum(tma_load.bytes for tma_load in loads_at_place), "int32")
        expect = instructions.mbarrier("arrive_expect", load(circular_buffer.full, [slot]), size, span=span)
        statements.append(expect)
        for tma_load in loads_at_place:
            for node, call in zip(tma_load.nodes, tma_load.calls, strict=True):
                for bound in call.src.region:
                    self._check(bound.min, f"where {tma_load.tile.name} is loaded from")
                moved = as_tile_call(on_slot(node, circular_buffer.buffers, [tma_load.tile], slot))
                assert moved is not None
                hints = {CudaCallAttr.TMA: 1}
                if tma_load in circular_buffer.multicast:
                    hints[CudaCallAttr.MULTICAST] = 1
                if tma_load.rows_inside is not None:
                    hints[CudaCallAttr.ROWS] = tma_load.rows_inside
                statements.append(moved.rebuilt(hints={**moved.hints, **hints}))
        return statements

    def _reason_against(self, value: Any) -> str | None:
        """Why the producer cannot compute the value itself, ahead of the consumers; None where it can."""
        reads = {read.source for read in collect(value, TensorLoad)}
        changed = [buffer for buffer in reads if is_global(buffer) and buffer in self.memory.written]
        if changed:
            return f"depends on {changed[0].name}, which the kernel writes"
        if effect_in(value) is not None or not all(map(is_global, reads)):
            return "depends on values that only the consumer warps have"
        return next((self.dropped[var] for var in variables(value) if var in self.dropped), None)

    def _check(self, value: Any, subject: str) -> None:
        reason = None if value is None else self._reason_against(value)
        if reason is not None:
            raise Declined(f"{subject} {reason}")


class Consumer:
    """The code without the loads, on the slots of the circular buffers.

    change_loop: makes the final form of a loop that uses pipelines.
    """

    def __init__(
        self, circular_buffers: list[CircularBuffer], body: Stmt, env: PassEnv, change_loop: Callable[[For], Stmt]
    ) -> None:
        self.iterations = Iterations(circular_buffers, body)
        self.env, self.change_loop, self.body = env, change_loop, body
        self.copies = {
            node for buffer in circular_buffers for tma_load in buffer.pipeline.all_loads for node in tma_load.nodes
        }
        self.places = _load_places(circular_buffers, last=False)
        self.first_uses: dict[Stmt, list[tuple[CircularBuffer, int]]] = {}
        self.last_uses: dict[Stmt, list[tuple[CircularBuffer, int]]] = {}
        for circular_buffer in circular_buffers:
            for place, loads_at_place in enumerate(circular_buffer.pipeline.loads):
                users = loads_at_place[0].users
                self.first_uses.setdefault(users[0], []).append((circular_buffer, place))
                self.last_uses.setdefault(users[-1], []).append((circular_buffer, place))
        self.buffer_of_tile = {tile: buffer for buffer in circular_buffers for tile in buffer.pipeline.tiles}
        self.slot_of_tile: dict[Var, Any] = {}
        self.current: dict[tuple[CircularBuffer, int], Any] = {}  # the iteration at each place

    def run(self) -> Stmt:
        return seq([*self.iterations.allocations(), *self._block(self.body)])

    def _block(self, body: Stmt) -> list[Stmt]:
        lowered: list[Stmt] = []
        for statement in statements_of(body):
            if statement in self.copies:
                if statement in self.places:
                    lowered += self._begin_iteration(*self.places[statement])
                continue
            for place in self.first_uses.get(statement, ()):
                lowered.append(self._wait(*place))
            lowered += self._statement(statement)
            for place in self.last_uses.get(statement, ()):
                lowered.append(self._release(*place))
        return lowered

    def _begin_iteration(self, circular_buffer: CircularBuffer, place: int) -> list[Stmt]:
        iteration, statements = self.iterations.index_of(circular_buffer, place)
        self.current[circular_buffer, place] = iteration
        for tile in circular_buffer.pipeline.tiles:
            self.slot_of_tile[tile] = circular_buffer.slot(iteration)
        return statements

    def _wait(self, circular_buffer: CircularBuffer, place: int) -> Stmt:
        iteration = self.current[circular_buffer, place]
        full = load(circular_buffer.full, [circular_buffer.slot(iteration)])
        return instructions.mbarrier("wait", full, circular_buffer.parity(iteration))

    def _release(self, circular_buffer: CircularBuffer, place: int) -> Stmt:
        slot = circular_buffer.slot(self.current[circular_buffer, place])
        zero = const(0, "int32")
        pipeline = circular_buffer.pipeline
        firsts = [load(circular_buffer.buffers[t], [slot, *[zero] * len(t.shape)]) for t in pipeline.tiles]
        users = [user for tile_load in pipeline.loads[place] for user in tile_load.users]
        threads_read = not all(map(self._is_wgmma, users))
        return instructions.release(load(circular_buffer.empty, [slot]), firsts, threads_read, circular_buffer.blocks)

    def _is_wgmma(self, user: Stmt) -> bool:
        call = as_tile_call(user) if isinstance(user, Evaluate) else None
        if call is None or call.op.name != "gemm":
            return False
        return not isinstance(wgmma_config_of(call, self.env, threads_of_call(call, self.env)), str)

    def _statement(self, node: Stmt) -> list[Stmt]:
        if not any(inner in self.copies for inner in collect(node, Evaluate)):
            for tile in variables(node) & set(self.slot_of_tile):
                node = on_slot(node, self.buffer_of_tile[tile].buffers, [tile], self.slot_of_tile[tile])
            return [] if isinstance(node, AllocBuffer) and node.buffer in self.buffer_of_tile else [node]
        if isinstance(node, For):
            before, after = self.iterations.around_loop(node)
            return [*before, self.change_loop(with_body(node, seq(self._block(node.body)))), *after]
        if isinstance(node, IfThenElse):
            then_case = seq(self._block(node.then_case))
            else_case = None if node.else_case is None else seq(self._block(node.else_case))
            return [IfThenElse(node.condition, then_case, else_case, span=node.span)]
        assert isinstance(node, AttrStmt)
        return [AttrStmt(node.node, node.attr_key, node.value, seq(self._block(node.body)), span=node.span)]


def _load_places(circular_buffers: list[CircularBuffer], last: bool) -> dict[Evaluate, tuple[CircularBuffer, int]]:
    """By copy: the pipeline's place (an index of ``pipeline.loads``) that it stands for.

    last: the last copy of a place stands for it, where the producer starts all of them; else the first, where an
    iteration of the consumers begins.
    """
    places = {}
    for circular_buffer in circular_buffers:
        for place, loads_at_place in enumerate(circular_buffer.pipeline.loads):
            numbered_copies = [copy for tma_load in loads_at_place for copy in tma_load.copies]
            copies = sorted(numbered_copies, key=lambda numbered_copy: numbered_copy[0])
            places[copies[-1 if last else 0][1]] = (circular_buffer, place)
    return places


def warps_of(threads: int) -> int:
    return threads // WARP

"""Lowers nests of T.Parallel loops to commands of the tensor unit and DMA.

The iterations of a nest are independent, so each of its statements runs for all iterations before the next one. Where
a nest cannot become commands, the pass tries it without its outermost loop, which the control core then runs. Else the
whole nest stays with the control core. ``explain()`` lists the outcome of each nest under "nests", with the reason.
"""

from __future__ import annotations

from typing import Any

from tile_tpu.chips import Chip, chip_of
from tile_tpu.ir.instructions import command
from tile_tpu.ir.views import View
from tile_tpu.lowering.commands.emitter import Emitter
from tile_tpu.lowering.commands.frames import Frame, NotTensor
from tile_tpu.lowering.kernels import map_bodies, with_first
from tile_tpu.lowering.nests.overwrites import overwrites_of
from tile_tpu.lowering.nests.parallel_nests import Layouts, Nest, frames, is_parallel, nest_of
from tile_tpu.lowering.nests.statements import Body
from tile_tpu.lowering.state import GuardedBuffers, TileLayouts
from tile_tpu.options import FAST_MATH
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import StatementAttr
from tilecore.ir.build import const, dtype_of
from tilecore.ir.lasting import branch_scope
from tilecore.ir.memory_writes import Memory
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    For,
    ForKind,
    IfThenElse,
    IterVar,
    PrimFunc,
    Range,
    Stmt,
    structural_mutate,
)
from tilecore.ir.sizes import symbols_of_shapes
from tilecore.ir.spans import location_of_span
from tilecore.lowering.state import SafeValues


def tensorize(func: PrimFunc, env: PassEnv) -> PrimFunc:
    sizes, memory = symbols_of_shapes(func), Memory(func.body)

    def change(kernel: AttrStmt) -> AttrStmt:
        work = _Tensorizer(env, chip_of(env.target), sizes, memory)
        tensorized = work.run(kernel)
        tables = [s for name, view in work.tables.items() for s in (AllocBuffer(view.buffer), _load(view, name))]
        return with_first(tensorized, tables)

    return func.with_body(map_bodies(func.body, change))


def _load(view: View, function: str) -> Stmt:
    return command("load_table", view, function)


class _Tensorizer:
    def __init__(self, env: PassEnv, chip: Chip, sizes: Any, memory: Memory) -> None:
        self.env = env
        self.memory = memory
        self.chip = chip
        self.layouts: Layouts = env.state(TileLayouts).by_tile
        self.tables: dict[str, View] = {}
        self.analyzer = Analyzer()
        for symbol in sizes:
            kind = dtype_of(symbol)
            self.analyzer.bind(symbol, Range.from_min_extent(const(0, kind), const(2**31 - 1, kind)))

    def run(self, body: Stmt) -> Stmt:
        return structural_mutate(body, [(AttrStmt, self.attr), (For, self.loop), (IfThenElse, self.branch)])

    def attr(self, node: AttrStmt, mutator: Any) -> Any:
        if isinstance(node.node, IterVar) and node.attr_key == StatementAttr.AXIS:
            self.analyzer.bind(node.node.var, Range.from_min_extent(const(0, dtype_of(node.node.var)), node.value))
        return mutator.default_mutate(node)

    def branch(self, node: IfThenElse, mutator: Any) -> Any:
        with branch_scope(self.analyzer, node, self.memory):
            then = mutator.mutate(node.then_case)
        other = None if node.else_case is None else mutator.mutate(node.else_case)
        return IfThenElse(node.condition, then, other, span=node.span)

    def loop(self, node: For, mutator: Any) -> Any:
        self.analyzer.bind(node.loop_var, Range.from_min_extent(node.min, node.extent))
        return self._nest(node) if is_parallel(node) else mutator.default_mutate(node)

    def _nest(self, node: For) -> Stmt:
        commands, reason = self._try_nest(nest_of(node))
        if commands is None:
            commands = self._with_outer_loop(node)
        self._note(node, reason if commands is None else None)
        return node if commands is None else commands

    def _try_nest(self, nest: Nest) -> tuple[Stmt | None, str]:
        """(the commands of a nest or None, the reason why there are none)"""
        reason = "its loops cannot be mapped to the axes of a view"
        overwrites = overwrites_of(nest.body)
        try:
            for number, frame in enumerate(frames(nest, self.layouts, self.chip)):
                emit = self._emitter(frame, nest)
                body = Body(emit, self.layouts, self.env.state(SafeValues).by_buffer, overwrites)
                try:
                    body.run(nest.body)
                except NotTensor as error:
                    reason = str(error) if number == 0 else reason
                    continue
                self.tables = emit.tables
                self.env.state(GuardedBuffers).buffers.update(body.values.guarded)
                return emit.statement(), ""
        except NotTensor as error:
            reason = str(error)
        return None, reason

    def _emitter(self, frame: Frame, nest: Nest) -> Emitter:
        fast = bool(FAST_MATH.value_in(self.env.config))
        return Emitter(self.chip, frame, self.analyzer, dict(self.tables), nest.loops[0].span, fast)

    def _with_outer_loop(self, node: For) -> Stmt | None:
        """The inner nest as commands, in a serial loop of the control core; None where it cannot become commands."""
        inner = node.body
        if not isinstance(inner, For) or not is_parallel(inner):
            return None
        self.analyzer.bind(inner.loop_var, Range.from_min_extent(inner.min, inner.extent))
        commands, _ = self._try_nest(nest_of(inner))
        if commands is None:
            commands = self._with_outer_loop(inner)
        if commands is None:
            return None
        return For(node.loop_var, node.min, node.extent, ForKind.SERIAL, commands, span=node.span)

    def _note(self, node: For, reason: str | None) -> None:
        location = location_of_span(node.span)
        row = {"line": location.line if location else None, "by": "tensor unit" if reason is None else "control core"}
        if reason is not None:
            row["because"] = reason
            self.env.note("not_vectorized", {"line": row["line"], "reason": f"on the control core: {reason}"})
        self.env.note("nests", row)


TENSORIZE = Pass("tensorize", tensorize, needs=(TileLayouts, SafeValues), leaves=(GuardedBuffers,))

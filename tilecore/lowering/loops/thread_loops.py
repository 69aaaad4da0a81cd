"""Runs the threads of a block as loops, on targets that have none.

The code is cut into regions (threads/regions.py); each becomes a nest of loops over the threads, x innermost. Memory
of a thread that lives across regions gets a leading axis, the number of the thread; what lives in one region only is
allocated inside its loops. The loops are PARALLEL, and may become vectors, where no thread touches an element that
another one writes. Kernels that never ask for their threads are left as they are.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import const, dtype_of, seq
from tilecore.ir.nodes import (
    AllocBuffer,
    Bind,
    Break,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Continue,
    DeclBuffer,
    Evaluate,
    Expr,
    For,
    ForKind,
    IfThenElse,
    IntImm,
    PrimFunc,
    Range,
    Stmt,
    TensorLoad,
    TensorRegion,
    Var,
    While,
    structural_mutate,
    tirx,
)
from tilecore.ir.visit import collect, substitute, variables
from tilecore.lowering.analysis.kernels import Threads, map_kernels, without_unit_axes
from tilecore.lowering.loops.thread_conflicts import Footprint
from tilecore.lowering.loops.thread_regions import Block, Cut, Cutter, Home, Region, condition_of


def thread_loops(func: PrimFunc, env: PassEnv) -> PrimFunc:
    def change(body: Stmt, threads: Threads) -> Stmt:
        return _Emitter(substitute(body, without_unit_axes(threads)), threads, env).run()

    return func.with_body(map_kernels(func.body, change))


class _Emitter:
    """Makes statements of the regions of one kernel.

    local: for a region (by identity), the memory allocated inside its loops. spread: for memory of each thread that
    lives longer, the buffer with an axis for the threads. spilled: for a variable that later regions read, such memory.
    """

    def __init__(self, body: Stmt, threads: Threads, env: PassEnv) -> None:
        self.threads = threads
        self.env = env
        cutter = Cutter(body, threads)
        self.uniformity = cutter.uniformity
        self.block = cutter.block(body)
        self.local: dict[int, list[Stmt]] = {}
        self.spread: dict[Var, Var] = {}
        self.spilled: dict[Var, Var] = {}
        self.regions: list[Region] = []
        self.homes: list[Home] = []
        self._gather(self.block)
        self._place_memory()
        self._place_variables()

    def _gather(self, block: Block) -> None:
        for item in block.items:
            if isinstance(item, Region):
                self.regions.append(item)
            elif isinstance(item, Home):
                self.homes.append(item)
            elif isinstance(item, Cut):
                for body in item.bodies:
                    self._gather(body)

    # -- where things live ------------------------------------------------------------------------------------

    def _place_memory(self) -> None:
        users: dict[Var, list[Region]] = {}
        for region in self.regions:
            for root in {self.uniformity.root(var) for part in region.statements for var in variables(part)}:
                users.setdefault(root, []).append(region)
        blocks = {home.statement.buffer: home.block for home in self.homes}
        for home in self.homes:
            root = self.uniformity.root(home.statement.buffer)
            using = users.get(root, [])
            if len(using) == 1 and using[0].block == blocks[root] == home.block:
                self.local.setdefault(id(using[0]), []).append(home.statement)
            elif using:
                self._spread(home.statement.buffer)

    def _spread(self, buffer: Var) -> None:
        shape = [const(self.threads.count, "int32"), *buffer.shape]
        scope, dtype = str(buffer.scope()), str(buffer.dtype)
        self.spread[buffer] = tirx.decl_buffer(shape, dtype, str(buffer.name), scope=scope, layout=None)

    def _place_variables(self) -> None:
        for region in self.regions:
            bound = {part.var for part in region.statements if isinstance(part, Bind)}
            for other in self.regions:
                if other is region or not bound:
                    continue
                for var in bound & {v for part in other.statements for v in variables(part)}:
                    if var not in self.spilled:
                        shape = [const(self.threads.count, "int32")]
                        name, kind = str(var.name), dtype_of(var)
                        self.spilled[var] = tirx.decl_buffer(shape, kind, name, scope="local", layout=None)

    # -- statements -------------------------------------------------------------------------------------------

    def run(self) -> Stmt:
        self._note()
        return self._block(self.block)

    def _block(self, block: Block) -> Stmt:
        made: list[Stmt] = []
        for item in block.items:
            if isinstance(item, Region):
                made.extend(self._region(item))
            elif isinstance(item, Home):
                made.extend(self._home(item.statement))
            elif isinstance(item, Cut):
                made.append(item.rebuild([self._block(body) for body in item.bodies]))
            else:
                made.append(item)
        return seq(made)

    def _home(self, node: AllocBuffer | DeclBuffer) -> list[Stmt]:
        new = self.spread.get(node.buffer)
        if new is None:
            return []
        if isinstance(node, AllocBuffer):
            return [AllocBuffer(new, span=node.span)]
        source = self.spread[node.data.args[0]]
        return [DeclBuffer(new, data=tirx.buffer_data(source), span=node.span)]

    def _region(self, region: Region) -> list[Stmt]:
        indices: dict[Var, Any] = {axis.var: const(0, "int32") for axis in self.threads.axes}
        loops = []
        for axis in self.threads.active:
            indices[axis.var] = Var(f"t{axis.letter}", "int32")
            loops.append((indices[axis.var], axis.extent))
        number = self.threads.number(indices)
        before, statements = self._with_spills(region)
        body = _Rewrite(indices, number, self.spread, self.spilled, set(_bound(region))).of(seq(statements))
        for condition in reversed(condition_of(region.guards, number)):
            body = IfThenElse(condition, body, None)
        body = seq([*self.local.get(id(region), []), body])
        span = next((s.span for s in region.statements if s.span is not None), None)
        kind = ForKind.PARALLEL if self._is_parallel(region) else ForKind.SERIAL
        for var, extent in loops:
            body = For(var, IntImm("int32", 0), IntImm("int32", extent), kind, body, span=span)
        return [*before, body]

    def _with_spills(self, region: Region) -> tuple[list[Stmt], list[Stmt]]:
        """Memory for variables that later regions read, and the region's statements with stores to it."""
        before: list[Stmt] = []
        made: list[Stmt] = []
        for statement in region.statements:
            made.append(statement)
            if isinstance(statement, Bind) and statement.var in self.spilled:
                buffer = self.spilled[statement.var]
                before.append(AllocBuffer(buffer))
                made.append(BufferStore(buffer, statement.var, [self.threads.number()], span=statement.span))
        return before, made

    def _is_parallel(self, region: Region) -> bool:
        """No thread touches what another one writes, and none acts on the world outside or leaves a loop early."""
        body = seq(region.statements)
        if collect(body, Evaluate, While, Break, Continue):
            return False
        return Footprint(region.statements, self.uniformity).is_independent()

    def _note(self) -> None:
        for region in self.regions:
            span = region.statements[0].span
            self.env.note(
                "threads",
                {
                    "line": None if span is None else int(span.line),
                    "statements": len(region.statements),
                    "loops": "parallel" if self._is_parallel(region) else "serial",
                },
            )


def _bound(region: Region) -> list[Var]:
    return [part.var for part in region.statements if isinstance(part, Bind)]


class _Rewrite:
    """A region's statements as one iteration of its loops: thread indices and memory of the thread replaced.

    own: variables that the region itself binds.
    """

    def __init__(
        self, indices: dict[Var, Any], number: Expr, spread: dict[Var, Var], spilled: dict[Var, Var], own: set[Var]
    ) -> None:
        self.indices = indices
        self.number = number
        self.spread = spread
        self.spilled = {var: buffer for var, buffer in spilled.items() if var not in own}

    def of(self, body: Stmt) -> Stmt:
        rules = [(TensorLoad, self.load), (TensorRegion, self.region), (BufferStore, self.store), (Var, self.var)]
        return structural_mutate(body, rules)

    def var(self, node: Var, mutator: Any) -> Any:
        if node in self.spilled:
            return BufferLoad(self.spilled[node], [self.number])
        return self.indices.get(node, node)

    def load(self, node: TensorLoad, mutator: Any) -> Any:
        new, indices = self._place(node.source, [mutator.mutate(i) for i in node.indices])
        return BufferLoad(new, indices, span=node.span)

    def store(self, node: BufferStore, mutator: Any) -> Any:
        new, indices = self._place(node.buffer, [mutator.mutate(i) for i in node.indices])
        return BufferStore(new, mutator.mutate(node.value), indices, span=node.span)

    def region(self, node: TensorRegion, mutator: Any) -> Any:
        ranges = [Range.from_min_extent(mutator.mutate(r.min), mutator.mutate(r.extent)) for r in node.region]
        if node.source in self.spread:
            ranges = [Range.from_min_extent(self.number, const(1, "int32")), *ranges]
        return BufferRegion(self.spread.get(node.source, node.source), ranges)

    def _place(self, buffer: Var, indices: list[Any]) -> tuple[Var, list[Any]]:
        new = self.spread.get(buffer)
        return (buffer, indices) if new is None else (new, [self.number, *indices])


THREAD_LOOPS = Pass("thread_loops", thread_loops)

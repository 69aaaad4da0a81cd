"""Serializes the threads of a block: their code becomes loops over the threads, for targets that run a block on a core.

The code is split into regions (thread_regions.py); each becomes a nest of loops over the threads, x innermost. Private
memory of a thread that is live across regions gets a leading axis, indexed by the thread; memory that is live in one
region is allocated inside its loops. The loops are PARALLEL, and may become vectors, where no thread accesses an
element that another thread writes. Kernels that do not use thread indices are not changed.
"""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.errors import UnsupportedError
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
from tilecore.ir.spans import location_of_span
from tilecore.ir.views import source_of
from tilecore.ir.visit import collect, substitute, variables
from tilecore.lowering.analysis.kernels import Threads, map_kernels, without_unit_axes
from tilecore.lowering.loops.thread_conflicts import Footprint
from tilecore.lowering.loops.thread_regions import (
    Block,
    Region,
    RegionSplitter,
    SplitStatement,
    ThreadMemory,
    condition_of,
)


def thread_loops(func: PrimFunc, env: PassEnv) -> PrimFunc:
    def change(body: Stmt, threads: Threads) -> Stmt:
        return _Emitter(substitute(body, without_unit_axes(threads)), threads, env).run()

    return func.with_body(map_kernels(func.body, change))


class _Emitter:
    """Emits the statements for the regions of one kernel.

    local: for a region (by identity), the memory allocated inside its loops. expanded: for private memory that is live
    across regions, the buffer with an axis for the threads. spilled: for a variable that later regions read, a buffer
    with one element for each thread.
    """

    def __init__(self, body: Stmt, threads: Threads, env: PassEnv) -> None:
        self.threads = threads
        self.env = env
        splitter = RegionSplitter(body, threads)
        self.uniformity = splitter.uniformity
        self.block = splitter.block(body)
        self.local: dict[int, list[Stmt]] = {}
        self.expanded: dict[Var, Var] = {}
        self.spilled: dict[Var, Var] = {}
        self.regions: list[Region] = []
        self.memories: list[ThreadMemory] = []
        self._collect_regions(self.block)
        self._place_memory()
        self._place_variables()

    def _collect_regions(self, block: Block) -> None:
        for item in block.items:
            if isinstance(item, Region):
                self.regions.append(item)
            elif isinstance(item, ThreadMemory):
                self.memories.append(item)
            elif isinstance(item, SplitStatement):
                for body in item.bodies:
                    self._collect_regions(body)

    # -- memory and variables --------------------------------------------------------------------------------

    def _place_memory(self) -> None:
        users: dict[Var, list[Region]] = {}
        for region in self.regions:
            for root in {self.uniformity.root(var) for part in region.statements for var in variables(part)}:
                users.setdefault(root, []).append(region)
        blocks = {memory.statement.buffer: memory.block for memory in self.memories}
        for memory in self.memories:
            root = self.uniformity.root(memory.statement.buffer)
            using = users.get(root, [])
            if len(using) == 1 and using[0].block == blocks[root] == memory.block:
                self.local.setdefault(id(using[0]), []).append(memory.statement)
            elif using:
                self._expand(memory.statement.buffer)

    def _expand(self, buffer: Var) -> None:
        shape = [const(self.threads.count, "int32"), *buffer.shape]
        scope, dtype = str(buffer.scope()), str(buffer.dtype)
        self.expanded[buffer] = tirx.decl_buffer(shape, dtype, str(buffer.name), scope=scope, layout=None)

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
        statements: list[Stmt] = []
        for item in block.items:
            if isinstance(item, Region):
                statements.extend(self._region(item))
            elif isinstance(item, ThreadMemory):
                statements.extend(self._memory(item.statement))
            elif isinstance(item, SplitStatement):
                statements.append(item.rebuild([self._block(body) for body in item.bodies]))
            else:
                statements.append(item)
        return seq(statements)

    def _memory(self, node: AllocBuffer | DeclBuffer) -> list[Stmt]:
        new = self.expanded.get(node.buffer)
        if new is None:
            return []
        if isinstance(node, AllocBuffer):
            return [AllocBuffer(new, span=node.span)]
        source = source_of(node)
        if source is None:
            raise UnsupportedError(
                f"the address of {node.buffer.name} differs between the threads of a block",
                location=location_of_span(node.span),
                expected="one address for all threads of a block",
                hint="choose the pointer by the index of the block, or copy it to shared memory first",
            )
        return [DeclBuffer(new, data=tirx.buffer_data(self.expanded[source]), span=node.span)]

    def _region(self, region: Region) -> list[Stmt]:
        indices: dict[Var, Any] = {axis.var: const(0, "int32") for axis in self.threads.axes}
        loops = []
        for axis in self.threads.active:
            indices[axis.var] = Var(f"t{axis.letter}", "int32")
            loops.append((indices[axis.var], axis.extent))
        thread_index = self.threads.linear_index(indices)
        before, statements = self._with_spills(region)
        body = _Rewrite(indices, thread_index, self.expanded, self.spilled, set(_bound_variables(region))).of(
            seq(statements)
        )
        for condition in reversed(condition_of(region.guards, thread_index)):
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
        statements: list[Stmt] = []
        for statement in region.statements:
            statements.append(statement)
            if isinstance(statement, Bind) and statement.var in self.spilled:
                buffer = self.spilled[statement.var]
                before.append(AllocBuffer(buffer))
                statements.append(
                    BufferStore(buffer, statement.var, [self.threads.linear_index()], span=statement.span)
                )
        return before, statements

    def _is_parallel(self, region: Region) -> bool:
        """Can the threads run in any order: no conflicts between them, no other effects, and no early exit of a
        loop?"""
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


def _bound_variables(region: Region) -> list[Var]:
    return [part.var for part in region.statements if isinstance(part, Bind)]


class _Rewrite:
    """Rewrites a region's statements as one iteration of its loops: replaces thread indices and private memory.

    bound: variables that the region itself binds.
    """

    def __init__(
        self,
        indices: dict[Var, Any],
        thread_index: Expr,
        expanded: dict[Var, Var],
        spilled: dict[Var, Var],
        bound: set[Var],
    ) -> None:
        self.indices = indices
        self.thread_index = thread_index
        self.expanded = expanded
        self.spilled = {var: buffer for var, buffer in spilled.items() if var not in bound}

    def of(self, body: Stmt) -> Stmt:
        rules = [(TensorLoad, self.load), (TensorRegion, self.region), (BufferStore, self.store), (Var, self.var)]
        return structural_mutate(body, rules)

    def var(self, node: Var, mutator: Any) -> Any:
        if node in self.spilled:
            return BufferLoad(self.spilled[node], [self.thread_index])
        return self.indices.get(node, node)

    def load(self, node: TensorLoad, mutator: Any) -> Any:
        new, indices = self._place(node.source, [mutator.mutate(i) for i in node.indices])
        return BufferLoad(new, indices, span=node.span)

    def store(self, node: BufferStore, mutator: Any) -> Any:
        new, indices = self._place(node.buffer, [mutator.mutate(i) for i in node.indices])
        return BufferStore(new, mutator.mutate(node.value), indices, span=node.span)

    def region(self, node: TensorRegion, mutator: Any) -> Any:
        ranges = [Range.from_min_extent(mutator.mutate(r.min), mutator.mutate(r.extent)) for r in node.region]
        if node.source in self.expanded:
            ranges = [Range.from_min_extent(self.thread_index, const(1, "int32")), *ranges]
        return BufferRegion(self.expanded.get(node.source, node.source), ranges)

    def _place(self, buffer: Var, indices: list[Any]) -> tuple[Var, list[Any]]:
        new = self.expanded.get(buffer)
        return (buffer, indices) if new is None else (new, [self.thread_index, *indices])


THREAD_LOOPS = Pass("thread_loops", thread_loops)

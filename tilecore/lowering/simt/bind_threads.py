"""Lowers the code of a block to the code of one of its threads.

A parallel nest becomes loops over the elements that its partition gives the thread, and fragments become registers. The
remaining tile operations are lowered, because layouts are known now. Outside of nests, the first thread of the block
executes uniform statements with effects: a store, an atomic operation, a print.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.errors import UnsupportedError
from tilecore.ir.affine import coefficient
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.attributes import CallAttr, StatementAttr
from tilecore.ir.build import all_of, const, constant, dtype_of, load, seq, store, where, with_body
from tilecore.ir.contraction import contract_stores
from tilecore.ir.fragments import Digit, FragmentLayout
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    Bind,
    BufferLoad,
    BufferStore,
    Evaluate,
    FloorDiv,
    FloorMod,
    For,
    ForKind,
    IfThenElse,
    PrimFunc,
    SeqStmt,
    Stmt,
    TensorLoad,
    Var,
    While,
    is_buffer_var,
    structural_map,
    structural_mutate,
    tirx,
)
from tilecore.ir.scopes import is_own
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_ranges import ThreadRange, for_threads, number_in, range_of
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.visit import collect, substitute, variables
from tilecore.lowering.analysis.kernels import Threads, each_kernel, uses_threads, without_unit_axes
from tilecore.lowering.analysis.uniformity import SAME, Division, Uniformity
from tilecore.lowering.simt.analysis.asynchronous import ASYNC_NEST, async_copy_of
from tilecore.lowering.simt.analysis.implied_layouts import is_plain
from tilecore.lowering.simt.analysis.overflow import (
    bind_extent,
    data_dependent_variables,
    is_data_dependent,
    may_wrap,
)
from tilecore.lowering.simt.analysis.parallel_nests import (
    UNROLLED_STATEMENTS,
    Access,
    Nest,
    effects_in,
    is_for_one,
    is_parallel,
    keeps_values,
)
from tilecore.lowering.simt.analysis.partition import memory_accesses, offset_of
from tilecore.lowering.simt.choose_tile_ops import chosen
from tilecore.lowering.simt.state import Inferred, InferredLayouts, TileFunction
from tilecore.lowering.simt.thread_env import thread_env
from tilecore.lowering.simt.tile_ops.reducers import filled, is_fill
from tilecore.lowering.simt.tile_ops.thread_elements import bounds_of, in_bounds, in_loops, is_first_copy, steps_of
from tilecore.lowering.simt.tile_ops.thread_registers import Binding, FragmentRegisters, registers_of

UNROLLED_STEPS = 64  # the largest number of iterations of an unrolled nest without fragments


def bind_threads(func: PrimFunc, env: PassEnv) -> PrimFunc:
    inferred = iter(env.state(InferredLayouts).by_kernel)
    reducers = env.state(TileFunction).reducers
    arguments = {param for param in func.params if not is_buffer_var(param)}

    def bind(body: Stmt, threads: Threads) -> Stmt:
        thread_code = _Binder(body, threads, next(inferred), env, arguments).run()
        return contract_stores(thread_code, reducers)

    return func.with_body(each_kernel(func.body, bind))


class _Binder:
    """Binds one kernel. arguments: the scalar parameters of the function."""

    def __init__(self, body: Stmt, threads: Threads, inferred: Inferred, env: PassEnv, arguments: set[Var]) -> None:
        self.body, self.threads, self.inferred, self.env = body, threads, inferred, env
        self.reducers = env.state(TileFunction).reducers
        self.per_thread = uses_threads(body, threads)
        self.uniformity = Uniformity(body, threads)
        self.range = self.uniformity.block  # the threads that execute the current code
        self.division = SAME  # the divergence of the control flow around the current statement
        self.data = data_dependent_variables(body, arguments)
        self.extents = {loop.loop_var: n for loop in collect(body, For) if (n := constant(loop.extent)) is not None}
        roots = self.uniformity.roots
        registers = {b: registers_of(b, layout) for b, layout in inferred.fragments.items() if roots.get(b, b) == b}
        registers |= {view: registers[root] for view, root in roots.items() if root in registers}
        unit_axes = without_unit_axes(threads)
        thread_index = threads.linear_index({axis.var: unit_axes.get(axis.var, axis.var) for axis in threads.axes})
        self.unrolled = self._variables_of_registers()
        # the threads that execute the statements that follow
        self.binding = Binding(Analyzer().simplify(thread_index), threads.count, inferred, registers)
        self.range_indices: dict[Var, int] = {}  # variables of thread indices in ranges of threads, with the counts

    def run(self) -> Stmt:
        body = self.statement(self.body)
        extents = {axis.var: axis.extent for axis in self.threads.axes} | self.range_indices
        return FragmentRegisters(self.binding, extents, set(self.reducers)).run(body)

    def _variables_of_registers(self) -> set[Var]:
        """The variables in indices of fragments: their serial loops are unrolled, as registers have no addresses."""
        accesses = [(node.source, node.indices) for node in collect(self.body, TensorLoad)]
        accesses += [(node.buffer, node.indices) for node in collect(self.body, BufferStore)]
        fragments = set(self.inferred.fragments) - set(self.reducers)
        return {v for buffer, indices in accesses if buffer in fragments for i in indices for v in variables(i)}

    # -- statements -------------------------------------------------------------------------------------------

    def statement(self, node: Stmt) -> Stmt:
        if is_parallel(node):
            return self._nest(Nest(node, self.uniformity.roots))
        if isinstance(node, SeqStmt):
            return seq([self.statement(part) for part in node.seq])
        if isinstance(node, For) and (copied := async_copy_of(node)) is not None:
            copy = self._compound(copied)
            return AttrStmt(const(0, "int32"), StatementAttr.NEST, const(ASYNC_NEST, "int32"), copy, span=node.span)
        if isinstance(node, (For, While, IfThenElse)):
            return self._compound(node)
        if isinstance(node, AttrStmt) and (threads := range_of(node)) is not None:
            return self._for_threads(node, threads)
        if isinstance(node, AttrStmt):
            return AttrStmt(node.node, node.attr_key, node.value, self.statement(node.body), span=node.span)
        return self._simple(node)

    def _compound(self, node: Any) -> Stmt:
        outside = self.division
        self.division = outside | self._between_threads(self.uniformity.divergence(node))
        if isinstance(node, For):
            result: Stmt = with_body(self._loop(node), self.statement(node.body))
        elif isinstance(node, While):
            result = While(node.condition, self.statement(node.body), span=node.span)
        else:
            other = None if node.else_case is None else self.statement(node.else_case)
            result = IfThenElse(node.condition, self.statement(node.then_case), other, span=node.span)
        self.division = outside
        return result

    def _between_threads(self, division: Division) -> Division:
        """The divergence between ranges only, in a kernel that uses no thread index: there, threads of a range
        agree."""
        return division if self.per_thread else Division(ranges=division.ranges)

    def _is_divergent(self, division: Division) -> bool:
        """Is the division between threads that execute the current code?"""
        return self._between_threads(division).of(self.range)

    def _for_threads(self, node: AttrStmt, threads: ThreadRange) -> Stmt:
        outer_binding, thread_index = self.binding, number_in(node)
        outer_range, self.range = self.range, threads
        self.range_indices[thread_index] = threads.count
        self.binding = replace(outer_binding, thread=thread_index, threads=threads.count)
        body = for_threads(threads, self.statement(node.body), thread_index, node.span)
        self.binding = outer_binding
        self.range = outer_range
        return body

    def _simple(self, node: Stmt) -> Stmt:
        call = as_tile_call(node) if isinstance(node, Evaluate) else None
        if call is not None and CallAttr.IMPLEMENTATION in call.hints:
            impl = chosen(call, self.env)
            return impl.lower(call, thread_env(self.env, self.binding))
        if isinstance(node, BufferStore) and node.buffer in self.reducers:
            return self._fill_once(node) if is_fill(node, self.reducers) else self._once_per_block(node)
        if isinstance(node, BufferStore) and not is_own(node.buffer):
            varies = any(self._is_divergent(self.uniformity.division(v)) for v in (node.value, *node.indices))
            return node if varies else self._once_per_block(node)
        if call is not None and call.op.name == "print" and self.per_thread:
            return node if self.uniformity.prints_in_each_thread(call) else self._once_per_block(node)
        if self.per_thread or not effects_in(node):
            return node
        return self._by_first_thread(node) if isinstance(node, Evaluate) else self._broadcast(node)

    def _fill_once(self, node: BufferStore) -> BufferStore:
        return filled(node, self.reducers[node.buffer], self.binding.thread)

    def _once_per_block(self, node: Stmt) -> Stmt:
        """A uniform statement that the first thread executes; in divergent control flow each thread executes it."""
        return node if self._is_divergent(self.division) else self._by_first_thread(node)

    def _by_first_thread(self, node: Stmt) -> Stmt:
        return IfThenElse(tirx.EQ(self.binding.thread, const(0, "int32")), node, None, span=node.span)

    def _broadcast(self, node: Any) -> Stmt:
        """One thread computes a value with a side effect and stores it in shared memory; all threads read it there."""
        dtype = dtype_of(node.value)
        cell = tirx.decl_buffer([1], dtype, "told", scope="shared", layout=None)
        zero = const(0, "int32")
        write = self._by_first_thread(store(cell, node.value, [zero], node.span))
        read = load(cell, [zero], node.span)
        use = (
            Bind(node.var, read, span=node.span)
            if isinstance(node, Bind)
            else BufferStore(node.buffer, read, list(node.indices), span=node.span)
        )
        return seq([AllocBuffer(cell), write, use])

    def _loop(self, node: For) -> For:
        """A parallel loop as a serial one; a serial loop whose variable selects registers as an unrolled one."""
        if node.kind == ForKind.PARALLEL:
            return For(node.loop_var, node.min, node.extent, ForKind.SERIAL, node.body, span=node.span)
        if node.kind != ForKind.SERIAL or node.loop_var not in self.unrolled:
            return node
        extent, notes = node.extent, node.annotations
        return For(node.loop_var, node.min, extent, ForKind.UNROLLED, node.body, None, notes, span=node.span)

    # -- nests ------------------------------------------------------------------------------------------------

    def _nest(self, nest: Nest) -> Stmt:
        partition = self.inferred.partitions[nest.node]
        if partition is None:
            return self._strided(nest)
        steps = steps_of(partition, "s")
        indices = partition.indices(self.binding.thread, list(steps.values()))
        inner = structural_map(nest.body, (For, self._loop))  # each thread executes the loops inside a nest
        inner = self._at_registers(nest, inner, partition, steps)
        if is_fill(inner, self.reducers):
            inner = self._fill_once(inner)
        elif not (nest.is_private and self.per_thread):
            inner = self._execute_once(nest, inner, partition)
        values = {var: _as_expr(index, var) for var, index in zip(nest.variables, indices, strict=True)}
        if memory_accesses(nest):  # guard_bounds and vectorize_accesses look for the conditions on its indices
            bounds = []
            inner = where(in_bounds(partition, nest.variables), inner)
        else:
            bounds = [self._simplify_divisions(b, steps) for b in bounds_of(partition, self.binding.thread, steps)]
        body = self._simplify_divisions(substitute(inner, values), steps)
        loops = in_loops(steps, body, lambda digit, step, b: _step_loop(step, digit, b, partition, nest), bounds)
        value = ASYNC_NEST if CallAttr.ASYNC in nest.node.annotations else 1
        return AttrStmt(const(0, "int32"), StatementAttr.NEST, const(value, "int32"), loops, span=nest.node.span)

    def _at_registers(self, nest: Nest, body: Stmt, partition: FragmentLayout, steps: dict[Digit, Var]) -> Stmt:
        """The body with other indices of fragments than loop variables as those of thread 0.

        The register is the same in every thread (infer_layouts checks it), and the thread's index would hide that from
        the analyzer.
        """
        in_thread_0 = partition.indices(0, list(steps.values()))
        values = {var: _as_expr(index, var) for var, index in zip(nest.variables, in_thread_0, strict=True)}

        def has_other_indices(buffer: Var, indices: Any) -> bool:
            if buffer not in self.inferred.fragments or buffer in self.reducers:
                return False
            return not is_plain(nest, Access(buffer, tuple(indices), False))

        def load_register(node: TensorLoad, mutator: Any) -> Any:
            if not has_other_indices(node.source, node.indices):
                return mutator.default_mutate(node)
            return BufferLoad(node.source, [substitute(index, values) for index in node.indices], span=node.span)

        def store_register(node: BufferStore, mutator: Any) -> Any:
            if not has_other_indices(node.buffer, node.indices):
                return mutator.default_mutate(node)
            indices = [substitute(index, values) for index in node.indices]
            return BufferStore(node.buffer, mutator.mutate(node.value), indices, span=node.span)

        return structural_mutate(body, [(TensorLoad, load_register), (BufferStore, store_register)])

    def _simplify_divisions(self, body: Stmt, steps: dict[Digit, Var]) -> Stmt:
        """Simplifies quotients and remainders of int32 indices by the ranges of thread indices and loop variables.

        Divisions of values that depend on data, and of values that may wrap, stay: the analyzer assumes that nothing
        wraps.
        """
        divisions = collect(body, FloorDiv, FloorMod)
        if not divisions:
            return body
        analyzer = Analyzer()
        extents = {axis.var: axis.extent for axis in self.threads.axes} | {v: d.extent for d, v in steps.items()}
        for var, extent in extents.items():
            bind_extent(analyzer, var, extent)
        extents |= self.extents

        def simplify(node: Any, mutator: Any) -> Any:
            is_index = dtype_of(node) == "int32" and not is_data_dependent(node, self.data)
            return analyzer.simplify(node) if is_index and not may_wrap(node, extents) else mutator.default_mutate(node)

        return structural_mutate(body, [(FloorDiv, simplify), (FloorMod, simplify)])

    def _execute_once(self, nest: Nest, body: Stmt, partition: FragmentLayout) -> Stmt:
        """The body of a nest; if several threads execute the same iteration, only the first has effects on shared
        memory."""
        first = is_first_copy(partition, self.binding.thread)
        if not first or not keeps_values(nest):
            return where(first, body)
        if is_for_one(nest):
            raise UnsupportedError(
                "the parallel loop updates the source of a per-thread value",
                location=location_of_span(nest.node.span),
                found="a value for a fragment or a local buffer, computed from memory that the same loop writes; "
                "several threads would execute each iteration to hold a copy of it",
                expected="a per-thread value whose source the loop does not change",
                hint="copy what the loop reads to a fragment before it, or store its results in shared memory",
            )

        condition = all_of(first)

        def once(node: Any, mutator: Any) -> Any:
            if isinstance(node, BufferStore) and is_own(node.buffer) and node.buffer not in self.reducers:
                return node
            if isinstance(node, Evaluate) and not effects_in(node):
                return node
            return IfThenElse(condition, node, None, span=node.span)

        return structural_mutate(body, [(BufferStore, once), (Evaluate, once)])

    def _strided(self, nest: Nest) -> Stmt:
        """A nest whose sizes are known at run time: its iterations are partitioned cyclically, by a strided loop."""
        total: Any = const(1, "int32")
        for axis in nest.axes:
            total = total * axis.extent
        step = Var("turn", "int32")
        iteration = step * self.binding.threads + self.binding.thread
        quotient, values = iteration, {}
        for axis in reversed(nest.axes):
            values[axis.loop_var] = axis.min + (quotient if axis is nest.axes[0] else quotient % axis.extent)
            quotient = quotient // axis.extent
        inner = structural_map(nest.body, (For, self._loop))
        body = IfThenElse(iteration < total, substitute(inner, values), None)
        steps = (total + (self.binding.threads - 1)) // self.binding.threads
        loop = For(step, const(0, "int32"), steps, ForKind.SERIAL, body, span=nest.node.span)
        return AttrStmt(const(0, "int32"), StatementAttr.NEST, const(1, "int32"), loop, span=nest.node.span)


def _step_loop(var: Var, digit: Digit, body: Stmt, partition: FragmentLayout, nest: Nest) -> Stmt:
    """The loop over one digit of a thread's elements; VECTORIZED where its elements are contiguous in memory."""
    if digit.stride == 1 and digit.place == 1 and _moves_along(nest, digit.axis):
        kind = ForKind.VECTORIZED
    elif nest.fragments() or _is_short(nest, partition.registers):
        kind = ForKind.UNROLLED
    else:
        kind = ForKind.SERIAL
    return For(var, const(0, "int32"), const(digit.extent, "int32"), kind, body, span=nest.node.span)


def _is_short(nest: Nest, steps: int) -> bool:
    statements = steps * len(collect(nest.body, BufferStore, Evaluate, Bind))
    return steps <= UNROLLED_STEPS and statements <= UNROLLED_STATEMENTS


def _moves_along(nest: Nest, axis: int) -> bool:
    """Does the nest access memory that is contiguous along this loop?"""
    return any(coefficient(offset_of(a), nest.variables[axis]) == 1 for a in memory_accesses(nest))


def _as_expr(index: Any, var: Var) -> Any:
    """An index as an expression; a constant index has the type of ``var``."""
    value = constant(index) if not isinstance(index, int) else index
    return const(value, dtype_of(var)) if value is not None else index


BIND_THREADS = Pass("bind_threads", bind_threads, needs=(InferredLayouts, TileFunction), runs_implementations=True)

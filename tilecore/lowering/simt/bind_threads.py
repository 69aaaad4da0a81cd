"""Turns the code of a block into the code of one of its threads.

Parallel nests become loops over a thread's own elements, fragments its registers; operations that were kept are lowered
now that layouts are known. What the block does once, outside of nests (a store, an atomic, a print), one thread does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.dtypes import FACTS
from tilecore.errors import UnsupportedError
from tilecore.ir.affine import coefficient
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import all_of, const, constant, dtype_of, load, seq, store, where, with_body
from tilecore.ir.contraction import contract_stores
from tilecore.ir.fragments import Digit, FragmentLayout
from tilecore.ir.nodes import (
    Add,
    AllocBuffer,
    AttrStmt,
    Bind,
    BufferStore,
    Evaluate,
    FloorDiv,
    FloorMod,
    For,
    ForKind,
    IfThenElse,
    Mul,
    PrimFunc,
    Range,
    SeqStmt,
    Stmt,
    Sub,
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
from tilecore.ir.visit import collect, loads, substitute, variables
from tilecore.lowering.analysis.kernels import Threads, asks_for_threads, each_kernel, without_unit_axes
from tilecore.lowering.analysis.uniformity import Uniformity
from tilecore.lowering.simt.analysis.asynchronous import ASYNC, ASYNC_NEST
from tilecore.lowering.simt.analysis.parallel_nests import Nest, effects_in, is_for_one, is_parallel, keeps_values
from tilecore.lowering.simt.analysis.partition import memory_accesses, offset_of
from tilecore.lowering.simt.choose_tile_ops import HINT, chosen
from tilecore.lowering.simt.infer_layouts import Inferred
from tilecore.lowering.simt.insert_barriers import NEST
from tilecore.lowering.simt.tile_ops.reducers import REDUCERS, filled, is_fill
from tilecore.lowering.simt.tile_ops.thread_elements import is_first, is_there, steps_of
from tilecore.lowering.simt.tile_ops.thread_registers import Binding, Places, registers_of

MOST_TRIPS = 1 << 16  # of loops and axes of the grid whose extent is not known
UNROLLED_STEPS = 64  # of a nest that touches no registers
UNROLLED_STATEMENTS = 512  # of all steps of such a nest: the vendors' compilers take minutes for some thousands


def bind_threads(func: PrimFunc, env: PassEnv) -> PrimFunc:
    found = iter(env.facts["inferred"])
    given = {param for param in func.params if not is_buffer_var(param)}

    def bind(body: Stmt, threads: Threads) -> Stmt:
        made = _Binder(body, threads, next(found), env, given).run()
        return contract_stores(made, env.facts.get(REDUCERS, {}))

    return func.with_body(each_kernel(func.body, bind))


class _Binder:
    def __init__(self, body: Stmt, threads: Threads, inferred: Inferred, env: PassEnv, given: set[Var]) -> None:
        self.body, self.threads, self.inferred, self.env = body, threads, inferred, env
        self.reducers: dict[Var, str] = env.facts.get(REDUCERS, {})
        self.per_thread = asks_for_threads(body, threads)
        self.uniformity = Uniformity(body, threads)
        self.divergent = False  # only some threads reach the statement, or not at the same time
        self.data = values_of_the_call(body, given)
        self.trips = {loop.loop_var: n for loop in collect(body, For) if (n := constant(loop.extent)) is not None}
        registers = {b: registers_of(b, layout) for b, layout in inferred.fragments.items()}
        units = without_unit_axes(threads)
        number = threads.number({axis.var: units.get(axis.var, axis.var) for axis in threads.axes})
        self._take(Binding(Analyzer().simplify(number), threads.count, inferred, registers))
        self.numbers: dict[Var, int] = {}  # of threads in their ranges

    def _take(self, binding: Binding) -> None:
        """Who does what follows."""
        self.binding = self.env.facts["binding"] = binding

    def run(self) -> Stmt:
        made = self.statement(self.body)
        ranges = {axis.var: axis.extent for axis in self.threads.axes} | self.numbers
        return Places(self.binding, ranges, set(self.reducers)).run(made)

    # -- statements -------------------------------------------------------------------------------------------

    def statement(self, node: Stmt) -> Stmt:
        if is_parallel(node):
            return self._nest(Nest(node, self.uniformity.roots))
        if isinstance(node, SeqStmt):
            return seq([self.statement(part) for part in node.seq])
        if isinstance(node, (For, While, IfThenElse)):
            return self._compound(node)
        if isinstance(node, AttrStmt) and (threads := range_of(node)) is not None:
            return self._for_threads(node, threads)
        if isinstance(node, AttrStmt):
            return AttrStmt(node.node, node.attr_key, node.value, self.statement(node.body), span=node.span)
        return self._simple(node)

    def _compound(self, node: Any) -> Stmt:
        outside = self.divergent
        self.divergent = outside or (self.per_thread and self.uniformity.is_divergent(node))
        if isinstance(node, For):
            result: Stmt = with_body(node, self.statement(node.body))
        elif isinstance(node, While):
            result = While(node.condition, self.statement(node.body), span=node.span)
        else:
            other = None if node.else_case is None else self.statement(node.else_case)
            result = IfThenElse(node.condition, self.statement(node.then_case), other, span=node.span)
        self.divergent = outside
        return result

    def _for_threads(self, node: AttrStmt, threads: ThreadRange) -> Stmt:
        all_of_them, number = self.binding, number_in(node)
        self.numbers[number] = threads.count
        self._take(replace(all_of_them, thread=number, threads=threads.count))
        made = for_threads(threads, self.statement(node.body), number, node.span)
        self._take(all_of_them)
        return made

    def _simple(self, node: Stmt) -> Stmt:
        call = as_tile_call(node) if isinstance(node, Evaluate) else None
        if call is not None and HINT in call.hints:
            impl = chosen(call, self.env)
            return impl.lower(call, self.env)
        if isinstance(node, BufferStore) and node.buffer in self.reducers:
            return self._filled(node) if is_fill(node, self.reducers) else self._once_a_block(node)
        if isinstance(node, BufferStore) and not is_own(node.buffer):
            varies = self.per_thread and any(self.uniformity.varies(v) for v in (node.value, *node.indices))
            return node if varies else self._once_a_block(node)
        if self.per_thread or not effects_in(node):
            return node
        return self._once(node) if isinstance(node, Evaluate) else self._told(node)

    def _filled(self, node: BufferStore) -> BufferStore:
        return filled(node, self.reducers[node.buffer], self.binding.thread)

    def _once_a_block(self, node: Stmt) -> Stmt:
        """One thread does what is the same in all; where only some threads are, each of them does it."""
        return node if self.divergent else self._once(node)

    def _once(self, node: Stmt) -> Stmt:
        return IfThenElse(tirx.EQ(self.binding.thread, const(0, "int32")), node, None, span=node.span)

    def _told(self, node: Any) -> Stmt:
        """One thread computes a value with an effect; all read it."""
        dtype = dtype_of(node.value)
        cell = tirx.decl_buffer([1], dtype, "told", scope="shared", layout=None)
        zero = const(0, "int32")
        write = self._once(store(cell, node.value, [zero], node.span))
        read = load(cell, [zero], node.span)
        made = (
            Bind(node.var, read, span=node.span)
            if isinstance(node, Bind)
            else BufferStore(node.buffer, read, list(node.indices), span=node.span)
        )
        return seq([AllocBuffer(cell), write, made])

    # -- nests ------------------------------------------------------------------------------------------------

    def _nest(self, nest: Nest) -> Stmt:
        partition = self.inferred.partitions[nest.node]
        if partition is None:
            return self._strided(nest)
        steps = steps_of(partition, "s")
        places = partition.indices(self.binding.thread, list(steps.values()))
        inner = structural_map(nest.body, (For, _one_by_one))  # what is left inside of a nest is a thread's own work
        if is_fill(inner, self.reducers):
            inner = self._filled(inner)
        elif not (nest.is_private and self.per_thread):
            inner = self._inside(nest, inner, partition)
        body = where(is_there(partition, nest.variables), inner)
        values = {var: _as_expr(place, var) for var, place in zip(nest.variables, places, strict=True)}
        made = self._divided(substitute(body, values), steps)
        for digit, step in reversed(steps.items()):
            made = _step_loop(step, digit, made, partition, nest)
        value = ASYNC_NEST if ASYNC in nest.node.annotations else 1
        return AttrStmt(const(0, "int32"), NEST, const(value, "int32"), made, span=nest.node.span)

    def _divided(self, body: Stmt, steps: dict[Digit, Var]) -> Stmt:
        """Quotients and remainders of a thread's places as short as they can be: where a lane stands often decides.
        Those of numbers from memory, of numbers that the call gives, and of products with large numbers stay as they
        are: they may wrap, which the analyzer rules out."""
        divisions = collect(body, FloorDiv, FloorMod)
        if not divisions:
            return body
        analyzer = Analyzer()
        for axis in self.threads.axes:
            _bind(analyzer, axis.var, axis.extent)
        for digit, var in steps.items():
            _bind(analyzer, var, digit.extent)
        extents = {axis.var: axis.extent for axis in self.threads.axes} | {v: d.extent for d, v in steps.items()}
        extents |= self.trips

        def short(node: Any, mutator: Any) -> Any:
            known = dtype_of(node) == "int32" and not is_of_call(node, self.data) and not may_wrap(node, extents)
            return analyzer.simplify(node) if known else mutator.default_mutate(node)

        return structural_mutate(body, [(FloorDiv, short), (FloorMod, short)])

    def _inside(self, nest: Nest, body: Stmt, partition: FragmentLayout) -> Stmt:
        """Where several threads have the same iteration, one of them does what others see."""
        first = is_first(partition, self.binding.thread)
        if not first or not keeps_values(nest):
            return where(first, body)
        if is_for_one(nest):
            raise UnsupportedError(
                "every thread keeps a value of this loop, and the loop changes what the value is made of",
                location=location_of_span(nest.node.span),
                hint="copy what it reads to a fragment, or keep its values in shared memory",
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
        """Sizes known at run time: iterations are dealt out one by one."""
        total: Any = const(1, "int32")
        for axis in nest.axes:
            total = total * axis.extent
        turn = Var("turn", "int32")
        number = turn * self.binding.threads + self.binding.thread
        rest, values = number, {}
        for axis in reversed(nest.axes):
            values[axis.loop_var] = axis.min + (rest if axis is nest.axes[0] else rest % axis.extent)
            rest = rest // axis.extent
        inner = structural_map(nest.body, (For, _one_by_one))
        body = IfThenElse(number < total, substitute(inner, values), None)
        turns = (total + (self.binding.threads - 1)) // self.binding.threads
        made = For(turn, const(0, "int32"), turns, ForKind.SERIAL, body, span=nest.node.span)
        return AttrStmt(const(0, "int32"), NEST, const(1, "int32"), made, span=nest.node.span)


def values_of_the_call(body: Stmt, given: set[Var]) -> set[Var]:
    """The variables that are computed from what memory holds, or from numbers that are ``given`` with the call."""
    data = set(given)
    for bind in collect(body, Bind):
        if is_of_call(bind.value, data):
            data.add(bind.var)
    return data


def may_wrap(value: Any, extents: Mapping[Var, int]) -> bool:
    """Is a sum or a product inside of it too large for int32? extents: of variables that begin at 0; others are taken
    to stay below MOST_TRIPS."""
    analyzer = Analyzer()
    for var in variables(value):
        kind = FACTS[dtype_of(var)]
        if kind.kind in ("int", "uint"):
            most = (1 << (kind.bits - 1)) - 1  # that the type can hold
            _bind(analyzer, var, min(most, max(1, extents.get(var, MOST_TRIPS))))
    bounds = (analyzer.const_int_bound(node) for node in collect(value, Add, Sub, Mul))
    return any(int(b.min_value) < -(2**31) or int(b.max_value) >= 2**31 for b in bounds)


def is_of_call(value: Any, data: set[Var]) -> bool:
    """Is something of it read from memory, or one of the variables ``data``?"""
    return bool(loads(value)) or not data.isdisjoint(variables(value))


def _bind(analyzer: Analyzer, var: Var, extent: int) -> None:
    analyzer.bind(var, Range.from_min_extent(const(0, dtype_of(var)), const(extent, dtype_of(var))))


def _one_by_one(node: For) -> For:
    if node.kind != ForKind.PARALLEL:
        return node
    return For(node.loop_var, node.min, node.extent, ForKind.SERIAL, node.body, span=node.span)


def _step_loop(var: Var, digit: Digit, body: Stmt, partition: FragmentLayout, nest: Nest) -> Stmt:
    """The loop over one digit of a thread's elements. Neighbours that may move together: VECTORIZED."""
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
    """Is there memory whose neighbours lie along this loop?"""
    return any(coefficient(offset_of(a), nest.variables[axis]) == 1 for a in memory_accesses(nest))


def _as_expr(place: Any, var: Var) -> Any:
    known = constant(place) if not isinstance(place, int) else place
    return const(known, dtype_of(var)) if known is not None else place


BIND_THREADS = Pass("bind_threads", bind_threads)

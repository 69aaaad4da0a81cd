"""Stores fragments of 16-bit elements to shared memory by ``stmatrix``, an instruction for four 8 x 8 matrices.

The accumulators and left operands of matrix products give lane l of a warp neighbouring elements 2 * (l % 4) and
2 * (l % 4) + 1 of row l / 4 of each 8 x 8 matrix. Stored in pairs, a tile of 128 x 64 takes 16 instructions of every
thread; ``stmatrix.x4`` takes four, where lane l gives the address of row l % 8 of matrix l / 8 (PTX ISA, "Warp-level
matrix store instruction: stmatrix"). So a thread computes the address of another matrix and row than its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

from tile_cuda import instructions
from tile_cuda.architectures import WARP
from tile_cuda.target import architecture_of
from tilecore.contract.passes import Pass, PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.affine import coefficient
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, dtype_of, load, loop
from tilecore.ir.nodes import (
    AttrStmt,
    BufferStore,
    For,
    ForKind,
    IfThenElse,
    PrimFunc,
    Range,
    Stmt,
    TensorLoad,
    Var,
    While,
    structural_mutate,
)
from tilecore.ir.scopes import is_own, is_shared
from tilecore.ir.tabulate import tabulate
from tilecore.ir.thread_ranges import number_in, range_of
from tilecore.ir.visit import collect, substitute, variables
from tilecore.lowering.analysis.assumptions import is_multiple
from tilecore.lowering.analysis.kernels import Threads, each_kernel
from tilecore.lowering.analysis.uniformity import Division, Uniformity

FIRST = 90  # the architecture that has the instruction
MATRICES, SIZE = 4, 8  # of one instruction; rows and columns of a matrix
PAIR = 2  # neighbouring elements of a matrix that a lane has


def store_matrices(func: PrimFunc, env: PassEnv) -> PrimFunc:
    if architecture_of(env.target).capability < FIRST:
        return func
    return func.with_body(with_matrices(func.body))


def with_matrices(body: Stmt) -> Stmt:
    """The code of kernels with ``stmatrix`` for all nests of loops that store the pairs of matrices."""

    def change(code: Stmt, threads: Threads) -> Stmt:
        active = threads.active
        if len(active) != 1 or threads.count % WARP or not any(map(_nest_of, collect(code, For))):
            return code
        return _Kernel(Uniformity(code, threads), [active[0].var]).run(code)

    return each_kernel(body, change)


@dataclass
class _Nest:
    """A nest of unrolled loops that stores pairs of registers. loops: outermost first. pairs: how many of them."""

    loops: list[For]
    store: BufferStore
    lane: Var  # of the elements of a pair

    @property
    def pairs(self) -> int:
        return prod(int(constant(node.extent) or 0) for node in self.loops)

    def of_pair(self, expression: Any, number: Any) -> Any:
        """The expression for the first element of the pair with this number, in the order of the loops."""
        values: dict[Var, Any] = {self.lane: const(0, dtype_of(self.lane))}
        step = self.pairs
        for node in self.loops:
            extent = int(constant(node.extent) or 1)
            step //= extent
            values[node.loop_var] = number // step % extent
        return substitute(expression, values)


@dataclass
class _Kernel:
    """threads: the variables of the index of a thread, of the block and of the ranges around. control: between which
    threads the loops and conditions around run differently."""

    uniformity: Uniformity
    threads: list[Var]
    control: list[Division] = field(default_factory=list)
    analyzer: Analyzer = field(default_factory=Analyzer)

    def run(self, body: Stmt) -> Stmt:
        self.analyzer.bind(self.threads[0], Range.from_min_extent(0, self.uniformity.block.count))
        return structural_mutate(
            body, [(For, self._loop), (AttrStmt, self._range), (While, self._compound), (IfThenElse, self._compound)]
        )

    def _range(self, node: AttrStmt, mutator: Any) -> Any:
        threads = range_of(node)
        if threads is None:
            return mutator.default_mutate(node)
        self.control.append(Division(ranges=frozenset({threads})))
        self.threads.append(number_in(node))
        self.analyzer.bind(number_in(node), Range.from_min_extent(0, threads.count))
        changed = mutator.default_mutate(node)
        self.threads.pop()
        self.control.pop()
        return changed

    def _compound(self, node: Any, mutator: Any) -> Any:
        self.control.append(self.uniformity.divergence(node))
        changed = mutator.default_mutate(node)
        self.control.pop()
        return changed

    def _loop(self, node: For, mutator: Any) -> Any:
        nest = _nest_of(node)
        stores = self._matrices(nest) if nest is not None and all(map(_keeps_warps, self.control)) else None
        return self._compound(node, mutator) if stores is None else stores

    def _matrices(self, nest: _Nest) -> Stmt | None:
        """The stores by matrices; None where the pairs are not those of matrices."""
        (to,), value = nest.store.indices, nest.store.value
        (source,) = value.indices
        thread = self._thread_in(to, nest)
        if thread is None or coefficient(to, nest.lane) != 1 or coefficient(source, nest.lane) != 1:
            return None
        if not self._are_in_order(nest, source) or not self._are_rows(nest, to, thread):
            return None
        if not self._are_apart(nest, to, thread):
            return None
        lane, whole = thread % WARP, thread // WARP * WARP
        start = nest.of_pair(source, const(0, "int32"))

        def row(first: Any) -> Any:
            of_row = substitute(to, {thread: whole + thread % SIZE * (WARP // SIZE)})
            return self.analyzer.simplify(nest.of_pair(of_row, first + lane // SIZE))

        def four(number: Any) -> Stmt:
            if isinstance(number, Var):  # a single instruction has no loop
                self.analyzer.bind(number, Range.from_min_extent(0, nest.pairs // MATRICES))
            first = number * MATRICES
            registers = load(value.source, [self.analyzer.simplify(start + first * PAIR)])
            return instructions.stmatrix(
                load(nest.store.buffer, [row(first)]), registers, MATRICES, span=nest.store.span
            )

        dtype = dtype_of(nest.loops[0].loop_var)
        return loop(const(nest.pairs // MATRICES, dtype), four, name="q", kind=ForKind.UNROLLED)

    def _thread_in(self, address: Any, nest: _Nest) -> Var | None:
        """The variable of the thread in an address whose other variables are the same in the whole warp."""
        own = {nest.lane, *(node.loop_var for node in nest.loops)}
        others = variables(address) - own
        threads = [var for var in self.threads if var in others]
        if len(threads) != 1 or collect(address, TensorLoad):
            return None
        rest = others - set(threads)
        return threads[0] if all(_keeps_warps(self.uniformity.division(var)) for var in rest) else None

    def _are_rows(self, nest: _Nest, address: Any, thread: Var) -> bool:
        """Do four neighbouring lanes have the pairs of eight neighbouring elements, from a multiple of eight on?"""
        row, place, number = Var("row", "int32"), Var("place", "int32"), Var("pair", "int32")
        threads = int(self.analyzer.const_int_bound(thread).max_value) + 1
        analyzer = _analyzer_of({row: threads * PAIR // SIZE, place: SIZE // PAIR, number: nest.pairs})
        of_row = nest.of_pair(address, number)
        first = analyzer.simplify(substitute(of_row, {thread: row * (SIZE // PAIR)}))
        pair = substitute(of_row, {thread: row * (SIZE // PAIR) + place})
        if constant(analyzer.simplify(pair - first - place * PAIR)) != 0:
            return False
        return is_multiple(first, SIZE, {}, analyzer)

    def _are_apart(self, nest: _Nest, address: Any, thread: Var) -> bool:
        """Are the 32 rows of each instruction different memory? They are stored in no order, where of several stores to
        an element the last one counts."""
        number, row, warp = (Var(name, "int32") for name in ("pair", "row", "warp"))
        first = nest.of_pair(substitute(address, {thread: warp * WARP}), const(0, "int32"))
        place = nest.of_pair(substitute(address, {thread: warp * WARP + row * (SIZE // PAIR)}), number)
        offsets = _table({number: nest.pairs, row: SIZE}, place - first)
        if offsets is None:
            return False
        return all(len(set(rows.tolist())) == len(rows) for rows in offsets.reshape(-1, MATRICES * SIZE))

    def _are_in_order(self, nest: _Nest, source: Any) -> bool:
        """Are the registers of all pairs one after the other, from an even one on?"""
        number, first = Var("pair", "int32"), nest.of_pair(source, const(0, "int32"))
        offsets = _table({number: nest.pairs}, nest.of_pair(source, number) - first)
        is_dense = offsets is not None and offsets.tolist() == [n * PAIR for n in range(nest.pairs)]
        return is_dense and is_multiple(self.analyzer.simplify(first), PAIR, {}, self.analyzer)


def _analyzer_of(extents: dict[Var, int]) -> Analyzer:
    """An analyzer that knows these variables: from 0 on, so many values."""
    analyzer = Analyzer()
    for var, extent in extents.items():
        analyzer.bind(var, Range.from_min_extent(0, extent))
    return analyzer


def _table(extents: dict[Var, int], value: Any) -> Any:
    """The value for all values of these variables; None where it depends on others."""
    value = _analyzer_of(extents).simplify(value)
    if not variables(value) <= set(extents):
        return None
    return tabulate(list(extents), [value], list(extents.values()))[0]


def _keeps_warps(division: Division) -> bool:
    """Are the threads of a warp together on either side?"""
    return not division.each and all(r.first % WARP == 0 and r.count % WARP == 0 for r in division.ranges)


def _nest_of(node: For) -> _Nest | None:
    """The nest of stores of pairs whose outermost loop this is; None for any other loop."""
    loops: list[For] = []
    inner: Any = node
    while isinstance(inner, For) and inner.kind == ForKind.UNROLLED and constant(inner.min) == 0:
        loops.append(inner)
        inner = inner.body
    if not (loops and isinstance(inner, For) and inner.kind == ForKind.VECTORIZED and constant(inner.extent) == PAIR):
        return None
    nest = _Nest(loops, inner.body, inner.loop_var)
    return nest if _is_of_pairs(inner.body) and nest.pairs % MATRICES == 0 and nest.pairs else None


def _is_of_pairs(node: Any) -> bool:
    """Does the statement store an element of a fragment of 16-bit elements to shared memory?"""
    if not isinstance(node, BufferStore) or not isinstance(node.value, TensorLoad):
        return False
    to, source = node.buffer, node.value.source
    if not (is_shared(to) and is_own(source) and len(node.indices) == len(node.value.indices) == 1):
        return False
    return dtype_of(to) == dtype_of(source) and DType(dtype_of(to)).bits == 16


STORE_MATRICES = Pass("store_matrices", store_matrices)

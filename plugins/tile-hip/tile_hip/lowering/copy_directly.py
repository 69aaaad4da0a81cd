"""Copies from global memory straight to LDS, on gfx950: ``global_load_lds_dwordx4`` writes 16 bytes for each lane.

Lane ``i`` of a wave writes 16 bytes at ``base + 16 i``, where the base is one for the wave (AMD's ISA document "CDNA
4", M0). In a tile whose pieces of 16 bytes are permuted, so that reads meet no bank conflicts, the pieces that a wave
writes are contiguous, but in another order than its lanes. So the threads exchange their pieces: the thread that would
copy piece ``p(t)`` copies piece ``t``, from where the other thread would. That is possible where ``p`` is a
permutation in each wave that is its own inverse, as exclusive ors are. All other copies become loads and stores.

The copies of a wave land in the order in which they start, and ``s_waitcnt vmcnt(n)`` waits for all but the last ``n``
loads. A wait for all but the last groups becomes one for all but the fewest loads that these groups may have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tile_hip.instructions import COPY_TO_LDS, copy_to_lds, wait_copies
from tile_hip.target import architecture_of, wave_of
from tilecore.contract.passes import Pass, PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.errors import UnsupportedError
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import const, constant, dtype_of, is_nothing, nothing, op_name, seq, store
from tilecore.ir.nodes import (
    AttrStmt,
    Bind,
    BufferLoad,
    BufferStore,
    Call,
    Evaluate,
    For,
    IfThenElse,
    PrimFunc,
    Ramp,
    SeqStmt,
    Stmt,
    Var,
    While,
    structural_equal,
    structural_map,
    structural_mutate,
    tirx,
)
from tilecore.ir.ranges import within
from tilecore.ir.tabulate import tabulate
from tilecore.ir.thread_calls import COMMIT_ASYNC, COPY_ASYNC, WAIT_ASYNC
from tilecore.ir.visit import collect, loads, substitute, variables
from tilecore.lowering.analysis.kernels import Threads, each_kernel

BYTES = 16  # of a lane


def copies_to_lds(name: str) -> bool:
    """Does a chip copy 16 bytes for each lane from global memory to LDS?"""
    return name == "gfx950"


def copy_directly(func: PrimFunc, env: PassEnv) -> PrimFunc:
    if not copies_to_lds(architecture_of(env.target).name):
        return func
    wave = wave_of(env.target)

    def change(body: Stmt, threads: Threads) -> Stmt:
        copies = _Copies(body, threads, wave)
        body = structural_mutate(body, [(IfThenElse, copies.branch), (While, copies.branch), (Evaluate, copies.copy)])
        body = seq([*copies.definitions, body])
        env.note("copies_to_lds", {"direct": copies.direct, "by_registers": copies.by_registers})
        return _with_waits(body)

    return func.with_body(each_kernel(func.body, change))


class _Copies:
    """The asynchronous copies of one kernel. direct, by_registers: how many are of either kind."""

    def __init__(self, body: Stmt, threads: Threads, wave: int) -> None:
        self.count, self.wave = threads.count, wave
        active = threads.active
        self.thread = active[0].var if len(active) == 1 and threads.count % wave == 0 else None
        self.analyzer = Analyzer()
        self.divergent: set[Var] = {axis.var for axis in active}  # variables that differ between the threads of a wave
        for node in collect(body, Bind):
            if variables(node.value) & self.divergent or loads(node.value):
                self.divergent.add(node.var)
        self.divergences = 0  # conditions around that differ between threads
        self.direct = self.by_registers = 0
        self.pieces: list[tuple[Any, Var]] = []  # the piece that a thread copies: an expression, and its variable
        self.definitions: list[Stmt] = []

    def branch(self, node: Any, mutator: Any) -> Any:
        is_divergent = bool(variables(node.condition) & self.divergent or loads(node.condition))
        self.divergences += is_divergent
        rewritten = mutator.default_mutate(node)
        self.divergences -= is_divergent
        is_uniform = isinstance(node, IfThenElse) and node.else_case is None and not self.divergences
        if is_uniform and not is_divergent and _has_only_copies(rewritten.then_case):
            return _guarded(rewritten.then_case, rewritten.condition)
        return rewritten

    def copy(self, node: Evaluate, mutator: Any) -> Stmt:
        if op_name(node.value) != COPY_ASYNC:
            return node
        target, source, size, valid = node.value.args
        each = BYTES * 8 // DType(dtype_of(target.source)).bits
        pieces = None if self.divergences or constant(size) != BYTES else self._pieces(target, source, valid, each)
        if pieces is None:
            self.by_registers += 1
            return _by_registers(node, constant(size) or 0)
        self.direct += 1
        first, piece = pieces
        assert self.thread is not None
        exchange = {self.thread: piece}
        to = self.analyzer.simplify(first + const(each, dtype_of(self.thread)) * self.thread)
        begin = self.analyzer.simplify(substitute(source.indices[0], exchange))
        places = BufferLoad(target.source, [to]), BufferLoad(source.source, [begin])
        return copy_to_lds(*places, size, substitute(valid, exchange), node.span)

    def _pieces(self, target: Any, source: Any, valid: Any, each: int) -> tuple[Any, Any] | None:
        """(where thread 0 would write if the pieces were in the order of threads, the piece of each thread)."""
        used = variables(target.indices[0]) | variables(source.indices[0]) | variables(valid)
        reads = [load for value in (target.indices[0], source.indices[0], valid) for load in loads(value)]
        if self.thread is None or reads or (used & self.divergent) - {self.thread}:
            return None
        of_thread: list[Any] = []
        of_block: list[Any] = []
        for term in _terms(target.indices[0]):
            used = variables(term)
            if self.thread in used and used != {self.thread}:
                return None
            (of_thread if self.thread in used else of_block).append(term)
        if not of_thread:
            return None
        total = _sum(of_thread)
        try:
            places = tabulate([self.thread], [total], (self.count,))[0]
        except UnsupportedError:
            return None
        pieces, threads = (places - places.min()) // each, np.arange(self.count)
        is_exchange = bool(((places - places.min()) % each == 0).all()) and sorted(pieces) == threads.tolist()
        if not is_exchange or (pieces // self.wave != threads // self.wave).any() or (pieces[pieces] != threads).any():
            return None
        least = const(int(places.min()), dtype_of(total))
        piece = self.thread if (pieces == threads).all() else self._named((total - least) // each)
        return _sum([*of_block, least]), piece

    def _named(self, piece: Any) -> Var:
        """A variable with that value, which is defined at the start of the kernel."""
        piece = self.analyzer.simplify(piece)
        for value, var in self.pieces:
            if structural_equal(value, piece):
                return var
        var = Var("piece", dtype_of(piece))
        self.pieces.append((piece, var))
        self.definitions += [Bind(var, piece), within(var, const(self.count, dtype_of(piece)))]
        return var


def _has_only_copies(node: Stmt) -> bool:
    """Does the code start copies to LDS, and nothing else?"""
    if isinstance(node, SeqStmt):
        return all(_has_only_copies(part) for part in node.seq)
    if isinstance(node, (AttrStmt, For)):
        return _has_only_copies(node.body)
    return isinstance(node, Evaluate) and op_name(node.value) == COPY_TO_LDS


def _guarded(copies: Stmt, condition: Any) -> Stmt:
    """The copies without a branch around them: of zeros, where the condition does not hold.

    So each turn of a loop starts as many copies, and waits can leave some in flight.
    """

    def guard(node: Evaluate) -> Stmt:
        to, source, size, valid = node.value.args
        both = condition if constant(valid) else tirx.all(condition, valid)
        return copy_to_lds(to, source, size, both, node.span)

    return structural_map(copies, (Evaluate, guard))


def _terms(value: Any) -> Iterator[Any]:
    """The summands of an index."""
    if isinstance(value, tirx.Add):
        yield from _terms(value.a)
        yield from _terms(value.b)
    else:
        yield value


def _sum(terms: list[Any]) -> Any:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _by_registers(node: Evaluate, size: int) -> Stmt:
    """The copy by a load and a store, or zeros where it is not valid."""
    target, source, _, valid = node.value.args
    dtype = dtype_of(target.source)
    count, to, begin = size * 8 // DType(dtype).bits, target.indices[0], source.indices[0]
    value = BufferLoad(source.source, [Ramp(begin, const(1, dtype_of(begin)), count)]) if count > 1 else source
    place = Ramp(to, const(1, dtype_of(to)), count) if count > 1 else to
    move: Stmt = BufferStore(target.source, value, [place], span=node.span)
    if constant(valid):
        return move
    fill = seq([store(target.source, const(0, dtype), [to + lane], node.span) for lane in range(count)])
    return IfThenElse(valid, move, fill, span=node.span)


def _with_waits(body: Stmt) -> Stmt:
    """The code with waits for loads instead of groups; without waits where it has no direct copies."""
    fewest = min((count for count, _ in _groups(body)), default=0)
    has_copies = any(op_name(call) == COPY_TO_LDS for call in collect(body, Call))

    def wait(node: Evaluate) -> Stmt:
        name = op_name(node.value)
        if name == COMMIT_ASYNC or (name == WAIT_ASYNC and not has_copies):
            return nothing()
        if name == WAIT_ASYNC:
            return wait_copies((constant(node.value.args[0]) or 0) * fewest, node.span)
        return node

    return structural_map(body, (Evaluate, wait))


def _groups(node: Stmt) -> Iterator[tuple[int, Stmt]]:
    """(the fewest copies of a group, its commit), for each commit in the code."""
    parts = list(node.seq) if isinstance(node, SeqStmt) else [node]
    copies = 0
    for part in parts:
        if isinstance(part, Evaluate) and op_name(part.value) == COMMIT_ASYNC:
            yield copies, part
            copies = 0
        else:
            copies += _fewest_copies(part)
            if isinstance(part, IfThenElse):
                yield from _groups(part.then_case)
                if part.else_case is not None:
                    yield from _groups(part.else_case)
            elif isinstance(part, (For, While, AttrStmt)):
                yield from _groups(part.body)


def _fewest_copies(node: Stmt) -> int:
    """The fewest copies that the code starts; 0 where it also commits some."""
    if any(op_name(call) == COMMIT_ASYNC for call in collect(node, Call)) or is_nothing(node):
        return 0
    if isinstance(node, SeqStmt):
        return sum(_fewest_copies(part) for part in node.seq)
    if isinstance(node, AttrStmt):
        return _fewest_copies(node.body)
    if isinstance(node, For):
        return max(0, constant(node.extent) or 0) * _fewest_copies(node.body)
    if isinstance(node, IfThenElse) and node.else_case is not None:
        return min(_fewest_copies(node.then_case), _fewest_copies(node.else_case))
    return int(isinstance(node, Evaluate) and op_name(node.value) == COPY_TO_LDS)


COPY_DIRECTLY = Pass("copy_directly", copy_directly)

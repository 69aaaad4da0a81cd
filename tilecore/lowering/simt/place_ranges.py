"""Lowers code of a range of threads to a condition on the thread index, and its barriers to named barriers."""

from __future__ import annotations

from itertools import count
from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.errors import UnsupportedError
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import all_of, const, constant, op_name, seq
from tilecore.ir.nodes import AttrStmt, Bind, Call, Evaluate, IfThenElse, PrimFunc, Stmt, Var, structural_mutate
from tilecore.ir.ranges import within
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_calls import NAMED_BARRIER
from tilecore.ir.thread_ops import thread_statement
from tilecore.ir.thread_ranges import ThreadRange, has_ranges, number_in, range_of
from tilecore.ir.tile_op_table import SYNC_THREADS
from tilecore.ir.visit import collect, substitute, variables
from tilecore.lowering.analysis.kernels import Threads, each_kernel

MAX_BARRIERS = 15  # named barriers, besides the barrier of the block


def place_ranges(func: PrimFunc, env: PassEnv) -> PrimFunc:
    return func.with_body(
        each_kernel(func.body, lambda body, threads: _RangePlacer(threads).run(body) if has_ranges(body) else body)
    )


class _RangePlacer:
    def __init__(self, threads: Threads) -> None:
        self.count = threads.count
        self.thread_index = Analyzer().simplify(threads.linear_index())
        self.enclosing_ranges: list[ThreadRange] = []
        self.barrier_indices: dict[ThreadRange, int] = {}
        self.used: set[int] = set()  # numbers of barriers that the kernel itself names

    def run(self, body: Stmt) -> Stmt:
        named = (call for call in collect(body, Call) if op_name(call) == NAMED_BARRIER)
        self.used = {number for call in named if (number := constant(call.args[0])) is not None}
        return structural_mutate(body, [(AttrStmt, self._attribute), (Evaluate, self._statement)])

    def _attribute(self, node: AttrStmt, mutator: Any) -> Any:
        threads = range_of(node)
        if threads is None:
            return mutator.default_mutate(node)
        self.enclosing_ranges.append(threads)
        body = mutator.mutate(node.body)
        self.enclosing_ranges.pop()
        shared = number_in(node)
        if shared in variables(body):
            thread_index = Var(str(shared.name), shared.ty)  # other code of the same range has its own variable
            value = Analyzer().simplify(self.thread_index - const(threads.first, "int32"))
            range_fact = within(thread_index, node.node.dom.extent)
            body = seq([Bind(thread_index, value), range_fact, substitute(body, {shared: thread_index})])
        return IfThenElse(all_of(self._conditions(threads)), body, None, span=node.span)

    def _conditions(self, threads: ThreadRange) -> list[Any]:
        low = [self.thread_index >= const(threads.first, "int32")] if threads.first else []
        return [*low, *([self.thread_index < const(threads.stop, "int32")] if threads.stop < self.count else [])]

    def _statement(self, node: Evaluate, mutator: Any) -> Any:
        if op_name(node.value) != SYNC_THREADS or not self.enclosing_ranges:
            return mutator.default_mutate(node)
        threads = self.enclosing_ranges[-1]
        taken = self.used | set(self.barrier_indices.values())
        free = next(number for number in count(1) if number not in taken)
        barrier_index = self.barrier_indices.setdefault(threads, free)
        if barrier_index > MAX_BARRIERS:
            raise UnsupportedError(
                f"more than {MAX_BARRIERS} ranges of threads of a block have barriers of their own",
                location=location_of_span(node.span),
                found=str(threads),
                expected=f"at most {MAX_BARRIERS} in a kernel",
                hint="let more of the code run on the same ranges of threads",
            )
        return thread_statement(NAMED_BARRIER, [barrier_index, threads.count], span=node.span)


PLACE_RANGES = Pass("place_ranges", place_ranges)

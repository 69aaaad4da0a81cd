"""Code of some threads becomes a condition on the thread's number; its barriers become named ones of these threads."""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.errors import UnsupportedError
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import all_of, const, op_name, seq
from tilecore.ir.nodes import AttrStmt, Bind, Evaluate, IfThenElse, PrimFunc, Stmt, Var, structural_mutate
from tilecore.ir.ranges import within
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_calls import NAMED_BARRIER
from tilecore.ir.thread_ops import thread_statement
from tilecore.ir.thread_ranges import ThreadRange, has_ranges, number_in, range_of
from tilecore.ir.visit import substitute, variables
from tilecore.lowering.analysis.kernels import Threads, each_kernel
from tilecore.lowering.simt.insert_barriers import BARRIER

MOST_BARRIERS = 15  # that have a number, beside the block's own


def place_ranges(func: PrimFunc, env: PassEnv) -> PrimFunc:
    return func.with_body(
        each_kernel(func.body, lambda body, threads: _Places(threads).run(body) if has_ranges(body) else body)
    )


class _Places:
    def __init__(self, threads: Threads) -> None:
        self.count = threads.count
        self.number = Analyzer().simplify(threads.linear_index())
        self.around: list[ThreadRange] = []
        self.numbers: dict[ThreadRange, int] = {}

    def run(self, body: Stmt) -> Stmt:
        return structural_mutate(body, [(AttrStmt, self._attribute), (Evaluate, self._statement)])

    def _attribute(self, node: AttrStmt, mutator: Any) -> Any:
        threads = range_of(node)
        if threads is None:
            return mutator.default_mutate(node)
        self.around.append(threads)
        body = mutator.mutate(node.body)
        self.around.pop()
        shared = number_in(node)
        if shared in variables(body):
            number = Var(str(shared.name), shared.ty)  # code of the same threads may stand elsewhere, too
            value = Analyzer().simplify(self.number - const(threads.first, "int32"))
            known = within(number, node.node.dom.extent)
            body = seq([Bind(number, value), known, substitute(body, {shared: number})])
        return IfThenElse(all_of(self._conditions(threads)), body, None, span=node.span)

    def _conditions(self, threads: ThreadRange) -> list[Any]:
        low = [self.number >= const(threads.first, "int32")] if threads.first else []
        return [*low, *([self.number < const(threads.stop, "int32")] if threads.stop < self.count else [])]

    def _statement(self, node: Evaluate, mutator: Any) -> Any:
        if op_name(node.value) != BARRIER or not self.around:
            return mutator.default_mutate(node)
        threads = self.around[-1]
        number = self.numbers.setdefault(threads, len(self.numbers) + 1)
        if number > MOST_BARRIERS:
            raise UnsupportedError(
                f"more than {MOST_BARRIERS} ranges of threads of a block wait among themselves",
                location=location_of_span(node.span),
                found=str(threads),
                expected=f"at most {MOST_BARRIERS} in a kernel",
                hint="let more of the code run on the same ranges of threads",
            )
        return thread_statement(NAMED_BARRIER, [number, threads.count], span=node.span)


PLACE_RANGES = Pass("place_ranges", place_ranges)

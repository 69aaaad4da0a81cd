"""Checks on tile IR that all threads of a block execute its collective operations: tile operations, barriers,
T.Parallel.

Divergence analysis (analysis/uniformity.py) gives for each ``if`` and loop the threads between which it is divergent. A
collective operation must not stand in divergent control flow, and its operands must be uniform.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.errors import LanguageError, LimitError
from tilecore.ir.build import op_name
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    BufferStore,
    Call,
    Evaluate,
    For,
    IfThenElse,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    While,
)
from tilecore.ir.scopes import is_private
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_ranges import has_ranges, range_of
from tilecore.ir.tile_op_table import ALLREDUCE
from tilecore.ir.tile_ops import TileCall, as_tile_call, name_in_language
from tilecore.ir.visit import collect, variables
from tilecore.lowering.analysis.kernels import Threads, each_kernel, is_axis, uses_threads
from tilecore.lowering.analysis.uniformity import (
    Division,
    Uniformity,
    is_parallel,
    loads_of,
    private_operands,
    reduces_whole_block,
)


def check_threads(func: PrimFunc, env: PassEnv) -> PrimFunc:
    """Checks that all threads of a block execute collective operations together, with the same operands.

    Raises LanguageError if they do not, and LimitError if a block has more threads than the target allows.
    """

    def check(body: Stmt, threads: Threads) -> Stmt:
        limit = env.capabilities.max_threads
        if limit and threads.count > limit:
            env.refuse(_too_many(func, threads, limit, env))
        if uses_threads(body, threads) or has_ranges(body):
            _Checker(body, threads).statement(body)
        return body

    each_kernel(func.body, check)
    return func


@dataclass(frozen=True)
class _Fork:
    """An ``if`` or a loop around a statement, and the threads between which it is divergent."""

    node: Stmt
    division: Division


class _Checker:
    """Checks the code of a kernel.

    threads: the range of threads that executes the current statement. forks: the enclosing conditions and loops, the
    innermost first.
    """

    def __init__(self, body: Stmt, threads: Threads) -> None:
        self.block = threads
        self.uniformity = Uniformity(body, threads)
        self.threads = self.uniformity.block
        self.forks: tuple[_Fork, ...] = ()

    def statement(self, node: Stmt) -> None:
        if is_parallel(node):
            self._parallel(node)
        elif isinstance(node, SeqStmt):
            for part in node.seq:
                self.statement(part)
        elif isinstance(node, (For, While, IfThenElse)):
            self._compound(node)
        elif range_of(node) is not None:
            self._ranged(node)
        else:
            call = as_tile_call(node) if isinstance(node, Evaluate) else None
            if call is not None:
                self._tile(call)
            else:
                self._check_reductions(node, node)
            if isinstance(getattr(node, "body", None), Stmt):
                self.statement(node.body)

    def _compound(self, node: Any) -> None:
        outer_forks = self.forks
        for name in ("condition", "min", "extent"):
            if getattr(node, name, None) is not None:
                self._check_reductions(getattr(node, name), node)
        self.forks = (_Fork(node, self.uniformity.divergence(node)), *outer_forks)
        for name in ("body", "then_case", "else_case"):
            child = getattr(node, name, None)
            if isinstance(child, Stmt):
                self.statement(child)
        self.forks = outer_forks

    def _ranged(self, node: Any) -> None:
        outer_threads, self.threads = self.threads, range_of(node) or self.threads
        if self._divergent_fork() is not None:
            raise self._reached_by_some_error("code for a range of threads", node)
        self.statement(node.body)
        self.threads = outer_threads

    def _divergent_fork(self) -> _Fork | None:
        """The innermost enclosing condition or loop that is divergent between the threads of the current range."""
        return next((fork for fork in self.forks if fork.division.of(self.threads)), None)

    def _check_reductions(self, part: Any, node: Stmt) -> None:
        """Checks that an allreduce over all threads of the current range is not in divergent control flow."""
        if self._divergent_fork() is None:
            return
        threads = self.block
        if self.threads != self.uniformity.block:
            threads = Threads((replace(threads.axes[0], extent=self.threads.count),))
        for call in collect(part, Call):
            if op_name(call) == ALLREDUCE and reduces_whole_block(call, threads):
                raise self._reached_by_some_error("a reduction over all threads", node)

    def _tile(self, call: TileCall) -> None:
        name = call.op.name
        if name == "sync_threads":
            if self._divergent_fork() is not None:
                raise self._reached_by_some_error("T.sync_threads", call)
            return
        is_scalar = name == "atomic" and all(_is_unit(r.extent) for r in call.dst.region)
        if not call.op.collective or is_scalar or private_operands(call):
            return
        if self._divergent_fork() is not None:
            raise self._reached_by_some_error(name_in_language(call), call)
        if self.uniformity.tile_varies(call, self.threads):
            raise LanguageError(
                f"an operand of {name_in_language(call)} differs between threads, which execute it together",
                location=location_of_span(call.span),
                found=self._varying_names(list(call.args.values())),
                expected="the same operands in all threads, or memory of each thread (T.alloc_local) on one side",
                hint="loop over the elements of each thread with T.serial or T.vectorized",
            )

    def _parallel(self, nest: For) -> None:
        if self._divergent_fork() is not None:
            raise self._reached_by_some_error("T.Parallel", nest)
        thread_indices = {axis.var for axis in self.block.active} & variables(nest)
        inside = {alloc.buffer for alloc in collect(nest, AllocBuffer)}
        private = any(is_private(s.buffer) and s.buffer not in inside for s in collect(nest, BufferStore))
        differs = any(self._differs(load.source) for load in loads_of(nest))
        if thread_indices or (differs and not private):
            raise LanguageError(
                "a value that differs between threads stands in T.Parallel, whose iterations belong to no thread",
                location=location_of_span(nest.span),
                found=self._varying_names([nest]),
                expected="values that are the same in all threads",
                hint="loop with T.serial or T.vectorized for what each thread does by itself",
            )

    def _varying_names(self, parts: list[Any]) -> str:
        names = set()
        for part in parts:
            if not isinstance(part, (int, str)):
                names |= {str(v.name) for v in variables(part) if self._differs(v)}
        return ", ".join(sorted(names))

    def _differs(self, var: Var) -> bool:
        return self.uniformity.varies(var, self.threads)

    def _reached_by_some_error(self, operation: str, node: Any) -> LanguageError:
        """The error for an operation of all threads in divergent control flow."""
        fork = self._divergent_fork()
        assert fork is not None
        jumps = [] if isinstance(fork.node, IfThenElse) else self._threads_that_jump(fork.node)
        return _reached_by_some(operation, node, fork.node, jumps)

    def _threads_that_jump(self, loop: Any) -> list[str]:
        """The ranges of threads that take a jump of the loop which other threads do not take, as texts."""
        ranges = self.uniformity.divergent_jumps(loop.body).ranges
        return [str(some) for some in sorted(ranges, key=lambda r: r.first) if some.divides(self.threads)]


def _too_many(func: PrimFunc, threads: Threads, limit: int, env: PassEnv) -> LimitError:
    axes = {axis.var for axis in threads.axes}
    levels = [level for level in collect(func.body, AttrStmt) if is_axis(level) and level.node.var in axes]
    location = next((p for p in (location_of_span(level.span) for level in levels) if p is not None), None)
    return LimitError(
        "a block has too many threads",
        location=location,
        found=str(threads.count),
        expected=f"at most {limit} on {env.target.kind}",
        hint=f"threads={limit} of T.Kernel, or fewer: {threads.count - limit} less",
    )


def _is_unit(extent: Any) -> bool:
    return str(extent) == "1"


def _reached_by_some(operation: str, node: Any, fork: Stmt, jumping: list[str]) -> LanguageError:
    """fork: the divergent ``if`` or loop. jumping: for a loop, the ranges of threads that leave it by a jump."""
    location = location_of_span(getattr(fork, "span", None))
    word = "`if`" if isinstance(fork, IfThenElse) else "loop"
    line = f" of line {location.line}" if location else ""
    description = f"it stands in the divergent {word}{line}"
    if jumping:
        description += f": {', '.join(jumping)} have a `break` or `continue` of their own"
    return LanguageError(
        f"{operation} is reached by only some threads of the block",
        location=location_of_span(getattr(node, "span", None)),
        found=description,
        expected="all threads: the whole block executes it together",
        hint=f"move it out of the {word}, or let all threads jump together"
        if jumping
        else f"move it out of the {word} that depends on the thread",
    )


CHECK_THREADS = Pass("check_threads", check_threads)

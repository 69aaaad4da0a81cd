"""What all threads of a block must do together, checked on tile IR: operations of the block, barriers, T.Parallel."""

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
from tilecore.ir.tile_ops import TileCall, as_tile_call, name_in_language
from tilecore.ir.visit import collect, variables
from tilecore.lowering.analysis.kernels import Threads, asks_for_threads, each_kernel, is_axis
from tilecore.lowering.analysis.uniformity import (
    Division,
    Uniformity,
    is_parallel,
    joins_everyone,
    loads_of,
    private_operands,
)


def check_threads(func: PrimFunc, env: PassEnv) -> PrimFunc:
    """Raise a LanguageError where some threads only, or threads with different operands, do what the block does; a
    LimitError for more threads than a block of the target may have."""

    def check(body: Stmt, threads: Threads) -> Stmt:
        most = env.capabilities.max_threads
        if most and threads.count > most:
            env.refuse(_too_many(func, threads, most, env))
        if asks_for_threads(body, threads) or has_ranges(body):
            _Checker(body, threads).statement(body)
        return body

    each_kernel(func.body, check)
    return func


@dataclass(frozen=True)
class _Fork:
    """A condition or a loop around a statement, and the threads that part ways in it."""

    node: Stmt
    division: Division


class _Checker:
    """Checks a kernel's code. threads: that come to the statement that is looked at. forks: around it, the innermost
    first."""

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
                self._joins(node, node)
            if isinstance(getattr(node, "body", None), Stmt):
                self.statement(node.body)

    def _compound(self, node: Any) -> None:
        around = self.forks
        for name in ("condition", "min", "extent"):
            if getattr(node, name, None) is not None:
                self._joins(getattr(node, name), node)
        self.forks = (_Fork(node, self.uniformity.parting(node)), *around)
        for name in ("body", "then_case", "else_case"):
            child = getattr(node, name, None)
            if isinstance(child, Stmt):
                self.statement(child)
        self.forks = around

    def _ranged(self, node: Any) -> None:
        around, self.threads = self.threads, range_of(node) or self.threads
        if self._apart() is not None:
            raise self._some_threads("code for some threads together", node)
        self.statement(node.body)
        self.threads = around

    def _apart(self) -> _Fork | None:
        """The innermost condition or loop around in which threads part ways that come to the statement together."""
        return next((fork for fork in self.forks if fork.division.of(self.threads)), None)

    def _joins(self, part: Any, node: Stmt) -> None:
        """An allreduce of all threads that come to it is for all of them."""
        if self._apart() is None:
            return
        threads = self.block
        if self.threads != self.uniformity.block:
            threads = Threads((replace(threads.axes[0], extent=self.threads.count),))
        for call in collect(part, Call):
            if op_name(call) == "tile.allreduce" and joins_everyone(call, threads):
                raise self._some_threads("a reduction over all threads", node)

    def _tile(self, call: TileCall) -> None:
        name = call.op.name
        if name == "sync_threads":
            if self._apart() is not None:
                raise self._some_threads("T.sync_threads", call)
            return
        alone = name == "atomic" and all(_is_one(r.extent) for r in call.dst.region)
        if not call.op.collective or alone or private_operands(call):
            return
        if self._apart() is not None:
            raise self._some_threads(name_in_language(call), call)
        if self.uniformity.tile_varies(call, self.threads):
            raise LanguageError(
                f"an operand of {name_in_language(call)} differs between threads, and the block does it as one",
                location=location_of_span(call.span),
                found=self._varying_names(list(call.args.values())),
                expected="the same operands in all threads, or memory of each thread (T.alloc_local) on one side",
                hint="loop over the elements of each thread with T.serial or T.vectorized",
            )

    def _parallel(self, nest: For) -> None:
        if self._apart() is not None:
            raise self._some_threads("T.Parallel", nest)
        own = {axis.var for axis in self.block.active} & variables(nest)
        inside = {alloc.buffer for alloc in collect(nest, AllocBuffer)}
        private = any(is_private(s.buffer) and s.buffer not in inside for s in collect(nest, BufferStore))
        differs = any(self._differs(load.source) for load in loads_of(nest))
        if own or (differs and not private):
            raise LanguageError(
                "a value that differs between threads stands in T.Parallel, whose iterations belong to no thread",
                location=location_of_span(nest.span),
                found=self._varying_names([nest]),
                expected="values that are the same in all threads",
                hint="loop with T.serial or T.vectorized for what each thread does by itself",
            )

    def _varying_names(self, parts: list[Any]) -> str:
        found = set()
        for part in parts:
            if not isinstance(part, (int, str)):
                found |= {str(v.name) for v in variables(part) if self._differs(v)}
        return ", ".join(sorted(found))

    def _differs(self, var: Var) -> bool:
        return self.uniformity.varies(var, self.threads)

    def _some_threads(self, what: str, node: Any) -> LanguageError:
        """For what stands where the threads that must do it together part ways."""
        fork = self._apart()
        assert fork is not None
        jumps = [] if isinstance(fork.node, IfThenElse) else self._jumps_of_some(fork.node)
        return _reached_by_some(what, node, fork.node, jumps)

    def _jumps_of_some(self, loop: Any) -> list[str]:
        """Who takes a jump of the loop while others of the threads do not, as words of an error."""
        ranges = self.uniformity.jumps_apart(loop.body).ranges
        return [str(some) for some in sorted(ranges, key=lambda r: r.first) if some.divides(self.threads)]


def _too_many(func: PrimFunc, threads: Threads, most: int, env: PassEnv) -> LimitError:
    axes = {axis.var for axis in threads.axes}
    levels = [level for level in collect(func.body, AttrStmt) if is_axis(level) and level.node.var in axes]
    place = next((p for p in (location_of_span(level.span) for level in levels) if p is not None), None)
    return LimitError(
        "a block has too many threads",
        location=place,
        found=str(threads.count),
        expected=f"at most {most} on {env.target.kind}",
        hint=f"threads={most} of T.Kernel, or fewer: {threads.count - most} less",
    )


def _is_one(extent: Any) -> bool:
    return str(extent) == "1"


def _reached_by_some(what: str, node: Any, apart: Stmt, jumping: list[str]) -> LanguageError:
    """apart: where threads part ways. jumping: the ranges of threads that jump there, where it is a loop."""
    place = location_of_span(getattr(apart, "span", None))
    word = "`if`" if isinstance(apart, IfThenElse) else "loop"
    found = f"it stands in the {word}" + (f" of line {place.line}" if place else "") + ", where threads part ways"
    if jumping:
        found += f": {', '.join(jumping)} have a `break` or `continue` of their own"
    return LanguageError(
        f"{what} is reached by some threads of the block only",
        location=location_of_span(getattr(node, "span", None)),
        found=found,
        expected="all threads: it is done by the whole block together",
        hint=f"take it out of the {word}, or let all threads jump together"
        if jumping
        else f"take it out of the {word} that depends on the thread",
    )


CHECK_THREADS = Pass("check_threads", check_threads)

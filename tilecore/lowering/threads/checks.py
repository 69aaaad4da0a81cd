"""What all threads of a block must do together, checked on tile IR: operations of the block, barriers, T.Parallel."""

from __future__ import annotations

from typing import Any

from tilecore.errors import LanguageError, LimitError
from tilecore.frontend.source import location_of_span
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
    While,
)
from tilecore.ir.scopes import is_private
from tilecore.ir.thread_ranges import range_of
from tilecore.ir.tile_ops import TileCall, as_tile_call, name_in_language
from tilecore.ir.visit import collect, variables
from tilecore.lowering.passes import Pass, PassEnv
from tilecore.lowering.threads.kernels import Threads, asks_for_threads, each_kernel, is_axis
from tilecore.lowering.threads.uniformity import (
    COLLECTIVE,
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
        if asks_for_threads(body, threads):
            _Checker(body, threads).statement(body, None)
        return body

    each_kernel(func.body, check)
    return func


class _Checker:
    def __init__(self, body: Stmt, threads: Threads) -> None:
        self.threads = threads
        self.uniformity = Uniformity(body, threads)

    def statement(self, node: Stmt, apart: Stmt | None) -> None:
        """Check a statement. apart: the innermost condition or loop around it in which threads part ways."""
        if is_parallel(node):
            self._parallel(node, apart)
            return
        if isinstance(node, SeqStmt):
            for part in node.seq:
                self.statement(part, apart)
            return
        call = as_tile_call(node) if isinstance(node, Evaluate) else None
        if call is not None:
            self._tile(call, apart)
        elif not isinstance(node, (For, While, IfThenElse)):
            self._joins(node, node, apart)
        if isinstance(node, (For, While, IfThenElse)):
            inner = node if self.uniformity.is_divergent(node) else apart
            for name in ("condition", "min", "extent"):
                if getattr(node, name, None) is not None:
                    self._joins(getattr(node, name), node, apart)
            for name in ("body", "then_case", "else_case"):
                child = getattr(node, name, None)
                if isinstance(child, Stmt):
                    self.statement(child, inner)
        elif isinstance(getattr(node, "body", None), Stmt):
            if apart is not None and range_of(node) is not None:
                raise _some_threads("code for some threads together", node, apart)
            self.statement(node.body, apart)

    def _joins(self, part: Any, node: Stmt, apart: Stmt | None) -> None:
        """An allreduce of the whole block is for all threads."""
        if apart is None:
            return
        for call in collect(part, Call):
            if op_name(call) == "tile.allreduce" and joins_everyone(call, self.threads):
                raise _some_threads("a reduction over all threads", node, apart)

    def _tile(self, call: TileCall, apart: Stmt | None) -> None:
        name = call.op.name
        if name == "sync_threads":
            if apart is not None:
                raise _some_threads("T.sync_threads", call, apart)
            return
        alone = name == "atomic" and all(_is_one(r.extent) for r in call.dst.region)
        if name not in COLLECTIVE or alone or private_operands(call):
            return
        if apart is not None:
            raise _some_threads(name_in_language(call), call, apart)
        if self.uniformity.tile_varies(call):
            raise LanguageError(
                f"an operand of {name_in_language(call)} differs between threads, and the block does it as one",
                location=location_of_span(call.span),
                found=self._varying_names(list(call.args.values())),
                expected="the same operands in all threads, or memory of each thread (T.alloc_local) on one side",
                hint="loop over the elements of each thread with T.serial or T.vectorized",
            )

    def _parallel(self, nest: For, apart: Stmt | None) -> None:
        if apart is not None:
            raise _some_threads("T.Parallel", nest, apart)
        own = {axis.var for axis in self.threads.active} & variables(nest)
        inside = {alloc.buffer for alloc in collect(nest, AllocBuffer)}
        private = any(is_private(s.buffer) and s.buffer not in inside for s in collect(nest, BufferStore))
        differs = any(self.uniformity.root(load.source) in self.uniformity.varying for load in loads_of(nest))
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
                found |= {str(v.name) for v in variables(part) if self.uniformity.root(v) in self.uniformity.varying}
        return ", ".join(sorted(found))


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


def _some_threads(what: str, node: Any, apart: Stmt) -> LanguageError:
    place = location_of_span(getattr(apart, "span", None))
    word = "`if`" if isinstance(apart, IfThenElse) else "loop"
    return LanguageError(
        f"{what} is reached by some threads of the block only",
        location=location_of_span(getattr(node, "span", None)),
        found=f"it stands in the {word}" + (f" of line {place.line}" if place else "") + ", where threads part ways",
        expected="all threads: it is done by the whole block together",
        hint=f"take it out of the {word} that depends on the thread",
    )


CHECK_THREADS = Pass("check_threads", check_threads)

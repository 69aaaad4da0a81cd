"""Checks that IR is well formed: every variable is defined where it is used, accesses have the right rank."""

from __future__ import annotations

from typing import Any

from tilecore.errors import LanguageError, LoweringError
from tilecore.frontend.source import location_of_span
from tilecore.ir.nodes import (
    AllocBuffer,
    AttrStmt,
    Bind,
    BufferStore,
    DeclBuffer,
    For,
    IRModule,
    IterVar,
    PrimFunc,
    SeqStmt,
    Stmt,
    TensorLoad,
    TensorRegion,
    Var,
    is_buffer_var,
    structural_walk,
)
from tilecore.ir.visit import children


def verify(func: Any, after: str) -> None:
    """Raise where ``func`` (a PrimFunc or an IRModule) is malformed; ``after`` says which step made it so."""
    functions = list(func.functions.values()) if isinstance(func, IRModule) else [func]
    for each in functions:
        if isinstance(each, PrimFunc):
            _Verifier(each, after).run()


class _Verifier:
    def __init__(self, func: PrimFunc, after: str) -> None:
        self.func = func
        self.after = after

    def run(self) -> None:
        known: set[Var] = set(self.func.params)
        for param in self.func.params:
            if is_buffer_var(param):
                for size in [*param.shape, *param.strides]:
                    structural_walk(size, (Var, lambda v: known.add(v)))
        for key in ("tile.block_vars", "tile.thread_vars", "tile.symbols"):
            known.update((self.func.attrs or {}).get(key) or ())
        self._statement(self.func.body, known, None)

    def _statement(self, node: Stmt, known: set[Var], span: Any) -> None:
        """Check ``node``; definitions that last to the end of the block are added to ``known``."""
        span = getattr(node, "span", None) or span
        if isinstance(node, SeqStmt):
            inner = set(known)
            for part in node.seq:
                self._statement(part, inner, span)
            return
        self._expressions(node, known, span)
        if isinstance(node, (AllocBuffer, DeclBuffer)):
            known.add(node.buffer)
        elif isinstance(node, Bind):
            known.add(node.var)
        elif isinstance(node, For):
            self._statement(node.body, known | {node.loop_var}, span)
        elif isinstance(node, AttrStmt) and isinstance(node.node, IterVar):
            self._statement(node.body, known | {node.node.var}, span)
        else:
            for child in children(node):
                self._statement(child, set(known), span)

    def _expressions(self, node: Stmt, known: set[Var], span: Any) -> None:
        for name in ("value", "condition", "min", "extent", "indices", "data", "message"):
            part = getattr(node, name, None)
            if part is not None:
                self._expression(part, known, span)
        if isinstance(node, BufferStore):
            self._used(node.buffer, known, span)
            self._rank(node.buffer, len(node.indices), span)

    def _expression(self, part: Any, known: set[Var], span: Any) -> None:
        def access(value: Any) -> None:
            count = len(value.indices) if isinstance(value, TensorLoad) else len(value.region)
            self._rank(value.source, count, span)

        local: set[Var] = set()

        def let(value: Any) -> None:
            local.add(value.var)

        from tilecore.ir.nodes import tirx

        structural_walk(part, [((TensorLoad, TensorRegion), access), (tirx.Let, let)], order="pre")
        structural_walk(part, (Var, lambda v: None if v in local else self._used(v, known, span)))

    def _rank(self, buffer: Var, count: int, span: Any) -> None:
        if count != len(buffer.shape):
            raise LoweringError(
                f"after {self.after}: {buffer.name} has {len(buffer.shape)} axes and is accessed with {count} indices",
                location=location_of_span(span),
            )

    def _used(self, var: Var, known: set[Var], span: Any) -> None:
        if var in known:
            return
        kind = LanguageError if self.after == "the front end" else LoweringError
        raise kind(
            f"{var.name} is used where it is not defined" + ("" if kind is LanguageError else f" (after {self.after})"),
            location=location_of_span(span),
            hint="it was made in another block, loop or branch; make it where both places see it, "
            "or use T.alloc_var for a value that changes"
            if kind is LanguageError
            else "please report it",
        )

"""Finds the condition under which a function accesses each of its tensors, as far as a call knows it.

A call may pass None for a tensor that the kernel does not access. Conditions on scalars and sizes of the call count;
those on indices and on memory do not: what they guard counts as accessed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tilecore.artifact.dims import Dim, DimExpr
from tilecore.errors import LanguageError
from tilecore.ir.build import const, op_name
from tilecore.ir.nodes import (
    AttrStmt,
    Bind,
    BufferStore,
    Call,
    DeclBuffer,
    Evaluate,
    Expr,
    For,
    IfThenElse,
    Not,
    PrimFunc,
    SeqStmt,
    Stmt,
    TensorLoad,
    TensorRegion,
    Var,
    While,
    is_buffer_var,
)
from tilecore.ir.sizes import symbols_in, to_dim
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.views import source_of
from tilecore.ir.visit import children, collect, transform

Tree = Any  # of a DimExpr: an int, a name, or a tuple
_MOST_NAMES = 64  # of a condition; a larger one counts as one that always holds


def access_conditions(func: PrimFunc) -> dict[Var, Dim]:
    """For each tensor parameter of a function (tile IR) whether the kernel accesses it: 1 or 0, or an expression of the
    call's sizes and scalars that is other than 0 where it does."""
    work = _Conditions(func)
    work.statement(func.body, 1)
    for declaration in reversed(collect(func.body, DeclBuffer)):
        source = source_of(declaration)
        if source is not None:
            work.add([source], work.trees.get(declaration.buffer, 0))
    trees = {param: work.trees.get(param, 0) for param in func.params if is_buffer_var(param)}
    return {param: tree if isinstance(tree, int) else DimExpr(tree) for param, tree in trees.items()}


class _Conditions:
    def __init__(self, func: PrimFunc) -> None:
        scalars = [param for param in func.params if not is_buffer_var(param)]
        self.of_call = {*scalars, *symbols_in(func.params)}
        self.values: dict[Var, Expr] = {}
        self.trees: dict[Var, Tree] = {}

    def add(self, buffers: Iterable[Var], condition: Tree) -> None:
        for buffer in buffers:
            self.trees[buffer] = _either(self.trees.get(buffer, 0), condition)

    def statement(self, node: Stmt, condition: Tree) -> None:
        if isinstance(node, SeqStmt):
            for part in node.seq:
                self.statement(part, condition)
        elif isinstance(node, IfThenElse):
            self.expression(node.condition, condition)
            test = self.tree(node.condition)
            self.statement(node.then_case, _both(condition, 1 if test is None else test))
            if node.else_case is not None:
                self.statement(node.else_case, _both(condition, 1 if test is None else _inverse(test)))
        else:
            self._plain(node, condition)

    def _plain(self, node: Stmt, condition: Tree) -> None:
        if isinstance(node, Bind):
            self.values[node.var] = node.value
        if isinstance(node, BufferStore):
            self.add([node.buffer], condition)
        if isinstance(node, (Bind, BufferStore, Evaluate)):
            self.expression(node, condition)
        for name in ("min", "extent", "condition"):
            part = getattr(node, name, None)
            if isinstance(part, Expr):
                self.expression(part, condition)
        size = node.extent if isinstance(node, For) else node.value if isinstance(node, AttrStmt) else None
        rounds = self.tree(size) if isinstance(size, Expr) and not isinstance(node, While) else None
        runs = 1 if rounds is None else int(rounds > 0) if isinstance(rounds, int) else ("<", 0, rounds)
        inside = _both(condition, runs)
        for child in children(node):
            self.statement(child, inside)

    def expression(self, node: Any, condition: Tree) -> None:
        """Add the accesses in an expression, or in a statement without others inside."""

        def choice(call: Call) -> Any:
            if op_name(call) != "if_then_else":
                return call
            test = self.tree(call.args[0])
            self.add(_buffers_in(call.args[0]), condition)
            self.add(_buffers_in(call.args[1]), _both(condition, 1 if test is None else test))
            self.add(_buffers_in(call.args[2]), _both(condition, 1 if test is None else _inverse(test)))
            return const(0, str(call.ty.dtype))

        if any(op_name(call) == "if_then_else" for call in collect(node, Call)):
            node = transform(node, Call, choice)
        self.add(_buffers_in(node), condition)

    def tree(self, node: Expr) -> Tree | None:
        """A value as an expression of the call's sizes and scalars; None where it is none."""
        while isinstance(node, Var) and node in self.values:
            node = self.values[node]
        if isinstance(node, Not):
            inner = self.tree(node.a)
            return None if inner is None else _inverse(inner)
        if collect(node, TensorLoad, Call) or any(var not in self.of_call for var in collect(node, Var)):
            return None
        if str(node.ty.dtype).startswith(("float", "bfloat")) or _names_float(node):
            return None
        try:
            dim = to_dim(node)
        except LanguageError:
            return None
        return dim if isinstance(dim, int) else dim.tree


def _names_float(node: Expr) -> bool:
    return any(not str(var.ty.dtype).startswith(("int", "uint", "bool")) for var in collect(node, Var))


def _buffers_in(node: Any) -> set[Var]:
    if isinstance(node, Evaluate):
        call = as_tile_call(node)
        if call is not None and call.op.is_mark:
            return set()
    accessed = {access.source for access in collect(node, TensorLoad, TensorRegion)}
    return accessed | {var for var in collect(node, Var) if is_buffer_var(var)}


def _both(a: Tree, b: Tree) -> Tree:
    if a == 0 or b == 0:
        return 0
    if isinstance(a, int):
        return b
    return a if isinstance(b, int) or a == b else _small(("and", a, b), a)


def _either(a: Tree, b: Tree) -> Tree:
    if a == 0 or (isinstance(b, int) and b):
        return b
    return a if b == 0 or isinstance(a, int) or a == b else _small(("or", a, b), 1)


def _inverse(a: Tree) -> Tree:
    return int(not a) if isinstance(a, int) else ("==", a, 0)


def _small(tree: Tree, instead: Tree) -> Tree:
    """``tree``; ``instead``, which holds wherever it does, if it is too large."""
    return tree if _size(tree) <= _MOST_NAMES else instead


def _size(tree: Tree) -> int:
    return sum(map(_size, tree[1:])) if isinstance(tree, tuple) else 1

"""Helpers that apply a pass to each kernel of a module, and to the body of each kernel of a function."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from tilecore.contract.passes import PassEnv
from tilecore.ir.attributes import StatementAttr
from tilecore.ir.build import seq, statements_of
from tilecore.ir.nodes import AttrStmt, IRModule, IterVar, PrimFunc, Stmt

KernelPass = Callable[[PrimFunc, PassEnv], PrimFunc]


def of_each_kernel(run: KernelPass) -> Callable[[IRModule, PassEnv], IRModule]:
    """A pass over a module that applies ``run`` to each kernel."""

    @wraps(run)
    def over_module(module: IRModule, env: PassEnv) -> IRModule:
        lowered = (run(func, env) for func in module.functions.values())
        return IRModule({str(func.attrs["global_symbol"]): func for func in lowered})

    return over_module


def map_bodies(body: Stmt, change: Callable[[AttrStmt], AttrStmt]) -> Stmt:
    """Replaces every kernel, with the axes of its grid around it, by the result of ``change``."""
    return seq([change(s) if is_axis(s) else s for s in statements_of(body)])


def is_axis(node: object) -> bool:
    return isinstance(node, AttrStmt) and node.attr_key == StatementAttr.AXIS and isinstance(node.node, IterVar)


def with_first(kernel: AttrStmt, statements: list[Stmt]) -> AttrStmt:
    """The kernel with ``statements`` at the beginning of its body."""
    inner = with_first(kernel.body, statements) if is_axis(kernel.body) else seq([*statements, kernel.body])
    return AttrStmt(kernel.node, kernel.attr_key, kernel.value, inner, span=kernel.span)

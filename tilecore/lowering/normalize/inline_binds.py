"""Inlines integer variables, so that later passes can analyze index arithmetic."""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import dtype_of, nothing
from tilecore.ir.nodes import Bind, Call, Expr, PrimFunc, TensorLoad, Var, structural_mutate
from tilecore.ir.visit import collect, substitute

LIMIT = 64  # nodes of an expression; index arithmetic is smaller, and larger values would only be computed twice


def inline_binds(func: PrimFunc, env: PassEnv) -> PrimFunc:
    values: dict[Var, Any] = {}

    def bind(node: Bind, mutator: Any) -> Any:
        value = substitute(node.value, values)
        is_integer = dtype_of(node.var).startswith(("int", "uint"))
        if is_integer and not collect(value, TensorLoad, Call) and len(collect(value, Expr)) <= LIMIT:
            values[node.var] = value
            return nothing()
        return Bind(node.var, value, span=node.span)

    def var(node: Var, mutator: Any) -> Any:
        return values.get(node, node)

    return func.with_body(structural_mutate(func.body, [(Bind, bind), (Var, var)]))


INLINE_BINDS = Pass("inline_binds", inline_binds)

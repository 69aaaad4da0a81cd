"""Helpers that build IR: sequences, loops, loads and stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilecore.dtypes import FACTS
from tilecore.ir.nodes import (
    And,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    Evaluate,
    Expr,
    For,
    ForKind,
    IfThenElse,
    IntImm,
    SeqStmt,
    Stmt,
    StringImm,
    Var,
    tirx,
)


def seq(statements: Sequence[Stmt]) -> Stmt:
    """One statement that executes all of these in order."""
    flat: list[Stmt] = []
    for statement in statements:
        if isinstance(statement, SeqStmt):
            flat.extend(statement.seq)
        elif not is_nothing(statement):
            flat.append(statement)
    if len(flat) == 1:
        return flat[0]
    return SeqStmt(flat) if flat else nothing()


def nothing() -> Stmt:
    """A statement that does nothing."""
    return Evaluate(IntImm("int32", 0))


def is_nothing(statement: Stmt) -> bool:
    """Is the statement an empty one, as :func:`nothing` makes it?"""
    return isinstance(statement, Evaluate) and isinstance(statement.value, IntImm)


def statements_of(body: Stmt) -> list[Stmt]:
    """The statements of a block, with nested sequences flattened."""
    if isinstance(body, SeqStmt):
        return [inner for statement in body.seq for inner in statements_of(statement)]
    return [] if is_nothing(body) else [body]


def loop(
    extent: Any,
    body: Callable[[Var], Stmt],
    *,
    name: str = "i",
    kind: int = ForKind.SERIAL,
    span: Any = None,
    notes: dict[str, Any] | None = None,
) -> Stmt:
    """A loop from 0 to ``extent``; ``body`` gets its variable. A constant extent of 1 needs no loop."""
    size = constant(extent)
    if size == 1:
        return body(IntImm("int32", 0))
    dtype = "int32" if size is not None else str(extent.ty.dtype)
    var = Var(name, dtype)
    return For(var, IntImm(dtype, 0), extent, kind, body(var), annotations=notes, span=span)


def with_body(node: For, body: Stmt) -> For:
    """The loop with another body."""
    return For(node.loop_var, node.min, node.extent, node.kind, body, annotations=node.annotations, span=node.span)


def nest(
    extents: Sequence[Any],
    body: Callable[[list[Any]], Stmt],
    *,
    names: Sequence[str] = ("i", "j", "k", "l", "m", "n"),
    kind: int = ForKind.PARALLEL,
    span: Any = None,
) -> Stmt:
    """Nested loops over ``extents``; ``body`` gets their variables. Parallel by default."""

    def level(depth: int, variables: list[Any]) -> Stmt:
        if depth == len(extents):
            return body(variables)
        return loop(
            extents[depth],
            lambda var: level(depth + 1, [*variables, var]),
            name=names[depth] if depth < len(names) else f"i{depth}",
            kind=kind,
            span=span,
        )

    return level(0, [])


def all_of(conditions: Sequence[Any]) -> Expr:
    """The condition that all of them hold; there is at least one."""
    return tirx.all(*conditions) if len(conditions) > 1 else conditions[0]


def conjuncts(condition: Expr) -> list[Expr]:
    """The operands of a conjunction; the condition itself if it is not one."""
    return [*conjuncts(condition.a), *conjuncts(condition.b)] if isinstance(condition, And) else [condition]


def where(conditions: Sequence[Any], statement: Stmt) -> Stmt:
    """``statement``, if all conditions hold."""
    return IfThenElse(all_of(conditions), statement, None) if conditions else statement


def constant(value: Any) -> int | None:
    """The value of a constant integer; None for any other expression."""
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, IntImm) else None


def load(buffer: Any, indices: Sequence[Any], span: Any = None) -> Expr:
    """The element of a buffer at these indices, one for each axis."""
    return BufferLoad(buffer, list(indices), span=span)


def store(buffer: Any, value: Expr, indices: Sequence[Any], span: Any = None) -> Stmt:
    """Stores ``value`` to the element of a buffer at these indices, one for each axis."""
    return BufferStore(buffer, value, list(indices), span=span)


def cast(value: Expr, dtype: str) -> Expr:
    """``value`` converted to an element type; ``value`` itself if it has that type."""
    return value if str(value.ty.dtype) == dtype else Cast(dtype, value)


def as_operand(value: Any) -> Expr:
    """``value`` as an operand of a call: Python ints, bools and strings become constants of the IR."""
    if isinstance(value, int):
        return IntImm("int32", int(value))
    return StringImm(value) if isinstance(value, str) else value


def op_name(node: Any) -> str:
    """The name of a call's operation without TVM's namespace, as "exp" or "tile.copy"; "" for any other node."""
    name = str(getattr(getattr(node, "op", None), "name", ""))
    return name.removeprefix("tirx.").removeprefix("prim.")


def const(value: Any, dtype: str) -> Expr:
    """The constant ``value`` of an element type, such as "int32".

    TVM takes the floats without -0 for unsigned numbers: it refuses their negative constants, and aborts where it folds
    a cast of one. So those are the reinterpretation of their bits, which TVM leaves alone; so are scales.
    """
    facts = FACTS.get(dtype)
    if facts is None or not (facts.is_scale or (facts.unsigned_zero and value < 0)):
        return tirx.const(value, dtype)
    from tilecore.element_values import value_type

    kind = value_type(dtype)
    bits = int(kind.encode(kind.const(value)))
    return Call("tirx.reinterpret", [tirx.const(bits, "uint8")], ret_ty=dtype)


def dtype_of(value: Any) -> str:
    """Element type of an expression or a buffer."""
    kind = getattr(value, "ty", None)
    inner = getattr(kind, "dtype", None)
    return str(value.dtype) if inner is None else str(getattr(inner, "dtype", inner))

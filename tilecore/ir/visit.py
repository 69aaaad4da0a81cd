"""Traversal and rewriting of IR: substitution, and the accesses of a statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tilecore.ir.nodes import (
    Bind,
    Break,
    BufferStore,
    Continue,
    For,
    Stmt,
    TensorLoad,
    TensorRegion,
    Var,
    While,
    nodes_of,
    structural_map,
)


class Substitution:
    """Replaces variables in nodes, in one pass (the replacements are not looked into). A call costs what its node does,
    whatever the number of variables.

    Variables are told apart by their hashes, which are their addresses: while a kernel is built, ``==`` makes a
    comparison of the kernel.
    """

    def __init__(self, values: Mapping[Var, Any] | None = None) -> None:
        self._by_hash = {hash(var): value for var, value in (values or {}).items()}
        self._variables = list(values or ())  # which so keep their addresses

    def add(self, var: Var, value: Any) -> None:
        """Replaces ``var`` from now on."""
        self._by_hash[hash(var)] = value
        self._variables.append(var)

    def get(self, var: Var) -> Any:
        """What replaces the variable; None where nothing does."""
        return self._by_hash.get(hash(var))

    def __call__(self, node: Any) -> Any:
        by_hash = self._by_hash
        return structural_map(node, (Var, lambda var: by_hash.get(hash(var), var))) if by_hash else node


def substitute(node: Any, values: Mapping[Var, Any]) -> Any:
    """``node`` with variables replaced; one pass (the replacements are not looked into). For many nodes, make one
    :class:`Substitution`."""
    return Substitution(values)(node) if values else node


def renewed(node: Any) -> Any:
    """``node`` with fresh variables for its loops and definitions, as a second copy of the code needs them."""
    defined = [loop.loop_var for loop in collect(node, For)] + [bind.var for bind in collect(node, Bind)]
    return substitute(node, {var: Var(str(var.name), var.ty) for var in defined})


def collect(node: Any, *kinds: type) -> list[Any]:
    """All nodes of these types inside ``node`` (itself included), outermost first."""
    return nodes_of(node, kinds)


def defined_variables(node: Any) -> set[Var]:
    """The variables of the loops and the definitions inside ``node`` (itself included)."""
    return {inner.loop_var if isinstance(inner, For) else inner.var for inner in collect(node, For, Bind)}


def variables(node: Any) -> set[Var]:
    """Every variable that stands in ``node``."""
    return set(collect(node, Var))


def reads_variable(node: Any, var: Var) -> bool:
    """Does the variable, or the buffer, stand anywhere in ``node``?"""
    return var in variables(node)


def loads(node: Any) -> list[TensorLoad]:
    """All loads of elements in a statement or an expression, in order."""
    return collect(node, TensorLoad)


def stores(node: Any) -> list[BufferStore]:
    """All stores to buffers under ``node``, in the order of the walk."""
    return collect(node, BufferStore)


def regions(node: Any) -> list[TensorRegion]:
    return collect(node, TensorRegion)


def transform(node: Any, kinds: type | tuple[type, ...], change: Callable[[Any], Any]) -> Any:
    """``node`` with every node of ``kinds`` replaced by ``change(node)``, innermost first."""
    return structural_map(node, (kinds, change))


def children(statement: Stmt) -> Iterator[Stmt]:
    """The statements directly inside a compound statement."""
    for name in ("body", "then_case", "else_case"):
        inner = getattr(statement, name, None)
        if isinstance(inner, Stmt):
            yield inner
    yield from getattr(statement, "seq", ())


def jumps_out(statement: Stmt) -> bool:
    """Is there a ``break`` or ``continue`` in it of a loop around it?"""
    if isinstance(statement, (For, While)):
        return False
    return isinstance(statement, (Break, Continue)) or any(map(jumps_out, children(statement)))

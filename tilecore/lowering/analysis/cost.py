"""Estimates an upper bound of the cost of one block, for choosing how to launch it (not for choosing code)."""

from __future__ import annotations

import math
from typing import Any

from tilecore.ir.build import constant
from tilecore.ir.nodes import BufferStore, Call, Evaluate, Expr, For, PrimFunc, SeqStmt, Stmt, While
from tilecore.ir.visit import children, collect

NANOSECONDS_PER_STORE = 0.5
NANOSECONDS_PER_NODE = 1.0
UNKNOWN_TRIPS = 64
_FOREIGN = ("call_extern", "call_pure_extern", "call_packed")


def block_cost(func: PrimFunc) -> int:
    """Nanoseconds for one block, from the number of stores that it makes; an order of magnitude."""
    return max(1, int(_stores(func.body) * NANOSECONDS_PER_STORE))


def longest_block(func: PrimFunc) -> int:
    """Nanoseconds that one block takes at most, an order of magnitude; 0 where that depends on data or on sizes of the
    call: a ``while``, a loop whose trips are no constant, a function that is not of the language.

    Every node of every expression counts as often as it is evaluated, so a kernel with few stores and much arithmetic
    counts as what it is.
    """
    nodes = _longest(func.body)
    return 0 if math.isinf(nodes) else math.ceil(nodes * NANOSECONDS_PER_NODE)


def _longest(node: Stmt) -> float:
    """Expression nodes that a statement evaluates at most; infinite where nothing bounds them."""
    if isinstance(node, While):
        return math.inf
    inner = list(children(node))
    if not inner:
        return _nodes(node)
    total = sum(map(_longest, inner)) + sum(_nodes(getattr(node, name, None)) for name in ("condition", "value"))
    if isinstance(node, For):
        trips = constant(node.extent)
        if trips is not None and trips <= 0:  # whatever the body is
            return 0.0
        return math.inf if trips is None else trips * (1 + total)
    return total


def _nodes(node: Any) -> float:
    """Nodes inside ``node``; infinite with a call of a function that is not of the language."""
    if node is None:
        return 0.0
    nodes = collect(node, Expr)
    foreign = any(isinstance(e, Call) and str(getattr(e.op, "name", "")).endswith(_FOREIGN) for e in nodes)
    return math.inf if foreign else 1.0 + len(nodes)


def _stores(node: Stmt) -> float:
    if isinstance(node, BufferStore):
        return 1.0
    if isinstance(node, Evaluate):
        return 1.0
    if isinstance(node, SeqStmt):
        return sum(_stores(part) for part in node.seq)
    inner = sum(_stores(child) for child in children(node))
    if isinstance(node, For):
        return inner * _trips(node.extent)
    return inner * UNKNOWN_TRIPS if isinstance(node, While) else inner


def _trips(extent: Any) -> int:
    known = constant(extent)
    return UNKNOWN_TRIPS if known is None else known

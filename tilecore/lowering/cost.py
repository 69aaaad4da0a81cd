"""A rough cost of one block, for choosing how to launch it (not for choosing code)."""

from __future__ import annotations

from typing import Any

from tilecore.ir.build import constant
from tilecore.ir.nodes import BufferStore, Evaluate, For, PrimFunc, SeqStmt, Stmt, While
from tilecore.ir.visit import children

NANOSECONDS_PER_STORE = 0.5
UNKNOWN_TRIPS = 64


def block_cost(func: PrimFunc) -> int:
    """Nanoseconds for one block, from the number of stores that it makes; an order of magnitude."""
    return max(1, int(_stores(func.body) * NANOSECONDS_PER_STORE))


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

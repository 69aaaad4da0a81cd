"""Estimates an upper bound of the cost of one block, for choosing how to launch it (not for choosing code)."""

from __future__ import annotations

import math
from typing import Any

from tilecore.ir.build import constant
from tilecore.ir.nodes import BufferStore, Call, Evaluate, Expr, For, PrimFunc, SeqStmt, Stmt, While
from tilecore.ir.scopes import is_global
from tilecore.ir.visit import children, collect

NANOSECONDS_PER_STORE = 0.5
NANOSECONDS_PER_GLOBAL_VECTOR = 2.0  # stored to global memory: 64 bytes at 32 GB/s
NANOSECONDS_PER_NODE = 1.0
UNKNOWN_TRIPS = 64
_FOREIGN = ("call_extern", "call_pure_extern", "call_packed")


def block_cost(func: PrimFunc) -> int:
    """The order of magnitude of the time of one block in nanoseconds, from the number of its stores."""
    return max(1, int(_of_stores(func.body)))


def longest_block(func: PrimFunc) -> int:
    """The order of magnitude of the longest time of one block in nanoseconds; 0 if the time has no constant bound.

    It has none with a ``while``, a loop whose trip count is not a constant, or a call of a foreign function. Every node
    of every expression counts as often as it is evaluated, so arithmetic counts as well as stores do.
    """
    nodes = _max_nodes(func.body)
    return 0 if math.isinf(nodes) else math.ceil(nodes * NANOSECONDS_PER_NODE)


def _max_nodes(node: Stmt) -> float:
    """The largest number of expression nodes that a statement evaluates; infinite if it has no constant bound."""
    if isinstance(node, While):
        return math.inf
    inner = list(children(node))
    if not inner:
        return _node_count(node)
    total = sum(map(_max_nodes, inner)) + sum(_node_count(getattr(node, name, None)) for name in ("condition", "value"))
    if isinstance(node, For):
        trips = constant(node.extent)
        if trips is not None and trips <= 0:  # also where the body has no bound
            return 0.0
        return math.inf if trips is None else trips * (1 + total)
    return total


def _node_count(node: Any) -> float:
    """The number of expression nodes in ``node``; infinite if it calls a foreign function."""
    if node is None:
        return 0.0
    nodes = collect(node, Expr)
    foreign = any(isinstance(e, Call) and str(getattr(e.op, "name", "")).endswith(_FOREIGN) for e in nodes)
    return math.inf if foreign else 1.0 + len(nodes)


def _of_stores(node: Stmt) -> float:
    """Nanoseconds of all stores of a statement."""
    if isinstance(node, BufferStore):
        is_vector = int(node.value.ty.dtype.lanes) > 1
        return NANOSECONDS_PER_GLOBAL_VECTOR if is_vector and is_global(node.buffer) else NANOSECONDS_PER_STORE
    if isinstance(node, Evaluate):
        return NANOSECONDS_PER_STORE
    if isinstance(node, SeqStmt):
        return sum(_of_stores(part) for part in node.seq)
    inner = sum(_of_stores(child) for child in children(node))
    if isinstance(node, For):
        return inner * _trip_count(node.extent)
    return inner * UNKNOWN_TRIPS if isinstance(node, While) else inner


def _trip_count(extent: Any) -> int:
    trips = constant(extent)
    return UNKNOWN_TRIPS if trips is None else trips

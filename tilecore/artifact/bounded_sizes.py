"""Sizes of the call with a limit: shared memory that a block may not have.

A size beyond its limit is negative, so that the built launcher leaves the call to
:func:`~tilecore.runtime.arguments.bind`, which raises the error.
"""

from __future__ import annotations

from typing import Any

from tilecore.artifact.dims import Dim, DimExpr

MOST_SHARED = 2**31 - 1  # bytes, where the target has no limit of its own: indices in shared memory have 32 bits


def within(size: Any, limit: int) -> DimExpr:
    """A size, the tree of a DimExpr; -1 where it is negative or beyond the limit."""
    return DimExpr(("select", ("and", ("<=", 0, size), ("<=", size, limit)), size, -1))


def size_and_limit(dim: Dim) -> tuple[DimExpr, int] | None:
    """The size and the limit of what :func:`within` made; None for other sizes."""
    if isinstance(dim, int) or not (isinstance(dim.tree, tuple) and dim.tree[0] == "select" and dim.tree[3] == -1):
        return None
    return DimExpr(dim.tree[2]), dim.tree[1][2][2]

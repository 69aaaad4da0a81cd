"""Checks tensor sizes on devices with 32-bit indices: the limit is 2**31 bytes, or elements where several share a byte.

Tensors whose sizes are numbers are checked when the kernel is compiled, those with sizes of the call here. A plan's
grids become negative where a tensor is too large, so that the built launcher leaves the call to
:func:`~tilecore.runtime.arguments.bind`, which raises the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilecore.artifact.dims import Dim, DimExpr
from tilecore.dtypes import FACTS

if TYPE_CHECKING:
    from tilecore.artifact.records import Entry, TensorParam, Workspace

LARGEST = 2**31 - 1
SPLIT = "split the tensor, and call the kernel for each part"  # what users can do on every target


def extent_of(memory: TensorParam | Workspace) -> Dim:
    """Bytes from the first element to the last; elements where several share a byte."""
    strides = getattr(memory, "strides", None)
    shape = [_tree(size) for size in memory.shape]
    elements: Any = 1
    if strides is None:
        for size in shape:
            elements = ("*", elements, size)
    else:
        for size, stride in zip(shape, map(_tree, strides), strict=True):
            elements = ("+", elements, ("*", ("-", size, 1), ("max", stride, ("-", 0, stride))))
    bytes_each = max(1, FACTS[memory.dtype].bits // 8)
    return DimExpr(("*", elements, bytes_each))


def has_sizes_of_call(memory: TensorParam | Workspace) -> bool:
    """Does the call give a size or a stride of the tensor?"""
    strides = getattr(memory, "strides", None) or ()
    return any(isinstance(dim, DimExpr) for dim in (*memory.shape, *strides))


def guarded(entries: Sequence[Entry], memories: Sequence[TensorParam | Workspace]) -> tuple[Entry, ...]:
    """The entries with grids that are negative where one of ``memories`` is too large."""
    fits: Any = 1
    for memory in memories:
        if has_sizes_of_call(memory):
            fits = ("and", fits, ("<=", _tree(extent_of(memory)), LARGEST))
    if fits == 1:
        return tuple(entries)
    return tuple(replace(e, grid=(DimExpr(("select", fits, _tree(e.grid[0]), -1)), *e.grid[1:])) for e in entries)


def _tree(dim: Dim) -> Any:
    return dim.tree if isinstance(dim, DimExpr) else dim

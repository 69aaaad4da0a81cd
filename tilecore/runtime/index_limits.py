"""Checks tensor sizes on devices with 32-bit indices: the limit is 2**31 bytes, or elements where several share a byte.

Tensors whose sizes are numbers are checked when the kernel is compiled, those with sizes of the call at the launch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tilecore.artifact.dims import Dim, DimExpr
from tilecore.dtypes import FACTS

if TYPE_CHECKING:
    from tilecore.artifact.records import TensorParam, Workspace

LARGEST = 2**31 - 1
SPLIT = "split the tensor, and call the kernel for each part"  # what users can do on every target


def extent_of(memory: TensorParam | Workspace) -> Dim:
    """Bytes from the first element to the last; elements where several share a byte."""
    strides = getattr(memory, "strides", None)
    shape = [tree_of(size) for size in memory.shape]
    elements: Any = 1
    if strides is None:
        for size in shape:
            elements = ("*", elements, size)
    else:
        for size, stride in zip(shape, map(tree_of, strides), strict=True):
            elements = ("+", elements, ("*", ("-", size, 1), ("max", stride, ("-", 0, stride))))
    bytes_each = max(1, FACTS[memory.dtype].bits // 8)
    return DimExpr(("*", elements, bytes_each))


def has_sizes_of_call(memory: TensorParam | Workspace) -> bool:
    """Does the call give a size or a stride of the tensor?"""
    strides = getattr(memory, "strides", None) or ()
    return any(isinstance(dim, DimExpr) for dim in (*memory.shape, *strides))


def fitting(memories: Iterable[TensorParam | Workspace]) -> list[Any]:
    """The conditions, trees of a Dim, that each of ``memories`` with a size of the call is small enough."""
    return [("<=", tree_of(extent_of(memory)), LARGEST) for memory in memories if has_sizes_of_call(memory)]


def tree_of(dim: Dim) -> Any:
    """The tree of an expression; a number itself."""
    return dim.tree if isinstance(dim, DimExpr) else dim

"""Partitions a nest of parallel loops over threads where no fragment and no annotation determines the partition."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.ir.affine import coefficient
from tilecore.ir.attributes import LoopAttr
from tilecore.ir.build import cast, const, constant, dtype_of
from tilecore.ir.fragments import FragmentLayout, spread
from tilecore.ir.nodes import Var
from tilecore.ir.scopes import is_global, is_shared
from tilecore.ir.visit import substitute
from tilecore.lowering.analysis.assumptions import is_multiple
from tilecore.lowering.buffers.flatten_buffers import MAX_INT32, strides_of
from tilecore.lowering.simt.analysis.parallel_nests import Access, Nest

NO_DIVISORS: Mapping[Var, int] = {}
MOVE = 16  # bytes that one load or store instruction moves


def partition_of(
    nest: Nest, threads: int, warp: int = 0, assumed: Mapping[Var, int] = NO_DIVISORS, exact: bool = False
) -> FragmentLayout:
    """The partition of a nest over ``threads`` threads.

    Neighbouring threads take neighbouring elements of memory, each as many at once as one vector access can move; the
    pieces of a long row that a warp of ``warp`` threads takes are contiguous.

    assumed: known divisors of the call's sizes (lowering/analysis/assumptions.py). exact: no digit of the partition
    reaches past the end of a loop.
    """
    extents = [int(e) for e in nest.extents if e is not None]
    fastest = _fastest(nest)
    vector = 1 if fastest is None else _vector(nest, fastest, extents, threads, assumed)
    return spread(extents, threads, vector, fastest, 0 if fastest is None else warp, exact)


def memory_accesses(nest: Nest) -> list[Access]:
    """The nest's accesses of elements of global and shared memory; not those of a called function, to any element."""
    accesses = (a for a in nest.accesses if len(a.indices) == len(a.buffer.shape))
    return [a for a in accesses if is_global(a.buffer) or is_shared(a.buffer)]


def _fastest(nest: Nest) -> int | None:
    """The loop along which the most bytes are contiguous in memory, global memory first; None if there is none."""
    weights = [0.0] * len(nest.axes)
    for access in memory_accesses(nest) or nest.fragments():
        weight = 4.0 if is_global(access.buffer) else 1.0
        for axis, var in enumerate(nest.variables):
            if nest.extents[axis] != 1 and coefficient(offset_of(access), var) == 1:
                weights[axis] += weight * DType(dtype_of(access.buffer)).bits
    if not any(weights):
        return None
    return max(range(len(weights)), key=lambda axis: (weights[axis], axis))


def offset_of(access: Access) -> Any:
    """The element's offset in its buffer, in elements; int64 where strides are symbolic, or beyond int32."""
    total: Any = None
    for index, stride in zip(access.indices, strides_of(access.buffer), strict=True):
        step = constant(stride)
        wide = step is None or step > MAX_INT32
        term = cast(index, "int64") * cast(stride, "int64") if wide else index * const(step, dtype_of(index))
        if total is not None and dtype_of(total) != dtype_of(term):
            total, term = cast(total, "int64"), cast(term, "int64")
        total = term if total is None else total + term
    return total


def _vector(nest: Nest, axis: int, extents: list[int], threads: int, assumed: Mapping[Var, int]) -> int:
    """How many neighbouring elements a thread takes at once."""
    sizes = [DType(dtype_of(a.buffer)).bytes for a in memory_accesses(nest)] or [4]
    limit = max(1, MOVE // max(sizes))
    limit = min(limit, max(1, int(nest.node.annotations.get(LoopAttr.COALESCED_WIDTH, limit))))
    elements_per_thread = max(1, prod(extents) // threads)
    vector = 1
    while vector * 2 <= limit and extents[axis] % (vector * 2) == 0 and vector * 2 <= elements_per_thread:
        vector *= 2
    while vector > 1 and not all(movable(a, nest.variables[axis], vector, assumed) for a in memory_accesses(nest)):
        vector //= 2
    return vector


def movable(access: Access, var: Var, vector: int, assumed: Mapping[Var, int] = NO_DIVISORS) -> bool:
    """Are ``vector`` elements along ``var`` contiguous from a multiple of ``vector`` on, or all the same element?"""
    offset = offset_of(access)
    step = coefficient(offset, var)
    if step == 0:
        return True
    if step != 1:
        return False
    start = substitute(offset, {var: const(0, dtype_of(var))})
    return is_multiple(start, vector, assumed)

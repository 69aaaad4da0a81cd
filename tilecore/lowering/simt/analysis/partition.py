"""How a nest of parallel loops is dealt out to threads when nothing it touches says so."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.ir.affine import coefficient
from tilecore.ir.build import cast, const, constant, dtype_of
from tilecore.ir.fragments import FragmentLayout, spread
from tilecore.ir.nodes import Var
from tilecore.ir.scopes import is_global, is_shared
from tilecore.ir.visit import substitute
from tilecore.lowering.analysis.assumptions import is_multiple
from tilecore.lowering.buffers.flatten_buffers import strides_of
from tilecore.lowering.simt.analysis.parallel_nests import COALESCED_WIDTH, Access, Nest

NOTHING: Mapping[Var, int] = {}
MOVE = 16  # bytes that one instruction moves


def partition_of(nest: Nest, threads: int, warp: int = 0, assumed: Mapping[Var, int] = NOTHING) -> FragmentLayout:
    """Neighbouring threads take neighbouring elements of memory, each as many at once as one move can carry; the pieces
    of a long row that a warp of ``warp`` threads takes follow one another.

    assumed: numbers that divide sizes of the call (lowering/assumptions.py).
    """
    extents = [int(e) for e in nest.extents if e is not None]
    fastest = _fastest(nest)
    vector = 1 if fastest is None else _vector(nest, fastest, extents, threads, assumed)
    return spread(extents, threads, vector, fastest, 0 if fastest is None else warp)


def memory_accesses(nest: Nest) -> list[Access]:
    """Accesses of global and shared memory."""
    return [a for a in nest.accesses if is_global(a.buffer) or is_shared(a.buffer)]


def _fastest(nest: Nest) -> int | None:
    """The loop along which most bytes of global memory (else of any) are neighbours."""
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
    """The element's offset in its buffer."""
    total: Any = None
    for index, stride in zip(access.indices, strides_of(access.buffer), strict=True):
        wide = constant(stride) is None
        term = (
            cast(index, "int64") * cast(stride, "int64") if wide else index * const(constant(stride), dtype_of(index))
        )
        if total is not None and dtype_of(total) != dtype_of(term):
            total, term = cast(total, "int64"), cast(term, "int64")
        total = term if total is None else total + term
    return total


def _vector(nest: Nest, axis: int, extents: list[int], threads: int, assumed: Mapping[Var, int]) -> int:
    """Elements that a thread takes side by side."""
    sizes = [DType(dtype_of(a.buffer)).bytes for a in memory_accesses(nest)] or [4]
    most = max(1, MOVE // max(sizes))
    most = min(most, max(1, int(nest.node.annotations.get(COALESCED_WIDTH, most))))
    share = max(1, prod(extents) // threads)
    vector = 1
    while vector * 2 <= most and extents[axis] % (vector * 2) == 0 and vector * 2 <= share:
        vector *= 2
    while vector > 1 and not all(movable(a, nest.variables[axis], vector, assumed) for a in memory_accesses(nest)):
        vector //= 2
    return vector


def movable(access: Access, var: Var, vector: int, assumed: Mapping[Var, int] = NOTHING) -> bool:
    """Are ``vector`` elements along ``var`` neighbours that start at a multiple of ``vector`` (or all the same one)?"""
    offset = offset_of(access)
    step = coefficient(offset, var)
    if step == 0:
        return True
    if step != 1:
        return False
    rest = substitute(offset, {var: const(0, dtype_of(var))})
    return is_multiple(rest, vector, assumed)

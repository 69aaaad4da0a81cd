"""Finds the accumulator of a product that a loop adds to another fragment, element by element.

``total[i, j] += part[i, j] * scale[i]`` gives ``total`` the layout of ``part``, whatever else the loop computes.
"""

from __future__ import annotations

from tile_cuda.operations import WGMMA_GEMM
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import BufferStore, Evaluate, For, ForKind, Stmt, TensorLoad, Var
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.visit import collect

PRODUCTS = ("gemm", WGMMA_GEMM.name)


def products_into(accumulator: Var, body: Stmt) -> list[TileCall]:
    """The matrix products that write a buffer."""
    calls = [call for node in collect(body, Evaluate) if (call := as_tile_call(node)) is not None]
    return [call for call in calls if call.op.name in PRODUCTS and call.c.source.same_as(accumulator)]


def accumulator_of(fragment: Var, body: Stmt) -> Var:
    """The accumulator whose elements are added to those of the fragment at the same indices; else the fragment."""
    if products_into(fragment, body):
        return fragment
    for nest in collect(body, For):
        if nest.kind != ForKind.PARALLEL:
            continue
        for store in collect(nest, BufferStore):
            if store.buffer.same_as(fragment):
                accumulator = _read_beside(store, body)
                if accumulator is not None:
                    return accumulator
    return fragment


def _read_beside(store: BufferStore, body: Stmt) -> Var | None:
    """The accumulator of the same shape and type that the store's value reads at the store's indices."""
    if not all(isinstance(index, Var) for index in store.indices):
        return None
    for load in collect(store.value, TensorLoad):
        is_beside = len(load.indices) == len(store.indices) and all(
            index.same_as(other) for index, other in zip(load.indices, store.indices, strict=True)
        )
        is_alike = dtype_of(load.source) == dtype_of(store.buffer) and _shape(load.source) == _shape(store.buffer)
        if is_beside and is_alike and not load.source.same_as(store.buffer) and products_into(load.source, body):
            return load.source
    return None


def _shape(buffer: Var) -> list[int | None]:
    return [constant(size) for size in buffer.shape]

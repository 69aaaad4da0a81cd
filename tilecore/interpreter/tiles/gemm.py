"""Defines the meaning of gemm."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilecore.element_values import Value, ValueType, cast, round_to, value_type, wrap
from tilecore.errors import LanguageError
from tilecore.interpreter.scope import Scope, Statement
from tilecore.interpreter.state import State
from tilecore.interpreter.tiles.operands import Region, Tile, executing_lanes
from tilecore.interpreter.tiles.perturbation import perturbed
from tilecore.interpreter.tiles.registry import statement
from tilecore.ir.tile_ops import TileCall

_EXACT = float(2**53)
_ONE_THREAD = 2**18  # multiplications; OpenBLAS starts threads above


@statement("gemm")
def compile_gemm(scope: Scope, call: TileCall) -> Statement:
    """c = (0 if clear_accum else c) + op(a) @ op(b).

    Floats are multiplied and summed in float64 and rounded once to c's type; integers wrap in it.
    """
    regions = [Region.of(scope, operand) for operand in (call.a, call.b, call.c)]
    a_kind, b_kind, c_kind = (region.kind for region in regions)
    if (a_kind.is_float or b_kind.is_float) and not c_kind.is_float:
        raise scope.error(
            LanguageError,
            "T.gemm of floats accumulates into an integer",
            found=f"{a_kind.name} @ {b_kind.name} into {c_kind.name}",
            expected="a float accumulator",
        )
    clear = scope.expression(call.clear_accum)

    def run(state: State) -> None:
        lanes = executing_lanes(state, regions, "T.gemm")
        a, b, c = (region.tile(state, lanes) for region in regions)
        left, right = a.read_matrix("T.gemm"), b.read_matrix("T.gemm")
        left = np.swapaxes(left, -1, -2) if call.transpose_a else left
        right = np.swapaxes(right, -1, -2) if call.transpose_b else right
        _check_shapes(state, (a, b, c), left.shape[-2:], right.shape[-2:])
        product = _product(left, right, c_kind.name)
        forget = bool(c.access.site.uniform(state, clear(state), "clear_accum of a gemm"))
        c.write(_accumulate(c_kind, None if forget else c.read_matrix("T.gemm"), product).reshape(c.shape))

    return run


def _check_shapes(state: State, tiles: tuple[Tile, Tile, Tile], left: tuple[int, ...], right: tuple[int, ...]) -> None:
    a, b, c = tiles
    if left[1] != right[0] or c.matrix_shape("T.gemm") != (left[0], right[1]):
        raise c.access.site.error(
            state,
            LanguageError,
            "the shapes of a gemm do not fit",
            found=f"op({a.view.name}) {left}, op({b.view.name}) {right}, {c.view.name} {c.matrix_shape('T.gemm')}",
            expected="(M, K), (K, N) and (M, N)",
        )


def _product(left: np.ndarray, right: np.ndarray, c_dtype: str) -> Any:
    """The matrix product in float64, or in int64 when the products of integers may not be exact in it.

    c_dtype: of C, in which a device may keep the sums.
    """
    if left.dtype.kind != "f" and right.dtype.kind != "f":
        largest = [float(np.abs(m.astype(np.float64)).max(initial=0.0)) for m in (left, right)]
        if largest[0] * largest[1] * left.shape[-1] >= _EXACT:
            return left.astype(np.int64) @ right.astype(np.int64)
        return _matmul(left.astype(np.float64), right.astype(np.float64)).astype(np.int64)
    left, right = left.astype(np.float64), right.astype(np.float64)
    return perturbed(_matmul(left, right), lambda: _matmul(np.abs(left), np.abs(right)), c_dtype)


def _matmul(left: np.ndarray, right: np.ndarray) -> Any:
    """The product of float64 matrices in slabs of rows small enough that the BLAS library starts no threads, whose
    start costs more than a tile's product."""
    rows, columns = left.shape[-2], right.shape[-1]
    slab = rows
    while slab % 2 == 0 and slab * columns * left.shape[-1] > _ONE_THREAD:
        slab //= 2
    slabs = left.reshape(*left.shape[:-2], rows // max(slab, 1), slab, left.shape[-1])
    return (slabs @ right[..., None, :, :]).reshape(*left.shape[:-2], rows, columns)


def _accumulate(kind: ValueType, old: Value | None, product: Any) -> Value:
    if kind.is_float:
        return round_to(kind, product.astype(np.float64) + (0.0 if old is None else old.astype(np.float64)))
    total = cast(value_type("int64"), kind, product)
    return total if old is None else wrap(kind, old + total)

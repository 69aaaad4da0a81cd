"""The sizes and the elements of a gemm, for implementations of any family."""

from __future__ import annotations

from typing import Any

from tilecore.contract.passes import PassEnv
from tilecore.ir.build import cast, constant, dtype_of, load, store
from tilecore.ir.nodes import Expr, Stmt, TensorRegion
from tilecore.ir.reductions import accumulator
from tilecore.ir.regions import element_indices
from tilecore.ir.tile_ops import TileCall


class Operands:
    """The matrices of one gemm: element (m, k), (k, n) and (m, n) of A, B and C, whatever their transposition.

    m, n, k: :func:`gemm_sizes`.
    """

    def __init__(self, call: TileCall) -> None:
        self.call = call
        self.m, self.n, self.k = gemm_sizes(call)
        self.total = accumulator(dtype_of(call.c.source))

    def a(self, m: Any, k: Any) -> Expr:
        return cast(self._element(self.call.a, (k, m) if self.call.transpose_a else (m, k)), self.total)

    def b(self, k: Any, n: Any) -> Expr:
        return cast(self._element(self.call.b, (n, k) if self.call.transpose_b else (k, n)), self.total)

    def c(self, m: Any, n: Any) -> Expr:
        return cast(self._element(self.call.c, (m, n)), self.total)

    def store_c(self, m: Any, n: Any, value: Expr) -> Stmt:
        buffer = self.call.c.source
        return store(buffer, cast(value, dtype_of(buffer)), element_indices(self.call.c, m, n), self.call.span)

    def _element(self, region: TensorRegion, at: tuple[Any, Any]) -> Expr:
        return load(region.source, element_indices(region, *at), self.call.span)


def gemm_sizes(call: TileCall) -> tuple[int, int, int]:
    """M, N and K of a gemm, with 0 for a size that is not known when compiling."""
    ranges = *call.c.region[-2:], call.a.region[-2 if call.transpose_a else -1]
    m, n, k = (int(constant(r.extent) or 0) for r in ranges)
    return m, n, k


def needs_constant_sizes(call: TileCall, env: PassEnv) -> str | None:
    """Why an implementation that needs tiles of constant sizes does not apply; None where it does."""
    sizes = [r.extent for region in (call.a, call.b, call.c) for r in region.region]
    return None if all(constant(s) is not None for s in sizes) else "a tile size is not known when compiling"

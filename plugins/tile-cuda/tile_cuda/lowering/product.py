"""What one gemm asks of the matrix instructions: the instruction, the sizes, the warps' grid; or why it cannot be."""

from __future__ import annotations

from typing import NamedTuple

from tile_cuda.lowering.shapes import COLUMNS, SHAPES, Shape
from tile_cuda.lowering.warps import WARP, policy_of, warp_grid
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.passes import PassEnv
from tilecore.lowering.simt.partition import is_fragment


class Product(NamedTuple):
    """m, n, k: the sizes of the block's product. along_m, along_n: warps along them."""

    m: int
    n: int
    k: int
    along_m: int
    along_n: int
    shape: Shape

    @property
    def m_tiles(self) -> int:
        """Instructions of a warp along M."""
        return self.m // self.along_m // self.shape.rows

    @property
    def n_tiles(self) -> int:
        return self.n // self.along_n // COLUMNS

    @property
    def steps(self) -> int:
        """Instructions along K."""
        return self.k // self.shape.depth


def product_of(call: TileCall, env: PassEnv, threads: int | None) -> Product | str:
    """The product, or why it cannot be done so."""
    kinds = tuple(dtype_of(r.source) for r in (call.a, call.b, call.c))
    arch = int("".join(c for c in str(env.target.get("arch", "")) if c.isdigit()) or 0)
    shape = next((s for s in SHAPES if (s.a, s.b, s.c) == kinds), None)
    if shape is None:
        return f"no instruction for {', '.join(kinds)}"
    if arch < shape.least:
        return f"needs sm_{shape.least}, and the target is sm_{arch}"
    sizes = [constant(r.extent) for region in (call.a, call.b, call.c) for r in region.region[-2:]]
    if any(s is None for s in sizes):
        return "a tile size is not known when compiling"
    m, n = (int(constant(r.extent) or 0) for r in call.c.region[-2:])
    k = int(constant(call.a.region[-2 if call.transpose_a else -1].extent) or 0)
    if not is_fragment(call.c.source):
        return "C is no fragment"
    whole = zip(call.c.region, call.c.source.shape, strict=True)
    if any(constant(r.min) != 0 or constant(r.extent) != constant(s) for r, s in whole):
        return "C is a part of a fragment"
    if k % shape.depth:
        return f"K = {k} is no multiple of {shape.depth}"
    if threads is None:
        return Product(m, n, k, 1, 1, shape)
    grid = warp_grid(m, n, threads // WARP, policy_of(call), shape.rows, COLUMNS) if threads % WARP == 0 else None
    if grid is None:
        return f"{m} x {n} does not divide into {shape.rows} x {COLUMNS} pieces over {threads} threads"
    return Product(m, n, k, *grid, shape)

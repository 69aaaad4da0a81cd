"""gemm with tile registers (AMX): 16 x 16 accumulators, from 16 rows of A and 16 columns of B of 64 bytes along K each.

amx_operands.py has the layouts of the operands, amx_product.py the order of the products.
Intel 64 and IA-32 architectures SDM, volume 1, chapter 18 (AMX), volume 2: LDTILECFG, TILELOADD, TDPBF16PS, TDPBSSD.
"""

from __future__ import annotations

from tilecore.backends.cpu.amx_operands import (
    Product,
    layouts,
    product_of_call,
    sums_of,
)
from tilecore.backends.cpu.target import features_in
from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.dtypes import dtype as DType
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import Stmt
from tilecore.ir.regions import is_whole_tile
from tilecore.ir.scopes import is_global
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.loops.register_tiles import is_copied_in_passing, is_hoisted, is_in_place
from tilecore.lowering.tile_ops.gemm import gemm_sizes, needs_constant_sizes


def matches(call: TileCall, env: PassEnv) -> str | None:
    product = product_of_call(call)
    if product is None:
        kinds = [dtype_of(region.source) for region in (call.a, call.b, call.c)]
        return f"element types {', '.join(kinds)}, for which there is no instruction"
    features = features_in(env.target)
    missing = [feature for feature in ("amx-tile", product.feature) if feature not in features]
    if missing:
        return f"the target has no {', '.join(missing)}"
    return needs_constant_sizes(call, env) or _shapes(call, product) or _memory(call)


def _shapes(call: TileCall, product: Product) -> str | None:
    if call.transpose_a:
        return "A is transposed: its neighbours along K do not lie together"
    _, _, depth = gemm_sizes(call)
    if depth < product.step:
        return f"K is less than {product.step}"
    if not is_whole_tile(call.b) and not is_copied_in_passing(call, "b"):
        return "B is a part of a buffer"
    return "A and B are one buffer" if call.b.source.same_as(call.a.source) else None


def _memory(call: TileCall) -> str | None:
    """The rows of A and C must lie at one distance, and be known to lie inside their buffers."""
    for name, region in (("a", call.a), ("c", call.c)):
        if is_global(region.source) and not (is_in_place(call, name) or is_hoisted(call, name)):
            return f"{name.upper()} is a tensor that the kernel multiplies without a copy"
        if any(constant(size) is None for size in region.source.shape) or len(region.source.strides or ()):
            return f"the rows of {name.upper()} lie at distances that only the call knows"
    return None


def in_place(call: TileCall, env: PassEnv) -> frozenset[str]:
    """A; and C where it is a tensor of narrower floats."""
    narrower = DType(dtype_of(call.c.source)).bits < DType(sums_of(call)).bits and sums_of(call) == "float32"
    return frozenset("ac" if narrower else "a")


def copies_in_passing(call: TileCall, env: PassEnv) -> frozenset[str]:
    """B: the first strip of A interleaves the rows of each panel that it needs."""
    return frozenset() if call.transpose_b else frozenset("b")


def lower(call: TileCall, env: PassEnv) -> Stmt:
    from tilecore.backends.cpu.amx_product import TileProduct  # with the first gemm that needs it

    return TileProduct(call, env).lower()


IMPLEMENTATIONS = (
    TileOpImpl(
        "gemm",
        "AMX tiles",
        lower,
        matches,
        priority=20,
        needs_layouts=True,
        layouts=layouts,
        in_place=in_place,
        copies_in_passing=copies_in_passing,
    ),
)

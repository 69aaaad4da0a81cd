"""With TL_ENABLE_FAST_MATH, contracts sums and differences of two products, such as ``a * s - b * s``.

The language rounds both products (docs/language.md, "Fused multiply-adds"); fast math rounds one.
"""

from __future__ import annotations

from tile_cuda.options import FAST_MATH
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir import contraction
from tilecore.ir.nodes import Add, PrimFunc, Sub, structural_map


def contract_products(func: PrimFunc, env: PassEnv) -> PrimFunc:
    if not FAST_MATH.value_in(env.config):
        return func
    return func.with_body(structural_map(func.body, ((Add, Sub), contraction.contract_products)))


CONTRACT_PRODUCTS = Pass("contract_products", contract_products)

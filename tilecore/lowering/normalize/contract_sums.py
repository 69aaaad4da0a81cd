"""Makes fused multiply-adds by the language's one rule, before all other passes."""

from __future__ import annotations

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.contraction import contracted
from tilecore.ir.nodes import PrimFunc


def contract_sums(func: PrimFunc, env: PassEnv) -> PrimFunc:
    return contracted(func)


CONTRACT_SUMS = Pass("contract_sums", contract_sums)

"""Contracts a product and a sum to a fused multiply-add by the rule of the language, before all other passes."""

from __future__ import annotations

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.contraction import contracted
from tilecore.ir.nodes import PrimFunc


def contract_sums(func: PrimFunc, env: PassEnv) -> PrimFunc:
    return contracted(func)


CONTRACT_SUMS = Pass("contract_sums", contract_sums)

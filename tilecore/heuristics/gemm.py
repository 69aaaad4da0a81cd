"""Proposes configurations of a GEMM for a target."""

from __future__ import annotations

from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import ArgumentError
from tilecore.heuristics.chip import Chip, chip_of
from tilecore.heuristics.gemm_model import Estimate, estimate
from tilecore.heuristics.gemm_space import Tiling, Work, tilings
from tilecore.heuristics.proposal import Proposal

LAYOUTS = ("NN", "NT", "TN", "TT")


def gemm(
    M: int, N: int, K: int, dtype: str = "float16", out_dtype: str | None = None, layout: str = "NN", *,
    target: Any = "auto", count: int = 8,
) -> list[Proposal]:  # fmt: skip
    work = Work(M, N, K, str(DType(dtype)), str(DType(out_dtype or dtype)), layout)
    chip = chip_of(target)
    ranked = sorted(((estimate(work, t, chip), t) for t in tilings(work, chip)), key=lambda pair: pair[0].seconds)
    return [_proposal(work, tiling, guess, chip) for guess, tiling in ranked[:count]]


def _proposal(work: Work, t: Tiling, guess: Estimate, chip: Chip) -> Proposal:
    config = {
        "block_M": t.block_M, "block_N": t.block_N, "block_K": t.block_K, "stages": t.stages, "threads": t.threads,
        "split_k": t.split_k,
    }  # fmt: skip
    reason = f"{guess.blocks} tiles, {guess.waves:.2f} waves, parts {guess.parts}; limited by {guess.limit}"
    return Proposal(config, guess.seconds * 1e3, reason)

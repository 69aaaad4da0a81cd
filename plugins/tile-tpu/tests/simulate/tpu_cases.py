"""All cases, by family."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from cases_elementwise import binary, compares, integers, shifts, unary
from cases_functions import casts, functions
from cases_tiles import indices, moves, products, programs, reductions
from tpu_case import Case, agree

__all__ = ["FAMILIES", "Case", "agree", "binary", "casts", "family", "moves", "products"]

FAMILIES = (
    binary, integers, compares, unary, functions, casts, moves, products, reductions, indices, shifts, programs,
)  # fmt: skip


def family(make: Callable) -> list[Case]:
    return list(make(np.random.default_rng(7)))

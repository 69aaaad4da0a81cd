"""Reductions over all 32 lanes of a simdgroup are one call: ``simd_sum``, ``simd_max`` and so on.

They take the place of five exchanges. Those of float maxima and minima do so where no value is a NaN: the specification
does not say what ``simd_max`` makes of one. They take no 64-bit integers (6.9.2 of the specification).
"""

from __future__ import annotations

from tile_metal.instructions import reduce_lanes
from tilecore.contract.passes import Pass, PassEnv
from tilecore.dtypes import FACTS
from tilecore.ir.build import dtype_of
from tilecore.ir.nodes import Expr, PrimFunc
from tilecore.ir.reductions import NUMBERS, combining_kind
from tilecore.lowering.simt.lower_allreduce import LOWER_ALLREDUCE, lower_allreduce

_FUNCTIONS = {
    "sum": "sum", "prod": "product", "max": "max", "min": "min", "bitand": "and", "bitor": "or", "bitxor": "xor",
}  # fmt: skip
_FLOATS = ("float32", "float16", "bfloat16")  # bfloat16 by way of float32


def reduce_simdgroups(func: PrimFunc, env: PassEnv) -> PrimFunc:
    return lower_allreduce(func, env, _of_simdgroup)


def _of_simdgroup(kind: str, value: Expr) -> Expr | None:
    """The call, or None where Metal has none with the meaning of ``kind``."""
    dtype = dtype_of(value)
    facts = FACTS[dtype]
    has_no_nan = facts.kind != "float" or kind.endswith(NUMBERS)
    function = _FUNCTIONS[combining_kind(kind.removesuffix(NUMBERS).removesuffix(".nan"))]
    if facts.kind == "float":
        has_function = dtype in _FLOATS and (has_no_nan or function in ("sum", "product"))
    elif facts.kind == "bool":
        function = "or" if function == "sum" else function
        has_function = function in ("and", "or", "xor")
    else:
        has_function = 8 <= facts.bits <= 32
    return reduce_lanes(function, value) if has_function else None


REDUCE_SIMDGROUPS = Pass("lower_allreduce", reduce_simdgroups, LOWER_ALLREDUCE.needs, LOWER_ALLREDUCE.leaves)

"""Leaves copies of tiles to gemms that make them in passing, which their implementation says: what they read of the
tensor for the first rows they store for the others.

The pass follows hoist_copies: a tile that several blocks need is better copied once for all of them.
"""

from __future__ import annotations

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.attributes import CallAttr
from tilecore.ir.nodes import PrimFunc
from tilecore.lowering.loops.tensor_operands import read_from_tensors


def copy_in_passing(func: PrimFunc, env: PassEnv) -> PrimFunc:
    return read_from_tensors(
        func,
        env,
        lambda impl, call, env: impl.copies_in_passing(call, env),
        CallAttr.IN_PASSING,
        "copied in passing",
        "is copied by the gemm while it multiplies the first rows",
    )


COPY_IN_PASSING = Pass("copy_in_passing", copy_in_passing)

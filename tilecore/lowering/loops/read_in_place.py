"""Leaves out copies of tiles that a gemm reads as fast from the tensor itself, which its implementation says."""

from __future__ import annotations

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.attributes import CallAttr
from tilecore.ir.nodes import PrimFunc
from tilecore.lowering.loops.tensor_operands import read_from_tensors


def read_in_place(func: PrimFunc, env: PassEnv) -> PrimFunc:
    return read_from_tensors(
        func,
        env,
        lambda impl, call, env: impl.in_place(call, env),
        CallAttr.IN_PLACE,
        "read in place",
        "is read in place, without a copy",
    )


READ_IN_PLACE = Pass("read_in_place", read_in_place)

"""add_branch_barriers: a branch with a barrier ends with one, where a target needs that."""

from __future__ import annotations

import pytest

import tilecore.language as T
from tilecore.ir.build import statements_of
from tilecore.ir.nodes import IfThenElse
from tilecore.ir.visit import collect
from tilecore.lowering.simt.add_branch_barriers import FEATURE
from tilecore.lowering.simt.insert_barriers import collect_barriers

from .kit import CAPABILITIES, lowered


@pytest.mark.parametrize("closed", [False, True])
def test_a_branch_with_a_barrier_ends_with_one_where_a_target_needs_that(closed):
    @T.prim_func
    def kernel(X: T.Tensor((2, 32), "int32"), Y: T.Tensor((2, 32), "int32")):
        with T.Kernel(2, threads=32) as by:
            t = T.alloc_shared((32,), "int32")
            if by == 1:
                T.copy(X[by, 0], t)
                for i in T.Parallel(32):
                    Y[by, i] = t[31 - i]
            else:
                for i in T.Parallel(32):
                    Y[by, i] = 1

    features = CAPABILITIES.features | ({FEATURE} if closed else set())
    func, _ = lowered(kernel, "add_branch_barriers", features=features)
    (branch,) = (node for node in collect(func.body, IfThenElse) if node.else_case is not None)
    last = statements_of(branch.then_case)[-1]
    assert len(collect_barriers(branch.then_case)) == 1 + closed
    assert (len(collect_barriers(last)) == 1) == closed
    assert not collect_barriers(branch.else_case)

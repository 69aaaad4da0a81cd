"""The pass runs first, whatever the family, and no edit reaches it."""

from __future__ import annotations

import pytest

import tilecore.language as T
from tilecore.compiler import CompileOptions, lower
from tilecore.lowering.loops.pipeline import STEPS as LOOPS
from tilecore.lowering.normalize.contract_sums import CONTRACT_SUMS
from tilecore.lowering.simt.pipeline import STEPS as SIMT
from tilecore.plugins import manager


@pytest.mark.parametrize("family", [LOOPS, SIMT])
def test_it_is_no_step_that_a_backend_edits(family):
    assert CONTRACT_SUMS not in family


def test_it_comes_first():
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(8):
                A[i] = A[i] * A[i] + 1.0

    backend, target = manager.resolve("cpu")
    module, env = lower(kernel.ir, backend, target, CompileOptions())
    assert env.report["passes"][0]["name"] == "contract_sums"
    assert "fma" in str(module)

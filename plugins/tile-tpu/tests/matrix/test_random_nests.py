"""Random nests of T.Parallel loops: the results equal those of the interpreter, bit for bit."""

from __future__ import annotations

import numpy as np
import random_nests
from hypothesis import HealthCheck, assume, given, settings

import tilecore
import tilecore.language as T
from tilecore.errors import RaceError
from tilecore.interpreter import interpret


@settings(max_examples=30, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(random_nests.programs())
def test_random_nests(backend, program):
    kernel, arrays = random_nests.kernel_of(program)
    expected = [array.copy() for array in arrays]
    try:
        interpret(kernel.ir, *expected)
    except RaceError:
        assume(False)
    tilecore.compile(kernel, target="tpu", execution_backend=backend)(*arrays)
    for number, (mine, other) in enumerate(zip(arrays, expected, strict=True)):
        wide = [array.astype(np.float64) for array in (mine, other)]
        np.testing.assert_array_equal(*wide, err_msg=f"argument {number} of {program}")


def test_a_condition_of_the_block_beside_one_of_the_iteration(backend):
    """The first condition is uniform, so both operands of the select are scalars."""

    @T.prim_func
    def kernel(X: T.Tensor((3, 20), "float32"), Y: T.Tensor((3, 20), "float32")):
        with T.Kernel(3) as block:
            for i in T.Parallel(20):
                Y[block, i] = T.if_then_else(i < 7 or block == 1, X[block, i], 0.0)
            for i in T.Parallel(20):
                if i > 11 and block < 2:
                    Y[block, i] = 2.0

    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((3, 20)).astype(np.float32) for _ in "xy")
    expected = [x.copy(), y.copy()]
    interpret(kernel.ir, *expected)
    tilecore.compile(kernel, target="tpu", execution_backend=backend)(x, y)
    np.testing.assert_array_equal(y, expected[1])

"""Random nests of T.Parallel loops: bit for bit what the interpreter gives."""

from __future__ import annotations

import numpy as np
import random_nests
from hypothesis import HealthCheck, assume, given, settings

import tilecore
from tilecore.errors import RaceError
from tilecore.interpreter import interpret


@settings(max_examples=30, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(random_nests.programs())
def test_random_nests(backend, program):
    kernel, arrays = random_nests.kernel_of(program)
    want = [array.copy() for array in arrays]
    try:
        interpret(kernel.ir, *want)
    except RaceError:
        assume(False)
    tilecore.compile(kernel, target="tpu", execution_backend=backend)(*arrays)
    for number, (mine, other) in enumerate(zip(arrays, want, strict=True)):
        wide = [array.astype(np.float64) for array in (mine, other)]
        np.testing.assert_array_equal(*wide, err_msg=f"argument {number} of {program}")

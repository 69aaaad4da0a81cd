"""set_launch_bounds: kernels that reallocate registers ask for one block on each multiprocessor."""

from __future__ import annotations

import pytest
from tile_cuda.lowering.hopper.set_launch_bounds import MIN_BLOCKS, SET_LAUNCH_BOUNDS

import tilecore.language as T
from tilecore.testing.kernel_text import text

from .kernels import pipelined, scaled
from .one_pass import around_pass

PASS = "set_launch_bounds"


def bounds(module):
    return [func.attrs.get(MIN_BLOCKS) for func in module.functions.values()]


@T.prim_func
def by_hand(X: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=256):
        with T.ws(0):
            T.set_max_nreg(24, 0)
        with T.ws(1):
            T.set_max_nreg(240, 1)
            X[0] = 1.0
    with T.Kernel(1, threads=256):
        X[1] = 1.0


@pytest.mark.parametrize(("kernel", "expected"), [(by_hand, [1, None]), (pipelined(threads=384, tile=(192, 256)), [1])])
def test_a_kernel_that_reallocates_registers_is_bound(kernel, expected):
    before, after, _ = around_pass(kernel, PASS)
    assert bounds(before) == [None] * len(expected)
    assert bounds(after) == expected
    assert text(before) == text(after)


def test_other_kernels_stay_unbound():
    for kernel in (scaled, pipelined()):
        _, after, _ = around_pass(kernel, PASS)
        assert bounds(after) == [None]


def test_a_bound_that_the_kernel_has_stays():
    before, _, env = around_pass(by_hand, PASS)
    ((variable, func), _) = before.functions.items()
    bound = type(before)({str(variable.name_hint): func.with_attr(MIN_BLOCKS, 2)})
    assert bounds(SET_LAUNCH_BOUNDS.run(bound, env)) == [2]

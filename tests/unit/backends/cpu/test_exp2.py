"""exp2 of float32 over the whole range of arguments, on the processors whose instructions it is made of."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.backends.cpu.processors import features_of
from tilecore.backends.cpu.target import host_features

COUNT = 1 << 16
SPECIAL = (
    (np.inf, np.inf), (-np.inf, 0), (0.0, 1), (-0.0, 1), (1, 2), (-1, 0.5), (127, 2.0**127), (128, np.inf),
    (-126, 2.0**-126), (-149, 2.0**-149), (-151, 0), (1e30, np.inf), (-1e30, 0), (-1e-10, 1), (1e-40, 1),
)  # fmt: skip


@tilecore.jit
def powers():
    @T.prim_func
    def kernel(X: T.Tensor((COUNT,), "float32"), Y: T.Tensor((COUNT,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(COUNT):
                Y[i] = T.exp2(X[i])

    return kernel


def exp2(x, target):
    y = np.full(COUNT, 7, np.float32)
    tilecore.jit(powers.func, target=target)()(x, y)
    return y


OPTIONS = ["native", "skylake-avx512", "skylake-avx512 -vector_bits=256", "haswell", "generic"]


@pytest.mark.parametrize("options", OPTIONS)
def test_exp2_is_within_two_units_of_the_last_place(options):
    missing = set() if options == "native" else set(features_of(options.split()[0])) - set(host_features())
    if missing:
        pytest.skip(f"the processor has no {', '.join(sorted(missing))}")
    target = f"cpu -march={options}"
    # every 65521th pattern of bits, in the whole range of patterns: all exponents, denormal numbers, NaN
    x = (np.arange(COUNT, dtype=np.uint64) * 65521 % 2**32).astype(np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        x = np.where(np.abs(x) > 1e3, x % 150, x).astype(np.float32)  # most patterns would overflow
        y, exact = exp2(x, target), np.exp2(x.astype(np.float64))
    assert (np.isnan(y) == np.isnan(x)).all()
    known = ~np.isnan(x) & (exact < 2.0**128)
    unit = np.maximum(2.0 ** (np.floor(np.log2(np.maximum(exact[known], 2.0**-149))) - 23), 2.0**-149)
    assert (np.abs(y[known] - exact[known]) <= 2 * unit).all()
    assert np.isinf(y[exact >= 2.0**128]).all()


@pytest.mark.parametrize("target", ["cpu", "cpu -march=generic"])
def test_special_values(target):
    x = np.zeros(COUNT, np.float32)
    x[: len(SPECIAL)], expected = np.array(SPECIAL, np.float32).T
    np.testing.assert_array_equal(exp2(x, target)[: len(SPECIAL)], expected)

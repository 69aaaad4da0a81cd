"""Values that some iterations read before all of them write: they are what was read."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T


@pytest.mark.parametrize("count", [1, 5, 16, 17, 33, 64])
@pytest.mark.parametrize("dtype", ["int32", "float32", "int8", "float64"])
@pytest.mark.parametrize("march", ["native", "x86-64"])
def test_a_value_read_before_a_store_under_a_condition(count, dtype, march):
    @T.prim_func
    def kernel(X: T.Tensor((count,), dtype), Y: T.Tensor((count,), dtype)):
        with T.Kernel(1):
            for i in T.Parallel(count):
                v = T.alloc_var(dtype, init=T.cast(i, dtype))
                if v > 0:
                    x = X[i]
                    X[i] = 1
                    v = x
                Y[i] = v

    x, y = np.arange(100, 100 + count).astype(dtype), np.zeros(count, dtype)
    expected = np.where(np.arange(count) > 0, x, 0)
    target = "cpu" if march == "native" else f"cpu -march={march}"
    try:
        compiled = tilecore.compile(kernel, target=target)
    except tilecore.errors.TargetError:
        pytest.skip(f"no {march} here")
    compiled(x, y)
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(x[1:], np.ones(count - 1, dtype))

"""Shared memory whose size only the call gives, and which varies between calls."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import ArgumentError
from tilecore.interpreter import interpret

from . import thread_code
from .kit import compiled, copies, sample, zeros


def test_sizes_that_vary_between_calls(target):
    """Several buffers of several types beside one of constant size, of dynamic sizes and of a scalar."""
    if target == thread_code.NAME:
        pytest.skip("thread IR is run here with arrays of constant sizes")
    n = T.dynamic("n")

    @T.prim_func
    def kernel(
        X: T.Tensor((n,), "float32"), H: T.Tensor((2, n, 4), "int8"), Y: T.Tensor((2, n), "float32"), m: T.int32
    ):  # fmt: skip
        with T.Kernel(2, threads=64) as b:
            c = T.alloc_shared((16,), "float32")
            half = n // 2
            s = T.alloc_shared((n,), "float32")
            h = T.alloc_shared((half * 2 + n % 2, 4), "int8")
            r = T.alloc_shared((m + 1,), "float32")
            T.copy(X, s)
            T.copy(H[b, :, :], h)
            for i in T.Parallel(16):
                c[i] = i
            for i in T.serial(m):
                r[i] = s[n - 1 - i] * 2
            for i in T.Parallel(n):
                s[i] = s[i] + c[i % 16] + h[i, 1] + b
            T.copy(s, Y[b, :])
            for i in T.serial(m):
                Y[b, i] += r[i]

    built = compiled(kernel, target)
    for size, count in ((100, 3), (1000, 7), (33, 0), (100, 3)):
        x, h = sample("float32", (size,)), sample("int8", (2, size, 4))
        expected = x + np.arange(size, dtype=np.float32) % 16 + h[:, :, 1].astype(np.float32) + np.float32([[0], [1]])
        expected[:, :count] += (x[::-1] * 2)[:count]
        for run in (built, lambda *args: interpret(kernel.ir, *args)):
            arrays = copies((x, h, zeros("float32", (2, size))))
            run(*arrays, count)
            np.testing.assert_allclose(arrays[2], expected, rtol=1e-6)
    limit = built.backend.target.capabilities(built.target).shared_bytes
    if limit:
        with pytest.raises(ArgumentError, match="bytes of shared memory"):
            built(zeros("float32", (limit,)), zeros("int8", (2, limit, 4)), zeros("float32", (2, limit)), 0)
    with pytest.raises(ArgumentError):
        built(*arrays, -200)

"""A cache of its own for the session, and small kernels on the host."""

from __future__ import annotations

import pytest
from kernel_caches import private_cache

import tilecore.language as T
from tilecore.jit.compile import compile


@pytest.fixture(scope="session", autouse=True)
def session_cache(tmp_path_factory):
    with private_cache(tmp_path_factory.mktemp("cache")):
        yield


def scaled_sum(factor=2, name="scaled_sum"):
    """C = factor * A + B, 2-D."""

    @T.prim_func
    def scaled_sum(A: T.Tensor((4, 8), "float32"), B: T.Tensor((4, 8), "float32"), C: T.Tensor((4, 8), "float32")):
        with T.Kernel(4) as row:
            for j in T.Parallel(8):
                C[row, j] = factor * A[row, j] + B[row, j]

    return scaled_sum


@pytest.fixture(scope="session")
def returning():
    """A kernel that returns C."""
    return compile(scaled_sum(), out_idx=-1, target="cpu")


@pytest.fixture(scope="session")
def in_place():
    """The same, writing into an argument."""
    return compile(scaled_sum(), target="cpu")


@pytest.fixture(scope="session")
def dynamic():
    """B = A + 1 for any length n; C has m * 2 + 1 elements of A's type and scale is a number."""
    n, m = T.dynamic("n"), T.dynamic("m")

    @T.prim_func
    def shift(
        A: T.Tensor((n,), "float32"), C: T.Tensor((m * 2 + 1,), "int32"), step: T.int32, B: T.Tensor((n,), "float32")
    ):
        with T.Kernel(1):
            for i in T.serial(n):
                B[i] = A[i] + step + C[0] - C[0]

    return compile(shift, out_idx=-1, target="cpu")

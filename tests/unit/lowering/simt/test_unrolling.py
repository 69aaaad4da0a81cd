"""Which nests of a thread are unrolled."""

import pytest

import tilecore.language as T
from tilecore.ir.nodes import For, ForKind
from tilecore.ir.visit import collect

from .kit import lowered

N = 2048


def kinds_of(statements, dtype="int32"):
    """The kinds of the loops of a nest of 64 steps a thread, with so many statements."""

    @T.prim_func
    def kernel(X: T.Tensor((N,), dtype), Y: T.Tensor((N,), dtype)):
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((N,), dtype)
            T.copy(X, s)
            for i in T.Parallel(N):
                for _ in (0,) * statements:
                    s[i] = s[i] * 3 + 1
            T.copy(s, Y)

    module, _ = lowered(kernel)
    (func,) = module.functions.values()
    return {loop.kind for loop in collect(func.body, For) if " * 3" in str(loop)}


@pytest.mark.parametrize("statements", [1, 8])
def test_short_nests_are_unrolled(statements):
    assert ForKind.SERIAL not in kinds_of(statements)


@pytest.mark.parametrize("statements", [9, 40])
def test_nests_of_many_statements_are_loops(statements):
    """64 copies of 40 statements took nvcc 47 seconds."""
    assert ForKind.SERIAL in kinds_of(statements)

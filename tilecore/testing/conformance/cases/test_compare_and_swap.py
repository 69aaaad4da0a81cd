"""T.atomic_cas: one thread of many wins, locks and claims of slots come out right; refused where a target has none."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import UnsupportedError

from .kit import check, compiled, has_feature, needs_type, zeros


def swaps(dtype):
    @T.prim_func
    def kernel(X: T.Tensor((64,), dtype), A: T.Tensor((64,), dtype), W: T.Tensor((64,), dtype)):
        with T.Kernel(2, threads=32) as b:
            for i in T.Parallel(32):
                at = b * 32 + i
                W[at] = T.atomic_cas(A[at], X[at], 7)

    return kernel


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64", "int16", "uint8", "int8"])
def test_elements_of_their_own(target, dtype):
    """Stored where the element is equal; the value before comes back everywhere."""
    if not has_feature(target, "compare_and_swap"):
        needs_type(target, dtype)
        with pytest.raises(UnsupportedError, match=r"T\.atomic_cas") as caught:
            tilecore.compile(swaps(dtype), target=target)
        assert caught.value.location is not None
        assert caught.value.hint
        return
    before = np.arange(64).astype(dtype)
    compare = np.where(np.arange(64) % 3 == 0, before, before + 1).astype(dtype)
    got = check(swaps(dtype), target, compare, before.copy(), zeros(dtype, (64,)))
    np.testing.assert_array_equal(got[1], np.where(compare == before, 7, before))
    np.testing.assert_array_equal(got[2], before)


def test_one_wins(target):
    """Of all that compete for a slot exactly one finds it free; beyond the tensor nothing is done."""

    @T.prim_func
    def kernel(S: T.Tensor((8,), "int32"), N: T.Tensor((8,), "int32")):
        with T.Kernel(4, threads=64) as b:
            for i in T.Parallel(64):
                slot = (b * 64 + i) % 9
                if T.atomic_cas(S[slot], -1, b * 64 + i, memory_order="acq_rel") == -1:
                    T.atomic_add(N[slot], 1)

    if not has_feature(target, "compare_and_swap"):
        pytest.skip("the target has no compare-and-swap")
    slots, wins = np.full(8, -1, np.int32), np.zeros(8, np.int32)
    compiled(kernel, target)(slots, wins)
    assert (wins == 1).all()
    assert (slots % 9 == np.arange(8)).all()


def test_a_largest_by_hand(target):
    """The loop that compare-and-swap is for: read, compute, try until nobody came between."""

    @T.prim_func
    def kernel(X: T.Tensor((256,), "int32"), M: T.Tensor((1,), "int32")):
        with T.Kernel(4, threads=64) as b:
            t = T.get_thread_binding()
            mine = X[b * 64 + t]
            seen = T.alloc_var("int32", init=T.atomic_load(M[0], "relaxed"))
            before = T.alloc_var("int32", init=0)
            done = T.alloc_var("bool", init=False)
            while not done:
                if seen >= mine:
                    done = True
                else:
                    before = T.atomic_cas(M[0], seen, mine)
                    done = before == seen
                    seen = before

    if not has_feature(target, "compare_and_swap"):
        pytest.skip("the target has no compare-and-swap")
    x = np.random.default_rng(0).integers(-1000, 1000, 256).astype(np.int32)
    most = np.full(1, -(2**31), np.int32)
    compiled(kernel, target)(x, most)
    assert most[0] == x.max()

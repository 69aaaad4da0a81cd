"""The pass plan_prefetches: the next step's tiles are fetched while a step multiplies, and nothing else changes."""

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.ir.attributes import CallAttr
from tilecore.ir.nodes import Evaluate
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.visit import collect

from ..kit import lowered


def product(stages, types=("float32", "float32"), steps=4, shift=None):
    a_type, c_type = types
    depth = 32 * steps

    @T.prim_func
    def kernel(
        A: T.Tensor((40, depth), a_type), B: T.Tensor((depth, 64), a_type), C: T.Tensor((40, 64), c_type), N: T.int32
    ):
        with T.Kernel(2) as by:
            a, b = T.alloc_shared((32, 32), a_type), T.alloc_shared((32, 64), a_type)
            c = T.alloc_fragment((32, 64), c_type)
            T.clear(c)
            for k in T.Pipelined(steps if shift is None else N, num_stages=stages):
                T.copy(A[by * 32, k * 32], a)
                T.copy(B[k * 32, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 32, 0])

    return kernel


def fetches(func):
    """Does a gemm fetch the next step's tiles?"""
    planned, _ = lowered(func, "plan_prefetches")
    calls = [as_tile_call(node) for node in collect(planned.body, Evaluate)]
    return any(CallAttr.PREFETCH in call.hints for call in calls if call is not None)


@pytest.mark.parametrize("types", [("float32", "float32"), ("int8", "int32"), ("bfloat16", "float32")], ids=str)
@pytest.mark.parametrize("dynamic", [False, True])
def test_pipelined_loops_fetch_ahead_also_past_the_edges(types, dynamic):
    func = product(2, types, shift=0 if dynamic else None)
    assert fetches(func)
    kernel = tilecore.compile(func, target="cpu")
    rng = np.random.default_rng(0)
    kind = T.dtype(types[0]).as_numpy()
    a, b = (rng.integers(-4, 5, shape).astype(kind) for shape in ((40, 128), (128, 64)))
    c = np.zeros((40, 64), T.dtype(types[1]).as_numpy())
    kernel(a, b, c, 4)
    np.testing.assert_array_equal(c, a.astype(c.dtype) @ b.astype(c.dtype))


@pytest.mark.parametrize("stages", [0, 1])
def test_loops_without_stages_do_not(stages):
    assert not fetches(product(stages))


def test_places_read_from_memory_are_not_fetched():
    """Their address would have to be read a step early."""

    @T.prim_func
    def kernel(P: T.Tensor((4,), "int32"), A: T.Tensor((128, 32), "float32"), C: T.Tensor((32, 32), "float32")):
        with T.Kernel(1):
            a, c = T.alloc_shared((32, 32), "float32"), T.alloc_fragment((32, 32), "float32")
            T.clear(c)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[P[k] * 32, 0], a)
                T.gemm(a, a, c)
            T.copy(c, C)

    assert not fetches(kernel)

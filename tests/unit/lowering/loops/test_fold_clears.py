"""The pass fold_clears: which clearings are left out, and that results stay."""

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.ir.nodes import Evaluate
from tilecore.ir.tile_ops import as_tile_call
from tilecore.ir.visit import collect
from tilecore.lowering.loops.fold_clears import fold_clears


def products(steps, *, clear=0.0, extra="", part=False, columns=16):
    """C = sum over steps of A @ B, with variations that decide whether the clearing can go."""

    @T.prim_func
    def kernel(
        A: T.Tensor((16, 32), "float32"),
        B: T.Tensor((32, columns), "float32"),
        C: T.Tensor((16, columns), "float32"),
        N: T.int32,
    ):
        with T.Kernel(1):
            a, b = T.alloc_shared((16, 8), "float32"), T.alloc_shared((8, columns), "float32")
            c = T.alloc_fragment((16, columns), "float32")
            T.fill(c, clear)
            if extra == "read before":
                T.copy(c, C)
            for k in T.Pipelined(steps if steps is not None else N, num_stages=2):
                if extra == "skips":  # noqa: SIM102  (decided by Python, and the inner one by the kernel)
                    if k == N:
                        continue
                T.copy(A[0, k * 8], a)
                T.copy(B[k * 8, 0], b)
                if part:
                    T.gemm(a[0:8, :], b, c[0:8, :])
                else:
                    T.gemm(a, b, c)
                if extra == "read inside":
                    C[0, 0] = c[0, 0]
            T.copy(c, C)

    return kernel


def fills(func):
    calls = [as_tile_call(node) for node in collect(func.body, Evaluate)]
    return sum(call is not None and call.op.name == "fill" for call in calls)


def run(kernel, steps):
    rng = np.random.default_rng(0)
    a, b = rng.random((16, 32), np.float32), rng.random((32, 16), np.float32)
    c = np.full((16, 16), 7, np.float32)
    tilecore.compile(kernel, target="cpu")(a, b, c, steps)
    return c, a[:, : 8 * steps] @ b[: 8 * steps]


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_a_clearing_before_a_loop_of_products_goes(steps):
    kernel = products(steps)
    assert fills(kernel.ir) == 1
    assert fills(fold_clears(kernel.ir, None)) == 0
    got, expected = run(kernel, steps)
    np.testing.assert_allclose(got, expected, rtol=1e-5)


def test_a_clearing_before_one_product_goes():
    @T.prim_func
    def kernel(A: T.Tensor((8, 8), "float32"), C: T.Tensor((8, 8), "float32")):
        with T.Kernel(1):
            a, c = T.alloc_shared((8, 8), "float32"), T.alloc_fragment((8, 8), "float32")
            T.clear(c)
            T.copy(A, a)
            T.gemm(a, a, c)
            T.gemm(a, a, c)
            T.copy(c, C)

    assert fills(fold_clears(kernel.ir, None)) == 0
    a, c = np.eye(8, dtype=np.float32) * 3, np.full((8, 8), 5, np.float32)
    tilecore.compile(kernel, target="cpu")(a, c)
    np.testing.assert_array_equal(c, np.eye(8) * 18)


@pytest.mark.parametrize(
    "variation",
    [
        {"steps": None},  # perhaps no step at all
        {"steps": 0},
        {"steps": 4, "clear": 1.0},
        {"steps": 4, "extra": "read before"},
        {"steps": 4, "extra": "read inside"},
        {"steps": 4, "extra": "skips"},
        {"steps": 4, "part": True},
    ],
    ids=str,
)
def test_other_clearings_stay(variation):
    assert fills(fold_clears(products(**variation).ir, None)) == 1


def test_no_step_leaves_zeros():
    got, _ = run(products(None), 0)
    assert not got.any()


@pytest.mark.parametrize("jump", ["continue", "break"])
@pytest.mark.parametrize("looped", [False, True])
def test_a_jump_between_the_clearing_and_the_product(jump, looped):
    @T.prim_func
    def kernel(
        A: T.Tensor((64, 32), "float32"), B: T.Tensor((32, 32), "float32"), C: T.Tensor((32, 32), "float32"),
        P: T.Tensor((2,), "int32"),
    ):  # fmt: skip
        with T.Kernel(1):
            a, b = T.alloc_shared((32, 32), "float32"), T.alloc_shared((32, 32), "float32")
            c = T.alloc_fragment((32, 32), "float32")
            T.copy(B, b)
            for i in T.serial(2):
                T.copy(A[i * 32, 0], a)
                T.clear(c)
                if P[i] == 0:
                    if jump == "continue":
                        continue
                    else:
                        break
                if looped:
                    for _ in T.serial(1):
                        T.gemm(a, b, c)
                else:
                    T.gemm(a, b, c)
            T.copy(c, C)

    a, b = np.ones((64, 32), np.float32), np.ones((32, 32), np.float32)
    c = np.full((32, 32), 7, np.float32)
    tilecore.compile(kernel, target="cpu")(a, b, c, np.array([1, 0], np.int32))
    np.testing.assert_array_equal(c, 0)

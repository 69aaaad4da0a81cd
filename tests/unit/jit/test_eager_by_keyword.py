"""Eager kernels compiled by keyword: T.const sizes given by their names, with no tensor at hand."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import ArgumentError, LanguageError
from tilecore.jit.eager import EagerKernel


@tilecore.jit(target="cpu")
def matmul(A, B, block_M: int = 32, block_N: int = 32, block_K: int = 32, dtype="float32"):
    M, N, K = T.const("M, N, K")
    A: T.Tensor[[M, K], dtype]
    B: T.Tensor[[K, N], dtype]
    C = T.empty((M, N), dtype)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        a, b = T.alloc_shared((block_M, block_K), dtype), T.alloc_shared((block_K, block_N), dtype)
        c = T.alloc_fragment((block_M, block_N), "float32")
        T.clear(c)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
            T.copy(A[by * block_M, k * block_K], a)
            T.copy(B[k * block_K, bx * block_N], b)
            T.gemm(a, b, c)
        T.copy(c, C[by * block_M, bx * block_N])
    return C


@tilecore.jit(target="cpu")
def padded(X, S, factor):
    """No tensor's shape gives K, H or P alone."""
    K, H, P = T.const("K H P")
    X: T.Tensor[[K // 2, H + 2 * P], T.float32]
    S: T.Tensor[[T.ceildiv(K, 4)], T.float32]
    Y = T.empty((K // 2, H), "float32")
    with T.Kernel(1):
        for i, j in T.Parallel(K // 2, H):
            Y[i, j] = X[i, j + P] * factor + S[i // 2]
    return Y


A = np.random.default_rng(0).standard_normal((40, 70)).astype(np.float32)
B = np.random.default_rng(1).standard_normal((70, 50)).astype(np.float32)
X = np.arange(24, dtype=np.float32).reshape(4, 6)
S = np.array([0.5, 2.0], np.float32)
PADDED = X[:, 1:5] * 3 + S[[0, 0, 1, 1], None]
SIZES = {"M": 40, "N": 50, "K": 70}


def test_sizes_by_name_give_the_kernel_that_the_tensors_give():
    kernel = matmul.compile(**SIZES, block_M=16)
    np.testing.assert_allclose(kernel(A, B), A @ B, rtol=1e-4, atol=1e-4)
    assert kernel is matmul.compile(A, B, block_M=16)
    assert [p.shape for p in kernel.params] == [(40, 70), (70, 50), (40, 50)]
    assert matmul.compile(B=T.Tensor((70, 50), "float32"), M=40, K=np.int64(70), block_M=16) is kernel
    assert matmul.compile(**SIZES, dtype="float16").artifact.params[0].dtype == "float16"


def test_the_same_for_ir_source_and_many_at_once():
    tir = matmul.get_tir(**SIZES)
    assert [str(p.name) for p in tir.params] == ["A", "B", "C"]
    assert tir.script() == matmul.get_tir(A, B).script()
    assert matmul.get_kernel_source(**SIZES) == matmul.compile(A, B).get_kernel_source()
    kernels = matmul.par_compile([SIZES, {**SIZES, "block_N": 64}])
    assert kernels == [matmul.compile(**SIZES), matmul.compile(A, B, block_N=64)]
    np.testing.assert_allclose(kernels[1](A, B), A @ B, rtol=1e-4, atol=1e-4)


def test_a_new_process_finds_it_by_its_source(monkeypatch):
    first = matmul.compile(M=3, N=5, K=70)
    from tilecore.jit.compile import _kernels

    matmul.forget_kernels()
    _kernels.clear()

    def unexpected(self, call):
        raise AssertionError("the body is run")

    monkeypatch.setattr(EagerKernel, "elaborated", unexpected)
    again = matmul.compile(M=3, N=5, K=70)
    assert again is not first
    assert again.from_cache
    with pytest.raises(AssertionError, match="the body is run"):
        matmul.compile(M=4, N=5, K=70)


def test_sizes_that_no_shape_gives_alone():
    kernel = padded.compile(K=8, H=4, P=1, factor=3.0)
    np.testing.assert_allclose(kernel(X, S), PADDED)
    np.testing.assert_allclose(padded(X, S, 3.0, K=8, H=4, P=1), PADDED)
    np.testing.assert_allclose(padded(X, S, 3.0, K=8, H=2, P=2), X[:, 2:4] * 3 + S[[0, 0, 1, 1], None])
    with pytest.raises(LanguageError, match="'K' is not known yet") as caught:
        padded(X, S, 3.0)
    assert caught.value.location is not None
    assert 'K = T.const("K") and then A: T.Tensor[[K, 64], "float32"]' in caught.value.expected
    assert "kernel.compile(K=64)" in caught.value.hint
    with pytest.raises(ArgumentError, match=r"X.shape\[1\] is 6") as caught:
        padded(X, S, 3.0, K=8, H=4, P=2)
    assert caught.value.expected == "(4, 8)"


def test_a_size_may_be_used_before_the_tensor_that_gives_it():
    @tilecore.jit(target="cpu")
    def halves(X, Y):
        N = T.const("N")
        half = N // 2
        X: T.Tensor[[half], T.int32]
        Y: T.Tensor[[N], T.int32]
        with T.Kernel(1):
            for i in T.Parallel(half):
                X[i] = Y[2 * i]

    x, y = np.zeros(3, np.int32), np.arange(6, dtype=np.int32)
    halves(x, y)
    assert x.tolist() == [0, 2, 4]
    with pytest.raises(ArgumentError, match=r"X.shape\[0\] is 4") as caught:
        halves(np.zeros(4, np.int32), y)
    assert caught.value.expected == "(3,)"
    assert "X: T.Tensor[[half]" in str(caught.value)


def test_nothing_is_needed_where_declarations_say_all():
    n = T.dynamic("n")

    @tilecore.jit(target="cpu")
    def doubled(X: T.Tensor((n,), "float32"), amount: T.float32):
        Y = T.empty((n,), "float32")
        with T.Kernel(T.ceildiv(n, 4)) as b:
            for i in T.Parallel(4):
                Y[b * 4 + i] = X[b * 4 + i] * amount
        return Y

    kernel = doubled.compile()
    assert kernel is doubled.compile(np.zeros(3, "f4"), 2.0)
    assert kernel(np.ones(5, "f4"), 2.0).tolist() == [2.0] * 5


SIGNED = T.const("SIGNED")


def test_sizes_of_a_signature_are_new_for_every_compilation():
    @tilecore.jit(target="cpu")
    def filled(X):
        with T.Kernel(1):
            T.fill(X, SIGNED)

    filled.__wrapped__.__annotations__["X"] = T.Tensor((2, SIGNED), "int32")  # as without `from __future__ import ...`
    for size in (3, 5, 3):
        x = np.zeros((2, size), np.int32)
        filled(x)
        assert (x == size).all()
    assert [p.shape for p in filled.compile(SIGNED=7).params] == [(2, 7)]


@pytest.mark.parametrize(
    ("kwargs", "message", "expected"),
    [
        (
            {"M": 4, "N": 4},
            "parameter 'A' was left out, and the value of T.const 'K' is not known",
            "or each T.const by its name: matmul.compile(M=64, N=64, K=64)",
        ),
        ({}, "parameter 'A' was left out, and the value of T.const 'M' is not known", "A=... in the call"),
        ({**SIZES, "Q": 3}, r"matmul\(\) has no parameter and no T.const named 'Q'", "dtype, M, N, K"),
        ({**SIZES, "M": -1}, "M=-1 is no size", "a whole number from 0 on"),
        ({**SIZES, "M": True}, "M=True is no size", "a whole number from 0 on"),
        ({**SIZES, "blok_M": "x"}, "blok_M='x' is no size, and 'blok_M' is no parameter", "block_M"),
    ],
)
def test_what_is_refused(kwargs, message, expected):
    with pytest.raises(ArgumentError, match=message) as caught:
        matmul.compile(**kwargs)
    assert expected in caught.value.expected


def test_a_size_by_a_name_that_is_nearly_right():
    with pytest.raises(ArgumentError, match=r"the value of T\.const 'M' is not known") as caught:
        matmul.compile(m=4, N=4, K=4)
    assert caught.value.hint == "did you mean 'M'?"


def test_a_name_and_a_tensor_that_disagree():
    with pytest.raises(LanguageError, match=r"T\.const 'M' has two values") as caught:
        matmul(A, B, M=41)
    assert caught.value.found == "41 from the argument M=, and 40 from A.shape[0]"
    assert 'M, N = T.const("M, N")' in caught.value.hint


def test_a_value_that_was_left_out():
    with pytest.raises(ArgumentError, match="parameter 'factor' was left out") as caught:
        padded.compile(K=8, H=4, P=1)
    assert caught.value.location is not None
    with pytest.raises(ArgumentError, match="an argument is missing: B"):
        matmul(A, **SIZES)

    @tilecore.jit(target="cpu")
    def unused(X: T.Tensor((4,), "int32"), other):
        with T.Kernel(1):
            T.fill(X, 1)

    with pytest.raises(ArgumentError, match=r"unused\(\) needs its argument 'other'"):
        unused.compile()

    @tilecore.jit(target="cpu")
    def compared(X: T.Tensor((4,), "int32"), mode):
        with T.Kernel(1):
            T.fill(X, 1 if mode == "one" else 2)

    with pytest.raises(ArgumentError, match="parameter 'mode' was left out"):
        compared.compile()


def test_a_parameter_that_is_declared_twice():
    @tilecore.jit(target="cpu")
    def twice(X: T.Tensor((4,), "int32")):
        X: T.Tensor((4,), "int32")
        with T.Kernel(1):
            T.fill(X, 1)

    with pytest.raises(LanguageError, match="parameter 'X' is declared twice"):
        twice(np.zeros(4, np.int32))


def test_a_constant_is_no_size_of_the_call():
    with pytest.raises(LanguageError, match=r"A.shape\[0\] is m, and T.const 'M' is a number"):
        matmul.compile(T.Tensor((T.dynamic("m"), 70), "float32"), B)


def test_autotuned_functions_take_them_too():
    tuned = tilecore.autotune(matmul, configs={"block_M": [16, 32]}, warmup=1, rep=1)
    kernel = tuned.compile(**SIZES)
    assert kernel.config in ({"block_M": 16}, {"block_M": 32})
    assert tuned.compile(**SIZES) is kernel
    np.testing.assert_allclose(kernel(A, B), A @ B, rtol=1e-4, atol=1e-4)
    assert tuned.get_tir(**SIZES).script() == matmul.get_tir(A, B).script()
    assert tuned.compile(**SIZES, block_M=64) is matmul.compile(A, B, block_M=64)
    assert tuned.tune(**SIZES).config == kernel.config


def test_keys_can_be_compared():
    key = matmul.parse_cache_key(A, B)
    assert key == matmul.parse_cache_key(A.copy(), B=B.copy())
    assert hash(key) == hash(matmul.parse_cache_key(A.copy(), B))
    others = [
        matmul.parse_cache_key(A[:8], B),
        matmul.parse_cache_key(A, B, block_M=8),
        matmul.parse_cache_key(**SIZES),
    ]
    assert len({key, *others, matmul.parse_cache_key(**{**SIZES, "M": 41})}) == 5

"""T.make_tensor of what is no pointer, sizes of shared memory that no call gives, T.let, pointers of eager kernels."""

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import LanguageError, UnsupportedError


def build(use):
    n = T.dynamic("n")

    @T.prim_func
    def kernel(P: T.Tensor((2,), T.ptr), X: T.Tensor((n,), "float32"), small: T.int32):
        with T.Kernel(2) as b:
            use(P, X, small, b)

    return kernel


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (lambda P, X, small, b: T.make_tensor(X, (4,)), "is not a T.ptr parameter, nor an address"),
        (lambda P, X, small, b: T.make_tensor(64, (4,)), "is not a T.ptr parameter, nor an address"),
        (lambda P, X, small, b: T.make_tensor(small, (4,)), "an address of T.make_tensor has another type"),
        (lambda P, X, small, b: T.make_tensor(P[b], (4,), "int4"), "share bytes"),
        (lambda P, X, small, b: T.make_tensor_from_addr(P[b], (4,), storage_scope="shared"), "'shared' memory"),
        (lambda P, X, small, b: T.clear(T.alloc_shared((b + 1,))), "is not known when the kernel is called"),
        (lambda P, X, small, b: T.clear(T.alloc_fragment((small,))), "is not known when compiling"),
    ],
)
def test_what_is_refused(use, words):
    with pytest.raises((LanguageError, UnsupportedError), match=words):
        build(use)


def test_a_table_of_pointers_is_a_tensor_of_int64():
    kernel = build(lambda P, X, small, b: T.make_tensor(P[b], (4,)))
    table = kernel.buffer_map[kernel.params[0]]
    assert str(table.dtype) == "int64"
    assert [int(size) for size in table.shape] == [2]


def test_pointers_of_eager_kernels():
    """One compilation serves all pointers: tensors and addresses."""

    @tilecore.jit(target="cpu")
    def scaled(p: T.ptr, q: T.ptr, N: int, factor: float = 2.0):
        X, Y = T.make_tensor(p, (N,), "float32"), T.make_tensor(q, (N,), "float32")
        with T.Kernel(1):
            start = T.int32()
            T.let(start, N // 2)
            for i in T.Parallel(N // 2):
                Y[start + i] = X[start + i] * factor

    x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    scaled(x, y, 8)
    assert y.tolist() == [0] * 4 + [8, 10, 12, 14]
    y[:] = 0
    scaled(x.ctypes.data, y.ctypes.data, 8)
    assert y.tolist() == [0] * 4 + [8, 10, 12, 14]
    assert scaled.compile(p=T.ptr(), q=T.ptr(), N=8) is scaled.compile(N=8)


@pytest.mark.parametrize("annotation", [T.Tensor, T.Buffer])
def test_from_ptr_is_make_tensor(annotation):
    @T.prim_func
    def kernel(p: T.ptr, q: T.ptr):
        A = annotation.from_ptr(p, (2, 4), "int32", (1, 2))
        B = annotation.from_ptr(pointer_var=q, shape=(4, 2))
        with T.Kernel(1):
            for i, j in T.Parallel(2, 4):
                B[j, i] = A[i, j]

    assert [(list(map(int, p.shape)), str(p.dtype)) for p in kernel.ir.params] == [
        ([2, 4], "int32"),
        ([4, 2], "float32"),
    ]
    columns, copied = np.arange(8, dtype=np.int32).reshape(4, 2), np.zeros((4, 2), np.float32)
    tilecore.compile(kernel, target="cpu")(columns.T, copied)
    np.testing.assert_array_equal(copied, columns)

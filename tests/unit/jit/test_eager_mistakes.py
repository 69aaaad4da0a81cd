"""Wrong uses of eager kernels and of T.const: the error has an example of the right one."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import ArgumentError, LanguageError

A = np.random.default_rng(0).standard_normal((40, 70)).astype(np.float32)


@tilecore.jit(target="cpu")
def doubled(A):
    M, N = T.const("M, N")
    A: T.Tensor[[M, N], T.float32]
    B = T.empty((M, N), T.float32)
    with T.Kernel(M):
        for i, j in T.Parallel(M, N):
            B[i, j] = A[i, j] * 2.0
    return B


def test_the_errors_about_sizes_have_an_example():
    @tilecore.jit(target="cpu")
    def one_for_two(A):
        M, N = T.const("M")
        A: T.Tensor[[M, N], T.float32]
        with T.Kernel(1):
            A[0, 0] = 1.0

    @tilecore.jit(target="cpu")
    def texts(A):
        A: T.Tensor(("rows", "columns"), T.float32)
        with T.Kernel(1):
            A[0, 0] = 1.0

    @tilecore.jit(target="cpu")
    def unknown(A):
        M = T.const("M")
        A: T.Tensor[[M, 70], T.float32]
        with T.Kernel(M.rows):
            A[0, 0] = 1.0

    @tilecore.jit(target="cpu")
    def lazy():
        M = T.const("M")

        @T.prim_func
        def kernel(A: T.Tensor[[M, 70], T.float32]):
            with T.Kernel(1):
                A[0, 0] = 1.0

        return kernel

    for function, arguments, message, example in (
        (one_for_two, (A,), "several names are assigned one size of T.const", 'M, N = T.const("M, N")'),
        (texts, (A,), "'rows' is not a size", 'rows = T.const("rows")'),
        (unknown, (A,), "T.const 'M' has no attribute 'rows'", ""),
        (lazy, (), "the value of T.const 'M' is not known yet", 'M = T.dynamic("M")'),
    ):
        with pytest.raises(LanguageError, match=re.escape(message)) as caught:
            function(*arguments)
        assert example in (caught.value.hint or "")
        assert caught.value.location.file == __file__


def test_an_array_of_no_axes_is_no_number_of_python():
    @tilecore.jit(target="cpu")
    def scaled(A, factor=2.0):
        n = T.const("n")
        A: T.Tensor[[n, 70], T.float32]
        with T.Kernel(1):
            A[0, 0] = A[0, 0] * factor

    scaled(A.copy(), np.float32(3))
    with pytest.raises(LanguageError, match="'factor' is used before it is declared") as caught:
        scaled(A.copy(), np.array(3, np.float32))
    assert "factor.item()" in caught.value.hint


class Described:
    """An object with a protocol alone."""

    def __init__(self, array):
        self.__array_interface__ = array.__array_interface__
        self.array = array


def test_objects_with_a_protocol_alone_are_for_compiled_kernels():
    with pytest.raises(ArgumentError, match="A must be a tensor") as caught:
        doubled(Described(A))
    assert "doubled.compile(...)" in caught.value.hint
    np.testing.assert_array_equal(doubled.compile(M=40, N=70)(Described(A)), A * 2)

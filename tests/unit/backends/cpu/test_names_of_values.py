"""Names of values in LLVM IR: no two are alike, whatever the loops' variables are called."""

from __future__ import annotations

import numpy as np

import tilecore
import tilecore.language as T
from tilecore.backends.cpu.llvm.function import Function, Module


def test_a_name_with_digits_and_a_number():
    fn = Function(Module())
    names = [fn.fresh(stem) for stem in ("i", "i1", "i", "i11", "i1_") * 300]
    assert len(set(names)) == len(names)


def test_loops_with_such_names():
    @T.prim_func
    def kernel(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32"), n: T.int32):
        with T.Kernel(1):
            for i1 in T.serial(n):
                A[i1] = A[i1] * 3 + B[i1]
                A[i1] = A[i1] * 3 + B[i1]
                A[i1] = A[i1] * 3 + B[i1]
                A[i1] = A[i1] * 3 + B[i1]
            for k in T.unroll(10):
                B[k] = n
            for i in T.serial(n):
                A[i] = A[i] + B[0]

    a, b = np.zeros(64, np.int32), np.ones(64, np.int32)
    tilecore.compile(kernel, target="cpu")(a, b, 5)
    np.testing.assert_array_equal(a, np.where(np.arange(64) < 5, 40 + 5, 0))


def test_names_outside_of_ascii():
    @T.prim_func
    def ƒé(é: T.Tensor((64,), "float32"), ü: T.Tensor((64,), "float32"), б: T.float32):
        with T.Kernel(1) as блок:
            λ = T.alloc_fragment((64,), "float32")
            s = T.alloc_shared((64,), "float32")
            for ии in T.Parallel(64):
                λ[ии] = é[ии] * б + блок
            for ж in T.serial(2):
                for ии in T.Parallel(64):
                    λ[ии] = λ[ии] + ж
            T.copy(λ, s)
            T.copy(s, ü)

    a, b = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    tilecore.compile(ƒé, target="cpu")(a, b, 3.0)
    np.testing.assert_array_equal(b, 3 * a + 1)

"""Functions of integers whose values are whole numbers: exact in the type of the operand."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.interpreter import interpret
from tilecore.ir.nodes import Call

from .kit import in_kernel, kind

LARGE = [16777217, -16777217, 2147483647, -7]  # the first three are no float32


def compiled(kernel, *arrays):
    tilecore.compile(kernel, target="cpu")(*arrays)


def interpreted(kernel, *arrays):
    interpret(kernel.ir, *arrays)


@pytest.mark.parametrize("run", [compiled, interpreted])
@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "round", "nearbyint"])
def test_an_integer_is_its_own_whole_number(name, run):
    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32"), B: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(4):
                B[i] = getattr(T, name)(A[i])

    values, result = np.array(LARGE, np.int32), np.zeros(4, np.int32)
    run(kernel, values, result)
    assert result.tolist() == LARGE


def test_rounding_keeps_the_type():
    assert in_kernel(lambda X, i: kind(T.round(T.cast(i, "uint8"), "ties-away-from-zero"))) == "uint8"
    assert in_kernel(lambda X, i: kind(T.floor(T.cast(i, "int64")))) == "int64"
    assert in_kernel(lambda X, i: kind(T.ceil(X[0, 0]))) == "float32"


@pytest.mark.parametrize("run", [compiled, interpreted])
def test_whole_powers_of_integers_are_exact(run):
    @T.prim_func
    def kernel(A: T.Tensor((4,), "int64"), B: T.Tensor((3, 4), "int64")):
        with T.Kernel(1):
            for i in T.Parallel(4):
                B[0, i] = T.pow(A[i], 2)
                B[1, i] = T.power(A[i], T.int32(3))
                B[2, i] = T.pow(A[i], 0)

    values, result = np.array([4097, -4097, 2000003, 0], np.int64), np.zeros((3, 4), np.int64)
    run(kernel, values, result)
    assert result.tolist() == [[int(v) ** n for v in values] for n in (2, 3, 0)]


def test_other_powers_are_those_of_floats():
    def calls_pow(expression):
        return isinstance(expression, Call) and expression.op.name == "tirx.pow"

    assert in_kernel(lambda X, i: kind(T.pow(i, 2))) == "int32"
    for base_and_exponent in ((lambda i: (i, -1)), (lambda i: (i, 0.5)), (lambda i: (i, i)), (lambda i: (2, i))):
        expression = in_kernel(lambda X, i, pair=base_and_exponent: T.pow(*pair(i)))
        assert (kind(expression), calls_pow(expression)) == ("float32", True)
    assert in_kernel(lambda X, i: calls_pow(T.pow(X[0, 0], 2)))

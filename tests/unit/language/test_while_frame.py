"""``with T.While(condition):`` evaluates the condition before every iteration, as ``while`` does."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.interpreter import interpret


@T.macro
def halve(x: T.Ref):
    x = x // 2


@T.prim_func
def of_a_variable(A: T.Tensor((4,), "int32")):
    with T.Kernel(1, threads=1):
        n, rounds = T.alloc_var("int32", init=50), T.alloc_var("int32", init=0)
        with T.While(n > A[0] * 0 + 3):
            halve(n)
            rounds += 1
        A[1] = n
        A[2] = rounds


@T.prim_func
def of_an_element(A: T.Tensor((4,), "int32")):
    with T.Kernel(1, threads=1):
        A[1] = 50
        with T.While(
            T.all_of(A[1] > 3, A[1] * 2 > 1),
        ):
            A[1] = A[1] // 2
            A[2] = A[2] + 1


@T.prim_func
def of_a_name_read_before(A: T.Tensor((4,), "int32")):
    with T.Kernel(1, threads=1):
        A[1] = 50
        limit = A[1] // 8  # 6 from here on
        with T.While(A[1] > limit):
            A[1] = A[1] // 2
            A[2] = A[2] + 1


@T.prim_func
def one_in_another(A: T.Tensor((4,), "int32")):
    with T.Kernel(1, threads=1):
        with T.While(A[1] < 3):
            A[1] = A[1] + 1
            A[3] = 0
            with T.While(A[3] < A[1]):
                A[3] = A[3] + 1
                A[2] = A[2] + 10


@pytest.mark.parametrize(("kernel", "expected"), [
    (of_a_variable, [0, 3, 4, 0]), (of_an_element, [0, 3, 4, 0]), (of_a_name_read_before, [0, 6, 3, 0]),
    (one_in_another, [0, 3, 60, 3]),
])  # fmt: skip
def test_the_condition_is_evaluated_before_every_iteration(kernel, expected):
    for run in (tilecore.compile(kernel, target="cpu"), lambda a: interpret(kernel.ir, a)):
        a = np.zeros(4, "int32")
        run(a)
        assert a.tolist() == expected

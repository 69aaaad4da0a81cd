# ruff: noqa: SIM108, SIM114 - these forms are what is tested
"""Names that get Python values inside of what the kernel decides, and are read after it."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import LanguageError
from tilecore.interpreter import interpret

N = 4
CAUSAL = True


def build(statement):
    @T.prim_func
    def kernel(A: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            for i in T.serial(N):
                statement(A, i)

    return kernel


@T.macro
def both_constants(A, i):
    if A[i] > 0:
        slope = 1.0
    else:
        slope = 2.0
    A[i] = slope


@T.macro
def of_two_types(A, i):
    if A[i] > 0:
        slope = 1
    else:
        slope = 1.0
    A[i] = A[i] * slope


@T.macro
def a_tuple(A, i):
    if A[i] > 0:
        low, high = 0.0, 1.0
    else:
        low, high = -1.0, 0.0
    A[i] = low + high


@T.macro
def functions(A, i):
    if A[i] > 0:
        f = T.exp
    else:
        f = T.abs
    A[i] = f(A[i])


@T.macro
def one_side(A, i):
    if A[i] > 0:
        y = 1.0
    A[i] = y


@T.macro
def the_other_side(A, i):
    if A[i] > 0:
        A[i] = 0
    else:
        y = 1.0
    A[i] = y


@T.macro
def nested(A, i):
    if A[i] > 0:
        if A[i] > 1:
            w = 1
        else:
            w = 2
    else:
        w = 1
    A[i] = w


@T.macro
def a_chain(A, i):
    if A[i] > 0:
        w = 1
    elif A[i] < -1:
        w = 1
    else:
        w = 3
    A[i] = w


@T.macro
def a_while_loop(A, i):
    while A[i] > 0:
        y = 7.0
        A[i] -= 1
    A[i] = y


@T.macro
def a_function_defined(A, i):
    def f():
        return 1

    if A[i] > 0:

        def f():
            return 2

    A[i] = f()


@T.macro
def a_class(A, i):
    class Kind:
        value = 1

    if A[i] > 0:

        class Kind:
            value = 2

    A[i] = Kind.value


@T.macro
def imported(A, i):
    from math import e as number

    if A[i] > 0:
        from math import pi as number
    A[i] = number


@T.macro
def captured_by_match(A, i):
    number = 1
    if A[i] > 0:
        match ("two", 2):
            case (_, number):
                pass
    A[i] = number


@T.macro
def captured_from_the_last_iteration(A, i):
    last = 0
    for k in T.serial(4):
        A[k] = last
        match (A[k] + 1,):
            case (last,):
                pass


@T.macro
def deleted(A, i):
    number = 1
    if A[i] > 0:
        del number
    A[i] = number


@T.macro
def zero_of_another_sign(A, i):
    number = 0.0
    if A[i] > 0:
        number = -0.0
    A[i] = 1 / number


@T.macro
def another_type_in_a_tuple(A, i):
    pair = (2,)
    if A[i] > 0:
        pair = (2.0,)
    A[i] = pair[0]


@T.macro
def a_loop_of_no_iterations(A, i):
    for _k in T.serial(i):
        y = 7.0
    A[i] = y


@T.macro
def a_loop_that_skips(A, i):
    for k in T.serial(4):
        if A[k] > 0:
            continue
        y = 7.0
    A[i] = y


@T.macro
def a_loop_that_leaves(A, i):
    for k in T.serial(4):
        if A[k] > 0:
            break
        y = 7.0
    A[i] = y


@T.macro
def returned(A, i):
    A[i] = chosen(A[i])


@T.macro
def chosen(v):
    if v > 0:
        r = 1.0
    else:
        r = 2.0
    return r


REFUSED = [
    both_constants, of_two_types, a_tuple, functions, one_side, the_other_side, nested, a_chain, a_while_loop,
    a_function_defined, a_class, imported, captured_by_match, captured_from_the_last_iteration, zero_of_another_sign,
    deleted, another_type_in_a_tuple, a_loop_of_no_iterations, a_loop_that_skips, a_loop_that_leaves, returned,
]  # fmt: skip


@pytest.mark.parametrize("statement", REFUSED, ids=lambda statement: statement.__name__)
def test_a_value_that_depends_on_the_kernel_is_refused(statement):
    with pytest.raises(LanguageError, match=r"is assigned inside .* that runs in the kernel") as caught:
        build(statement).ir  # noqa: B018
    assert caught.value.location is not None
    assert "T.alloc_var" in caught.value.hint


@T.macro
def the_same(A, i):
    if A[i] > 0:
        w = 3.0
        A[i] = 0
    else:
        w = 3.0
    A[i] += w


@T.macro
def used_inside_only(A, i):
    if A[i] > 0:
        w = 3.0
        A[i] = w
    else:
        w = 4.0
        A[i] = w
    w = 1.0
    A[i] += w


@T.macro
def decided_by_python(A, i):
    if isinstance(i, int):
        w = 3.0
    else:
        w = 4.0
    A[i] = w


@T.macro
def given_by_python_in_each_iteration(A, i):
    for k in T.serial(i + 1):
        for w in [1, 2, 3]:
            last = w
        if CAUSAL:
            first = 4
        match last:
            case 3:
                other = A[i]
            case _:
                other = 5
        for _ in T.serial(2):
            inner = 7
        for w in [1, 2]:
            if w == 1:
                total = A[i]
            else:
                total = total + 1
        A[i] = last + first + other * 0 + inner + total * 0 + k


@T.macro
def given_before_the_loop_is_left(A, i):
    for k in T.serial(4):
        w = 3.0
        if A[k] > 100:
            break
    A[i] = w


@T.macro
def given_by_a_loop_that_runs(A, i):
    for _ in T.serial(2):
        w = 3.0
        for k in T.serial(4):
            if A[k] > 0:
                continue
            A[k] = 0
    A[i] = w


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (given_by_python_in_each_iteration, [14, 15, 16, 17]),
        (given_before_the_loop_is_left, [3] * 4),
        (given_by_a_loop_that_runs, [3] * 4),
        (the_same, [3, 2, 3, 1]),
        (used_inside_only, [4, 5, 4, 5]),
        (decided_by_python, [4] * 4),
    ],
)
def test_others_are_taken(statement, expected):
    a = np.array([1, -1, 2, -2], "float32")
    interpret(build(statement).ir, a)
    assert a.tolist() == expected


def test_a_side_that_leaves_the_loop_gives_no_value():
    @T.prim_func
    def kernel(A: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            for i in T.serial(N):
                if A[i] > 0:
                    w = 3.0
                else:
                    continue
                A[i] = w

    a = np.array([1, -1, 2, -2], "float32")
    interpret(kernel.ir, a)
    assert a.tolist() == [3, -1, 3, -2]

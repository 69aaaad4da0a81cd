"""Which divisions are told apart as those of many numbers by one."""

from __future__ import annotations

import pytest

import tilecore.language as T
from tilecore.ir.build import op_name
from tilecore.ir.nodes import Call
from tilecore.ir.thread_calls import QUOTIENT
from tilecore.ir.visit import collect

from .kit import lowered


@T.macro
def nothing_else(x, view, divisors, i):
    x[i] = x[i] / divisors[0]


@T.macro
def a_constant(x, view, divisors, i):
    x[i] = x[i] / 3.0


@T.macro
def a_power_of_two(x, view, divisors, i):
    x[i] = x[i] / -0.125


@T.macro
def each_its_own(x, view, divisors, i):
    x[i] = x[i] / divisors[i]


@T.macro
def a_store(x, view, divisors, i):
    divisors[i] = x[i] / divisors[0]


@T.macro
def a_store_by_another_name(x, view, divisors, i):
    view[i // 2, i % 2] = x[i] / divisors[0]


@T.macro
def a_read_by_another_name(x, view, divisors, i):
    divisors[i] = x[i] / view[0, 0]


@T.macro
def an_atomic_statement(x, view, divisors, i):
    x[i] = x[i] / divisors[0]
    T.atomic_add(view[0, 0], 1)


@T.macro
def an_atomic_value(x, view, divisors, i):
    x[i] = x[i] / divisors[0] + T.atomic_add(divisors[0], 1, return_prev=True)


@T.macro
def an_extern_call(x, view, divisors, i):
    x[i] = x[i] / divisors[0]
    T.call_extern("handle", "change", T.address_of(view[0, 0]))


def marked(statement, divisors=16):
    """The number of divisions that are told apart in a loop over ``statement(x, view, divisors, i)``. divisors: how
    many there are; with 8, a call may give one tensor for both parameters."""

    @T.prim_func
    def kernel(X: T.Tensor((8,), "float32"), D: T.Tensor((divisors,), "float32")):
        with T.Kernel(1, threads=32):
            view = T.view(D, (divisors // 2, 2))
            for i in T.unroll(8):
                statement(X, view, D, i)

    module, _ = lowered(kernel)
    (func,) = module.functions.values()
    return sum(op_name(call) == QUOTIENT for call in collect(func.body, Call))


@pytest.mark.parametrize("statement", [nothing_else, a_constant], ids=["of memory", "a constant"])
def test_a_divisor_that_stays_is_shared(statement):
    assert marked(statement) == 1


@pytest.mark.parametrize("statement", [a_power_of_two, each_its_own], ids=["a power of two", "each its own"])
def test_others_are_not(statement):
    assert marked(statement) == 0


@pytest.mark.parametrize(
    "statement",
    [
        a_store,
        a_store_by_another_name,
        a_read_by_another_name,
        an_atomic_statement,
        an_atomic_value,
        an_extern_call,
    ],
    ids=lambda macro: macro.__name__,
)
def test_a_divisor_that_the_loop_may_write_is_not_shared(statement):
    assert marked(statement) == 0


def test_a_divisor_that_may_be_what_is_stored_is_not_shared():
    assert marked(nothing_else, divisors=8) == 0

"""Bounds and steps of loops of every integer type, against Python's range."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.interpreter import interpret
from tilecore.ir.nodes import For
from tilecore.ir.visit import collect

LIMIT = 16


def counting(kind):
    @T.prim_func
    def kernel(start: T.dtype(kind), stop: T.dtype(kind), step: T.dtype(kind), Y: T.Tensor((LIMIT,), "int64")):
        with T.Kernel(1):
            count = T.alloc_var("int32")
            for i in T.serial(start, stop, step):
                Y[count] = i
                count += 1
            for i in T.unroll(stop):
                Y[LIMIT - 1] += i

    return kernel


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_bounds_and_steps_of_a_type(kind):
    kernel = counting(kind)
    compiled = tilecore.compile(kernel, target="cpu")
    signed = kind.startswith("int")
    for numbers in ((0, 5, 1), (3, 9, 4), (2, 2, 3), (7, 3, 1), *(((9, -3, -5), (-4, 6, 3)) if signed else ())):
        expected = np.zeros(LIMIT, np.int64)
        values = list(range(*numbers))
        expected[: len(values)] = values
        expected[LIMIT - 1] = sum(range(numbers[1]))
        for run in (compiled, lambda *arguments: interpret(kernel.ir, *arguments)):
            y = np.zeros(LIMIT, np.int64)
            run(*numbers, y)
            np.testing.assert_array_equal(y, expected, err_msg=f"{numbers}")


WIDTHS = {"int8": "int32", "uint16": "int32", "int32": "int32", "uint32": "int64", "int64": "int64", "uint64": "int64"}


@pytest.mark.parametrize(("kind", "width"), WIDTHS.items())
def test_the_variable_is_wide_enough_for_its_bounds(kind, width):
    @T.prim_func
    def kernel(n: T.dtype(kind), Y: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            for i in T.serial(n):
                Y[i] = 0

    (loop,) = [node for node in collect(kernel.ir.body, For) if str(node.loop_var.name) == "i"]
    assert str(loop.loop_var.ty.dtype) == width

"""Whether code reads elements of a buffer before it has written them, and how long the answer takes."""

from __future__ import annotations

import pytest

import tilecore.language as T
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.nodes import AllocBuffer, For
from tilecore.ir.visit import collect
from tilecore.lowering.analysis.first_reads import LIMIT, reads_first


def answer(func):
    """Of the loop over k and the one buffer that is allocated outside of it."""
    (alloc,) = collect(func.ir.body, AllocBuffer)
    loop = next(loop for loop in collect(func.ir.body, For) if str(loop.loop_var.name) == "k")
    return reads_first(loop.body, alloc.buffer)


def in_parts(parts, left_out=0):
    """All elements written, by as many loops one after the other, but for the last ones."""
    size = 1024 // parts

    @T.prim_func
    def kernel(Y: T.Tensor((1024,), "int32")):
        with T.Kernel(1):
            s = T.alloc_local((1024,), "int32")
            for k in T.serial(2):
                for part in [*range(parts)]:
                    for i in T.serial(size - (left_out if part == parts - 1 else 0)):
                        s[part * size + i] = i + k
                for i in T.serial(1024):
                    Y[i] = s[i]

    return kernel


@pytest.mark.parametrize("parts", [1, 2, 4, 64])
@pytest.mark.parametrize("left_out", [0, 1])
def test_parts_that_several_loops_write(parts, left_out):
    assert answer(in_parts(parts, left_out)) == bool(left_out)


def test_a_nest_of_many_loops():
    shape = (2,) * 10

    @T.prim_func
    def kernel(Y: T.Tensor(shape, "int32")):
        with T.Kernel(1):
            s = T.alloc_local(shape, "int32")
            for k in T.serial(2):
                for a, b, c, d, e, f, g, h, i, j in T.grid(*shape):
                    s[a, b, c, d, e, f, g, h, i, j] = k
                for a, b, c, d, e, f, g, h, i, j in T.grid(*shape):
                    Y[a, b, c, d, e, f, g, h, i, j] = s[j, i, h, g, f, e, d, c, b, a]

    assert not answer(kernel)


@pytest.mark.parametrize(("steps", "nested"), [(20_000, False), (300, True)])
def test_the_work_does_not_grow_with_the_steps_of_a_loop(steps, nested, monkeypatch):
    @T.prim_func
    def kernel(Y: T.Tensor((4,), "int32")):
        with T.Kernel(1):
            s = T.alloc_local((4,), "int32")
            for k in T.serial(2):
                for i in T.serial(steps):
                    s[i % 4] = i + k
                    if nested:
                        for j in T.serial(steps):
                            s[(i + j) % 4] = i
                for i in T.serial(4):
                    Y[i] = s[i]

    simplified = []
    simplify = Analyzer.simplify
    monkeypatch.setattr(Analyzer, "simplify", lambda self, *args: simplified.append(1) or simplify(self, *args))
    answer(kernel)
    assert len(simplified) < 4 * LIMIT

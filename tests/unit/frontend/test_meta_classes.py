"""T.meta_class and T.inline: classes whose methods are built into the kernels that call them."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import WrongTypeError
from tilecore.frontend.function import Macro
from tilecore.interpreter import interpret


def compiled(kernel, *arrays):
    tilecore.compile(kernel, target="cpu")(*arrays)


def interpreted(kernel, *arrays):
    interpret(kernel.ir, *arrays)


@T.meta_class
class Steps:
    """Counts up to ``end``, leaving out what ``skipped`` divides."""

    def __init__(self, end, skipped):
        self.index = T.alloc_var("int32")
        self.end, self.skipped = end, skipped

    def begin(self, first):
        self.index[0] = first

    def valid(self):
        return self.index[0] < self.end

    def next(self):
        self.index[0] += 1
        if self.index[0] % self.skipped == 0:
            self.index[0] = self.index[0] + 1


class Sums:
    def __init__(self):
        self.total = T.alloc_var("int32", init=0)

    @T.inline
    def add(self, value):
        if value > 2:
            self.total[0] = self.total[0] + value


@pytest.mark.parametrize("run", [compiled, interpreted])
def test_methods_that_store_are_built_into_the_kernel(run):
    @T.prim_func
    def kernel(X: T.Tensor((12,), "int32"), S: T.Tensor((1,), "int32")):
        with T.Kernel(1):
            steps = Steps(12, 4)
            sums = Sums()
            steps.begin(1)
            while steps.valid():
                X[steps.index[0]] = 1
                sums.add(steps.index[0])
                steps.next()
            S[0] = sums.total[0]

    marks, total = np.zeros(12, np.int32), np.zeros(1, np.int32)
    run(kernel, marks, total)
    visited = [number for number in range(1, 12) if number % 4]
    assert np.flatnonzero(marks).tolist() == visited
    assert total[0] == sum(number for number in visited if number > 2)


def test_only_methods_that_store_to_elements_become_macros():
    macros = {name for name, value in vars(Steps).items() if isinstance(value, Macro)}
    assert macros == {"begin", "next"}


@pytest.mark.parametrize(("decorator", "words"), [(T.meta_class, "not a class"), (T.inline, "not a function")])
def test_what_they_do_not_decorate(decorator, words):
    with pytest.raises(WrongTypeError, match=words):
        decorator(5)

"""T.print in kernels of many threads: which of them print."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T

from .kit import compiled


def printing(form):
    """Of 64 threads, and of iterations, those that come print: how many lines depends on the form."""

    @T.prim_func
    def kernel(X: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            X[tx] = X[tx] + 1
            variable = T.alloc_var("int32", init=5)
            if form == "all of them":
                T.print(X[0], msg="p")
            elif form == "one thread":
                if tx == 40:
                    T.print(X[0], msg="p")
            elif form == "some threads":
                if tx >= 32:
                    T.print(X[0], msg="p")
            elif form == "the others":
                if tx >= 32:
                    X[tx] = X[tx] - 1
                else:
                    T.print(msg="p: 1")
            elif form == "data":
                if X[tx] > 60:
                    T.print(X[0], msg="p")
            elif form == "rounds":
                for _ in T.serial(tx - 60):
                    T.print(X[0], msg="p")
            elif form == "after rounds":
                for k in T.serial(tx):
                    if k == 2:
                        break
                T.print(X[0], msg="p")
            elif form == "iterations":
                for i in T.Parallel(8):
                    if i > 5:
                        T.print(X[0], msg="p")
            elif form == "own memory":
                variable = variable - 4
                T.print(variable, msg="p")
            else:
                named = variable - 4
                T.print(named, msg="p")

    return kernel


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        ("all of them", 1),
        ("one thread", 1),
        ("some threads", 32),
        ("the others", 32),
        ("data", 4),
        ("rounds", 6),
        ("after rounds", 1),
        ("iterations", 2),
        ("own memory", 64),
        ("a value of own memory", 64),
    ],
)
def test_those_that_come_print(target, capfd, form, lines):
    compiled(printing(form), target)(np.arange(64, dtype=np.int32))
    assert capfd.readouterr().out.splitlines() == ["p: 1"] * lines


@pytest.mark.parametrize("memory", ["shared", "global"])
def test_a_buffer_is_printed_by_the_threads_that_come(target, capfd, memory):
    @T.prim_func
    def kernel(X: T.Tensor((64,), "int32")):
        with T.Kernel(1, threads=64):
            tile = T.alloc_shared((2,), "int32")
            T.copy(X[0:2], tile)
            if T.get_thread_binding() >= 62:
                if memory == "shared":
                    T.print(tile, msg="p")
                else:
                    T.print(X[0:2], msg="p")

    compiled(kernel, target)(np.arange(64, dtype=np.int32))
    assert sorted(capfd.readouterr().out.splitlines()) == ["p[0]: 0"] * 2 + ["p[1]: 1"] * 2

# ruff: noqa: F821, E731, B007, RUF060  the bodies are also a kernel's: names are given when they run
"""Statements mean what they mean in Python: each body is run by CPython on numbers and by the kernel."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.interpreter import interpret
from tilecore.testing.fuzz.python.judge import _defined

SIZE = 8


class Wrapping(list):
    """Memory of int32, which wraps."""

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, np.int32(np.int64(value) & 0xFFFFFFFF if value >= 0 else value))


def as_kernel(body: Callable[..., None], parallel: bool) -> Any:
    """The same text as a kernel: X and Y int32, n = T.alloc_var."""
    lines = textwrap.dedent(inspect.getsource(body)).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("def ")) + 1
    inner = textwrap.dedent("\n".join(lines[start:]))
    depth = "            " if parallel else "        "
    head = f"@T.prim_func\ndef body(X: T.Tensor(({SIZE},), 'int32'), Y: T.Tensor(({SIZE},), 'int32')):\n"
    head += "    with T.Kernel(1, threads=1) as block:\n"
    if parallel:
        head += "        for lane in T.Parallel(1):\n"
    names = {"T": T, "var": lambda v: T.alloc_var("int32", init=v), "macro": T.macro, "most": T.max}
    return _defined(head + textwrap.indent(inner, depth) + "\n", names, f"<{body.__name__} {parallel}>").ir


PYTHON = {"var": np.int32, "macro": lambda function: function, "most": max}


def swap(X, Y):
    X[0], X[1] = X[1], X[0]
    Y[0], Y[1], Y[2] = X[0], X[1], X[0]
    Y[1], Y[2], Y[0] = Y[0], Y[1], Y[2]


def euclid(X, Y):
    a, b = var(84), var(36)
    while b != 0:
        a, b = b, a % b
    Y[0] = a


def chained(X, Y):
    a, b = var(1), var(2)
    Y[0] = Y[1] = Y[0] + 1
    a = b = a + b
    a += 1
    Y[2], Y[3] = a, b
    i = var(0)
    i = Y[i] = 3
    Y[4] = i


def bound_then_overwritten(X, Y):
    t = X[0]
    X[0] = X[1]
    X[1] = t
    u = X[2] + 1
    X[2] = u * 2
    Y[0] = u + t + X[2]


def kept_in_containers(X, Y):
    values = [X[0], X[1] + 1]
    pair = (X[2], X[3])
    table = {"a": X[4]}
    more = [X[k] * k for k in (0, 1, 2)]
    X[0] = X[1] = X[2] = X[3] = X[4] = 0
    Y[0], Y[1], Y[2], Y[3], Y[4] = values[0], values[1], pair[0], pair[1], table["a"]
    Y[5] = more[1] + more[2]
    values.append(X[0])
    first, *rest = values
    values[0], values[1] = values[1], values[0]
    Y[6], Y[7] = first + rest[0], values[0]


def variables_in_containers(X, Y):
    a = var(5)
    pair = (a, a * 2)
    listed = [a, X[0]]
    a = 0
    listed[0] += 1
    Y[0], Y[1], Y[2], Y[3] = pair[0], pair[1], listed[0], a


def variables_of_a_list(X, Y):
    sums = [var(0) for _ in (0, 1)]
    for i in range(4):
        sums[0] += X[i]
        sums[1] = sums[0] * 2
    first_sum = sums[0]
    sums[0] = 7
    Y[0], Y[1], Y[2] = sums[0], sums[1], first_sum


def loops_over_values(X, Y):
    a = var(3)
    for v in [a, X[0]]:
        a = a + v
        X[0] = 9
    Y[0] = a
    for k, (p, q) in enumerate([(a, X[1]), (X[2], a)]):
        a = 1
        Y[k + 1] = p * 10 + q


def order_of_evaluation(X, Y):
    a = var(3)

    def bump():
        nonlocal a
        a = a + 1
        return a

    Y[0] = a + bump()
    Y[1] = bump() - a
    Y[2] = most(a, bump()) + a * bump()
    Y[bump() - 8] = bump()
    Y[a - 6] += bump()
    X[a - 8] = most(bump(), 2)
    Y[6], Y[7] = (a, bump())


def operands_of_and_or(X, Y):
    a, b, none = var(5), var(7), var(0)
    X[0] = 0
    Y[0] = a and b
    Y[1] = none or b
    Y[2] = X[0] or X[1] or 9
    Y[3] = X[1] and (X[0] or a) and b
    Y[4] = (none and X[1]) + (a or X[0]) * 10
    Y[5] = (a > 3) and b
    Y[6] = (a < 3) or b
    Y[7] = 1 if (a and not (none or b)) else 2
    X[1] = 3 and a
    X[2] = 0 or none
    X[3] = (a > 3 and b > 3) + 1
    if a and (none or b) and not none:
        X[4] = 4
    while X[5] and (none or X[6]):
        X[5] -= 1
        X[6] -= 1


def left_by_the_kernel(X, Y):
    i = var(0)
    while True:
        if X[i] == 5:
            break
        if X[i] == 2:
            i += 1
            continue
        Y[0] += X[i]
        i += 1
    Y[1] = i
    rows = var(0)
    while 1:
        column = var(0)
        while True:
            column += 1
            if column > rows:
                break
            Y[2] += 1
        rows += 1
        if rows == 4:
            break
        Y[3] = column
    n = 0
    while True:
        Y[4 + n] = n
        n += 1
        if n > 1:
            break
    pair = (X[0], X[1])
    rounds = 0
    while rounds < 2:
        a, b = X[0], X[1]
        X[0], X[1] = b, a + 1
        if rounds > 5:
            break
        rounds += 1
    Y[6], Y[7] = pair


def defaults_and_closures(X, Y):
    a = var(3)

    def early(p, q=a):
        return p + q

    late = lambda p: p + a
    a = 10
    Y[0], Y[1] = early(1), late(1)

    def outer():
        return inner()

    def inner():
        return a * 2

    a = 11
    Y[2] = outer()


def values_of_macros(X, Y):
    @macro
    def turned(p, q):
        p = p + 1
        return q, p

    a, b = var(1), var(2)
    a, b = turned(a, b)
    Y[0], Y[1] = a, b
    pair = turned(a, X[0])
    a = 50
    X[0] = 60
    Y[2], Y[3] = pair


def walrus(X, Y):
    n, total = var(5), var(0)
    while (n := n - 1) > 0:
        total += n
    Y[0] = total
    Y[1] = (t := X[0]) + t * (u := 2) + u
    if (v := X[1]) > 0 and v < 9:
        Y[2] = v
    i = var(0)
    while (element := X[i]) != 5 and i < 6:
        i += 1
        if element == 2:
            continue
        Y[7] += element
    left = [3, 2, 1]
    while (k := left.pop()) < 3:
        Y[3] = Y[3] + k
    X[0] = 77
    Y[4] = t
    Y[5] = X[0] if (w := X[2]) > 100 else w
    if left is not None and (size := len(left)) < 5:
        Y[6] = size


def wrapping(X, Y):
    a = var(2147483647)
    a = a + X[1]
    Y[0], Y[1] = a, a - X[2]
    Y[2], X[3] = X[3] * 2000000000, Y[2]


def loop_bounds_once(X, Y):
    n = var(3)
    X[0] = 4
    for i in range(X[0]):
        X[0] = 1
        Y[0] = Y[0] + 1
    for i in range(n):
        n = 1
        Y[1] = Y[1] + 1


def conditions_once(X, Y):
    c = X[0] < 3
    X[0] = 50
    if c:
        Y[0] = 1
    results = [X[1] > 0 and X[0] > 10, X[0] if X[1] > 0 else 0, 0 < X[1] < X[0]]
    X[0] = X[1] = -1
    if results[0]:
        Y[1] = results[1]
    if results[2]:
        Y[2] = 5


def members(X, Y):
    for i in range(6):
        Y[i] = 1 if i in (1, 3) else 2 if i not in {0, 2} else 3 if X[i] in range(0, 7, 2) else 4
    Y[6] = 1 if X[1] in [X[0], X[1]] else 0
    Y[7] = 1 if X[1] in () else 5


def attributes(X, Y):
    class Pair:
        pass

    o = Pair()
    o.v, o.w = X[0], var(3)
    X[0] = 40
    o.w += o.v
    width_before = o.w
    o.w = 8
    Y[0], Y[1], Y[2] = o.v, o.w, width_before


def powers(X, Y):
    n = var(8)
    if n < 8 and X[n] ** 2 > 4:
        Y[0] = 1
    Y[1] = X[1] ** 2 if X[1] > 0 else 0


def jumps(X, Y):
    total = var(0)
    for i in range(8):
        t = X[i]
        if t == 2:
            continue
        X[i] = total
        total += t
        if total > 12:
            break
    Y[0] = total


BODIES = [
    *(swap, euclid, chained, bound_then_overwritten, kept_in_containers, variables_in_containers),
    *(
        variables_of_a_list,
        loops_over_values,
        order_of_evaluation,
        operands_of_and_or,
        left_by_the_kernel,
        defaults_and_closures,
        values_of_macros,
        walrus,
    ),
    *(wrapping, loop_bounds_once, conditions_once, members, attributes, powers, jumps),
]


def by_python(body: Callable[..., None]) -> list[list[int]]:
    x, y = Wrapping(np.int32(v) for v in range(1, SIZE + 1)), Wrapping([np.int32(0)] * SIZE)
    with np.errstate(over="ignore"):
        _defined(
            textwrap.dedent(inspect.getsource(body)).replace(f"def {body.__name__}(", "def body("),
            PYTHON,
            f"<{body.__name__}>",
        )(x, y)
    return [[int(v) for v in x], [int(v) for v in y]]


def arrays() -> list[np.ndarray]:
    return [np.arange(1, SIZE + 1, dtype=np.int32), np.zeros(SIZE, np.int32)]


@pytest.mark.parametrize("parallel", [False, True], ids=["block", "parallel"])
@pytest.mark.parametrize("body", BODIES, ids=lambda b: b.__name__)
def test_a_body_means_what_python_means(body, parallel):
    kernel = as_kernel(body, parallel)
    expected = by_python(body)
    interpreted, compiled = arrays(), arrays()
    interpret(kernel, *interpreted)
    assert [a.tolist() for a in interpreted] == expected
    tilecore.compile(kernel, target="cpu")(*compiled)
    assert [a.tolist() for a in compiled] == expected

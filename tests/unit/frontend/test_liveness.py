"""Which names carry a value out of, or around, a loop or a branch; and no alarm where none does."""

from __future__ import annotations

import ast
import textwrap

import pytest

import tilecore.language as T
from tilecore.frontend.liveness import carried_names


def carried_variables(source):
    """{first line of a loop or if: names}, empty ones left out."""
    definition = ast.parse(textwrap.dedent(source)).body[0]
    return {node.lineno: set(names) for node, (names, _) in carried_names(definition).items() if names}


CASES = {
    "variables of comprehensions and lambdas are their own": (
        """
        def f():
            for i in r:
                t = i
                g(t)
            x = [a[i] + t for i in range(4) for t in range(i)]
            y = {i: t for i, t in z}
            w = sum(i for i in x)
            v = lambda i, *t: i + t
            return g(x, y, w, v)
        """,
        {},
    ),
    "what comprehensions and lambdas read from outside": (
        """
        def f():
            for i in r:
                t = i
                u = i
                v = i
            x = [j for j in range(t)]
            y = lambda k=u: k + v
            return x, y
        """,
        {3: {"t", "u", "v"}},
    ),
    "a sum around a loop": (
        """
        def f():
            t = 0
            for i in r:
                t = t + i
            return t
        """,
        {4: {"t"}},
    ),
    "read by the next iteration only": (
        """
        def f():
            t = 0
            for i in r:
                g(t)
                t = i
        """,
        {4: {"t"}},
    ),
    "assigned before it is read, in every iteration": (
        """
        def f():
            for i in r:
                t = i
                g(t)
            for i in r:
                t = 2 * i
                g(t)
        """,
        {},
    ),
    "read after the loop": (
        """
        def f():
            for i in r:
                t = i
            g(t)
        """,
        {3: {"t"}},
    ),
    "the loop's own variable after it": (
        """
        def f():
            for i in r:
                g(i)
            g(i)
        """,
        {3: {"i"}},
    ),
    "assigned again before it is read after the loop": (
        """
        def f():
            for i in r:
                t = i
            t = 5
            g(t)
        """,
        {},
    ),
    "both sides of an if": (
        """
        def f():
            if c:
                t = 1
            else:
                t = 2
            g(t)
        """,
        {3: {"t"}},
    ),
    "within one side only": (
        """
        def f():
            if c:
                t = 1
                g(t)
            else:
                t = 2
                g(t)
        """,
        {},
    ),
    "changed on one side and read on the other": (
        """
        def f():
            t = 0
            if c:
                t = 1
            else:
                g(t)
        """,
        {4: {"t"}},
    ),
    "continue reaches the next iteration": (
        """
        def f():
            t = 0
            for i in r:
                if t:
                    t = 1
                    continue
                t = 2
        """,
        {4: {"t"}},
    ),
    "break reaches what follows": (
        """
        def f():
            t = 0
            for i in r:
                if i:
                    t = 1
                    break
            g(t)
        """,
        {4: {"t"}, 5: {"t"}},
    ),
    "while reads its condition again": (
        """
        def f():
            t = 0
            while t < 5:
                t = t + 1
        """,
        {4: {"t"}},
    ),
    "nested loops": (
        """
        def f():
            t = 0
            for i in r:
                for j in r:
                    t += 1
                s = i
            g(t)
        """,
        {4: {"t"}, 5: {"t"}},
    ),
    "names of nested functions and comprehensions are their own": (
        """
        def f():
            for i in r:
                def inner(x):
                    t = x
                    return t
                g(inner(i), [t for t in r])
        """,
        {},
    ),
    "a comprehension assigns nothing": (
        """
        def f():
            for i in r:
                t = i
            s = [t for t in r]
            g(t)
        """,
        {3: {"t"}},
    ),
    "in a with block": (
        """
        def f():
            with k as b:
                for i in r:
                    t = b
                g(t)
        """,
        {3: {"t"}, 4: {"t"}},  # a `with` may be a loop: T.Parallel
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_carried_names(name):
    source, expected = CASES[name]
    assert carried_variables(source) == expected


def test_no_alarm_where_names_are_used_again():
    """All of this is ordinary Python; each value is used only where it was made."""

    @T.prim_func
    def kernel(X: T.Tensor((16, 16), "float32"), Y: T.Tensor((16, 16), "float32")):
        with T.Kernel(16) as b:
            value = X[b, 0]
            for i in T.serial(4):
                value = X[b, i]
                Y[b, i] = value
            value = X[b, 1]
            Y[b, 5] = value
            if X[b, 2] > 0:
                value = X[b, 3]
                other = value * 2
                Y[b, 6] = other
            else:
                other = X[b, 4]
                Y[b, 6] = other
            other = 1.0
            for i, j in T.Parallel(2, 2):
                other = X[i, j]
                first, second = other, other + 1
                Y[i, j] = first * second
            for k in T.serial(3):
                i = k + 1
                Y[b, i] = i
            for k in [1, 2, 3]:
                value = k
                total = value + sum(v for v in (1, 2))
            Y[b, 7] = total
            constant = 3
            if X[b, 0] > 0:
                constant = 3
            Y[b, 8] = constant
        with T.Kernel(16) as b:
            value = Y[b, 0]
            X[b, 0] = value

    assert len(kernel.ir.params) == 2


def test_variables_of_the_kernel_may_carry_anything():
    @T.prim_func
    def kernel(X: T.Tensor((16,), "float32"), Y: T.Tensor((2,), "float32")):
        with T.Kernel(1):
            total = T.alloc_var("float32", init=0)
            count = T.alloc_var("int32", init=0)
            for i in T.serial(16):
                if X[i] > 0:
                    total = total + X[i]
                    count += 1
            while count > 0:
                count = count - 1
                total *= 0.5
            Y[0] = total

    assert kernel.ir is not None

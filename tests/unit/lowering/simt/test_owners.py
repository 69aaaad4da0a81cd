"""Accesses that can only meet in one thread, against enumeration of all threads and steps."""

import itertools
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilecore.ir.nodes import Evaluate, For, ForKind, IntImm, Var
from tilecore.lowering.analysis.kernels import ThreadAxis, Threads
from tilecore.lowering.simt.analysis.owners import Owners

X, Y, J, K, N = (Var(name, "int32") for name in "xyjkn")


@dataclass
class Index:
    x: int
    y: int
    j: int
    k: int
    constant: int

    @property
    def expression(self):
        return X * self.x + Y * self.y + J * self.j + K * self.k + N * 7 + self.constant

    def value(self, x, y, j, k):
        return x * self.x + y * self.y + j * self.j + k * self.k + self.constant


small = st.integers(0, 9)
indices = st.builds(Index, st.integers(0, 20), st.integers(0, 20), small, small, small)


def kernel_body(steps_j, steps_k):
    zero = IntImm("int32", 0)
    inner = For(K, zero, IntImm("int32", steps_k), ForKind.SERIAL, Evaluate(zero))
    return For(J, zero, IntImm("int32", steps_j), ForKind.SERIAL, inner)


@settings(max_examples=300, deadline=None)
@given(st.integers(2, 4), st.integers(1, 3), st.integers(1, 4), st.integers(1, 3), indices, indices, st.booleans())
def test_it_is_never_said_of_accesses_that_meet_across_threads(nx, ny, nj, nk, a, b, alike):
    b = Index(a.x, a.y, b.j, b.k, b.constant) if alike else b
    owners = Owners(Threads((ThreadAxis("x", X, nx), ThreadAxis("y", Y, ny))), kernel_body(nj, nk))
    steps = list(itertools.product(range(nx), range(ny), range(nj), range(nk)))
    meets = any(first[:2] != second[:2] and a.value(*first) == b.value(*second) for first in steps for second in steps)
    same_thread = owners.same_thread([a.expression], [b.expression])
    assert not (same_thread and meets)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (X * 8 + J, X * 8 + J, True),
        (X * 8 + J, X * 8 + J + 1, False),
        (N * 64 + X, N * 64 + X, True),
        (N * 64 + X, X, False),
        (X, X + 1, False),
        (X // 2, X // 2, False),
        (J, J, False),
    ],
)
def test_one_axis(first, second, expected):
    owners = Owners(Threads((ThreadAxis("x", X, 32), ThreadAxis("y", Y, 1))), kernel_body(8, 2))
    assert owners.same_thread([first], [second]) is expected


def test_axes_told_by_different_indices():
    owners = Owners(Threads((ThreadAxis("x", X, 8), ThreadAxis("y", Y, 4))), kernel_body(8, 2))
    assert owners.same_thread([Y, X], [Y, X])
    assert owners.same_thread([Y * 8 + X], [Y * 8 + X])
    assert not owners.same_thread([Y * 7 + X], [Y * 7 + X])
    assert not owners.same_thread([J, X], [J, X])

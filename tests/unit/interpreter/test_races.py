"""Races in T.Parallel: found when there is one, silent when there is none, and told with the places and values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilecore.language as T
from tilecore.errors import RaceError
from tilecore.interpreter import interpret

from .kit import sample

N = 12


def indexed(store_at, load_at, value_at=None):
    """Y[W[i]] = V[i]; Z[i] = Y[R[i]], the indices as data."""

    @T.prim_func
    def kernel(
        W: T.Tensor((N,), "int32"), R: T.Tensor((N,), "int32"), V: T.Tensor((N,), "int32"), Z: T.Tensor((N,), "int32")
    ):
        with T.Kernel(1):
            s = T.alloc_shared((N,), "int32")
            T.fill(s, -1)
            for i in T.Parallel(N):
                s[W[i]] = V[i]
                Z[i] = s[R[i]]

    z = np.zeros(N, np.int32)
    values = np.arange(N) if value_at is None else value_at
    interpret(kernel, np.int32(store_at), np.int32(load_at), np.int32(values), z)
    return z


places = st.lists(st.integers(0, N - 1), min_size=N, max_size=N)


@settings(max_examples=80, deadline=None)
@given(
    store_at=places | st.permutations(range(N)),
    load_at=places,
    values=st.lists(st.integers(0, 2), min_size=N, max_size=N),
)
def test_a_race_is_reported_exactly_when_there_is_one(store_at, load_at, values):
    clash = any(store_at[i] == store_at[j] and values[i] != values[j] for i in range(N) for j in range(N) if i != j)
    crossed = any(store_at[i] == load_at[j] for i in range(N) for j in range(N) if i != j)
    if clash or crossed:
        with pytest.raises(RaceError):
            indexed(store_at, load_at, values)
    else:
        got = indexed(store_at, load_at, values)
        assert got.tolist() == [values[i] if load_at[i] == store_at[i] else -1 for i in range(N)]


def test_in_place_updates_are_no_race():
    @T.prim_func
    def kernel(A: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(N):
                A[i] = A[i] * 2 + 1
                A[i] = A[i] - 3

    a = sample("float32", N)
    expected = a * 2 + 1 - 3
    interpret(kernel, a)
    np.testing.assert_array_equal(a, expected)


def test_equal_values_and_equal_nans_are_no_race():
    @T.prim_func
    def kernel(A: T.Tensor((3,), "float32"), V: T.Tensor((2,), "float32")):
        with T.Kernel(1):
            for i in T.Parallel(N):
                A[i % 3] = V[0] * V[1]

    a = np.zeros(3, np.float32)
    interpret(kernel, a, np.float32([np.nan, 1]))
    assert np.isnan(a).all()


def test_one_loop_after_the_other_is_no_race():
    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), Y: T.Tensor((N,), "int32")):
        with T.Kernel(1):
            s = T.alloc_shared((N,), "int32")
            for k in T.serial(4):
                for i in T.Parallel(N):
                    s[i] = A[i] + k
                for i in T.Parallel(N):
                    Y[i] = s[N - 1 - i]

    a, y = sample("int32", N), np.zeros(N, np.int32)
    interpret(kernel, a, y)
    assert y.tolist() == (a[::-1] + 3).tolist()


def test_loops_that_write_one_buffer_in_turn_do_not_race():
    @T.prim_func
    def kernel(Y: T.Tensor((N,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(N):
                Y[i] = i
            for i in T.Parallel(N):
                Y[N - 1 - i] = Y[N - 1 - i] * 10 + i
            for i in T.Parallel(N // 2):
                Y[i * 2] = Y[i * 2 + 1]

    y = np.zeros(N, np.int32)
    interpret(kernel, y)
    last = [10 * k + N - 1 - k for k in range(N)]
    assert y.tolist() == [last[k | 1] for k in range(N)]


def test_a_later_write_races_with_an_earlier_read():
    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), Y: T.Tensor((N,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(N):
                Y[i] = A[(i + 1) % N]
                A[i] = 0

    with pytest.raises(RaceError, match=r"writes A\[0\], which another one reads \(i = 0") as caught:
        interpret(kernel, sample("int32", N), np.zeros(N, np.int32))
    assert f"the one at i = {N - 1}" in caught.value.found


def test_a_value_read_by_many_and_written_by_one_of_them():
    @T.prim_func
    def kernel(A: T.Tensor((N,), "int32"), Y: T.Tensor((N,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(N):
                Y[i] = A[0]
                if i == 0:
                    A[0] = 5

    with pytest.raises(RaceError, match=r"writes A\[0\]") as caught:
        interpret(kernel, sample("int32", N), np.zeros(N, np.int32))
    assert "more than one iteration" in caught.value.found


def test_serial_iterations_inside_one_are_no_race():
    @T.prim_func
    def kernel(A: T.Tensor((N, 5), "int32"), Y: T.Tensor((N,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(N):
                Y[i] = 0
                for k in T.serial(5):
                    Y[i] += A[i, k]

    a, y = sample("int32", (N, 5)), np.zeros(N, np.int32)
    interpret(kernel, a, y)
    assert y.tolist() == a.sum(1).tolist()


def test_the_report_names_iterations_values_and_line():
    @T.prim_func
    def kernel(A: T.Tensor((3, 4), "int32"), Y: T.Tensor((3,), "int32")):
        with T.Kernel(2, 2) as (bx, _):
            for i, j in T.Parallel(3, 4):
                Y[i] = A[i, j] + bx

    a = np.arange(12, dtype=np.int32).reshape(3, 4)
    with pytest.raises(RaceError, match=r"two iterations of T.Parallel write different values to Y\[0\]") as caught:
        interpret(kernel, a, np.zeros(3, np.int32))
    assert caught.value.found == "0 at i = 0, j = 0, block (0, 0); 3 at i = 0, j = 3, block (0, 0)"
    assert "Y[i] = A[i, j] + bx" in str(caught.value)
    assert caught.value.location.file == __file__


def test_views_of_other_element_types_race_too():
    @T.prim_func
    def kernel(Y: T.Tensor((N,), "uint8")):
        with T.Kernel(1):
            words = T.alloc_shared((N,), "uint32")
            T.clear(words)
            octets = T.view(words, (N * 4,), "uint8")
            for i in T.Parallel(N):
                words[i] = i
                Y[i] = octets[i]

    with pytest.raises(RaceError, match=r"reads octets\[1\]"):
        interpret(kernel, np.zeros(N, np.uint8))


def test_views_of_other_element_types_without_a_race():
    @T.prim_func
    def kernel(Y: T.Tensor((N,), "uint8")):
        with T.Kernel(1):
            words = T.alloc_shared((N,), "uint32")
            octets = T.view(words, (N * 4,), "uint8")
            for i in T.Parallel(N):
                words[i] = i * 257
                Y[i] = octets[4 * i + 1]

    y = np.zeros(N, np.uint8)
    interpret(kernel, y)
    assert y.tolist() == list(range(N))


def test_unchecked_the_last_iteration_wins():
    @T.prim_func
    def kernel(Y: T.Tensor((3,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(N):
                Y[i % 3] = i

    y = np.zeros(3, np.int32)
    interpret(kernel, y, check=False)
    assert y.tolist() == [9, 10, 11]


# -- between blocks ----------------------------------------------------------------------------------------------


def test_blocks_that_write_one_element_differently_race():
    @T.prim_func
    def kernel(Y: T.Tensor((8,), "int32")):
        with T.Kernel(2, 3) as (bx, by):
            Y[by] = bx + by

    with pytest.raises(
        RaceError, match=r"a block writes Y\[0\], which another one writes \(block \(1, 0\)\)"
    ) as caught:
        interpret(kernel, np.zeros(8, np.int32))
    assert caught.value.found == "block (0, 0) writes it"
    y = np.zeros(8, np.int32)
    interpret(kernel, y, block_races=False)
    assert y.tolist() == [1, 2, 3, 0, 0, 0, 0, 0]


def test_blocks_that_write_alike_or_apart_do_not_race():
    @T.prim_func
    def kernel(A: T.Tensor((20,), "int32"), Y: T.Tensor((20,), "int32"), flag: T.Tensor((1,), "int32")):
        with T.Kernel(3) as b:
            for i in T.Parallel(8):
                Y[b * 6 + i] = A[b * 6 + i]  # neighbours overlap by two
            flag[0] = 1

    a, y, flag = sample("int32", 20), np.zeros(20, np.int32), np.zeros(1, np.int32)
    for order in ("natural", "seeded"):
        interpret(kernel, a, y, flag, block_order=order)
    np.testing.assert_array_equal(a, y)


@pytest.mark.parametrize("through", ["elements", "tiles", "serial"])
@pytest.mark.parametrize("shift", [0, 1])
def test_blocks_that_read_what_others_write_race(through, shift):
    @T.prim_func
    def kernel(A: T.Tensor((4, 8), "int32")):
        with T.Kernel(4) as b:
            if through == "elements":
                for i in T.Parallel(8):
                    A[b, i] = A[(b + shift) % 4, i] + 1
            elif through == "tiles":
                s = T.alloc_shared((8,), "int32")
                T.copy(A[(b + shift) % 4, 0:8], s)
                T.copy(s, A[b, 0:8])
            else:
                A[b, 0] = A[(b + shift) % 4, 7]

    def run():
        interpret(kernel, sample("int32", (4, 8)))

    if shift and through != "serial":
        with pytest.raises(RaceError, match=r"a block \w+ A"):
            run()
    else:
        run()


def test_blocks_of_kernels_in_sequence_do_not_race():
    @T.prim_func
    def kernel(A: T.Tensor((4,), "int32")):
        with T.Kernel(4) as b:
            A[b] = b
        with T.Kernel(4) as b:
            A[3 - b] = A[3 - b] * 2

    a = np.zeros(4, np.int32)
    interpret(kernel, a)
    assert a.tolist() == [0, 2, 4, 6]


def test_blocks_may_update_together_but_not_read_meanwhile():
    @T.prim_func
    def kernel(A: T.Tensor((2,), "int32"), Y: T.Tensor((4,), "int32"), peek: T.int32):
        with T.Kernel(4) as b:
            T.atomic_add(A[0], b)
            if peek != 0:
                Y[b] = A[0]

    a, y = np.zeros(2, np.int32), np.zeros(4, np.int32)
    interpret(kernel, a, y, 0)
    assert a[0] == 6
    with pytest.raises(RaceError, match="a block updates atomically"):
        interpret(kernel, a, y, 1)
    interpret(kernel, a, y, 1, block_races=False)

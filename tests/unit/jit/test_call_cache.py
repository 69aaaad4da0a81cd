"""call_cache: a call finds what an equal call has made, and no other one's."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.dtypes import dtype
from tilecore.errors import ArgumentError
from tilecore.jit import call_cache
from tilecore.jit.call_cache import CallCache

DIFFERENT = [1, True, 1.0, "1", b"1", None, 2, -1.5, dtype("float32"), dtype("float16")]


def test_values_are_told_apart_by_type_and_value():
    calls = CallCache()
    for number, value in enumerate(DIFFERENT):
        assert calls.get((value,), {}, "state") is None
        calls.put((value,), {}, "state", number)
    for number, value in enumerate(DIFFERENT):
        assert calls.get((value,), {}, "state") == number
        assert calls.get((value,), {}, "another state") is None
        assert calls.get((), {"x": value}, "state") is None
        assert calls.get((value, value), {}, "state") is None


@pytest.mark.parametrize("value", [0.0, -0.0, [1], {"a": 1}, object(), np.float32(2), np.zeros(2)])
def test_calls_that_are_not_kept(value):
    calls = CallCache()
    calls.put((value,), {"x": 1}, "state", "result")
    assert calls.get((value,), {"x": 1}, "state") is None
    calls.put((), {"x": value}, "state", "result")
    assert calls.get((), {"x": value}, "state") is None


def test_keywords_count_by_name_and_position():
    calls = CallCache()
    calls.put((1,), {"x": 2, "y": 3}, "state", "result")
    assert calls.get((1,), {"x": 2, "y": 3}, "state") == "result"
    for args, kwargs in (((1,), {"y": 2, "x": 3}), ((1, 2), {"y": 3}), ((), {"x": 2, "y": 3}), ((1, 2, 3), {})):
        assert calls.get(args, kwargs, "state") is None


def test_tensors_by_shape_type_and_strides():
    torch = pytest.importorskip("torch")
    calls = CallCache(by_type=True)
    tensors = [torch.zeros(4, 6), torch.zeros(6, 4), torch.zeros(4, 6, dtype=torch.float16), torch.zeros(6, 4).t()]
    tensors += [np.zeros((4, 6), np.float32), np.zeros((6, 4), np.float32).T, torch.nn.Parameter(torch.zeros(4, 6))]
    for number, tensor in enumerate(tensors):
        assert calls.get((tensor, 1), {}, "state") is None
        calls.put((tensor, 1), {}, "state", number)
    for number, tensor in enumerate(tensors):
        assert calls.get((tensor, 1), {}, "state") == number
        same_kind = torch.nn.Parameter(tensor + 1) if number == 6 else tensor + 1
        assert calls.get((same_kind, 1), {}, "state") == number


def test_numbers_that_do_not_matter():
    calls = CallCache([1, "n"])
    calls.put((1, 5), {"n": 3}, "state", "result")
    assert calls.get((1, 6.5), {"n": True}, "state") == "result"
    calls.put((1, 0.0), {}, "state", "the other result")
    assert calls.get((1, -0.0), {}, "state") == "the other result"
    assert calls.get((2, 5), {"n": 3}, "state") is None
    assert calls.get((1, "5"), {"n": 3}, "state") is None


def test_only_so_many_calls_are_kept(monkeypatch):
    monkeypatch.setattr(call_cache, "_MOST", 3)
    calls = CallCache()
    for number in range(5):
        calls.put((number,), {}, "state", number)
    assert [calls.get((number,), {}, "state") for number in range(5)] == [None, None, None, 3, 4]


SCALE = 2


@tilecore.jit(target="cpu")
def scaled(A, B, offset: T.int32 = 0):
    n = T.const("n")
    A: T.Tensor((n,), "int32")
    B: T.Tensor((n,), "int32")
    with T.Kernel(1):
        for i in T.serial(n):
            B[i] = A[i] * SCALE + offset


def run(*args, **kwargs):
    a, b = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    scaled(*(value if value is not None else (a, b)[place] for place, value in enumerate(args)), **kwargs)
    return b[1:3].tolist()


def test_repeated_calls_of_an_eager_kernel(monkeypatch):
    """Every call is made twice: the second time it is found by its arguments."""
    for _ in range(2):
        assert run(None, None) == [2, 4]
        assert run(None, None, 1) == [3, 5]
        assert run(None, None, 7) == [9, 11]
        assert run(None, None, offset=3) == [5, 7]
        a, b = np.arange(3, dtype=np.int32), np.zeros(3, np.int32)
        scaled(B=b, A=a, offset=1)
        assert b.tolist() == [1, 3, 5]
        scaled(a, B=b)
        assert b.tolist() == [0, 2, 4]
        with pytest.raises(ArgumentError, match="B is not contiguous"):
            scaled(a, np.zeros(6, np.int32)[::2])
    monkeypatch.setitem(globals(), "SCALE", 3)
    for _ in range(2):
        assert run(None, None) == [3, 6]
        assert run(None, None, 1) == [4, 7]


@tilecore.jit(target="cpu")
def filled(A):
    n, m = T.const("n, m")
    A: T.Tensor((n,), "int32")
    with T.Kernel(1):
        for i in T.Parallel(n):
            A[i] = m


@pytest.mark.parametrize("make", [int, np.int64, np.array])
def test_sizes_by_name_count_by_their_value(make):
    filled.forget_kernels()
    a = np.zeros(3, np.int32)
    for size in (3, 5, 3, 7):
        filled(a, m=make(size))
        assert a.tolist() == [size] * 3
    with pytest.raises(ArgumentError, match="no size"):
        filled(a, m=make(-1))


def test_kernels_are_forgotten_while_others_call():
    """Without an error: here between the moments at which a call finds no kernel and keeps one."""
    a, b = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    scaled.forget_kernels()
    scaled(a, b)
    eager = scaled._eager
    kept = eager._kernel

    def forgetful(*args):
        kernel = kept(*args)
        eager.forget_kernels()
        return kernel

    eager._kernel = forgetful
    try:
        for _ in range(3):
            scaled(a, b, 2)
    finally:
        del eager._kernel
    assert b.tolist() == [value * SCALE + 2 for value in range(8)]

"""Objects that describe their memory by numpy's array interface, and have no DLPack."""

from __future__ import annotations

import numpy as np
import pytest
from launch_kit import torch

import tilecore
import tilecore.language as T
from tilecore.errors import ArgumentError
from tilecore.tensors.views import is_tensor, view

N = T.dynamic("n")


class Holder:
    """Has the memory of an array, as an image or a table of another library may."""

    def __init__(self, array, **changes):
        self.array = array
        self.changes = changes

    @property
    def __array_interface__(self):
        return {**self.array.__array_interface__, **self.changes}


@pytest.fixture(scope="module")
def double():
    @T.prim_func
    def double(A: T.Tensor((N, 3), "float32"), B: T.Tensor((N, 3), "float32")):
        with T.Kernel(N) as row:
            for j in T.serial(3):
                B[row, j] = A[row, j] * 2.0

    return tilecore.compile(double, target="cpu")


def test_memory_is_shared(double):
    a, b = np.arange(12, dtype="float32").reshape(4, 3), np.zeros((4, 3), "float32")
    double(Holder(a), Holder(b))
    np.testing.assert_array_equal(b, a * 2)
    double(Holder(a), torch.from_numpy(b))
    double(Holder(b), Holder(a))
    np.testing.assert_array_equal(a, b * 2)


@pytest.mark.parametrize("array", [np.zeros((3, 4), "int16")[::-1, 1:3], np.zeros((1, 2)), np.zeros(())], ids=str)
def test_it_is_seen_as_numpy_sees_it(array):
    held, own = view(Holder(array)), view(array)
    assert (held.address, held.shape, held.strides, held.dtype) == (own.address, own.shape, own.strides, own.dtype)


def test_memory_that_may_not_be_written(double):
    a, b = np.ones((2, 3), "float32"), np.zeros((2, 3), "float32")
    b.flags.writeable = False
    double(Holder(b), Holder(a))
    with pytest.raises(ArgumentError, match="read-only"):
        double(Holder(a), Holder(b))


def test_bytes_that_numpy_would_copy_are_not_written(double):
    """An image of PIL gives new bytes each time: what a kernel wrote there would be lost."""
    a = np.ones((2, 3), "float32")
    with pytest.raises(ArgumentError, match="read-only"):
        double(a, Holder(a, data=a.tobytes()))


def test_an_interface_that_is_wrong(double):
    a = np.ones((2, 3), "float32")
    with pytest.raises(ArgumentError, match="__array_interface__ cannot be read"):
        double(a, Holder(a, typestr="nonsense"))


@pytest.mark.parametrize("value", [np.float32(1), np.int64(1), np.bool_(True), 1, None, "a"], ids=repr)
def test_what_is_no_tensor(value):
    assert not is_tensor(value)


def test_outputs_are_numpys(double):
    kernel = tilecore.compile(double.prim_func, target="cpu", out_idx=-1)
    assert type(kernel(Holder(np.ones((2, 3), "float32")))) is np.ndarray

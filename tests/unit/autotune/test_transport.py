"""Tensors that are sent to another process arrive as they were."""

from __future__ import annotations

import pickle

import ml_dtypes
import numpy as np
import pytest

from tilecore.autotune.transport import Packed, pack, unpack
from tilecore.errors import ArgumentError
from tilecore.profiler.arrays import as_numpy
from tilecore.testing.null_backend import NullAdapter

ADAPTER = NullAdapter()


class NumpyAdapter(NullAdapter):
    def empty(self, shape, dtype, device_index=0):
        from tilecore.dtypes import dtype as DType

        return np.empty(shape, DType(dtype).as_numpy())


def round_trip(value, adapter):
    return unpack(pickle.loads(pickle.dumps(pack(value))), adapter)


@pytest.mark.parametrize(
    "name", ["float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2fnuz", "int8", "uint32", "bool", "float64"]
)
@pytest.mark.parametrize("adapter", [ADAPTER, NumpyAdapter()])
def test_values_of_every_type(name, adapter):
    kind = np.dtype(getattr(ml_dtypes, name, None) or name)
    values = np.arange(6).reshape(2, 3).astype(kind)
    received = as_numpy(round_trip(values, adapter))
    assert received.dtype == kind
    assert np.array_equal(received.astype(np.float64), values.astype(np.float64))
    assert np.array_equal(pack(values).array(), values)


def test_torch_tensors_on_both_ends():
    torch = pytest.importorskip("torch")
    for dtype in (torch.float16, torch.bfloat16, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.int64):
        values = torch.arange(4).to(dtype)
        received = round_trip(values, ADAPTER)
        assert received.dtype == dtype
        assert torch.equal(received.double(), values.double())


@pytest.mark.parametrize("adapter", [ADAPTER, NumpyAdapter()])
def test_strides(adapter):
    base = np.arange(40, dtype=np.float32).reshape(4, 10)
    for view in (base[:, :6], base.T, base[::2]):
        received = round_trip(view, adapter)
        stride = received.stride() if hasattr(received, "stride") else tuple(s // 4 for s in received.strides)
        assert stride == tuple(s // 4 for s in view.strides)
        assert np.array_equal(as_numpy(received), view)
        assert np.array_equal(pack(view).array(), view)
        assert pack(view).array().strides == view.strides
    for view in (base[::-1], np.broadcast_to(base[:1], (4, 10)), base[:0]):
        assert np.array_equal(as_numpy(round_trip(view, adapter)), view), "as plain tensors"


def test_numbers_and_other_things():
    assert [round_trip(value, ADAPTER) for value in (3, 2.5, True)] == [3, 2.5, True]
    with pytest.raises(ArgumentError, match="not a tensor"):
        pack("text")


def test_arrays_are_ones_own():
    packed = Packed((2,), None, "int32", np.array([1, 2], np.int32).tobytes())
    array = packed.array()
    array[0] = 9
    assert packed.array().tolist() == [1, 2]

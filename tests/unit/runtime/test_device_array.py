"""Arrays that the core makes of a device's memory, taken by numpy and torch; the memory is the host's here."""

from __future__ import annotations

import ctypes
import gc

import numpy as np
import pytest

from tilecore.tensors import device_array
from tilecore.tensors.device_array import DeviceArray, DeviceMemory
from tilecore.tensors.views import view


@pytest.fixture
def made():
    """(an array of 2 x 3 float32 with values 0 to 5, a journal of what was done to its memory)."""
    memory = (ctypes.c_float * 6)(*range(6))
    journal = []
    release = lambda: journal.append(("released", bool(memory)))  # noqa: E731
    array = DeviceArray(
        DeviceMemory(ctypes.addressof(memory), (1, 0), release), (2, 3), "float32", lambda: journal.append("waited")
    )
    return array, journal


def test_other_libraries_share_the_memory(made):
    array, journal = made
    taken = np.from_dlpack(array)
    np.testing.assert_array_equal(taken, np.arange(6, dtype=np.float32).reshape(2, 3))
    assert taken.__array_interface__["data"][0] == array.address
    assert journal == ["waited"]
    torch = pytest.importorskip("torch")
    assert torch.from_dlpack(array).data_ptr() == array.address
    assert (array.ndim, array.size, array.__dlpack_device__()) == (2, 6, (1, 0))


def test_the_memory_lives_as_long_as_anybody_has_it():
    memory, journal = (ctypes.c_float * 6)(), []
    array = DeviceArray(
        DeviceMemory(ctypes.addressof(memory), (1, 0), lambda: journal.append("released")),
        (6,),
        "float32",
        lambda: None,
    )
    taken = np.from_dlpack(array)
    del array
    gc.collect()
    assert journal == []
    taken[...] = 3
    assert list(memory) == [3.0] * 6
    del taken
    gc.collect()
    assert journal == ["released"]
    assert not device_array._live


def test_a_capsule_that_nobody_takes_is_released(made):
    array, journal = made
    capsule = array.__dlpack__(stream=-1)
    assert "waited" not in journal
    assert device_array._live
    del capsule
    assert not device_array._live


def test_copies_and_other_devices_are_refused(made):
    array, _ = made
    with pytest.raises(BufferError):
        array.__dlpack__(copy=True)
    with pytest.raises(BufferError):
        array.__dlpack__(dl_device=(2, 0))


def test_the_launcher_reads_it_without_a_capsule(made):
    array, journal = made
    seen = view(array)
    assert (seen.address, seen.shape, seen.strides, seen.dtype) == (array.address, (2, 3), (3, 1), (2, 32, 1))
    assert (seen.device, seen.owner, journal) == ((1, 0), array, [])

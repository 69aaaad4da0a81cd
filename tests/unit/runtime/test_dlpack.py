import ctypes

import numpy
import pytest
from launch_kit import pointer_of, torch

from tilecore.tensors import dlpack


class Exporter:
    """Hands out a capsule for ``array`` that is made here, field by field."""

    def __init__(self, array, *, versioned=True, read_only=False, major=1, strides=True, offset=0):
        self.array = array
        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        steps = [step // array.itemsize for step in array.strides]
        self.strides = (ctypes.c_int64 * array.ndim)(*steps) if strides else None
        tensor = dlpack.Tensor(
            array.ctypes.data - offset,
            dlpack.Device(1, 0),
            array.ndim,
            dlpack.ElementType(2, 8 * array.itemsize, 1),
            ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64)),
            ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64)) if strides else None,
            offset,
        )
        if versioned:
            self.managed = dlpack.ManagedVersioned(major, 0, None, None, int(read_only), tensor)
        else:
            self.managed = dlpack.Managed(tensor, None, None)
        self.name = b"dltensor_versioned" if versioned else b"dltensor"

    def __dlpack__(self, **_options):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self.managed), self.name, None)

    def __dlpack_device__(self):
        return 1, 0


@pytest.mark.parametrize("versioned", [True, False])
def test_a_capsule_is_described(versioned):
    array = numpy.zeros((3, 4), numpy.float32)[:, ::2]
    exporter = Exporter(array, versioned=versioned)
    description = dlpack.read_capsule(exporter.__dlpack__())
    assert description == (array.ctypes.data, (3, 2), (4, 2), (2, 32, 1), (1, 0), False)


def test_without_strides_it_is_row_major_and_the_offset_counts():
    array = numpy.zeros((2, 3, 4), numpy.float64)
    exporter = Exporter(array, strides=False, offset=16)
    description = dlpack.read_capsule(exporter.__dlpack__())
    assert description.strides == (12, 4, 1)
    assert description.address == array.ctypes.data


def test_the_read_only_flag_is_seen():
    array = numpy.zeros(3, numpy.float32)
    exporter = Exporter(array, read_only=True)
    assert dlpack.read_capsule(exporter.__dlpack__()).read_only
    array.flags.writeable = False
    assert dlpack.read_capsule(array.__dlpack__(max_version=(1, 0))).read_only


def test_what_is_no_capsule_is_refused():
    with pytest.raises(ValueError, match="no unused DLPack capsule"):
        dlpack.read_capsule(3)
    exporter = Exporter(numpy.zeros(3), major=2)
    with pytest.raises(ValueError, match=r"version is 2\.0"):
        dlpack.read_capsule(exporter.__dlpack__())
    capsule = torch.zeros(3).__dlpack__()
    numpy.from_dlpack(Holder(capsule))
    with pytest.raises(ValueError, match="no unused DLPack capsule"):
        dlpack.read_capsule(capsule)


class Holder:
    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **_options):
        return self.capsule

    def __dlpack_device__(self):
        return 1, 0


def test_torch_and_numpy_export_what_is_read():
    tensor = torch.zeros(4, 5)[1:, ::2]
    description = dlpack.read_capsule(tensor.__dlpack__())
    assert description == (pointer_of(tensor), (3, 3), (5, 2), (2, 32, 1), (1, 0), False)
    scalar = numpy.zeros((), numpy.int16)
    assert dlpack.read_capsule(scalar.__dlpack__())[1:4] == ((), (), (0, 16, 1))

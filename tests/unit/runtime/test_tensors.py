import sys

import ml_dtypes
import numpy
import pytest
from fresh_processes import imported_by
from launch_kit import torch
from test_dlpack import Exporter

from tilecore.dtypes import FACTS, dtype
from tilecore.tensors.views import UnreadableTensor, empty, is_tensor, view

TORCH = sorted({facts.torch for facts in FACTS.values()})


@pytest.mark.parametrize("name", TORCH)
def test_torch_tensors_are_seen_as_their_library_sees_them(name):
    tensor = torch.zeros(3, 4, dtype=getattr(torch, name))[:, 1:3]
    tensor_view = view(tensor)
    assert (tensor_view.address, tensor_view.shape, tensor_view.strides) == (tensor.data_ptr(), (3, 2), (4, 1))
    assert tensor_view.dtype == (*FACTS[name].dlpack, 1)
    assert (tensor_view.dtype_name, tensor_view.device, tensor_view.device_name) == (name, (1, 0), "cpu")
    assert (tensor_view.itemsize, tensor_view.elements, tensor_view.read_only) == (tensor.element_size(), 6, False)


@pytest.mark.parametrize("name", TORCH)
def test_numpy_arrays_are_seen_as_their_library_sees_them(name):
    array = numpy.zeros((3, 4), dtype(name).as_numpy())[::-1, 1:3]
    tensor_view = view(array)
    assert (tensor_view.address, tensor_view.shape, tensor_view.strides) == (array.ctypes.data, (3, 2), (-4, 1))
    assert tensor_view.dtype == (*FACTS[name].dlpack, 1)
    assert (tensor_view.dtype_name, tensor_view.itemsize) == (name, array.itemsize)


def test_numpys_read_only_flag_is_seen():
    array = numpy.zeros(3)
    array.flags.writeable = False
    assert view(array).read_only


def test_a_span_covers_exactly_the_elements():
    array = numpy.arange(24, dtype=numpy.float32).reshape(4, 6)[::-2, 1:4]
    low, high = view(array).span()
    assert (low, high) == (array.ctypes.data - 2 * 24, array.ctypes.data + 3 * 4)
    assert (low, high) == numpy.lib.array_utils.byte_bounds(array)
    empty_view = view(array[:0])
    assert empty_view.span()[0] == empty_view.span()[1]


@pytest.mark.parametrize(
    ("tensor", "reason"),
    [
        (lambda: torch.eye(3).to_sparse(), "its layout is sparse_coo"),
        (lambda: torch.empty(3, device="meta"), "on the meta device"),
        (lambda: numpy.ma.masked_array([1.0, 2.0], [True, False]), "it is a masked array"),
        (lambda: numpy.zeros(3, ">f4"), "its bytes are in the other order"),
        (lambda: numpy.zeros(3, [("a", "i1"), ("b", "f4")])["b"], "not whole elements of 4 bytes"),
        (lambda: Exporter(numpy.zeros(3), major=9), "its DLPack version is 9.0"),
    ],
)
def test_memory_that_cannot_be_used_is_refused_with_the_reason(tensor, reason):
    with pytest.raises(UnreadableTensor, match=reason):
        view(tensor())


def test_types_without_a_dlpack_code_are_named():
    assert view(numpy.zeros(3, "M8[s]")).dtype_name == "datetime64[s]"
    assert view(numpy.zeros(3, ml_dtypes.int4)).dtype[0] == 255


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("read_only", [True, False])
def test_any_library_with_dlpack_will_do(versioned, read_only):
    array = numpy.zeros((2, 3), numpy.float32)
    tensor_view = view(Exporter(array, versioned=versioned, read_only=read_only))
    assert (tensor_view.address, tensor_view.shape, tensor_view.strides) == (array.ctypes.data, (2, 3), (3, 1))
    assert tensor_view.read_only == (versioned and read_only)
    assert (tensor_view.dtype_name, tensor_view.device_name) == ("float32", "cpu")


def test_the_stream_is_handed_to_the_producer_of_a_device_tensor():
    requests = []

    class OnDevice(Exporter):
        def __dlpack__(self, **keywords):
            requests.append(keywords)
            return super().__dlpack__()

        def __dlpack_device__(self):
            return 2, 3

    tensor = OnDevice(numpy.zeros(3))
    view(tensor, lambda index: 40 + index)
    view(tensor, lambda index: 0)
    assert [a.get("stream") for a in requests] == [43, None]


def test_a_producer_from_before_version_1_is_understood():
    class Old(Exporter):
        def __dlpack__(self, stream=None):
            return super().__dlpack__()

    assert view(Old(numpy.zeros(3), versioned=False)).shape == (3,)


def test_numbers_and_buffers_are_no_tensors():
    for value in (3, 2.5, None, "abc", b"abc", bytearray(8), [1, 2]):
        assert not is_tensor(value)
        with pytest.raises(TypeError):
            view(value)


@pytest.mark.parametrize("name", sorted(FACTS))
def test_empty_makes_torch_tensors(name):
    tensor = empty((2, 3), name)
    assert isinstance(tensor, torch.Tensor)
    assert tensor.shape == (2, 3)
    assert str(tensor.dtype) == f"torch.{FACTS[name].torch}"


def test_empty_makes_aligned_numpy_arrays_where_torch_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for name in FACTS:
        array = empty((2, 3), name)
        assert isinstance(array, numpy.ndarray)
        assert (array.shape, array.dtype.itemsize) == ((2, 3), dtype(name).bytes)
        assert array.ctypes.data % 64 == 0
        assert array.flags.c_contiguous
    assert empty((0, 3), "float32").shape == (0, 3)
    assert empty((), "float32").shape == ()
    with pytest.raises(ImportError):
        empty((2,), "float32", "xyz:0")


def test_importing_it_imports_no_tensor_library():
    assert imported_by("import tilecore.tensors.views") == []

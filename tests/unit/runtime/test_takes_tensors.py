"""Launches that get the tensors of a call as objects, and tensors on devices whose addresses are handles of buffers."""

import ctypes
from types import SimpleNamespace

import numpy
import pytest
from launch_kit import HOST, HostAdapter, _launcher, expr, kernel, needs_torch, torch
from test_exchange import BORROW, NAME_TABLE, STREAM, Table

from tilecore.artifact.records import ScalarParam, Symbol, TensorParam, Workspace
from tilecore.contract.adapter import LoadedKernel
from tilecore.errors import ArgumentError
from tilecore.plugins.guarded_adapter import guard_loaded
from tilecore.runtime import launcher_py
from tilecore.tensors import dlpack
from tilecore.tensors.views import view

N = expr("n")
FROM_FIRST = [Symbol("n", ("shape", 0, 0))]
HANDLES = 8  # DLPack's type of a device with handles, the one of torch's "mps"
A, B = TensorParam("A", "float32", (N,), access="r"), TensorParam("B", "float32", (N,), access="w")
COPY = kernel(
    [A, ScalarParam("s", "int32"), B],
    FROM_FIRST,
    workspaces=[Workspace("W", "float32", (16,)), Workspace("V", "int8", (N,))],
    out_idx=[2],
)  # fmt: skip
PAIR = kernel([A, B], FROM_FIRST)


@pytest.mark.parametrize("on_device", [False, True])
def test_a_launch_gets_the_tensors_in_the_order_of_their_slots(kind, on_device):
    seen = []

    def launch(slots, grids, *rest):
        seen.append(((ctypes.c_int64 * 4).from_address(slots)[:], rest))
        return 0

    loaded = LoadedKernel(launch, on_device=on_device, takes_tensors=True)
    launcher = kind(COPY, loaded, HostAdapter(), HOST)
    tensor = torch.zeros(5)
    for number in (3, numpy.int64(3)):  # in C, and by the checker
        result = launcher(tensor, number)
        addresses, (*where, tensors) = seen.pop()
        assert where == [0] * (1 + on_device)
        assert tensors[0] is tensor
        assert tensors[1] is result
        assert len(tensors) == 4
        assert addresses == [view(t).address for t in tensors]
        assert view(tensors[3]).shape == (5,)


def test_the_signature_of_a_launch_that_takes_tensors_is_checked():
    origin = SimpleNamespace(package="tile-acme", version="1", title="tile-acme", remedy="", kind="backend")
    right = LoadedKernel(lambda slots, grids, stream, tensors: 0, takes_tensors=True)
    assert guard_loaded(origin, "acme.load", right, COPY).takes_tensors
    for wrong in (lambda slots, grids, stream: 0, view(numpy.zeros(1))):
        with pytest.raises(Exception, match=r"wrong launch[^$]*function\(slots, grids, stream, tensors\)"):
            guard_loaded(origin, "acme.load", LoadedKernel(wrong, takes_tensors=True), COPY)


class _Storage:
    def __init__(self, handle):
        self.handle = handle

    def data_ptr(self):
        return self.handle


def _handles():
    """A class of torch tensors that say that they are on "mps": their addresses are handles, 32 bytes apart."""
    numbers = {}

    class HandleTensor(torch.Tensor):
        device = property(lambda self: torch.device("mps", 0))

        def untyped_storage(self):
            place = super().untyped_storage().data_ptr()
            return _Storage(0x10008 + 32 * numbers.setdefault(place, len(numbers)))

        def data_ptr(self):
            return self.untyped_storage().data_ptr() + self.storage_offset() * self.element_size()

    def borrow(tensor, out):
        shape, strides = (
            (ctypes.c_int64 * tensor.dim())(*tensor.shape),
            (ctypes.c_int64 * tensor.dim())(*tensor.stride()),
        )
        kept.append((shape, strides))
        pointer = ctypes.POINTER(ctypes.c_int64)
        out[0] = dlpack.Tensor(
            tensor.data_ptr(), dlpack.Device(HANDLES, 0), tensor.dim(), dlpack.ElementType(2, 32, 1),
            ctypes.cast(shape, pointer), ctypes.cast(strides, pointer), 0,
        )  # fmt: skip
        return 0

    kept = []
    HandleTensor.table = Table(1, 0, None, None, None, None, BORROW(borrow), STREAM())
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    HandleTensor.__dlpack_c_exchange_api__ = new(ctypes.addressof(HandleTensor.table), NAME_TABLE, None)
    return HandleTensor


class HandleAdapter(HostAdapter):
    device = HANDLES

    def torch_device(self, device_index=0):
        return "mps"


@needs_torch
def test_buffers_are_told_apart_by_their_handles(kind, monkeypatch):
    """Handles may be close to each other, and say nothing about the alignment of the memory."""
    tensor_class = _handles()
    aligned = kernel([*PAIR.params[:1], TensorParam("B", "float32", (N,), access="w", align=16)], FROM_FIRST)
    calls = []
    loaded = LoadedKernel(lambda slots, grids, stream, tensors: calls.append(tensors) or 0, takes_tensors=True)
    launcher = kind(aligned, loaded, HandleAdapter(), HANDLES)
    memories = [torch.zeros(300), torch.zeros(300)]
    a, b = (memory.as_subclass(tensor_class) for memory in memories)
    assert abs(a.data_ptr() - b.data_ptr()) < 300
    before = b._version
    launcher(a, b)
    assert [t is expected for t, expected in zip(calls[0], (a, b), strict=True)] == [True, True]
    assert b._version == before + 1
    launcher(a[8:108], b[4:104])
    if kind is not launcher_py.Launcher:
        with monkeypatch.context() as patch:
            patch.setattr(_launcher, "bind", lambda *_: pytest.fail("the checker in Python was asked"))
            kind(PAIR, loaded, HandleAdapter(), HANDLES)(a, b)
            calls.pop()
    with pytest.raises(ArgumentError, match="B and A share a part of their memory"):
        launcher(a[:200], a[100:])
    with pytest.raises(ArgumentError, match="not aligned"):
        launcher(a[8:108], b[3:103])
    with pytest.raises(ArgumentError, match="wrong device") as caught:
        launcher(memories[0], b)
    assert (caught.value.found, caught.value.expected) == ("cpu", "mps")
    with pytest.raises(ArgumentError, match="A is not contiguous"):
        launcher(a[::2], b[:150])
    assert len(calls) == 2


@needs_torch
def test_the_hosts_tensors_beside_those_of_the_device(kind):
    class Both(HandleAdapter):
        host_tensors = True

        def empty(self, shape, dtype, device_index=0):
            return torch.zeros(shape).as_subclass(tensor_class)

    tensor_class, calls = _handles(), []
    loaded = LoadedKernel(lambda slots, grids, stream, tensors: calls.append(tensors) or 0, takes_tensors=True)
    made = kernel(PAIR.params, FROM_FIRST, out_idx=[1])
    launcher = kind(made, loaded, Both(), HANDLES)
    host, array = torch.zeros(5), numpy.zeros(5, numpy.float32)
    assert type(launcher(array)) is numpy.ndarray
    assert type(launcher(host)) is torch.Tensor
    assert type(launcher(host.as_subclass(tensor_class))) is tensor_class
    assert [call[0] is given for call, given in zip(calls[:2], (array, host), strict=True)] == [True, True]

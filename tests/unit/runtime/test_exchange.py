"""Tensor types that offer DLPack's exchange table are read through it by the built launcher, on any device."""

import ctypes

import numpy
import pytest
from launch_kit import HostAdapter, Recorder, _launcher, expr, kernel, native, torch

from tilecore.artifact.records import Symbol, TensorParam
from tilecore.contract.adapter import LoadedKernel
from tilecore.errors import ArgumentError
from tilecore.tensors import dlpack

pytestmark = pytest.mark.skipif(_launcher is None, reason="the extension is not built")

DEVICE = 9
STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p))
BORROW = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(dlpack.Tensor))


class Table(ctypes.Structure):
    """DLPackExchangeAPI."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("export_owned", ctypes.c_void_p),
        ("import_owned", ctypes.c_void_p),
        ("borrow", BORROW),
        ("stream", STREAM),
    )


def make_type(major=1, fails=False, stream=None):
    """A type of device tensors with an exchange table; its instances count in ``read`` how often they are borrowed."""

    class DeviceTensor:
        def __init__(self, address, shape, index=0, dtype=(2, 32, 1), strides=True, byte_offset=0):
            self.shape = (ctypes.c_int64 * len(shape))(*shape)
            self.strides = (ctypes.c_int64 * len(shape))(*dlpack.contiguous_strides(shape)) if strides else None
            self.tensor = dlpack.Tensor(
                address,
                dlpack.Device(DEVICE, index),
                len(shape),
                dlpack.ElementType(*dtype),
                ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64)),
                ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64)) if strides else None,
                byte_offset,
            )
            self.read = 0

        def __dlpack_device__(self):
            return DEVICE, self.tensor.device.index

        def __dlpack__(self, **_options):
            new = ctypes.pythonapi.PyCapsule_New
            new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
            self.managed = dlpack.Managed(self.tensor, None, None)
            return new(ctypes.addressof(self.managed), NAME_MANAGED, None)

    def borrow(value, out):
        value.read += 1
        out[0] = value.tensor
        return -1 if fails is True else 0

    def current_stream(kind, index, out):
        assert kind == DEVICE
        out[0] = stream + index
        return -1 if fails == "stream" else 0

    table = Table(major, 0, None, None, None, None, BORROW(borrow), STREAM(current_stream) if stream else STREAM())
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    DeviceTensor.table = table
    DeviceTensor.__dlpack_c_exchange_api__ = new(ctypes.addressof(table), NAME_TABLE, None)
    return DeviceTensor


NAME_TABLE, NAME_MANAGED = b"dlpack_exchange_api", b"dltensor"


class DeviceAdapter(HostAdapter):
    device = DEVICE

    def current_stream(self, device_index):
        return 0x1000 + device_index

    def torch_device(self, device_index=0):
        return f"device:{device_index}"


N = expr("n")
ADD = kernel(
    [TensorParam("X", "float32", (N, 4), access="r"), TensorParam("Y", "float32", (N, 4), access="w")],
    [Symbol("n", ("shape", 0, 0))],
)


@pytest.fixture
def launched():
    """(launcher on the device, recorder)."""
    recorder = Recorder(ADD)
    return _launcher.Launcher(ADD, native(recorder), DeviceAdapter(), DEVICE), recorder


@pytest.fixture
def no_checker(monkeypatch):
    monkeypatch.setattr(_launcher, "bind", lambda *_: pytest.fail("the checker in Python was asked"))


def test_device_tensors_are_read_through_the_table(launched, no_checker):
    launcher, recorder = launched
    kind = make_type()
    x, y = kind(0x10000, (3, 4), 2), kind(0x20000, (3, 4), 2, strides=False, byte_offset=64)
    launcher(x, y)
    assert recorder.calls == [([0x10000, 0x20040, 3], [1, 1, 1, 0], 0x1002)]
    assert (x.read, y.read) == (1, 1)


def test_refusals_of_device_tensors(launched):
    launcher, recorder = launched
    kind = make_type()
    good = kind(0x10000, (3, 4), 1)
    cases = {
        "Y is on DLPack device 9:0": (good, kind(0x20000, (3, 4), 0)),
        "n is 3 from X.shape": (good, kind(0x20000, (2, 4), 1)),
        "X has the wrong dtype": (kind(0x10000, (3, 4), 1, (2, 64, 1)), good),
        "X has 1 axis": (kind(0x10000, (3,), 1), good),
        "Y and X share": (good, kind(0x10010, (3, 4), 1)),
        "Y has elements but no memory": (good, kind(None, (3, 4), 1)),
        "X is on the wrong device": (torch.zeros(3, 4), good),
        "Y is on the wrong device": (good, numpy.zeros((3, 4), "f4")),
        "f32 x 4": (kind(0x10000, (3, 4), 1, (2, 32, 4)), good),
    }
    for text, args in cases.items():
        with pytest.raises(ArgumentError) as caught:
            launcher(*args)
        assert text in str(caught.value) or (text == "f32 x 4" and "of 32 bits x 4" in str(caught.value))
    assert not recorder.calls


def test_a_table_of_another_version_is_left_alone(launched):
    launcher, recorder = launched
    kind = make_type(major=2)
    x, y = kind(0x10000, (3, 4)), kind(0x20000, (3, 4))
    launcher(x, y)
    assert (x.read, y.read) == (0, 0)
    assert recorder.calls == [([0x10000, 0x20000, 3], [1, 1, 1, 0], 0x1000)]


def test_a_table_that_fails_is_replaced_by_the_slower_protocol(launched):
    launcher, recorder = launched
    kind = make_type(fails=True)
    launcher(kind(0x10000, (3, 4)), kind(0x20000, (3, 4)))
    assert recorder.calls == [([0x10000, 0x20000, 3], [1, 1, 1, 0], 0x1000)]


def test_more_types_than_are_remembered(launched, no_checker):
    launcher, recorder = launched
    for number in range(80):
        kind = make_type()
        launcher(kind(0x10000 + 256 * number, (3, 4)), kind(0x20000 + 256 * number, (3, 4)))
    assert [call[0][0] for call in recorder.calls] == [0x10000 + 256 * number for number in range(80)]


class Follows(DeviceAdapter):
    tensor_streams = True


@pytest.mark.parametrize(
    ("adapter", "options", "expected"),
    [
        (Follows(), {"stream": 0x7000}, 0x7002),
        (Follows(), {}, 0x1002),  # a table without streams
        (Follows(), {"stream": 0x7000, "fails": "stream"}, 0x1002),
        (DeviceAdapter(), {"stream": 0x7000}, 0x1002),  # an adapter with streams of its own
    ],
)
def test_the_stream_of_the_tensors_library(adapter, options, expected):
    recorder = Recorder(ADD)
    kind = make_type(**options)
    _launcher.Launcher(ADD, native(recorder), adapter, DEVICE)(kind(0x10000, (3, 4), 2), kind(0x20000, (3, 4), 2))
    assert [call[2] for call in recorder.calls] == [expected]


def test_an_adapter_without_streams_asks_nobody():
    class Plain(HostAdapter):
        device, tensor_streams = DEVICE, True

    recorder = Recorder(ADD)
    kind = make_type(stream=0x7000)
    _launcher.Launcher(ADD, native(recorder), Plain(), DEVICE)(kind(0x10000, (3, 4)), kind(0x20000, (3, 4)))
    assert [call[2] for call in recorder.calls] == [0]


def test_the_device_of_the_tensors():
    """The index reaches a launch that asks for it, by the quick way and by the checker's."""
    seen = []
    signature = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p
    )
    function = signature(lambda state, slots, grids, device, stream: seen.append((device, stream)) or 0)
    address = ctypes.cast(function, ctypes.c_void_p).value
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    loaded = LoadedKernel(new(address, b"tilecore.launch_on_device", None), owner=function, on_device=True)
    launcher = _launcher.Launcher(ADD, loaded, DeviceAdapter(), DEVICE)
    kind, slow = make_type(), make_type(fails=True)
    launcher(kind(0x10000, (3, 4), 3), kind(0x20000, (3, 4), 3))
    launcher(slow(0x10000, (3, 4), 5), slow(0x20000, (3, 4), 5))
    assert seen == [(3, 0x1003), (5, 0x1005)]


def test_a_capsule_of_the_other_kind_is_refused():
    loaded = native(Recorder(ADD))
    with pytest.raises(ValueError, match="incorrect name"):
        _launcher.Launcher(ADD, LoadedKernel(loaded.launch, on_device=True), DeviceAdapter(), DEVICE)

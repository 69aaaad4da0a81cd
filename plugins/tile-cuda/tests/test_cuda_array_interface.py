"""Arguments with __cuda_array_interface__ (version 3), by objects of our own and the driver without a GPU."""

from __future__ import annotations

import gc
import sys

import pytest
from cuda_artifacts import artifact
from tile_cuda.adapter import DriverAdapter
from tile_cuda.driver import Driver

from tilecore.artifact.records import TensorParam
from tilecore.errors import ArgumentError
from tilecore.runtime.launcher import Launcher
from tilecore.tensors.device_array import DeviceArray
from tilecore.tensors.dlpack import read_capsule

A, B = 0x7000001000, 0x7000002000
ON_DEVICE_1 = 0x7D00001000


class Memory:
    """An object that describes memory of the device, as Numba's arrays do."""

    def __init__(self, address=A, shape=(64,), typestr="<f4", read_only=False, **changes):
        facts = {"shape": shape, "typestr": typestr, "data": (address, read_only), "version": 3, **changes}
        self.__cuda_array_interface__ = {name: value for name, value in facts.items() if value is not ...}


@pytest.fixture
def adapter(fake):
    driver = Driver(fake.path)
    return DriverAdapter("cython", lambda: driver)


def launcher(adapter, **changes):
    kernel = artifact(**changes)
    return Launcher(kernel, adapter.load(kernel), adapter, 2)


def test_the_addresses_reach_the_kernel(fake, adapter):
    launcher(adapter)(Memory(A, read_only=True), Memory(B), 1.0)
    assert fake.slots(2) == [A, B]
    assert "wait" not in " ".join(fake.journal())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mask": Memory()}, "has a mask"),
        ({"typestr": ">f4"}, "bytes are in the other order"),
        ({"typestr": "<c8"}, r"no name in the language \(typestr '<c8'\)"),
        ({"typestr": "<V2"}, "no name in the language"),
        ({"strides": (6,)}, r"strides \(6,\) are not whole elements of 4 bytes"),
        ({"stream": 0}, r"the stream of its __cuda_array_interface__ is wrong \(0\)"),
        ({"data": ...}, "lacks what the protocol requires"),
    ],
)
def test_what_kernels_cannot_use_is_refused(adapter, changes, message):
    with pytest.raises(ArgumentError, match=message) as caught:
        launcher(adapter)(Memory(**changes), Memory(B), 1.0)
    assert "A cannot be used" in str(caught.value)


def test_the_launcher_checks_it_like_other_tensors(adapter):
    kernel = launcher(adapter)
    with pytest.raises(ArgumentError, match="B is written by the kernel, but it is read-only"):
        kernel(Memory(), Memory(B, read_only=True), 1.0)
    with pytest.raises(ArgumentError, match="float16"):
        kernel(Memory(typestr="<f2"), Memory(B), 1.0)
    with pytest.raises(ArgumentError, match="contiguous"):
        kernel(Memory(strides=(8,)), Memory(B), 1.0)
    with pytest.raises(ArgumentError, match="63"):
        kernel(Memory(shape=(63,)), Memory(B), 1.0)
    with pytest.raises(ArgumentError, match="A"):
        kernel(Memory(B + 4), Memory(B), 1.0)  # the two overlap
    with pytest.raises(ArgumentError, match="1"):
        kernel(Memory(ON_DEVICE_1), Memory(B), 1.0)  # on two devices
    with pytest.raises(ArgumentError, match="tensor"):
        kernel(object(), Memory(B), 1.0)


def test_strides_count_elements(fake, adapter):
    strided = TensorParam("A", "float32", (4, 8), (16, 2), access="r", align=4), *artifact().params[1:]
    launcher(adapter, params=strided)(Memory(shape=(4, 8), strides=(64, 8)), Memory(B), 1.0)
    assert fake.slots(2) == [A, B]


@pytest.mark.parametrize(("theirs", "waits"), [(None, False), (1, False), (2, True), (0x5150, True)])
def test_the_launch_waits_for_the_stream_of_the_memory(fake, adapter, theirs, waits):
    launcher(adapter)(Memory(stream=theirs), Memory(B), 1.0)
    journal = fake.journal()
    if not waits:
        assert not any(line.startswith(("record", "wait")) for line in journal)
        return
    recorded, waited = f"record on {theirs:x}", "wait on 0"
    launched = next(number for number, line in enumerate(journal) if line.startswith("launch"))
    assert journal.index(recorded) < journal.index(waited) < journal.index("destroyed") < launched


def test_an_empty_array_has_no_memory(fake, adapter):
    kernel = launcher(adapter, size="n")
    kernel(Memory(0, shape=(0,)), Memory(0, shape=(0,)), 1.0)
    assert fake.library.fake_launches() <= 1


def test_the_driver_says_whose_memory_it_is(fake, adapter):
    fake.library.fake_reset(2)
    launcher(adapter)(Memory(ON_DEVICE_1), Memory(ON_DEVICE_1 + 4096), 1.0)
    assert any("on c001" in line for line in fake.launches())


def test_memory_that_the_driver_does_not_know(fake, adapter):
    from tilecore.errors import LaunchError

    kernel = launcher(adapter)
    fake.fail("cuPointerGetAttribute", 1)
    with pytest.raises(LaunchError, match="the memory of a Memory cannot be used: cuPointerGetAttribute failed"):
        kernel(Memory(), Memory(B), 1.0)


@pytest.mark.parametrize("version", [0, 2])
def test_earlier_versions_are_read_the_same(fake, adapter, version):
    launcher(adapter)(Memory(version=version), Memory(B, version=version), 1.0)
    assert fake.slots(2) == [A, B]


@pytest.fixture
def without_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)


@pytest.mark.usefixtures("without_torch")
def test_the_driver_allocates_outputs_without_torch(fake, adapter):
    kernel = launcher(adapter, out_idx=(1,))
    result = kernel(Memory(), 1.0)
    assert isinstance(result, DeviceArray)
    assert fake.slots(2) == [A, result.address]
    assert (result.shape, result.dtype, result.device) == ((64,), "float32", (2, 0))
    assert "allocated 256 bytes" in fake.journal()
    described = read_capsule(result.__dlpack__(stream=1))
    assert (described.address, described.shape, described.device) == (result.address, (64,), (2, 0))
    freed = fake.journal().count("freed")
    del result
    gc.collect()
    assert fake.journal().count("freed") == freed + 1


@pytest.mark.usefixtures("without_torch")
def test_no_memory_is_left(fake, adapter):
    from tilecore.errors import LaunchError

    kernel = launcher(adapter, out_idx=(1,), size=1 << 40)
    with pytest.raises(LaunchError, match="bytes of memory left"):
        kernel(Memory(shape=(1 << 40,)), 1.0)

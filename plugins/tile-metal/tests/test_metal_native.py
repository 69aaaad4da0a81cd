"""The execution backend ``metal`` on the stand-in for Metal: messages, counts of references, results, failures."""

from __future__ import annotations

import ctypes
import dataclasses
import re
from types import SimpleNamespace

import numpy as np
import pytest
from metal_kernels import artifact
from tile_metal.runtime import device, machine, objc
from tile_metal.runtime.metal_adapter import MetalAdapter

from tilecore.errors import ArgumentError, LaunchError, LimitError, ToolchainError, UnsupportedError
from tilecore.runtime import launcher
from tilecore.target import Target
from tilecore.tensors import dlpack

METAL = 8


@pytest.fixture
def load(fake_metal):
    """``load(artifact)`` gives the launcher; kernels run on the simulated device."""

    def loaded(compiled, adapter=None):
        adapter = adapter or MetalAdapter()
        return launcher.Launcher(compiled, adapter.load(compiled), adapter, METAL)

    fake_metal.runs_kernels()
    fake_metal.failures.clear()
    yield loaded
    assert not fake_metal.failures
    assert not fake_metal.wrong()


def test_the_types_of_messages_are_those_of_the_headers(fake_metal):
    """A message with a wrong type would read its arguments from other registers."""
    pointers = {"@": "P", "^v": "P", "r^v": "P", ":": "P", "^@": "P", "{Size=QQQ}": "S", "r*": "*"}
    short = {
        None: "v", ctypes.c_void_p: "P", ctypes.c_bool: "B", ctypes.c_long: "q", ctypes.c_ulong: "Q",
        ctypes.c_char_p: "*", ctypes.c_double: "d", objc.Size: "S", objc.ERROR: "P",
    }  # fmt: skip
    token = re.compile(r"\{.*?\}|r?\^?[@v]|r?\*|[QqBdv:@]")
    stated = {}
    for line in fake_metal.library.fake_encodings().decode().splitlines():
        selector, encoding = line.split(" ")
        kinds = [pointers.get(kind, kind) for kind in token.findall(encoding)]
        assert kinds[1:3] == ["P", "P"], line
        stated[selector] = kinds[:1] + kinds[3:]
    ours = {name: [short[result], *(short[kind] for kind in kinds)] for name, (result, kinds) in objc.MESSAGES.items()}
    assert ours == stated
    assert all(name.count(":") == len(kinds) for name, (_, kinds) in objc.MESSAGES.items())


def test_arrays_of_the_host(load, fake_metal):
    kernel = load(dataclasses.replace(artifact("scale_kernel"), out_idx=(1,)))
    a = np.arange(21 * 40, dtype=np.float16).reshape(21, 40) / 64
    expected = (a.astype(np.float32) * 0.5 - 3).astype(np.float16)
    result = kernel(a, 0.5, -3)
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, expected)
    assert kernel(a[:0], 0.5, -3).shape == (0, 40)
    assert fake_metal.journal() == ["compile version 30002 safe 1 precise 1"]
    assert fake_metal.live("Buffer") == 0
    del kernel
    names = ("Library", "Pipeline", "Function", "MTLCompileOptions", "CommandBuffer", "Encoder", "NSString", "NSError")
    assert {name: fake_metal.live(name) for name in names} == dict.fromkeys(names, 0)
    assert [fake_metal.live(name) for name in ("Device", "Queue")] == [1, 1]


def test_tensors_of_another_library_on_the_gpu(load):
    """Their addresses are handles of a kind that is not known."""

    class Array:
        def __dlpack_device__(self):
            return 8, 0

        def __dlpack__(self, **_options):
            self.shape = (ctypes.c_int64 * 2)(4, 40)
            device, kind = dlpack.Device(8, 0), dlpack.ElementType(2, 16, 1)
            tensor = dlpack.Tensor(
                0x1000, device, 2, kind, ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64)), None, 0
            )
            self.managed = dlpack.Managed(tensor, None, None)
            new = ctypes.pythonapi.PyCapsule_New
            new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
            return new(ctypes.addressof(self.managed), b"dltensor", None)

    with pytest.raises(ArgumentError, match="A is in memory of a GPU that another library has"):
        load(artifact("scale_kernel"))(Array(), np.zeros((4, 40), np.float16), 1.0, 1)


def test_memory_around_an_array_is_not_written(load):
    """What a copy back would write must be the elements of the tensor alone."""
    kernel = load(artifact("scale_kernel"))
    memory = np.full((30, 40), 7, np.float16)
    kernel(np.ones((21, 40), np.float16), memory[4:25], 1.0, 1)
    assert (memory[4:25] == 2).all()
    assert (memory[:4] == 7).all()
    assert (memory[25:] == 7).all()


def test_arrays_in_memory_of_the_gpu(load, fake_metal):
    """They are bound as they are, views of them too, and the buffer lives as long as the last view."""
    adapter = MetalAdapter()
    kernel = load(artifact("scale_kernel"), adapter)
    a, b = (adapter.empty((30, 40), "float16") for _ in range(2))
    assert fake_metal.live("Buffer") == 2
    a[:], b[:] = 4, 9
    part = b[4:25]
    kernel(a[2:23], part, 0.5, 1)
    assert (part == 3).all()
    assert (b[:4] == 9).all()
    del a, b
    assert fake_metal.live("Buffer") == 1
    assert (part == 3).all()
    del part
    assert fake_metal.live("Buffer") == 0
    assert adapter.empty((0, 3), "int4").dtype == np.int8


def test_tensors_of_torch(load, fake_metal, monkeypatch):
    torch = pytest.importorskip("torch")
    from fake_mps import MpsTensor, torch_with_mps

    with torch_with_mps(monkeypatch) as mps:
        adapter = MetalAdapter()
        kernel = load(dataclasses.replace(artifact("scale_kernel"), out_idx=(1,)), adapter)
        host = torch.arange(21 * 40, dtype=torch.float16).reshape(21, 40) / 64
        expected = (host.float() * 0.5 - 3).half()
        result = kernel(host, 0.5, -3)
        assert type(result) is torch.Tensor
        assert torch.equal(result, expected)
        assert mps.waits == 0
        MpsTensor.make_handle = fake_metal.library.fake_buffer  # as torch's allocator does
        a, b = (torch.zeros(30, 40, dtype=torch.float16, device="mps") for _ in range(2))
        a[5:26] = host.as_subclass(MpsTensor)
        in_place = load(artifact("scale_kernel"), adapter)
        in_place(a[5:26], b[1:22], 0.5, -3)
        assert torch.equal(b[1:22].cpu(), expected)
        assert mps.waits == 1, "torch's queue has ended before"
        assert fake_metal.live("Buffer") == 2, "nothing is copied"
        with pytest.raises(ArgumentError, match="share a part of their memory"):
            in_place(a[5:26], a[6:27], 0.5, -3)
        for tensor in (a, b):
            fake_metal.library.fake_release(tensor.untyped_storage().data_ptr())


def test_strided_and_backward_arrays(load):
    """Only elements are copied: what lies between them may be another thread's."""
    from tile_metal.runtime.device import default_device
    from tile_metal.runtime.host_memory import Copies

    from tilecore.runtime.slots import TensorSlot

    memory = np.arange(64, dtype=np.int32)
    view = memory[40:0:-4].reshape(5, 2)
    copies = Copies(default_device())
    slot = TensorSlot("A", view.ctypes.data, "int32", view.shape, tuple(s // 4 for s in view.strides), access="rw")
    bound = copies.bind(slot)
    buffer = ctypes.c_void_p(bound.handle)
    import tile_metal.runtime.objc as runtime_module

    contents = runtime_module.runtime().send(buffer.value, "contents")
    on_gpu = np.ndarray(view.shape, np.int32, (ctypes.c_char * 148).from_address(contents), bound.offset, view.strides)
    np.testing.assert_array_equal(on_gpu, view)
    on_gpu += 100
    memory[1::2] = -1
    expected = memory.copy()
    expected[40:0:-4] += 100
    copies.back()
    np.testing.assert_array_equal(memory, expected)


def test_arrays_with_other_elements_of_the_same_bytes(load):
    """They share one buffer, which gets the elements of each."""
    from tile_metal.runtime.device import default_device
    from tile_metal.runtime.host_memory import Copies

    from tilecore.runtime.slots import TensorSlot

    memory = np.arange(9, dtype=np.int32)
    copies = Copies(default_device())
    bound = [
        copies.bind(TensorSlot("A", memory.ctypes.data, "int32", (8 // step + 1,), (step,), access="r"))
        for step in (8, 4, 2)
    ]
    assert len({part.handle for part in bound}) == 1
    contents = objc.runtime().send(bound[0].handle, "contents")
    np.testing.assert_array_equal(
        np.ndarray(5, np.int32, (ctypes.c_char * 36).from_address(contents), 0, (8,)), memory[::2]
    )


def test_scalars_and_prints(load, capfd):
    out = np.zeros(16, np.float32)
    values = (-7, 250, -300, 65000, -(2**31), 2**32 - 256, -(2**40), 2**63, -1.5, 3.0, 0.1, True)
    load(artifact("scalars_kernel"))(out, *values)
    np.testing.assert_array_equal(out[:12], np.array(values, np.float32))
    load(artifact("talking_kernel"))(np.full(64, 5, np.int32))
    assert capfd.readouterr().out == "the first, 100%: 5\n" * 2


def test_time_on_the_gpu(load):
    adapter = MetalAdapter()
    kernel = load(artifact("scale_kernel"), adapter)
    a, b = np.zeros((4, 40), np.float16), np.zeros((4, 40), np.float16)
    kernel(a, b, 1.0, 1)
    timer = adapter.timer()
    timer.start()
    for _ in range(3):
        kernel(a, b, 1.0, 1)
    timer.stop()
    assert timer.elapsed() == 1500  # the stand-in's kernels take half a second
    assert adapter.timer(backend="wall")
    with pytest.raises(UnsupportedError):
        adapter.timer(backend="cupti")


def test_what_metal_refuses(load, fake_metal):
    compiled = artifact("scale_kernel")
    line = next(i for i, text in enumerate(compiled.binary.decode().splitlines(), 1) if "metal_kernels.py:" in text)
    fake_metal.fail("compile", f"program_source:{line}:9: error: no member named 'x' in 'y'\n")
    with pytest.raises(ToolchainError, match="Metal cannot compile the code of scale_kernel: no member") as caught:
        load(compiled)
    assert "(from metal_kernels.py:" in caught.value.found
    fake_metal.fail("pipeline", "Compiler encountered an internal error")
    with pytest.raises(ToolchainError, match="Metal failed on scale_kernel: Compiler encountered"):
        load(compiled)
    fake_metal.fail("registers")
    with pytest.raises(LimitError, match="too many registers"):
        load(compiled)
    fake_metal.fail("threadgroup")
    with pytest.raises(LimitError, match="too much threadgroup memory"):
        load(compiled)
    missing = dataclasses.replace(compiled, entries=(dataclasses.replace(compiled.entries[0], symbol="other"),))
    with pytest.raises(ToolchainError, match="has no kernel other"):
        MetalAdapter().load(missing)
    kernel = load(compiled)
    a, b = np.zeros((4, 40), np.float16), np.zeros((4, 40), np.float16)
    fake_metal.fail("run", "Caused GPU Address Fault Error (0000000b:kIOGPUCommandBufferCallbackErrorPageFault)")
    with pytest.raises(LaunchError, match="scale_kernel failed: Caused GPU Address Fault") as caught:
        kernel(a, b, 1.0, 1)
    assert f"{compiled.entries[0].symbol}: grid (1, 1, 1), threads (64, 1, 1)" in caught.value.found
    fake_metal.fail("buffer")
    with pytest.raises(LaunchError, match="has no 320 bytes of memory left"):
        kernel(a, b, 1.0, 1)
    kernel(a, b, 1.0, 1)
    assert (b == 1).all()
    del caught  # its traceback has the buffers of the call
    assert fake_metal.live("Buffer") == 0
    assert fake_metal.live("CommandBuffer") == 0


def test_what_would_end_the_process_is_refused_before(load):
    kernel = load(artifact("scale_kernel"))
    pipeline, gpu = kernel.loaded.owner._pipelines[0], device.default_device()
    value = device.Bound(data=b"1")
    for wrong in (
        {"block": (1024, 2, 1)}, {"block": (0, 1, 1)}, {"grid": (0, 1, 1)}, {"arguments": [value] * 32},
        {"arguments": [device.Bound()]}, {"arguments": [device.Bound(data=bytes(4097))]},
    ):  # fmt: skip
        fields = {"pipeline": pipeline, "arguments": [], "grid": (1, 1, 1), "block": (1, 1, 1), **wrong}
        with pytest.raises(device.Refused):
            gpu.run([device.Dispatch(**fields)])
    with pytest.raises(objc.ObjectiveCError, match="sent to no object"):
        gpu.runtime.send(0, "name")


def test_the_machine(fake_metal, monkeypatch):
    assert machine.machine() == machine.Machine("Apple M3 Max", 9, (15, 3), "3.2")
    adapter = MetalAdapter()
    assert adapter.available(Target.parse("metal -msl=3.2")).present
    assert "needs macOS 26" in adapter.available(Target.parse("metal -msl=4.0")).detail
    later = adapter.available(Target.parse("metal -family=apple10"))
    assert not later.present
    assert "and not apple10: use target" in later.detail
    assert not fake_metal.wrong()

    def again():
        for function in (machine.machine, machine.problem, machine._machine, device.default_device):
            function.cache_clear()
        return machine.machine()

    fake_metal.library.fake_family(0)  # a virtual Mac shows no family, and runs kernels all the same
    assert again().family is None
    fake_metal.fail("device")  # the first of all devices, where there is no default one
    assert again().gpu == "Apple M3 Max"
    fake_metal.fail("devices")
    assert again() is None
    assert "Metal shows no GPU" in machine.problem()
    fake_metal.fail("")
    monkeypatch.setattr(machine, "_control", lambda name, number=False: "26.2")
    assert again().msl == "4.0"
    monkeypatch.setattr(machine, "_control", lambda name, number=False: "12.7.1")
    assert again() is None
    assert "needs macOS 13 or newer, and this is 12.7" in machine.problem()
    monkeypatch.setattr(objc, "RUNTIME", "/nowhere/libobjc.dylib")
    monkeypatch.setattr(machine, "_control", lambda name, number=False: "14.0")
    objc.runtime.cache_clear()
    assert again() is None
    assert "Metal shows no GPU (/nowhere" in machine.problem()
    monkeypatch.setattr(machine, "platform", SimpleNamespace(machine=lambda: "x86_64"))
    assert again() is None
    assert "an Intel processor" in machine.problem()
    monkeypatch.setattr(machine, "_control", lambda name, number=False: "1")
    assert again() is None
    assert "Rosetta" in machine.problem()
    with pytest.raises(LaunchError, match="needs Metal: this Python is one for Intel"):
        adapter.load(artifact("scale_kernel"))


def test_an_older_macos(load, fake_metal, monkeypatch):
    """Before macOS 15 there is one switch for fast mathematics, and the target's version of MSL is what counts."""
    fake_metal.library.fake_old_system()
    monkeypatch.setattr(machine, "_control", lambda name, number=False: "" if name == "kern.osversion" else "13.5")
    compiled = dataclasses.replace(artifact("scale_kernel"), target="metal -family=apple7 -msl=3.0")
    load(compiled)
    assert fake_metal.journal() == ["compile version 30000 safe 1 precise 0"]

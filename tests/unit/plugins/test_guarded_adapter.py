"""The guarded adapter behaves as the plugin's own, and shows which methods that one overrides."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tilecore.contract.adapter import KernelAdapter, LoadedKernel
from tilecore.contract.records import Presence
from tilecore.errors import LaunchError, PluginError
from tilecore.plugins.guarded_adapter import METHODS, guard_adapter
from tilecore.target import Target
from tilecore.testing.null_backend import NullAdapter

ORIGIN = SimpleNamespace(kind="acme", package="tile-acme", version="1")


class Streams(NullAdapter):
    name = "streams"
    device = 2
    extra = "its own"

    def current_stream(self, device_index):
        """Its own words."""
        return 7 + device_index

    def torch_device(self, device_index=0):
        return f"acme:{device_index}"

    def largest_run(self):
        return 100


def test_it_is_an_adapter_with_the_same_facts():
    inner = Streams()
    adapter = guard_adapter(ORIGIN, inner)
    assert isinstance(adapter, KernelAdapter)
    assert (adapter.name, adapter.device, adapter.extra) == ("streams", 2, "its own")
    assert adapter.inner is inner
    assert type(adapter).__name__ == "Streams"


def test_overridden_methods_are_called_and_the_others_inherited():
    adapter = guard_adapter(ORIGIN, Streams())
    assert adapter.current_stream(1) == adapter.current_stream(device_index=1) == 8
    assert adapter.torch_device() == "acme:0"
    assert adapter.largest_run() == 100
    assert adapter.binary_formats() == ()
    assert adapter.synchronize() is None


def test_only_overridden_methods_differ_from_the_base():
    """The launcher looks at this to spare adapters without streams a call."""
    plain, streams = (type(guard_adapter(ORIGIN, adapter)) for adapter in (NullAdapter(), Streams()))
    assert plain.current_stream is KernelAdapter.current_stream
    assert streams.current_stream is not KernelAdapter.current_stream
    assert streams.synchronize is KernelAdapter.synchronize
    assert {"available", "load"} == {n for n in METHODS if getattr(plain, n) is not getattr(KernelAdapter, n)}


def test_a_method_set_on_the_instance_counts():
    inner = NullAdapter()
    inner.synchronize = lambda device_index=0: 1 // 0
    with pytest.raises(PluginError, match=r"null.synchronize raised ZeroDivisionError"):
        guard_adapter(ORIGIN, inner).synchronize()


def test_base_methods_use_the_guarded_ones(monkeypatch):
    """``empty`` of the base asks ``torch_device``, which is the plugin's."""
    from tilecore.tensors import views as tensors

    monkeypatch.setattr(tensors, "empty", lambda shape, dtype, device: (shape, dtype, device))
    assert guard_adapter(ORIGIN, Streams()).empty((2, 3), "float32", 1) == ((2, 3), "float32", "acme:1")


def test_a_native_launch_is_left_alone():
    import ctypes

    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    capsule = new(1, b"tilecore.launch", None)

    class Native(NullAdapter):
        def load(self, artifact):
            return LoadedKernel(launch=capsule, state=12, owner=self)

    adapter = Native()
    loaded = guard_adapter(ORIGIN, adapter).load(None)
    assert loaded == LoadedKernel(launch=capsule, state=12, owner=adapter)


def test_own_errors_of_a_launch_pass():
    class Failing(NullAdapter):
        def load(self, artifact):
            return LoadedKernel(launch=self.launch)

        def launch(self, slots, grids, stream):
            raise LaunchError("out of registers")

    with pytest.raises(LaunchError, match="out of registers"):
        guard_adapter(ORIGIN, Failing()).load(None).launch(0, 0, 0)


@pytest.mark.parametrize("formats", ["elf", [1], None, {"a"}])
def test_formats_are_a_sequence_of_names(formats):
    class Odd(NullAdapter):
        def binary_formats(self):
            return formats

    with pytest.raises(PluginError, match=r"null.binary_formats returned a wrong value"):
        guard_adapter(ORIGIN, Odd()).binary_formats()


def test_presence_is_passed_on():
    assert guard_adapter(ORIGIN, NullAdapter()).available(Target("null")) == Presence(True, "always: it runs nothing")


def words_of(code):
    return f"code {code}"


def test_kernels_share_a_guarded_function_of_a_module():
    """A process may have many kernels. What a kernel has of its own is guarded for it alone."""

    class Loading(NullAdapter):
        def load(self, artifact):
            return LoadedKernel(launch=lambda *_: 0, error=words_of, advice=lambda code: artifact)

    adapter = guard_adapter(ORIGIN, Loading())
    first, second = (adapter.load(artifact) for artifact in ("first", "second"))
    assert first.error is second.error
    assert first.error(3) == "code 3"
    assert [kernel.advice(0) for kernel in (first, second)] == ["first", "second"]
    assert guard_adapter(ORIGIN, Loading()).load("third").error is not first.error


def test_a_shared_function_is_checked():
    class Loading(NullAdapter):
        def load(self, artifact):
            return LoadedKernel(launch=lambda *_: 0, error=no_words_of)

    with pytest.raises(PluginError, match="error"):
        guard_adapter(ORIGIN, Loading()).load(None).error(3)


def no_words_of(code):
    return code

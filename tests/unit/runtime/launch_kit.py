"""What the tests of the launch path share: artifacts made by hand, an adapter, and a launch that records its input."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import pytest

from tilecore.artifact.dims import DimExpr
from tilecore.artifact.records import Artifact, Entry
from tilecore.contract.adapter import KernelAdapter, LoadedKernel
from tilecore.contract.records import Presence
from tilecore.runtime import launcher_py

try:
    from tilecore.runtime import _launcher
except ImportError:
    _launcher = None


class _NoTorch:
    """In torch's place where it is not installed: zeros are numpy's, a test that needs more skips."""

    @staticmethod
    def zeros(*shape: Any) -> numpy.ndarray:
        return numpy.zeros(shape, "float32")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)  # pytest looks for some
        pytest.skip(f"it needs torch.{name}", allow_module_level=True)


try:
    import torch
except ImportError:
    torch: Any = _NoTorch()
needs_torch = pytest.mark.skipif(isinstance(torch, _NoTorch), reason="torch is not installed")

HOST = 1
LAUNCHERS: list[Any] = [launcher_py.Launcher] + ([_launcher.Launcher] if _launcher else [])
LAUNCHER_NAMES = ["python", "built"][: len(LAUNCHERS)]

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
_CAPSULE_NAME = b"tilecore.launch"
_NATIVE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(ctypes.c_int64), ctypes.c_void_p
)


def expr(tree: Any) -> DimExpr:
    return DimExpr(tree)


class HostAdapter(KernelAdapter):
    name = "kit"

    def available(self, target: Any) -> Presence:
        return Presence(True, "always")

    def load(self, artifact: Artifact) -> LoadedKernel:
        raise NotImplementedError


def kernel(
    params: Sequence[Any],
    symbols: Sequence[Any] = (),
    entries: Sequence[Entry] | None = None,
    out_idx: Sequence[int] = (),
    workspaces: Sequence[Any] = (),
    name: str = "gemm",
) -> Artifact:
    kernel_entries = tuple(entries) if entries is not None else (Entry(name, (1, 1, 1), work=100),)
    return Artifact(
        name, "cpu", "tilecore", "kit", tuple(params), tuple(symbols), tuple(workspaces), kernel_entries,
        tuple(out_idx), "", "", b"", "",
    )  # fmt: skip


def native(function: Callable[..., int], error: Callable[[int], str] | None = None, state: int = 0) -> LoadedKernel:
    """A loaded kernel whose native launch calls ``function(state, slots, grids, stream)``."""
    pointer = _NATIVE(function)
    address = ctypes.cast(pointer, ctypes.c_void_p).value
    return LoadedKernel(_new_capsule(address, _CAPSULE_NAME, None), state, error, pointer)


class Recorder:
    """A launch that keeps what it was given: ``slots``, ``grids`` and ``stream`` of every launch."""

    def __init__(self, artifact: Artifact, code: int = 0) -> None:
        self.slot_count = len(artifact.params) + len(artifact.workspaces) + len(artifact.symbols)
        self.entry_count = len(artifact.entries)
        self.code = code
        self.calls: list[tuple[list[int], list[int], int]] = []

    def __call__(self, state: Any, slots: Any, grids: Any, stream: Any) -> int:
        self.calls.append((slots[: self.slot_count], grids[: 4 * self.entry_count], stream or 0))
        return self.code

    @property
    def slots(self) -> list[int]:
        return self.calls[-1][0]

    @property
    def grids(self) -> list[int]:
        return self.calls[-1][1]


def recorded(kind: Any, artifact: Artifact, adapter: KernelAdapter | None = None, device: int = HOST) -> Any:
    """(launcher, recorder) of ``artifact``."""
    recorder = Recorder(artifact)
    return kind(artifact, native(recorder), adapter or HostAdapter(), device), recorder


def pointer_of(tensor: Any) -> int:
    return tensor.ctypes.data if isinstance(tensor, numpy.ndarray) else tensor.data_ptr()


def address(value: int | None) -> int:
    """A data pointer as it stands in a slot."""
    return ctypes.c_int64(value or 0).value

"""A Mac that is none: torch with the device "mps" (fake_mps.py), and Metal by its messages (fake_metal.cpp); the header's
device form as a library of this machine."""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, os.fspath(HERE))


@pytest.fixture
def mac(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A MacBook with an M3 Max and macOS 15.3, as far as runtime/machine.py can tell."""
    from tile_metal.runtime import machine

    _forget()
    monkeypatch.setattr(machine, "_machine", lambda: machine.Machine("Apple M3 Max", 9, (15, 3), "3.2"))
    yield monkeypatch
    _forget()


@pytest.fixture
def torch_mps(mac: pytest.MonkeyPatch) -> Iterator[object]:
    """torch with the device "mps"."""
    pytest.importorskip("torch")
    from fake_mps import torch_with_mps
    from tile_metal.runtime import torch_launch

    torch_launch._programs.clear()
    with torch_with_mps(mac) as fake:
        yield fake


class FakeMetal:
    """The stand-in for Metal and its journal."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        for name in ("fake_journal", "fake_encodings"):
            getattr(self.library, name).restype = ctypes.c_char_p
        for name in ("fake_buffer", "fake_contents"):
            getattr(self.library, name).restype = ctypes.c_void_p
        self.library.fake_contents.argtypes = self.library.fake_release.argtypes = (ctypes.c_void_p,)
        self.library.fake_live.restype = ctypes.c_long

    def journal(self) -> list[str]:
        return self.library.fake_journal().decode().splitlines()

    def wrong(self) -> list[str]:
        """Lines of the journal about what a Mac would not forgive."""
        return [line for line in self.journal() if not line.startswith("compile version")]

    def fail(self, what: str, message: str = "") -> None:
        self.library.fake_fail(what.encode(), message.encode())

    def live(self, name: str) -> int:
        gc.collect()
        return self.library.fake_live(name.encode())


@pytest.fixture(scope="session")
def fake_metal_library(tmp_path_factory: pytest.TempPathFactory) -> FakeMetal:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None or platform.machine() != "x86_64" or sys.platform != "linux":
        pytest.skip("the stand-in for Metal is for Linux on x86-64 with a C++ compiler")
    path = os.fspath(tmp_path_factory.mktemp("metal") / "libfakemetal.so")
    command = [compiler, "-std=c++17", "-shared", "-fPIC", "-O1", "-w", os.fspath(HERE / "fake_metal.cpp"), "-o", path]
    subprocess.run(command, check=True)
    return FakeMetal(path)


@pytest.fixture
def fake_metal(fake_metal_library: FakeMetal, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeMetal]:
    """A Mac on which the Objective-C runtime is the stand-in's."""
    from tile_metal.runtime import machine, objc

    _forget()
    fake_metal_library.library.fake_reset()
    fake_metal_library.library.fake_new_system()
    monkeypatch.setattr(objc, "RUNTIME", fake_metal_library.path)
    monkeypatch.setattr(objc, "FRAMEWORKS", (fake_metal_library.path,))
    monkeypatch.setattr(machine, "sys", SimpleNamespace(platform="darwin"))
    monkeypatch.setattr(machine, "platform", SimpleNamespace(machine=lambda: "arm64", mac_ver=lambda: ("15.3",)))
    monkeypatch.setattr(machine, "_control", lambda name, number=False: "15.3.1")
    yield fake_metal_library
    _forget()


@pytest.fixture(scope="session")
def host_library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """host_functions.cpp with the header's device form in front."""
    import compiler

    source = (HERE / "host_functions.cpp").read_text()
    return ctypes.CDLL(os.fspath(compiler.host_library(tmp_path_factory.mktemp("functions"), source)))


def _forget() -> None:
    """What is cached about the machine."""
    from tile_metal.runtime import device, machine, objc

    for function in (machine.machine, machine.problem, device.default_device, objc.runtime):
        function.cache_clear()
    if hasattr(machine._machine, "cache_clear"):
        machine._machine.cache_clear()

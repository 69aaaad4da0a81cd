"""Builds the stand-in for Metal (fake_metal.cpp) and puts it in the place of the Objective-C runtime of macOS."""

from __future__ import annotations

import ctypes
import gc
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from host_programs import HostProgram

from tilecore.simulate.arguments import Tensor

_EXECUTOR = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_long), ctypes.POINTER(ctypes.c_ulong), ctypes.POINTER(ctypes.c_ulong),
)  # fmt: skip


class FakeMetal:
    """The stand-in for Metal and its journal."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        for name in ("fake_journal", "fake_encodings"):
            getattr(self.library, name).restype = ctypes.c_char_p
        self.library.fake_buffer.restype = ctypes.c_void_p
        self.library.fake_buffer.argtypes = (ctypes.c_void_p, ctypes.c_ulong)
        self.library.fake_release.argtypes = (ctypes.c_void_p,)
        self.library.fake_executor.argtypes = (_EXECUTOR,)
        self.failures: list[Exception] = []
        self._programs: dict[bytes, HostProgram] = {}
        self._execute = _EXECUTOR(self._run)
        self.library.fake_live.restype = self.library.fake_count.restype = ctypes.c_long

    def journal(self) -> list[str]:
        return self.library.fake_journal().decode().splitlines()

    def wrong(self) -> list[str]:
        """Lines of the journal about what a Mac would not forgive."""
        return [line for line in self.journal() if not line.startswith("compile version")]

    def fail(self, what: str, message: str = "") -> None:
        self.library.fake_fail(what.encode(), message.encode())

    def count(self, what: str) -> int:
        """How many pipelines were "compiled" or came "from an archive", how many archives were "opened"."""
        return self.library.fake_count(what.encode())

    def live(self, name: str) -> int:
        gc.collect()
        return self.library.fake_live(name.encode())

    def runs_kernels(self) -> None:
        """From now on the simulated device runs the kernels."""
        self.library.fake_executor(self._execute)

    def _run(self, source: bytes, symbol: bytes, count: int, addresses: Any, sizes: Any, grid: Any, block: Any) -> int:
        """A kernel of a command buffer. sizes: bytes of a buffer behind the address, negative for those of a value."""
        try:
            if source not in self._programs:
                self._programs[source] = HostProgram(source.decode())
            program, arguments = self._programs[source], []
            for i, parameter in enumerate(program.kernels[symbol.decode()].parameters[:count]):
                if sizes[i] < 0:
                    arguments.append(ctypes.string_at(addresses[i], -sizes[i]))
                    continue
                length = sizes[i] // np.dtype(parameter.element).itemsize
                arguments.append(Tensor(parameter.name, addresses[i], parameter.element, (length,), parameter.access))
            program.run(symbol.decode(), arguments, grid[:3], block[:3])
        except Exception as error:  # it cannot pass through C
            self.failures.append(error)
        return 0


def build(folder: Path) -> FakeMetal:
    """Compiles the stand-in; skips where that is not possible."""
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None or platform.machine() != "x86_64" or sys.platform != "linux":
        pytest.skip("the stand-in for Metal is for Linux on x86-64 with a C++ compiler")
    path = os.fspath(folder / "libfakemetal.so")
    source = os.fspath(Path(__file__).parent / "fake_metal.cpp")
    subprocess.run([compiler, "-std=c++17", "-shared", "-fPIC", "-O1", "-w", source, "-o", path], check=True)
    return FakeMetal(path)


def put_in_place(fake: FakeMetal, patch: pytest.MonkeyPatch, build: str = "") -> None:
    """Makes this machine a Mac with macOS 15.3 on which the Objective-C runtime is the stand-in's.

    build: of macOS, such as "24D70"; without one, pipelines are not kept on disk.
    """
    from tile_metal.runtime import machine, objc

    fake.library.fake_reset()
    fake.library.fake_new_system()
    patch.setattr(objc, "RUNTIME", fake.path)
    patch.setattr(objc, "FRAMEWORKS", (fake.path,))
    patch.setattr(machine, "sys", SimpleNamespace(platform="darwin"))
    patch.setattr(machine, "platform", SimpleNamespace(machine=lambda: "arm64", mac_ver=lambda: ("15.3",)))
    patch.setattr(machine, "_control", lambda name, number=False: build if name == "kern.osversion" else "15.3.1")


def forget() -> None:
    """Forgets what is cached about the machine, as a new process has not asked."""
    from tile_metal.runtime import device, machine, objc

    for function in (machine.machine, machine.problem, machine.build, device.default_device, objc.runtime):
        function.cache_clear()
    if hasattr(machine._machine, "cache_clear"):
        machine._machine.cache_clear()

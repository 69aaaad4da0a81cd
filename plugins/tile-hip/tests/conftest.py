"""The compilers of this machine, a HIP runtime without a GPU (fake_hip.cpp), or a reason to skip."""

from __future__ import annotations

import ctypes
import gc
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tile_hip import compilers, simulated

HERE = Path(__file__).parent
sys.path.insert(0, os.fspath(HERE))
ARCHITECTURES = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")


@pytest.fixture(params=ARCHITECTURES)
def arch(request) -> str:
    """An architecture that a compiler of this machine knows."""
    if not any(request.param in compiler.architectures() for compiler in compilers.installed()):
        pytest.skip(f"there is no compiler for {request.param}: {compilers.FIX}")
    if compilers.math_library() is None:
        pytest.skip(f"there is no math library: {compilers.LIBRARY_FIX}")
    return request.param


class FakeRuntime:
    """The stand-in runtime and its journal."""

    def __init__(self, path: Path) -> None:
        self.path = os.fspath(path)
        self.library = ctypes.CDLL(self.path)
        self.library.fake_journal.restype = ctypes.c_char_p
        self.library.fake_seen.restype = ctypes.POINTER(ctypes.c_int64)

    def reset(self, devices: int = 1) -> None:
        self.library.fake_reset(devices)

    def fail(self, name: str, code: int) -> None:
        self.library.fake_fail(name.encode(), code)

    def arch(self, names: str) -> None:
        self.library.fake_arch(names.encode())

    def journal(self) -> list[str]:
        return self.library.fake_journal().decode().splitlines()

    def launches(self) -> list[str]:
        return [line for line in self.journal() if line.startswith(("launch", "grid"))]

    def slots(self, count: int) -> list[int]:
        return self.library.fake_seen()[:count]


@pytest.fixture(scope="session")
def fake_library(tmp_path_factory: pytest.TempPathFactory) -> FakeRuntime:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler to build the runtime without a GPU")
    # its name is not libamdhip64: other tests look for a copy of that in this process
    library = tmp_path_factory.mktemp("runtime") / "libfakehip.so"
    command = [compiler, "-std=c++17", "-DTC_MESSAGES", "-shared", "-fPIC", "-O1", "-w", f"-I{simulated.INCLUDE}"]
    subprocess.run([*command, os.fspath(HERE / "fake_hip.cpp"), "-o", os.fspath(library)], check=True)
    return FakeRuntime(library)


@pytest.fixture
def fake(fake_library: FakeRuntime, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRuntime]:
    """The stand-in runtime with one gfx942, which ``Driver()`` opens."""
    from tile_hip import driver

    gc.collect()  # the modules of other tests would read this runtime's messages, too
    fake_library.reset()
    monkeypatch.setenv("TILE_HIP_RUNTIME", fake_library.path)
    driver._shared.cache_clear()
    yield fake_library
    driver._shared.cache_clear()

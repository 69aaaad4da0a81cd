"""A fake driver that needs no GPU, built from fake_driver.c."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, os.fspath(HERE))


class FakeDriver:
    """The fake driver library and its journal."""

    def __init__(self, path: Path) -> None:
        self.path = os.fspath(path)
        self.library = ctypes.CDLL(self.path)
        self.library.fake_journal.restype = ctypes.c_char_p
        self.library.fake_seen.restype = ctypes.POINTER(ctypes.c_int64)

    def reset(self, devices: int = 1) -> None:
        self.library.fake_reset(devices)

    def fail(self, name: str, code: int) -> None:
        self.library.fake_fail(name.encode(), code)

    def journal(self) -> list[str]:
        return self.library.fake_journal().decode().splitlines()

    def launches(self) -> list[str]:
        return [line for line in self.journal() if line.startswith(("launch", "grid"))]

    def slots(self, count: int) -> list[int]:
        return self.library.fake_seen()[:count]


@pytest.fixture(scope="session")
def fake_library(tmp_path_factory: pytest.TempPathFactory) -> FakeDriver:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler to build the driver without a GPU")
    library = tmp_path_factory.mktemp("driver") / "libfake.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-w", os.fspath(HERE / "fake_driver.c"), "-o", os.fspath(library)],
        check=True,
    )
    return FakeDriver(library)


@pytest.fixture
def fake(fake_library: FakeDriver) -> FakeDriver:
    fake_library.reset()
    return fake_library


@pytest.fixture
def installed() -> Iterator[None]:
    """The target cuda is known to tilecore, whether or not the package is installed."""
    from tile_cuda import plugin

    from tilecore.plugins import manager

    if any(entry.name == "cuda" for entry in entry_points(group="tilecore.backends")):
        yield
        return
    with manager.register(plugin, package="tile-cuda"):
        yield


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A kernel cache of this session only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILECORE_CACHE_DIR", os.fspath(tmp_path_factory.mktemp("cache")))
        yield

"""A driver without a GPU, built from fake_driver.c, and artifacts by hand."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tilecore.runtime.artifact import Artifact, Entry, ScalarParam, TensorParam

HERE = Path(__file__).parent
sys.path.insert(0, os.fspath(HERE))


class FakeDriver:
    """The library, and what it noted."""

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
    made = tmp_path_factory.mktemp("driver") / "libfake.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-w", os.fspath(HERE / "fake_driver.c"), "-o", os.fspath(made)],
        check=True,
    )
    return FakeDriver(made)


@pytest.fixture
def fake(fake_library: FakeDriver) -> FakeDriver:
    fake_library.reset()
    return fake_library


def artifact(**changes: Any) -> Artifact:
    """An artifact of one kernel ``scale_k``: tensors A and B on the host's memory, a scalar, a symbol n."""
    from tilecore.runtime.artifact import Symbol

    n = changes.pop("size", 64)
    entry: dict[str, Any] = {"threads": (128, 1, 1), "shared_bytes": 0, "attributes": {}}
    entry.update(changes.pop("entry", {}))
    facts: dict[str, Any] = {
        "name": "scale",
        "target": "cuda -arch=sm_90a",
        "backend": "tile-cuda",
        "adapter": "cython",
        "params": (
            TensorParam("A", "float32", (n,), access="r", align=4),
            TensorParam("B", "float32", (n,), access="w", align=4),
            ScalarParam("s", "float32"),
        ),
        "symbols": (Symbol("n", ("shape", 0, 0)),) if isinstance(n, str) else (),
        "workspaces": (),
        "entries": (Entry("scale_k", (7, 1, 1), **entry),),
        "out_idx": (),
        "source": "",
        "source_format": "cu",
        "binary": b"\x07cubin",
        "binary_format": "cubin",
    }
    return Artifact(**{**facts, **changes})

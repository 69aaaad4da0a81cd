"""A Mac that is none: torch with the device "mps" (fake_mps.py), and Metal by its messages (fake_metal.cpp); the
header's device form as a library of this machine."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, os.fspath(HERE))
from fake_metal import FakeMetal, build, forget, put_in_place  # noqa: E402


@pytest.fixture
def mac(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A MacBook with an M3 Max and macOS 15.3, as far as runtime/machine.py can tell."""
    from tile_metal.runtime import machine

    forget()
    monkeypatch.setattr(machine, "_machine", lambda: machine.Machine("Apple M3 Max", 9, (15, 3), "3.2"))
    yield monkeypatch
    forget()


@pytest.fixture
def torch_mps(mac: pytest.MonkeyPatch) -> Iterator[object]:
    """torch with the device "mps"."""
    pytest.importorskip("torch")
    from fake_mps import torch_with_mps
    from tile_metal.runtime import torch_launch

    torch_launch._programs.clear()
    with torch_with_mps(mac) as fake:
        yield fake


@pytest.fixture(scope="session")
def fake_metal_library(tmp_path_factory: pytest.TempPathFactory) -> FakeMetal:
    return build(tmp_path_factory.mktemp("metal"))


@pytest.fixture
def fake_metal(fake_metal_library: FakeMetal, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeMetal]:
    """A Mac on which the Objective-C runtime is the stand-in's."""

    forget()
    put_in_place(fake_metal_library, monkeypatch)
    yield fake_metal_library
    forget()


@pytest.fixture(scope="session")
def host_library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """host_functions.cpp with the header's device form in front."""
    import compiler

    source = (HERE / "host_functions.cpp").read_text()
    return ctypes.CDLL(os.fspath(compiler.host_library(tmp_path_factory.mktemp("functions"), source)))

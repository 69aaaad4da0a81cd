"""Memory for code as Windows gives it, by a stand-in for its functions."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from windows_calls import Kernel32

from tilecore.backends.cpu import systems, windows_memory
from tilecore.backends.cpu.code_rights import EXECUTE, READ, WRITE
from tilecore.errors import ToolchainError

pytestmark = pytest.mark.skipif(systems.host_system() != "linux", reason="the stand-in is made of functions of Linux")


@pytest.fixture
def kernel32(monkeypatch):
    stand_in = Kernel32()
    monkeypatch.setattr(windows_memory, "_kernel32", lambda: stand_in)
    return stand_in


def rights_of(address: int) -> str:
    """As /proc/self/maps has them: "r-xp"."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        first, last = (int(text, 16) for text in line.split()[0].split("-"))
        if first <= address < last:
            return line.split()[1]
    return "none"


@pytest.mark.parametrize("low", [False, True])
def test_pages_are_written_then_protected_then_freed(kernel32, low):
    memory = windows_memory.Mapping(3 * 4096, low)
    assert not low or memory.address + 3 * 4096 < 2**31
    memory.write(bytearray(b"abc" * 4096))
    assert ctypes.string_at(memory.address + 3, 6) == b"abcabc"
    for page, rights in enumerate((READ | EXECUTE, READ, READ | WRITE)):
        memory.protect(4096 * page, 4096, rights)
    assert [rights_of(memory.address + 4096 * page) for page in range(3)] == ["r-xp", "r--p", "rw-p"]
    assert kernel32.flushed == [(memory.address, 4096)]  # code alone
    memory.unmap()
    assert rights_of(memory.address) == "none"


def test_refused_memory(kernel32, monkeypatch):
    monkeypatch.setattr(ctypes, "get_last_error", lambda: 1655, raising=False)
    monkeypatch.setattr(ctypes, "FormatError", lambda code: f"error {code}", raising=False)
    kernel32.refuses = True
    with pytest.raises(ToolchainError, match="8192 bytes could not be mapped") as caught:
        windows_memory.Mapping(8192)
    assert caught.value.found == "error 1655"
    assert "forbid programs to make code" in (caught.value.hint or "")

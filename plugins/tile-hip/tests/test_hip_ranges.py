"""ROCTX ranges around launches, by a library that notes the calls."""

from __future__ import annotations

import ctypes

import pytest
from tile_hip import ranges
from tile_hip.adapter import CodeObjectAdapter

from tilecore.errors import ToolchainError
from tilecore.simulate.compilers import find_compiler

SOURCE = r"""
#include <string.h>
static char journal[4096];
const char *fake_journal(void) { return journal; }
int roctxRangePushA(const char *name) { strcat(strcat(strcat(journal, "push "), name), "\n"); return 0; }
int roctxRangePop(void) { strcat(journal, "pop\n"); return 0; }
"""


@pytest.fixture
def library(tmp_path):
    (tmp_path / "roctx.c").write_text(SOURCE)
    try:
        compiler = find_compiler()
    except ToolchainError as error:
        pytest.skip(str(error))
    compiler.run(["-shared", "-fPIC", "-x", "c", "roctx.c", "-o", "roctx.so"], "the library", cwd=str(tmp_path))
    return tmp_path / "roctx.so"


@pytest.fixture(autouse=True)
def forget():
    ranges.functions.cache_clear()
    yield
    ranges.functions.cache_clear()


def test_a_library_with_the_functions_in_c(library, monkeypatch):
    monkeypatch.setattr(ranges, "_LIBRARIES", ("no_such_library.so", str(library)))
    push, pop = CodeObjectAdapter().device_ranges()
    push("outer")
    push("ä")
    pop()
    pop()
    loaded = ctypes.CDLL(str(library))
    loaded.fake_journal.restype = ctypes.c_char_p
    assert loaded.fake_journal().decode().split("\n") == ["push outer", "push ä", "pop", "pop", ""]


def test_without_nvtx_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(ranges, "_LIBRARIES", ("no_such_library.so",))
    with pytest.raises(ToolchainError, match="ROCTX is not installed") as caught:
        ranges.functions()
    assert "rocprofiler-sdk" in caught.value.hint

"""Errors of running kernels name the user's own line, also of a kernel from a cache that was made from other lines."""

from __future__ import annotations

import importlib.util
import re
import sys

import numpy as np
import pytest

import tilecore
from tilecore.compilation_cache.current import disk_cache
from tilecore.jit.compile import _kernels

ASSERTS = """
import tilecore
import tilecore.language as T

@T.prim_func
def kernel(A: T.Tensor((8,), "int32")):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(8):
            T.device_assert(A[i] >= 0, "negative")

@tilecore.jit(target="cpu")
def lazy(n):
    @T.prim_func
    def kernel(A: T.Tensor((n,), "int32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(n):
                T.device_assert(A[i] >= 0, "negative")
    return kernel
"""
PLAIN = """
import tilecore.language as T

@T.prim_func
def kernel(A: T.Tensor((8,), "int32")):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(8):
            A[i % 4] = i
"""


def module(folder, text, lines, name="kernels"):
    """The text in a file of this name, so many lines further down."""
    path = folder / f"{name}.py"
    path.write_text("\n" * lines + text)
    spec = importlib.util.spec_from_file_location(f"places_{name}_{lines}", path)
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


def lines_of(kernel):
    """The lines that the error of a call names."""
    with pytest.raises(Exception, match=r"\.py:") as caught:
        kernel(np.full(8, -1, np.int32))
    return set(map(int, re.findall(r"kernels\.py:(\d+)", str(caught.value))))


@pytest.mark.parametrize("form", ["prim_func", "lazy"])
def test_an_assertion_names_the_line_at_which_it_stands_now(form, tmp_path):
    for lines in (0, 30, 0):
        _kernels.clear()  # so that the cache on disk is asked
        loaded = module(tmp_path, ASSERTS, lines)
        kernel = tilecore.compile(loaded.kernel, target="cpu") if form == "prim_func" else loaded.lazy(8)
        assert lines_of(kernel) == {lines + (9 if form == "prim_func" else 17)}


@pytest.mark.parametrize("setting", ["TILECORE_INTERPRET", "TILECORE_SIMULATE"])
def test_a_race_names_its_line(setting, tmp_path, monkeypatch):
    monkeypatch.setenv(setting, "1")
    for lines in (0, 30):
        assert lines + 8 in lines_of(tilecore.compile(module(tmp_path, PLAIN, lines).kernel, target="cpu"))


def test_a_kernel_that_tells_no_place_is_found_wherever_it_stands(tmp_path):
    first = tilecore.compile(module(tmp_path, PLAIN, 0).kernel, target="cpu")
    assert tilecore.compile(module(tmp_path, PLAIN, 30).kernel, target="cpu") is first
    assert disk_cache() is not None

"""Kernels that are too large for a chip: the error names the user's line, the size and what fits."""

from __future__ import annotations

import linecache

import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import LimitError


def shared(size: int):
    """A kernel with ``size`` bytes of shared memory."""
    count = size // 4

    @T.prim_func
    def kernel(X: T.Tensor((count,), "float32"), Y: T.Tensor((count,), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((count,), "float32")
            T.copy(X, tile)
            T.copy(tile, Y)

    return kernel


def threads(count: int):
    """A kernel of blocks with ``count`` threads."""

    @T.prim_func
    def kernel(X: T.Tensor((count,), "float32")):
        with T.Kernel(1, threads=count):
            X[T.get_thread_binding()] = 1.0

    return kernel


@pytest.mark.parametrize(("arch", "kibibytes", "most"), [("gfx942", 70, 64), ("gfx1100", 70, 64), ("gfx950", 200, 160)])
def test_too_much_shared_memory(arch, kibibytes, most):
    with pytest.raises(LimitError, match=f"needs {kibibytes << 10} bytes of shared memory") as error:
        tilecore.compile(shared(kibibytes << 10), target=f"hip -arch={arch}", execution_backend="sim")
    location = error.value.location
    assert location is not None
    assert "T.alloc_shared" in linecache.getline(location.file, location.line)
    limit = int((error.value.expected or "").split("at most ")[1].split()[0])
    assert (most << 10) - 64 <= limit <= most << 10
    assert "fit" in (error.value.hint or "")


@pytest.mark.parametrize("arch", ["gfx90a", "gfx1201"])
def test_too_many_threads(arch):
    with pytest.raises(LimitError, match="a block has too many threads") as error:
        tilecore.compile(threads(1056), target=f"hip -arch={arch}", execution_backend="sim")
    location = error.value.location
    assert location is not None
    assert "T.Kernel" in linecache.getline(location.file, location.line)
    assert "1024" in (error.value.expected or "")

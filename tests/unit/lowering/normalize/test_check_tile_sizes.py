"""Tiles and tensors of impossible sizes are refused where they are allocated, with their bytes and the limit."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import tilecore.language as T
from tilecore.compiler import CompileOptions, lower
from tilecore.errors import LimitError
from tilecore.plugins import manager

sys.path.insert(0, str(Path(__file__).parents[1]))
from restricted_backend import restricted, thread_ir

HUGE = (2**20, 2**16)  # 2**36 elements


def moving(allocate, shape, dtype="float32", threads=128):
    """A kernel that copies through a tile of this shape."""

    @T.prim_func
    def kernel(A: T.Tensor(shape, dtype), B: T.Tensor(shape, dtype)):
        with T.Kernel(1, threads=threads):
            tile = allocate(shape, dtype)
            T.copy(A, tile)
            T.copy(tile, B)

    return kernel


def private(shape, dtype="float32"):
    """A kernel whose threads have memory of this shape each."""

    @T.prim_func
    def kernel(A: T.Tensor((4,), dtype)):
        with T.Kernel(1, threads=32):
            tile = T.alloc_local(shape, dtype)
            for i in T.serial(4):
                tile[i] = A[i]
            A[0] = tile[3]

    return kernel


def for_cpu(func):
    backend, target = manager.resolve("cpu")
    return lower(func.ir, backend, target, CompileOptions((), {}, (), False))


def refusal(compiling, func):
    with pytest.raises(LimitError, match="tile is larger than a block of target") as caught:
        compiling(func)
    error = caught.value
    line = Path(error.location.file).read_text().splitlines()[error.location.line - 1]
    assert line.strip().startswith("tile = "), line
    return error


@pytest.mark.parametrize("allocate", [T.alloc_shared, T.alloc_fragment])
@pytest.mark.parametrize("shape", [HUGE, (2**31, 1), (4, 2**29)])
def test_tiles_that_32_bit_offsets_do_not_reach(allocate, shape):
    error = refusal(for_cpu, moving(allocate, shape, "int8"))
    assert f"{shape[0] * shape[1]} bytes" in error.found
    assert error.expected == "at most 2147483647 bytes of a tile (2147483647 elements)"


def test_the_largest_tiles_are_taken():
    for func in (moving(T.alloc_shared, (2**31 - 1,), "int8"), private((2**31 - 1,))):
        for_cpu(func)
    assert "8589934592 bytes" in refusal(for_cpu, private((2**31,))).found


def test_the_limit_is_the_target_s():
    with restricted(shared_bytes=65536, thread_bytes=1024):
        shared = refusal(thread_ir, moving(T.alloc_shared, HUGE))
        assert shared.expected == "at most 65536 bytes of shared memory of a block"
        assert "274877906944 bytes (shared memory)" in shared.found
        fragment = refusal(thread_ir, moving(T.alloc_fragment, (256, 129)))
        assert fragment.expected == "at most 131072 bytes of the registers and local memory of 128 threads"
        assert "132096 bytes (fragment)" in fragment.found
        assert refusal(thread_ir, private((257,))).expected == "at most 1024 bytes of a thread"
        thread_ir(moving(T.alloc_fragment, (256, 128)))
        thread_ir(private((256,)))
    with restricted():
        thread_ir(moving(T.alloc_fragment, (256, 129)))


def test_tiles_that_passes_make_larger():
    """Two stages of a pipeline are twice the tile."""

    @T.prim_func
    def kernel(A: T.Tensor((8, 2**30), "int8"), B: T.Tensor((2**30,), "int8")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((2**30,), "int8")
            for i in T.Pipelined(8, num_stages=2):
                T.copy(A[i, 0], tile)
                T.copy(tile, B)

    with restricted(), pytest.raises(LimitError, match="tile is larger than a block") as caught:
        thread_ir(kernel)
    assert "2147483648 bytes" in caught.value.found
    assert "with what the compiler has added" in caught.value.expected


@pytest.mark.parametrize("shape", [(2**31, 2**32), (2**31, 2**31), (2**62,)])
def test_tensors_that_no_address_reaches(shape):
    @T.prim_func
    def parameter(A: T.Tensor(shape, "float32")):
        with T.Kernel(1):
            for i in T.Parallel(4):
                A[(*(0 for _ in shape[1:]), i)] = 1.0

    @T.prim_func
    def workspace(B: T.Tensor((4,), "float32")):
        memory = T.alloc_global(shape, "float32")
        with T.Kernel(1):
            for i in T.Parallel(4):
                memory[(*(0 for _ in shape[1:]), i)] = B[i]

    for func, name, line in ((parameter, "A", "def parameter"), (workspace, "memory", "memory = ")):
        for compiling in (for_cpu, thread_ir):
            with restricted(), pytest.raises(LimitError, match=f"{name} is larger than the 64-bit indices") as caught:
                compiling(func)
            error = caught.value
            assert "at most 9223372036854775807 bytes" in error.expected
            assert Path(error.location.file).read_text().splitlines()[error.location.line - 1].strip().startswith(line)


@pytest.mark.parametrize("shape", [(2, 2**32), (64, 2**31), (2**31, 64), (2**32,), (2**40,)])
def test_axes_beyond_32_bits(shape):
    """Of tensors in global memory, whose offsets have 64 bits."""
    place = (0,) * (len(shape) - 1)

    @T.prim_func
    def kernel(A: T.Tensor(shape, "int8"), B: T.Tensor((2, 64), "int8")):
        with T.Kernel(2, threads=32) as bx:
            tile = T.alloc_shared((64,), "int8")
            T.copy(A[(*place, bx * 64)], tile)
            T.copy(tile, B[bx, 0])

    for_cpu(kernel)
    with restricted():
        assert len(thread_ir(kernel).functions) == 1

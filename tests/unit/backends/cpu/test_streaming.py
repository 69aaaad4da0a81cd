"""Outputs that are written past the caches: which ones, and that what they hold is right."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore
import tilecore.language as T
from tilecore.backends.cpu.codegen import streams_of
from tilecore.backends.cpu.target import host_cache_bytes, host_features
from tilecore.plugins import manager

SMALL_CACHE = "cpu -cache_bytes=16384"

needs_streams = pytest.mark.skipif(
    not {"avx2", "avx512f"} & set(host_features()), reason="the processor has no vectors that stream"
)


def plus_one(count, dtype="float32", block=256):
    @T.prim_func
    def kernel(X: T.Tensor((count,), dtype), Y: T.Tensor((count,), dtype)):
        with T.Kernel(T.ceildiv(count, block)) as bx:
            for i in T.Parallel(block):
                Y[bx * block + i] = X[bx * block + i] + 1

    return kernel


def streams(kernel) -> bool:
    return "!nontemporal" in kernel.get_kernel_source()


@needs_streams
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "bfloat16"])
@pytest.mark.parametrize("offset", [0, 1, 3])
def test_large_outputs_at_any_address(dtype, offset):
    count = 16384
    kernel = tilecore.compile(plus_one(count, dtype), target=SMALL_CACHE)
    # int8 is added as int32, 8 lanes with AVX2: the 8 bytes of a store are too few for one past the caches
    assert streams(kernel) == (dtype != "int8" or "avx512f" in host_features())
    kind = T.dtype(dtype).as_numpy()
    x = (np.arange(count) % 100).astype(kind)
    room = np.zeros(count + 64, kind)
    kernel(x, room[offset : offset + count])
    np.testing.assert_array_equal(room[offset : offset + count], x + np.ones((), kind))
    assert not room[:offset].any()
    assert not room[offset + count :].any()


def test_small_outputs_and_outputs_that_are_read_stay():
    assert not streams(tilecore.compile(plus_one(512), target=SMALL_CACHE))

    @T.prim_func
    def in_place(X: T.Tensor((65536,), "float32")):
        with T.Kernel(256) as bx:
            for i in T.Parallel(256):
                X[bx * 256 + i] = X[bx * 256 + i] + 1

    assert not streams(tilecore.compile(in_place, target=SMALL_CACHE))


def test_parts_of_lines_stay():
    """Every other 32 bytes: a line would be written in two halves."""

    @T.prim_func
    def kernel(X: T.Tensor((2048, 8), "float32"), Y: T.Tensor((2048, 16), "float32")):
        with T.Kernel(2048) as bx:
            for i in T.Parallel(8):
                Y[bx, i] = X[bx, i]

    assert not streams(tilecore.compile(kernel, target=SMALL_CACHE))


def test_sizes_known_at_run_time_stay():
    assert not streams(tilecore.compile(plus_one(T.dynamic("n")), target=SMALL_CACHE))


def test_threshold():
    _, native = manager.resolve("cpu")
    _, generic = manager.resolve("cpu -march=generic")
    assert native.get("cache_bytes") == host_cache_bytes()
    assert streams_of(generic).least_bytes == 0
    assert 0 <= host_cache_bytes() <= 64 << 20


@pytest.mark.parametrize("model", ["GenuineIntel-6-207", "AuthenticAMD-25-17"])
def test_rows_that_are_stored_between_loops_of_exponentials(model):
    """On Intel's processors such bursts stay in the caches; other outputs do not."""
    from tilecore.demo import kernels

    target = f"cpu -march=sapphirerapids -cache_bytes=16384 -model={model}"
    assert streams(tilecore.compile(kernels.softmax.func(64, 256), target=target)) == (not model.startswith("Genuine"))
    assert streams(tilecore.compile(kernels.rms_norm.func(64, 256), target=target))

    @T.prim_func
    def exponentials(X: T.Tensor((65536,), "float32"), Y: T.Tensor((65536,), "float32")):
        with T.Kernel(256) as bx:
            for i in T.Parallel(256):
                Y[bx * 256 + i] = T.exp(X[bx * 256 + i])

    assert streams(tilecore.compile(exponentials, target=target)), "the loop that stores computes them"

"""Level 4, a floor of speed: no kernel is slow beside another one on the same device.

Nothing here is a number of bytes or operations a second. Each kernel is compared with a plainer one that the same
backend compiled; measurements take turns, and the shortest count. The floors are what a backend misses that goes about
something in a wrong way, not what a good one reaches.
"""

from __future__ import annotations

import functools
import shutil

import pytest

import tilecore
import tilecore.language as T
from tilecore.jit.compile import _kernels
from tilecore.testing.conformance.report import MEASURED

from .kit import compiled, lacking, sample, within_limits, zeros
from .on_device import bare, placed
from .stopwatch import best, seconds, shortest

LEVEL = 4
TABLE = "speed, as a multiple of what it is compared with"
SIZE = 1 << 22  # elements of what is moved
COLUMNS = 1024
NATIVE, PYTHON = 50e-6, 500e-6  # seconds that a launch may take, by a launcher in C and in Python


@pytest.fixture
def at_least(request, record_property, target):
    """Measures, notes, and compares with the floor."""
    if target.is_simulated:
        pytest.skip("a simulated device has no speed")

    def at_least(name, measure, floor):
        best_ratio = best(measure, floor)
        record_property(MEASURED, [TABLE, f"{name} (floor {floor:g})", "", float(f"{best_ratio:.3g}")])
        assert best_ratio >= floor, f"{name}: {best_ratio:.3g}, and not {floor:g}"

    return at_least


class Ready:
    """A kernel with its arguments where it takes them."""

    def __init__(self, func, target, *arrays, **options):
        kernel = compiled(func, target, **options)
        self.kernel = bare(kernel)
        self.args = [placed(kernel, array) for array in arrays]

    def __call__(self):
        self.kernel(*self.args)

    def wait(self):
        self.kernel.adapter.synchronize()


def speed(first, second, work=1.0):
    """How many times faster ``first`` is than ``second``; work: how many times as much it does."""
    mine, theirs = shortest(first, second, wait=first.wait)
    return theirs / mine * work


# -- moving memory ---------------------------------------------------------------------------------------------------


@T.prim_func
def copied(X: T.Tensor((SIZE,), "float32"), Y: T.Tensor((SIZE,), "float32")):
    with T.Kernel(SIZE // 4096, threads=256) as b:
        for i in T.Parallel(4096):
            Y[b * 4096 + i] = X[b * 4096 + i]


@T.prim_func
def one_by_one(X: T.Tensor((SIZE,), "float32"), Y: T.Tensor((SIZE,), "float32")):
    with T.Kernel(SIZE // 4096, threads=256) as b:
        tx = T.get_thread_binding()
        for i in T.serial(16):
            Y[b * 4096 + tx * 16 + i] = X[b * 4096 + tx * 16 + i]


@T.prim_func
def by_tiles(X: T.Tensor((SIZE,), "float32"), Y: T.Tensor((SIZE,), "float32")):
    with T.Kernel(SIZE // 4096, threads=256) as b:
        tile = T.alloc_shared((4096,), "float32")
        T.copy(X[b * 4096], tile)
        T.copy(tile, Y[b * 4096])


@T.prim_func
def added(X: T.Tensor((SIZE,), "float32"), Y: T.Tensor((SIZE,), "float32"), Z: T.Tensor((SIZE,), "float32")):
    with T.Kernel(SIZE // 4096, threads=256) as b:
        for i in T.Parallel(4096):
            Z[b * 4096 + i] = X[b * 4096 + i] + Y[b * 4096 + i]


@T.prim_func
def transposed(X: T.Tensor((SIZE // 1024, 1024), "float32"), Y: T.Tensor((1024, SIZE // 1024), "float32")):
    with T.Kernel(SIZE // 1024 // 64, 16, threads=256) as (by, bx):
        tile, turned = T.alloc_shared((64, 64), "float32"), T.alloc_shared((64, 64), "float32")
        T.copy(X[by * 64, bx * 64], tile)
        T.transpose(tile, turned)
        T.copy(turned, Y[bx * 64, by * 64])


@T.prim_func
def row_sums(X: T.Tensor((SIZE // 1024, 1024), "float32"), Y: T.Tensor((SIZE // 1024,), "float32")):
    with T.Kernel(SIZE // 1024 // 8, threads=256) as b:
        x, y = T.alloc_fragment((8, 1024), "float32"), T.alloc_fragment((8,), "float32")
        T.copy(X[b * 8, 0], x)
        T.reduce_sum(x, y, dim=1)
        T.copy(y, Y[b * 8])


@T.prim_func
def softmax(X: T.Tensor((SIZE // 1024, 1024), "float32"), Y: T.Tensor((SIZE // 1024, 1024), "float32")):
    with T.Kernel(SIZE // 1024 // 8, threads=256) as b:
        x = T.alloc_fragment((8, 1024), "float32")
        most, total = T.alloc_fragment((8,), "float32"), T.alloc_fragment((8,), "float32")
        T.copy(X[b * 8, 0], x)
        T.reduce_max(x, most, dim=1)
        for i, j in T.Parallel(8, 1024):
            x[i, j] = T.exp(x[i, j] - most[i])
        T.reduce_sum(x, total, dim=1)
        for i, j in T.Parallel(8, 1024):
            x[i, j] = x[i, j] / total[i]
        T.copy(x, Y[b * 8, 0])


FLAT, ROWS, TURNED = (SIZE,), (SIZE // COLUMNS, COLUMNS), (COLUMNS, SIZE // COLUMNS)
STREAMS = {  # kernel, shapes of its tensors, bytes that it moves beside a copy's, floor of its bytes a second
    "an addition, of a copy": (added, [FLAT] * 3, 1.5, 0.3),
    "a copy by way of tiles, of a copy": (by_tiles, [FLAT] * 2, 1, 0.3),
    "a transpose, of a copy": (transposed, [ROWS, TURNED], 1, 0.03),
    "sums of rows, of a copy": (row_sums, [ROWS, (SIZE // COLUMNS,)], 0.5, 0.3),
    "a softmax of rows, of a copy": (softmax, [ROWS] * 2, 1, 0.05),
}


@functools.cache
def copying(target, backend):
    return Ready(copied, target, sample("float32", FLAT), zeros("float32", FLAT))


@pytest.mark.parametrize("name", STREAMS)
def test_moving_memory(target, at_least, name):
    """Bytes a second, beside the plainest copy."""
    func, (first, *shapes), moved, floor = STREAMS[name]
    moving = Ready(func, target, sample("float32", first), *(zeros("float32", shape) for shape in shapes))
    at_least(name, lambda: speed(moving, copying(target, target.backend), moved), floor)


def test_a_parallel_loop_and_a_serial_one(target, at_least):
    """Neighbours that are moved together, beside one after the other."""
    parallel = copying(target, target.backend)
    serial = Ready(one_by_one, target, *parallel.args)
    at_least("a parallel loop, of a loop of each thread", lambda: speed(parallel, serial), 0.8)


# -- products --------------------------------------------------------------------------------------------------------


LARGE = 1024  # enough blocks for every core of a large device


def product(dtype, stages, size=512):
    @T.prim_func
    def product(A: T.Tensor((size, size), dtype), B: T.Tensor((size, size), dtype), C: T.Tensor((size, size), dtype)):
        with T.Kernel(size // 64, size // 64, threads=128) as (bx, by):
            a, b = T.alloc_shared((64, 32), dtype), T.alloc_shared((32, 64), dtype)
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(size // 32, num_stages=stages):
                T.copy(A[by * 64, k * 32], a)
                T.copy(B[k * 32, bx * 64], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 64, bx * 64])

    return product


def by_loops(dtype, size=512):
    @T.prim_func
    def by_loops(A: T.Tensor((size, size), dtype), B: T.Tensor((size, size), dtype), C: T.Tensor((size, size), dtype)):
        with T.Kernel(size // 64, size // 64, threads=128) as (bx, by):
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.serial(size):
                for i, j in T.Parallel(64, 64):
                    c[i, j] += T.cast(A[by * 64 + i, k], "float32") * T.cast(B[k, bx * 64 + j], "float32")
            T.copy(c, C[by * 64, bx * 64])

    return by_loops


def matrices(dtype, size=512):
    return sample(dtype, (size, size)), sample(dtype, (size, size), 1), zeros(dtype, (size, size))


@pytest.mark.parametrize(("dtype", "floor"), [("float32", 1.25), ("float16", 0.9), ("bfloat16", 0.9)])
def test_a_product_and_its_loops(target, at_least, dtype, floor):
    """Faster; of narrow types, which some hardware has to convert, not slower."""
    gemm = Ready(product(dtype, 2), target, *matrices(dtype))
    loops = Ready(by_loops(dtype), target, *gemm.args)
    at_least(f"T.gemm of {dtype}, of the same as loops", lambda: speed(gemm, loops), floor)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_pipeline_and_the_same_without(target, at_least, dtype):
    pipelined = Ready(product(dtype, 2, LARGE), target, *matrices(dtype, LARGE))
    unpipelined = Ready(product(dtype, 0, LARGE), target, *pipelined.args)
    at_least(f"two stages of {dtype}, of none", lambda: speed(pipelined, unpipelined), 0.9)


# -- launching and compiling -----------------------------------------------------------------------------------------


@T.prim_func
def hardly(X: T.Tensor((1,), "float32")):
    with T.Kernel(1, threads=32):
        X[0] = 1.0


def test_a_launch(target, at_least):
    """Of a kernel that does hardly anything; those of a device may be queued."""
    launch = Ready(hardly, target, zeros("float32", 1))
    limit = PYTHON if callable(launch.kernel.loaded.launch) else NATIVE
    at_least(f"a launch, of {limit * 1e6:.0f} microseconds", lambda: limit / shortest(launch, wait=launch.wait)[0], 1)


def test_a_kernel_from_the_cache(target, at_least, monkeypatch, tmp_path):
    func = product("float32", 2)
    lacking(func, target)
    monkeypatch.setenv("TILECORE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TILECORE_CHECK", "0")
    with within_limits():
        tilecore.compile(func, target=str(target))
    tilecore.compile(product("float32", 0), target=str(target))  # what is loaded once in a process is loaded

    def take():
        _kernels.clear()
        return tilecore.compile(func, target=str(target))

    def measure():
        shutil.rmtree(tmp_path)
        cold = seconds(take, lambda: None, 1)
        assert take().from_cache
        return cold / shortest(take, wait=lambda: None)[0]

    at_least("a kernel from the cache, of compiling it", measure, 5)

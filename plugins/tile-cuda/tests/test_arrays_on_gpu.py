"""Arrays of CuPy and jax on a GPU, and a process without torch. Skipped where there is no GPU, or no such library."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from test_on_gpu import torch  # noqa: F401  (a fixture: skips without a GPU)

import tilecore
import tilecore.language as T

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # jax leaves memory to the other tests
SHAPE = (5, 96)
WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
import numpy as np
import tilecore
from test_arrays_on_gpu import check, scaled
check(__import__(sys.argv[1]), tilecore.compile(scaled("float32"), target="cuda", out_idx=1))
assert sys.modules["torch"] is None
print("right")
"""


def scaled(dtype):
    @T.prim_func
    def scaled(A: T.Tensor(SHAPE, dtype), B: T.Tensor(SHAPE, dtype), factor: T.float32):
        with T.Kernel(SHAPE[0], threads=96) as bx:
            for j in T.Parallel(SHAPE[1]):
                B[bx, j] = A[bx, j] * T.cast(factor, dtype)

    return scaled


def check(library, kernel, dtype="float32"):
    """The result is an array of the library, and right."""
    numbers = library.arange(SHAPE[0] * SHAPE[1]).reshape(SHAPE) % 7
    a = (numbers if library.__name__ == "cupy" else library.numpy.asarray(numbers)).astype(dtype)
    b = kernel(a, 3.0)
    assert type(b) is type(a), type(b)
    assert b.dtype == a.dtype
    on_host = b.get() if library.__name__ == "cupy" else np.asarray(b)
    want = (np.arange(SHAPE[0] * SHAPE[1]).reshape(SHAPE) % 7) * 3.0
    np.testing.assert_array_equal(on_host.astype(np.float64), want)


class Library:
    """jax with the functions of its numpy, as cupy has them."""

    def __init__(self, jax):
        self.__name__, self.numpy, self.arange = "jax", jax.numpy, jax.numpy.arange


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_results_are_arrays_of_cupy(torch, dtype):  # noqa: F811
    cupy = pytest.importorskip("cupy")
    check(cupy, tilecore.compile(scaled(dtype), target="cuda", out_idx=1), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int32"])
def test_results_are_arrays_of_jax(torch, dtype):  # noqa: F811
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("this jax does not use the GPU")
    check(Library(jax), tilecore.compile(scaled(dtype), target="cuda", out_idx=1), dtype)


def test_the_interface_of_cuda_arrays(torch):  # noqa: F811
    """Objects with __cuda_array_interface__ alone; the one that the kernel writes, too."""
    cupy = pytest.importorskip("cupy")

    class Described:
        def __init__(self, array):
            self.array, self.__cuda_array_interface__ = array, array.__cuda_array_interface__

    a, b = cupy.arange(480, dtype="float32").reshape(SHAPE), cupy.zeros(SHAPE, "float32")
    tilecore.compile(scaled("float32"), target="cuda")(Described(a), Described(b), 2.0)
    cupy.testing.assert_array_equal(b, a * 2)


def test_a_stream_of_cupy(torch):  # noqa: F811
    """The kernel waits for the current stream of CuPy, which fills its input, and that stream for the kernel."""
    cupy = pytest.importorskip("cupy")
    kernel, stream = tilecore.compile(scaled("float32"), target="cuda", out_idx=1), cupy.cuda.Stream(non_blocking=True)
    kernel(cupy.zeros(SHAPE, "float32"), 1.0)
    for turn in range(20):
        with stream:
            a = cupy.zeros(SHAPE, "float32")
            busy = cupy.ones((2048, 2048), "float32") @ cupy.ones((2048, 2048), "float32")
            a += busy[0, 0] * 0 + turn
            b = kernel(a, 2.0) + 0
        cupy.testing.assert_array_equal(b, cupy.full(SHAPE, 2.0 * turn, "float32"))


@pytest.mark.parametrize("library", ["cupy"])
def test_a_process_without_torch(torch, library):  # noqa: F811
    pytest.importorskip(library)
    folders = os.pathsep.join([os.path.dirname(__file__), *filter(None, sys.path)])
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, library],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": folders},
        timeout=120,
    )
    assert ended.stdout.strip() == "right", ended.stderr[-3000:]

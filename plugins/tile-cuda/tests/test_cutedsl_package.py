"""The package nvidia-cutlass-dsl compiles what is emitted, where it is installed; launches pass the right addresses."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest
from test_cutedsl_emitter import TARGET
from tile_cuda import cubin
from tile_cuda.cutedsl import adapter, package

import tilecore
import tilecore.language as T
from tilecore.errors import ToolchainError

needs_package = pytest.mark.skipif(bool(package.missing()), reason=package.missing())
FUNCTIONS = (
    "exp exp2 exp10 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf sqrt rsqrt "
    "sigmoid floor ceil trunc round"
).split()


def product(dtype="float16"):
    @T.prim_func
    def kernel(A: T.Tensor((128, 64), dtype), B: T.Tensor((64, 64), dtype), C: T.Tensor((128, 64), "float32")):
        with T.Kernel(2, threads=128) as by:
            a = T.alloc_shared((64, 32), dtype)
            b = T.alloc_shared((32, 64), dtype)
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[by * 64, k * 32], a)
                T.copy(B[k * 32, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 64, 0])

    return kernel


def functions():
    """A kernel with every function of floats, and operations that the product does not have."""

    @T.prim_func
    def kernel(X: T.Tensor((64,), "float32"), D: T.Tensor((64,), "float64"), K: T.Tensor((64,), "int64")):
        with T.Kernel(1, threads=64):
            t = T.get_thread_binding()
            for name in FUNCTIONS:
                X[t] = getattr(T, name)(X[t])
                D[t] = getattr(T, name)(D[t])
            X[t] = T.pow(X[t], T.float32(3)) + T.hypot(X[t], T.float32(2)) + T.copysign(X[t], T.float32(1))
            X[t] = T.ldexp(X[t], 3) + T.nextafter(X[t], T.float32(0))
            D[t] = T.ldexp(D[t], 3) + T.nextafter(D[t], T.float64(0)) + T.fmod(D[t], T.float64(3))
            D[t] = T.hypot(D[t], T.float64(1))
            K[t] = T.popcount(K[t]) + T.clz(K[t]) + K[t] // 7 + K[t] % 7 + T.cast(X[t], "int64") + T.cast(D[t], "int64")
            K[t] = K[t] + T.cast(T.cast(D[t], "int8"), "int64") + T.shfl_xor(K[t], 1)
            T.atomic_add(X[0], X[t])
            T.atomic_max(K[0], K[t])

    return kernel


@needs_package
@pytest.mark.parametrize("arch", ["sm_90a", "sm_80"])
def test_a_product_compiles_without_a_gpu_into_registers(arch):
    kernel = tilecore.compile(product(), target=f"cutedsl -arch={arch}", execution_backend="cutedsl")
    (compiled,) = package.unpack(kernel.artifact.binary)
    assert compiled.symbol == kernel.artifact.entries[0].symbol
    (usage,) = (usage for name, usage in cubin.describe(compiled.cubin).items() if "kernel" in name)
    assert usage["stack_bytes"] == 0
    assert usage["registers"] <= 128
    assert kernel.artifact.source_format == "py"


@needs_package
def test_functions_compile():
    kernel = tilecore.compile(functions(), target=TARGET, execution_backend="cutedsl")
    assert package.unpack(kernel.artifact.binary)[0].cubin[:4] == b"\x7fELF"


@pytest.mark.skipif(not package.missing(), reason="the package is installed")
def test_without_the_package_the_error_says_how_to_get_it():
    with pytest.raises(ToolchainError, match="nvidia-cutlass-dsl is not installed") as error:
        tilecore.compile(product(), target=TARGET, execution_backend="cutedsl")
    assert "tile-cuda[cutedsl]" in error.value.hint


def test_binaries_keep_their_files():
    kernels = [package.Compiled("one", b"object", b"cubin\n"), package.Compiled("two", b"", b"x")]
    assert package.unpack(package.pack(kernels)) == kernels
    with pytest.raises(ValueError, match="bytes of files"):
        package.unpack(package.pack(kernels) + b"more")


def test_a_launch_passes_the_addresses_of_slots_blocks_and_stream():
    """Slots of two tensors, a scalar and a size; the first kernel has no blocks and is left out."""
    seen = []

    @ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
    def function(arguments):
        addresses = (ctypes.c_void_p * 9).from_address(arguments)
        seen.append([ctypes.c_int64.from_address(address).value for address in addresses[:4]])
        seen.append([ctypes.c_int32.from_address(address).value for address in addresses[4:7]])
        seen.append(ctypes.c_int64.from_address(addresses[7]).value)
        ctypes.c_int32.from_address(addresses[8]).value = 700
        return 0

    artifact = SimpleNamespace(
        params=[1, 2, 3], workspaces=[], symbols=[SimpleNamespace(source=("A", 0)), SimpleNamespace(source=("scalar",))]
    )
    driver = SimpleNamespace(current_device=lambda: 0)
    loaded = SimpleNamespace(function=lambda: function)
    launch = adapter._Launches(artifact, [loaded, loaded], lambda: driver)
    slots = np.array([11, 22, 33, 44, 55], np.int64)
    grids = np.array([0, 1, 1, 0, 5, 6, 7, 0], np.int64)
    assert launch(slots.ctypes.data, grids.ctypes.data, 0, 99) == 700
    assert seen == [[11, 22, 33, 44], [5, 6, 7], 99]

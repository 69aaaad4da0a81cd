"""Hand-written CUDA C++ kernels, compiled for the GPU of this machine and launched like compiled tile kernels."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from tile_cuda import toolchain
from tile_cuda.adapter import DriverAdapter
from tile_cuda.target import resolve

from tilecore.artifact.dims import DimExpr
from tilecore.artifact.records import Artifact, Entry, ScalarParam, Symbol, TensorParam
from tilecore.contract.records import BuildRequest
from tilecore.errors import ToolchainError
from tilecore.runtime.launcher import Launcher
from tilecore.target import Target

N = DimExpr("n")
BLOCKS = DimExpr(("//", ("+", "n", 127), 128))
CUDA = 2  # DLPack's device type

# b = a + s, for n elements
ADD = """#include "tilecore_cuda.h"
extern "C" __global__ void add_kernel(const float* A, float* B, float s, int n) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) B[i] = A[i] + s;
}
"""


def target_here(**attributes: Any) -> Target:
    return resolve(Target("cuda", {"arch": "auto", **attributes}))


@functools.lru_cache(maxsize=64)
def binary_of(source: str, symbols: tuple[str, ...], adapter: str, arch: str) -> bytes:
    """The cubin; skips the test where the compiler is not installed."""
    target = target_here(**({"arch": arch} if arch else {}))
    try:
        binary, _ = toolchain.build(BuildRequest("kernel", source, symbols, target, (), False, adapter))
    except ToolchainError as error:
        if "no compiler" in error.message:
            pytest.skip(str(error))
        raise
    return binary


def kernel(
    source: str = ADD,
    name: str = "add_kernel",
    adapter: str = "cython",
    params: Any = None,
    arch: str = "",
    **entry: Any,
) -> Launcher:
    """A launchable kernel. entry: of Entry; params, symbols: those of ADD unless they are given."""
    if params is None:
        params = (
            TensorParam("A", "float32", (N,), access="r", align=4),
            TensorParam("B", "float32", (N,), access="w", align=4),
            ScalarParam("s", "float32"),
        )
    sized = any(not isinstance(d, int) for p in params if isinstance(p, TensorParam) for d in p.shape)
    facts = {"grid": (BLOCKS, 1, 1), "threads": (128, 1, 1), **entry}
    artifact = Artifact(
        name=name.removesuffix("_kernel"), target=str(target_here()), backend="tile-cuda", adapter=adapter,
        params=tuple(params), symbols=(Symbol("n", ("shape", 0, 0)),) if sized else (), workspaces=(),
        entries=(Entry(name, **facts),), out_idx=(), source=source, source_format="cu",
        binary=binary_of(source, (name,), adapter, arch), binary_format="cubin",
    )  # fmt: skip
    chosen = DriverAdapter(adapter)
    return Launcher(artifact, chosen.load(artifact), chosen, CUDA)

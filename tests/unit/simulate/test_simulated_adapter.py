"""SimulatedAdapter behind tilecore's own launchers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from device_kit import DIALECT, needs_compiler

from tilecore.artifact.dims import DimExpr
from tilecore.artifact.records import Artifact, Entry, ScalarParam, Symbol, TensorParam, Workspace
from tilecore.errors import ArgumentError
from tilecore.runtime import launcher_py
from tilecore.simulate import SimulatedAdapter, SimulatedDevice, SimulationError
from tilecore.target import Target

try:
    from tilecore.runtime import _launcher

    LAUNCHERS = [launcher_py.Launcher, _launcher.Launcher]
except ImportError:
    LAUNCHERS = [launcher_py.Launcher]

pytestmark = needs_compiler

SOURCE = """#include "neutral.h"
KERNEL scale(const tc_half* A, float* B, float* W, float factor, int m) {
  const int i = block_x * 64 + thread_x;
  if (i < m * 8) W[i] = float(A[i]) * factor;
}
KERNEL shift(const tc_half* A, float* B, float* W, float factor, int m) {
  TC_SHARED(shared);
  float* tile = (float*)shared;
  tile[thread_x] = W[block_x * 8 + thread_x];
  tc_barrier();
  B[block_x * 8 + thread_x] = tile[7 - thread_x];
}
"""


def artifact(source=SOURCE, **changes):
    m = DimExpr("m")
    default = Artifact(
        name="scaled",
        target="neutral",
        backend="tests",
        adapter="sim",
        params=(
            TensorParam("A", "float16", (m, 8), access="r"),
            TensorParam("B", "float32", (m, 8), access="w"),
            ScalarParam("factor", "float32"),
        ),
        symbols=(Symbol("m", ("shape", 0, 0)),),
        workspaces=(Workspace("W", "float32", (m, 8)),),
        entries=(
            Entry("scale", (DimExpr(("//", ("+", ("*", "m", 8), 63), 64)), 1, 1), (64, 1, 1)),
            Entry("shift", (m, 1, 1), (8, 1, 1), shared_bytes=32),
        ),
        out_idx=(1,),
        source=source,
        source_format="c",
        binary=b"",
        binary_format="simulation",
    )
    return dataclasses.replace(default, **changes)


def kernel(launcher, kernel_artifact=None, adapter=None):
    kernel_artifact, adapter = kernel_artifact or artifact(), adapter or SimulatedAdapter([DIALECT])
    return launcher(kernel_artifact, adapter.load(kernel_artifact), adapter, 1)


@pytest.mark.parametrize("launcher", LAUNCHERS)
@pytest.mark.parametrize("rows", [1, 13])
def test_two_kernels_with_a_workspace_and_symbols(launcher, rows):
    a = np.arange(rows * 8).reshape(rows, 8).astype(np.float16)
    b = kernel(launcher)(a, 0.5)
    np.testing.assert_array_equal(np.asarray(b), a[:, ::-1].astype(np.float32) / 2)


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_an_error_of_the_kernel_reaches_the_caller(launcher):
    wrong = artifact(SOURCE.replace("if (i < m * 8) W", "W").replace("  TC_SHARED", "  // scaled.py:3\n  TC_SHARED"))
    with pytest.raises(SimulationError, match=r"read of A\[1[345], \d\]") as info:
        kernel(launcher, wrong)(np.zeros((13, 8), np.float16), 1.0)
    assert info.value.kind == "out_of_bounds"
    with pytest.raises(ArgumentError):
        kernel(launcher)(np.zeros((13, 9), np.float16), 1.0)


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    a = torch.arange(16, dtype=torch.float16).reshape(2, 8)
    b = kernel(launcher_py.Launcher)(a, 2.0)
    assert torch.equal(b, a.flip(1).float() * 2)


def test_what_it_says_of_itself():
    adapter = SimulatedAdapter([DIALECT], name="laptop", device=SimulatedDevice(warp=64))
    presence = adapter.available(Target.parse("cpu"))
    assert presence.present
    assert "simulated" in presence.detail
    assert adapter.name == "laptop"
    assert tuple(adapter.binary_formats()) == ("simulation",)
    assert adapter.simulated.warp == 64

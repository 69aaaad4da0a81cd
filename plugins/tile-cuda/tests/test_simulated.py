"""Emitted kernels on the simulated device, with its checks."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
import thread_kernels as kernels
from cuda_artifacts import artifact
from tile_cuda import codegen
from tile_cuda.headers import INCLUDE
from tile_cuda.simulated import simulated_adapter

from tilecore.artifact.records import Entry, TensorParam
from tilecore.runtime.launcher import Launcher
from tilecore.target import Target

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("tilecore.simulate") is None, reason="this tilecore has no simulated device"
)


@pytest.fixture(scope="module")
def adapter():
    backend = simulated_adapter()
    present = backend.available(Target("cuda", {}))
    if not present.present:
        pytest.skip(present.detail)
    return backend


def run(adapter, source: str, symbol: str, grid, threads, shared: int, **arrays) -> None:
    """``arrays``: by name; a name in capitals is only read, others only written."""
    params = tuple(
        TensorParam(name, str(a.dtype), a.shape, access="r" if name.isupper() else "w") for name, a in arrays.items()
    )
    kernel = artifact(
        params=params, entries=(Entry(symbol, grid, threads, shared),), source=source, binary=b"",
        binary_format="simulation", adapter="sim",
    )  # fmt: skip
    Launcher(kernel, adapter.load(kernel), adapter, 1)(*arrays.values())


def source_of(module) -> str:
    return codegen.build(module, "cuda")["source"]


def test_block_sum(adapter):
    a = np.random.default_rng(0).standard_normal(64 * 1024).astype(np.float32)
    s = np.zeros(64, np.float32)
    run(adapter, source_of(kernels.block_sum()), "sum_kernel", (64, 1, 1), (128, 1, 1), 16, A=a, s=s)
    np.testing.assert_allclose(s, a.reshape(64, -1).sum(1), rtol=1e-4, atol=1e-4)


def test_pipelined_copy(adapter):
    a = np.random.default_rng(0).standard_normal(2048).astype(np.float32)
    b = np.zeros(2048, np.float32)
    run(adapter, source_of(kernels.pipelined_copy()), "copy_kernel", (1, 1, 1), (64, 1, 1), 2048, A=a, b=b)
    np.testing.assert_array_equal(b, 2 * a)


@pytest.mark.parametrize(
    ("dropped", "kind"),
    [("    tc_barrier();\n    B[", "race|missing_wait|uninitialised"), ("    tc_wait_async<1>();\n", "missing_wait")],
)
def test_a_dropped_barrier_or_wait_is_reported(adapter, dropped, kind):
    from tilecore.simulate.errors import SimulationError

    text = source_of(kernels.pipelined_copy())
    replacement = "    B[" if dropped.endswith("B[") else ""
    assert dropped in text
    a, b = np.zeros(2048, np.float32), np.zeros(2048, np.float32)
    with pytest.raises(SimulationError) as caught:
        run(adapter, text.replace(dropped, replacement), "copy_kernel", (1, 1, 1), (64, 1, 1), 2048, A=a, b=b)
    assert caught.value.kind in kind.split("|")


def test_ldmatrix_and_mma(adapter):
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in (16 * 64, 64 * 8))
    c = np.zeros(128, np.float32)
    run(adapter, source_of(kernels.mma_tile()), "mma_kernel", (1, 1, 1), (32, 1, 1), 3072, A=a, B=b, c=c)
    expected = a.reshape(16, 64).astype(np.float32) @ b.reshape(64, 8).astype(np.float32)
    np.testing.assert_allclose(c.reshape(16, 8), expected, rtol=1e-3, atol=1e-3)


def test_every_function_has_a_simulated_form(adapter):
    from pathlib import Path

    from tilecore.simulate.library import compile_kernels

    text = Path(__file__).with_name("every_function.cu").read_text()
    text = text.replace(" + tc_cluster_address(arena, 1)", "")  # an address that only instructions take
    assert compile_kernels(text, ["plain", "together", "from_75", "from_80", "from_89", "from_90"], INCLUDE, ())
    text = Path(__file__).with_name("every_hopper_function.cu").read_text()
    assert compile_kernels(text, ["tensor_copies", "clusters", "warpgroups"], INCLUDE, ())

"""The hand-written GEMM of benchmarks/spikes on the simulated device: correct, and dropped statements are reported."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path

import numpy as np
import pytest
from simulated_kit import aligned, needs_compiler, planted
from tile_cuda.simulated import simulated_adapter

from tilecore.runtime.launcher import Launcher
from tilecore.simulate.errors import SimulationError

pytestmark = needs_compiler
SPIKE = Path(__file__).parents[3] / "benchmarks" / "spikes" / "hopper_gemm.py"
if not SPIKE.exists():
    pytest.skip("the benchmarks are not beside this package", allow_module_level=True)


@functools.cache
def spike():
    spec = importlib.util.spec_from_file_location("hopper_gemm", SPIKE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(source: str, m: int, n: int, k: int, blocks: int) -> tuple[np.ndarray, np.ndarray]:
    """(the result of the kernel, the expected result)."""
    import dataclasses

    artifact = dataclasses.replace(
        spike().artifact(b"", blocks), source=source, binary_format="simulation", adapter="sim"
    )
    adapter = simulated_adapter()
    rng = np.random.default_rng(m + n + k)
    a, b = (aligned(rng.integers(-2, 3, shape).astype(np.float16)) for shape in ((m, k), (k, n)))
    c = aligned(np.zeros((m, n), np.float16))
    Launcher(artifact, adapter.load(artifact), adapter, 1)(a, b, c)
    return c, (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16)


SOURCE = (SPIKE.with_suffix(".cu")).read_text()


@pytest.mark.parametrize(("size", "blocks"), [
    ((128, 256, 64), 1), ((64, 64, 64), 1), ((200, 320, 136), 2), ((256, 512, 320), 1), ((128, 256, 384), 3),
])  # fmt: skip
@pytest.mark.parametrize("seed", ["0", "1"])
def test_right(size, blocks, seed, monkeypatch):
    monkeypatch.setenv("TILECORE_SIMULATE_SEED", seed)
    np.testing.assert_array_equal(*run(SOURCE, *size, blocks))


DROPPED = {
    "a wait for a slot": ("      tc_transaction_wait(&full[slot], parity);\n", "", "missing_wait|uninitialised|race"),
    "a slot that is free": ("          tc_transaction_wait(&empty[slot], parity ^ 1);\n", "",
                           "missing_wait|race|invalid_operation"),
    "a parity": ("wait(&empty[slot], parity ^ 1)", "wait(&empty[slot], parity)", "deadlock"),
    "the fence before products": ("      tc_warpgroup_begin();\n", "", "missing_fence"),
    "a commit": ("      tc_warpgroup_commit();\n", "", "missing_wait"),
    "the last wait": ("    tc_warpgroup_wait<0>();\n", "", "missing_wait"),
    "one group too many": ("tc_warpgroup_wait<1>()", "tc_warpgroup_wait<2>()", "missing_wait|race"),
    "an arrival": ("        if (lane == 0) tc_transaction_arrive(&empty[previous]);\n", "", "deadlock"),
    "a swizzle": ("tc_operand(A_shared + part * 32, 16, 1024, 1)", "tc_operand(A_shared + part * 32, 16, 1024, 2)",
                  "swizzle_mismatch"),
    "the wait before a store's tile is written again": ("      if (lane == 0) tc_wait_stores_read<1>();\n", "",
                                                        "missing_wait"),
    "the commit of a store": ("        tc_commit_stores();\n", "", "missing_wait"),
    "the last wait of stores": ("  if (lane == 0) tc_wait_stores<0>();\n", "", "missing_wait"),
    "a warp barrier before the store": ("tc_fence_async();\n      tc_warp_barrier();\n", "tc_fence_async();\n",
                                        "race|uninitialised"),
    "the fence before the store": ("      tc_fence_async();\n", "", "missing_proxy_fence"),
    "the fence of barriers": ("    tc_transaction_fence_init();\n", "", "missing_proxy_fence"),
}  # fmt: skip


@pytest.mark.parametrize("bug", DROPPED)
def test_a_dropped_statement_is_reported(bug):
    old, new, kinds = DROPPED[bug]
    with pytest.raises(SimulationError) as info:
        run(planted(SOURCE, old, new), 256, 256, 384, 1)
    assert info.value.kind in kinds.split("|"), str(info.value)


def test_a_swizzle_of_the_stored_tile():
    """Stores without the swizzle into a tile of a swizzled map give other numbers, not an error."""
    source = planted(SOURCE, "((2 * q + lane / 16) ^ (row & 7)) * 16", "(2 * q + lane / 16) * 16")
    got, expected = run(source, 128, 256, 64, 1)
    assert not np.array_equal(got, expected)

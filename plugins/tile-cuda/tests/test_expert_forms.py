"""Explicit roles, barriers, TMA copies, wgmma and clusters on the simulated device, and bugs planted in them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from expert_kernels import by_roles, compiled, in_cluster, operands
from simulated_kit import needs_compiler
from test_planted_in_kernels import plant
from tile_cuda import nvcc, toolchain
from tile_cuda.simulated import simulated_adapter

import tilecore.language as T
from tilecore.errors import ToolchainError
from tilecore.runtime.launcher import Launcher
from tilecore.simulate.errors import SimulationError

pytestmark = [needs_compiler, pytest.mark.usefixtures("installed")]

ROLES = [(128, 64, 128), (200, 136, 200), (8, 8, 8), (130, 72, 328), (256, 64, 64)]
CLUSTERS = [(128, 64, 128), (100, 72, 200), (256, 64, 72)]


def run(kernel, args, source=None, seed=0):
    adapter = simulated_adapter()
    artifact = kernel.artifact if source is None else dataclasses.replace(kernel.artifact, source=source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TILECORE_SIMULATE_SEED", str(seed))
        Launcher(artifact, adapter.load(artifact), adapter, 1)(*args)


@pytest.mark.parametrize("out", ["float32", "float16"])
@pytest.mark.parametrize(("m", "n", "k"), ROLES)
def test_explicit_roles(m, n, k, out):
    func = by_roles(m, n, k, out=out)
    args, expected = operands(func)
    run(compiled(func), args)
    np.testing.assert_array_equal(args[-1].astype(np.float32), expected)


@pytest.mark.parametrize("stages", [1, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_any_order_of_threads(stages, seed):
    func = by_roles(200, 72, 328, stages=stages)
    args, expected = operands(func)
    run(compiled(func), args, seed=seed)
    np.testing.assert_array_equal(args[-1], expected)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("m", "n", "k"), CLUSTERS)
def test_a_cluster_shares_a_tile(m, n, k, seed):
    func = in_cluster(m, n, k)
    args, expected = operands(func)
    kernel = compiled(func)
    assert "tc_tensor_load_multicast" in kernel.get_kernel_source()
    run(kernel, args, seed=seed)
    np.testing.assert_array_equal(args[-1], expected)


@pytest.mark.parametrize("mask", [0, 1, 2])
def test_blocks_outside_of_the_mask_copy_for_themselves(mask):
    func = in_cluster(128, 64, 128, mask=mask)
    args, expected = operands(func)
    run(compiled(func), args)
    np.testing.assert_array_equal(args[-1], expected)


def test_conditions_on_the_thread_are_roles_too():
    """``if tx < 128`` selects the same threads as T.ws(0)."""

    @T.prim_func
    def kernel(X: T.Tensor((64, 64), "float32"), Y: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=256):
            tx = T.get_thread_binding()
            x = T.alloc_shared((64, 64), "float32")
            ready = T.alloc_barrier(1)
            if tx >= 128 and tx < 160:
                T.tma_copy(X, x, barrier=ready, annotations={"emit_arrive": 1})
            elif tx < 128:
                row = T.alloc_fragment((64,), "float32")
                T.mbarrier_wait_parity(ready, 0)
                T.reduce_sum(x, row, dim=1)
                for i, j in T.Parallel(64, 64):
                    Y[i, j] = x[i, j] + row[i]

    x = np.random.default_rng(0).integers(-9, 9, (64, 64)).astype(np.float32)
    y = np.zeros_like(x)
    run(compiled(kernel), [x, y])
    np.testing.assert_array_equal(y, x + x.sum(1, keepdims=True))


@pytest.mark.parametrize("last", [0, 2, 9])
def test_what_a_role_wrote_before_a_jump(last):
    """A step that ends early, and one that leaves the loop: the role has a barrier before it reads the rows."""

    @T.prim_func
    def kernel(X: T.Tensor((4, 256), "float32"), Last: T.Tensor((1,), "int32"), Y: T.Tensor((5, 256), "float32")):
        with T.Kernel(1, threads=256):
            tx = T.get_thread_binding()
            x, ready = T.alloc_shared((256,), "float32"), T.alloc_barrier(128)
            for k in T.serial(4):
                if tx < 128:
                    T.mbarrier_arrive(ready)
                    T.mbarrier_wait_parity(ready, k % 2)
                    T.copy(X[k, :], x)
                    if Last[0] == k:
                        break
                    if k == 1:
                        continue
                    for i in T.Parallel(256):
                        Y[k, i] = x[255 - i]
                    T.sync_threads()
            if tx < 128:
                for i in T.Parallel(256):
                    Y[4, i] = x[255 - i]

    x = np.random.default_rng(0).integers(-9, 9, (4, 256)).astype(np.float32)
    y, expected = np.zeros((5, 256), np.float32), np.zeros((5, 256), np.float32)
    for k in range(4):
        if k != 1 and k < last:
            expected[k] = x[k, ::-1]
    expected[4] = x[min(last, 3), ::-1]
    for seed in range(3):
        run(compiled(kernel), [x, np.array([last], np.int32), y], seed=seed)
        np.testing.assert_array_equal(y, expected)


def test_roles_reduce_and_wait_among_themselves():
    """Each role has its own fragments, reductions and barriers; afterwards all threads continue together."""

    @T.prim_func
    def kernel(X: T.Tensor((3, 2048), "float32"), Y: T.Tensor((3, 2048), "float32"), Z: T.Tensor((3,), "float32")):
        with T.Kernel(1, threads=512):
            sums = T.alloc_shared((3,), "float32")
            with T.ws(0):
                x, total = T.alloc_fragment((2048,), "float32"), T.alloc_fragment((1,), "float32")
                T.copy(X[0, :], x)
                T.reduce_sum(x, total, dim=0)
                sums[0] = total[0]
                for i in T.Parallel(2048):
                    Y[0, i] = x[i] - total[0]
            with T.ws(1, 2):
                turned = T.alloc_shared((2048,), "float32")
                y, most = T.alloc_fragment((2048,), "float32"), T.alloc_fragment((1,), "float32")
                for r in T.serial(2):
                    T.copy(X[r + 1, :], turned)
                    for i in T.Parallel(2048):
                        y[i] = turned[2047 - i]
                    T.reduce_max(y, most, dim=0)
                    for i in T.Parallel(2048):
                        Y[r + 1, i] = y[i] * most[0]
                    sums[r + 1] = most[0]
            for i in T.Parallel(3):
                Z[i] = sums[i]

    x = np.random.default_rng(0).integers(-9, 9, (3, 2048)).astype(np.float32)
    y, z = np.zeros_like(x), np.zeros(3, np.float32)
    compiled_kernel = compiled(kernel)
    for seed in range(3):
        run(compiled_kernel, [x, y, z], seed=seed)
        np.testing.assert_array_equal(z, [x[0].sum(), x[1].max(), x[2].max()])
        np.testing.assert_array_equal(y[0], x[0] - x[0].sum())
        np.testing.assert_array_equal(y[1:], x[1:, ::-1] * x[1:].max(1, keepdims=True))
    source = compiled_kernel.get_kernel_source()
    assert "tc_named_barrier(2, 256)" in source or "tc_named_barrier(1, 256)" in source
    assert len({b for b in source.split() if b.startswith("tc_barrier")}) == 1


# in: what is planted: (the kernel, pattern, replacement, which of the matches); the kinds that may come first
BUGS = {
    "no wait for the copies": ("roles", r"tc_transaction_wait\(full[^;]*;", "", None,
                               {"missing_wait", "uninitialised"}),
    "no wait for an empty slot": ("roles", r"tc_transaction_wait\(empty[^;]*;", "", None,
                                  {"missing_wait", "race", "invalid_operation", "deadlock"}),
    "the other parity of full": ("roles", r"(tc_transaction_wait\(full[^;]*, )([^;]*)\);", r"\1(\2) ^ 1);", None,
                                 {"missing_wait", "uninitialised"}),
    "the other parity of empty": ("roles", r"(tc_transaction_wait\(empty[^;]*)\) \^ 1\);", r"\1));", None,
                                  {"deadlock"}),
    "no bytes expected": ("roles", r"tc_transaction_expect\([^;]*;", "", 0,
                          {"deadlock", "missing_wait", "invalid_operation"}),
    "no wait for the products": ("roles", r"tc_warpgroup_wait<0>\(\);", "", None, {"missing_wait"}),
    "a wait that leaves one": ("roles", r"tc_warpgroup_wait<0>", "tc_warpgroup_wait<1>", None, {"missing_wait"}),
    "no fence before the products": ("roles", r"tc_warpgroup_begin\(\);", "", None, {"missing_fence"}),
    "barriers that the copies do not see": ("roles", r"tc_transaction_fence_init\(\);", "", None,
                                            {"missing_proxy_fence"}),
    "barriers that threads do not wait for": ("roles", r"tc_barrier\(\);", "", None,
                                              {"uninitialised_barrier", "race", "uninitialised"}),
    "nobody says that a slot is empty": ("roles", r"tc_transaction_arrive\(empty[^;]*;", "", None, {"deadlock"}),
    "no fence before the store": ("cluster", r"tc_fence_async\(\);", "", None, {"missing_proxy_fence"}),
    "no barrier before the store": ("cluster", r"tc_named_barrier\(\d, 128\);", "", -1, {"race", "uninitialised"}),
    "no wait for the store": ("cluster", r"tc_wait_stores_read<0>\(\);", "", None, {"missing_wait"}),
    "a block that ends early": ("cluster", r"tc_cluster_barrier\(\);", "", -1, {"ended_block", "missing_wait"}),
    "a block that copies to one that is not ready": ("cluster", r"tc_cluster_barrier\(\);", "tc_barrier();", 0,
                                                     {"uninitialised_barrier", "race", "missing_proxy_fence"}),
    "a slot that only one block says is empty": ("cluster", r"tc_transaction_arrive_remote\(([^,]*), [^)]*\);",
                                                 r"tc_transaction_arrive_remote(\1, 0);", None,
                                                 {"deadlock", "invalid_operation", "race", "missing_wait"}),
}  # fmt: skip


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_named(bug):
    which, pattern, replacement, number, kinds = BUGS[bug]
    func = by_roles(128, 64, 328) if which == "roles" else in_cluster(128, 64, 328)
    kernel = compiled(func)
    source = plant(kernel.get_kernel_source(), pattern, replacement, number)
    for seed in (0, 1):
        args, _ = operands(func)
        with pytest.raises(SimulationError) as caught:
            run(kernel, args, source, seed)
        assert caught.value.kind in kinds, str(caught.value)


def test_the_kernels_compile():
    try:
        tool = nvcc.load()
    except ToolchainError as error:
        pytest.skip(error.message)
    for func in (by_roles(200, 136, 200), in_cluster(100, 72, 200), by_roles(200, 136, 200, out="float16")):
        source = compiled(func).get_kernel_source()
        binary, messages = tool.compile(
            source, toolchain.INCLUDE, ["-arch=sm_90a", "-std=c++17", "-Xptxas=-v"], "kernel.cu"
        )
        assert binary is not None, messages[:3000]
        assert "Performance Loss" not in messages, messages[
            :3000
        ]  # products one by one, registers that are not handed over

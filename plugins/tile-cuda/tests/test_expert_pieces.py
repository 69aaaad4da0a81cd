"""Each explicit form in a small kernel, on the simulated device, compared with numpy."""

from __future__ import annotations

import numpy as np
import pytest
from expert_kernels import TARGET
from simulated_kit import needs_compiler

import tilecore
import tilecore.language as T

pytestmark = [needs_compiler, pytest.mark.usefixtures("installed")]


def numbers(shape, dtype="float16", seed=0):
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(dtype)


def check(func, *args, expected, target=TARGET):
    out = np.zeros_like(expected)
    kernel = tilecore.compile(func, target=target, execution_backend="sim")
    for seed in range(2):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TILECORE_SIMULATE_SEED", str(seed))
            kernel(*args, out)
        np.testing.assert_array_equal(out, expected)
    return kernel.get_kernel_source()


@pytest.mark.parametrize("arch", ["sm_90a", "sm_90", "sm_100"])
def test_threads_copy_tiles_for_others_and_arrive(arch):
    """Threads copy tiles, which wgmma sees after a fence before the arrival. Without wgmma mma.sync multiplies."""

    @T.prim_func
    def kernel(A: T.Tensor((64, 256), "float16"), B: T.Tensor((256, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=256):
            a, b = T.alloc_shared((2, 64, 64), "float16"), T.alloc_shared((2, 64, 64), "float16")
            bars = T.alloc_barrier([128, 128] * 2)
            c = T.alloc_fragment((64, 64), "float32")
            with T.ws(0):
                T.clear(c)
            for k in range(4):
                with T.ws(1):
                    T.mbarrier_wait_parity(bars[k % 2 + 2], k // 2 % 2 ^ 1)
                    T.copy(A[:, k * 64 : (k + 1) * 64], a[k % 2, :, :])
                    T.copy(B[k * 64 : (k + 1) * 64, :], b[k % 2, :, :])
                    T.mbarrier_arrive(bars[k % 2])
                with T.ws(0):
                    T.mbarrier_wait_parity(bars[k % 2], k // 2 % 2)
                    T.gemm(a[k % 2, :, :], b[k % 2, :, :], c)
                    T.mbarrier_arrive(bars[k % 2 + 2])
            with T.ws(0):
                T.copy(c, C)

    a, b = numbers((64, 256)), numbers((256, 64), seed=1)
    expected = a.astype(np.float32) @ b.astype(np.float32)
    source = check(kernel, a, b, expected=expected, target=f"cuda -arch={arch}")
    assert ("tc_fence_async();" in source) == (arch == "sm_90a")
    assert "tc_transaction_init" in source


def test_wgmma_groups_in_flight():
    """The wait leaves the newest group running; A in registers; the last wait is for all."""

    @T.prim_func
    def kernel(
        A: T.Tensor((64, 256), "float16"), B: T.Tensor((256, 64), "float16"), C: T.Tensor((2, 64, 64), "float32")
    ):
        with T.Kernel(1, threads=128):
            a, b = T.alloc_shared((4, 64, 64), "float16"), T.alloc_shared((4, 64, 64), "float16")
            a_fragment = T.alloc_fragment((64, 64), "float16")
            c, d = T.alloc_fragment((64, 64), "float32"), T.alloc_fragment((64, 64), "float32")
            ready = T.alloc_barrier(1)
            for k in range(4):
                T.tma_copy(A[0, k * 64], a[k, :, :], barrier=ready)
                T.tma_copy(B[k * 64, 0], b[k, :, :], barrier=ready)
            if T.shuffle_elect():
                T.barrier_arrive(ready)
            T.barrier_wait(ready, 0)
            for k in range(4):
                T.wgmma_gemm(a[k, :, :], b[k, :, :], c, clear_accum=k == 0)
                T.wait_wgmma(1)
            T.copy(a[0, :, :], a_fragment)
            T.warpgroup_fence_operand(a_fragment)
            T.warpgroup_arrive()
            T.wgmma_gemm(a_fragment, b[0, :, :], d, clear_accum=True)
            T.warpgroup_wait(1)
            T.copy(c, C[0, :, :])
            T.wait_wgmma(0)
            T.copy(d, C[1, :, :])

    a, b = numbers((64, 256)), numbers((256, 64), seed=1)
    wide_a, wide_b = a.astype(np.float32), b.astype(np.float32)
    source = check(kernel, a, b, expected=np.stack([wide_a @ wide_b, wide_a[:, :64] @ wide_b[:64]]))
    assert source.count("tc_warpgroup_wait") == 3


def test_what_all_threads_wrote_is_there_before_the_roles_begin():
    """A role waits for another one, which first reads what all threads wrote."""

    @T.prim_func
    def kernel(X: T.Tensor((4, 256), "float32"), Y: T.Tensor((4, 256), "float32")):
        with T.Kernel(1, threads=256):
            turned, x = T.alloc_shared((256,), "int32"), T.alloc_shared((256,), "float32")
            full, empty = T.alloc_barrier(1), T.alloc_barrier(128)
            for i in T.Parallel(256):
                turned[i] = 255 - i
            with T.ws(0):
                for k in range(4):
                    T.barrier_wait(empty, k % 2 ^ 1)
                    T.tma_copy(X[k, 0:256], x, barrier=full, annotations={"emit_arrive": 1})
            with T.ws(1):
                for k in range(4):
                    T.barrier_wait(full, k % 2)
                    for i in T.Parallel(256):
                        Y[k, i] = x[turned[i]]
                    T.barrier_arrive(empty)

    x = numbers((4, 256), "float32")
    check(kernel, x, expected=np.ascontiguousarray(x[:, ::-1]))


@pytest.mark.parametrize("rows", [8, 64])
def test_stores_and_parts_of_tiles(rows):
    """Loads of parts of a tile, a store of another part; sizes that are no multiples."""

    @T.prim_func
    def kernel(X: T.Tensor((100, 200), "float32"), Y: T.Tensor((100, 200), "float32")):
        with T.Kernel(T.ceildiv(200, 64), T.ceildiv(100, rows * 2), threads=128) as (bx, by):
            x = T.alloc_shared((rows * 2, 64), "float32")
            y = T.alloc_shared((rows * 2, 64), "float32")
            ready = T.alloc_barrier(2)
            for half in range(2):
                T.tma_copy(
                    X[by * rows * 2 + half * rows, bx * 64], x[half * rows : half * rows + rows, :], barrier=ready,
                    annotations={"emit_arrive": 1},
                )  # fmt: skip
            T.mbarrier_wait_parity(ready, 0)
            for i, j in T.Parallel(rows * 2, 64):
                y[i, j] = x[i, j] * 2.0
            T.tma_copy(y, Y[by * rows * 2, bx * 64])
            T.tma_store_wait(0)

    x = numbers((100, 200), "float32")
    source = check(kernel, x, expected=x * 2)
    assert "tc_tensor_store" in source
    assert "tc_fence_async" in source


def test_rows_of_one_axis():
    @T.prim_func
    def kernel(X: T.Tensor((1000,), "int32"), Y: T.Tensor((1000,), "int32")):
        with T.Kernel(4, threads=64) as b:
            x = T.alloc_shared((256,), "int32")
            ready = T.alloc_barrier(1)
            T.tma_copy(X[b * 256], x, barrier=ready, annotations={"emit_arrive": 1}, eviction_policy="evict_first")
            T.mbarrier_wait_parity(ready, 0)
            for i in T.Parallel(256):
                x[i] = x[i] + b
            T.tma_copy(x, Y[b * 256])
            T.tma_store_wait(read=False)

    x = numbers((1000,), "int32")
    source = check(kernel, x, expected=x + np.arange(1000, dtype=np.int32) // 256)
    assert "tc_tensor_load_hinted(x, &X_map, ready, tc_evict_first(), " in source


def test_bytes_by_hand_and_leaders():
    """An explicit expect_tx adds to that of the copy; one warp of four starts each copy."""

    @T.prim_func
    def kernel(X: T.Tensor((64, 64), "float32"), Y: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            x = T.alloc_shared((64, 64), "float32")
            ready = T.alloc_barrier(129)
            if tx == 32:
                T.mbarrier_arrive_expect_tx(ready, 0)
                T.mbarrier_expect_tx(ready, 0)
                T.tma_copy(X, x, barrier=ready)
            T.mbarrier_arrive(ready)
            T.mbarrier_wait_parity(ready, 0)
            for i, j in T.Parallel(64, 64):
                Y[i, j] = x[i, j] + 1.0

    x = numbers((64, 64), "float32")
    source = check(kernel, x, expected=x + 1)
    assert "if (tx == 32)" in source


@pytest.mark.parametrize("threads", [256, (32, 8), (64, 2, 2)])
def test_ways_to_name_threads(threads):
    """Warps and warpgroups by their indices, in blocks of several axes, nested."""

    @T.prim_func
    def kernel(X: T.Tensor((64, 64), "float32"), Y: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=threads):
            x = T.alloc_shared((64, 64), "float32")
            ready = T.alloc_barrier(32)
            if T.get_warp_group_idx() == 1:
                if T.get_warp_idx() == 6:
                    T.tma_copy(X, x, barrier=ready)
                    T.mbarrier_arrive(ready)
            elif T.get_warp_idx() < 2:
                T.mbarrier_wait_parity(ready, 0)
                for i, j in T.Parallel(64, 64):
                    Y[i, j] = x[j, i]
            else:
                if T.get_lane_idx() == 0 and T.get_warp_idx() == 3:
                    T.evaluate(0)

    x = numbers((64, 64), "float32")
    check(kernel, x, expected=np.ascontiguousarray(x.T))


def test_a_barrier_for_asynchronous_copies_of_threads():
    @T.prim_func
    def kernel(X: T.Tensor((512,), "float32"), Y: T.Tensor((512,), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((512,), "float32")
            landed = T.alloc_barrier(128)
            for i in T.Parallel(512):
                x[i] = X[i]
            T.cp_async_barrier_noinc(landed)
            T.mbarrier_wait_parity(landed, 0)
            for i in T.Parallel(512):
                Y[i] = x[511 - i]

    x = numbers((512,), "float32")
    source = check(kernel, x, expected=np.ascontiguousarray(x[::-1]))
    assert "tc_transaction_arrive_on_copies" in source


@pytest.mark.parametrize("target", ["cuda -arch=sm_80", TARGET])
def test_roles_without_barriers(target):
    """T.ws without the other forms works on every architecture: named barriers order each role."""

    @T.prim_func
    def kernel(X: T.Tensor((256, 128), "float32"), Y: T.Tensor((256,), "float32")):
        with T.Kernel(2, threads=256) as b:
            with T.ws(0):
                x, s = T.alloc_shared((64, 128), "float32"), T.alloc_fragment((64,), "float32")
                T.copy(X[b * 128, 0], x)
                T.reduce_sum(x, s, dim=1)
                T.copy(s, Y[b * 128])
            with T.ws(1):
                z, t = T.alloc_shared((64, 128), "float32"), T.alloc_fragment((64,), "float32")
                T.copy(X[b * 128 + 64, 0], z)
                T.reduce_max(z, t, dim=1)
                T.copy(t, Y[b * 128 + 64])

    x = numbers((256, 128), "float32")
    parts = x.reshape(2, 2, 64, 128)
    expected = np.stack([parts[:, 0].sum(2), parts[:, 1].max(2)], axis=1).reshape(256)
    source = check(kernel, x, expected=expected.astype(np.float32), target=target)
    assert "tc_named_barrier(1, 128)" in source
    assert "tc_named_barrier(2, 128)" in source


@pytest.mark.parametrize("form", ["one after the other", "in a loop", "nested", "with another between"])
@pytest.mark.parametrize("target", ["cuda -arch=sm_80", TARGET])
def test_a_role_that_occurs_twice(target, form):
    """Each time that a warpgroup is named, its threads are numbered anew."""

    @T.macro
    def reverse_and_add(source, to):
        for i in T.Parallel(128):
            to[i] = source[127 - i] + 1

    @T.prim_func
    def kernel(X: T.Tensor((128,), "int32"), Y: T.Tensor((128,), "int32")):
        with T.Kernel(1, threads=256):
            s = T.alloc_shared((128,), "int32")
            for _ in T.serial(3) if form == "in a loop" else range(1):
                with T.ws(1):
                    reverse_and_add(X, s)
                    if form == "nested":
                        with T.ws(1):
                            reverse_and_add(s, Y)
                if form == "with another between":
                    T.sync_threads()
                    with T.ws(0):
                        reverse_and_add(s, Y)
                    T.sync_threads()
                if form != "nested":
                    with T.ws(1):
                        reverse_and_add(s, Y)

    x = numbers((128,), "int32")
    check(kernel, x, expected=x + 2, target=target)


@pytest.mark.parametrize("kind", ["bfloat16", "float8_e4m3fn", "int8"])
def test_other_types(kind):
    import ml_dtypes

    out = "int32" if kind == "int8" else "float32"

    @T.prim_func
    def kernel(A: T.Tensor((128, 128), kind), B: T.Tensor((64, 128), kind), C: T.Tensor((128, 64), out)):
        with T.Kernel(1, threads=256):
            a, b = T.alloc_shared((128, 128), kind), T.alloc_shared((64, 128), kind)
            c = T.alloc_fragment((128, 64), out)
            ready = T.alloc_barrier(1)
            T.tma_copy(A, a, barrier=ready)
            T.tma_copy(B, b, barrier=ready, annotations={"emit_arrive": 1})
            T.mbarrier_wait_parity(ready, 0)
            T.wgmma_gemm(a, b, c, transpose_B=True, clear_accum=True)
            T.wait_wgmma(0)
            T.copy(c, C)

    dtype = np.int8 if kind == "int8" else getattr(ml_dtypes, kind)
    a, b = numbers((128, 128), np.int32).astype(dtype), numbers((64, 128), np.int32, 1).astype(dtype)
    check(kernel, a, b, expected=(a.astype(np.float32) @ b.astype(np.float32).T).astype(out))


def test_the_cluster_meets_in_two_parts():
    @T.prim_func
    def kernel(Y: T.Tensor((8,), "int32")):
        with T.Kernel(8, threads=32, cluster_dims=4) as b:
            tx = T.get_thread_binding()
            seen = T.alloc_cluster_barrier(4)
            rank = T.block_rank_in_cluster()
            if tx < 4:
                T.mbarrier_arrive(seen, tx)
            T.cluster_arrive()
            T.mbarrier_wait_parity(seen, 0)
            T.cluster_wait()
            if tx == 0:
                Y[b] = rank * 10 + b

    check(kernel, expected=np.arange(8, dtype=np.int32) % 4 * 10 + np.arange(8, dtype=np.int32))


def test_the_page_is_right(tmp_path):
    """The kernel of docs/hopper.md."""
    import re
    from pathlib import Path

    page = Path(__file__).parents[3] / "docs" / "hopper.md"
    if not page.is_file():
        pytest.skip("the documents are not beside the package")
    (code,) = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    script = tmp_path / "page.py"
    script.write_text(code)
    scope: dict = {}
    exec(compile(code, str(script), "exec"), scope)
    a, b = numbers((200, 200)), numbers((200, 136), seed=1)
    c = np.zeros((200, 136), np.float32)
    scope["kernel"](a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


def test_the_page_has_every_name():
    from pathlib import Path

    from tile_cuda.language import NAMES

    page = Path(__file__).parents[3] / "docs" / "hopper.md"
    if not page.is_file():
        pytest.skip("the documents are not beside the package")
    text = page.read_text()
    assert not [name for name in NAMES if f"T.{name}" not in text]
    assert all(callable(getattr(T, name)) for name in NAMES)

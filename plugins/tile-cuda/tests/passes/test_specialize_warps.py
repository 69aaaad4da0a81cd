"""specialize_warps: a producer warp loads the tiles of a pipelined loop by tensor maps, the other warps use them."""

from __future__ import annotations

import pytest

import tilecore.language as T
from tilecore.testing.kernel_text import lines, text
from tilecore.transform import PassConfigKey

from .kernels import pipelined, product
from .one_pass import AMPERE, around_pass, notes

PASS = "specialize_warps"
ONE_BLOCK_EACH = {PassConfigKey.TL_DISABLE_PERSISTENT_BLOCKS.value: True}


def declined(kernel, config=None, target="cuda -arch=sm_90a"):
    """Why the kernel has no warp roles; it is as before then."""
    before, after, env = around_pass(kernel, PASS, target, config={**ONE_BLOCK_EACH, **(config or {})})
    assert "cuda.role" not in text(after)
    assert text(before).count("T.tile.copy") == text(after).count("T.tile.copy")
    return [row["declined"] for row in notes(env, "warp_roles") if "tile" not in row]


def test_the_roles_of_a_product():
    """The producer waits until a slot is empty, the consumers until it is full, and release it after the product."""
    _, after, env = around_pass(pipelined(), PASS, config=ONE_BLOCK_EACH)
    assert text(after) == lines(
        """
        a = T.alloc_buffer((2, 64, 64), "float16", scope="shared.dyn", layout=None)
        b = T.alloc_buffer((2, 64, 64), "float16", scope="shared.dyn", layout=None)
        a_b_full = T.alloc_shared((2,), "uint64", layout=None)
        a_b_empty = T.alloc_shared((2,), "uint64", layout=None)
        with T.attr(0, "cuda.roles", 32):
            with T.attr(0, "cuda.role", "init"):
                T.cuda.mbarrier("init", a_b_full[0], 1)
                T.cuda.mbarrier("init", a_b_empty[0], 4)
                T.cuda.mbarrier("init", a_b_full[1], 1)
                T.cuda.mbarrier("init", a_b_empty[1], 4)
            with T.attr(0, "cuda.role", "producer"):
                for k in T.serial(4, annotations={"tile.loop": "pipelined"}):
                    T.cuda.mbarrier("wait", a_b_empty[k % 2], (k // 2 + 1) % 2)
                    T.cuda.mbarrier("arrive_expect", a_b_full[k % 2], 16384)
                    T.Call("tile.copy", [A[by * 64:by * 64 + 64, k * 64:k * 64 + 64], a[k % 2, 0:64, 0:64]], \
attrs={"bulk": 1}, ret_ty="void")
                    T.Call("tile.copy", [B[k * 64:k * 64 + 64, bx * 64:bx * 64 + 64], b[k % 2, 0:64, 0:64]], \
attrs={"bulk": 1}, ret_ty="void")
            with T.attr(0, "cuda.role", "consumer"):
                c = T.alloc_buffer((64, 64), scope="local.fragment", layout=None)
                for k in T.serial(4, annotations={"num_stages": 2, "tile.loop": "pipelined"}):
                    T.cuda.mbarrier("wait", a_b_full[k % 2], k % 4 // 2)
                    T.tile.gemm(a[k % 2, 0:64, 0:64], b[k % 2, 0:64, 0:64], c[0:64, 0:64], 0, 0, k == 0, 0)
                    T.Call("cuda.release", [a_b_empty[k % 2], 0, a[k % 2, 0, 0], b[k % 2, 0, 0]], \
attrs={"blocks": 1}, ret_ty="void")
                T.tile.copy(c[0:64, 0:64], C[by * 64:by * 64 + 64, bx * 64:bx * 64 + 64])
        """
    )
    assert notes(env, "pipelines") == [{"tiles": "a, b", "stages": 2, "filled": "by a producer warp"}]


@pytest.mark.parametrize(("stages", "threads"), [(3, 128), (4, 256)])
def test_slots_and_arrivals_follow_stages_and_warps(stages, threads):
    _, after, _ = around_pass(pipelined(stages, threads, (128, 64)), PASS, config=ONE_BLOCK_EACH)
    code = text(after)
    assert f'a = T.alloc_buffer(({stages}, 128, 64), "float16"' in code
    assert code.count(f'"init", a_b_empty[0], {threads // 32})') == 1
    assert f'T.cuda.mbarrier("wait", a_b_empty[k % {stages}], (k // {stages} + 1) % 2)' in code


def test_persistent_blocks_process_the_grid():
    _, after, env = around_pass(pipelined(), PASS, "cuda -arch=sm_90a -multiprocessors=1")
    assert "T.launch_thread(" in after.script()
    (row,) = notes(env, "blocks")
    assert row["order"].endswith("persistent blocks, which process the grid's blocks in turn")
    assert text(after).count("for wave in T.serial(") == 2, "the loop of the producer, and of the consumers"


@T.prim_func
def without_stages(
    A: T.Tensor((256, 64), "float16"), B: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")
):
    with T.Kernel(1, threads=128):
        a = T.alloc_shared((64, 64), "float16")
        b = T.alloc_shared((64, 64), "float16")
        c = T.alloc_fragment((64, 64), "float32")
        T.copy(B, b)
        T.clear(c)
        for k in T.serial(4):
            T.copy(A[k * 64, 0], a)
            T.gemm(a, b, c)
        T.copy(c, C)


@T.prim_func
def sums(A: T.Tensor((256, 64), "float32"), B: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=128):
        a = T.alloc_shared((64, 64), "float32")
        total = T.alloc_fragment((64,), "float32")
        for k in T.Pipelined(4, num_stages=2):
            T.copy(A[k * 64, 0], a)
            T.reduce_sum(a, total, dim=1, clear=False)
        T.copy(total, B)


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (without_stages, "no T.Pipelined loop loads tiles that a tensor map can load"),
        (sums, "it has no T.gemm"),
        (pipelined(threads=1024), "1024 threads and a producer warp are more than 1024 threads"),
        (pipelined(threads=80), "80 threads are not a multiple of 32"),
        (pipelined(cluster=(2, 1, 1)), "it asks for clusters"),
    ],
)
def test_other_kernels_stay_as_they_are(kernel, reason):
    assert declined(kernel) == [reason]


@pytest.mark.parametrize("key", ["TL_DISABLE_WARP_SPECIALIZED", "TL_DISABLE_TMA_LOWER"])
def test_switches_turn_it_off(key):
    assert declined(pipelined(), {PassConfigKey[key].value: True}) == [f"{key} is set"]


def test_architectures_without_wgmma_have_no_roles():
    before, after, env = around_pass(pipelined(), PASS, AMPERE)
    assert text(before) == text(after)
    assert notes(env, "warp_roles") == []


def test_tiles_that_threads_write_stay_with_the_threads():
    kernel = product()
    assert declined(kernel) == ["no T.Pipelined loop loads tiles that a tensor map can load"]

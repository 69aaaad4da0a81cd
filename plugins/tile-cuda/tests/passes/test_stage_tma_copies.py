"""stage_tma_copies: T.Pipelined(num_stages=S) around T.tma_copy uses S slots of the kernel's tiles and mbarriers."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_kit import needs_compiler
from test_expert_pieces import check, numbers

import tilecore.language as T

from .one_pass import around_pass, changes, notes

PASS = "stage_tma_copies"
pytestmark = [needs_compiler, pytest.mark.usefixtures("installed")]


def staged(stages, threads, rounds=1, parity=lambda k: k % 2):
    """A product whose loop copies by T.tma_copy. rounds: how often the loop runs."""

    @T.prim_func
    def kernel(
        A: T.Tensor((128, 160), "float16"), B: T.Tensor((160, 64), "float16"), C: T.Tensor((128, 64), "float32")
    ):
        with T.Kernel(1, threads=threads):
            a, b = T.alloc_shared((128, 32), "float16"), T.alloc_shared((32, 64), "float16")
            c = T.alloc_fragment((128, 64), "float32")
            full_a, full_b = T.alloc_barrier(threads), T.alloc_barrier(threads)
            T.clear(c)
            for r in T.serial(rounds):
                for k in T.Pipelined(5, num_stages=stages):
                    T.tma_copy(A[0, k * 32], a, barrier=full_a)
                    T.barrier_arrive(full_a)
                    T.tma_copy(B[k * 32, 0], b, barrier=full_b)
                    T.barrier_arrive(full_b)
                    T.barrier_wait(full_a, parity(r * 5 + k))
                    T.mbarrier_wait_parity(full_b, parity(r * 5 + k))
                    T.gemm(a, b, c)
            T.copy(c, C)

    return kernel


@T.prim_func
def once(A: T.Tensor((128, 160), "float16"), B: T.Tensor((160, 64), "float16"), C: T.Tensor((128, 64), "float32")):
    with T.Kernel(1, threads=256):
        a, b = T.alloc_shared((128, 32), "float16"), T.alloc_shared((32, 64), "float16")
        c = T.alloc_fragment((128, 64), "float32")
        full = T.alloc_barrier(256)
        T.clear(c)
        for k in T.Pipelined(5, num_stages=3):
            T.tma_copy(A[0, k * 32], a, barrier=full)
            T.tma_copy(B[k * 32, 0], b, barrier=full)
            T.barrier_arrive(full)
            T.barrier_wait(full, k % 2)
            T.gemm(a, b, c)
        T.copy(c, C)


def by_element(choice):
    """Copies whose iteration k uses the mbarrier, and waits for the parity, that ``choice`` says."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 64), "float32"), B: T.Tensor((4, 64), "float32")):
        with T.Kernel(1, threads=128):
            a, full = T.alloc_shared((64,), "float32"), T.alloc_barrier([128] * 4)
            for k in T.Pipelined(4, num_stages=2):
                T.tma_copy(A[k, :], a, barrier=full[choice(k)[0]])
                T.barrier_arrive(full[choice(k)[0]])
                T.barrier_wait(full[choice(k)[0]], choice(k)[1])
                T.copy(a, B[k, :])

    return kernel


def product(rounds=1):
    a, b = numbers((128, 160)), numbers((160, 64), seed=1)
    return a, b, rounds * (a.astype(np.float32) @ b.astype(np.float32))


def test_tma_copies_in_a_pipelined_loop_run_ahead():
    a, b, expected = product()
    source = check(once, a, b, expected=expected)
    assert "% 3" in source  # three slots
    assert source.count("tc_tensor_load") == 4  # ahead of the loop, and in it


@pytest.mark.parametrize(("stages", "threads"), [(2, 128), (3, 256)])
def test_a_loop_in_a_loop_runs_its_iterations_one_after_the_other(stages, threads):
    """The phases of the mbarriers go on in the next round, so that slots would have other parities."""
    a, b, expected = product(rounds=2)
    source = check(staged(stages, threads, rounds=2), a, b, expected=expected)
    assert source.count("tc_tensor_load") == 2


def test_roles_in_a_pipelined_loop_use_a_slot_in_each_iteration():
    """One warpgroup copies, another multiplies; both write one tile and one mbarrier of each kind."""

    @T.prim_func
    def kernel(
        A: T.Tensor((128, 160), "float16"), B: T.Tensor((160, 64), "float16"), C: T.Tensor((128, 64), "float32")
    ):
        with T.Kernel(1, threads=256):
            a, b = T.alloc_shared((128, 32), "float16"), T.alloc_shared((32, 64), "float16")
            c = T.alloc_fragment((128, 64), "float32")
            ready, done = T.alloc_barrier(128), T.alloc_barrier(128)
            with T.ws(0):
                T.clear(c)
            for k in T.Pipelined(5, num_stages=2):
                with T.ws(1):
                    T.barrier_wait(done, (k + 1) % 2)
                    T.tma_copy(A[0, k * 32], a, barrier=ready)
                    T.tma_copy(B[k * 32, 0], b, barrier=ready)
                    T.barrier_arrive(ready)
                with T.ws(0):
                    T.barrier_wait(ready, k % 2)
                    T.gemm(a, b, c)
                    T.barrier_arrive(done)
            with T.ws(0):
                T.copy(c, C)

    a, b, expected = product()
    source = check(kernel, a, b, expected=expected)
    assert "k % 2" in source
    assert "k / 2" in source
    assert "tc_barrier();" not in source.split("for (int k")[1].split("tc_move")[0]


def test_three_slots_of_tiles_and_mbarriers():
    before, after, env = around_pass(once, PASS)
    changed = changes(before, after).splitlines()
    added = [line[2:] for line in changed if line[0] == "+"]
    assert '"cuda.barrier", full[0], 256, 256, 256' in "".join(added)  # each slot's mbarrier has its count
    assert added[0].startswith("a = T.alloc_buffer((3, 128, 32)")
    assert "for k in range(2):" in added  # two iterations ahead of the loop
    assert "if k + 2 < 5:" in added
    (wait,) = (line for line in added if '"wait", full' in line)
    assert "full[k % 3], k // 3 % 2]" in wait
    assert notes(env) == []


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (staged(2, 128, rounds=2), "it stands in another loop"),
        (by_element(lambda k: (k, 0)), "its mbarriers depend on the iteration"),
        (by_element(lambda k: (0, k // 2 % 2)), "it waits for another parity than that of the iteration"),
    ],
)
def test_other_loops_get_a_barrier_and_say_why(kernel, reason):
    before, after, env = around_pass(kernel, PASS)
    added = [line[2:] for line in changes(before, after).splitlines() if line[0] == "+"]
    assert added[1:] == ['T.cuda.warpgroup("wait", 0)', "T.tile.sync_threads()"]
    assert "num_stages" not in added[0]
    (note,) = notes(env)
    assert note["text"].endswith(reason)

"""Clusters and setmaxnreg on the simulated device: correct programs, and planted bugs."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_kit import aligned, caught, map_of, needs_compiler, planted, run

from tilecore.errors import LaunchError

pytestmark = needs_compiler

# Pairs of blocks copy the rows of A that both need: each loads every other 16 rows for both. One slot.
SHARED_LOADS = """
extern "C" __global__ void __cluster_dims__(2, 1, 1) pairs(const float* A, float* B, int steps,
                                                           const __grid_constant__ tc_tensor_map map) {
  TC_SHARED(shared);
  void *full = shared + 4096, *empty = shared + 4104;
  const int tx = threadIdx.x;
  const unsigned rank = tc_cluster_rank();
  if (tx == 0) {
    tc_transaction_init(full, 1);
    tc_transaction_init(empty, 2);
    tc_transaction_fence_init();
  }
  tc_cluster_barrier();  // first
  float total = 0;
  for (int step = 0; step < steps; ++step) {
    if (tx == 0) {
      tc_transaction_wait(empty, step % 2 ^ 1);
      tc_transaction_arrive_expect(full, 4096);
      tc_tensor_load_multicast(shared + rank * 2048, &map, full, 3, 0, step * 32 + rank * 16);
    }
    tc_transaction_wait(full, step % 2);
    for (int row = 0; row < 32; ++row) total += ((float*)shared)[row * 32 + tx];
    tc_warp_barrier();
    if (tx < 2) tc_transaction_arrive_remote(empty, tx);
  }
  B[blockIdx.x * 32 + tx] = total;
  tc_cluster_barrier();  // last
}
"""


def pairs(source: str, call=run, blocks: int = 4, **options):
    a = aligned(np.random.default_rng(0).integers(-5, 6, (96, 32)).astype(np.float32))
    b = np.zeros((blocks, 32), np.float32)
    facts = {"maps": [map_of(0, a, (32, 16))], "shared": 4112, "grid": (blocks,), "cluster": (2, 1, 1), **options}
    result = call(source, "pairs", 32, ("A", a, "r"), ("B", b, "w"), 3, **facts)
    return (a, b) if call is run else result


@pytest.mark.parametrize("seed", range(4))
def test_multicast_loads(seed):
    a, b = pairs(SHARED_LOADS, seed=seed)
    np.testing.assert_array_equal(b, np.tile(a.sum(0), (4, 1)))


def test_a_block_leaves_while_others_write_to_it():
    error = pairs(planted(SHARED_LOADS, "  tc_cluster_barrier();  // last\n"), caught, kinds=("ended_block",))
    assert "has ended" in str(error) or "ends before" in str(error)


def test_no_cluster_barrier_at_the_start():
    source = planted(SHARED_LOADS, "  tc_cluster_barrier();  // first\n", "  tc_barrier();\n")
    pairs(source, caught, kinds=("uninitialised_barrier", "race"))


def test_a_slot_of_another_block_that_is_not_free():
    source = planted(SHARED_LOADS, "tc_transaction_init(empty, 2)", "tc_transaction_init(empty, 1)")
    source = planted(
        source, "if (tx < 2) tc_transaction_arrive_remote(empty, tx)", "if (tx == 0) tc_transaction_arrive(empty)"
    )
    pairs(source, caught, kinds=("race", "missing_wait", "invalid_operation"))


def test_a_multicast_that_leaves_a_block_out():
    assert pairs(planted(SHARED_LOADS, "full, 3, 0", "full, 1, 0"), caught).kind == "deadlock"


def test_a_rank_beyond_the_cluster():
    error = pairs(planted(SHARED_LOADS, "full, 3, 0", "full, 7, 0"), caught)
    assert error.kind == "invalid_operation"
    assert "rank 2" in str(error)


def test_a_block_alone_is_a_cluster():
    error = pairs(SHARED_LOADS, caught, cluster=(1, 1, 1))
    assert error.kind == "invalid_operation"
    assert "rank 1 of a cluster of 1" in str(error)
    alone = SHARED_LOADS.replace("full, 3, 0", "full, 1, 0").replace("if (tx < 2)", "if (tx < 1)")
    alone = alone.replace("init(empty, 2)", "init(empty, 1)").replace("expect(full, 4096)", "expect(full, 2048)")
    a, b = pairs(alone.replace("row < 32", "row < 16"), cluster=(1, 1, 1), blocks=3)
    np.testing.assert_array_equal(b, np.tile(a.reshape(3, 32, 32)[:, :16].sum((0, 1)), (3, 1)))


def test_a_grid_that_is_no_multiple():
    with pytest.raises(LaunchError, match="no multiple of its clusters"):
        pairs(SHARED_LOADS, blocks=3)


REMOTE = """
extern "C" __global__ void __cluster_dims__(2, 2, 1) remote(int* B) {
  TC_SHARED(shared);
  int* mine = (int*)shared;
  const int tx = threadIdx.x, block = blockIdx.y * gridDim.x + blockIdx.x;
  mine[tx] = 1000 * block + tx;
  tc_cluster_arrive();
  tc_cluster_wait();  // first
  const int* theirs = tc_remote_shared(mine, tc_cluster_rank() ^ 3);
  const int value = theirs[tx];
  tc_cluster_barrier();  // middle
  mine[tx] = 0;
  tc_remote_shared(mine, tc_cluster_rank() ^ 1)[64 + tx] = value;
  tc_cluster_barrier();  // last
  B[block * 64 + tx] = mine[64 + tx];
}
"""


def remote(source: str, call=run, **options):
    b = np.zeros((16, 64), np.int32)
    result = call(source, "remote", 64, ("B", b, "w"), grid=(4, 4), cluster=(2, 2, 1), shared=512, **options)
    return b if call is run else result


@pytest.mark.parametrize("seed", range(3))
def test_remote_shared_memory(seed):
    got = remote(REMOTE, seed=seed)
    blocks = np.arange(16).reshape(4, 4)
    diagonal = np.block([[np.fliplr(np.flipud(blocks[y : y + 2, x : x + 2])) for x in (0, 2)] for y in (0, 2)])
    expected = diagonal[:, [1, 0, 3, 2]].ravel()  # by the neighbour along x, from its diagonal
    np.testing.assert_array_equal(got, expected[:, None] * 1000 + np.arange(64))


@pytest.mark.parametrize(("line", "kinds"), [
    ("  tc_cluster_arrive();\n  tc_cluster_wait();  // first\n", ("race", "uninitialised")),
    ("  tc_cluster_barrier();  // middle\n", ("race", "uninitialised")),
    ("  tc_cluster_barrier();  // last\n", ("race", "uninitialised", "ended_block")),
])  # fmt: skip
def test_a_missing_cluster_barrier(line, kinds):
    remote(planted(REMOTE, line, ""), caught, kinds=kinds)


def test_half_of_a_cluster_barrier():
    remote(planted(REMOTE, "  tc_cluster_wait();  // first\n"), caught, kinds=("race", "uninitialised"))
    assert remote(planted(REMOTE, "  tc_cluster_arrive();\n"), caught).kind == "invalid_operation"
    some = planted(REMOTE, "  tc_cluster_barrier();  // middle\n", "  if (block != 5) tc_cluster_barrier();\n")
    remote(some, caught, kinds=("race", "deadlock"))


def test_beyond_the_shared_memory_of_another_block():
    error = remote(planted(REMOTE, "[64 + tx] = value", "[64 + tx + 64] = value"), caught)
    assert error.kind == "out_of_bounds"


# -- registers --------------------------------------------------------------------------------------------------------

REGISTERS = """
extern "C" __global__ void registers(int* B) {
  const int tx = threadIdx.x;
  if (tx < 128) {
    tc_registers_release<40>();
  } else {
    tc_registers_acquire<232>();
  }
  B[tx] = tx;
}
"""


def registers(source: str, call=run, threads: int = 384, **options):
    b = np.zeros(threads, np.int32)
    result = call(source, "registers", threads, ("B", b, "w"), **options)
    return b if call is run else result


@pytest.mark.parametrize("seed", range(3))
def test_setmaxnreg_moves_registers(seed):
    np.testing.assert_array_equal(registers(REGISTERS, seed=seed), np.arange(384))


def test_more_registers_than_the_block_has():
    error = registers(planted(REGISTERS, "release<40>", "release<48>"), caught)
    assert error.kind == "deadlock"
    registers(planted(REGISTERS, "tc_registers_release<40>();"), caught)


def test_a_release_that_grows_and_an_acquire_that_shrinks():
    error = registers(planted(REGISTERS, "release<40>", "release<200>"), caught)
    assert error.kind == "invalid_operation"
    assert "has 168 registers" in str(error)
    assert registers(planted(REGISTERS, "acquire<232>", "acquire<160>"), caught).kind == "invalid_operation"


def test_setmaxnreg_by_some_warps():
    source = REGISTERS.replace("tx < 128", "tx < 96")
    assert registers(source, caught).kind == "mismatched_collective"
    for_all_threads = REGISTERS.replace("tx < 128", "true")
    assert registers(for_all_threads, caught, threads=64).kind == "mismatched_collective"

"""T.cluster_store_async and T.alloc_cluster_barrier(wait=False): values for other blocks, mistakes, and errors."""

from __future__ import annotations

import numpy as np
import pytest
from expert_kernels import TARGET
from simulated_kit import caught, needs_compiler, planted, run

import tilecore
import tilecore.language as T
from tilecore.errors import LanguageError

pytestmark = pytest.mark.usefixtures("installed")


def rotated(dtype="float32", phases=1, wait=False):
    """Each block of a cluster of 4 gives its numbers to the next one, in every phase the ones that it has got."""

    @T.prim_func
    def kernel(A: T.Tensor((4, 48), dtype), B: T.Tensor((4, 48), dtype)):
        with T.ClusterKernel(4, threads=32, cluster_dims=4) as block:
            tiles = T.alloc_shared((phases + 1, 48), dtype)
            landed = T.alloc_cluster_barrier([1] * phases, wait=wait)
            T.copy(A[block, 0:48], tiles[0, :])
            if not wait:
                T.cluster_wait()
            for phase in T.unroll(phases):
                if T.get_thread_binding() == 0:
                    T.mbarrier_arrive_expect_tx(landed[phase], 48 * T.dtype(dtype).itemsize)
                for i in T.Parallel(48):
                    T.cluster_store_async(
                        tiles[phase + 1, i], tiles[phase, i], dst_block=(block + 1) % 4, barrier=landed[phase]
                    )
                T.mbarrier_wait_parity(landed[phase], 0)
            T.copy(tiles[phases, :], B[block, 0:48])

    return kernel


def compiled(func):
    return tilecore.compile(func, target=TARGET, execution_backend="sim")


@needs_compiler
@pytest.mark.parametrize(("dtype", "phases", "wait"), [("float32", 1, False), ("int64", 2, True), ("uint32", 3, False)])
@pytest.mark.parametrize("seed", range(2))
def test_values_for_the_next_block(dtype, phases, wait, seed, monkeypatch):
    monkeypatch.setenv("TILECORE_SIMULATE_SEED", str(seed))
    kernel = compiled(rotated(dtype, phases, wait))
    source = kernel.get_kernel_source()
    assert "tc_store_remote_async(" in source
    assert source.count("tc_cluster_arrive_relaxed();") == (not wait), "the barriers' initialization"
    a, b = np.arange(192).reshape(4, 48).astype(dtype), np.zeros((4, 48), dtype)
    kernel(a, b)
    np.testing.assert_array_equal(b, np.roll(a, phases, axis=0))


# Every block sends a number to each block of the cluster, and adds what it has received.
SUMS = """
extern "C" __global__ void __cluster_dims__(4, 1, 1) sums(float* B) {
  TC_SHARED(shared);
  float* received = (float*)shared;
  void* landed = shared + 64;
  const int tx = threadIdx.x;
  const unsigned rank = tc_cluster_rank();
  if (tx == 0) {
    tc_transaction_init(landed, 1);
    tc_transaction_fence_init();
  }
  tc_cluster_arrive_relaxed();
  tc_cluster_wait();  // initialized
  if (tx == 0) tc_transaction_arrive_expect(landed, 16);
  if (tx < 4) tc_store_remote_async(received + rank, float(1 << rank), landed, tx);
  tc_transaction_wait_cluster(landed, 0);
  B[blockIdx.x * 32 + tx] = received[0] + received[1] + received[2] + received[3];
}
"""


def sums(source: str, call=run, **options):
    b = np.zeros((8, 32), np.float32)
    result = call(source, "sums", 32, ("B", b, "w"), grid=(8,), cluster=(4, 1, 1), shared=128, **options)
    return b if call is run else result


@needs_compiler
@pytest.mark.parametrize("seed", range(3))
def test_sums_over_a_cluster(seed):
    np.testing.assert_array_equal(sums(SUMS, seed=seed), np.full((8, 32), 15))


@needs_compiler
@pytest.mark.parametrize(
    ("old", "new", "kinds"),
    [
        ("  tc_transaction_wait_cluster(landed, 0);\n", "", ("missing_wait", "ended_block", "uninitialised", "race")),
        ("arrive_expect(landed, 16)", "arrive_expect(landed, 12)", ("missing_wait", "ended_block", "deadlock")),
        ("arrive_expect(landed, 16)", "arrive_expect(landed, 20)", ("deadlock",)),
        ("landed, tx);", "landed, tx + 1);", ("invalid_operation",)),
        ("  tc_cluster_wait();  // initialized\n", "", ("uninitialised_barrier", "race", "ended_block")),
        ("received + rank", "received + (rank & 2)", ("missing_wait",)),
    ],
    ids=["no wait", "too few bytes", "too many bytes", "a rank too large", "before it is initialized", "one place"],
)
def test_planted_mistakes(old, new, kinds):
    sums(planted(SUMS, old, new), caught, kinds=kinds)


def around(code, dtype="float32", dims=2):
    @T.prim_func
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(2, threads=32, cluster_dims=dims):
            tile = T.alloc_shared((8,), dtype)
            code(A, tile)

    return kernel


@T.macro
def of_a_tensor(A, tile):
    T.cluster_store_async(A[0], 1.0, dst_block=0, barrier=T.alloc_cluster_barrier(1))


@T.macro
def of_two_bytes(A, tile):
    T.cluster_store_async(tile[0], 1.0, dst_block=0, barrier=T.alloc_cluster_barrier(1))


@T.macro
def by_a_barrier_of_the_block(A, tile):
    of_block = T.alloc_barrier(1)
    T.cluster_store_async(tile[0], 1.0, dst_block=0, barrier=of_block)


@T.macro
def two_ways_to_wait(A, tile):
    first = T.alloc_cluster_barrier(1, wait=False)
    second = T.alloc_cluster_barrier(1)
    T.mbarrier_arrive(first)
    T.mbarrier_arrive(second)


@pytest.mark.parametrize(
    ("code", "options", "match"),
    [
        (of_a_tensor, {}, "stores to an element of 4 or 8 bytes of shared memory"),
        (of_two_bytes, {"dtype": "float16"}, "stores to an element of 4 or 8 bytes of shared memory"),
        (by_a_barrier_of_the_block, {}, "needs a barrier that other blocks use"),
        (two_ways_to_wait, {}, "waits for the initialization of all its barriers by itself, or of none"),
        (by_a_barrier_of_the_block, {"dims": 1}, "T.cluster_store_async needs a kernel with clusters"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_errors(code, options, match):
    with pytest.raises(LanguageError, match=match):
        compiled(around(code, **options))

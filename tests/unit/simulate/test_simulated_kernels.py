"""Right kernels run right, in every order of threads."""

from __future__ import annotations

import numpy as np
import pytest
from device_kit import compiled, filled, needs_compiler, run

pytestmark = needs_compiler
SEEDS = (0, 1, 7)

ADD = """
KERNEL add(const tc_half* __restrict__ A, const tc_half* __restrict__ B, tc_half* __restrict__ C, int n) {
  const int i = block_x * threads_x + thread_x;
  if (i < n) C[i] = A[i] + B[i];
}
"""


@pytest.mark.parametrize("seed", SEEDS)
def test_vector_add(seed):
    a, b, c = filled(1000, np.float16), filled(1000, np.float16, 1), np.zeros(1000, np.float16)
    ran = run(ADD, 128, ("A", a, "r"), ("B", b, "r"), ("C", c, "w"), 1000, grid=(8,), seed=seed)
    np.testing.assert_array_equal(c, a + b)
    assert ran.counts["global_reads"] == 2000
    assert ran.counts["global_writes"] == 1000
    assert ran.counts["blocks"] == 8


SUM = """
KERNEL sum(const float* A, float* S, int n) {
  TC_SHARED(shared);
  float* partial = (float*)shared;
  float total = 0.0f;
  for (int i = thread_x; i < n; i += threads_x) total += A[i];
  for (int step = 16; step > 0; step >>= 1) total += tc_shuffle_xor(total, step);
  if (thread_x % 32 == 0) partial[thread_x / 32] = total;
  tc_barrier();
  if (thread_x < 32) {
    float rest = thread_x < threads_x / 32 ? partial[thread_x] : 0.0f;
    for (int step = 16; step > 0; step >>= 1) rest += tc_shuffle_down(rest, step);
    if (thread_x == 0) S[0] = rest;
  }
}
"""


@pytest.mark.parametrize("seed", SEEDS)
def test_block_reduction_with_shuffles(seed):
    a, s = filled(1003), np.zeros(1, np.float32)
    ran = run(SUM, 256, ("A", a, "r"), ("S", s, "w"), 1003, shared=32, seed=seed)
    assert s[0] == a.sum()
    assert ran.counts["barriers"] == 1
    assert ran.counts["warp_operations"] == 8 * 5 + 5


TRANSPOSE = """
KERNEL transpose(const float* A, float* B, int rows, int cols) {
  TC_STATIC_SHARED(float, tile, 16 * 17);
  const int r = block_y * 16 + thread_y, c = block_x * 16 + thread_x;
  if (r < rows && c < cols) tile[thread_y * 17 + thread_x] = A[r * cols + c];
  tc_barrier();
  const int tr = block_x * 16 + thread_y, tc = block_y * 16 + thread_x;
  if (tr < cols && tc < rows) B[tr * rows + tc] = tile[thread_x * 17 + thread_y];
}
"""


def test_transposition_through_shared_memory():
    a, b = filled((40, 23)), np.zeros((23, 40), np.float32)
    run(TRANSPOSE, (16, 16), ("A", a, "r"), ("B", b, "w"), 40, 23, grid=(2, 3))
    np.testing.assert_array_equal(b, a.T)


HISTOGRAM = """
KERNEL histogram(const int* A, int* H, int n) {
  TC_SHARED(shared);
  int* bins = (int*)shared;
  bins[thread_x] = 0;
  tc_barrier();
  for (int i = block_x * threads_x + thread_x; i < n; i += threads_x * blocks_x) tc_atomic_add(bins + A[i], 1);
  tc_barrier();
  tc_atomic_add(H + thread_x, bins[thread_x]);
}
"""


@pytest.mark.parametrize("seed", SEEDS)
def test_histogram_with_atomics(seed):
    a = np.random.default_rng(3).integers(0, 64, 3000).astype(np.int32)
    h = np.zeros(64, np.int32)
    run(HISTOGRAM, 64, ("A", a, "r"), ("H", h, "rw"), 3000, grid=(4,), shared=256, seed=seed)
    np.testing.assert_array_equal(h, np.bincount(a, minlength=64))


PIPELINE = """
KERNEL scale(const float* A, float* B, int steps) {
  TC_SHARED(shared);
  float* tiles = (float*)shared;
  for (int s = 0; s < 2; ++s) {
    tc_copy_async<16>(tiles + s * 256 + thread_x * 4, A + s * 256 + thread_x * 4, s < steps);
    tc_commit_async();
  }
  for (int s = 0; s < steps; ++s) {
    tc_wait_async<1>();
    tc_barrier();
    for (int j = 0; j < 4; ++j) {
      const int i = 255 - (thread_x * 4 + j);
      B[s * 256 + i] = tiles[s % 3 * 256 + i] * 2.0f;
    }
    const int next = s + 2;
    tc_copy_async<16>(tiles + next % 3 * 256 + thread_x * 4, A + next * 256 + thread_x * 4, next < steps);
    tc_commit_async();
  }
}
"""


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("steps", [1, 2, 7])
def test_pipelined_asynchronous_copies(steps, seed):
    a = filled(steps * 256)
    b = np.zeros_like(a)
    ran = run(PIPELINE, 64, ("A", a, "r"), ("B", b, "w"), steps, shared=3072, seed=seed)
    np.testing.assert_array_equal(b, a * 2)
    assert ran.counts["asynchronous"] == 64 * (steps + 2)


SPECIALISED = """
KERNEL specialised(const float* A, float* B, int steps) {
  TC_SHARED(shared);
  float* tiles = (float*)shared;
  uint64_t* full = (uint64_t*)(shared + 2048);
  uint64_t* empty = full + 2;
  if (thread_x == 0) {
    for (int i = 0; i < 2; ++i) { tc_transaction_init(full + i, 1); tc_transaction_init(empty + i, 64); }
  }
  tc_barrier();
  if (thread_x >= 64) {
    if (thread_x == 64) {
      for (int s = 0; s < steps; ++s) {
        tc_transaction_wait(empty + s % 2, (s / 2 & 1) ^ 1);
        tc_transaction_arrive_expect(full + s % 2, 1024);
        tc_bulk_copy_async(tiles + s % 2 * 256, A + s * 256, 1024, full + s % 2);
      }
    }
  } else {
    for (int s = 0; s < steps; ++s) {
      while (!tc_transaction_try_wait(full + s % 2, s / 2 & 1)) {}
      for (int i = thread_x; i < 256; i += 64) B[s * 256 + i] = tiles[s % 2 * 256 + i] + 1.0f;
      tc_transaction_arrive(empty + s % 2);
    }
  }
}
"""


@pytest.mark.parametrize("seed", SEEDS)
def test_transaction_barriers_between_a_producer_and_consumers(seed):
    a = filled(256 * 9)
    b = np.zeros_like(a)
    run(SPECIALISED, 96, ("A", a, "r"), ("B", b, "w"), 9, shared=2048 + 32, seed=seed)
    np.testing.assert_array_equal(b, a + 1)


COPIES_ON_BARRIER = """
KERNEL copies(const float* A, float* B) {
  TC_SHARED(shared);
  float* tile = (float*)shared;
  uint64_t* bar = (uint64_t*)(shared + 512);
  if (thread_x == 0) tc_transaction_init(bar, 32);
  tc_barrier();
  tc_copy_async<16>(tile + thread_x * 4, A + thread_x * 4);
  tc_transaction_arrive_on_copies(bar, true);
  tc_transaction_wait(bar, 0);
  for (int j = 0; j < 4; ++j) B[j * 32 + thread_x] = tile[j * 32 + 31 - thread_x];
}
"""


def test_copies_that_arrive_at_a_transaction_barrier():
    a = filled(128)
    b = np.zeros_like(a)
    run(COPIES_ON_BARRIER, 32, ("A", a, "r"), ("B", b, "w"), shared=520)
    np.testing.assert_array_equal(b, a.reshape(4, 32)[:, ::-1].ravel())


NAMED = """
KERNEL handover(const float* A, float* B, int steps) {
  TC_SHARED(shared);
  float* tile = (float*)shared;
  for (int s = 0; s < steps; ++s) {
    if (thread_x < 32) {
      tile[thread_x] = A[s * 32 + thread_x];
      tc_named_barrier_arrive(1, 64);
      tc_named_barrier(2, 64);
    } else {
      tc_named_barrier(1, 64);
      B[s * 32 + thread_x - 32] = tile[63 - thread_x];
      tc_named_barrier_arrive(2, 64);
    }
  }
}
"""


@pytest.mark.parametrize("seed", SEEDS)
def test_named_barriers_between_warps(seed):
    a = filled(32 * 5)
    b = np.zeros_like(a)
    run(NAMED, 64, ("A", a, "r"), ("B", b, "w"), 5, shared=128, seed=seed)
    np.testing.assert_array_equal(b, a.reshape(5, 32)[:, ::-1].ravel())


PRODUCT = """
KERNEL product(const tc_half* A, const tc_half* B, float* C, int k) {
  TC_SHARED(shared);
  tc_half* a = (tc_half*)shared;
  tc_half* b = a + 256;
  float c[8];
  for (int j = 0; j < 8; ++j) c[j] = 0.0f;
  for (int s = 0; s < k; s += 16) {
    for (int j = 0; j < 8; ++j) {
      const int e = thread_x * 8 + j;
      a[e] = A[e / 16 * k + s + e % 16];
      b[e] = B[e / 16 * k + s + e % 16];
    }
    tc_warp_barrier();
    tc_product_16x16x16(c, a + thread_x % 16 * 16, b + thread_x % 16 * 16);
    tc_warp_barrier();
  }
  for (int j = 0; j < 8; ++j) C[thread_x / 2 * 16 + thread_x % 2 * 8 + j] = c[j];
}
"""


def test_matrix_product_through_a_collective():
    a, b, c = filled((16, 64), np.float16), filled((16, 64), np.float16, 1), np.zeros((16, 16), np.float32)
    run(PRODUCT, 32, ("A", a, "r"), ("B", b, "r"), ("C", c, "w"), 64, shared=1024)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)


SCAN = """
KERNEL scan(const int* A, int* B) {
  TC_SHARED(shared);
  int* rows = (int*)shared;
  const int lane = thread_x % 32, warp = thread_x / 32;
  int value = A[thread_x];
  for (int step = 1; step < 32; step *= 2) {
    const int left = tc_shuffle_up(value, step);
    if (lane >= step) value += left;
  }
  if (lane == 31) rows[warp] = value;
  tc_barrier();
  for (int w = 0; w < warp; ++w) value += rows[w];
  B[thread_x] = value;
}
"""


def test_cumulative_sum():
    a = filled(128, np.int32)
    b = np.zeros_like(a)
    run(SCAN, 128, ("A", a, "r"), ("B", b, "w"), shared=16)
    np.testing.assert_array_equal(b, np.cumsum(a))


COLLATZ = """
KERNEL collatz(const int* A, int* B) {
  int n = A[thread_x], steps = 0;
  while (n != 1) {
    n = n % 2 ? 3 * n + 1 : n / 2;
    ++steps;
  }
  B[thread_x] = steps;
  const int longest = tc_block_vote_count(steps > 20);
  if (thread_x == 0) B[64] = longest;
}
"""


def test_divergent_loops():
    a = np.arange(1, 65, dtype=np.int32)
    b = np.zeros(65, np.int32)
    run(COLLATZ, 64, ("A", a, "r"), ("B", b, "w"))

    def steps(n):
        return 0 if n == 1 else 1 + steps(3 * n + 1 if n % 2 else n // 2)

    expected = [steps(n) for n in a.tolist()]
    assert b.tolist() == [*expected, sum(s > 20 for s in expected)]


SHUFFLES = """
KERNEL shuffles(int* O) {
  const int t = thread_x;
  O[t] = tc_shuffle_idx(t, 5, 8);
  O[64 + t] = tc_shuffle_xor(t, 3, 4);
  O[128 + t] = tc_shuffle_up(t, 2, 8);
  O[192 + t] = tc_shuffle_down(t, 2, 16);
  O[256 + t] = int(tc_shuffle_idx((long long)t << 40, t ^ 1) >> 40);
  O[320 + t] = tc_popcount(tc_vote_ballot(t % 3 == 0)) + 100 * tc_vote_any(t == 40) + 1000 * tc_vote_all(t < 99);
}
"""


@pytest.mark.parametrize("warp", [32, 64])
def test_shuffles_and_votes(warp):
    o = np.zeros((6, 64), np.int32)
    run(SHUFFLES, 64, ("O", o, "w"), warp=warp)
    t = np.arange(64)
    assert (o[0] == t // 8 * 8 + 5).all()
    assert (o[1] == t ^ 3).all()
    assert (o[2] == np.where(t % 8 >= 2, t - 2, t)).all()
    assert (o[3] == np.where(t % 16 < 14, t + 2, t)).all()
    assert (o[4] == t ^ 1).all()
    warps = t.reshape(-1, warp)
    ballots = (warps % 3 == 0).sum(1) + 100 * (warps == 40).any(1) + 1000
    assert (o[5] == np.repeat(ballots, warp)).all()


HANDSHAKE = """
KERNEL chain(int* F, float* B) {
  if (thread_x == 0) {
    if (block_x > 0)
      while (tc_atomic_load(F + block_x - 1, tc_acquire) == 0) {}
    B[block_x] = block_x > 0 ? B[block_x - 1] * 2.0f : 1.0f;
    tc_atomic_store(F + block_x, 1, tc_release);
  }
}
"""


@pytest.mark.parametrize("seed", SEEDS)
def test_blocks_that_wait_for_each_other(seed):
    f, b = np.zeros(12, np.int32), np.zeros(12, np.float32)
    run(HANDSHAKE, 32, ("F", f, "rw"), ("B", b, "w"), grid=(12,), seed=seed)
    np.testing.assert_array_equal(b, 2.0 ** np.arange(12))


FENCES = """
KERNEL last_block(const float* A, float* P, int* count, float* S) {
  TC_SHARED(shared);
  int* last = (int*)shared;
  P[block_x * 32 + thread_x] = A[block_x * 32 + thread_x];
  tc_barrier();
  if (thread_x == 0) {
    tc_fence_device();
    *last = tc_atomic_add(count, 1) == blocks_x - 1;
    tc_fence_device();
  }
  tc_barrier();
  if (*last && thread_x == 0) {
    float total = 0.0f;
    for (int i = 0; i < blocks_x * 32; ++i) total += P[i];
    *S = total;
  }
}
"""


@pytest.mark.parametrize("seed", SEEDS)
def test_fences_order_relaxed_atomics(seed):
    a = filled(160)
    p, count, s = np.zeros_like(a), np.zeros(1, np.int32), np.zeros(1, np.float32)
    arguments = ("A", a, "r"), ("P", p, "rw"), ("count", count, "rw"), ("S", s, "w")
    run(FENCES, 32, *arguments, grid=(5,), shared=4, seed=seed)
    assert s[0] == a.sum()


def test_the_compilers_own_atomics():
    source = """
    KERNEL add(int* A, int* flag) {
      __atomic_fetch_add(A + thread_x % 4, thread_x, __ATOMIC_RELAXED);
      int none = 0;
      if (__atomic_compare_exchange_n(flag, &none, 7, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) A[4] = thread_x;
    }
    """
    a, flag = np.zeros(5, np.int32), np.zeros(1, np.int32)
    library = compiled(source.replace("    KERNEL", "KERNEL"))
    run(library, 64, ("A", a, "rw"), ("flag", flag, "rw"))
    assert a[:4].tolist() == [sum(range(r, 64, 4)) for r in range(4)]
    assert flag[0] == 7


def test_a_seed_gives_one_order_and_others_differ():
    source = """
KERNEL order(int* O, int* turn) {
  O[block_x * 16 + tc_atomic_add(turn + block_x, 1)] = thread_x;
}
"""

    def order(seed):
        o = np.zeros((2, 16), np.int32)
        run(source, 16, ("O", o, "w"), ("turn", np.zeros(2, np.int32), "rw"), grid=(2,), seed=seed)
        return o.tolist()

    assert order(1) == order(1)
    assert len({str(order(seed)) for seed in range(5)}) > 1


def test_several_host_threads():
    a = filled(64 * 64, np.float16)
    c, h = np.zeros_like(a), np.zeros(64, np.int32)
    run(ADD, 64, ("A", a, "r"), ("B", a, "r"), ("C", c, "w"), a.size, grid=(64,), workers=2)
    np.testing.assert_array_equal(c, a + a)
    bins = np.random.default_rng(3).integers(0, 64, 3000).astype(np.int32)
    run(HISTOGRAM, 64, ("A", bins, "r"), ("H", h, "rw"), 3000, grid=(16,), shared=256, workers=2)
    np.testing.assert_array_equal(h, np.bincount(bins, minlength=64))

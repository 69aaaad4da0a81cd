"""The simulated device reports wrong kernels with wgmma, with the kind of the error and the line."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_kit import aligned, caught, compiled, map_of, needs_compiler, planted, run

pytestmark = needs_compiler

# C = A B of 64 x 64 by 256: two slots of k 64 that one thread of warp 4 fills, and products of warps 0 to 3.
LOOP = """TC_WGMMA(64, 16, f16, f16, f32)
extern "C" __global__ void loop(const tc_half* A, const tc_half* B, float* C,
                                const __grid_constant__ tc_tensor_map A_map,
                                const __grid_constant__ tc_tensor_map B_map) {
  TC_SHARED(shared);
  unsigned long long* full = (unsigned long long*)(shared + 32768);
  unsigned long long* empty = full + 2;
  const int tx = threadIdx.x;
  if (tx == 0) {
    for (int s = 0; s < 2; ++s) tc_transaction_init(&full[s], 1), tc_transaction_init(&empty[s], 4);
    tc_transaction_fence_init();
  }
  tc_barrier();
  if (tx >= 128) {
    if (tx == 128) {
      for (int step = 0; step < 4; ++step) {
        unsigned char* slot = shared + step % 2 * 16384;
        tc_transaction_wait(&empty[step % 2], step / 2 % 2 ^ 1);
        tc_transaction_arrive_expect(&full[step % 2], 16384);
        tc_tensor_load(slot, &A_map, &full[step % 2], step * 64, 0);
        tc_tensor_load(slot + 8192, &B_map, &full[step % 2], 0, step * 64);
      }
    }
    return;
  }
  float sums[32];
  for (int step = 0; step < 4; ++step) {
    unsigned char* slot = shared + step % 2 * 16384;
    tc_transaction_wait(&full[step % 2], step / 2 % 2);
    tc_warpgroup_begin();
    for (int part = 0; part < 4; ++part)
      tc_wgmma_n64k16_f16_f16_f32<false, true>(sums, tc_operand(slot + part * 32, 16, 1024, 1),
                                               tc_operand(slot + 8192 + part * 2048, 8192, 1024, 1), step | part);
    tc_warpgroup_commit();
    tc_warpgroup_wait<0>();
    if (tx % 32 == 0) tc_transaction_arrive(&empty[step % 2]);
  }
  tc_warpgroup_settle<32>(sums);
  for (int i = 0; i < 32; ++i)
    C[(tx / 32 * 16 + tx % 32 / 4 + i / 2 % 2 * 8) * 64 + i / 4 * 8 + tx % 4 * 2 + i % 2] = sums[i];
}
"""


def operands():
    rng = np.random.default_rng(3)
    a, b = (aligned(rng.integers(-3, 4, shape).astype(np.float16)) for shape in ((64, 256), (256, 64)))
    return a, b, np.zeros((64, 64), np.float32)


def tensors_and_options(swizzle="128B"):
    a, b, c = operands()
    maps = [map_of(0, a, (64, 64), "A", swizzle="128B"), map_of(1, b, (64, 64), "B", swizzle=swizzle)]
    return (("A", a, "r"), ("B", b, "r"), ("C", c, "w")), {"maps": maps, "shared": 32800}


def error_of(source: str, threads: int = 160, kinds=(), **facts):
    tensors, options = tensors_and_options(**facts)
    return caught(source, "loop", threads, *tensors, kinds=kinds, **options)


def line_of(source: str, text: str) -> int:
    (line_number,) = [n for n, line in enumerate(source.splitlines(), 2) if text in line]
    return line_number


@pytest.mark.parametrize("seed", range(4))
def test_the_loop_is_right(seed):
    tensors, options = tensors_and_options()
    run(LOOP, "loop", 160, *tensors, seed=seed, **options)
    (_, a, _), (_, b, _), (_, c, _) = tensors
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


WAIT = "    tc_warpgroup_wait<0>();\n"


def test_a_wait_that_leaves_a_group():
    """The slot is released while products may still read it."""
    error = error_of(planted(LOOP, WAIT, "    tc_warpgroup_wait<1>();\n"))
    assert error.kind == "missing_wait"


def test_no_wait_at_all():
    source = planted(planted(LOOP, WAIT), "    if (tx % 32 == 0) tc_transaction_arrive(&empty[step % 2]);\n")
    source = source.replace("step < 4", "step < 2")
    error = error_of(source)
    assert error.kind == "missing_wait"
    assert error.line == line_of(source, "= sums[i]")
    assert "started at line" in str(error)


def test_no_commit():
    error = error_of(planted(LOOP, "    tc_warpgroup_commit();\n"))
    assert error.kind == "missing_wait"
    source = planted(LOOP, "    tc_warpgroup_commit();\n").replace("step < 4", "step < 1")
    assert "has not been committed" in str(error_of(source))


def test_accumulators_accessed_before_the_wait():
    source = planted(LOOP, WAIT, "    sums[5] *= 2.0f;  // early\n" + WAIT)
    error = error_of(source)
    assert error.kind == "missing_wait"
    assert error.line == line_of(source, "// early")


def test_no_fence_before_the_first_product():
    error = error_of(planted(LOOP, "    tc_warpgroup_begin();\n"))
    assert error.kind == "missing_fence"


def test_accumulators_accessed_after_the_fence():
    error = error_of(planted(LOOP, "    tc_warpgroup_begin();\n",
                             "    tc_warpgroup_begin();\n    if (step == 2) sums[5] *= 2.0f;\n"))  # fmt: skip
    assert error.kind == "missing_fence"
    first = "    if (step != 2) tc_warpgroup_begin();\n    if (step > 0) sums[3] += 1.0f;\n"
    assert error_of(planted(LOOP, "    tc_warpgroup_begin();\n", first)).kind == "missing_fence"


def test_fewer_warps_than_a_warpgroup():
    source = planted(LOOP, "  float sums[32];\n", "  float sums[32];\n  if (tx < 32) return;\n")
    assert error_of(source).kind == "mismatched_collective"
    small = LOOP.replace(">= 128", ">= 96").replace("== 128", "== 96")
    error = error_of(small, threads=128)
    assert error.kind == "mismatched_collective"


def test_a_block_of_fewer_threads():
    source = """TC_WGMMA(64, 16, f16, f16, f32)
extern "C" __global__ void few(float* C) {
  TC_SHARED(shared);
  float sums[32];
  tc_warpgroup_begin();
  tc_operand_t tile = tc_operand(shared, 16, 1024, 1);
  tc_wgmma_n64k16_f16_f16_f32<false, false>(sums, tile, tile, false);
}
"""
    error = caught(source, "few", 64, ("C", np.zeros(4, np.float32), "w"), shared=16384)
    assert error.kind == "mismatched_collective"
    assert "four warps" in str(error)


def test_operands_that_differ_among_threads():
    error = error_of(planted(LOOP, "tc_operand(slot + part * 32,", "tc_operand(slot + (part ^ tx / 64) * 32,"))
    assert error.kind == "mismatched_collective"
    assert "different operands" in str(error)


def test_half_a_warp_waits():
    error = error_of(planted(LOOP, WAIT, "    if (tx % 32 < 16) tc_warpgroup_wait<0>();\n"))
    assert error.kind == "mismatched_collective"


def test_a_slot_released_by_too_few_warps():
    """A wait covers the part of its own warp only."""
    source = planted(LOOP, "tc_transaction_init(&empty[s], 4)", "tc_transaction_init(&empty[s], 1)")
    source = planted(source, "if (tx % 32 == 0)", "if (tx == 0)")
    error = error_of(source, kinds=("missing_wait", "race"))  # as the other warps have waited by then, or not
    assert error.tensor == "shared memory"


def test_a_slot_that_is_not_waited_for():
    source = planted(LOOP, "    tc_transaction_wait(&full[step % 2], step / 2 % 2);\n")
    error_of(source, kinds=("missing_wait", "uninitialised", "race"))


def test_the_wrong_parity():
    error = error_of(planted(LOOP, "tc_transaction_wait(&full[step % 2], step / 2 % 2)",
                             "tc_transaction_wait(&full[step % 2], step / 2 % 2 ^ 1)"))  # fmt: skip
    assert error.kind in ("missing_wait", "uninitialised", "race")
    error = error_of(planted(LOOP, "step / 2 % 2 ^ 1", "step / 2 % 2"))
    assert error.kind == "deadlock"


@pytest.mark.parametrize("swizzle", [0, 2, 3])
def test_an_operand_of_another_swizzle(swizzle):
    error = error_of(planted(LOOP, "16, 1024, 1)", f"16, 1024, {swizzle})"))
    assert error.kind == "swizzle_mismatch"


def test_a_map_of_another_swizzle():
    assert error_of(LOOP, swizzle="none").kind == "swizzle_mismatch"


def test_an_operand_beyond_shared_memory():
    source = planted(LOOP, "slot + 8192 + part * 2048, 8192, 1024, 1)", "shared + 36864 + part * 2048, 8192, 1024, 1)")
    assert error_of(source).kind == "out_of_bounds"


RS_LOOP = """TC_WGMMA(8, 16, f16, f16, f32)
extern "C" __global__ void registers(const tc_half* A, float* C) {
  TC_SHARED(shared);
  const int tx = threadIdx.x;
  tc_half* tile = (tc_half*)shared;
  tile[tx] = A[tx];
  alignas(16) tc_half a[8];
  for (int i = 0; i < 8; ++i) a[i] = A[i];
  float sums[4];
  tc_fence_async();
  tc_barrier();
  tc_warpgroup_begin();
  for (int step = 0; step < 2; ++step) {
    tc_wgmma_held_n8k16_f16_f16_f32<false>(sums, a, tc_operand(shared, 128, 128, 0), step);
    tc_warpgroup_commit();
  }
  tc_warpgroup_wait<0>();
  for (int i = 0; i < 4; ++i) C[tx * 4 + i] = sums[i] + float(a[0]);
}
"""


def test_a_in_registers():
    a, c = np.arange(128, dtype=np.float16) % 5, np.zeros(512, np.float32)
    tensors = ("A", a, "r"), ("C", c, "w")
    run(RS_LOOP, "registers", 128, *tensors, shared=256)
    early = planted(RS_LOOP, "    tc_warpgroup_commit();\n", "    tc_warpgroup_commit();\n    a[1] = a[2];\n")
    error = caught(early, "registers", 128, *tensors, shared=256)
    assert error.kind == "missing_wait"
    assert "still reads" in str(error)
    read = planted(
        RS_LOOP, "    tc_warpgroup_commit();\n", "    tc_warpgroup_commit();\n    C[tx * 4] = float(a[2]);\n"
    )
    run(read, "registers", 128, *tensors, shared=256)
    unfenced = planted(RS_LOOP, "  tc_warpgroup_begin();\n", "  tc_warpgroup_begin();\n  a[0] = a[1];\n")
    run(unfenced, "registers", 128, *tensors, shared=256)  # the device does not see what was touched before it is used
    start = "  for (int step = 0; step < 2; ++step) {\n"
    again = planted(RS_LOOP, start, start + "    tc_warpgroup_wait<0>();\n    a[3] = a[step];\n")
    assert caught(again, "registers", 128, *tensors, shared=256).kind == "missing_fence"


def test_work_that_outlives_its_thread():
    source = planted(
        RS_LOOP,
        "  tc_warpgroup_wait<0>();\n  for (int i = 0; i < 4; ++i) C[tx * 4 + i] = sums[i] + float(a[0]);\n",
    )
    tensors = ("A", np.zeros(128, np.float16), "r"), ("C", np.zeros(512, np.float32), "w")
    error = caught(source, "registers", 128, *tensors, shared=256)
    assert error.kind == "missing_wait"
    assert "the thread ends before" in str(error)


def test_it_compiles_once():
    assert compiled(LOOP, "loop") is compiled(LOOP, "loop")


# -- the proxy of asynchronous work -----------------------------------------------------------------------------------

WRITTEN = """TC_WGMMA(8, 16, f16, f16, f32)
extern "C" __global__ void written(const tc_half* A, float* C) {
  TC_SHARED(shared);
  const int tx = threadIdx.x;
  tc_half* tile = (tc_half*)shared;
  for (int i = 0; i < 9; ++i) STORE
  FENCE_OF_WRITERS
  tc_barrier();
  FENCE_OF_READERS
  float sums[4];
  const tc_operand_t b = tc_operand(shared + 2048, 128, 256, 0);
  tc_warpgroup_begin();
  tc_wgmma_n8k16_f16_f16_f32<false, false>(sums, tc_operand(shared, 128, 256, 0), b, false);
  tc_warpgroup_commit();
  tc_warpgroup_wait<0>();
  tc_warpgroup_settle<4>(sums);
  for (int i = 0; i < 4; ++i) C[tx * 4 + i] = sums[i];
}
"""
STORES = {
    "plain": "tile[i * 128 + tx] = A[i * 128 + tx];",
    "copies": "if (tx < 16) tc_copy_async<16>(tile + i * 128 + tx * 8, A + i * 128 + tx * 8);\n"
    "  tc_commit_async();\n  tc_wait_async<0>();",
}


@pytest.mark.parametrize("store", STORES)
def test_written_tiles_want_a_fence(store):
    a, c = np.random.default_rng(0).integers(-3, 4, 9 * 128).astype(np.float16), np.zeros(512, np.float32)
    tensors = ("A", a, "r"), ("C", c, "w")

    def source(writers: str, readers: str) -> str:
        text = WRITTEN.replace("STORE", STORES[store])
        return text.replace("FENCE_OF_WRITERS", writers).replace("FENCE_OF_READERS", readers)

    fence = "tc_fence_async();"
    for writers, readers in ((fence, ""), ("", fence), (fence, fence)):
        run(source(writers, readers), "written", 128, *tensors, shared=4096)
    error = caught(source("", ""), "written", 128, *tensors, shared=4096)
    assert error.kind == "missing_proxy_fence"
    assert error.line == line_of(source("", ""), "tc_wgmma_n8")
    if store == "plain":
        late = source(fence + " if (tx == 77) tile[77] = A[77];", "")
        assert caught(late, "written", 128, *tensors, shared=4096).kind == "missing_proxy_fence"
    some = source("if (tx != 10) tc_fence_async();", "")
    error = caught(some, "written", 128, *tensors, shared=4096)
    assert error.kind == "missing_proxy_fence"
    assert error.other.thread == (10 if store == "plain" else None)


STORED = """
extern "C" __global__ void stored(float* B, const __grid_constant__ tc_tensor_map map) {
  TC_SHARED(shared);
  ((float*)shared)[threadIdx.x] = float(threadIdx.x);
  tc_fence_async();
  tc_barrier();
  if (threadIdx.x == 0) {
    tc_tensor_store(&map, shared, 0, 0);
    tc_commit_stores();
    tc_wait_stores<0>();
  }
}
"""


def test_stored_tiles_want_a_fence():
    b = aligned(np.zeros((8, 8), np.float32))
    facts = {"maps": [map_of(0, b, (8, 8))], "shared": 1024}
    run(STORED, "stored", 64, ("B", b, "w"), **facts)
    np.testing.assert_array_equal(b.ravel(), np.arange(64))
    error = caught(planted(STORED, "  tc_fence_async();\n"), "stored", 64, ("B", b, "w"), **facts)
    assert error.kind == "missing_proxy_fence"


def test_barriers_want_a_fence():
    error = error_of(planted(LOOP, "    tc_transaction_fence_init();\n"))
    assert error.kind == "missing_proxy_fence"
    assert "initialised" in str(error)

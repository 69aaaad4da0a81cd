"""Wrong kernels are caught, by kind and place, in every order of threads."""

from __future__ import annotations

import numpy as np
import pytest
from device_kit import caught, compiled, filled, line_of, needs_compiler, run
from test_simulated_kernels import COPIES_ON_BARRIER, FENCES, HANDSHAKE, NAMED, PIPELINE, PRODUCT, SPECIALISED, SUM

pytestmark = needs_compiler


def planted(source: str, old: str, new: str) -> str:
    assert source.count(old) == 1, source.count(old)
    return source.replace(old, new)


def tensors(*names_and_sizes, dtype=np.float32):
    return [(name, filled(size, dtype), access) for name, size, access in names_and_sizes]


# -- barriers -------------------------------------------------------------------------------------------------


def test_a_dropped_barrier_is_a_race():
    source = planted(SUM, "  tc_barrier();\n", "")
    for seed in range(4):
        error = caught(source, 256, *tensors(("A", 1024, "r"), ("S", 1, "w")), 1024, shared=32, seeds=[seed])
        assert error.kind in ("race", "uninitialised")  # as the reader or the writer comes first
        assert error.tensor == "shared memory"
        assert error.line in (line_of(source, "= total;"), line_of(source, "float rest"))


READ_THEN_WRITE = """
KERNEL rotate(float* A) {
  TC_SHARED(shared);
  float* tile = (float*)shared;
  tile[thread_x] = A[thread_x];
  tc_barrier();
  const float left = tile[(thread_x + 1) % 64];
  tc_barrier();  // second
  tile[thread_x] = left;
  tc_barrier();
  A[thread_x] = tile[63 - thread_x];
}
"""


def test_a_dropped_barrier_between_reads_and_writes():
    a = filled(64)
    expected = np.roll(a, -1)[::-1]
    run(READ_THEN_WRITE, 64, ("A", a, "rw"), shared=256)
    np.testing.assert_array_equal(a, expected)
    source = planted(READ_THEN_WRITE, "  tc_barrier();  // second\n", "\n")
    error = caught(source, 64, ("A", a, "rw"), shared=256)
    assert error.kind == "race"
    lines = {line_of(source, "const float left"), line_of(source, "= left;")}
    assert {error.line, error.other.line} == lines
    assert error.thread != error.other.thread
    assert {error.access.operation, error.other.operation} == {"read", "write"}


def test_a_warp_barrier_orders_only_its_warp():
    source = planted(READ_THEN_WRITE, "  tc_barrier();  // second\n", "  tc_warp_barrier();\n")
    a = filled(64)
    assert caught(source, 64, ("A", a, "rw"), shared=256).kind == "race"
    run(source.replace("64", "32").replace("63", "31"), 32, ("A", filled(32), "rw"), shared=128)


def test_a_missing_warp_barrier():
    source = planted(PRODUCT, "    tc_warp_barrier();\n    tc_product", "    tc_product")
    arguments = [*tensors(("A", 1024, "r"), ("B", 1024, "r"), dtype=np.float16), *tensors(("C", 256, "w"))]
    error = caught(source, 32, *arguments, 64, shared=1024, seeds=[0])
    assert error.kind in ("race", "uninitialised")
    assert error.line == line_of(source, "    tc_product")  # the lanes' loads in the collective
    assert error.access.operation == "read"


DIVERGENT = """
KERNEL divergent(float* A, int n) {
  if (thread_x < n) {
    A[thread_x] = 1.0f;
    tc_barrier();
  }
}
"""


def test_a_barrier_that_not_all_threads_reach():
    error = caught(DIVERGENT, 64, ("A", filled(64), "w"), 40)
    assert error.kind == "divergent_barrier"
    assert error.line == line_of(DIVERGENT, "tc_barrier")
    assert "threads 0-39 wait at the barrier of line 5" in str(error)
    assert "threads 40-63 have ended" in str(error)
    run(DIVERGENT, 64, ("A", filled(64), "w"), 64)


def test_barriers_at_different_places():
    source = """
KERNEL places(int n) {
  if (thread_x < n) {
    tc_barrier();
  } else {
    tc_barrier();
  }
}
"""
    error = caught(source, 64, 16)
    assert error.kind == "divergent_barrier"
    assert "line 4" in str(error)
    assert "line 6" in str(error)


def test_a_named_barrier_with_another_number_of_threads():
    source = planted(NAMED, "tc_named_barrier_arrive(2, 64)", "tc_named_barrier_arrive(2, 32)")
    error = caught(source, 64, *tensors(("A", 160, "r"), ("B", 160, "w")), 5, shared=128, seeds=[0])
    assert error.kind in ("divergent_barrier", "race")


def test_a_named_barrier_that_too_few_threads_reach():
    source = planted(NAMED, "      tc_named_barrier_arrive(2, 64);\n", "")
    error = caught(source, 64, *tensors(("A", 160, "r"), ("B", 160, "w")), 5, shared=128)
    assert error.kind == "deadlock"
    assert "named barrier 2" in str(error)
    assert "threads 0-31" in str(error)


# -- asynchronous copies --------------------------------------------------------------------------------------


def pipeline_error(source, seeds=(0, 1, 2)):
    return caught(source, 64, *tensors(("A", 1280, "r"), ("B", 1280, "w")), 5, shared=3072, seeds=seeds)


def test_a_wait_that_is_off_by_one():
    source = planted(PIPELINE, "tc_wait_async<1>", "tc_wait_async<2>")
    error = pipeline_error(source)
    assert error.kind == "missing_wait"
    assert error.line == line_of(source, "* 2.0f")
    assert error.other.line == line_of(source, "A + s * 256 +")
    assert error.other.thread is None


def test_a_wait_without_the_barrier_after_it():
    source = planted(PIPELINE, "    tc_barrier();\n", "")
    for seed in range(4):
        error = pipeline_error(source, [seed])
        # as the other thread has waited, has only started its copy, or has not come so far
        assert error.kind in ("race", "missing_wait", "uninitialised")
        assert error.tensor == "shared memory"


def test_a_buffer_that_is_still_read():
    """Two slots for three steps in flight: the copy overwrites what the neighbours read."""
    source = PIPELINE.replace("% 3", "% 2")
    for seed in range(4):
        error = pipeline_error(source, [seed])
        assert error.kind in ("race", "missing_wait")
        assert error.tensor == "shared memory"
        assert line_of(source, "next < steps") in (error.line, error.other.line)


def test_a_slot_that_is_off_by_one():
    source = planted(PIPELINE, "tiles[s % 3 * 256", "tiles[(s + 1) % 3 * 256")
    error = pipeline_error(source)
    assert error.kind == "missing_wait"
    assert error.line == line_of(source, "* 2.0f")


OVERWRITTEN = """
KERNEL overwritten(float* A, float* B) {
  TC_SHARED(shared);
  float* tile = (float*)shared;
  tile[thread_x] = A[thread_x];
  tc_barrier();
  if (thread_x == 0) {
    tc_bulk_copy_async_group(B, tile, 256);
    tc_commit_group(tc_channel_bulk);
    tc_wait_group(tc_channel_bulk, 0, true);
  }
  tc_barrier();
  tile[thread_x] = 0.0f;
  if (thread_x == 0) tc_wait_group(tc_channel_bulk, 0);
}
"""


def test_the_source_of_a_copy_is_overwritten_early():
    a, b = filled(64), np.zeros(64, np.float32)
    run(OVERWRITTEN, 64, ("A", a, "r"), ("B", b, "w"), shared=256)
    np.testing.assert_array_equal(b, a)
    source = planted(OVERWRITTEN, "    tc_wait_group(tc_channel_bulk, 0, true);\n", "")
    error = caught(source, 64, ("A", a, "r"), ("B", b, "w"), shared=256)
    assert error.kind == "missing_wait"
    assert error.line == line_of(source, "= 0.0f")
    assert error.other.line == line_of(source, "tc_bulk_copy")
    assert "asynchronous read" in str(error)


def test_a_copy_out_of_the_block_that_nobody_waits_for():
    source = planted(OVERWRITTEN, "  if (thread_x == 0) tc_wait_group(tc_channel_bulk, 0);\n", "")
    source = planted(source, "0, true);", "1, true);").replace("  tile[thread_x] = 0.0f;\n", "")
    error = caught(source, 64, *tensors(("A", 64, "r"), ("B", 64, "w")), shared=256)
    assert error.kind == "missing_wait"
    assert error.line == line_of(source, "tc_bulk_copy")


def specialised_error(source, seeds=(0, 1, 2)):
    return caught(source, 96, *tensors(("A", 1536, "r"), ("B", 1536, "w")), 6, shared=2080, seeds=seeds)


def test_a_consumer_that_does_not_wait_for_its_phase():
    source = planted(COPIES_ON_BARRIER, "  tc_transaction_wait(bar, 0);\n", "")
    arguments = tensors(("A", 128, "r"), ("B", 128, "w"))
    for seed in range(4):
        error = caught(source, 32, *arguments, shared=520, seeds=[seed])
        assert error.kind in ("missing_wait", "uninitialised")  # as the other lane's copy has started or not
        assert error.line == line_of(source, "B[j * 32")


def test_a_producer_that_does_not_wait_for_an_empty_slot():
    source = planted(SPECIALISED, "        tc_transaction_wait(empty + s % 2, (s / 2 & 1) ^ 1);\n", "")
    for seed in range(4):
        assert specialised_error(source, [seed]).kind in ("race", "missing_wait", "invalid_operation")


def test_a_wrong_parity_is_a_deadlock():
    source = planted(SPECIALISED, "(s / 2 & 1) ^ 1)", "s / 2 & 1)")
    error = specialised_error(source)
    assert error.kind == "deadlock"
    assert "transaction barrier" in str(error)


def test_bytes_that_never_come():
    source = planted(SPECIALISED, "full + s % 2, 1024)", "full + s % 2, 1028)")
    assert specialised_error(source).kind == "deadlock"


def test_a_barrier_used_before_it_is_initialised():
    source = planted(SPECIALISED, "  tc_barrier();\n", "")
    for seed in range(4):
        assert specialised_error(source, [seed]).kind in ("uninitialised_barrier", "race")
    source = planted(source, "tc_transaction_init(full + i, 1);", "")
    for seed in range(4):
        assert specialised_error(source, [seed]).kind in ("uninitialised_barrier", "race")


def test_copies_that_arrive_before_they_land():
    source = planted(COPIES_ON_BARRIER, "tc_transaction_arrive_on_copies(bar, true)", "tc_transaction_arrive(bar)")
    error = caught(source, 32, *tensors(("A", 128, "r"), ("B", 128, "w")), shared=520)
    assert error.kind == "missing_wait"
    assert error.line == line_of(source, "B[j * 32")


# -- memory ---------------------------------------------------------------------------------------------------

COPY = """
KERNEL copy(const float* A, const float* M, float* B, int n) {
  const int i = block_x * 32 + thread_x;
  if (i < n) {
    B[i] = A[i];  // model.py:42
  }
}
"""


def copy_error(source, n, a=100, b=100):
    arguments = tensors(("A", a, "r"), ("M", 64, "r"), ("B", b, "w"))
    return caught(source, 32, *arguments, n, grid=(4,))


def test_a_read_out_of_bounds():
    error = copy_error(COPY, 101, b=128)
    assert (error.kind, error.tensor, error.index) == ("out_of_bounds", "A", (100,))
    assert error.line == 5
    assert (error.block, error.thread) == ((3, 0, 0), 4)
    assert error.user_line == "model.py:42"
    assert "read of A[100]" in str(error)
    assert "    B[i] = A[i];  // model.py:42\n" in str(error)
    assert "^^^^" in str(error)


def test_a_write_out_of_bounds():
    error = copy_error(COPY, 101, a=128)
    assert (error.kind, error.tensor, error.index) == ("out_of_bounds", "B", (100,))
    assert error.access.operation == "write"


def test_an_access_before_the_first_element():
    source = planted(COPY, "A[i]", "A[i - 1]")
    error = copy_error(source, 100)
    assert (error.kind, error.tensor, error.index) == ("out_of_bounds", "A", (-1,))


@pytest.mark.parametrize("distance", [25, 1000, 60_000])
def test_a_neighbouring_tensor_is_out_of_bounds_too(distance):
    error = copy_error(planted(COPY, "A[i];", f"A[i + {distance}];"), 100)
    assert (error.kind, error.tensor) == ("out_of_bounds", "A")
    assert error.index >= (100,)


def test_rows_and_columns_are_told():
    source = "KERNEL f(float* A) {\n  A[thread_x * 8 + 7] = 1.0f;\n}\n"
    error = caught(source, 5, ("A", filled((4, 8)), "w"))
    assert error.index == (4, 7)
    assert "A[4, 7]" in str(error)


def test_a_wild_pointer():
    error = copy_error(planted(COPY, "A[i];", "*(const float*)(uintptr_t)0x123450;"), 100)
    assert error.kind == "wild_access"
    assert "0x123450" in str(error)
    assert error.line == 5


def test_shared_memory_that_is_too_small():
    error = caught(SUM, 256, *tensors(("A", 1024, "r"), ("S", 1, "w")), 1024, shared=28)
    assert (error.kind, error.tensor, error.index) == ("out_of_bounds", "shared memory", (28,))
    assert "28 bytes of shared memory" in str(error)
    source = "KERNEL f() {\n  TC_STATIC_SHARED(float, tile, 300);\n  tile[thread_x] = 0.0f;\n}\n"
    error = caught(source, 32, shared_limit=1024)
    assert error.kind == "shared_too_small"
    assert error.line == 3


def test_shared_memory_that_nobody_wrote():
    source = "KERNEL f(float* A) {\n  TC_SHARED(s);\n  A[thread_x] = ((float*)s)[thread_x];\n}\n"
    error = caught(source, 32, ("A", filled(32), "w"), shared=128)
    assert (error.kind, error.tensor, error.line) == ("uninitialised", "shared memory", 4)


def test_shared_memory_does_not_last_from_block_to_block():
    source = """
KERNEL f(float* A) {
  TC_SHARED(s);
  float* tile = (float*)s;
  A[block_x] = block_x % 2 ? tile[0] : 0.0f;
  tile[0] = 1.0f;
}
"""
    assert caught(source, 1, ("A", filled(4), "w"), shared=16, grid=(4,)).kind == "uninitialised"


def test_an_output_that_is_read_before_it_is_written():
    error = copy_error(planted(COPY, "= A[i]", "+= A[i]"), 100)
    assert (error.kind, error.tensor) == ("uninitialised", "B")


def test_half_of_a_vector_that_nobody_wrote():
    source = """
KERNEL f(float* A) {
  TC_SHARED(s);
  if (thread_x != 5) ((float*)s)[thread_x] = 1.0f;
  tc_barrier();
  if (thread_x % 4 == 0) tc_move<16>(A + thread_x, (float*)s + thread_x);
}
"""
    error = caught(source, 32, ("A", filled(32), "w"), shared=128)
    assert (error.kind, error.line) == ("uninitialised", line_of(source, "tc_move"))


def test_a_write_to_what_is_only_read():
    error = copy_error(planted(COPY, "B[i] = A[i]", "((float*)M)[i % 64] = A[i]"), 100)
    assert error.kind == "read_only"


def test_a_misaligned_vector_move():
    source = "KERNEL f(const float* A, float* B) {\n  tc_move<16>(B + thread_x * 4, A + thread_x * 4 + 1);\n}\n"
    error = caught(source, 4, *tensors(("A", 32, "r"), ("B", 32, "w")))
    assert (error.kind, error.tensor, error.line) == ("misaligned", "A", 3)


def test_a_misaligned_plain_access():
    source = "KERNEL f(const char* A, float* B) {\n  B[thread_x] = *(const float*)(A + thread_x * 4 + 2);\n}\n"
    error = caught(source, 4, ("A", filled(32, np.int8), "r"), ("B", filled(4), "w"))
    assert error.kind == "misaligned"


def test_an_index_outside_of_a_threads_own_array():
    source = """
KERNEL f(const int* A, float* B) {
  float c[8];
  for (int i = 0; i < 8; ++i) c[i] = float(i);
  B[thread_x] = c[A[thread_x]];
}
"""
    a = np.arange(4, dtype=np.int32)
    run(source, 4, ("A", a, "r"), ("B", filled(4), "w"))
    a[2] = 8
    error = caught(source, 4, ("A", a, "r"), ("B", filled(4), "w"))
    assert (error.kind, error.thread, error.line) == ("out_of_bounds", 2, line_of(source, "B[thread_x]"))
    assert "'float" in str(error)


# -- order between blocks -------------------------------------------------------------------------------------


def test_a_race_between_blocks():
    source = "KERNEL f(float* A) {\n  A[thread_x] = float(block_x);\n}\n"
    error = caught(source, 32, ("A", filled(32), "w"), grid=(2,))
    assert (error.kind, error.tensor, error.line) == ("race", "A", 3)
    assert error.block != error.other.block


def test_the_same_value_is_a_race_unless_allowed():
    source = "KERNEL f(int* A, int spread) {\n  A[thread_x / 2] = block_x * spread;\n}\n"
    argument = ("A", filled(16, np.int32), "w")
    assert caught(source, 32, argument, 0, grid=(2,)).kind == "race"
    run(source, 32, argument, 0, grid=(2,), allow_same_value=True)
    assert caught(source, 32, argument, 1, grid=(2,), allow_same_value=True).kind == "race"


def handshake_error(old, new):
    f, b = filled(12, np.int32) * 0, filled(12)
    return caught(planted(HANDSHAKE, old, new), 32, ("F", f, "rw"), ("B", b, "w"), grid=(12,))


def test_a_missing_acquire():
    error = handshake_error("tc_acquire", "tc_relaxed")
    assert (error.kind, error.tensor) == ("race", "B")


def test_a_missing_release():
    assert handshake_error("1, tc_release", "1, tc_relaxed").kind == "race"


def test_an_ordinary_load_is_no_flag():
    error = handshake_error("tc_atomic_load(F + block_x - 1, tc_acquire)", "F[block_x - 1]")
    assert (error.kind, error.tensor) == ("race", "F")


def test_a_flag_that_nobody_sets():
    error = handshake_error("  tc_atomic_store(F + block_x, 1, tc_release);", "")
    assert error.kind == "deadlock"
    assert "for a value to change" in str(error)


@pytest.mark.parametrize("which", [0, 1])
def test_a_missing_fence(which):
    parts = FENCES.split("    tc_fence_device();\n")
    halves = [parts[0] + parts[1], parts[2]] if which == 0 else [parts[0], parts[1] + parts[2]]
    source = "    tc_fence_device();\n".join(halves)
    a = filled(160)
    arguments = ("A", a, "r"), ("P", a.copy(), "rw"), ("count", np.zeros(1, np.int32), "rw"), ("S", filled(1), "w")
    error = caught(source, 32, *arguments, grid=(5,), shared=4)
    assert (error.kind, error.tensor) == ("race", "P")


def test_an_atomic_and_an_ordinary_access():
    source = "KERNEL f(int* A) {\n  if (thread_x < 16) tc_atomic_add(A, 1);\n  else A[0] = 5;\n}\n"
    error = caught(source, 32, ("A", filled(1, np.int32), "rw"))
    assert error.kind == "race"


# -- warps ----------------------------------------------------------------------------------------------------


def test_lanes_that_are_missing_at_a_collective():
    source = "KERNEL f(int* A) {\n  if (thread_x != 7)\n    A[thread_x] = tc_shuffle_xor(thread_x, 1);\n}\n"
    error = caught(source, 32, ("A", filled(32, np.int32), "w"))
    assert (error.kind, error.line) == ("mismatched_collective", 4)
    assert "thread 7 has ended" in str(error)


def test_lanes_at_different_collectives():
    source = """
KERNEL f(int* A) {
  if (thread_x % 2) A[thread_x] = tc_shuffle_xor(thread_x, 2);
  else A[thread_x] = tc_shuffle_down(thread_x, 2);
}
"""
    error = caught(source, 32, ("A", filled(32, np.int32), "w"))
    assert error.kind == "mismatched_collective"
    assert "line 3" in str(error)
    assert "line 4" in str(error)


def test_lanes_at_a_shuffle_and_at_a_barrier():
    source = "KERNEL f() {\n  if (thread_x < 8)\n    tc_shuffle_xor(1, 1);\n  else\n    tc_barrier();\n}\n"
    assert caught(source, 32).kind == "mismatched_collective"


HALVES = """
KERNEL f(int* A) {
  const unsigned long long half = 0xffffffffull << (thread_x & 32);
  int sum = thread_x;
  for (int round = 0; round < 3; ++round) {
    sum += tc_shuffle_xor(sum, 32, 64);
    WHERE sum += tc_shuffle_xor(sum, 1, 32, half);
  }
  A[thread_x] = sum;
}
"""


def test_halves_of_a_wave_take_their_own_time():
    """A lane that waits for its whole wave does not hold up an operation of the other half, which comes there later."""
    out = filled(64, np.int32)
    for seed in range(8):
        run(HALVES.replace("WHERE", ""), 64, ("A", out, "w"), warp=64, seed=seed)
    expected = np.arange(64)
    for _ in range(3):
        expected = expected + expected[np.arange(64) ^ 32]
        expected = expected + expected[np.arange(64) ^ 1]
    assert out.tolist() == expected.tolist()


def test_a_half_of_a_wave_that_lacks_a_lane():
    source = HALVES.replace("WHERE", "if (thread_x != 40)")
    assert caught(source, 64, ("A", filled(64, np.int32), "w"), warp=64).kind == "mismatched_collective"


# -- the rest -------------------------------------------------------------------------------------------------


def test_an_assertion():
    source = "KERNEL f(const int* A) {\n  tc_assert(A[thread_x] >= -8, 3);\n}\n"
    run(source, 32, ("A", filled(32, np.int32), "r"))
    error = caught(source, 32, ("A", filled(32, np.int32) - 100, "r"))
    assert (error.kind, error.line) == ("assertion", 3)
    assert "assertion 3" in str(error)


def test_a_trap_does_not_end_the_process():
    source = "KERNEL f(const int* A, int* B) {\n  B[thread_x] = 7 / A[thread_x];\n}\n"
    error = caught(source, 1, ("A", np.zeros(1, np.int32), "r"), ("B", filled(1, np.int32), "w"))
    assert error.kind == "arithmetic"


def test_a_trap_in_work_that_lands_does_not_end_the_process():
    source = """
KERNEL f(int* A) {
  TC_SHARED(bar);
  tc_transaction_init(bar, 1);
  tc_transaction_arrive_expect(bar, 4);
  tc_async_work(bar, 4).writes(A, 4).start([=] { ((int*)8)[tc_sim_thread()] = 1; });
  tc_transaction_wait(bar, 0);
}
"""
    error = caught(source, 1, ("A", filled(1, np.int32), "rw"), shared=8)
    assert (error.kind, error.thread) == ("crash", 0)


def test_a_thread_that_needs_too_much_stack():
    source = """
KERNEL f(const int* A, int* B) {
  volatile int big[40000];
  for (int i = 0; i < 40000; ++i) big[i] = A[0];
  B[0] = big[A[0]];
}
"""
    error = caught(source, 1, ("A", filled(1, np.int32), "r"), ("B", filled(1, np.int32), "w"))
    assert error.kind == "stack_overflow"


def test_a_loop_that_never_ends():
    source = "KERNEL f(volatile int* A) {\n  while (A[0] == A[0]) {}\n}\n"
    error = caught(source, 2, ("A", filled(1, np.int32), "r"), seconds=0.3, seeds=[0])
    assert error.kind == "timeout"


def test_a_failed_run_leaves_the_tensors_alone_and_the_device_usable():
    b = filled(100)
    before = b.copy()
    library = compiled(COPY)
    caught(library, 32, *tensors(("A", 100, "r"), ("M", 64, "r")), ("B", b, "w"), 101, grid=(4,))
    np.testing.assert_array_equal(b, before)
    a = filled(100, seed=5)
    run(library, 32, ("A", a, "r"), ("M", a, "r"), ("B", b, "w"), 100, grid=(4,))
    np.testing.assert_array_equal(b, a)

"""The device's options, arguments and limits."""

from __future__ import annotations

import gc
import pickle
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from device_kit import caught, compiled, filled, line_of, needs_compiler, run

from tilecore.errors import ArgumentError, LaunchError
from tilecore.simulate.arguments import Tensor, regions_of, slot_of
from tilecore.simulate.banks import BankPhases, exclusive_ors
from tilecore.simulate.device import SimulatedDevice
from tilecore.simulate.errors import SimulationError
from tilecore.simulate.library import KernelLibrary

pytestmark = needs_compiler

STRIDED = """
KERNEL strided(float* A) {
  TC_SHARED(shared);
  float* tile = (float*)shared;
  for (int i = 0; i < 32; ++i) tile[i * 32 + thread_x] = A[i * 32 + thread_x];
  tc_warp_barrier();
  float total = 0.0f;
  for (int i = 0; i < 32; ++i) total += tile[thread_x * STEP + i];
  A[thread_x] = total;
}
"""


@pytest.mark.parametrize(("step", "ways"), [(32, 32), (16, 16), (31, 1), (0, 1)])
def test_bank_conflicts_by_line(step, ways):
    source = STRIDED.replace("STEP", str(step))
    ran = run(source, 32, ("A", filled(1024), "rw"), shared=4096, count_banks=True)
    by_line = {c.line: c for c in ran.banks}
    read, write = by_line[line_of(source, "total +=")], by_line[line_of(source, "tile[i * 32")]
    assert (read.requests, read.ways, read.worst) == (32, ways, ways)
    assert (write.requests, write.ways) == (32, 1)


def test_wide_moves_are_split_before_they_conflict():
    source = """
KERNEL f(float* A) {
  TC_SHARED(shared);
  tc_move<16>(shared + thread_x * 16, A + thread_x * 4);
  tc_warp_barrier();
  tc_move<16>(A + thread_x * 4, shared + thread_x % 8 * 64 + thread_x / 8 * 16);
}
"""
    ran = run(source, 32, ("A", filled(128), "rw"), shared=512, count_banks=True)
    by_line = {c.line: (c.passes, c.least_passes) for c in ran.banks}
    assert by_line[line_of(source, "shared + thread_x * 16, A")] == (4, 4)
    assert by_line[line_of(source, "A + thread_x * 4, shared")] == (16, 4)


def test_the_phases_of_other_devices():
    """Two phases of 16 lanes that are not neighbours, over 64 banks: a conflict of one device is none of another."""
    source = """
KERNEL f(float* A) {
  TC_SHARED(shared);
  tc_move<8>(shared + thread_x * 8, A + thread_x * 2);
  tc_warp_barrier();
  tc_move<8>(A + thread_x * 2, shared + (thread_x % 16 * 2 + thread_x / 16) * 8);
}
"""
    even = exclusive_ors(range(0, 32, 2), [1])
    phases = (BankPhases(8, even, banks=64, writes=False), BankPhases(4, even), BankPhases(8, even, reads=False))
    counted = []
    for options in ({}, {"bank_phases": phases}):
        ran = run(source, 32, ("A", filled(64), "rw"), shared=256, count_banks=True, **options)
        by_line = {c.line: (c.passes, c.least_passes) for c in ran.banks}
        counted.append([by_line[line_of(source, text)] for text in ("shared + thread_x * 8, A", "A + thread_x * 2, s")])
    assert counted == [[(2, 2), (4, 2)], [(4, 2), (2, 2)]]


def test_wrong_phases_are_refused():
    with pytest.raises(LaunchError, match="disjoint sets of lanes"):
        BankPhases(4, ((0, 1), (1, 2)))
    with pytest.raises(LaunchError, match="1 to 64 banks"):
        BankPhases(4, ((0, 1),), banks=128)


def test_print(capsys):
    source = 'KERNEL f(int n) {\n  if (thread_x == 3) tc_print("n = %d in thread %d\\n", n, thread_x);\n}\n'
    ran = run(source, 32, 17)
    assert ran.printed == capsys.readouterr().out == "n = 17 in thread 3\n"


def test_scalars_of_every_type():
    source = """
KERNEL f(double* O, signed char a, unsigned short b, int c, long long d, float e, double f, tc_half g, bool h) {
  const double all[8] = {double(a), double(b), double(c), double(d), double(e), f, double(g), double(h)};
  O[thread_x] = all[thread_x];
}
"""
    values = [(-5, "int8"), (65535, "uint16"), (-7, "int32"), (2**40, "int64"), (1.5, "float32"), (0.1, "float64")]
    values += [(-2.5, "float16"), (True, "bool")]
    o = np.zeros(8)
    run(source, 8, ("O", o, "w"), *(slot_of(*value) for value in values))
    assert o.tolist() == [float(value) for value, _ in values]
    assert slot_of(1.0, "bfloat16") == 0x3F80
    assert slot_of(2**64 - 1, "uint64") == -1


def test_tensors_that_overlap_share_memory():
    source = "KERNEL f(const float* A, float* B) {\n  B[thread_x] = A[thread_x] + 1.0f;\n}\n"
    a = filled(64)
    expected = a.copy()
    expected[32:] = a[:32] + 1
    run(source, 32, ("A", a[:32], "r"), ("B", a[32:], "w"))
    np.testing.assert_array_equal(a, expected)
    run(source, 32, ("A", a[:32], "r"), ("B", a[:32], "rw"))
    np.testing.assert_array_equal(a[:32], expected[:32] + 1)
    pieces = regions_of([Tensor.of("A", a[:40], "r"), Tensor.of("B", a[30:], "w"), Tensor.of("C", filled(4), "r")])
    assert sorted(len(piece.tensors) for piece in pieces) == [1, 2]


def test_strided_tensors():
    source = "KERNEL f(float* A, int step) {\n  A[thread_x * step] *= 2.0f;\n}\n"
    a = filled((8, 6))
    expected = a.copy()
    expected[:, 2] *= 2
    run(source, 8, ("A", a[:, 2], "rw"), 6)
    np.testing.assert_array_equal(a, expected)
    error = caught(source, 9, ("A", a[:, 2], "rw"), 6)
    assert (error.kind, error.index) == ("out_of_bounds", (8,))


def test_packed_elements_are_bytes():
    tensor = Tensor("Q", 4096, "int4", (3, 10), packed=2)
    assert tensor.item == 1
    assert tensor.span() == (4096, 4096 + 15)
    assert tensor.index_of(7) == (1, 2)


def test_empty_grids_and_tensors():
    source = "KERNEL f(float* A) {\n  A[thread_x] = 0.0f;\n}\n"
    assert run(source, 32, ("A", filled(0), "w"), grid=(0, 5)).counts == {}
    assert caught(source, 32, ("A", filled(0), "w")).kind in ("out_of_bounds", "wild_access")


def test_three_dimensions():
    source = """
KERNEL f(int* O) {
  const tc_dim3 t = tc_sim_thread_index(), b = tc_sim_block_index(), n = tc_sim_block_size(), g = tc_sim_grid_size();
  const int block = (b.z * g.y + b.y) * g.x + b.x, thread = (t.z * n.y + t.y) * n.x + t.x;
  O[block * 24 + thread] = 1000 * thread + (int)tc_sim_thread() - thread;
}
"""
    o = np.zeros((30, 24), np.int32)
    run(source, (2, 3, 4), ("O", o, "w"), grid=(5, 3, 2))
    assert (o == np.arange(24) * 1000).all()


def test_a_thousand_threads():
    source = "KERNEL f(int* A) {\n  TC_SHARED(s);\n  ((int*)s)[thread_x] = A[thread_x];\n  tc_barrier();\n"
    source += "  A[thread_x] = ((int*)s)[1023 - thread_x];\n}\n"
    a = filled(1024, np.int32)
    expected = a[::-1].copy()
    run(source, 1024, ("A", a, "rw"), shared=4096)
    np.testing.assert_array_equal(a, expected)


def test_limits_are_told():
    source = "KERNEL f() {}\n"
    with pytest.raises(LaunchError, match="too many threads"):
        run(source, 1025)
    with pytest.raises(LaunchError, match="too much shared memory"):
        run(source, 32, shared=1 << 20)
    with pytest.raises(LaunchError, match="cannot be simulated"):
        run(source, 32, grid=(1 << 23,))
    with pytest.raises(LaunchError, match="a power of two"):
        SimulatedDevice(warp=12)
    with pytest.raises(LaunchError, match="no kernel 'g'"):
        SimulatedDevice().run(compiled(source), "g", (1,), (1,), [])


def test_errors_travel_between_processes():
    source = "KERNEL f(float* A) {\n  A[thread_x] = 0.0f;  // model.py:7\n}\n"
    error = caught(source, 8, ("A", filled(4), "w"))
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, SimulationError)
    assert str(again) == str(error)
    assert (again.kind, again.line, again.user_line, again.access) == (
        error.kind, error.line, "model.py:7", error.access,
    )  # fmt: skip


def test_a_run_can_be_interrupted():
    source = "KERNEL f(volatile int* A) {\n  while (A[0] < 5) A[1] = A[1] + 1;\n}\n"

    def stop(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            run(source, 1, ("A", np.zeros(2, np.int32), "rw"), seconds=30.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_the_users_line_of_a_comment_above():
    source = """
KERNEL f(float* A) {
  // T.copy at model.py:12
  A[thread_x] = 0.0f;
  A[thread_x + 4] = 0.0f;
}
KERNEL g(float* A) {
  A[thread_x] = 0.0f;
}
"""
    library = compiled(source)
    assert library.user_line(line_of(source, "A[thread_x + 4]")) == "model.py:12"
    assert library.user_line(8) is None


def test_memory_that_numpy_may_not_write_is_not_written():
    """Such an array may lie in a bytes object, which Python shares."""
    frozen = np.frombuffer(b"abcdefgh", np.float32)
    assert Tensor.of("A", frozen, "r").address == frozen.ctypes.data
    for access in ("w", "rw"):
        with pytest.raises(ArgumentError, match="read-only"):
            Tensor.of("A", frozen, access)
    with pytest.raises(ArgumentError, match="no such access"):
        Tensor.of("A", frozen, "x")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the list of what a process has mapped")
def test_a_library_is_closed_when_nothing_uses_it():
    """A process that compiles kernels without end does not keep the code of those that it has dropped."""
    library, values = compiled("KERNEL f(float* A) { A[thread_x] = 3.0f; }"), filled(32)
    run(library, 32, ("A", values, "rw"))
    assert (values == 3).all()
    path = str(library.path)

    def is_mapped():
        gc.collect()
        return path in Path("/proc/self/maps").read_text()

    assert is_mapped()
    other = KernelLibrary(library.path, library.source, library.symbols, library.runtime)
    other.entry("f")
    del library
    assert is_mapped(), "the other object uses it"
    values[:] = 0
    run(other, 32, ("A", values, "rw"))
    assert (values == 3).all()
    del other
    assert not is_mapped()

"""Launches: arguments, several cores, the report of a run."""

from __future__ import annotations

import ctypes
import gc
import pickle
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from tile_tpu.chips import CHIPS, find_chip
from tile_tpu.simulate import SimulatedTpu, Tensor, TpuSimulationError, compile_kernel
from tile_tpu.simulate.arguments import pack, place
from tile_tpu.simulate.build import INCLUDE

from tilecore.errors import ArgumentError, LaunchError, TargetError, ToolchainError

HEAD = """#include "tpu_kernel.h"
typedef struct {{ {fields} }} arguments_t;
int f_kernel(const void *given) {{
  const arguments_t *q = (const arguments_t *)given;
  tpu_initialize();
  {body}
  tpu_poll();
  return 0;
}}
TPUKERNEL_FUNC_REGISTER(f_kernel)
"""


def kernel(fields: str, body: str):
    return compile_kernel(HEAD.format(fields=fields, body=body))


def test_a_large_product():
    """1024 x 1024 x 1024 on eight cores, in tiles with two slots: it is right, and takes seconds at most."""
    library = kernel(
        "unsigned long long a, b, c;",
        """const int n = 1024, tile = 128, at = tpu_workitem_index() * tile; const local_addr_t C = 0;
  const local_addr_t A[2] = {0x10000, 0x18000}, B[2] = {0x20000, 0x30000};
  dim4 sa = {1, tile, 1, tile}, sb = {1, tile, 1, n}, sc = {1, tile, 1, n}, g = {0, n, 0, 1};
  for (int k = 0; k <= n / tile; ++k) {
    tpu_parallel_start();
    if (k < n / tile) {
      tpu_gdma_cpy_S2L(A[k & 1], q->a + 2ull * ((unsigned long long)at * n + k * tile), &sa, NULL, &g, DT_FP16);
      tpu_gdma_cpy_S2L(B[k & 1], q->b + 2ull * k * tile * n, &sb, NULL, &g, DT_FP16);
    }
    if (k) tpu_bdc_fp_mm(C, A[(k - 1) & 1], B[(k - 1) & 1], tile, tile, n, DT_FP32, DT_FP16, k > 1);
    tpu_parallel_end();
  }
  tpu_gdma_cpy_L2S(q->c + 4ull * at * n, C, &sc, &g, NULL, DT_FP32);""",
    )
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((1024, 1024)).astype(np.float16) for _ in range(2))
    c = np.zeros((1024, 1024), np.float32)
    report = SimulatedTpu().run(library, "f_kernel", [a, b, Tensor.of("C", c, "w")], block_num=8)
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.astype(np.float32), atol=2e-3)
    chip = find_chip("bm1690")
    products_per_cycle = chip.cube_rows * chip.cube_columns * chip.depth_of[16]  # of one core, with 16-bit inputs
    assert report.matrix_bound == pytest.approx(1024**3 / 8 / products_per_cycle)
    assert report.cores[0].bytes_in == 2 * (128 * 1024 + 1024 * 1024)
    assert report.cores[0].bytes_out == 4 * 128 * 1024
    assert report.bytes_moved == 8 * (report.cores[0].bytes_in + report.cores[0].bytes_out)
    core = report.cores[0]
    assert core.regions == 9
    assert core.overlapped_cycles < core.region_serial_cycles
    assert report.total_cycles >= max(report.dma_bound, report.tensor_bound)
    assert core.total_cycles == pytest.approx(core.serial_cycles + core.overlapped_cycles + core.wait_cycles)
    assert report.functions["tpu_bdc_fp_mm"] == 64
    table = report.table()
    assert "core 7" in table
    assert "tpu_gdma_cpy_S2L" in table
    assert f"{report.total_cycles:,.0f} cycles" in table


def test_operands_that_share_a_bank_cost_a_pass_each():
    """x + y of 130 rows of 100 halves: 3 groups of 4 units of 32, 12 cycles; a bank's second operand takes 12 more."""
    body = """dim4 s = {1, 130, 1, 100}; scalar_t one = {.u16 = 0x3c00};
  tpu_bdc_set_C(0x0, one, &s, NULL, DT_FP16); tpu_bdc_set_C(%s, one, &s, NULL, DT_FP16);
  tpu_bdc_fp_add(%s, 0x0, %s, &s, NULL, NULL, NULL, DT_FP16);"""
    for second, result, conflicts, cycles in (
        ("0x4000", "0x8000", 0, 0), ("0x4000", "0x2000", 1, 12), ("0x2000", "0x3000", 1, 24), ("0x4000", "0x0", 1, 12),
    ):  # fmt: skip
        library = kernel("int nothing;", body % (second, result, second))
        (core,) = SimulatedTpu().run(library, "f_kernel", [ctypes.c_int(0)], block_num=1).cores
        assert (core.bank_conflicts, core.conflict_cycles) == (conflicts, cycles), (second, result)
        assert core.total_cycles == core.vector_cycles + cycles


def test_scalars_stand_at_their_alignment():
    library = kernel(
        "char c; unsigned long long out; short s; int n; char d; double x; float y;",
        """dim4 s = {1, 1, 1, 6}; scalar_t v; int values[] = {q->c, q->s, q->n, q->d, (int)(q->x * 8), (int)(q->y * 8)};
  for (int i = 0; i < 6; ++i) {
    dim4 one = {1, 1, 1, 1}; v.s32 = values[i]; tpu_gdma_set_C_local(4 * i, v, &one, NULL, DT_INT32);
  }
  tpu_gdma_cpy_L2S(q->out, 0, &s, NULL, NULL, DT_INT32);""",
    )
    out = np.zeros(6, np.int32)
    values = [ctypes.c_char(7), out, ctypes.c_short(-2), ctypes.c_int(99), ctypes.c_char(1), ctypes.c_double(2.5),
              ctypes.c_float(0.25)]  # fmt: skip
    SimulatedTpu().run(library, "f_kernel", values)
    assert out.tolist() == [7, -2, 99, 1, 20, 2]
    assert len(pack([ctypes.c_uint64(1), ctypes.c_int(2)])) == 16


COPY = """dim4 s = {1, 1, 1, 16}; int i = tpu_workitem_index();
  tpu_gdma_cpy_S2L(0, q->a + 64ull * %s, &s, NULL, NULL, DT_FP32); %s
  tpu_gdma_cpy_L2S(q->b + 64ull * %s, 0, &s, NULL, NULL, DT_FP32);"""


def test_cores_share_nothing_they_write():
    a = np.arange(64, dtype=np.float32)
    fields = "unsigned long long a, b;"
    b = np.zeros_like(a)
    report = SimulatedTpu().run(kernel(fields, COPY % ("i", "", "i")), "f_kernel", [a, b], 4)
    np.testing.assert_array_equal(a, b)
    assert len(report.cores) == 4
    with pytest.raises(TpuSimulationError, match="what another core writes") as caught:
        SimulatedTpu().run(kernel(fields, COPY % ("i", "", "0")), "f_kernel", [a, b], 4)
    assert caught.value.kind == "cores"
    assert caught.value.core == 1
    # one after the other over a barrier: each takes what its neighbour wrote
    chain = COPY % ("i", "", "i") + "tpu_poll(); %s tpu_gdma_cpy_S2L(0, q->b + 64ull * ((i + 1) %% 4), &s, NULL, NULL,"
    chain += " DT_FP32); tpu_gdma_cpy_L2S(q->a + 64ull * i, 0, &s, NULL, NULL, DT_FP32);"
    SimulatedTpu().run(kernel(fields, chain % "tpu_sync_all();"), "f_kernel", [a, b], 4)
    np.testing.assert_array_equal(a, np.roll(np.arange(64), -16))
    before = a.copy()
    with pytest.raises(TpuSimulationError) as caught:
        SimulatedTpu().run(kernel(fields, chain % ""), "f_kernel", [a, b], 4)
    assert caught.value.kind == "cores"
    np.testing.assert_array_equal(a, before)  # a failed run changes nothing


def test_a_barrier_that_some_cores_miss():
    with pytest.raises(TpuSimulationError) as caught:
        SimulatedTpu().run(kernel("int n;", "if (tpu_workitem_index()) tpu_sync_all(); (void)q;"), "f_kernel",
                           [ctypes.c_int(0)], 2)  # fmt: skip
    assert caught.value.kind == "deadlock"


def test_tensors_that_overlap_on_the_host_overlap_on_the_device():
    memory = np.arange(32, dtype=np.float32)
    SimulatedTpu().run(
        kernel("unsigned long long a, b;", COPY % ("0", "", "0")), "f_kernel", [memory[:16], memory[8:24]]
    )
    np.testing.assert_array_equal(memory[8:24], np.arange(16))
    whole = Tensor("all", 4096, 256, "r")
    blocks, addresses = place([whole, Tensor("part", 4096 + 64, 64, "w"), Tensor("none", 0, 0)], 0)
    assert [block.nbytes for block in blocks] == [256]
    assert addresses[1] == addresses[0] + 64


def test_wrong_arguments():
    library = kernel("unsigned long long a;", "(void)q;")
    with pytest.raises(ArgumentError, match="C-contiguous"):
        SimulatedTpu().run(library, "f_kernel", [np.zeros((4, 4))[:, ::2]])
    with pytest.raises(ArgumentError, match="argument 0 has a type"):
        SimulatedTpu().run(library, "f_kernel", [3])
    with pytest.raises(LaunchError, match="work items"):
        SimulatedTpu("bm1688").run(library, "f_kernel", [np.zeros(4)], 3)
    with pytest.raises(LaunchError, match="does not register the kernel 'g_kernel'"):
        SimulatedTpu().run(library, "g_kernel", [np.zeros(4)])
    with pytest.raises(TargetError, match="bm1684"):
        SimulatedTpu("bm1684").run(library, "f_kernel", [np.zeros(4)])


def test_unknown_functions_are_refused_when_compiled():
    with pytest.raises(ToolchainError, match=r"kernel.c:6:.*tpu_bdc_no_such_thing"):
        kernel("int n;", "tpu_bdc_no_such_thing(q->n);")


def test_printing(capsys):
    report = SimulatedTpu().run(kernel("int n;", 'printf("n is %d\\n", q->n);'), "f_kernel", [ctypes.c_int(42)])
    assert report.printed == "n is 42\n"
    assert capsys.readouterr().out == "n is 42\n"


def test_errors_travel_between_processes():
    error = TpuSimulationError("bad", kind="hazard", kernel="k", function="f", line=3, found="x")
    again = pickle.loads(pickle.dumps(error))
    assert (again.kind, again.kernel, again.function, again.line, str(again)) == ("hazard", "k", "f", 3, str(error))


@pytest.mark.parametrize("chip", CHIPS.values(), ids=lambda chip: chip.name)
def test_a_chip_answers_as_its_record_says(chip):
    out = np.zeros(9, np.int64)
    body = """scalar_t v; dim4 one = {1, 1, 1, 1};
  long long values[] = {tpu_npu_num(), tpu_bank_num(), tpu_eu_num(DT_FP32), tpu_eu_num(DT_FP16),
    tpu_get_ic_parallel(DT_FP16), tpu_local_mem_size_per_npu(), tpu_l2_sram_size(),
    (long long)tpu_l2_sram_get_start_addr(),
    (long long)tpu_global_mem_get_start_addr()};
  for (int i = 0; i < 9; ++i) for (int half = 0; half < 2; ++half) {
    v.u32 = (unsigned)(values[i] >> (32 * half));
    tpu_gdma_set_C_system(q->out + 8 * i + 4 * half, v, &one, NULL, DT_UINT32);
  }"""
    SimulatedTpu(chip).run(kernel("unsigned long long out;", body), "f_kernel", [out])
    assert out.tolist() == [
        chip.lanes, chip.banks, chip.eu_count(32), chip.eu_count(16), chip.depth_of[16], chip.lane_bytes, chip.l2_bytes,
        chip.l2_base, chip.global_base,
    ]  # fmt: skip


def test_every_declared_function_notes_its_line():
    declared = set()
    for name in ("tpu_kernel.h", "tpu_bdc.h", "tpu_dma.h"):
        text = re.sub(r"/\*.*?\*/", "", (INCLUDE / name).read_text(), flags=re.S)
        declared |= set(re.findall(r"^\w[\w ]*?\b(tpu_(?!sim)\w+)\(", text, re.M))
        declared |= set(re.findall(r"^TPU_\w+\((tpu_\w+)", text, re.M))
    noted = set(re.findall(r"#define (tpu_\w+)", (INCLUDE / "tpu_lines.h").read_text()))
    assert len(declared) > 120
    assert declared <= noted


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the list of what a process has mapped")
def test_a_library_is_closed_when_nothing_uses_it():
    """A process that compiles kernels without end does not keep the code of those that it has dropped."""
    library = kernel("unsigned long long a;", "/* nothing, and like no other kernel of these tests */")
    SimulatedTpu().run(library, "f_kernel", [np.zeros(4, np.float32)])
    path = str(library.path)
    assert path in Path("/proc/self/maps").read_text()
    del library
    gc.collect()
    assert path not in Path("/proc/self/maps").read_text()

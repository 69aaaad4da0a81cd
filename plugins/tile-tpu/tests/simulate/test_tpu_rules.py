"""Planted errors: each rule of the chip is broken once, and the error names the rule and the line."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from tile_tpu.simulate import SimulatedTpu, Tensor, TpuSimulationError, compile_kernel
from tile_tpu.simulate.errors import KINDS

SOURCE = """#include "tpu_kernel.h"
typedef struct {{ unsigned long long a, b, c; int n; }} arguments_t;
static const dim4 s = {{1, 70, 1, 32}}, one_row = {{1, 1, 1, 32}}, big = {{1, 130, 1, 32}};
static int planted(const arguments_t *q) {{
  const local_addr_t X = 0, Y = 0x4000, Z = 0x8000, W = 0xc000, lane = tpu_local_mem_size_per_npu();
  (void)X; (void)Y; (void)Z; (void)W; (void)lane;
{body} // kernel.py:77
  return 0;
}}
int broken_kernel(const void *v) {{
  tpu_initialize();
  planted((const arguments_t *)v);
  tpu_poll();
  return 0;
}}
TPUKERNEL_FUNC_REGISTER(broken_kernel)
"""
LINE = 7
LOAD = "tpu_gdma_cpy_S2L(X, q->a, &s, NULL, NULL, DT_FP16); tpu_gdma_cpy_S2L(Y, q->a, &s, NULL, NULL, DT_FP16);"
ADD = "tpu_bdc_fp_add({}, &s, {}, DT_FP16);"
EXP = "tpu_bdc_load_fp_exp_coeff(0x20000, DT_FP16);"
LOAD32 = "tpu_gdma_cpy_S2L(X, q->c, &s, NULL, NULL, DT_FP32);"
POOL = (
    "dim2 k = {{{k}}}, st = {{{st}}}, dl = {{1, 1}}; padding_t p = {{{p}}}; scalar_t v = {{0}};"
    " tpu_bdc_fp_max_pool2d(Z, X, &s, &k, &p, &st, &dl, DT_FP16, v);"
)

PLANTED = {
    # addresses, lanes, extents, strides
    "aligned-operand": ("alignment", LOAD + ADD.format("Z, X + 32, Y", "NULL, NULL, NULL"), "multiple of 64"),
    "element-alignment": (
        "alignment", LOAD + "dim4 r = {64, 32, 32, 1};" + ADD.format("Z + 1, X, Y", "&r, &r, &r"), "multiple of 2",
    ),
    "start-lanes": ("lane", LOAD + ADD.format("Z, X, lane + Y", "NULL, NULL, NULL"), "src1 in lane 1"),
    "product-in-lane-0": (
        "lane", LOAD + "tpu_bdc_fp_mm(Z, X, lane, 8, 32, 8, DT_FP32, DT_FP16, false);", "start in lane 0",
    ),
    "extent": (
        "extent", "dim4 none = {1, 0, 1, 4}; tpu_bdc_set_C(X, (scalar_t){0}, &none, NULL, DT_FP16);", "1 to 65535",
    ),
    "large-extent": (
        "extent", "dim4 wide = {1, 1, 1, 65536}; tpu_bdc_set_C(X, (scalar_t){0}, &wide, NULL, DT_INT8);", "65536",
    ),
    "stride": ("stride", LOAD + "dim4 r = {64, 1 << 18, 32, 1};" + ADD.format("Z, X, Y", "NULL, &r, NULL"), "262143"),
    "dst-stride-0": (
        "stride", LOAD + "dim4 r = {64, 32, 32, 0};" + ADD.format("Z, X, Y", "&r, NULL, NULL"), "stride 0",
    ),
    "bcast-beyond-lanes": (
        "extent", "tpu_gdma_cpy_S2L(X, q->a, &one_row, NULL, NULL, DT_FP16); tpu_bdc_npu_bcast(Y, X, &s, DT_FP16);",
        "beyond the last lane",
    ),
    "dma-bcast-beyond-lanes": (
        "extent", "tpu_gdma_channel_bcast_S2L(X, q->a, &s, NULL, NULL, DT_FP16);", "beyond the last lane",
    ),
    "local-overrun": (
        "out_of_bounds", "tpu_bdc_set_C(lane - 64, (scalar_t){0}, &s, NULL, DT_FP16);", "262144 bytes a lane",
    ),
    "beyond-local": ("out_of_bounds", "tpu_bdc_set_C(64 * lane, (scalar_t){0}, &s, NULL, DT_FP16);", "beyond local"),
    "global-overrun": ("out_of_bounds", "tpu_gdma_cpy_S2L(X, q->a, &big, NULL, NULL, DT_FP16);", "of A"),
    "global-underrun": ("out_of_bounds", "tpu_gdma_cpy_S2L(X, q->a - 2, &s, NULL, NULL, DT_FP16);", "bytes -2 to"),
    "global-store": (
        "out_of_bounds", LOAD + "tpu_gdma_cpy_L2S(q->b + 2, X, &s, NULL, NULL, DT_FP16);", "bytes 2 to 4481 of B",
    ),
    "l2-overrun": (
        "out_of_bounds",
        "tpu_gdma_cpy_S2S(tpu_l2_sram_get_start_addr() + tpu_l2_sram_size() - 64, q->a, &s, NULL, NULL, DT_FP16);",
        "L2",
    ),
    # memory that holds nothing
    "uninitialised": ("uninitialised", ADD.format("Z, X, Y", "NULL, NULL, NULL"), "lane 0, byte 0"),
    "uninitialised-lane": (
        # the row is in lane 0 only: stride.c = 0 is no broadcast
        "uninitialised",
        LOAD + "tpu_gdma_cpy_S2L(W, q->a, &one_row, NULL, NULL, DT_FP16); dim4 r = {0, 0, 32, 1};"
        + ADD.format("Z, X, W", "NULL, NULL, &r"), "lane 1",
    ),
    "work-buffer": (
        "uninitialised",
        LOAD + EXP + "tpu_bdc_fp_exp(Z, X, Y, W, 0x20000, &s, DT_FP16);" + ADD.format("Z, Z, Y", "NULL, NULL, NULL"),
        "local memory",
    ),
    "output-is-not-input": ("uninitialised", "tpu_gdma_cpy_S2L(X, q->b, &s, NULL, NULL, DT_FP16);", "B, byte 0"),
    "read-only": ("read_only", LOAD + "tpu_gdma_cpy_L2S(q->a, X, &s, NULL, NULL, DT_FP16);", "A"),
    # types
    "fp32-product": (
        "dtype", LOAD32 + "tpu_bdc_fp_mm(Z, X, X, 8, 32, 8, DT_FP32, DT_FP32, false);", "tpu_bdc_fp32_mm",
    ),
    "add-to-half": (
        "dtype", LOAD + "tpu_bdc_fp_mm(Z, X, Y, 8, 32, 8, DT_FP16, DT_FP16, true);", "adding to the result",
    ),
    "float-of-ints": ("dtype", LOAD + ADD.format("Z, X, Y", "NULL, NULL, NULL").replace("FP16", "INT16"), "DT_INT16"),
    "bits-of-floats": ("dtype", LOAD + "tpu_bdc_and(Z, X, Y, &s, NULL, NULL, NULL, DT_FP16);", "DT_FP16"),
    "int4": ("unsupported", "tpu_bdc_set_C(X, (scalar_t){0}, &s, NULL, DT_INT4);", "4-bit"),
    "logical-shift-of-signed": (
        "dtype", LOAD + "tpu_bdc_logical_shift_C(Z, X, 1, &s, NULL, NULL, DT_INT16, DT_INT16, RM_DOWN);", "unsigned",
    ),
    "cast-mode": (
        "argument", LOAD + "tpu_bdc_cast(Z, X, &s, NULL, NULL, DT_FP32, DT_FP16, RM_HALF_UP);", "RM_HALF_TO_EVEN",
    ),
    "sort-type": ("dtype", "tpu_hau_sort(q->b, q->a, 8, 8, true, DT_FP16);", "DT_FP16"),
    "gather-index": (
        "dtype", LOAD + "tpu_bdc_batch_bcast_w_gather(Z, X, Y, &s, 32, DT_FP16, DT_UINT32, false);", "DT_UINT16",
    ),
    "gather-neighbours": (
        "stride", "dim4 r = {0, 16, 0, 0};"
        " tpu_gdma_h_gather_S2L(Z, q->a, q->b, false, (scalar_t){.u16 = 0}, &s, 32, NULL, NULL, &r, DT_FP16);", "of 0",
    ),
    # places
    "cast-in-place": (
        "overlap", LOAD + "tpu_bdc_cast(X, X, &s, NULL, NULL, DT_FP32, DT_FP16, RM_HALF_TO_EVEN);", "wider type",
    ),
    "shifted-overlap": (
        "overlap", LOAD + "dim4 r = {64, 32, 32, 1};" + ADD.format("X + 2, X, Y", "&r, &r, &r"), "overlaps src0",
    ),
    "transpose-in-place": (
        "overlap", LOAD + "dim4 t = {1, 32, 1, 70}; tpu_bdc_cw_trans(X, X, &t, DT_FP16);", "in place",
    ),
    "product-in-place": (
        "overlap", LOAD + "tpu_bdc_fp_mm(X, X, Y, 8, 32, 32, DT_FP16, DT_FP16, false);", "on an operand",
    ),
    "exp-shares-work": ("overlap", LOAD + EXP + "tpu_bdc_fp_exp(Z, X, Y, Y, 0x20000, &s, DT_FP16);", "work0 and work1"),
    "silu-in-place": (
        "overlap", LOAD + EXP + "tpu_bdc_fp_silu(X, X, Y, W, 0x20000, 0, &s, DT_FP16);", "does not work in place",
    ),
    # functions
    "no-table": ("uninitialised", LOAD + "tpu_bdc_fp_exp(Z, X, Y, W, 0x20000, &s, DT_FP16);", "local memory"),
    "wrong-table": (
        "argument", LOAD + "tpu_bdc_load_fp_log_coeff(0x20000, DT_FP16);"
        " tpu_bdc_fp_exp(Z, X, Y, W, 0x20000, &s, DT_FP16);", "tpu_bdc_load_fp_exp_coeff(coeff, DT_FP16)",
    ),
    "pool-stride": ("argument", LOAD + POOL.format(k="1, 1", st="16, 1", p="0"), "1 to 15"),
    "pool-pad": ("argument", LOAD + POOL.format(k="1, 32", st="1, 1", p="0, 0, 16, 0"), "0 to 15"),
    "pool-kernel": ("extent", LOAD + POOL.format(k="1, 33", st="1, 1", p="0"), "larger than its input"),
    "division-steps": (
        "argument", LOAD + "tpu_bdc_fp_tunable_C_div(Z, X, (scalar_t){.u16 = 0x3c00}, &s, NULL, NULL, DT_FP16, 5);",
        "0 to 4",
    ),
    "gather-beyond": (
        "out_of_bounds",
        LOAD + "tpu_bdc_set_C(W, (scalar_t){.u16 = 40}, &s, NULL, DT_UINT16);"
        " tpu_bdc_batch_bcast_w_gather(Z, X, W, &s, 32, DT_FP16, DT_UINT16, false);", "below 32",
    ),
    "stub": ("unavailable", LOAD + "tpu_bdc_w_reduce(Z, X, &s, NULL, NULL, 1, DT_FP32, DT_FP16, 1, 0);", "only a stub"),
    "cw-rows": (
        "unsupported", "dim4 t = {1, 8, 2, 8}; tpu_bdc_cw_trans(Y, X, &t, DT_FP16);", "h = 2",
    ),
    # order
    "hazard-read": (
        "hazard", LOAD + "tpu_parallel_start(); tpu_gdma_cpy_S2L(X, q->a, &s, NULL, NULL, DT_FP16);"
        + ADD.format("Z, X, Y", "NULL, NULL, NULL") + "tpu_parallel_end();",
        "reads what tpu_gdma_cpy_S2L in line 7 writes",
    ),
    "hazard-overwrite": (
        "hazard", LOAD + "tpu_parallel_start();" + ADD.format("Z, X, Y", "NULL, NULL, NULL")
        + "tpu_gdma_cpy_S2L(Y, q->a, &s, NULL, NULL, DT_FP16); tpu_parallel_end();",
        "GDMA writes what tpu_bdc_fp_add in line 7 reads",
    ),
    "hazard-store": (
        "hazard", LOAD + "tpu_parallel_start();" + ADD.format("Z, X, Y", "NULL, NULL, NULL")
        + "tpu_gdma_cpy_L2S(q->b, Z, &s, NULL, NULL, DT_FP16); tpu_parallel_end();",
        "GDMA reads what tpu_bdc_fp_add in line 7 writes",
    ),
    "unpolled-sort": (
        "hazard", "tpu_hau_sort(q->b, q->c, 8, 8, true, DT_FP32);"
        " tpu_gdma_cpy_S2L(X, q->b, &one_row, NULL, NULL, DT_INT8);",
        "tpu_hau_poll()",
    ),
    "sdma-after-gdma": (
        "hazard", LOAD + "tpu_gdma_cpy_L2S(q->b, X, &s, NULL, NULL, DT_FP16);"
        " tpu_sdma_cpy_S2S(tpu_l2_sram_get_start_addr(), q->b, &s, NULL, NULL, DT_FP16);", "tpu_poll() between",
    ),
    "nested-region": ("protocol", "tpu_parallel_start(); tpu_parallel_start();", "inside another"),
    "end-without-start": ("protocol", "tpu_parallel_end();", "without tpu_parallel_start"),
    "barrier-in-region": ("protocol", "tpu_parallel_start(); tpu_sync_all();", "inside a parallel region"),
    "assertion": ("assertion", "TPUKERNEL_ASSERT(q->n == 4);", "q->n == 4"),
}  # fmt: skip


def run(body: str, chip: str = "bm1690", **options) -> object:
    a = np.linspace(-1, 1, 70 * 32).astype(np.float16)
    c = np.linspace(-1, 1, 70 * 32).astype(np.float32)
    arguments = [Tensor.of("A", a, "r"), Tensor.of("B", a.copy(), "w"), Tensor.of("C", c, "r"), ctypes.c_int(3)]
    library = compile_kernel(SOURCE.format(body=body))
    return SimulatedTpu(chip, **options).run(library, "broken_kernel", arguments)


@pytest.mark.parametrize("name", PLANTED)
def test_planted(name):
    kind, body, words = PLANTED[name]
    with pytest.raises(TpuSimulationError) as caught:
        run(body)
    error = caught.value
    assert (error.kind, error.line, error.kernel) == (kind, LINE, "broken_kernel"), error
    assert error.user_line == "kernel.py:77"
    assert error.function.startswith("tpu_")
    assert words in str(error), error


def test_the_same_without_the_mistakes():
    run(LOAD + EXP + ADD.format("Z, X, Y", "NULL, NULL, NULL") +
        "tpu_bdc_fp_exp(Z, Z, W, 0x10000, 0x20000, &s, DT_FP16);"
        " tpu_parallel_start(); tpu_gdma_cpy_S2L(X, q->a, &s, NULL, NULL, DT_FP16);"
        " tpu_bdc_fp_add_C(Y, Y, (scalar_t){0}, &s, NULL, NULL, DT_FP16); tpu_parallel_end();"
        " tpu_gdma_cpy_L2S(q->b, Z, &s, NULL, NULL, DT_FP16);")  # fmt: skip


def test_interleaved_accesses_are_no_hazard():
    """One engine accesses even elements, the other odd ones: the check is exact to the byte."""
    run(LOAD + "dim4 half = {1, 70, 1, 16}, r = {64, 32, 32, 2}; tpu_parallel_start();"
        " tpu_bdc_fp_add_C(X, X, (scalar_t){0}, &half, &r, &r, DT_FP16);"
        " tpu_gdma_cpy_S2L(X + 2, q->a, &half, &r, NULL, DT_FP16); tpu_parallel_end();")  # fmt: skip


@pytest.mark.parametrize(
    ("chip", "body", "missing"),
    [
        ("bm1684x", "tpu_sync_all();", "tpu_sync_all"),
        ("bm1684x", "(void)tpu_core_index();", "tpu_core_index"),
        ("bm1688", "(void)tpu_workitem_index();", "tpu_workitem_index"),
        ("bm1688", "(void)tpu_cube_shape(DT_FP16);", "tpu_cube_shape"),
        (
            "bm1684x",
            "var_context_t z = {0}; tpu_bdc_fp_mm_R_trans_with_bias(Z, X, Y, 8, 32, 8, DT_FP32, DT_FP16, DT_FP32, true,"
            " true, z, false);",
            "tpu_bdc_fp_mm_R_trans_with_bias",
        ),
    ],
)
def test_functions_that_a_chip_lacks(chip, body, missing):
    with pytest.raises(TpuSimulationError, match=f"{missing} is not there on {chip}") as caught:
        run(body, chip)
    assert caught.value.kind == "unavailable"


@pytest.mark.parametrize(
    ("body", "kind", "options"),
    [
        ("volatile int x = 1; while (x) { }", "timeout", {"seconds": 0.3}),
        ("for (;;) tpu_bdc_set_C(X, (scalar_t){0}, &one_row, NULL, DT_FP16);", "timeout", {"seconds": 0.3}),
        ("for (;;) tpu_bdc_set_C(X, (scalar_t){0}, &one_row, NULL, DT_FP16);", "timeout", {"command_limit": 1000}),
        ("*(volatile int *)8 = 1;", "crash", {}),
        ("volatile int zero = 0; volatile int never = 100 / zero; (void)never;", "crash", {}),
        ("abort();", "crash", {}),
    ],
)
def test_the_process_survives(body, kind, options):
    with pytest.raises(TpuSimulationError) as caught:
        run(body, **options)
    assert caught.value.kind == kind
    run("")  # and the next launch is well


def test_protocol():
    source = SOURCE.format(body=LOAD)
    a = np.zeros(70 * 32, np.float16)
    arguments = [Tensor.of("A", a, "r"), a, a, ctypes.c_int(0)]
    for gone, words in (("  tpu_initialize();\n", "before tpu_initialize"), ("  tpu_poll();\n", "no tpu_poll")):
        with pytest.raises(TpuSimulationError, match=r"protocol|" + words.replace("(", r"\(")) as caught:
            SimulatedTpu().run(compile_kernel(source.replace(gone, "")), "broken_kernel", arguments)
        assert caught.value.kind == "protocol"
        assert words in str(caught.value)


def test_every_kind_is_described():
    planted = {kind for kind, _, _ in PLANTED.values()} | {"timeout", "crash", "cores", "deadlock", "unavailable"}
    assert planted <= set(KINDS)
    assert set(KINDS) - planted <= {"interrupted", "out_of_memory"}

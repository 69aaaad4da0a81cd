"""The model of time: its rates give the published peaks, and its sums are those of small loops counted by hand."""

from __future__ import annotations

import pytest
from tile_hip.figures.assembly import Instruction
from tile_hip.figures.chips import chip_of
from tile_hip.figures.instruction_kinds import mix_of
from tile_hip.figures.matrix_rates import rate_of
from tile_hip.figures.model import NOTE, loop_time
from tile_hip.figures.occupancy import SIMDS

# TFLOP/s (TOP/s) of AMD's product pages and data sheets; of a MI250X's two GCDs one
PEAKS = {
    ("gfx90a", "v_mfma_f32_32x32x8f16"): 383.0 / 2,
    ("gfx90a", "v_mfma_f32_16x16x16bf16_1k"): 383.0 / 2,
    ("gfx90a", "v_mfma_f64_16x16x4f64"): 95.7 / 2,
    ("gfx942", "v_mfma_f32_32x32x8_f16"): 1307.4,
    ("gfx942", "v_mfma_f32_16x16x16_bf16"): 1307.4,
    ("gfx942", "v_mfma_f32_32x32x16_fp8_fp8"): 2614.9,
    ("gfx942", "v_mfma_i32_16x16x32_i8"): 2614.9,
    ("gfx942", "v_mfma_f32_16x16x8_xf32"): 653.7,
    ("gfx942", "v_mfma_f32_16x16x4_f32"): 163.4,
    ("gfx942", "v_mfma_f64_16x16x4_f64"): 163.4,
    ("gfx942", "v_smfmac_f32_16x16x32_f16"): 2614.9,
    ("gfx950", "v_mfma_f32_32x32x16_f16"): 2516.6,
    ("gfx950", "v_mfma_f32_16x16x32_bf16"): 2516.6,
    ("gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4"): 5033.2,
    ("gfx950", "v_mfma_scale_f32_32x32x64_f6f4"): 10066.3,
    ("gfx950", "v_mfma_f64_16x16x4_f64"): 78.6,
    ("gfx1100", "v_wmma_f32_16x16x16_f16"): 123.0,
    ("gfx1100", "v_wmma_i32_16x16x16_iu4"): 246.0,
    ("gfx1201", "v_wmma_f32_16x16x16_f16"): 195.0,
    ("gfx1201", "v_wmma_f32_16x16x16_fp8_bf8"): 389.0,
}


@pytest.mark.parametrize(("arch", "name"), PEAKS)
def test_the_rates_give_the_published_peaks(arch, name):
    rate, chip = rate_of(arch, name), chip_of(arch)
    peak = rate.flops / rate.cycles * SIMDS * chip.units * chip.gigahertz / 1000
    assert peak == pytest.approx(PEAKS[arch, name], rel=0.01)


def test_how_long_other_instructions_wait():
    assert rate_of("gfx942", "v_mfma_f32_32x32x8_f16").vector_wait == 4
    assert rate_of("gfx950", "v_mfma_f32_32x32x16_f16").vector_wait == 8, "16 bytes of a lane"
    assert rate_of("gfx942", "v_mfma_f32_32x32x2_f32").vector_wait == 64
    assert rate_of("gfx1100", "v_wmma_f32_16x16x16_f16").vector_wait == 32


@pytest.mark.parametrize("name", ["v_mfma_f32_32x32x8_f16", "v_mfma_f32_4x4x4_16b_f16", "v_add_f32", "v_wmma_f32"])
def test_what_has_no_published_rate(name):
    assert rate_of("gfx1100", name) is None
    time = loop_time("gfx1100", 32, mix_of([Instruction("v_wmma_f32_7x7x7_f16")]), 4)
    assert "the rate of v_wmma_f32_7x7x7_f16 on gfx1100 is not published" in str(time)


def loop(**counts: int):
    names = {
        "mfma": "v_mfma_f32_32x32x8_f16",
        "read": "ds_read_b128",
        "load": "global_load_dwordx4",
        "add": "v_add_f32",
    }
    names |= {"exp": "v_exp_f32", "pk": "v_pk_fma_f32", "salu": "s_add_u32", "wmma": "v_wmma_f32_16x16x16_f16"}
    return mix_of([Instruction(names[name]) for name, count in counts.items() for _ in range(count)])


def test_a_loop_that_the_matrix_unit_limits():
    time = loop_time("gfx942", 64, loop(mfma=32, read=16, add=30, salu=5), waves=2)
    assert time.busy["matrix"] == 2 * 32 * 32
    assert time.busy["vector"] == 2 * (32 * 4 + 30 * 4)
    assert time.busy["lds"] == 2 * SIMDS * 16 * 8
    assert time.busy["issue"] == 4 * 83, "each wave issues its own"
    assert (time.bound, time.fraction) == ("matrix", 1.0)
    # a wave alone: the cycles in which products hold vector instructions are part of the products'
    alone = 32 * 32 + 30 * 4 + 5 * 4 + SIMDS * 16 * 8
    assert time.fraction_alone == pytest.approx(32 * 32 / alone)
    # the products of two waves take longer than everything that one of them does
    assert time.fraction_in_order == 1.0
    one = loop_time("gfx942", 64, loop(mfma=32, read=16, add=30, salu=5), waves=1)
    assert (one.fraction, one.fraction_in_order) == (1.0, pytest.approx(1024 / (1024 + 30 * 4 + 5 * 4 + 16 * 16)))
    assert NOTE in str(time)
    assert NOTE in time.as_data()["note"]


def test_a_loop_that_the_lds_limits():
    time = loop_time("gfx942", 64, loop(mfma=4, read=16), waves=2)
    assert (time.bound, time.cycles) == ("lds", 2 * SIMDS * 16 * 8)
    assert time.fraction == pytest.approx(4 * 32 / (SIMDS * 16 * 8))
    # twice the banks for reads of 16 bytes
    assert loop_time("gfx950", 64, loop(mfma=4, read=16), waves=2).cycles == time.cycles / 2


def test_writes_of_the_lds():
    """The examples of AMD's page: a store of 4 bytes takes 8 cycles of a port, of 16 bytes 20; there are two ports."""
    for name, cycles in (("ds_write_b32", 8), ("ds_write_b128", 20)):
        assert loop_time("gfx942", 64, mix_of([Instruction(name)]), waves=1).busy["lds"] == SIMDS * cycles / 2


def test_narrow_formats_of_one_instruction():
    operands = "v[0:3], v[4:11], v[12:19], v[0:3]"
    for modifiers, cycles in ((" cbsz:4 blgp:4", 16), (" cbsz:4", 32), ("", 32), (" cbsz:2 blgp:3", 16)):
        mix = mix_of([Instruction("v_mfma_f32_16x16x128_f8f6f4", operands + modifiers)])
        assert loop_time("gfx950", 64, mix, waves=1).busy["matrix"] == cycles


def test_vector_instructions_and_products():
    """On CDNA they overlap but for 4 cycles of a product; packed ones do not; on RDNA none do."""
    time = loop_time("gfx942", 64, loop(mfma=8, add=80, exp=4), waves=1)
    assert (time.bound, time.cycles) == ("issue", 4 * 92) or time.busy["vector"] == 8 * 4 + 80 * 4 + 4 * 16
    assert time.busy["matrix"] == 8 * 32
    assert loop_time("gfx942", 64, loop(mfma=8, pk=10), waves=1).busy["matrix"] == 8 * 32 + 10 * 4
    assert loop_time("gfx90a", 64, mix_of([Instruction("v_pk_fma_f32")] * 10), waves=1).busy["matrix"] == 0
    rdna = loop_time("gfx1100", 32, loop(wmma=8, add=80, exp=4), waves=2)
    assert rdna.busy["vector"] == 2 * (8 * 32 + 80)
    assert rdna.busy["transcendental"] == 2 * 4 * 4
    assert rdna.fraction == pytest.approx(256 / 336)
    assert loop_time("gfx1100", 64, loop(add=80), waves=2).busy["vector"] == 2 * 80 * 2, "two passes of 32 lanes"


def test_a_loop_that_memory_limits():
    time = loop_time("gfx942", 64, loop(load=8, add=8), waves=4)
    assert time.bound == "memory"
    assert time.cycles == pytest.approx(4 * SIMDS * 8 * 64 * 16 / (5300 / (2.1 * 304)))
    assert time.fraction == 0
    with_products = loop_time("gfx942", 64, loop(load=8, mfma=1), waves=4)
    assert with_products.bound == "cache", "tiles of products are read from the cache"


def test_where_there_is_no_model():
    assert "it knows no product with gfx1103" in str(loop_time("gfx1103", 32, loop(add=1), 4))
    assert "no block of the kernel fits" in str(loop_time("gfx942", 64, loop(add=1), 0))
    assert loop_time("gfx942", 64, mix_of([]), 4).fraction == 0

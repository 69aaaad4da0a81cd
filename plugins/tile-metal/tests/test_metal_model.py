"""The model of time: rates give published peaks, sums are those of loops counted by hand; estimates of texts."""

from __future__ import annotations

import pytest
from tile_metal.figures import compiled, remarks
from tile_metal.figures.chips import ENOUGH_SIMDGROUPS, LANES, SCHEDULERS, Chip, complex_cycles, rates_of
from tile_metal.figures.estimates import estimates
from tile_metal.figures.instructions import Instruction, kernels_of, loops_of, main_part, mix_of
from tile_metal.figures.model import NOTE, loop_time

from tilecore.errors import ToolchainError

# TFLOP/s of float32: philipturner/metal-benchmarks, "Overview"; of the M4 in reports of users
PEAKS = {"apple7": 2.617, "apple8": 3.579, "apple9": 4.6}
FLOPS_OF_A_PRODUCT = 2 * 8 * 8 * 8


@pytest.mark.parametrize("family", PEAKS)
def test_the_chips_have_the_published_peaks(family):
    rates = rates_of(family)
    assert rates.chip.flops == pytest.approx(PEAKS[family], rel=0.01)
    # 128 multiplications and additions a cycle at the peak; whole kernels were measured at 102
    for cycles in rates.matrix.values():
        per_cycle = SCHEDULERS * FLOPS_OF_A_PRODUCT / 2 / cycles
        assert 102 < per_cycle < 128
    assert Chip("M1 Max", 32, 1.296, 400).flops == pytest.approx(10.617, rel=0.01)


def loop(**counts: int):
    names = {
        "product": Instruction("metal_matrix_half", "matrix"),
        "add": Instruction("add.rn.f32", "float"),
        "integer": Instruction("add.s32", "integer"),
        "long": Instruction("add.s64", "integer"),
        "shift": Instruction("shl.b32", "complex"),
        "exp2": Instruction("metal_precise_exp2", "complex"),
        "to_half": Instruction("cvt.rn.f16.f32", "conversion"),
        "to_bfloat": Instruction("cvt.rn.bf16.f32", "conversion"),
        "to_float": Instruction("cvt.rn.f32.s32", "conversion"),
        "shuffle": Instruction("metal_shuffle_xor", "shuffle"),
        "read": Instruction("ld.shared.b32", "threadgroup_load", 4),
        "load": Instruction("ld.global.v4.b32", "device_load", 16),
        "barrier": Instruction("metal_barrier", "barrier"),
        "tanh": Instruction("metal_precise_tanh", "complex"),
    }
    return mix_of([names[name] for name, count in counts.items() for _ in range(count)])


def test_a_loop_of_products():
    mix = loop(product=64, read=32, load=4, barrier=2, integer=10, shift=2)
    old, new = loop_time("apple7", mix), loop_time("apple9", mix)
    # before family 9 integers use the ALUs of the products
    assert (old.busy["float"], new.busy["float"], new.busy["integer"]) == (64 * 18 + 10, 64 * 18, 10)
    assert old.busy["threadgroup"] == SCHEDULERS * LANES * 32 * 4 / 64
    assert old.busy["cache"] == SCHEDULERS * LANES * 4 * 16 / 32
    assert (old.bound, new.bound, new.fraction) == ("matrix", "matrix", 1.0)
    assert old.fraction == pytest.approx(1152 / 1162)
    issued = 1152 + 10 + 2 * 4 + 32 + 4 + 2
    assert old.issue_share == new.issue_share == pytest.approx(1152 / issued)
    assert old.count_share == pytest.approx(64 / 114)
    assert old.fraction_alone == pytest.approx(1152 / (issued + old.busy["threadgroup"] + old.busy["cache"]))
    assert NOTE in str(old)
    assert NOTE in old.as_data()["note"]


def test_a_loop_that_threadgroup_memory_limits():
    time = loop_time("apple9", loop(product=4, read=32))
    assert (time.bound, time.cycles) == ("threadgroup", 256)
    assert time.fraction == pytest.approx(72 / 256)


def test_the_slower_part_conversions_and_lanes():
    time = loop_time("apple7", loop(exp2=10, shift=3, to_float=2, to_half=5, to_bfloat=2, long=2, shuffle=4))
    assert time.busy["complex"] == 10 * 4 + 3 * 4 + 2 * 4
    assert time.busy["float"] == 5 + 2 * 8 + 2 * 4
    assert time.busy["shuffle"] == 8
    assert loop_time("apple9", loop(to_bfloat=2)).busy["float"] == 2, "an instruction from family 9 on"


def test_a_loop_that_memory_limits():
    time = loop_time("apple7", loop(load=8, add=8))
    assert (time.bound, time.fraction) == ("memory", 0)
    assert time.cycles == pytest.approx(SCHEDULERS * LANES * 8 * 16 / (68 / (1.278 * 8)))
    assert "no matrix products" in str(time)


def test_where_there_is_no_model():
    assert "no rates of apple10 are published" in str(loop_time("apple10", loop(add=1)))
    assert "the rate of metal_precise_tanh is not published" in str(loop_time("apple7", loop(tanh=1)))
    assert complex_cycles("metal_precise_exp10") == 4
    assert complex_cycles("div.rn.f32") == 30.65


ASSEMBLY = """
.func  (.param .align 8 .b8 func_retval0[8]) metal_matrix_half
(
	.param .b32 metal_matrix_half_param_0
)
;
.visible .func k(
	.param .b64 k_param_0
)
{
	.reg .b32 	%r<9>;
	mov.u32 	%r1, 0;
$L__BB0_1:
	ld.global.v4.u32 	{%r2, %r3, %r4, %r5}, [%rd1+16];
	@%p3 bra 	$L__BB0_3;
$L__BB0_2:                              // a loop inside
	{ // callseq 0, 0
	.param .b32 param0;
	st.param.f32 	[param0+0], %f1;
	call.uni (retval0),
	metal_matrix_half,
	(
	param0
	);
	ld.param.v2.f32 	{%f1, %f2}, [retval0+0];
	} // callseq 0
	add.s32 	%r1, %r1, 1;
	@%p1 bra 	$L__BB0_2;
$L__BB0_3:
	st.shared.b16 	[%rd2], %rs1;
	@%p2 bra 	$L__BB0_1;
	ret;
}
"""


def test_instructions_and_loops_of_clangs_text():
    instructions = kernels_of(ASSEMBLY)["k"]
    assert [i.kind for i in instructions if i.kind] == [
        "device_load", "branch", "matrix", "integer", "branch", "threadgroup_store", "branch",
    ]  # fmt: skip
    outer, inner = loops_of(instructions)
    assert outer.contains(inner)
    mix, has_loop = main_part(instructions)
    assert has_loop
    assert dict(mix.kinds) == {"matrix": 1, "integer": 1, "branch": 1}
    whole = mix_of(instructions)
    assert (whole.bytes_of("device_load"), whole.bytes_of("threadgroup_store")) == (16, 2)


SOURCE = """#include "tilecore_metal.h"

[[kernel, max_total_threads_per_threadgroup(128)]] void k(device const half* A [[buffer(0)]]) {
  alignas(16) threadgroup uchar shared[8192];  // 8192 bytes
  float sums[32];
  for (int k = 0; k < 4; ++k) {
    alignas(8) half a[16];
    #pragma unroll
    for (int step = 0; step < 2; ++step) {
      #pragma unroll
      for (int i = 0; i < 4; ++i) {
        tc_multiply_add<half, 1, 2, 2>(sums, a, a);
        tc_multiply_add_transposed<half>(sums, a, a);
      }
    }
  }
  if (A) {
    alignas(4) half out[2];
  }
}
"""


def test_estimates_of_a_text():
    estimate = estimates(SOURCE)["k"]
    assert (estimate.threadgroup_bytes, estimate.registers) == (8192, (32 * 4 + 16 * 2) // 2)
    assert estimate.products == 2 * 4 * (4 + 1)
    assert estimate.threads_by_registers() == 208 * 1024 // 160 // 64 * 64
    assert estimate.threadgroups_by_memory("apple7") == 60 // 8
    assert estimate.threadgroups_by_memory("apple9") is None, "how much a core has is not published"
    facts = remarks.facts_of(SOURCE, "apple7", {"k": 128})["k"]
    assert facts["figures"] == {"16-bit_registers_of_arrays_by_estimate": 80, "matrix_products_in_the_main_loop": 40}
    assert facts["slow"] == []
    registers, memory = facts["notes"]
    assert "80 registers of 16 bits or more, with which a core runs at most 1280 threads, 10 threadgroups" in registers
    assert "8192 bytes of threadgroup memory: fits 7 times" in memory


@pytest.mark.parametrize(("registers", "threads"), [(104, 1024), (256, 384)])
def test_the_threads_of_a_core_are_those_that_were_measured(registers, threads):
    """philipturner/metal-benchmarks: 384 to 3072 threads; 208 KB of registers."""
    estimate = estimates(SOURCE.replace("sums[32]", f"sums[{(registers - 16) // 2}]"))["k"]
    assert (estimate.registers, estimate.threads_by_registers()) == (registers, threads)
    small = estimates(SOURCE.replace("sums[32]", "sums[4]"))["k"]
    assert small.threads_by_registers() == 3072 > ENOUGH_SIMDGROUPS * LANES


def test_too_many_registers_and_missing_clang(monkeypatch):
    text = SOURCE.replace("sums[32]", "sums[200]")
    (line,) = remarks.facts_of(text, "apple9", {"k": 128})["k"]["slow"]
    assert "an estimate: the arrays of a thread take 416 registers of 16 bits or more, and it has at most 256" in line
    compiled.clang.cache_clear()
    monkeypatch.setattr(compiled.shutil, "which", lambda name: None)
    with pytest.raises(ToolchainError, match="there is no such clang"):
        compiled.clang()
    compiled.clang.cache_clear()

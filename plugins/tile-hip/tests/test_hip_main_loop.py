"""Main loops and instruction counts: of assembly that clang writes, and of control flow written here."""

from __future__ import annotations

import subprocess

import pytest
from tile_hip import compilers, toolchain
from tile_hip.figures import assembly
from tile_hip.figures.analysis import assembly_text
from tile_hip.figures.instruction_kinds import KINDS, kind_of, mix_of
from tile_hip.figures.loops import flow, loops_of, main_loop

from tilecore.contract.records import BuildRequest
from tilecore.errors import ToolchainError
from tilecore.plugins import manager

MULTIPLY = {
    "gfx90a": "f32_32x32x8f16",
    "gfx942": "f32_32x32x8f16",
    "gfx1100": "f32_16x16x16_f16_w32",
    "gfx1201": "f32_16x16x16_f16_w32_gfx12",
}
# three products in the inner loop, one in the outer; the loads are conditional, so that the loop has several blocks
LOOPS = """#include "tilecore_hip.h"
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef _Float16 half8 __attribute__((ext_vector_type(8)));
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));
typedef float float16 __attribute__((ext_vector_type(16)));
TC_FN RESULT multiply(OPERAND a, OPERAND b, RESULT c) { return PRODUCT; }
extern "C" __global__ void __launch_bounds__(64) nested(const OPERAND* A, RESULT* C, int n, int m) {
  __shared__ OPERAND tile[256];
  RESULT c = {}, d = {};
  OPERAND next = A[threadIdx.x];
  for (int i = 0; i < n; ++i) {
    tile[threadIdx.x] = A[i * 64 + threadIdx.x];
    __builtin_amdgcn_s_barrier();
    d = multiply(tile[255 - threadIdx.x], tile[threadIdx.x], d);
#pragma nounroll
    for (int k = 0; k < m; ++k) {
      OPERAND a = tile[(k * 7 + threadIdx.x) % 256], b = tile[(k + threadIdx.x) % 256];
      c = multiply(a, b, c);
      if (k % 3 == blockIdx.y) {
        next = A[k * 64 + threadIdx.x];
        asm volatile("" ::: "memory");
      }
      c = multiply(next, b, c);
      c = multiply(a, next, c);
    }
  }
  C[threadIdx.x] = c + d;
}
extern "C" __global__ void __launch_bounds__(64) straight(const OPERAND* A, RESULT* C) {
  C[threadIdx.x] = multiply(A[threadIdx.x], A[threadIdx.x + 64], C[threadIdx.x]);
}
extern "C" __global__ void __launch_bounds__(64) deepest(float* A, int n) {
  for (int i = 0; i < n; ++i) {
    A[i] = 1.0f;
#pragma nounroll
    for (int k = 0; k < n; ++k) A[k * 64 + threadIdx.x] = __builtin_amdgcn_exp2f(A[k]) * A[i];
  }
}
"""


def request(arch: str) -> BuildRequest:
    _, target = manager.resolve(f"hip -arch={arch}")
    cdna, name = arch.startswith("gfx9"), MULTIPLY[arch]
    operand = "half4" if cdna else "half8" if arch.startswith("gfx12") else "half16"
    call = f"mfma_{name}(a, b, c, 0, 0, 0)" if cdna else f"wmma_{name}(a, b, c)"
    source = LOOPS.replace("PRODUCT", f"__builtin_amdgcn_{call}").replace("OPERAND", operand)
    source = source.replace("RESULT", "float16" if cdna else "float8")
    return BuildRequest("kernel", source, ("nested", "straight", "deepest"), target, adapter="hip")


def without_padding(body: list[assembly.Instruction]) -> list[tuple[str, int | None]]:
    """(name, target) of each instruction but the s_nop with which the linker fills up to the start of a loop."""
    number = [0]
    for instruction in body:
        number.append(number[-1] + (instruction.name != "s_nop"))
    return [(i.name, None if i.target is None else number[i.target]) for i in body if i.name != "s_nop"]


def test_loops_of_clangs_code(arch):
    """Assembly and disassembly give the same instructions, and the same loops."""
    asked = request(arch)
    binary, _ = toolchain.build(asked)
    written = assembly.kernels_of_assembly(assembly_text(asked))
    try:
        read = assembly.disassembled(binary, arch)
    except ToolchainError as error:
        pytest.skip(error.message)
    assert {name: without_padding(body) for name, body in read.items()} == {
        name: without_padding(body) for name, body in written.items()
    }
    graph = flow(written["nested"])
    loop = main_loop(graph)
    assert loop is not None
    assert (loop.depth, loop.inner) == (2, 0)
    assert len(loop.blocks) >= 3, "the conditional load is a block of its own"
    mix = mix_of(graph.of(loop.blocks))
    assert mix.kinds["matrix"] == 3
    assert set(mix.matrix) <= {"v_mfma_f32_32x32x8f16", "v_mfma_f32_32x32x8_f16", "v_wmma_f32_16x16x16_f16"}
    assert mix.kinds["global_load"] >= 1
    assert mix.kinds["lds_read"] >= 2
    assert sum(mix.waits.values()) >= 1
    outer = [other for other in loops_of(graph) if loop.blocks < other.blocks]
    assert [other.depth for other in outer] == [1]
    assert mix_of(graph.of(outer[0].blocks)).kinds["matrix"] == 4
    assert main_loop(flow(written["straight"])) is None
    assert mix_of(written["straight"]).kinds["matrix"] == 1
    deepest = flow(written["deepest"])
    inner = main_loop(deepest)
    assert inner is not None
    assert inner.depth == 2
    assert mix_of(deepest.of(inner.blocks)).kinds["transcendental"] == 1


def program(text: str) -> list[assembly.Instruction]:
    lines = "\n".join(line if line.endswith(":") else f"\t{line}" for line in text.strip().splitlines())
    return assembly.kernels_of_assembly(f"\t.type\tk,@function\nk:\n{lines}\n.Lfunc_end0:\n")["k"]


def test_the_loop_with_most_matrix_instructions():
    """Two loops behind each other, the first with a loop without products inside."""
    graph = flow(
        program("""
s_mov_b32 s0, 0
.LBB0_1:
v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]
.LBB0_2:
s_sleep 1
s_cbranch_scc0 .LBB0_2
v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]
v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]
s_cbranch_scc1 .LBB0_1
.LBB0_3:
v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]
s_cbranch_scc1 .LBB0_3
s_endpgm
""")
    )
    loop = main_loop(graph)
    assert loop is not None
    assert (loop.depth, loop.inner) == (1, 1)
    assert mix_of(graph.of(loop.blocks)).kinds["matrix"] == 3


def test_code_that_is_placed_outside_of_its_loop():
    """Blocks of a loop may stand behind its last branch, and jump back."""
    graph = flow(
        program("""
.LBB0_1:
v_add_f32 v0, v0, v1
s_cbranch_scc1 .LBB0_3
.LBB0_2:
s_cbranch_vccnz .LBB0_1
s_endpgm
.LBB0_3:
v_mul_f32 v0, v0, v1
v_exp_f32 v0, v0
s_branch .LBB0_2
""")
    )
    loop = main_loop(graph)
    assert loop is not None
    mix = mix_of(graph.of(loop.blocks))
    assert (mix.kinds["valu"], mix.kinds["transcendental"], mix.kinds["branch"]) == (2, 1, 3)


def test_a_branch_that_is_too_long_for_its_field():
    code = program("""
.LBB0_1:
v_add_f32 v0, v0, v1
s_cbranch_scc1 .LBB0_2
s_getpc_b64 s[2:3]
s_add_u32 s2, s2, (.LBB0_1-.Lpost_getpc0)&4294967295
s_addc_u32 s3, s3, (.LBB0_1-.Lpost_getpc0)>>32
s_setpc_b64 s[2:3]
.LBB0_2:
s_endpgm
""")
    loop = main_loop(flow(code))
    assert loop is not None
    assert mix_of(flow(code).of(loop.blocks)).kinds["valu"] == 1


def test_no_instructions_and_no_loops():
    assert main_loop(flow([])) is None
    assert main_loop(flow(program("s_endpgm"))) is None


# of AMD's ISA documents
EXAMPLES = {
    "v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]": ("matrix", 0),
    "v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[6:9], v10": ("matrix", 0),
    "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]": ("matrix", 0),
    "v_accvgpr_read_b32 v0, a0": ("valu", 0),
    "v_rcp_f32 v0, v1": ("transcendental", 0),
    "v_exp_f16 v0, v1": ("transcendental", 0),
    "v_s_exp_f32 s0, s1": ("transcendental", 0),
    "v_dual_fmac_f32 v0, v1, v2 :: v_dual_mul_f32 v3, v4, v5": ("valu", 0),
    "ds_read_b128 v[0:3], v4 offset:16": ("lds_read", 16),
    "ds_load_b64 v[0:1], v4": ("lds_read", 8),
    "ds_read2_b32 v[0:1], v4 offset1:1": ("lds_read", 8),
    "ds_read2st64_b64 v[0:3], v4 offset1:1": ("lds_read", 16),
    "ds_read_b64_tr_b16 v[0:1], v4": ("lds_read", 8),
    "ds_read_u16_d16 v0, v4": ("lds_read", 2),
    "ds_write_b96 v4, v[0:2]": ("lds_write", 12),
    "ds_store_2addr_b64 v4, v[0:1], v[2:3]": ("lds_write", 16),
    "ds_load_2addr_stride64_b32 v[0:1], v4": ("lds_read", 8),
    "ds_add_f32 v0, v1": ("lds_atomic", 4),
    "ds_bpermute_b32 v0, v1, v2": ("lane_exchange", 4),
    "global_load_dwordx4 v[0:3], v4, s[0:1]": ("global_load", 16),
    "global_load_ushort v0, v4, s[0:1]": ("global_load", 2),
    "buffer_load_b128 v[0:3], v4, s[8:11], 0 offen": ("global_load", 16),
    "global_store_b8 v0, v1, s[0:1]": ("global_store", 1),
    "global_atomic_add_f32 v0, v1, s[0:1]": ("global_atomic", 4),
    "global_load_lds_dwordx4 v[0:1], off": ("lds_direct_load", 16),
    "buffer_load_dword v0, s[8:11], 0 offen lds": ("lds_direct_load", 4),
    "flat_load_dword v0, v[1:2]": ("flat", 4),
    "scratch_store_dwordx2 off, v[0:1], off offset:8": ("scratch", 8),
    "s_load_dwordx4 s[0:3], s[4:5], 0x0": ("scalar_load", 0),
    "s_add_u32 s0, s1, s2": ("salu", 0),
    "s_waitcnt vmcnt(0) lgkmcnt(1)": ("wait", 0),
    "s_wait_dscnt 0x0": ("wait", 0),
    "s_barrier": ("barrier", 0),
    "s_barrier_wait -1": ("barrier", 0),
    "s_cbranch_scc1 .LBB0_1": ("branch", 0),
    "s_nop 1": ("other", 0),
    "s_delay_alu instid0(VALU_DEP_1)": ("other", 0),
}


@pytest.mark.parametrize("text", EXAMPLES)
def test_kinds_and_widths(text):
    (instruction,) = program(text)
    kind, width = EXAMPLES[text]
    assert kind_of(instruction) == kind
    assert kind in KINDS
    assert mix_of([instruction]).widths == ({kind: {width: 1}} if width else {})


def test_waits_and_stalls():
    lines = ("s_waitcnt vmcnt(0) lgkmcnt(1)", "s_waitcnt lgkmcnt(1)", "s_waitcnt_vscnt null, 0x0", "s_wait_loadcnt 0x3")
    mix = mix_of(program("\n".join([*lines, "s_nop 3"])))
    assert mix.waits == {"vmcnt(0)": 1, "lgkmcnt(1)": 2, "vscnt(0)": 1, "loadcnt(3)": 1}
    assert mix.stalls == 4


def test_scratch_of_gfx90a_is_in_buffers():
    (instruction,) = program("buffer_store_dword v0, off, s[0:3], 0 offset:4")
    assert kind_of(instruction) == "global_store"
    assert kind_of(instruction, scratch_in_buffers=True) == "scratch"
    if not any("gfx90a" in c.architectures() and not c.is_zig for c in compilers.installed()):
        pytest.skip("there is no clang for gfx90a")
    _, target = manager.resolve("hip -arch=gfx90a")
    source = '#include "tilecore_hip.h"\nextern "C" __global__ void k(float* A, int n) { float s[64]; '
    source += "for (int i = 0; i < n; ++i) s[int(A[i])] = A[i + 1]; A[0] = s[n]; }\n"
    asked = BuildRequest("kernel", source, ("k",), target, adapter="hip")
    try:
        (body,) = assembly.kernels_of_assembly(assembly_text(asked)).values()
    except subprocess.SubprocessError as error:
        pytest.skip(str(error))
    assert mix_of(body, scratch_in_buffers=True).kinds["scratch"] >= 2

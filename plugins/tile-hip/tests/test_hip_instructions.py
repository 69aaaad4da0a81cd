"""The instructions that clang selects for functions of the header: exchanges between lanes, atomics, LDS."""

from __future__ import annotations

import re

import pytest
from assembly import assembly, kernels, static_bytes
from tile_hip import compilers

MASKS = (1, 2, 4, 8, 16, 32)
KERNEL = 'extern "C" __global__ void __launch_bounds__(64)'
EXCHANGES = "\n".join(
    [
        '#include "tilecore_hip.h"',
        *(
            f"{KERNEL} exchange_{mask}(const {kind}* __restrict__ x, {kind}* __restrict__ y) "
            f"{{ y[threadIdx.x] = tc_shuffle_xor(x[threadIdx.x], {mask}, {max(32, 2 * mask)}); }}"
            for mask, kind in ((1, "float"), (2, "tc_half"), (4, "int"), (8, "double"), (16, "float"), (3, "float"))
        ),
        f"""
#if TC_WAVE == 64
{KERNEL} exchange_32(const float* __restrict__ x, float* __restrict__ y) {{
  y[threadIdx.x] = tc_shuffle_xor(x[threadIdx.x], 32, 64);
}}
#endif
{KERNEL} any_mask(const float* __restrict__ x, float* __restrict__ y, int mask) {{
  y[threadIdx.x] = tc_shuffle_xor(x[threadIdx.x], mask, 32);
}}
{KERNEL} sum(const float* __restrict__ x, float* __restrict__ y) {{
  float total = x[threadIdx.x];
  #pragma unroll
  for (int step = TC_WAVE / 2; step; step /= 2) total += tc_shuffle_xor(total, step, TC_WAVE);
  y[threadIdx.x] = total;
}}""",
    ]
)


def lane_read(instruction, lane):
    """The lane whose value ``lane`` gets by an instruction, as AMD's ISA documents say; None: it moves no lanes."""
    row, quad, inside = lane & ~15, lane & ~3, lane & 15
    if match := re.search(r"quad_perm:\[(\d),(\d),(\d),(\d)\]", instruction):
        return quad + int(match[1 + lane % 4])
    if "row_half_mirror" in instruction:
        return (lane & ~7) + 7 - lane % 8
    if match := re.search(r"row_ror:(\d+)", instruction):
        return row + (inside - int(match[1])) % 16
    if match := re.search(r"row_xmask:(\d+)", instruction):
        return row + (inside ^ int(match[1]))
    if instruction.startswith("ds_swizzle"):
        assert re.search(r"swizzle\(SWAP,\s*16\)|offset:16415", instruction)
        return lane ^ 16
    if instruction.startswith("v_permlanex16"):
        return lane ^ 16
    if instruction.startswith("v_permlane64"):
        return lane ^ 32
    return None


def test_lanes_are_exchanged_without_memory(arch, tmp_path):
    """Each chain of instructions, followed lane by lane, is the exclusive or of the lane's number."""
    bodies = kernels(assembly(EXCHANGES, arch, tmp_path))
    for mask in MASKS:
        body = bodies.get(f"exchange_{mask}")
        if body is None:
            assert mask == 32
            continue
        if mask == 32 and arch.startswith("gfx9"):
            assert [text.split()[0] for text in body if "permute" in text] == ["ds_bpermute_b32"]
            continue
        moves = [text for text in body if lane_read(text, 0) is not None]
        if mask == 8:  # of 8 bytes: two words alike
            moves = moves[:1]
        for lane in range(64 if arch.startswith("gfx9") else 32):
            source = lane
            for text in reversed(moves):
                source = lane_read(text, source)
            assert source == lane ^ mask, body
        assert not any("bpermute" in text for text in body)
    assert sum("ds_bpermute" in text for text in bodies["any_mask"]) == 1
    assert sum("ds_bpermute" in text for text in bodies["exchange_3"]) == 1
    through_memory = [text.split()[0] for text in bodies["sum"] if text.startswith("ds_")]
    assert through_memory == (["ds_bpermute_b32", "ds_swizzle_b32"] if arch.startswith("gfx9") else [])
    assert sum(text.startswith("v_add_f32_dpp") for text in bodies["sum"]) == 4


def atomic(name, kind, operation="add", count=""):
    call = f"tc_atomic_{operation}{count}"
    step = count.removeprefix("_x") or "1"
    value = f"x + threadIdx.x * {step}" if count else "x[threadIdx.x]"
    return (
        f"{KERNEL} {name}({kind}* p, const {kind}* __restrict__ x) {{ {call}(p + threadIdx.x * {step}, {value}); }}\n"
        f"{KERNEL} shared_{name}({kind}* p, const {kind}* __restrict__ x) {{\n"
        f"  TC_SHARED(shared);\n  {kind}* s = ({kind}*)shared;\n  s[threadIdx.x] = p[threadIdx.x];\n"
        f"  tc_barrier();\n  tc_atomic_{operation}(s + threadIdx.x % 8, x[threadIdx.x]);\n  tc_barrier();\n"
        "  p[threadIdx.x] = s[threadIdx.x];\n}"
    )


ATOMICS = "\n".join(
    [
        '#include "tilecore_hip.h"',
        atomic("add_float", "float"),
        atomic("add_double", "double"),
        atomic("add_int", "int"),
        atomic("max_float", "float", "max"),
        atomic("max_double", "double", "max"),
        atomic("add_half", "tc_half"),
        atomic("add_halves", "tc_half", count="_x2"),
        atomic("add_bfloat16s", "tc_bfloat16", count="_x2"),
        f"{KERNEL} votes(float* p) {{ TC_SHARED(shared);",
        "  tc_move<16>(shared + threadIdx.x * 16, p + threadIdx.x * 4);",
        "  if (tc_block_vote_any(p[threadIdx.x] > 0)) tc_move<16>(p, shared + threadIdx.x % 3 * 16);",
        "}",
    ]
)
# the kernels with a loop of compare-and-swap, by chip
LOOPS = {
    "gfx90a": {"max_float", "add_half", "add_bfloat16s"},
    "gfx942": {"max_float", "add_half"},
    "gfx950": {"max_float", "add_half"},
    "gfx1100": {"add_double", "max_double", "add_half", "add_halves", "add_bfloat16s"},
    "gfx1201": {"add_double", "max_double", "add_half", "add_halves", "add_bfloat16s"},
}


def test_atomics_are_instructions_where_the_chip_has_them(arch, tmp_path):
    text = assembly(ATOMICS, arch, tmp_path)
    bodies = kernels(text)
    swaps = re.compile(r"cmpswap|cmpst")
    loops = {name for name, body in bodies.items() if any(swaps.search(line) for line in body)}
    expected = LOOPS[arch]
    if arch.startswith("gfx12") and int(compilers.compiler_for(arch).version.split(".")[0]) >= 20:
        expected = expected - {"add_halves", "add_bfloat16s"}
    assert {name for name in loops if not name.startswith("shared_")} == expected
    assert "shared_add_float" not in loops
    assert not [line for name in bodies for line in bodies[name] if line.startswith("flat_")], "the memory is known"
    packed = [line.split()[0] for line in bodies["add_halves"] if "pk_add" in line]
    assert packed == ([] if "add_halves" in expected else ["global_atomic_pk_add_f16"])
    assert max(static_bytes(text)) == 16, "the word of votes, and no space before the dynamic LDS"


REGISTERS = """
#include "tilecore_hip.h"
#define BODY                                                                              \\
  float values[100];                                                                      \\
  for (int i = 0; i < 100; ++i) values[i] = x[i * 512 + threadIdx.x];                      \\
  __builtin_amdgcn_s_barrier();                                                           \\
  for (int turn = 0; turn < n; ++turn)                                                    \\
    for (int i = 0; i < 100; ++i) values[i] = values[i] * values[(i * 7 + 3) % 100] + 1;   \\
  for (int i = 0; i < 100; ++i) y[i * 512 + threadIdx.x] = values[i];
#define PARAMETERS (const float* __restrict__ x, float* __restrict__ y, int n)
extern "C" __global__ void __launch_bounds__(512) any PARAMETERS { BODY }
extern "C" __global__ void TC_LAUNCH_BOUNDS(512, 1) one PARAMETERS { BODY }
extern "C" __global__ void TC_LAUNCH_BOUNDS(512, 4) four PARAMETERS { BODY }
extern "C" __global__ void TC_LAUNCH_BOUNDS(512, 99) many PARAMETERS { BODY }
"""


def test_blocks_of_a_unit_bound_the_registers(arch, tmp_path):
    """On CDNA, four blocks of 8 waves are 8 waves a SIMD, of 512 registers; on RDNA 16 waves of 1536."""
    text = assembly(REGISTERS, arch, tmp_path)
    names = re.findall(r"\.symbol: +(\w+)\.kd", text)
    counts = dict(zip(names, map(int, re.findall(r"\.vgpr_count: +(\d+)", text)), strict=True))
    assert counts["any"] == counts["one"] > 100
    assert counts["four"] == counts["many"] <= (64 if arch.startswith("gfx9") else 96)


CONVERSION = """
#include "tilecore_hip.h"
extern "C" __global__ void __launch_bounds__(64) eight(const float* __restrict__ x, tc_bfloat16* __restrict__ y) {
  alignas(16) float values[8];
  alignas(16) tc_bfloat16 rounded[8];
  tc_move<16>(values, x + threadIdx.x * 8), tc_move<16>(values + 4, x + threadIdx.x * 8 + 4);
  #pragma unroll
  for (int i = 0; i < 8; ++i) rounded[i] = tc_bfloat16(values[i]);
  tc_move<16>(y + threadIdx.x * 8, rounded);
}
"""


@pytest.mark.parametrize(("chip", "most"), [("gfx950", 20), ("gfx942", 60), ("gfx1100", 80)])
def test_conversions_to_bfloat16(chip, most, tmp_path):
    if not any(chip in compiler.architectures() for compiler in compilers.installed()):
        pytest.skip(f"there is no compiler for {chip}")
    (body,) = kernels(assembly(CONVERSION, chip, tmp_path)).values()
    assert len(body) <= most
    assert sum("cvt_pk_bf16_f32" in text for text in body) == (4 if chip == "gfx950" else 0)
    assert not any("branch" in text for text in body)


@pytest.mark.parametrize("mask", [16, 32])
def test_gfx950_exchanges_rows_by_instructions(mask, tmp_path):
    if not any("gfx950" in compiler.architectures() for compiler in compilers.installed()):
        pytest.skip("there is no compiler for gfx950")
    body = kernels(assembly(EXCHANGES, "gfx950", tmp_path))[f"exchange_{mask}"]
    assert [text.split()[0] for text in body if "swap" in text] == [f"v_permlane{mask}_swap_b32_e32"]
    assert not any(text.startswith("ds_") for text in body)

"""wgmma: every operand type, every storage order, A in registers, and the grid of warpgroups."""

from __future__ import annotations

import pytest

import tilecore.language as T

from .kernels import multiplied
from .kit import body, chosen, count, declined

pytestmark = pytest.mark.rotated

HALVES = [(kind, kind, "float32") for kind in ("float16", "bfloat16")]
EIGHTS = [(a, b, c) for a in ("float8_e4m3fn", "float8_e5m2") for b in ("float8_e4m3fn", "float8_e5m2")
          for c in ("float32", "float16")]  # fmt: skip
WHOLE = [(a, b, "int32") for a in ("int8", "uint8") for b in ("int8", "uint8")]
SINGLE = ("float32", "float32", "float32")
DEPTH = {2: 16, 4: 8, 1: 32}  # of an instruction along K, by bytes of an element
POLICIES = T.GemmWarpPolicy


def all_by_warpgroups(kernel) -> bool:
    return set(chosen(kernel, "gemm")) == {"wgmma"} and "tc_mma_" not in body(kernel)


@pytest.mark.parametrize(("ta", "tb"), [(False, False), (False, True), (True, False), (True, True)])
@pytest.mark.parametrize("kinds", [*HALVES, ("float16",) * 3], ids="-".join)
def test_halves_in_every_order(kinds, ta, tb):
    assert all_by_warpgroups(multiplied((192, 136, 96), kinds=kinds, ta=ta, tb=tb, tile=(64, 128, 32)))


@pytest.mark.parametrize("a_in_registers", [False, True])
@pytest.mark.parametrize("kinds", [*EIGHTS, *WHOLE, SINGLE], ids="-".join)
def test_other_types_along_k(kinds, a_in_registers):
    kernel = multiplied(
        (128, 80, 192), kinds=kinds, tb=True, tile=(64, 48, 64), a_in_registers=a_in_registers, stages=3
    )
    assert all_by_warpgroups(kernel)
    words = {"float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2", "int8": "s8", "uint8": "u8", "float32": "tf32"}
    assert f"_{words[kinds[0]]}_{words[kinds[1]]}_" in body(kernel)
    assert ("tc_wgmma_held_" in body(kernel)) == a_in_registers


@pytest.mark.parametrize(("ta", "tb"), [(False, False), (True, True)])
@pytest.mark.parametrize("kinds", [EIGHTS[0], WHOLE[0], SINGLE], ids="-".join)
def test_other_types_across_k_use_mma_sync(kinds, ta, tb):
    kernel = multiplied((64, 64, 64), kinds=kinds, ta=ta, tb=tb, tile=(64, 64, 32))
    assert set(chosen(kernel, "gemm")) == {"mma.sync"}
    name = "A" if ta else "B"
    assert declined(kernel, "gemm", "wgmma") == {f"{name} is not stored along K, which only 16-bit types may do"}


@pytest.mark.parametrize("kinds", [*HALVES, ("float16",) * 3], ids="-".join)
@pytest.mark.parametrize("threads", [128, 256])
@pytest.mark.parametrize("tb", [False, True])
def test_a_in_registers(kinds, threads, tb):
    kernel = multiplied((256, 64, 128), kinds=kinds, tile=(128, 64, 64), threads=threads, tb=tb, a_in_registers=True)
    assert all_by_warpgroups(kernel)
    assert count(kernel, "tc_wgmma_held_") >= 4


@pytest.mark.parametrize("rows", [64, 128, 192, 256])
@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("policy", [POLICIES.Square, POLICIES.FullRow, POLICIES.FullCol], ids=str)
def test_the_grid_of_warpgroups(rows, groups, policy):
    kernel = multiplied((rows, 192, 64), tile=(rows, 96, 32), threads=128 * groups, policy=policy, tb=True)
    assert all_by_warpgroups(kernel)


@pytest.mark.parametrize("columns", [8, 16, 24, 40, 64, 72, 104, 128, 192, 208, 248, 256])
def test_every_width(columns):
    kernel = multiplied((64, columns + 8, 64), tile=(64, columns, 32), tb=True)
    assert all_by_warpgroups(kernel)
    assert f"tc_wgmma_n{columns}k16_" in body(kernel)


@pytest.mark.parametrize(
    ("columns", "widest"), [(8, 8), (24, 24), (32, 32), (72, 24), (80, 80), (112, 112), (320, 160)]
)
def test_widths_of_whole_numbers(columns, widest):
    """Integer instructions have 8, 24, or a multiple of 16 columns."""
    kernel = multiplied((64, columns, 96), kinds=WHOLE[1], tile=(64, columns, 32), tb=True)
    assert all_by_warpgroups(kernel)
    assert f"tc_wgmma_n{widest}k32_s8_u8_s32" in body(kernel)


@pytest.mark.parametrize("out", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("kinds", [*HALVES, ("float16",) * 3, EIGHTS[0], SINGLE], ids="-".join)
def test_every_type_of_result(kinds, out):
    assert all_by_warpgroups(multiplied((72, 56, 64), kinds=kinds, out=out, tile=(64, 32, 32), tb=True))


@pytest.mark.parametrize("stages", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("steps", [1, 2, 7])
@pytest.mark.parametrize("cleared", [False, True])
def test_stages_and_steps(stages, steps, cleared):
    kernel = multiplied((128, 128, 32 * steps), tile=(64, 64, 32), stages=stages, cleared=cleared)
    assert all_by_warpgroups(kernel)


REFUSED = {
    "128 threads but 32": ({"threads": 96}, "96 threads are not a multiple of a warpgroup's 128"),
    "rows": ({"tile": (96, 64, 64)}, "M is 96, not a multiple of 64"),
    "depth": ({"tile": (64, 64, 8), "tb": True}, "K is 8, not a multiple of 16"),
    "parts": (
        {"tile": (64, 64, 64), "threads": 384},
        "64 x 64 cannot be divided among 3 warpgroups in whole instructions",
    ),
    "narrow": (
        {"tile": (64, 24, 64)},
        "the rows of B are not a multiple of 32 bytes, or their number is not a multiple of 8",
    ),
    "cut": ({"tile": (64, 32, 64), "threads": 256}, "an instruction takes 16 columns of B, not a multiple of 32"),
    "type": (
        {"kinds": ("float64",) * 3, "tile": (64, 32, 16), "threads": 128},
        "no instruction for float64, float64 into float64",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_operands_that_wgmma_cannot_read(name):
    options, reason = REFUSED[name]
    kernel = multiplied((128, 96, 128), **options)
    assert declined(kernel, "gemm", "wgmma") == {reason}


def test_tf32_is_only_taken_where_it_is_allowed():
    from .kernels import matmul
    from .kit import built

    kernel = built(matmul(64, 64, 64, kinds=SINGLE, tb=True, tile=(64, 64, 32)))
    (reason,) = declined(kernel, "gemm", "wgmma")
    assert reason == "float32 is rounded to tf32 only where TL_ALLOW_TF32 or annotations allow it"

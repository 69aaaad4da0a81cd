"""How copies of pipelined loops overlap with computation on each chip, and what RDNA has registers for."""

from __future__ import annotations

import re

import pytest
from test_hip_products import product

import tilecore


def source_of(arch: str, tiles: tuple[int, int, int], threads: int = 128, stages: int = 3) -> str:
    func = product((512, 512, 512), tiles, ("float16", "float16"), threads=threads, stages=stages)
    return tilecore.compile(func, target=f"hip -arch={arch}", execution_backend="sim").get_kernel_source()


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx1201"])
def test_tiles_are_prefetched_to_registers(arch):
    source = source_of(arch, (64, 64, 32))
    assert {"a_next", "b_next"} <= set(re.findall(r"\w+_next", source))
    (bytes_of_lds,) = (int(number) for number in re.findall(r"// (\d+) bytes", source))
    assert bytes_of_lds < 2 * (64 + 64) * (32 + 8) * 2, "one slot for each tile, whatever the stages"


def test_gfx950_copies_to_circular_buffers():
    source = source_of("gfx950", (64, 64, 64))
    assert "_next" not in source
    assert "tc_copy_to_lds<16>" in source
    assert f"// {3 * (64 + 64) * 64 * 2} bytes" in source


def test_rdna_prefetches_what_its_registers_have_room_for():
    """128 x 128 sums of 128 threads take 128 of 256 registers."""
    room = source_of("gfx1201", (64, 64, 32))
    assert "a_next[" in room
    full = source_of("gfx1201", (128, 128, 64))
    assert "_next" not in full
    assert "a_next[" in source_of("gfx942", (128, 128, 64))

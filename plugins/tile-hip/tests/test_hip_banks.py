"""Bank conflicts of LDS, computed from the phases of each chip: reads of operands from swizzled tiles have none."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from tile_hip import architectures
from tile_hip.lds_banks import lds_phases, line_bytes
from tile_hip.lowering.swizzle import keeps_pieces, swizzled
from tile_hip.toolchain import INCLUDE

from tilecore.ir.layout import BufferLayout, padded_rows
from tilecore.ir.nodes import tirx
from tilecore.lowering.simt.matrix import swizzle
from tilecore.pictures.collect import memory_picture
from tilecore.simulate.arguments import Tensor
from tilecore.simulate.device import SimulatedDevice

SOURCE = """
#include "tilecore_hip.h"
extern "C" __global__ void reads(const int* __restrict__ places, int count, int bytes) {
  TC_SHARED(shared);
  const int lane = threadIdx.x;
  unsigned piece[4] = {0, 0, 0, 0};
  for (int at = lane * 16; at < bytes; at += TC_WAVE * 16) tc_move<16>(shared + at, piece);
  tc_barrier();
  for (int i = 0; i < count; ++i) {
    tc_move<SIZE>(piece, shared + places[i * TC_WAVE + lane]);  // the read
  }
}
"""
READ = next(number for number, text in enumerate(SOURCE.splitlines(), 1) if "// the read" in text)
DEPTHS = (16, 32, 64, 128, 256)  # halves in a row of the tile
CDNA, RDNA3, RDNA4 = ("gfx90a", "gfx942", "gfx950"), "gfx1100", "gfx1201"


@functools.cache
def library(wave, size):
    source = SOURCE.replace("SIZE", str(size))
    return SimulatedDevice(warp=wave).compile(source, ["reads"], INCLUDE, [f"-DTC_WAVE={wave}"])


def extra_cycles(arch, wave, places, size=16):
    """The cycles that the worst of the reads needs beyond one for each phase. places [reads, lanes]: bytes of LDS."""
    device = SimulatedDevice(warp=wave, count_banks=True, bank_phases=lds_phases(arch, wave), workers=1)
    places = np.ascontiguousarray(places, np.int32)
    total = -(-(places.max() + size) // 16) * 16
    arguments = [Tensor.of("places", places, "r"), len(places), int(total)]
    ran = device.run(library(wave, size), "reads", (1,), (wave,), arguments, int(total))
    (counted,) = [line for line in ran.banks if line.line == READ]
    assert counted.requests == len(places)
    return counted.worst - counted.least_passes // counted.requests


def tile(rows, depth):
    return tirx.decl_buffer([rows, depth], "float16", "tile", scope="shared", layout=None)


def table(buffer, layout):
    """The byte at which each element lies [rows, depth]."""
    return memory_picture(buffer, layout).place


def matrix_reads(places, rows, size=16):
    """What the 64 lanes read for instructions of so many rows: lane l reads piece l / rows of row l % rows."""
    lanes = np.arange(64)
    each, groups = size // 2, 64 // rows
    firsts = range(0, places.shape[1] // each - groups + 1, groups)
    return np.array([places[lanes % rows, (first + lanes // rows) * each] for first in firsts])


def turned(shape, distance):
    """Pieces of 8 halves exclusive-ored with row / distance: the ways that the table of facts compares."""
    pieces = shape[1] // 8

    def place(at):
        return [at[0], tirx.BitwiseXor(at[1] // 8, at[0] // distance % pieces) * 8 + at[1] % 8]

    return BufferLayout(f"turned by {distance}", shape, place)


@pytest.mark.parametrize("arch", CDNA)
@pytest.mark.parametrize("depth", DEPTHS)
def test_reads_of_operands_meet_no_conflict(arch, depth):
    architecture = architectures.parse(arch)
    buffer = tile(64, depth)
    layout = swizzled(buffer, architecture)
    assert layout is not None
    assert keeps_pieces(buffer, layout, architecture)
    places = table(buffer, layout)
    for rows in (32, 16):
        if depth // 8 < 64 // rows:
            continue  # one instruction takes more than a row
        for first in range(0, 64, rows):
            assert extra_cycles(arch, 64, matrix_reads(places[first : first + rows], rows)) == 0


# from docs/notes/hip.md: cycles beyond one for each phase, of (plain, rows + 16 bytes, c ^ r, c ^ r / 2)
PUBLISHED = {
    ("gfx942", 32, 64): (56, 0, 0, 8),
    ("gfx942", 16, 64): (24, 8, 0, 8),
    ("gfx942", 32, 32): (24, 0, 8, 0),
    ("gfx942", 16, 32): (8, 8, 0, 0),
    ("gfx950", 32, 64): (28, 0, 4, 0),
    ("gfx950", 16, 64): (12, 4, 0, 0),
    ("gfx950", 32, 128): (60, 0, 0, 4),
    ("gfx950", 16, 128): (28, 4, 0, 4),
}


@pytest.mark.parametrize(("arch", "rows", "depth"), PUBLISHED)
def test_the_count_agrees_with_an_independent_one(arch, rows, depth):
    """The table is by a program of a few lines that shares no code with the simulated device."""
    shape = (rows, depth)
    layouts = (None, padded_rows(shape, depth + 8), turned(shape, 1), turned(shape, 2))
    buffer = tile(rows, depth)
    cycles = tuple(extra_cycles(arch, 64, matrix_reads(table(buffer, layout), rows)) for layout in layouts)
    assert cycles == PUBLISHED[arch, rows, depth]


def test_the_line_of_another_chip_has_conflicts():
    """Why the line depends on the chip: the rows of 128 bytes on gfx950, whose phases read 256 bytes."""
    buffer = tile(32, 64)
    layout = swizzle.swizzled(buffer, line_bytes("gfx942"))
    assert extra_cycles("gfx950", 64, matrix_reads(table(buffer, layout), 32)) > 0


@pytest.mark.parametrize("depth", DEPTHS)
def test_reads_of_rdna(depth):
    """gfx11 reads whole rows of 16, the upper lanes the same as the lower ones; gfx12 halves of rows."""
    buffer, lanes = tile(16, depth), np.arange(32)
    for arch in (RDNA3, RDNA4):
        places = table(buffer, swizzled(buffer, architectures.parse(arch)))
        half = lanes // 16 * 8 if arch == RDNA4 else 0
        firsts = range(0, depth, 16 if arch == RDNA4 else 8)
        reads = np.array([places[lanes % 16, first + half] for first in firsts])
        assert extra_cycles(arch, 32, reads) == 0

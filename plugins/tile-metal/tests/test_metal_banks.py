"""Bank conflicts of threadgroup memory, counted while emitted products run on the simulated device: there are none."""

from __future__ import annotations

import re

import numpy as np
import pytest
from test_metal_products import FOLDERS, compiled, product, values
from tile_metal.lowering.matrix_instruction import SimdgroupInstruction
from tile_metal.lowering.shared_layouts import arranged, passes, places
from tile_metal.simulated_text import host_source

from tilecore.ir.nodes import tirx
from tilecore.simulate.arguments import Tensor
from tilecore.simulate.device import SimulatedDevice


def conflicts(sizes, types, transposed, sums) -> tuple[int, int]:
    """The cycles that the banks of all accesses need, and those that they would need without conflicts."""
    (m, n, k), (by_m, by_n) = sizes, transposed
    source = compiled(product(sizes, sizes, types, transposed, sums)).get_kernel_source()
    name = re.findall(r"\]\] void (\w+)\(", source)[0]
    device = SimulatedDevice(warp=32, count_banks=True, workers=1)
    library = device.compile(host_source(source), [name], FOLDERS)
    a, b = values((k, m) if by_m else (m, k), types[0], 1), values((n, k) if by_n else (k, n), types[1], 2)
    tensors = [Tensor.of("A", a, "r"), Tensor.of("B", b, "r"), Tensor.of("C", np.zeros((m, n), sums))]
    lines = device.run(library, name, (1,), (128,), tensors, 32768).banks
    assert len(lines) >= 4  # two tiles that are written and read
    return sum(line.passes for line in lines), sum(line.least_passes for line in lines)


@pytest.mark.parametrize(
    ("dtype", "sizes", "transposed"),
    [
        ("float16", (64, 64, 32), (False, False)),
        ("float16", (64, 64, 32), (True, True)),
        ("float16", (64, 64, 16), (False, True)),
        ("float32", (32, 64, 32), (False, True)),
        ("int8", (64, 64, 64), (True, False)),
    ],
)
def test_tiles_are_written_and_read_without_conflicts(dtype, sizes, transposed):
    needed, least = conflicts(sizes, (dtype, dtype), transposed, "int32" if dtype == "int8" else "float32")
    assert needed == least


def test_row_major_tiles_have_conflicts():
    """What the layouts are for: the cycles of a tile of 64-byte rows, as it is and as it is arranged."""
    tile = tirx.decl_buffer([64, 32], "float16", "tile", scope="shared", layout=None)
    instruction = SimdgroupInstruction("float16", "float16", "float16", 1, 2, 2, True)
    fragment = instruction.operand_b.project([1, 0])
    layout = arranged(tile, fragment, True)
    assert passes(places(tile, layout), 2, fragment, True) == (8, 8)
    assert passes(places(tile, None), 2, fragment, True) == (32, 8)

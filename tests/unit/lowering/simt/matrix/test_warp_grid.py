"""How the result of a matrix product is divided among the warps of a block."""

from __future__ import annotations

from tilecore.lowering.simt.matrix.warp_grid import warp_grid


def test_the_grid_of_warps():
    assert warp_grid(8, 16, 4, 0, (16, 8)) == (2, 2)
    assert warp_grid(8, 16, 4, 1, (16, 8)) == (4, 1)
    assert warp_grid(8, 16, 4, 2, (16, 8)) == (1, 4)
    assert warp_grid(8, 32, 8, 0, (16, 8)) == (2, 4)
    assert warp_grid(1, 2, 4, 0, (16, 8)) == (1, 2)  # the other two have the same parts
    assert warp_grid(3, 8, 4, 0, (16, 8)) == (1, 4)

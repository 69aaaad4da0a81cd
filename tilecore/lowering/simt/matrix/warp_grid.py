"""Partitions the result of a matrix product among the warps of a block."""

from __future__ import annotations

SQUARE, FULL_ROW, FULL_COLUMN = 0, 1, 2  # T.GemmWarpPolicy


def warp_grid(m_tiles: int, n_tiles: int, warps: int, policy: int, sizes: tuple[int, int]) -> tuple[int, int]:
    """(warps along M, warps along N) for ``m_tiles`` x ``n_tiles`` instructions of ``sizes`` (rows, columns).

    Warps beyond the grid compute the same as others. Square: the least work for each warp; of equal grids the one with
    the most square parts, which reads the least of A and B. FullRow: the most warps along M. FullCol: the most along N.
    """

    def part(grid: tuple[int, int]) -> tuple[int, int]:
        return -(-m_tiles // grid[0]), -(-n_tiles // grid[1])

    def cost(grid: tuple[int, int]) -> tuple[int, ...]:
        rows, columns = part(grid)
        return rows * columns, rows * sizes[0] + columns * sizes[1], grid[0] * grid[1], -grid[0]

    grids = [(i, j) for i in range(1, warps + 1) for j in range(1, warps + 1) if warps % (i * j) == 0]
    if policy == FULL_ROW:
        most = max(i for i, _ in grids if i <= m_tiles)
        grids = [grid for grid in grids if grid[0] == most]
    elif policy == FULL_COLUMN:
        most = max(j for _, j in grids if j <= n_tiles)
        grids = [grid for grid in grids if grid[1] == most]
    return min(grids, key=cost)

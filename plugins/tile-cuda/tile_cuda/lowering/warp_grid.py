"""How the warps of a block share the result of a product."""

from __future__ import annotations

SQUARE, FULL_ROW, FULL_COLUMN = 0, 1, 2  # T.GemmWarpPolicy


def warp_grid(m_tiles: int, n_tiles: int, warps: int, policy: int, sizes: tuple[int, int]) -> tuple[int, int]:
    """(warps along M, warps along N) for ``m_tiles`` x ``n_tiles`` instructions of ``sizes`` (rows, columns).

    Warps that find no place compute what others do. Square: as little work for a warp as can be, then parts as square
    as can be, which reads A and B least. FullRow: as many as can be along M. FullCol: as many as can be along N.
    """

    def part(grid: tuple[int, int]) -> tuple[int, int]:
        return -(-m_tiles // grid[0]), -(-n_tiles // grid[1])

    def cost(grid: tuple[int, int]) -> tuple[int, ...]:
        rows, columns = part(grid)
        return rows * columns, rows * sizes[0] + columns * sizes[1], grid[0] * grid[1], -grid[0]

    ways = [(i, j) for i in range(1, warps + 1) for j in range(1, warps + 1) if warps % (i * j) == 0]
    if policy == FULL_ROW:
        most = max(i for i, _ in ways if i <= m_tiles)
        ways = [way for way in ways if way[0] == most]
    elif policy == FULL_COLUMN:
        most = max(j for _, j in ways if j <= n_tiles)
        ways = [way for way in ways if way[1] == most]
    return min(ways, key=cost)

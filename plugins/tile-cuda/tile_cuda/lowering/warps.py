"""How the warps of a block share the result of a product."""

from __future__ import annotations

from tilecore.ir.tile_ops import TileCall

WARP = 32
SQUARE, FULL_ROW, FULL_COLUMN = 0, 1, 2  # T.GemmWarpPolicy


def warp_grid(m: int, n: int, warps: int, policy: int, rows: int, columns: int) -> tuple[int, int] | None:
    """(warps along M, warps along N), each warp a whole number of ``rows`` x ``columns`` tiles; None: no way.

    Square: parts as square as can be, which reads A and B least. FullRow: all along M. FullCol: all along N.
    """
    ways = [
        (along_m, warps // along_m)
        for along_m in range(1, warps + 1)
        if warps % along_m == 0 and m % (along_m * rows) == 0 and n % (warps // along_m * columns) == 0
    ]
    if not ways:
        return None
    if policy == FULL_ROW:
        return max(ways)
    if policy == FULL_COLUMN:
        return min(ways)
    return min(ways, key=lambda way: (abs(m / way[0] - n / way[1]), -way[0]))


def policy_of(call: TileCall) -> int:
    return int(call.policy)

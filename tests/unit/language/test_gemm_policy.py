"""T.GemmWarpPolicy: how TileLang's policies divide warps, which programs ask for."""

from __future__ import annotations

import pytest
from tilecore.tileop.base import GemmWarpPolicy as UnderItsOtherName

from tilecore.language import GemmWarpPolicy

SQUARE, ROWS, COLUMNS = GemmWarpPolicy.Square, GemmWarpPolicy.FullRow, GemmWarpPolicy.FullCol


@pytest.mark.parametrize(
    ("policy", "M", "N", "warps", "partition"),
    [
        (SQUARE, 128, 64, 4, (2, 2)),
        (SQUARE, 64, 64, 8, (2, 4)),
        (SQUARE, 256, 16, 8, (4, 2)),
        (SQUARE, 16, 256, 6, (1, 6)),
        (SQUARE, 16, 8, 4, (1, 1)),  # no division gives each warp 16 rows and 8 columns
        (SQUARE, 64, 0, 4, (1, 1)),
        (ROWS, 128, 64, 4, (4, 1)),
        (ROWS, 32, 64, 4, (2, 2)),  # 16 rows for two warps only: the others share the columns
        (ROWS, 80, 64, 4, (5, 1)),
        (ROWS, 8, 64, 4, (1, 4)),
        (COLUMNS, 64, 64, 4, (1, 4)),
        (COLUMNS, 64, 16, 4, (2, 2)),
    ],
)
def test_the_division_of_warps(policy, M, N, warps, partition):
    assert policy.compute_warp_partition(M, N, warps) == partition


def test_which_policy_it_is():
    assert [p.is_square() for p in GemmWarpPolicy] == [True, False, False]
    assert [p.is_full_row() for p in GemmWarpPolicy] == [False, True, False]
    assert [p.is_full_col() for p in GemmWarpPolicy] == [False, False, True]
    divisions = {(4, 1): ROWS, (1, 4): COLUMNS, (2, 2): SQUARE, (1, 1): SQUARE}
    assert {pair: GemmWarpPolicy.from_warp_partition(*pair) for pair in divisions} == divisions
    assert UnderItsOtherName is GemmWarpPolicy

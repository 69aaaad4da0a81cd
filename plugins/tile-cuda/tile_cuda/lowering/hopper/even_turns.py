"""The order in which persistent blocks take tiles of different work by turns, so that all have about the same.

Tiles come in panels: all tiles of some indices of the other axes, by their work. Block b of B takes tiles b, b + B,
b + 2 B and so on of the order. Which blocks get the long ones depends on the sizes: with 32 tiles a head, 128 heads and
132 blocks, panels of 16 heads give one block 6 % more than the mean, panels of 12 heads 0.3 % more; with 8 tiles a head
and 64 heads panels of 16 give it 8 % more, of 12 heads 23 %. So the order is chosen by counting.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

PANELS = (1, 2, 4, 8, 11, 12, 16)  # few enough indices for their data to stay in the L2 cache
ROTATION_STEP = 6
ENDS = 0.6  # work of a tile besides its iterations, in iterations
MOST_TILES = 1 << 15  # of a grid for which it matters
LEAST_GAIN = 0.01  # of the busiest block's work


class Turns(NamedTuple):
    """panel: indices of the other axes in a panel. alternates: every other panel has the least work first. rotation:
    a block takes the tile that is so many places further than in the round before."""

    panel: int
    alternates: bool
    rotation: int


USUAL = Turns(16, True, 0)


@functools.lru_cache(maxsize=256)
def choose_turns(steps: int, others: int, blocks: int, widest: int | None = None) -> Turns:
    """The turns in which the busiest of ``blocks`` persistent blocks has the least work.

    steps: tiles of an index of the other axes, of which tile n has ``steps - n`` units of work; others: such indices.
    widest: the most indices in a panel, where the cache sets a limit. The usual turns where others gain little.
    """
    usual = USUAL if widest is None else USUAL._replace(panel=min(widest, USUAL.panel))
    if steps * others > MOST_TILES or blocks < 2 or steps < 2:
        return usual
    count = steps * others
    best, least = usual, busiest(usual, steps, others, blocks) * (1 - LEAST_GAIN)
    panels = PANELS if widest is None else range(1, min(widest, USUAL.panel) + 1)
    orders = [(panel, alternates) for panel in panels if panel <= others for alternates in (False, True)]
    turn = np.arange(count) % blocks
    for rotation in range(0, blocks, ROTATION_STEP):
        taken = _taken(count, blocks, rotation)
        for panel, alternates in orders:
            work = float(np.bincount(turn, _work_in_order(panel, alternates, steps, others)[taken]).max())
            if work < least * 0.999:  # the simplest of equals
                best, least = Turns(panel, alternates, rotation), work
    return best


def busiest(turns: Turns, steps: int, others: int, blocks: int) -> float:
    """The work of the block that has the most."""
    tiles = _work_in_order(turns.panel, turns.alternates, steps, others)
    taken = _taken(len(tiles), blocks, turns.rotation)
    return float(np.bincount(np.arange(len(tiles)) % blocks, tiles[taken]).max())


def _taken(count: int, blocks: int, rotation: int) -> np.ndarray:
    """The place in the order of each tile, by when it is taken: in its round, and there by its block."""
    number = np.arange(count)
    rounds, turn = np.divmod(number, blocks)
    return np.where(rounds < count // blocks, rounds * blocks + (turn + rounds * rotation) % blocks, number)


@functools.lru_cache(maxsize=32)
def _work_in_order(panel: int, alternates: bool, steps: int, others: int) -> np.ndarray:
    work = np.arange(steps, 0, -1) + ENDS
    firsts = range(0, others, panel)
    falling = [not (alternates and number % 2) for number in range(len(firsts))]
    widths = [min(panel, others - first) for first in firsts]
    return np.concatenate(
        [np.repeat(work if falls else work[::-1], width) for falls, width in zip(falling, widths, strict=True)]
    )

"""How wide a panel of persistent blocks may be, so that the memory to which its blocks add stays in the L2 cache.

An addition reads and writes its line. Blocks that add to the same lines at about the same time, as those of attention's
backward pass do to dQ, find them in the cache, unless too many other lines come between. With 12 heads of 4096 queries
side by side, 48 MiB, half of the accesses missed a cache of 50 MB on an H200, and the kernel took 15 % longer
(docs/notes/attention.md).
"""

from __future__ import annotations

from math import prod

from tilecore.ir.build import constant
from tilecore.ir.nodes import Evaluate, For, Stmt
from tilecore.ir.scopes import is_global
from tilecore.ir.sizes import bytes_of
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.visit import collect

CACHED_BYTES = 24 << 20  # that stay in an L2 cache of 50 MB with two parts, beside what other blocks load
MANY_ROUNDS = 16  # of persistent blocks: so many that their ends no longer matter


def most_in_panel(code: Stmt, others: int) -> int | None:
    """The most indices of the other axes, of which there are ``others``, in a panel; None for no limit.

    code: of a block. A tensor is taken to be divided evenly among these indices and the iterations of the loops around
    the loop that adds. No limit where no loop adds to global memory, or where the size of its tensors is not known.
    """
    limits = []
    loops = [loop for loop in collect(code, For) if _tile_calls(loop.body)]
    for loop in loops:
        calls = _tile_calls(loop.body)
        if any(_contains(loop, inner) for inner in loops) or not any(map(_adds, calls)):
            continue
        tensors = {region.source for call in calls for region in call.regions if is_global(region.source)}
        sizes = [bytes_of(tensor) for tensor in tensors]
        runs = prod(constant(around.extent) or 1 for around in loops if _contains(around, loop))
        if all(size is not None for size in sizes):
            size = sum(size for size in sizes if size is not None) / (others * runs)
            limits.append(max(1, int(CACHED_BYTES // size)) if size else others)
    return min(limits, default=None)


def is_left_to_device(most: int | None, rounds: float, usual: int) -> bool:
    """Whether the device should schedule the blocks of a grid, where persistent blocks would take them by turns.

    Blocks of different work whose data do not fit into the cache in panels of the ``usual`` width: persistent blocks
    in narrow panels have uneven work, and the device gives the next block to the multiprocessor that is idle first.
    most: as :func:`most_in_panel` says. rounds: of persistent blocks. Attention's backward pass, causal, 31 rounds:
    0.94 of cuDNN beside 0.91.
    """
    return most is not None and most < usual and rounds >= MANY_ROUNDS


def _tile_calls(code: Stmt) -> list[TileCall]:
    return [call for call in map(as_tile_call, collect(code, Evaluate)) if call is not None]


def _contains(loop: For, inner: For) -> bool:
    return any(node.same_as(inner) for node in collect(loop.body, For))


def _adds(call: TileCall) -> bool:
    return call.op.name == "atomic" and is_global(call.dst.source)

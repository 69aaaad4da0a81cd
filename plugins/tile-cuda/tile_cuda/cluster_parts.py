"""How many blocks of a cluster share the loop of a block ("split K"): by the sizes of a grid alone, without TVM.

``lowering/hopper/split_k.py`` divides loops by it, and ``modules/arch.py`` tells programs that choose tiles.
"""

from __future__ import annotations

MOST_PARTS = 8  # blocks of a cluster on every device (CUDA C++ Programming Guide, "Thread Block Clusters")
LEAST_ITERATIONS = 8  # of a block, where the compiler chooses the number of parts
GROUP_OF_MULTIPROCESSORS = 16  # that a cluster can surely use (GPC)


def number_of_parts(blocks: int, multiprocessors: int, iterations: int) -> int:
    """How many blocks can share the loop of each block of the grid, a power of two; 1: no multiprocessor would be idle,
    or the loop is too short."""
    parts = 1
    while parts < MOST_PARTS and iterations >= 2 * parts * LEAST_ITERATIONS:
        # a cluster runs within a group of multiprocessors, of which some may remain idle
        usable = multiprocessors if parts == 1 else multiprocessors - multiprocessors % GROUP_OF_MULTIPROCESSORS
        if blocks * parts * 2 > usable:
            break
        parts *= 2
    return parts

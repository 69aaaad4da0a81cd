"""How many blocks of a cluster share the loop of a block ("split K"): by the sizes of a grid alone, without TVM.

``lowering/hopper/split_k.py`` divides loops by it, and ``modules/arch.py`` tells programs that choose tiles.
"""

from __future__ import annotations

MOST_PARTS = 8  # blocks of a cluster on every device (CUDA C++ Programming Guide, "Thread Block Clusters")
LEAST_ITERATIONS = 8  # of a block, where the compiler chooses the number of parts
PAIR = 2  # multiprocessors side by side (TPC), which are whole on every device
# A cluster runs within a group of multiprocessors (GPC). Groups are of different sizes: for the 132 multiprocessors of
# an H200 cudaOccupancyMaxActiveClusters says 66 clusters of 2 blocks, 30 of 4 and 15 of 8. With one cluster too many
# the last runs alone, which doubles the time.
USED_BY_CLUSTERS = 10 / 11


def number_of_parts(blocks: int, multiprocessors: int, iterations: int) -> int:
    """How many blocks can share the loop of each block of the grid, a power of two; 1: no multiprocessor would be idle,
    or the loop is too short."""
    parts = 1
    while parts < MOST_PARTS and iterations >= 2 * parts * LEAST_ITERATIONS:
        usable = multiprocessors if parts * 2 <= PAIR else int(multiprocessors * USED_BY_CLUSTERS)
        if blocks * parts * 2 > usable:
            break
        parts *= 2
    return parts

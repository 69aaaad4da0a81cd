"""The launch attributes of one kernel: the keys of ``Entry.attributes`` that the launcher reads.

| key | value |
|---|---|
| ``l2_window`` | [slot of a tensor, bytes from its start, fraction of the accesses that stay in L2] |
| ``programmatic`` | true: the kernel may start before the kernel before it has ended |
| ``cooperative`` | true: all blocks are resident at once, so that they can wait for each other |
| ``cluster`` | [x, y, z] blocks of a cluster |
| ``carveout`` | percent of the on-chip memory of a multiprocessor that should be shared memory; the rest is L1 |
| ``tensor_maps`` | the kernel's last parameters: a list of TensorMap.to_json() |

Sizes are integers, or ``dim_to_json`` of expressions of the kernel's symbols.
"""

from __future__ import annotations

from dataclasses import dataclass

from tile_cuda.launch.tensor_maps import TensorMap
from tilecore.artifact.dims import Dim, dim_from_json
from tilecore.artifact.records import Entry

NO_CLUSTER = (1, 1, 1)


@dataclass(frozen=True)
class LaunchEntry:
    """The threads of a block and the launch attributes of one kernel.

    window_slot: the slot of the tensor with an L2 access policy window; -1: none. window_ratio: the fraction of the
    accesses that stay in L2, 0 to 1. The other fields are the keys of the module's table.
    """

    threads: tuple[int, int, int]
    window_slot: int = -1
    window_bytes: Dim = 0
    window_ratio: float = 1.0
    programmatic: bool = False
    cooperative: bool = False
    cluster: tuple[int, int, int] = NO_CLUSTER
    carveout: int | None = None
    tensor_maps: tuple[TensorMap, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether cuLaunchKernel suffices, because the launch has no attributes."""
        return self.window_slot < 0 and not self.programmatic and not self.cooperative and self.cluster == NO_CLUSTER

    @property
    def sizes(self) -> tuple[Dim, ...]:
        """The sizes that may differ between launches: the bytes of the window, then the sizes of the tensor maps."""
        return (self.window_bytes, *(size for tensor_map in self.tensor_maps for size in tensor_map.sizes))


def launch_entry(entry: Entry) -> LaunchEntry:
    """The launch attributes of an artifact's entry. Raises LaunchError for a tensor map that no device accepts."""
    facts = entry.attributes
    slot, size, ratio = facts.get("l2_window", (-1, 0, 1.0))
    x, y, z = (int(n) for n in facts.get("cluster", NO_CLUSTER))
    carveout = facts.get("carveout")
    return LaunchEntry(
        threads=entry.threads,
        window_slot=int(slot),
        window_bytes=dim_from_json(size),
        window_ratio=float(ratio),
        programmatic=bool(facts.get("programmatic")),
        cooperative=bool(facts.get("cooperative")),
        cluster=(x, y, z),
        carveout=None if carveout is None else int(carveout),
        tensor_maps=tuple(TensorMap.from_json(f, entry.symbol) for f in facts.get("tensor_maps", ())),
    )

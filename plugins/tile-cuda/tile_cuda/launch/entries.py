"""What a launch needs of one kernel beside its grid: the keys of ``Entry.attributes`` that the launcher acts on.

| key | value |
|---|---|
| ``l2_window`` | [slot of a tensor, bytes from its start, part of the accesses that stay in L2] |
| ``programmatic`` | true: it may start before the kernel in front of it has ended |
| ``cooperative`` | true: all blocks run at once, so that they can wait for each other |
| ``cluster`` | [x, y, z] blocks of a cluster |
| ``carveout`` | percent of an SM's memory that should be shared memory; the rest is L1 |
| ``tensor_maps`` | the kernel's last parameters: a list of TensorMap.to_json() |

Sizes are numbers or ``dim_to_json`` of sizes in the kernel's symbols.
"""

from __future__ import annotations

from dataclasses import dataclass

from tile_cuda.launch.tensor_maps import TensorMap
from tilecore.artifact.dims import Dim, dim_from_json
from tilecore.artifact.records import Entry

NO_CLUSTER = (1, 1, 1)


@dataclass(frozen=True)
class LaunchEntry:
    """window_slot: slot of the tensor that is kept in L2, -1 for none; window_ratio: of its accesses, 0 to 1."""

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
        """Whether the driver's plain launch will do."""
        return self.window_slot < 0 and not self.programmatic and not self.cooperative and self.cluster == NO_CLUSTER

    @property
    def sizes(self) -> tuple[Dim, ...]:
        """All that may depend on the call, in a fixed order: the window's bytes, then those of the tensor maps."""
        return (self.window_bytes, *(size for tensor_map in self.tensor_maps for size in tensor_map.sizes))


def launch_entry(entry: Entry) -> LaunchEntry:
    """From an artifact's entry. Raises LaunchError for a tensor map that no device takes."""
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

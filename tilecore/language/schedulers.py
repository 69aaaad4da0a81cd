"""Schedulers of tiles for persistent kernels: which tiles of a matrix a block computes, one after the other.

A scheduler keeps its state in variables of the kernel, so that a loop of the kernel can advance it.
"""

from __future__ import annotations

from typing import Any

from tilecore.errors import LanguageError
from tilecore.ir.nodes import Expr
from tilecore.language.buffers import LocalVar
from tilecore.language.integers import ceildiv, whole_number
from tilecore.language.kernel import open_kernel
from tilecore.language.memory import alloc_var
from tilecore.language.numeric import max as maximum
from tilecore.language.numeric import min as minimum
from tilecore.language.values import as_expr
from tilecore.tracing.current import current

_STATE = ("m_idx", "n_idx", "linear_idx", "current_iter")


class BaseTileScheduler:
    """The state of a scheduler and its loop: ``init``, ``while valid():``, ``next_tile``.

    Subclasses define ``update_current_idx(linear_idx)``, which stores the coordinates of a tile in ``_m_idx[0]`` and
    ``_n_idx[0]``, and set ``_total_tiles``. name: the beginning of the names of the state's variables. stateful: False
    for a scheduler without variables.
    """

    def __init__(self, stateful: bool = True, name: str | None = None) -> None:
        self._stateful = stateful
        self._total_tiles: Any = 0
        if stateful:
            self._m_idx, self._n_idx, self._linear_idx, self._current_iter = (
                _variable(f"{name}_{part}" if name else part) for part in _STATE
            )

    def _read(self, part: str) -> Any:
        if not self._stateful:
            raise LanguageError(
                f"{type(self).__name__}(stateful=False) has no {part}",
                expected="a scheduler with state: leave stateful=False out",
                hint="scheduler.coord(tile) gives the coordinates of a tile without state",
            ).at(current().location)
        return getattr(self, f"_{part}").read()

    @property
    def m_idx(self) -> Any:
        """The row of the current tile, an int32."""
        return self._read("m_idx")

    @property
    def n_idx(self) -> Any:
        """The column of the current tile, an int32."""
        return self._read("n_idx")

    @property
    def linear_idx(self) -> Any:
        """The number of the current tile in the order of the scheduler, an int32."""
        return self._read("linear_idx")

    @property
    def current_iter(self) -> Any:
        """How many tiles this worker has left behind, an int32."""
        return self._read("current_iter")

    def update_current_idx(self, linear_idx: Any) -> None:
        """Store the coordinates of the tile with this number; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} defines no update_current_idx")

    def init(self, linear_init: Any) -> None:
        """Begin with the tile of this number."""
        self._read("linear_idx")
        self._current_iter[0] = 0
        self._linear_idx[0] = linear_init
        self.update_current_idx(self.linear_idx)

    def next_tile(self, step: Any) -> None:
        """Go on to the tile whose number is ``step`` more."""
        self._current_iter[0] = self.current_iter + 1
        self._linear_idx[0] = self.linear_idx + step
        self.update_current_idx(self.linear_idx)

    def valid(self) -> Any:
        """Is there a current tile? A condition for ``while``."""
        return self.linear_idx < self._total_tiles


class PersistentTileScheduler(BaseTileScheduler):
    """Tiles of a matrix, divided among ``num_workers`` workers: worker w takes the tiles w, w + num_workers, ...

    num_m_tiles, num_n_tiles: the numbers of rows and columns of tiles. num_workers: by default as many as the kernel
    has blocks (clusters, if cluster_size is more than 1). column_major: tiles of a column (True) or of a row (False)
    follow one another. swizzle_size: so many columns (rows) form a panel, which is finished before the next.
    cluster_size: rows that the blocks of a cluster compute together; m_idx counts clusters of rows then. stateful:
    False where only ``coord`` is needed. name: the beginning of the names of the state's variables.
    """

    def __init__(
        self,
        num_m_tiles: Any,
        num_n_tiles: Any,
        num_workers: Any = None,
        swizzle_size: int = 1,
        column_major: bool = True,
        cluster_size: int = 1,
        stateful: bool = True,
        name: str | None = None,
    ) -> None:
        super().__init__(stateful, name)
        self.cluster_size = whole_number(cluster_size, "T.PersistentTileScheduler(cluster_size=...)", 1)
        self.swizzle_size = whole_number(swizzle_size, "T.PersistentTileScheduler(swizzle_size=...)", 1)
        self.num_workers = _blocks(self.cluster_size) if num_workers is None and stateful else num_workers
        self._column_major = column_major
        rows = ceildiv(num_m_tiles, self.cluster_size)
        self._total_tiles = rows * num_n_tiles
        self._inner, self._outer = (rows, num_n_tiles) if column_major else (num_n_tiles, rows)

    def coord(self, tile_id: Any) -> tuple[Any, Any]:
        """The row and the column of the tile with this number."""
        panel = tile_id // (self._inner * self.swizzle_size)
        first = panel * self.swizzle_size
        width = maximum(1, minimum(self.swizzle_size, self._outer - first))  # a number behind the last is decoded, too
        within = tile_id - panel * (self._inner * self.swizzle_size)
        inner, outer = within // width, first + within % width
        return (inner, outer) if self._column_major else (outer, inner)

    def update_current_idx(self, linear_idx: Any) -> None:
        """Store the coordinates of the tile with this number."""
        self._m_idx[0], self._n_idx[0] = self.coord(linear_idx)

    def init(self, worker_id: Any) -> None:  # type: ignore[override]
        """Begin with the first tile of this worker."""
        super().init(worker_id)

    def next_tile(self) -> None:  # type: ignore[override]
        """Go on to the next tile of this worker."""
        super().next_tile(self.num_workers)


def _variable(name: str) -> LocalVar:
    variable = alloc_var("int32")
    variable.name_once(current("T.alloc_var"), name)
    return variable


def _blocks(cluster_size: int) -> Expr:
    """How many clusters of blocks the kernel has."""
    count: Any = 1
    for extent in open_kernel("T.PersistentTileScheduler").blocks:
        count = as_expr(extent) * count
    return as_expr(count) // cluster_size

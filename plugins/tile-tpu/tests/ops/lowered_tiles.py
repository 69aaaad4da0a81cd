"""Lowers single tile operations on hand-made buffers, and runs them on the machine of ``tile_commands.py``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tile_commands import Machine, number_type
from tile_tpu.chips import find_chip
from tile_tpu.ir.layouts import TILE, TileLayout, flat_layout, tile_layout, vector_layout
from tile_tpu.lowering.commands.emitter import scratch
from tile_tpu.lowering.state import TileLayouts

from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.contract.records import Capabilities
from tilecore.dtypes import FACTS
from tilecore.ir.nodes import BufferRegion, Range, TensorRegion, Var, tirx
from tilecore.ir.tile_ops import TileCall, as_tile_call, tile_statement
from tilecore.target import Target


@dataclass
class Bench:
    """A kernel's local memory: buffers with layouts and values; runs operations on them."""

    chip_name: str = "bm1690"
    config: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.chip = find_chip(self.chip_name)
        none: frozenset[str] = frozenset()
        target = Target("tpu", {"chip": self.chip_name})
        self.env = PassEnv(target, Capabilities(none, none, none), config=self.config)
        self.machine = Machine(self.chip)
        self.env.publish(TileLayouts())

    def buffer(self, value: np.ndarray, dtype: str, kind: str = TILE, written: bool = True) -> Var:
        """A tile buffer with the content ``value``."""
        shape = value.shape
        buffer = tirx.decl_buffer(list(shape), dtype, "tile", scope="shared.dyn", layout=None)
        stored = "uint8" if dtype == "bool" else dtype
        eu = self.chip.eu_count(FACTS[stored].bits)
        if kind == "flat":
            layout = flat_layout(shape, self.chip.lanes, eu)
        elif len(shape) == 1:
            layout = vector_layout(kind, shape[0], self.chip.lanes, eu)
        else:
            layout = tile_layout(shape, self.chip.lanes, eu)
        local = scratch("tile", layout.elements, stored)
        self.env.state(TileLayouts).by_tile[buffer] = (local, layout)
        self.machine.allocate(local)
        if written:
            self._put(local, layout, value.astype(number_type(dtype)))
        return buffer

    def _put(self, local: Var, layout: TileLayout, value: np.ndarray) -> None:
        lane, offset = layout.location_of(np.indices(value.shape))
        lane = slice(None) if layout.is_replicated else lane
        self.machine.memory[local][lane, offset] = value
        self.machine.written[local][lane, offset] = True

    def value(self, buffer: Var) -> np.ndarray:
        """The content of a buffer; copies in several lanes must be equal."""
        local, layout = self.env.state(TileLayouts).by_tile[buffer]
        shape = tuple(int(s) for s in buffer.shape)
        lane, offset = layout.location_of(np.indices(shape))
        memory = self.machine.memory[local]
        if layout.is_replicated:
            assert len({row.tobytes() for row in memory[:, offset]}) == 1, "lanes differ"
        return memory[lane, offset].reshape(shape)

    def lower(self, impl: TileOpImpl, name: str, args: Sequence[Any]) -> Any:
        call = self.call(name, args)
        reason = impl.matches(call, self.env)
        assert reason is None, reason
        return impl.lower(call, self.env)

    def declined(self, impl: TileOpImpl, name: str, args: Sequence[Any]) -> str | None:
        return impl.matches(self.call(name, args), self.env)

    @staticmethod
    def call(name: str, args: Sequence[Any]) -> TileCall:
        tile_call = as_tile_call(tile_statement(name, args))
        assert tile_call is not None
        return tile_call

    def run(self, impl: TileOpImpl, name: str, args: Sequence[Any]) -> None:
        self.machine.run(self.lower(impl, name, args))


def region(buffer: Var, *ranges: Any) -> TensorRegion:
    """A region of a buffer. ranges: (start, extent) or an index for each axis; without ranges, the whole buffer."""
    sizes = [int(s) for s in buffer.shape]
    pairs = [(0, s) for s in sizes] if not ranges else [r if isinstance(r, tuple) else (r, 1) for r in ranges]
    return BufferRegion(buffer, [Range.from_min_extent(tirx.const(s, "int32"), e) for s, e in pairs])

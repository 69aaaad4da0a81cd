"""Defines the state between passes of both families; tilecore/contract/state.py has the mechanism."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tilecore.contract.state import PassState
from tilecore.ir.nodes import Expr, Var


@dataclass
class UserFunction(PassState, by="the pipeline", former={"definition": "span"}):
    """The user's function. Published before the first pass; unpack_int4 reads where a parameter is declared.

    shared: the names of the buffers that it allocates in shared memory; the others there are the compiler's.
    """

    span: Any
    shared: frozenset[str] = frozenset()


@dataclass
class SafeValues(PassState, collected=True, former={"safe_values": "by_buffer"}):
    """The values that loads outside the bounds of a tensor give (T.annotate_safe_value); zero for other tensors.

    Added to by the implementation of ``annotate``, and by unpack_int4 for the bytes of packed tensors. Read by
    guard_bounds, and by backends that mask loads themselves.
    """

    by_buffer: dict[Var, Expr] = field(default_factory=dict)


@dataclass
class HalfStores(PassState, collected=True, former={"halves": "buffers"}):
    """The buffers of bytes of which single halves are stored, by atomic operations.

    Added to by unpack_int4; load_packed_bytes reads it.
    """

    buffers: set[Var] = field(default_factory=set)


@dataclass
class HoistedTiles(PassState, collected=True):
    """The workspaces that hold the tiles of tensors that many blocks read.

    Added to by hoist_copies; lower_tile_ops reads it: unlike other buffers in global memory they may have any layout,
    as only the kernel knows them.
    """

    buffers: set[Var] = field(default_factory=set)

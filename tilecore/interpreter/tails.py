"""Elements that stand for what lies outside of a tensor: the tail of a tile that a T.copy filled with 0.

They are legal: a tile may end outside, and what is computed from its tail is dropped where it is stored outside. They
are wrong where they decide a result: T.reduce_max of negative numbers and a tail of zeros is 0. A run notes which
elements of on-chip memory are such (``Storage.filler``); a reduction whose result they change warns, or raises with
``strict=True``, which also refuses to store them inside a tensor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilecore.errors import OutOfBoundsError
from tilecore.frontend.place_warnings import warn_at
from tilecore.interpreter.state import State, first_lane

if TYPE_CHECKING:
    from tilecore.interpreter.memory import Access, View
    from tilecore.interpreter.tiles.operands import Tile
    from tilecore.interpreter.tiles.reductions import Reduction


class TailWarning(UserWarning):
    """A result depends on elements that stand for what lies outside of a tensor."""


def is_tensor(view: View) -> bool:
    """Is it a parameter of the kernel?"""
    return view.storage.written is None


def filler_of(tile: Tile) -> np.ndarray | None:
    """The mask of a tile's elements that stand for what lies outside of a tensor; None where there are none."""
    view, state = tile.view, tile.state
    if not state.options.check or view.size == 0:
        return None
    offset, reached = tile.place()
    if view.storage.filler is not None and view.factor == 1:
        filler = view.storage.filler[offset]
    elif is_tensor(view) and tile.access.safe is None and reached is not tile.mask:
        outside = np.ones(tile.shape, bool) if reached is False else ~np.broadcast_to(reached, tile.shape)
        filler = outside if tile.mask is None else outside & tile.mask
    else:
        return None
    filler = np.broadcast_to(filler, tile.shape)
    return filler if filler.any() else None


def mark_filler(tile: Tile, filler: np.ndarray | None) -> None:
    """Record which elements of a tile that was just written are filler; with ``strict=True`` refuse filler inside of a
    tensor."""
    if filler is None:
        return
    offset, reached = tile.place()
    storage = tile.view.storage
    if is_tensor(tile.view):
        stored = filler if reached is None else filler & (False if reached is False else reached)
        if tile.state.options.strict and np.any(stored):
            raise _stored_filler_error(tile, stored)
    elif tile.view.factor == 1:
        if storage.filler is None:
            storage.filler = np.zeros(len(storage.data) // storage.unit, bool)
        storage.filler[offset] = filler


def _stored_filler_error(tile: Tile, stored: np.ndarray) -> Exception:
    first = first_lane(stored) or ()
    place = [int(np.broadcast_to(index, tile.shape)[first]) for index in tile.indices]
    return tile.access.site.error(
        tile.state,
        OutOfBoundsError,
        f"{tile.view.name}[{', '.join(map(str, place))}] gets an element that stands for what lies outside of a tensor",
        found=f"{int(stored.sum())} such elements, which are 0",
        expected="that they are stored outside too, where they are dropped",
    )


def check_reduction(
    source: Tile, reduction: Reduction, name: str, axis: int, values: Any, target: Tile
) -> np.ndarray | None:
    """Warn, or raise with ``strict=True``, where filler among the ``values`` (of the source's shape, in the target's
    type) changes the result along ``axis``. Returns the mask of results that come from filler alone, or None."""
    filler = filler_of(source)
    if filler is None:
        return None
    kind, lanes = target.kind, len(source.lanes)
    alone = filler.all(axis=axis + lanes)
    neutral = kind.carrier.type(reduction.identity(kind))
    whole = reduction.finish(kind, reduction.reduce(kind, values, axis + lanes))
    real = reduction.finish(kind, reduction.reduce(kind, np.where(filler, neutral, values), axis + lanes))
    with np.errstate(all="ignore"):
        differs = ~alone & (whole != real) & ~((whole != whole) & (real != real))
    if differs.any():
        first, tile = first_lane(differs) or (), source.view.name
        error = source.access.site.error(
            source.state,
            OutOfBoundsError,
            f"T.reduce_{name} of {tile} is decided by elements that stand for what lies outside of a tensor",
            found=f"{int(filler.sum())} elements of {tile} were copied from outside and are 0: the result is "
            f"{whole[first]} with them and {real[first]} without",
            expected="elements that change nothing there, such as the lowest number for max",
            hint="T.annotate_safe_value({tensor: value}) in the kernel says what the outside of the tensor that was "
            f"copied reads as; or overwrite the tail of {tile} before the reduction, in a T.Parallel loop with T.where",
        )
        if source.state.options.strict:
            raise error
        warn_at(error.location, str(error), TailWarning)
    return alone.reshape(target.shape) if alone.any() else None


# -- element by element ----------------------------------------------------------------------------------------------


def note_read(state: State, view: View, indices: Any, reached: Any, access: Access) -> None:
    """Records, until the next store, the lanes of a masked read that were outside of a tensor."""
    if not state.options.strict or not access.masked or not is_tensor(view) or reached is state.mask:
        return
    active = np.ones(state.lanes, bool) if state.mask is None else np.broadcast_to(state.mask, state.lanes)
    outside = active & ~np.broadcast_to(reached, state.lanes)
    if outside.any() and access.safe is None:
        before = [] if state.outside is None else state.outside
        state.outside = [*before, (outside, view, list(indices), access)]


def check_stored(state: State, view: View, reached: Any) -> None:
    """Refuses, with ``strict=True``, a store inside of a tensor whose value was read outside of one."""
    noted, state.outside = state.outside, None
    if not noted or not is_tensor(view) or reached is False:
        return
    for outside, source, indices, access in noted:
        bad = outside if reached is None else outside & np.broadcast_to(reached, outside.shape)
        if bad.any():
            raise source.outside_error(state, indices, bad, access)

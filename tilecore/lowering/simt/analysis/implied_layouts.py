"""Derives a fragment's layout from the partition of a nest that accesses it, and the other way round."""

from __future__ import annotations

from collections.abc import Sequence

from tilecore.ir.fragments import FragmentLayout
from tilecore.lowering.simt.analysis.parallel_nests import Access, Nest


def following(nest: Nest, access: Access, partition: FragmentLayout) -> FragmentLayout | None:
    """The fragment layout implied by the nest's partition: each thread holds the elements that its iterations access.

    None where the access does not run over the whole buffer, one loop along each axis.
    """
    loop_of_axis = nest.matched(access)
    if loop_of_axis is None:
        return None
    shape = [int(s) for s in access.buffer.shape]
    for axis, loop in enumerate(loop_of_axis):
        if (1 if loop is None else partition.shape[loop]) != shape[axis]:
            return None
    loops = [loop for loop in loop_of_axis if loop is not None]
    return widened(partition.project(loops), [loop is not None for loop in loop_of_axis])


def widened(layout: FragmentLayout, present: Sequence[bool]) -> FragmentLayout:
    """The layout with an axis of one element inserted wherever ``present`` is False."""
    kept_axes = [axis for axis, is_present in enumerate(present) if is_present]
    shape = [1] * len(present)
    for old_axis, axis in enumerate(kept_axes):
        shape[axis] = layout.shape[old_axis]
    digits = tuple(d._replace(axis=kept_axes[d.axis]) for d in layout.digits)
    return FragmentLayout(tuple(shape), layout.threads, digits)


def reordered(layout: FragmentLayout, order: Sequence[int | None]) -> FragmentLayout:
    """The partition of a nest whose loop n runs along axis ``order[n]`` of a fragment with this layout; None: the loop
    has one iteration and runs along no axis."""
    axes = [axis for axis in order if axis is not None]
    return widened(layout.project(axes), [axis is not None for axis in order])
